#include "renderer/io/splats/level_set.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/json_text.h"
#include "base/try.h"
#include "renderer/io/files/file_set.h"
#include "renderer/io/files/input_file.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/limits.h"
#include "renderer/io/splats/sog.h"

namespace gs {
namespace {

using Json = nlohmann::json;
constexpr std::uint64_t kMostLevels = 64;

fs::path folder_of(const fs::path& lod_meta) {
    return lod_meta.parent_path().empty() ? fs::path(".") : lod_meta.parent_path();
}

tl::unexpected<Error> malformed(const std::string& name, std::string what) {
    return fail(ErrorKind::malformed, name, std::move(what),
                "the file is damaged, or not a set of levels");
}

struct Bound {
    Vec3f lo{}, hi{};
    bool known = false;
};

Bound bound_of(const Json& node) {
    const Json& bound = member(node, "bound");
    const auto lo = number_list(member(bound, "min"), 3, 3),
               hi = number_list(member(bound, "max"), 3, 3);
    if (!lo || !hi) return {};
    for (std::size_t c = 0; c < 3; ++c)
        if (!((*lo)[c] <= (*hi)[c]) || !std::isfinite((*lo)[c]) || !std::isfinite((*hi)[c]))
            return {};
    return {{(*lo)[0], (*lo)[1], (*lo)[2]}, {(*hi)[0], (*hi)[1], (*hi)[2]}, true};
}

/// Nothing here chooses by errors; a set whose errors mislead other viewers is damaged all the
/// same.
Result<void> check_errors(const Json& leaf, std::size_t levels, const std::string& name) {
    const Json& errors = member(leaf, "errors");
    if (errors.is_null()) return {};
    const auto numbers = number_list<double>(errors, levels, levels);
    if (numbers && std::all_of(numbers->begin(), numbers->end(),
                               [](double v) { return v >= 0 && std::isfinite(v); }))
        return {};
    return malformed(name,
                     fmt::format("\"errors\" of a leaf are not {} numbers of at least 0", levels));
}

Result<void> add_leaf(const Json& leaf, const Bound& bound, const std::string& name,
                      LevelSet& out) {
    const Json& lods = member(leaf, "lods");
    GS_TRY_VOID(check_errors(leaf, out.levels, name));
    LevelRegion region{bound.lo, bound.hi, bound.known,
                       static_cast<std::uint32_t>(out.pieces.size()), 0};
    for (const auto& [key, entry] : lods.items()) {
        std::uint32_t level = 0;
        const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), level);
        if (problem != std::errc() || end != key.data() + key.size() || level >= out.levels ||
            !entry.is_object())
            continue;
        const auto file = whole_number(member(entry, "file"), kMostLevelFiles),
                   offset = whole_number(member(entry, "offset"), 1ull << 32),
                   count = whole_number(member(entry, "count"), 1ull << 32);
        if (!file || !offset || !count || *file >= out.files.size())
            return malformed(name, "a leaf of the tree names no rows of an existing file");
        out.pieces.push_back({level, static_cast<std::uint32_t>(*file), *offset, *count});
        ++region.pieces;
    }
    if (region.pieces == 0) return {};
    std::sort(out.pieces.begin() + region.first, out.pieces.end(),
              [](const LevelPiece& a, const LevelPiece& b) { return a.level < b.level; });
    out.regions.push_back(region);
    return {};
}

// A leaf that does not say what it covers lies within what covers its parent.
Result<void> walk(const Json& root, const std::string& name, LevelSet& out) {
    std::vector<std::pair<const Json*, Bound>> open = {{&root, {}}};
    while (!open.empty()) {
        const auto [node, outer] = open.back();
        open.pop_back();
        Bound bound = bound_of(*node);
        if (!bound.known) bound = outer;
        const Json& children = member(*node, "children");
        if (children.is_array())
            for (auto it = children.rbegin(); it != children.rend(); ++it)
                open.emplace_back(&*it, bound);
        if (!member(*node, "lods").is_object()) continue;
        GS_TRY_VOID(add_leaf(*node, bound, name, out));
    }
    return {};
}

