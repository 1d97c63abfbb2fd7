// One level of a streamed set (level_set.h) as a model. Read only.
#include "base/try.h"
#include "renderer/io/files/records.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/level_set.h"

namespace gs {
namespace {

struct Place {
    LevelPiece piece;
    std::size_t at;  // first row in the whole
};

// One file after the other, each let go of before the next.
class LevelReader {
  public:
    LevelReader(const LevelSet& set, std::size_t level, const SplatReadOptions& options)
        : set_(set), progress_(options.progress) {
        for (const LevelRegion& region : set.regions) {
            if (options.crop && region.lies_outside(*options.crop)) continue;
            places_.push_back({set.piece(region, level), count_});
            count_ += places_.back().piece.count;
        }
        std::ranges::stable_sort(
            places_, [](const Place& a, const Place& b) { return a.piece.file < b.piece.file; });
        out_.format = fmt::format("streamed SOG, level {} of {}", level, set.levels);
    }

    Result<SplatFile> read() {
        const std::span<const Place> places(places_);
        for (std::size_t begin = 0, end = 0; begin < places.size(); begin = end) {
            while (end < places.size() && places[end].piece.file == places[begin].piece.file) ++end;
            GS_TRY_VOID(read_file(places.subspan(begin, end - begin)));
            done_ = end;
        }
        GS_TRY_VOID(add_environment());
        return std::move(out_);
    }

  private:
    Result<SplatFile> read_part(const std::string& name, std::size_t places) {
        Progress told;
        if (progress_)
            told = [&](std::string_view what, std::size_t done, std::size_t total) {
                const double share =
                    total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
                return progress_(
                    what, done_ + static_cast<std::size_t>(share * static_cast<double>(places)),
                    places_.size());
            };
        auto part = read_level_file(set_, name, told);
        if (part)
            for (const std::string& note : part->notes) out_.notes.push_back(name + ": " + note);
        return part;
    }

    Result<void> read_file(std::span<const Place> places) {
        GS_TRY(auto part, read_part(set_.files[places.front().piece.file], places.size()));
        make_room(part.model, count_);
        for (const Place& place : places) {
            GS_TRY_VOID(check_piece(set_, place.piece, part.model));
            copy_rows(part.model, place.piece.offset, place.piece.count, out_.model, place.at);
        }
        return {};
    }

    Result<void> add_environment() {
        if (set_.environment.empty()) return {};
        GS_TRY(auto part, read_part(set_.environment, 0));
        const std::size_t before = out_.model.count;
        make_room(part.model, before + part.model.count);
        copy_rows(part.model, 0, part.model.count, out_.model, before);
        out_.notes.push_back(
            fmt::format("{} Gaussians are the environment of every level", part.model.count));
        return {};
    }

    void make_room(const GaussianModel& part, std::size_t count) {
        const int degree = std::max(part.sh_degree, out_.model.sh_degree);
        if (out_.model.count == 0)
            out_.model = GaussianModel(count, degree);
        else if (count > out_.model.count || degree > out_.model.sh_degree)
            out_.model = out_.model.resized(count, degree);
        out_.model.count = count;
        out_.model.antialiased |= part.antialiased;
    }

    const LevelSet& set_;
    const Progress& progress_;
    std::vector<Place> places_;
    std::size_t count_ = 0, done_ = 0;  // Gaussians of the level; places read
    SplatFile out_{GaussianModel(0, 0), {}, {}};
};

}  // namespace

bool recognises_splat_lods(FirstBytes first_bytes, const fs::path&) {
    const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()),
                                first_bytes.size());
    const auto begin = text.find_first_not_of(" \t\r\n");
    return begin != std::string_view::npos && text[begin] == '{' &&
           text.find("\"lodLevels\"") != std::string_view::npos;
}

Result<SplatFile> read_splat_lods(const fs::path& path, const SplatReadOptions& options) {
    GS_TRY(const auto set, read_level_set(path));
    if (options.lod < 0 || static_cast<std::size_t>(options.lod) >= set.levels)
        return fail(ErrorKind::usage, path.string(), fmt::format("has no level {}", options.lod),
                    fmt::format("0 is the finest, {} the coarsest", set.levels - 1));
    return LevelReader(set, static_cast<std::size_t>(options.lod), options).read();
}

}  // namespace gs
