// A small capture whose photos are drawn from the Gaussians that its points are of: training can
// reach them exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "small_run.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"

namespace gs::test {

inline GaussianModel painted_model() {
    return random_model({.count = 300, .sh_degree = 0, .extent = 0.5f, .scale_hi = 0.08f});
}

/// `through`: changes the cameras before the photos are drawn.
inline std::shared_ptr<Capture> painted_capture(
    const std::function<void(Camera&)>& through = [](Camera&) {},
    const GaussianModel& model = painted_model()) {
    auto capture = testing::small_capture(64, 48);
    capture->points.clear();
    for (std::size_t i = 0; i < model.count; ++i) {
        SparsePoint point{model.mean(i)};
        for (int c = 0; c < 3; ++c)
            point.rgb[c] = static_cast<std::uint8_t>(
                255 * std::clamp(0.5f + 0.282095f * model.at(kSh0 + c, i), 0.0f, 1.0f));
        capture->points.push_back(point);
    }
    RasterRun run(make_cpu_rasterizer());
    for (View& view : capture->views) {
        through(view.camera);
        const Drawn drawn = run.draw(model, view.camera, {});
        for (std::size_t i = 0; i < drawn.color.size(); ++i)
            view.photo.bytes[i] =
                static_cast<std::uint8_t>(std::lround(255 * std::clamp(drawn.color[i], 0.0, 1.0)));
    }
    return capture;
}

}  // namespace gs::test
