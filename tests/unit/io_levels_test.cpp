// Sets of levels that we write: every Gaussian of every level once, in a region that covers it, in
// files that readers of a set read.
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "renderer/io/splats/level_set.h"
#include "tests/unit/io_splat_models.h"

namespace gs::test {
namespace {

constexpr std::size_t kFinest = 150'000, kCoarse = 50'000;

const std::vector<GaussianModel>& two_levels() {
    static const std::vector<GaussianModel> levels = [] {
        std::vector<GaussianModel> out;
        for (const std::size_t count : {kFinest, kCoarse})
            out.push_back(random_model({.count = count, .sh_degree = 0, .extent = 20}));
        // A Gaussian that nobody can draw is in no region.
        out[0].at(kMeans, 17) = std::numeric_limits<float>::quiet_NaN();
        return out;
    }();
    return levels;
}

std::vector<nlohmann::json> leaves_of(const nlohmann::json& node) {
    if (node.contains("lods")) return {node};
    std::vector<nlohmann::json> out;
    for (const nlohmann::json& child : node["children"])
        for (nlohmann::json& leaf : leaves_of(child)) out.push_back(std::move(leaf));
    return out;
}

TEST(LevelSets, HoldEveryGaussianOnceWhereItIs) {
    const TempFolder folder;
    const fs::path path = folder / "lod-meta.json";
    const auto notes = required(write_level_set(path, two_levels(), {}));
    EXPECT_THAT(joined(notes), HasSubstr("1 Gaussian"));
    const auto set = required(read_level_set(path));
    EXPECT_EQ(set.levels, 2u);
    EXPECT_EQ(set.gaussians(0), kFinest - 1);
    EXPECT_EQ(set.gaussians(1), kCoarse);
    EXPECT_EQ(set.regions.size(), 64u) << "4 Ki at most";
    std::map<std::uint32_t, GaussianModel> files;
    for (std::size_t i = 0; i < set.files.size(); ++i) {
        auto file = required(read_level_file(set, set.files[i], {}));
        files.emplace(i, std::move(file.model));
    }
    std::map<std::uint32_t, std::size_t> used;
    for (const LevelRegion& region : set.regions) {
        ASSERT_TRUE(region.bounded);
        ASSERT_EQ(region.pieces, 2u);
        for (const LevelPiece& piece : set.pieces_of(region)) {
            const GaussianModel& file = files.at(piece.file);
            ASSERT_TRUE(check_piece(set, piece, file));
            EXPECT_EQ(piece.offset, used[piece.file]) << "one region after the other";
            used[piece.file] += piece.count;
            for (std::size_t i = piece.offset; i < piece.offset + piece.count; ++i) {
                const Vec3f at = file.mean(i);  // a step of 16 bits is a thousandth
                ASSERT_TRUE(at.x > region.lo.x - 0.01f && at.x < region.hi.x + 0.01f);
                ASSERT_TRUE(at.y > region.lo.y - 0.01f && at.y < region.hi.y + 0.01f);
                ASSERT_TRUE(at.z > region.lo.z - 0.01f && at.z < region.hi.z + 0.01f);
            }
        }
    }
    for (const auto& [file, model] : files) EXPECT_EQ(used[file], model.count);
    const auto coarse = required(read_splats(path, {.lod = 1, .progress = {}}));
    EXPECT_EQ(coarse.model.count, kCoarse);
}

TEST(LevelSets, OfManyGaussiansHaveLargerRegions) {
    const TempFolder folder;
    const fs::path path = folder / "lod-meta.json";
    LevelSetWriter writer(path, 2, 100'000'000, {});
    ASSERT_TRUE(writer.add(two_levels()));
    ASSERT_TRUE(writer.finish());
    const auto set = read_level_set(path);
    ASSERT_TRUE(set) << set.error().text();
    EXPECT_EQ(set->regions.size(), 4u) << "64 Ki at most";
}

TEST(LevelSets, KeepTheErrorsThatWereMeasured) {
    std::vector<GaussianModel> levels = two_levels();
    for (std::size_t i = 0; i < kCoarse; ++i)  // on one side there is nothing coarse
        levels[1].at(kMeans, i) = std::abs(levels[1].at(kMeans, i));
    std::vector<std::size_t> measured;
    const MeasureLevels measure = [&](std::span<const GaussianModel> of, Vec3d lo, Vec3d hi) {
        EXPECT_LT(lo.x, hi.x);
        EXPECT_NEAR(static_cast<double>(of[0].mean(0).x), 0.5 * (lo.x + hi.x), hi.x - lo.x);
        measured.push_back(of.size());
        std::vector<double> errors = {0.0};
        if (of.size() == 2) errors.push_back(0.123456);
        return errors;
    };
    const TempFolder folder;
    const fs::path path = folder / "lod-meta.json";
    ASSERT_TRUE(write_level_set(path, levels, {}, measure));
    const auto set = read_level_set(path);
    ASSERT_TRUE(set) << set.error().text();
    ASSERT_EQ(measured.size(), set->regions.size());
    const auto header = nlohmann::json::parse(*read_text_file(path));
    EXPECT_EQ(header["lodErrors"], true);
    const std::vector<nlohmann::json> leaves = leaves_of(header["tree"]);
    ASSERT_EQ(leaves.size(), measured.size());
    for (std::size_t r = 0; r < measured.size(); ++r) {
        EXPECT_EQ(measured[r], set->regions[r].pieces);
        EXPECT_EQ(leaves[r]["errors"], (nlohmann::json{0.0, measured[r] == 2 ? 0.1235 : 0.0}));
    }
    EXPECT_THAT(measured, ::testing::AllOf(::testing::Contains(1u), ::testing::Contains(2u)));
    // Measuring can be stopped, and then there is no set.
    SplatWriteOptions stop;
    stop.progress = [](std::string_view what, std::size_t, std::size_t) {
        return what != "errors of levels";
    };
    const auto stopped = write_level_set(path, levels, stop, measure);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
    ASSERT_TRUE(write_level_set(path, levels, {}));
    const auto without = nlohmann::json::parse(*read_text_file(path));
    EXPECT_EQ(without["lodErrors"], false);
    EXPECT_FALSE(leaves_of(without["tree"])[0].contains("errors"));
}

TEST(LevelSets, OfOnePlaceAreOneRegion) {
    std::vector<GaussianModel> levels;
    for (const std::size_t count : {kFinest, kCoarse}) {
        levels.push_back(random_model({.count = count, .sh_degree = 0}));
        for (int axis = 0; axis < 3; ++axis)
            std::fill_n(levels.back().plane(kMeans + axis), count, 1.5f);
    }
    const TempFolder folder;
    ASSERT_TRUE(write_level_set(folder / "lod-meta.json", levels, {}));
    const auto set = required(read_level_set(folder / "lod-meta.json"));
    EXPECT_EQ(set.regions.size(), 1u);
    EXPECT_EQ(set.gaussians(1), kCoarse);
}

/// A set that is written part by part: parts share files, and each is cut for itself.
TEST(LevelSets, OfManyPartsHoldAllOfThem) {
    constexpr std::size_t kParts = 5;
    const TempFolder folder;
    const fs::path path = folder / "lod-meta.json";
    LevelSetWriter writer(path, 2, kParts * (kFinest + kCoarse), {});
    for (std::size_t part = 0; part < kParts; ++part) {
        std::vector<GaussianModel> levels = two_levels();
        for (GaussianModel& level : levels)
            for (std::size_t i = 0; i < level.count; ++i)
                level.at(kMeans, i) += 100 * static_cast<float>(part);
        ASSERT_TRUE(writer.add(levels));
        EXPECT_FALSE(fs::exists(path));
    }
    const auto notes = required(writer.finish());
    EXPECT_EQ(notes.size(), 1u) << joined(notes) << " is said once";
    const auto set = required(read_level_set(path));
    EXPECT_EQ(set.gaussians(0), kParts * (kFinest - 1));
    EXPECT_EQ(set.gaussians(1), kParts * kCoarse);
    EXPECT_EQ(set.regions.size(), kParts * 16) << "a million in 64, at most 15,625 each";
    EXPECT_EQ(set.files.size(), 3u) << "of 512 Ki and the rest, and of all that is coarse";
    // Each part's own values, at its own place.
    const auto one = required(read_splats(path, {.lod = 1, .progress = {}}));
    ASSERT_EQ(one.model.count, kParts * kCoarse);
    for (std::size_t part = 0; part < kParts; ++part) {
        double sum = 0;
        for (std::size_t i = part * kCoarse; i < (part + 1) * kCoarse; ++i)
            sum += static_cast<double>(one.model.at(kMeans, i));
        double expected = 100.0 * static_cast<double>(part) * kCoarse;
        for (std::size_t i = 0; i < kCoarse; ++i)
            expected += static_cast<double>(two_levels()[1].at(kMeans, i));
        EXPECT_NEAR(sum / kCoarse, expected / kCoarse, 0.01) << part;
    }
    // For a box only the files are read that reach into it.
    fs::remove_all(folder / "0_1");
    EXPECT_FALSE(read_splats(path));
    const auto first = required(read_splats(
        path, {.lod = 0, .progress = {}, .crop = ClipBox{{-50, -50, -50}, {50, 50, 50}}}));
    EXPECT_EQ(first.model.count, kFinest - 1);
    EXPECT_FALSE(LevelSetWriter(folder / "none" / "lod-meta.json", 2, 0, {}).finish());
}

TEST(LevelSets, ReplaceTheSetThatWasThere) {
    const TempFolder folder;
    const fs::path path = folder / "lod-meta.json";
    ASSERT_TRUE(write_level_set(path, two_levels(), {}));
    const auto notes = required(write_level_set(path, std::span(two_levels()).subspan(1), {}));
    EXPECT_THAT(joined(notes), HasSubstr("1_0/meta.json of the set that was there before"));
    const auto set = required(read_level_set(path));
    EXPECT_EQ(set.levels, 1u);
    EXPECT_EQ(set.gaussians(0), kCoarse);
}

TEST(LevelSets, AreNotThereUntilTheyAreWhole) {
    const TempFolder folder;
    const fs::path path = folder / "lod-meta.json";
    ASSERT_TRUE(write_level_set(path, std::span(two_levels()).subspan(1), {}));
    SplatWriteOptions stop;
    stop.progress = [](std::string_view, std::size_t, std::size_t) { return false; };
    const auto stopped = write_level_set(path, two_levels(), stop);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
    EXPECT_FALSE(fs::exists(path));
    const auto none = write_level_set(path, std::vector{GaussianModel(0, 0)}, {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, ErrorKind::usage);
    folder.write("file", "");
    const auto nowhere = write_level_set(folder / "file" / "lod-meta.json", two_levels(), {});
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().kind, ErrorKind::unwritable);
}

}  // namespace
}  // namespace gs::test
