// Compares rounds of density control, opacity resets and edits of a run with the CPU, row for row.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/cli/cases/cases.h"
#include "app/cli/cases/runs.h"

namespace gs::cli {
namespace {

constexpr double kRowLimit = 2e-5;  ///< of a parameter, over 1 + its size

struct RoundCase {
    const char* name;
    std::size_t count;
    double most;  ///< Gaussians the run may have
    bool large, locks, faint;
    bool revised = false;  ///< opacities of clones and children
    bool long_axis = false;
    bool compact = false;  ///< moments in 16 bits
};
constexpr RoundCase kRounds[] = {
    {"one Gaussian", 1, 5000, false, false, false},
    {"15 Gaussians", 15, 5000, true, false, false},
    {"256 Gaussians", 256, 5000, false, false, false},
    {"330 Gaussians, large ones go", 330, 5000, true, false, false},
    {"330 Gaussians, space for ten more", 330, 340, false, false, false},
    {"900 Gaussians, some locked", 900, 5000, true, true, false},
    {"all too faint", 50, 1000, false, false, true},
    {"400 Gaussians, opacities revised", 400, 5000, true, true, false, true},
    {"400 Gaussians, along the longest axis", 400, 450, true, true, false, true, true},
    {"400 Gaussians of compact moments", 400, 5000, true, true, false, false, false, true},
};
struct RelocationCase {
    const char* name;
    std::size_t count;
    double most;
    bool locks;
    int alive_every;     ///< 0: as busy_run() has them
    bool apart = false;  ///< new Gaussians are apart, and positions are also drawn by pull
};
constexpr RelocationCase kRelocations[] = {
    {"one Gaussian", 1, 5000, false, 0},
    {"330 Gaussians, a twentieth more", 330, 5000, false, 0},
    {"900 Gaussians, some locked, ten more", 900, 910, true, 0},
    {"places fill up", 300, 300, false, 30},
    {"none alive", 50, 1000, false, 100},
    {"700 Gaussians, to where gradients pull, apart", 700, 5000, true, 0, true},
    {"places fill up, apart", 300, 300, false, 30, true},
};

TrainingSettings settings_for(double most) {
    TrainingSettings s;
    s.max_gaussians = most;
    s.densify_extent = 0.02;
    s.prune_extent = 0.2;
    s.prune_screen_px = 25;
    return s;
}

/// Over 1 + its size; infinitely far off where the rows are others.
ComparisonRow rows_apart(const RunArrays& got, const RunArrays& truth) {
    ComparisonRow out{"parameters and moments", kRowLimit};
    out.nan_is_nan = true;  // rows that no file should hold are kept as they are
    const auto compare = [&](float x, float y) {
        const double size = std::isfinite(y) ? 1 + std::abs(y) : 1;
        out.add(y / size, x / size);
    };
    const GaussianModel &a = got.model, &b = truth.model;
    if (a.count != b.count || a.capacity != b.capacity ||
        !std::ranges::equal(got.identity.tags, truth.identity.tags) ||
        !std::ranges::equal(got.adam.last_step, truth.adam.last_step)) {
        out.add_lengths(b.count, a.count, "other rows:");
        return out;
    }
    for (int p = 0; p < a.planes(); ++p)
        for (std::size_t i = 0; i < a.capacity; ++i) compare(a.at(p, i), b.at(p, i));
    const auto &x = got.adam.moments, &y = truth.adam.moments;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) compare(x[i], y[i]);
    const auto &codes = got.adam.codes, &expected = truth.adam.codes;
    for (std::size_t i = 0; i < std::min(codes.size(), expected.size()); ++i)
        out.add(expected[i], codes[i]);
    return out;
}

template <class Change>
CheckRow check_beside_cpu(const Backend& backend, const RunArrays& start, Change&& change) {
    RunArrays after[2];
    std::string decided[2];
    for (int k = 0; k < 2; ++k) {
        const auto training = k == 0 ? training_of(backend) : make_cpu_training();
        RunArrays arrays = start;
        training->start(case_capture(20, 20), std::move(arrays));
        decided[k] = change(*training);
        after[k] = training->arrays();
    }
    const bool same = decided[0] == decided[1];
    CheckRow row = compared(label_of(backend), {}, {rows_apart(after[0], after[1])},
                            decided[0] + (same ? "" : ", CPU " + decided[1]) + "; ");
    row.passed = row.passed && same;
    return row;
}

CheckRow check_round(const Backend& backend, const RoundCase& c) {
    RunArrays start = busy_run(c.count, 3, c.locks, c.compact);
    for (std::size_t i = 0; c.faint && i < c.count; ++i) start.model.at(kOpacityLogits, i) = -9;
    return check_beside_cpu(backend, start, [&](TrainingBackend& training) {
        TrainingSettings settings = settings_for(c.most);
        settings.revised_opacity = c.revised;
        settings.long_axis = c.long_axis;
        const DensityReport r = training.densify_and_prune(settings, 1.0, c.large);
        return fmt::format("{} cloned, {} split, {} pruned of {} wanted", r.cloned, r.split,
                           r.pruned, r.wanted);
    });
}

CheckRow check_relocation(const Backend& backend, const RelocationCase& c) {
    RunArrays start = busy_run(c.count, 3, c.locks);
    for (std::size_t i = 0; c.alive_every > 0 && i < c.count; ++i)
        start.model.at(kOpacityLogits, i) =
            i % static_cast<std::size_t>(c.alive_every) == 1 && c.alive_every < 100 ? 3.0f : -9.0f;
    return check_beside_cpu(backend, start, [&](TrainingBackend& training) {
        TrainingSettings settings = settings_for(c.most);
        settings.relocate_spread = settings.relocate_by_pull = c.apart ? 1 : 0;
        const DensityReport r = training.relocate(settings, 1.0);
        return fmt::format("{} of {} dead relocated, {} added", r.relocated, r.dead, r.added);
    });
}

CheckRow check_reset(const Backend& backend, bool compact) {
    return check_beside_cpu(backend, busy_run(200, 2, true, compact),
                            [](TrainingBackend& training) {
                                training.reset_opacity();
                                return std::string("reset");
                            });
}

CheckRow check_edit(const Backend& backend) {
    return check_beside_cpu(backend, busy_run(100, 4), [](TrainingBackend& training) {
        training.edit([](RunArrays& arrays) {
            for (std::size_t i = 0; i < arrays.model.count; i += 5)
                arrays.model.at(kMeans, i) += 0.5f;
        });
        return fmt::format("{} rows", training.count());
    });
}

}  // namespace

void add_density_cases(CaseList& list, const Backend& backend) {
    const Backend* const b = &backend;
    for (const RoundCase& c : kRounds)
        add_case(list, std::string("density: ") + c.name, [b, &c] { return check_round(*b, c); });
    for (const RelocationCase& c : kRelocations)
        add_case(list, std::string("relocation: ") + c.name,
                 [b, &c] { return check_relocation(*b, c); });
    add_case(list, "density: opacities reset, some rows locked",
             [b] { return check_reset(*b, false); });
    add_case(list, "density: opacities reset, compact moments",
             [b] { return check_reset(*b, true); });
    add_case(list, "density: rows changed by hand", [b] { return check_edit(*b); });
}

}  // namespace gs::cli
