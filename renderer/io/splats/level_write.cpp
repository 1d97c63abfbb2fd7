#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/file.h"
#include "base/json_write.h"
#include "base/try.h"
#include "renderer/io/splats/level_set.h"
#include "renderer/io/splats/sog.h"
#include "renderer/scene/covariance.h"

namespace gs {
namespace {

using OrderedJson = nlohmann::ordered_json;
constexpr std::size_t kRegionRows = 64 << 10, kFileRows = 512 << 10;

struct LevelFile {
    std::size_t level = 0;
    std::string name;  ///< "2_0/meta.json"
    SplatRows rows;
};

/// What Gaussians cover, to `reach` standard deviations.
struct Bounds {
    std::array<double, 3> lo, hi;
    Bounds() {
        lo.fill(std::numeric_limits<double>::infinity());
        hi.fill(-std::numeric_limits<double>::infinity());
    }

    void add(const GaussianModel& model, std::span<const std::uint32_t> rows, double reach) {
        for (const std::uint32_t row : rows) {
            const Mat3d s = reach > 0 ? covariance_of(model, row) : Mat3d();
            for (int axis = 0; axis < 3; ++axis) {
                const double mean = static_cast<double>(model.at(kMeans + axis, row)),
                             away = reach > 0 ? reach * std::sqrt(s.m[axis][axis]) : 0;
                const auto c = static_cast<std::size_t>(axis);
                lo[c] = std::min(lo[c], mean - away);
                hi[c] = std::max(hi[c], mean + away);
            }
        }
    }
    void add(const Bounds& other) {
        for (std::size_t c = 0; c < 3; ++c) {
            lo[c] = std::min(lo[c], other.lo[c]);
            hi[c] = std::max(hi[c], other.hi[c]);
        }
    }
    int longest_axis() const {
        int best = 0;
        for (int axis = 1; axis < 3; ++axis)
            if (size(axis) > size(best)) best = axis;
        return best;
    }
    OrderedJson json() const { return {{"min", lo}, {"max", hi}}; }
    double size(int axis) const {
        return hi[static_cast<std::size_t>(axis)] - lo[static_cast<std::size_t>(axis)];
    }
};

class LevelCutter {
  public:
    LevelCutter(std::span<const GaussianModel> levels, SplatNotes& notes) : levels_(levels) {
        open_.resize(levels.size());
        std::vector<SplatRows> rows;
        for (const GaussianModel& level : levels) {
            SplatNotes own;
            rows.push_back(drawable_rows(level, own));
            if (&level == &levels.front()) notes = own;
            counts.push_back(rows.back().size());
        }
        tree = cut(std::move(rows)).json;
    }

    std::vector<std::size_t> counts;  ///< of each level
    std::vector<LevelFile> files;
    OrderedJson tree;

