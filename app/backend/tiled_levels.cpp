#include "app/backend/tiled_levels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "app/backend/write_scene.h"
#include "base/nth.h"
#include "base/rng.h"
#include "base/try.h"
#include "renderer/edit/merge.h"
#include "renderer/io/splats/level_set.h"
#include "renderer/math/sh.h"
#include "renderer/scene/crop.h"

namespace gs {
namespace {

constexpr float kMoved = 0.05f, kBrighter = 0.25f;  // at most

/// The middle nine tenths of the means along each axis: nothing strays into other tiles.
ClipBox middle_of(const GaussianModel& model) {
    std::array<float, 3> lo{}, hi{};
    for (int axis = 0; axis < 3; ++axis) {
        std::vector<float> at(model.plane(kMeans + axis), model.plane(kMeans + axis) + model.count);
        std::erase_if(at, [](float v) { return !std::isfinite(v); });
        if (at.empty()) continue;
        lo[static_cast<std::size_t>(axis)] = quantile(at, 0.05);
        hi[static_cast<std::size_t>(axis)] = quantile(at, 0.95);
    }
    return {{lo[0], lo[1], lo[2]}, {hi[0], hi[1], hi[2]}};
}

void move(GaussianModel& model, int axis, float by) {
    float* at = model.plane(kMeans + axis);
    for (std::size_t i = 0; i < model.count; ++i) at[i] += by;
}

void brighten(GaussianModel& model, float factor) {
    for (int channel = 0; channel < 3; ++channel) {
        float* sh0 = model.plane(kSh0 + channel);
        for (std::size_t i = 0; i < model.count; ++i)
            sh0[i] = (factor * (0.5f + math::kSh0Basis * sh0[i]) - 0.5f) / math::kSh0Basis;
    }
}

/// Copies differ in place and brightness alone: each region is measured in one of them.
MeasureLevels measured_once() {
    return [measure = rendered_errors(),
            known = std::map<std::vector<std::size_t>, std::vector<double>>()](
               std::span<const GaussianModel> levels, Vec3d lo, Vec3d hi) mutable {
        std::vector<std::size_t> counts;
        for (const GaussianModel& level : levels) counts.push_back(level.count);
        auto& errors = known[counts];
        if (errors.empty()) errors = measure(levels, lo, hi);
        return errors;
    };
}

}  // namespace

Result<SplatNotes> write_tiled_levels(const fs::path& lod_meta, const GaussianModel& scene,
                                      int tiles, std::uint64_t seed, const Progress& progress) {
    const auto copies = static_cast<std::size_t>(tiles) * static_cast<std::size_t>(tiles);
    const ClipBox middle = middle_of(scene);
    const Vec3f size = middle.hi - middle.lo;
    const std::array<float, 3> reach{size.x, size.y, size.z};
    const int shortest = static_cast<int>(std::ranges::min_element(reach) - reach.begin());
    const int across = shortest == 0 ? 1 : 0, along = shortest == 2 ? 1 : 2;
    const GaussianModel tile = cropped(scene, middle);
    const std::size_t coarsest = std::max<std::size_t>(
        1, std::min(kCoarsestOfTiles / copies, tile.count / 9));  // at least three levels
    GS_TRY(const auto levels, levels_of(tile.resized(tile.count, 0), progress, coarsest));
    std::size_t rows = 0;
    for (const GaussianModel& level : levels) rows += copies * level.count;
    const std::size_t regions =
        copies * std::max<std::size_t>(1, 2 * tile.count / LevelSetWriter::region_rows(rows));
    GS_TRY_VOID(LevelSetWriter::check_size(lod_meta, rows, regions, levels.size()));
    LevelSetWriter writer(lod_meta, levels.size(), rows, {.trained = {}, .progress = progress},
                          measured_once());
    for (std::uint64_t i = 0; i < copies; ++i) {
        const auto place = [&](int axis, std::uint64_t steps) {
            const float jitter = 2 * random_uniform(seed, static_cast<std::uint64_t>(axis), i) - 1;
            return reach[static_cast<std::size_t>(axis)] *
                   (static_cast<float>(steps) + kMoved * jitter);
        };
        const auto side = static_cast<std::uint64_t>(tiles);
        const float x = place(across, i % side), z = place(along, i / side),
                    light = 1 + kBrighter * (2 * random_uniform(seed, 3, i) - 1);
        std::vector<GaussianModel> copy;
        for (const GaussianModel& level : levels) {
            copy.push_back(level.resized(level.count, 0));
            move(copy.back(), across, x);
            move(copy.back(), along, z);
            brighten(copy.back(), light);
        }
        GS_TRY_VOID(writer.add(copy));
    }
    return writer.finish();
}

}  // namespace gs