Result<void> add_file_names(const Json& json, const std::string& name, LevelSet& out) {
    const Json& files = member(json, "filenames");
    if (!files.is_array()) return malformed(name, "has no list \"filenames\"");
    if (files.size() > kMostLevelFiles)
        return malformed(name, fmt::format("lists more than {} files", kMostLevelFiles));
    std::set<std::string> names;
    const auto check = [&](const std::string& file) -> Result<void> {
        if (!names.insert(file).second)
            return malformed(name, fmt::format("lists \"{}\" twice", file));
        if (const std::string problem = problem_of_name(file); !problem.empty())
            return malformed(name, fmt::format("names a file \"{}\", {}", file, problem));
        return {};
    };
    for (const Json& file : files) {
        if (!file.is_string())
            return malformed(name, "\"filenames\" holds something that is not a name");
        out.files.push_back(file.get<std::string>());
        GS_TRY_VOID(check(out.files.back()));
    }
    const Json& environment = member(json, "environment");
    if (!environment.is_string()) return {};
    out.environment = environment.get<std::string>();
    return check(out.environment);
}

// Each level against the folders that hold it: what is claimed decides how much memory is asked
// for.
Result<void> check_counts(const LevelSet& set) {
    std::vector<std::uint64_t> bytes(set.files.size());
    std::set<fs::path> seen;
    const fs::path root = folder_of(set.path);
    std::uint64_t all = 0;
    for (const std::string& file : set.files)
        if (const fs::path folder = root / fs::path(file).parent_path(); seen.insert(folder).second)
            all += open_folder(folder)->size();
    for (std::size_t level = 0; level < set.levels; ++level)
        GS_TRY_VOID(check_plausible_count(set.gaussians(level), all, set.path.string(), 0));
    return {};
}

}  // namespace

const LevelPiece& LevelSet::piece(const LevelRegion& region, std::size_t level) const {
    const auto all = pieces_of(region);
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const LevelPiece& p) { return p.level >= level; });
    return found == all.end() ? all.back() : *found;
}

std::uint64_t LevelSet::gaussians(std::size_t level) const {
    std::uint64_t sum = 0;
    for (const LevelRegion& region : regions) sum += piece(region, level).count;
    return sum;
}

Result<LevelSet> read_level_set(const fs::path& lod_meta) {
    const auto folder = open_folder(folder_of(lod_meta));
    const std::string meta_name = lod_meta.filename().string();
    GS_TRY(const auto bytes, folder->read(meta_name, kLargestLevelMeta));
    const std::string name = folder->describe(meta_name);
    GS_TRY(const auto json, parse_json_object(bytes, name, JsonBy::anyone));
    LevelSet out;
    out.path = lod_meta;
    GS_TRY_VOID(add_file_names(json, name, out));
    const auto levels = whole_number(member(json, "lodLevels"), kMostLevels);
    if (!levels || *levels == 0) return malformed(name, "\"lodLevels\" is not a number of levels");
    out.levels = *levels;
    const Json& has_errors = member(json, "lodErrors");
    if (!has_errors.is_null() && !has_errors.is_boolean())
        return malformed(name, "\"lodErrors\" is not true or false");
    GS_TRY_VOID(walk(member(json, "tree"), name, out));
    if (out.regions.empty()) return malformed(name, "names no region");
    GS_TRY_VOID(check_counts(out));
    return out;
}

Result<SplatFile> read_level_file(const LevelSet& set, const std::string& name,
                                  const Progress& progress) {
    SplatReadOptions options;
    options.progress = progress;
    // A bundle, or a meta.json with its images beside it.
    const fs::path file = folder_of(set.path) / name;
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored) && open_zip(file)) return read_sog(file, options);
    return read_sog_files(*open_folder(folder_of(set.path)), name, options);
}

void copy_rows(const GaussianModel& from, std::size_t offset, std::size_t count, GaussianModel& to,
               std::size_t at) {
    for (int p = 0; p < to.planes(); ++p) {
        if (p < from.planes())
            std::copy_n(from.plane(p) + offset, count, to.plane(p) + at);
        else
            std::fill_n(to.plane(p) + at, count, 0.0f);
    }
}

Result<void> check_piece(const LevelSet& set, const LevelPiece& piece, const GaussianModel& file) {
    if (piece.offset <= file.count && piece.count <= file.count - piece.offset) return {};
    return malformed(
        set.path.string(),
        fmt::format("a leaf of the tree names rows {} to {} of {}, which has {}", piece.offset,
                    piece.offset + piece.count, set.files[piece.file], file.count));
}

}  // namespace gs
