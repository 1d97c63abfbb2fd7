#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/file.h"
#include "base/format.h"
#include "base/json_write.h"
#include "base/try.h"
#include "renderer/io/splats/level_set.h"
#include "renderer/io/splats/sog.h"
#include "renderer/scene/covariance.h"
#include "renderer/scene/crop.h"

namespace gs {
namespace {

using OrderedJson = nlohmann::ordered_json;
constexpr std::size_t kRegions = 64;  // in a set, at least, where they are not too small
constexpr std::size_t kLeastRegionRows = 4 << 10, kMostRegionRows = 64 << 10;
constexpr std::size_t kFileRows = 512 << 10;

struct LevelSetFile {
    std::size_t level = 0;
    std::string name;       ///< "2_0/meta.json"
    GaussianModel carried;  ///< rows of earlier parts
    SplatRows rows;         ///< behind them, of the part that is being cut
    bool written = false;
    std::size_t size() const { return carried.count + rows.size(); }
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

/// No more of an error is worth its bytes.
double four_digits(double value) {
    const std::string text = fmt::format("{:.4g}", value);
    double out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
}

/// Of a region; null: they are not measured. Errors: cancelled.
using RegionErrors =
    std::function<Result<std::vector<double>>(std::span<const GaussianModel>, const Bounds&)>;

/// Cuts a part into regions, whose rows it adds to the files.
class LevelCutter {
  public:
    LevelCutter(std::span<const GaussianModel> levels, std::vector<LevelSetFile>& files,
                std::size_t region_rows, const RegionErrors& errors)
        : levels_(levels), files_(files), region_rows_(region_rows), errors_(errors) {
        open_.resize(levels.size());
        for (LevelSetFile& file : files_) {
            auto& [open, number] = open_[file.level];
            open = static_cast<std::size_t>(&file - files_.data());
            ++number;
        }
    }

    struct Node {
        Bounds bounds;
        OrderedJson json;
    };
    Result<Node> tree(std::vector<std::size_t>& counts, SplatNotes& notes) {
        std::vector<SplatRows> rows;
        for (std::size_t level = 0; level < levels_.size(); ++level) {
            SplatNotes own;
            rows.push_back(drawable_rows(levels_[level], own));
            if (level == 0) notes = own;
            counts[level] += rows.back().size();
        }
        return cut(std::move(rows));
    }

