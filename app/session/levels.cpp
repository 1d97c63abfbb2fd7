#include "app/session/levels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/parallel.h"
#include "base/try.h"

namespace gs {
namespace {

constexpr int kWidenings = 160;         // of the pixels, until only the coarsest levels are left
constexpr double kWidening = 1.189207;  // 2^(1/4)

/// Factor from a region's spacing to pixels.
struct RegionSight {
    double diagonal = 0, pixels_per_unit = 0;
};

bool outside(const LevelRegion& region, const ClipBox& clip) {
    return region.hi.x < clip.lo.x || region.hi.y < clip.lo.y || region.hi.z < clip.lo.z ||
           region.lo.x > clip.hi.x || region.lo.y > clip.hi.y || region.lo.z > clip.hi.z;
}

RegionSight sight_of(const LevelRegion& region, const Camera& camera, Vec3d eye,
                     const std::optional<ClipBox>& clip) {
    constexpr double kAlways = std::numeric_limits<double>::infinity();
    if (!region.bounded) return {1, kAlways};  // nobody knows how far away it is
    if (clip && outside(region, *clip)) return {};
    const auto beyond = [](float lo, float hi, double v) {
        return std::max({static_cast<double>(lo) - v, v - static_cast<double>(hi), 0.0});
    };
    const double distance =
        std::hypot(beyond(region.lo.x, region.hi.x, eye.x), beyond(region.lo.y, region.hi.y, eye.y),
                   beyond(region.lo.z, region.hi.z, eye.z));
    const Vec3f size = region.hi - region.lo;
    const double diagonal = std::sqrt(static_cast<double>(dot(size, size)));
    if (camera.orthographic()) return {diagonal, std::max(camera.fx, camera.fy)};
    // From inside, as from a tenth of its size away.
    return {diagonal, std::max(camera.fx, camera.fy) / std::max({distance, 0.1 * diagonal, 1e-12})};
}

std::uint8_t level_within(std::span<const LevelPiece> pieces, const RegionSight& sight,
                          double pixels) {
    for (std::size_t k = pieces.size(); k-- > 1;) {
        const double spacing =
            sight.diagonal / std::sqrt(std::max(1.0, static_cast<double>(pieces[k].count)));
        if (spacing * sight.pixels_per_unit <= pixels) return static_cast<std::uint8_t>(k);
    }
    return 0;
}

std::uint64_t sum_of(const LevelSet& set, const std::vector<std::uint8_t>& levels) {
    std::uint64_t sum = 0;
    for (std::size_t r = 0; r < set.regions.size(); ++r)
        sum += set.pieces_of(set.regions[r])[levels[r]].count;
    return sum;
}

LevelChoice within(const LevelSet& set, const std::vector<RegionSight>& sights, double pixels) {
    LevelChoice out;
    out.pixels = pixels;
    out.levels.resize(set.regions.size());
    for (std::size_t r = 0; r < set.regions.size(); ++r)
        out.levels[r] = level_within(set.pieces_of(set.regions[r]), sights[r], pixels);
    out.gaussians = sum_of(set, out.levels);
    return out;
}

LevelChoice at_level(const LevelSet& set, std::size_t level) {
    LevelChoice out;
    for (const LevelRegion& region : set.regions)
        out.levels.push_back(
            static_cast<std::uint8_t>(&set.piece(region, level) - set.pieces_of(region).data()));
    out.gaussians = sum_of(set, out.levels);
    return out;
}

std::set<std::size_t> files_needed(const LevelSet& set, const LevelChoice& choice) {
    std::set<std::size_t> out;
    for (std::size_t r = 0; r < set.regions.size(); ++r)
        out.insert(set.pieces_of(set.regions[r])[choice.levels[r]].file);
    if (!set.environment.empty()) out.insert(set.files.size());
    return out;
}

/// Those of `needed` that are not in `files` yet.
Result<void> read_files(const LevelSet& set, const std::set<std::size_t>& needed,
                        const Progress& progress, LevelFiles& files) {
    constexpr std::size_t kParts = 1000;  // that a file counts for
    std::size_t done = 0;
    for (const std::size_t number : needed) {
        const Progress of_file = [&](std::string_view, std::size_t part, std::size_t of) {
            const std::size_t now = of > 0 ? kParts * part / of : 0;
            return !progress ||
                   progress("reading levels", kParts * done + now, kParts * needed.size());
        };
        if (!of_file("", 0, 1))
            return fail(ErrorKind::cancelled, set.path.string(), "reading was cancelled");
        if (files.count(number) == 0) {
            const std::string& name =
                number < set.files.size() ? set.files[number] : set.environment;
            GS_TRY(SplatFile file, read_level_file(set, name, of_file));
            files[number] = std::make_shared<const GaussianModel>(std::move(file.model));
        }
        ++done;
    }
    return {};
}

}  // namespace

LevelChoice coarsest_levels(const LevelSet& set) { return at_level(set, set.levels - 1); }

LevelChoice choose_levels(const LevelSet& set, const Camera& camera, const LevelWish& wish) {
    LevelChoice coarsest = coarsest_levels(set);
    const auto fits = [&](const LevelChoice& c) {
        return static_cast<double>(c.gaussians) <= wish.budget;
    };
    if (wish.level >= 0) {
        LevelChoice out =
            at_level(set, std::min(static_cast<std::size_t>(wish.level), set.levels - 1));
        out.over_budget = !fits(out);
        return out;
    }
    std::vector<RegionSight> sights;
    const Vec3d eye = camera.position();
    for (const LevelRegion& region : set.regions)
        sights.push_back(sight_of(region, camera, eye, wish.clip));
    LevelChoice out = within(set, sights, wish.pixels);
    if (fits(out)) return out;
    // The fewest widenings that keep the budget.
    int few = 0, many = kWidenings;
    out = within(set, sights, wish.pixels * std::pow(kWidening, many));
    if (!fits(out)) {
        coarsest.pixels = out.pixels;
        coarsest.over_budget = !fits(coarsest);
        return coarsest;
    }
    while (many - few > 1) {
        const int middle = (few + many) / 2;
        LevelChoice tried = within(set, sights, wish.pixels * std::pow(kWidening, middle));
        if (fits(tried))
            many = middle, out = std::move(tried);
        else
            few = middle;
    }
    return out;
}

Result<GatheredLevels> gather_levels(const LevelSet& set, const LevelChoice& choice,
                                     LevelFiles files, const Progress& progress) {
    GS_TRY_VOID(read_files(set, files_needed(set, choice), progress, files));
    std::vector<LevelPiece> pieces;
    for (std::size_t r = 0; r < set.regions.size(); ++r)
        pieces.push_back(set.pieces_of(set.regions[r])[choice.levels[r]]);
    const auto environment = files.find(set.files.size());
    if (environment != files.end() && !set.environment.empty())
        pieces.push_back(
            {0, static_cast<std::uint32_t>(set.files.size()), 0, environment->second->count});
    std::vector<LevelRun> runs;
    std::vector<std::size_t> at(pieces.size());
    std::size_t count = 0;
    int degree = 0;
    bool antialiased = false;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const GaussianModel& from = *files[pieces[i].file];
        GS_TRY_VOID(check_piece(set, pieces[i], from));
        at[i] = count;
        count += pieces[i].count;
        runs.push_back({count, pieces[i].file < set.files.size() ? pieces[i].level : kEveryLevel});
        degree = std::max(degree, from.sh_degree);
        antialiased |= from.antialiased;
    }
    GatheredLevels out{GaussianModel::to_fill(count, degree), std::move(files), std::move(runs)};
    out.model.antialiased = antialiased;
    parallel_for(pieces.size(), 1, [&](std::size_t i) {
        copy_rows(*out.files.at(pieces[i].file), pieces[i].offset, pieces[i].count, out.model,
                  at[i]);
    });
    return out;
}

