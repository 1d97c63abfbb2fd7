// lod-meta.json of streamed scenes: the same scene at several levels of detail, cut into SOG files, and a tree whose
// leaves say which rows of which file are a region at a level. All leaves of one level together are the scene at that
// level. Source: what splat-transform writes. Read only.
#include <set>

#include "renderer/io/json_text.h"
#include "renderer/io/records.h"
#include "renderer/io/splat_formats.h"
#include "renderer/io/splat_limits.h"
#include "renderer/io/splat_sog.h"

namespace gs {
namespace {

using Json = nlohmann::json;
constexpr std::uint64_t kLargestMeta = 256 << 20;
constexpr std::uint64_t kMostFiles = 1 << 16, kMostLevels = 64;

struct Piece {
    std::size_t file, offset, count;
    std::size_t at;  // first row in the whole
};

struct Levels {
    std::vector<std::string> files;
    std::size_t levels = 0;
    std::vector<Piece> pieces;  // of the chosen level
    std::size_t chosen = 0;
    std::size_t count = 0;  // Gaussians of the chosen level
};

tl::unexpected<Error> malformed(const std::string& name, std::string what) {
    return fail(ErrorKind::malformed, name, std::move(what), "the file is damaged, or not a set of levels");
}

// The leaves of the tree that have this level; a region without it is there at the next coarser level, or else finer.
Result<void> collect(const Json& root, const std::string& name, Levels& out) {
    std::vector<const Json*> open = {&root};
    while (!open.empty()) {
        const Json& node = *open.back();
        open.pop_back();
        const Json& children = member(node, "children");
        if (children.is_array())
            for (auto it = children.rbegin(); it != children.rend(); ++it) open.push_back(&*it);
        const Json& lods = member(node, "lods");
        if (!lods.is_object()) continue;
        const Json* found = nullptr;
        for (std::size_t l = out.chosen; found == nullptr && l < out.levels; ++l)
            if (const Json& entry = member(lods, std::to_string(l).c_str()); entry.is_object()) found = &entry;
        for (std::size_t l = out.chosen; found == nullptr && l-- > 0;)
            if (const Json& entry = member(lods, std::to_string(l).c_str()); entry.is_object()) found = &entry;
        if (found == nullptr) continue;
        const auto file = whole_number(member(*found, "file"), kMostFiles),
                   offset = whole_number(member(*found, "offset"), 1ull << 32),
                   count = whole_number(member(*found, "count"), 1ull << 32);
        if (!file || !offset || !count || *file >= out.files.size())
            return malformed(name, "a leaf of the tree names no rows of a file that is there");
        out.pieces.push_back({*file, *offset, *count, out.count});
        out.count += *count;
    }
    return {};
}

Result<Levels> read_levels(const FileSet& folder, const std::string& meta_name, int lod) {
    const auto bytes = folder.read(meta_name, kLargestMeta);
    if (!bytes) return tl::unexpected(bytes.error());
    const std::string name = folder.describe(meta_name);
    const auto json = parse_json_object(*bytes, name);
    if (!json) return tl::unexpected(json.error());
    Levels out;
    const Json& files = member(*json, "filenames");
    if (!files.is_array() || files.size() > kMostFiles) return malformed(name, "has no list \"filenames\"");
    std::set<std::string> names;
    for (const Json& file : files) {
        if (!file.is_string()) return malformed(name, "\"filenames\" holds something that is no name");
        out.files.push_back(file.get<std::string>());
        if (!names.insert(out.files.back()).second)
            return malformed(name, fmt::format("lists \"{}\" twice", out.files.back()));
        if (const std::string problem = problem_of_name(out.files.back()); !problem.empty())
            return malformed(name, fmt::format("names a file \"{}\", {}", out.files.back(), problem));
    }
    const auto levels = whole_number(member(*json, "lodLevels"), kMostLevels);
    if (!levels || *levels == 0) return malformed(name, "\"lodLevels\" is not a number of levels");
    out.levels = *levels;
    if (lod < 0 || static_cast<std::size_t>(lod) >= out.levels)
        return fail(ErrorKind::usage, name, fmt::format("has no level {}", lod),
                    fmt::format("0 is the finest, {} the coarsest", out.levels - 1));
    out.chosen = static_cast<std::size_t>(lod);
    if (auto done = collect(member(*json, "tree"), name, out); !done) return tl::unexpected(done.error());
    return out;
}

// Rows of the file's own model into the whole one; degrees may differ.
void copy_rows(const GaussianModel& from, std::size_t offset, std::size_t count, GaussianModel& to, std::size_t at) {
    for (int p = 0; p < to.planes(); ++p) {
        if (p < from.planes())
            std::copy_n(from.plane(p) + offset, count, to.plane(p) + at);
        else
            std::fill_n(to.plane(p) + at, count, 0.0f);
    }
}

// Bytes of the folders that hold the chosen level.
std::uint64_t bytes_of(const Levels& levels, const fs::path& folder) {
    std::set<fs::path> folders;
    for (const Piece& piece : levels.pieces) folders.insert(folder / fs::path(levels.files[piece.file]).parent_path());
    std::uint64_t sum = 0;
    for (const fs::path& path : folders) sum += open_folder(path)->size();
    return sum;
}

// One file after the other, each let go of before the next.
class LevelReader {
  public:
    LevelReader(const fs::path& path, const FileSet& folder, Levels levels, const Progress& progress)
        : path_(path), folder_(folder), levels_(std::move(levels)), progress_(progress) {
        std::stable_sort(levels_.pieces.begin(), levels_.pieces.end(),
                         [](const Piece& a, const Piece& b) { return a.file < b.file; });
    }