  private:
    Result<Node> cut(std::vector<SplatRows> rows) {
        std::vector<SplatRows> upper;
        if (rows[0].size() > region_rows_) upper = split(rows);
        if (upper.empty()) return leaf(rows);
        GS_TRY(const Node a, cut(std::move(rows)));
        GS_TRY(const Node b, cut(std::move(upper)));
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
    Result<Node> leaf(std::vector<SplatRows>& rows) {
        Node out;
        OrderedJson lods = OrderedJson::object();
        std::vector<GaussianModel> drawn;
        for (std::size_t level = 0; level < rows.size(); ++level) {
            if (rows[level].empty()) continue;
            out.bounds.add(levels_[level], rows[level], 1);
            sort_along_curve(levels_[level], rows[level]);
            const std::size_t file = file_of(level);
            SplatRows& all = files_[file].rows;
            lods[std::to_string(level)] = {
                {"file", file}, {"offset", files_[file].size()}, {"count", rows[level].size()}};
            all.insert(all.end(), rows[level].begin(), rows[level].end());
            if (errors_) drawn.push_back(gathered(levels_[level], rows[level]));
        }
        out.json = {{"bound", out.bounds.json()}, {"lods", lods}};
        if (!errors_) return out;
        GS_TRY(const auto errors, errors_(drawn, out.bounds));
        std::vector<double> by_level(rows.size(), 0.0);  // 0 of a level without a Gaussian here
        for (std::size_t level = 0, i = 0; level < rows.size(); ++level)
            if (!rows[level].empty()) by_level[level] = four_digits(errors[i++]);
        out.json["errors"] = by_level;
        return out;
    }
    /// The file that the level's next rows go to.
    std::size_t file_of(std::size_t level) {
        auto& [file, number] = open_[level];
        if (number == 0 || files_[file].written || files_[file].size() >= kFileRows) {
            file = files_.size();
            files_.push_back(
                {level, fmt::format("{}_{}/meta.json", level, number++), {}, {}, false});
        }
        return file;
    }

    std::span<const GaussianModel> levels_;
    std::vector<LevelSetFile>& files_;
    std::size_t region_rows_;
    const RegionErrors& errors_;
    std::vector<std::pair<std::size_t, std::size_t>> open_;  // of each level: file, how many
};

/// `to` with these rows of `from` behind its own.
void append_rows(const GaussianModel& from, const SplatRows& rows, GaussianModel& to) {
    const std::size_t count = to.count + rows.size();
    if (count > to.capacity) {  // twice as large: many small parts are copied a few times
        GaussianModel larger =
            GaussianModel::to_fill(std::max(count, 2 * to.count), from.sh_degree);
        larger.antialiased = from.antialiased;
        copy_rows(to, 0, to.count, larger, 0);
        to = std::move(larger);
    }
    copy_rows(gathered(from, rows), 0, rows.size(), to, count - rows.size());
    to.count = count;
}

}  // namespace

struct LevelSetWriter::State {
    fs::path path;
    SplatWriteOptions options;
    MeasureLevels measure;
    std::size_t expected = 0, measured = 0, done = 0;  // rows
    std::vector<std::string> before;                   // files of the set that was there
    std::vector<std::size_t> counts;                   // of each level
    std::vector<LevelSetFile> files;
    Bounds bounds;
    OrderedJson parts = OrderedJson::array();
    SplatNotes notes;