void drop_files(const LevelSet& set, const LevelChoice& choice, std::uint64_t most,
                LevelFiles& files) {
    const auto needed = files_needed(set, choice);
    std::uint64_t held = 0;
    for (const auto& [number, model] : files) held += model->count;
    while (held > most) {
        auto largest = files.end();
        for (auto it = files.begin(); it != files.end(); ++it)
            if (needed.count(it->first) == 0 &&
                (largest == files.end() || it->second->count > largest->second->count))
                largest = it;
        if (largest == files.end()) return;
        held -= largest->second->count;
        files.erase(largest);
    }
}

LevelsState describe_levels(const LevelSet& set, const LevelChoice& choice,
                            const LevelFiles& files) {
    LevelsState out;
    out.levels.resize(set.levels);
    for (std::size_t level = 0; level < set.levels; ++level)
        out.levels[level].stored = set.gaussians(level);
    for (std::size_t r = 0; r < set.regions.size(); ++r) {
        const LevelPiece& piece = set.pieces_of(set.regions[r])[choice.levels[r]];
        ++out.levels[piece.level].regions;
        out.levels[piece.level].drawn += piece.count;
    }
    if (const auto it = files.find(set.files.size()); it != files.end())
        out.environment = it->second->count;
    out.drawn = choice.gaussians + out.environment;
    out.pixels = choice.pixels;
    out.files = files.size();
    out.files_of = set.files.size() + (set.environment.empty() ? 0 : 1);
    out.over_budget = choice.over_budget;
    return out;
}

}  // namespace gs