    Result<SplatFile> read() {
        out_.format = fmt::format("streamed SOG, level {} of {}", levels_.chosen, levels_.levels);
        const std::span<const Piece> pieces(levels_.pieces);
        for (std::size_t begin = 0, end = 0; begin < pieces.size(); begin = end) {
            while (end < pieces.size() && pieces[end].file == pieces[begin].file) ++end;
            if (auto done = read_file(pieces.subspan(begin, end - begin)); !done) return tl::unexpected(done.error());
            rows_ = end;
        }
        return std::move(out_);
    }

  private:
    Result<void> read_file(std::span<const Piece> pieces) {
        const std::string& name = levels_.files[pieces.front().file];
        SplatReadOptions options;
        if (progress_)
            options.progress = [&](std::string_view what, std::size_t done, std::size_t total) {
                const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
                return progress_(what, rows_ + static_cast<std::size_t>(share * static_cast<double>(pieces.size())),
                                 levels_.pieces.size());
            };
        auto part = read_sog_files(folder_, name, options);
        if (!part) return tl::unexpected(part.error());
        if (rows_ == 0)
            out_.model = GaussianModel(levels_.count, part->model.sh_degree);
        else if (part->model.sh_degree > out_.model.sh_degree)
            out_.model = out_.model.resized(out_.model.capacity, part->model.sh_degree);
        out_.model.antialiased |= part->model.antialiased;
        for (const Piece& piece : pieces) {
            if (piece.offset > part->model.count || piece.count > part->model.count - piece.offset)
                return malformed(path_.string(),
                                 fmt::format("a leaf of the tree names rows {} to {} of {}, which has {}", piece.offset,
                                             piece.offset + piece.count, name, part->model.count));
            copy_rows(part->model, piece.offset, piece.count, out_.model, piece.at);
        }
        for (const std::string& note : part->notes) out_.notes.push_back(name + ": " + note);
        return {};
    }

    const fs::path& path_;
    const FileSet& folder_;
    Levels levels_;
    const Progress& progress_;
    SplatFile out_{GaussianModel(0, 0), {}, {}};
    std::size_t rows_ = 0;  // pieces done
};

}  // namespace

bool recognises_splat_lods(FirstBytes first_bytes, const fs::path&) {
    const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()), first_bytes.size());
    const auto begin = text.find_first_not_of(" \t\r\n");
    return begin != std::string_view::npos && text[begin] == '{' &&
           text.find("\"lodLevels\"") != std::string_view::npos;
}

Result<SplatFile> read_splat_lods(const fs::path& path, const SplatReadOptions& options) {
    const fs::path parent = path.parent_path().empty() ? fs::path(".") : path.parent_path();
    const auto folder = open_folder(parent);
    auto levels = read_levels(*folder, path.filename().string(), options.lod);
    if (!levels) return tl::unexpected(levels.error());
    if (auto possible = check_plausible_count(levels->count, bytes_of(*levels, parent), path.string(), 0); !possible)
        return tl::unexpected(possible.error());
    return LevelReader(path, *folder, std::move(*levels), options.progress).read();
}

}  // namespace gs