    /// Its rows are those of `level`, or all carried.
    Result<void> write(LevelSetFile& file, const GaussianModel& level);
    RegionErrors errors();
};

LevelSetWriter::LevelSetWriter(fs::path lod_meta, std::size_t levels, std::size_t rows,
                               SplatWriteOptions options, MeasureLevels measure)
    : state_(std::make_unique<State>()) {
    if (const auto set = read_level_set(lod_meta)) state_->before = set->files;
    state_->path = std::move(lod_meta);
    state_->options = std::move(options);
    state_->measure = std::move(measure);
    state_->expected = rows;
    state_->counts.resize(levels);
}

LevelSetWriter::~LevelSetWriter() = default;

Result<void> LevelSetWriter::add(std::span<const GaussianModel> levels) {
    State& s = *state_;
    SplatNotes notes;
    const RegionErrors errors = s.errors();
    GS_TRY(auto tree,
           LevelCutter(levels, s.files, region_rows(s.expected), errors).tree(s.counts, notes));
    for (std::string& note : notes)
        if (std::find(s.notes.begin(), s.notes.end(), note) == s.notes.end())
            s.notes.push_back(std::move(note));
    if (!(tree.bounds.size(0) >= 0)) return {};  // nothing of it can be drawn
    s.bounds.add(tree.bounds);
    s.parts.push_back(std::move(tree.json));
    for (LevelSetFile& file : s.files) {
        if (file.rows.empty()) continue;
        if (file.size() >= kFileRows) {
            GS_TRY_VOID(s.write(file, levels[file.level]));
        } else {
            append_rows(levels[file.level], file.rows, file.carried);
            file.rows.clear();
        }
    }
    return {};
}

std::size_t LevelSetWriter::region_rows(std::size_t rows) {
    return std::clamp(rows / kRegions, kLeastRegionRows, kMostRegionRows);
}

Result<void> LevelSetWriter::check_size(const fs::path& lod_meta, std::uint64_t rows,
                                        std::uint64_t regions, std::uint64_t levels) {
    // Bytes of lod-meta.json, measured. Of a region: with the node above it.
    constexpr std::uint64_t kOfRegion = 340, kOfPiece = 55;
    const std::uint64_t files = rows / kFileRows + levels,
                        bytes = regions * (kOfRegion + kOfPiece * levels);
    if (files <= kMostLevelFiles && bytes <= kLargestLevelMeta) return {};
    return fail(ErrorKind::usage, lod_meta.string(),
                fmt::format("would have {} files and a list of {}, more than can be read (at most "
                            "{} and {})",
                            files, format_bytes(static_cast<double>(bytes)), kMostLevelFiles,
                            format_bytes(static_cast<double>(kLargestLevelMeta))),
                "write fewer Gaussians");
}

RegionErrors LevelSetWriter::State::errors() {
    if (!measure) return nullptr;
    return [this](std::span<const GaussianModel> levels,
                  const Bounds& box) -> Result<std::vector<double>> {
        if (options.progress && !options.progress("errors of levels", measured, expected))
            return fail(ErrorKind::cancelled, path.string(), "writing was stopped");
        for (const GaussianModel& level : levels) measured += level.count;
        const auto at = [](const std::array<double, 3>& c) { return Vec3d{c[0], c[1], c[2]}; };
        return measure(levels, at(box.lo), at(box.hi));
    };
}

Result<void> LevelSetWriter::State::write(LevelSetFile& file, const GaussianModel& level) {
    std::error_code problem;
    fs::remove(path, problem);
    const fs::path meta = path.parent_path() / file.name;
    fs::create_directories(meta.parent_path(), problem);
    if (problem) return fail(ErrorKind::unwritable, meta.parent_path().string(), problem.message());
    const std::size_t size = file.size();
    SplatWriteOptions own = options;
    if (options.progress)
        own.progress = [&](std::string_view, std::size_t part, std::size_t of) {
            return options.progress("levels", done + size * part / of, expected);
        };
    const bool carried = file.carried.count > 0;
    if (carried) {
        if (!file.rows.empty()) append_rows(level, file.rows, file.carried);
        file.rows.resize(size);
        std::iota(file.rows.begin(), file.rows.end(), 0u);
    }
    SplatNotes lost;
    GS_TRY(const SogFiles sog,
           encode_sog(meta, carried ? file.carried : level, file.rows, own, lost));
    GS_TRY_VOID(write_sog_files(meta, sog));
    for (const std::string& note : lost) notes.push_back(file.name + ": " + note);
    done += size;
    file = {file.level, std::move(file.name), {}, {}, true};
    return {};
}

Result<SplatNotes> LevelSetWriter::finish() {
    State& s = *state_;
    if (s.files.empty())
        return fail(ErrorKind::usage, s.path.string(), "has no Gaussian to make levels of");
    OrderedJson names = OrderedJson::array();
    for (LevelSetFile& file : s.files) {
        if (!file.written) GS_TRY_VOID(s.write(file, file.carried));
        names.push_back(file.name);
    }
    for (const std::string& file : s.before)
        if (std::find(names.begin(), names.end(), file) == names.end())
            s.notes.push_back(file + " of the set that was there before stays; nothing uses it");
    OrderedJson tree{{"bound", s.bounds.json()}, {"children", s.parts}};
    if (s.parts.size() == 1) tree = std::move(s.parts.front());
    const OrderedJson meta{
        {"version", 1},
        {"asset", {{"generator", "gausscope"}}},
        {"count", std::accumulate(s.counts.begin(), s.counts.end(), std::size_t{0})},
        {"counts", s.counts},
        {"lodLevels", s.counts.size()},
        {"lodErrors", s.measure != nullptr},
        {"filenames", names},
        {"tree", tree}};
    GS_TRY_VOID(write_text_file(s.path, json_text(meta)));
    return std::move(s.notes);
}

Result<SplatNotes> write_level_set(const fs::path& lod_meta, std::span<const GaussianModel> levels,
                                   const SplatWriteOptions& options, MeasureLevels measure) {
    std::size_t rows = 0;
    for (const GaussianModel& level : levels) rows += level.count;
    LevelSetWriter writer(lod_meta, levels.size(), rows, options, std::move(measure));
    GS_TRY_VOID(writer.add(levels));
    return writer.finish();
}

}  // namespace gs
