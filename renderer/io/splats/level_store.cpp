#include "renderer/io/splats/level_store.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/try.h"

namespace gs {
namespace {

/// Numbers of the pieces, by region.
std::vector<std::size_t> pieces_of(const LevelSet& set, const LevelChoice& choice) {
    std::vector<std::size_t> out;
    out.reserve(set.regions.size() + 1);
    for (std::size_t r = 0; r < set.regions.size(); ++r)
        out.push_back(std::size_t{set.regions[r].first} + choice.levels[r]);
    return out;
}

GaussianModel rows_of(const GaussianModel& from, std::size_t offset, std::size_t count) {
    GaussianModel out = GaussianModel::to_fill(count, from.sh_degree);
    out.set_about(from);
    copy_rows(from, offset, count, out, 0);
    return out;
}

}  // namespace

double LevelStore::bytes_each() const {
    return static_cast<double>(sizeof(float)) * plane_count(sh_degree_);
}

std::uint64_t LevelStore::environment() const { return environment_ ? environment_->count : 0; }

std::vector<std::size_t> LevelStore::missing(const LevelSet& set, const LevelChoice& choice) const {
    std::map<std::size_t, double> coverage;
    for (std::size_t r = 0; r < set.regions.size(); ++r) {
        const std::size_t piece = std::size_t{set.regions[r].first} + choice.levels[r];
        if (!has(piece))
            coverage[set.pieces[piece].file] +=
                choice.coverage.empty() ? 0 : static_cast<double>(choice.coverage[r]);
    }
    std::vector<std::size_t> out;
    for (const auto& [file, px] : coverage) out.push_back(file);
    std::stable_sort(out.begin(), out.end(),
                     [&](std::size_t a, std::size_t b) { return coverage.at(a) > coverage.at(b); });
    if (!set.environment.empty() && !environment_) out.push_back(set.files.size());
    return out;
}

Result<void> LevelStore::read(const LevelSet& set, std::size_t file, const Progress& progress) {
    const bool all = file == set.files.size();
    GS_TRY(SplatFile read, read_level_file(set, all ? set.environment : set.files[file], progress));
    sh_degree_ = std::max(sh_degree_, read.model.sh_degree);
    if (all) {
        bytes_ += read.model.bytes();
        environment_ = std::make_shared<const GaussianModel>(std::move(read.model));
        return {};
    }
    for (std::size_t i = 0; i < set.pieces.size(); ++i) {
        const LevelPiece& piece = set.pieces[i];
        if (piece.file != file || has(i)) continue;
        GS_TRY_VOID(check_piece(set, piece, read.model));
        auto rows =
            std::make_shared<const GaussianModel>(rows_of(read.model, piece.offset, piece.count));
        bytes_ += rows->bytes();
        held_[i] = {std::move(rows), turn_};
    }
    return {};
}

Result<void> LevelStore::read_all(const LevelSet& set, const LevelChoice& choice,
                                  const Progress& progress) {
    constexpr std::size_t kParts = 1000;  // that a file counts for
    const std::vector<std::size_t> files = missing(set, choice);
    for (std::size_t done = 0; done < files.size(); ++done) {
        const Progress of_file = [&](std::string_view, std::size_t part, std::size_t of) {
            const std::size_t now = of > 0 ? kParts * part / of : 0;
            return !progress ||
                   progress("reading levels", kParts * done + now, kParts * files.size());
        };
        if (!of_file("", 0, 1))
            return fail(ErrorKind::cancelled, set.path.string(), "reading was cancelled");
        GS_TRY_VOID(read(set, files[done], of_file));
    }
    return {};
}

LevelChoice LevelStore::at_hand(const LevelSet& set, const LevelChoice& wanted,
                                const LevelChoice& shown, double budget) const {
    LevelChoice out = wanted;
    out.gaussians = 0;
    for (std::size_t r = 0; r < set.regions.size(); ++r) {
        const LevelRegion& region = set.regions[r];
        auto& level = out.levels[r];
        while (level + 1u < region.pieces && !has(std::size_t{region.first} + level)) ++level;
        out.gaussians += set.pieces_of(region)[level].count;
    }
    // Nothing gets coarser for a moment on its way to a level that is finer than the coarsest.
    for (std::size_t r = 0; r < std::min(set.regions.size(), shown.levels.size()); ++r) {
        const LevelRegion& region = set.regions[r];
        const auto finer = shown.levels[r];
        if (finer >= wanted.levels[r] || out.levels[r] == wanted.levels[r] ||
            !has(std::size_t{region.first} + finer))
            continue;
        const auto pieces = set.pieces_of(region);
        const std::uint64_t with =
            out.gaussians - pieces[out.levels[r]].count + pieces[finer].count;
        if (static_cast<double>(with) > budget) continue;
        out.levels[r] = finer;
        out.gaussians = with;
    }
    return out;
}

GaussianModel LevelStore::gather(const LevelSet& set, const LevelChoice& choice,
                                 std::vector<LevelRun>& runs) const {
    std::vector<const GaussianModel*> parts;
    std::vector<std::size_t> at;
    std::size_t count = 0;
    bool antialiased = false;
    int degree = 0;
    runs.clear();
    const auto add = [&](const GaussianModel& rows, std::size_t level) {
        parts.push_back(&rows);
        at.push_back(count);
        count += rows.count;
        runs.push_back({count, level});
        degree = std::max(degree, rows.sh_degree);
        antialiased |= rows.antialiased;
    };
    for (const std::size_t piece : pieces_of(set, choice))
        add(*held_.at(piece).rows, set.pieces[piece].level);
    if (environment_) add(*environment_, kEveryLevel);
    GaussianModel out = GaussianModel::to_fill(count, degree);
    out.antialiased = antialiased;
    parallel_for(parts.size(), 1,
                 [&](std::size_t i) { copy_rows(*parts[i], 0, parts[i]->count, out, at[i]); });
    return out;
}

void LevelStore::drop(const LevelSet& set, const LevelChoice& needed, std::uint64_t most) {
    ++turn_;
    for (const LevelChoice& kept : {coarsest_levels(set), needed})
        for (const std::size_t piece : pieces_of(set, kept))
            if (const auto it = held_.find(piece); it != held_.end()) it->second.used = turn_;
    std::vector<std::pair<std::uint64_t, std::size_t>> others;  // by the turn of their last use
    for (const auto& [piece, held] : held_)
        if (held.used != turn_) others.emplace_back(held.used, piece);
    std::sort(others.begin(), others.end());
    for (const auto& [used, piece] : others) {
        if (bytes_ <= most) return;
        const auto it = held_.find(piece);
        bytes_ -= it->second.rows->bytes();
        held_.erase(it);
    }
}

}  // namespace gs