  private:
    struct Node {
        Bounds bounds;
        OrderedJson json;
    };
    Node cut(std::vector<SplatRows> rows) {
        std::vector<SplatRows> upper;
        if (rows[0].size() > kRegionRows) upper = split(rows);
        if (upper.empty()) return leaf(rows);
        const Node a = cut(std::move(rows)), b = cut(std::move(upper));
        Node out{a.bounds, {}};
        out.bounds.add(b.bounds);
        out.json = {{"bound", out.bounds.json()}, {"children", {a.json, b.json}}};
        return out;
    }
    /// Leaves each level's rows below the cut in `rows`; gives those above it, or nothing where all
    /// of the finest lie at one place.
    std::vector<SplatRows> split(std::vector<SplatRows>& rows) const {
        Bounds means;
        means.add(levels_[0], rows[0], 0);
        const int axis = means.longest_axis();
        if (!(means.size(axis) > 0)) return {};
        std::vector<float> values;
        for (const std::uint32_t i : rows[0]) values.push_back(levels_[0].at(kMeans + axis, i));
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        // Above or at the median; above it, where it is the least of all.
        const float plane = *middle;
        const bool at_median_too =
            static_cast<double>(plane) > means.lo[static_cast<std::size_t>(axis)];
        std::vector<SplatRows> upper;
        for (std::size_t level = 0; level < rows.size(); ++level) {
            const auto from =
                std::stable_partition(rows[level].begin(), rows[level].end(), [&](std::uint32_t i) {
                    const float at = levels_[level].at(kMeans + axis, i);
                    return at < plane || (at == plane && !at_median_too);
                });
            upper.emplace_back(from, rows[level].end());
            rows[level].erase(from, rows[level].end());
        }
        return upper;
    }
    Node leaf(std::vector<SplatRows>& rows) {
        Node out;
        OrderedJson lods = OrderedJson::object();
        for (std::size_t level = 0; level < rows.size(); ++level) {
            if (rows[level].empty()) continue;
            out.bounds.add(levels_[level], rows[level], 1);
            sort_along_curve(levels_[level], rows[level]);
            const std::size_t file = file_of(level);
            SplatRows& all = files[file].rows;
            lods[std::to_string(level)] = {
                {"file", file}, {"offset", all.size()}, {"count", rows[level].size()}};
            all.insert(all.end(), rows[level].begin(), rows[level].end());
        }
        out.json = {{"bound", out.bounds.json()}, {"lods", lods}};
        return out;
    }
    /// The file that the level's next rows go to.
    std::size_t file_of(std::size_t level) {
        auto& [file, number] = open_[level];
        if (number == 0 || files[file].rows.size() >= kFileRows) {
            file = files.size();
            files.push_back({level, fmt::format("{}_{}/meta.json", level, number++), {}});
        }
        return file;
    }

    std::span<const GaussianModel> levels_;
    std::vector<std::pair<std::size_t, std::size_t>> open_;  // of each level: file, how many
};

/// Of a set that is there already: what the new one does not overwrite.
void note_what_stays(const fs::path& lod_meta, const OrderedJson& names, SplatNotes& notes) {
    const auto set = read_level_set(lod_meta);
    if (!set) return;
    for (const std::string& file : set->files)
        if (std::find(names.begin(), names.end(), file) == names.end())
            notes.push_back(file + " of the set that was there before stays; nothing uses it");
}

}  // namespace

Result<SplatNotes> write_level_set(const fs::path& lod_meta, std::span<const GaussianModel> levels,
                                   const SplatWriteOptions& options) {
    SplatNotes notes;
    LevelCutter cutter(levels, notes);
    if (cutter.files.empty())
        return fail(ErrorKind::usage, lod_meta.string(), "has no Gaussian to make levels of");
    OrderedJson names = OrderedJson::array();
    for (const LevelFile& file : cutter.files) names.push_back(file.name);
    note_what_stays(lod_meta, names, notes);
    std::error_code ignored;
    fs::remove(lod_meta, ignored);
    std::size_t done = 0, all = 0;
    for (const std::size_t count : cutter.counts) all += count;
    for (const LevelFile& file : cutter.files) {
        const fs::path path = lod_meta.parent_path() / file.name;
        std::error_code problem;
        fs::create_directories(path.parent_path(), problem);
        if (problem)
            return fail(ErrorKind::unwritable, path.parent_path().string(), problem.message());
        SplatWriteOptions own = options;
        if (options.progress)
            own.progress = [&](std::string_view, std::size_t part, std::size_t parts) {
                return options.progress("levels", done + file.rows.size() * part / parts, all);
            };
        SplatNotes lost;
        GS_TRY(const SogFiles sog, encode_sog(path, levels[file.level], file.rows, own, lost));
        GS_TRY_VOID(write_sog_files(path, sog));
        for (const std::string& note : lost) notes.push_back(file.name + ": " + note);
        done += file.rows.size();
    }
    const OrderedJson meta{{"version", 1},
                           {"asset", {{"generator", "gausscope"}}},
                           {"count", all},
                           {"counts", cutter.counts},
                           {"lodLevels", levels.size()},
                           {"filenames", names},
                           {"tree", cutter.tree}};
    GS_TRY_VOID(write_text_file(lod_meta, json_text(meta)));
    return notes;
}

}  // namespace gs
