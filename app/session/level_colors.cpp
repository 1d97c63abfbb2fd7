#include "app/session/level_colors.h"

#include <algorithm>

#include "base/parallel.h"
#include "renderer/maps/colormap.h"
#include "renderer/math/sh.h"

namespace gs {
namespace {

/// In its level's colour, as bright as `base`, but never so dark that levels look alike.
void tint(float (&base)[3], Rgb8 level) {
    const float light = 0.3f * base[0] + 0.6f * base[1] + 0.1f * base[2];
    const float shade = (0.5f + 0.5f * std::clamp(light, 0.0f, 1.0f)) / 255;
    const float of_level[3] = {shade * level.r, shade * level.g, shade * level.b};
    for (int c = 0; c < 3; ++c) base[c] = 0.15f * base[c] + 0.85f * of_level[c];
}

}  // namespace

GaussianModel tinted_by_level(const GaussianModel& model, std::span<const LevelRun> runs) {
    GaussianModel out(model.count, 0);
    out.antialiased = model.antialiased;
    for (int p = 0; p < kGeometryPlanes; ++p)
        std::copy_n(model.plane(p), model.count, out.plane(p));
    parallel_ranges(model.count, 4096, [&](std::size_t begin, std::size_t end) {
        auto run = std::upper_bound(runs.begin(), runs.end(), begin,
                                    [](std::size_t row, const LevelRun& r) { return row < r.end; });
        for (std::size_t i = begin; i < end; ++i) {
            while (run != runs.end() && i >= run->end) ++run;
            float rgb[3];
            for (int c = 0; c < 3; ++c) rgb[c] = 0.5f + math::kSh0Basis * model.at(kSh0 + c, i);
            if (run != runs.end() && run->level != kEveryLevel)
                tint(rgb, color_of_level(run->level));
            for (int c = 0; c < 3; ++c) out.at(kSh0 + c, i) = (rgb[c] - 0.5f) / math::kSh0Basis;
        }
    });
    return out;
}

}  // namespace gs
