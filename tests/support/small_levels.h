// A small set of levels on disk, of known numbers, for tests of what is drawn of a set.
#pragma once

#include <gtest/gtest.h>

#include "base/file.h"
#include "renderer/io/splats/level_set.h"
#include "renderer/scene/camera.h"
#include "tests/support/temporary_folder.h"

namespace gs::test {

inline constexpr std::size_t kRegions = 8, kLevels = 3;
inline constexpr std::size_t kCounts[kLevels] = {400, 100, 25};

/// Eight boxes of side 1 in a row, 10 apart.
inline void write_set(const fs::path& folder) {
    std::string files, leaves;
    for (std::size_t level = 0; level < kLevels; ++level) {
        GaussianModel m(kRegions * kCounts[level], level == 0 ? 1 : 0);
        for (std::size_t i = 0; i < m.count; ++i) {
            const auto r = static_cast<float>(i / kCounts[level]);
            m.at(kMeans, i) = 10 * r + 0.5f;
            for (int c = 0; c < 3; ++c) m.at(kLogScales + c, i) = -3;
            m.at(kOpacityLogits, i) = 2;
        }
        const std::string name = std::to_string(level) + "_0/meta.json";
        fs::create_directories(folder / (std::to_string(level) + "_0"));
        EXPECT_TRUE(write_splats(folder / name, m));
        files += (level > 0 ? ",\"" : "\"") + name + "\"";
    }
    for (std::size_t r = 0; r < kRegions; ++r) {
        std::string lods;
        for (std::size_t level = 0; level < kLevels; ++level)
            lods +=
                fmt::format("{}\"{}\":{{\"file\":{},\"offset\":{},\"count\":{}}}",
                            level > 0 ? "," : "", level, level, r * kCounts[level], kCounts[level]);
        leaves +=
            fmt::format("{}{{\"bound\":{{\"min\":[{},0,0],\"max\":[{},1,1]}},\"lods\":{{{}}}}}",
                        r > 0 ? "," : "", 10 * r, 10 * r + 1, lods);
    }
    EXPECT_TRUE(write_text_file(
        folder / "lod-meta.json",
        fmt::format("{{\"lodLevels\":3,\"filenames\":[{}],\"tree\":{{\"children\":[{}]}}}}", files,
                    leaves)));
}

/// A copy of it, for a test to do with as it likes; compressing it takes seconds, and is done once.
struct Set {
    Set() {
        static const TemporaryFolder written;
        static const bool once = (write_set(written.path()), true);
        (void)once;
        fs::copy(written.path(), folder.path() / "set", fs::copy_options::recursive);
        meta = folder.path() / "set" / "lod-meta.json";
    }
    TemporaryFolder folder;
    fs::path meta;
};

/// Along the row.
inline Camera camera_at(double x) {
    return look_at({x, 0.5, 0.5}, {x + 10, 0.5, 0.5}, {0, -1, 0}, 1000, 1000, 0.9);
}

inline LevelSet the_set(const Set& files) {
    auto set = read_level_set(files.meta);
    EXPECT_TRUE(set) << set.error().text();
    return std::move(*set);
}

}  // namespace gs::test
