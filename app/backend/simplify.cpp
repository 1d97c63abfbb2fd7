#include "app/backend/simplify.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/try.h"
#include "renderer/edit/merge.h"
#include "renderer/raster/fit_colors.h"
#include "renderer/scene/camera_path.h"
#include "renderer/scene/model_place.h"

namespace gs {
namespace {

constexpr int kColorPasses = 10;  // half of what merging costs comes back in five

}  // namespace

Result<std::size_t> simplified_count(const std::string& to, std::size_t count) {
    const bool percent = !to.empty() && to.back() == '%';
    const char* const end = to.data() + to.size() - (percent ? 1 : 0);
    double value = 0;
    const auto read = std::from_chars(to.data(), end, value);
    const bool whole = percent || value == std::floor(value);
    if (read.ec != std::errc() || read.ptr != end || !whole || !(value > 0) || !(value <= 1e12) ||
        (percent && value > 100))
        return fail(ErrorKind::usage, "",
                    fmt::format("--simplify {}: not a number of Gaussians or a percentage", to),
                    "for example 200000, or 50%");
    const double wanted = percent ? std::round(static_cast<double>(count) * value / 100) : value;
    if (wanted < 1)
        return fail(ErrorKind::usage, "",
                    fmt::format("--simplify {} of {} Gaussians leaves none", to, count));
    return std::min(static_cast<std::size_t>(wanted), count);
}

std::vector<Camera> cameras_to_look_from(const Capture& capture) {
    std::vector<Camera> out;
    for (const std::size_t i : capture.view_indices(false)) out.push_back(capture.views[i].camera);
    return out;
}

std::vector<Camera> cameras_to_look_from(const GaussianModel& model) {
    constexpr int kAround = 16;
    std::vector<Camera> out;
    PathPlace place = place_of(model);
    for (const double elevation : {-0.2, 0.2, 0.7}) {
        place.elevation = elevation;
        for (int i = 0; i < kAround; ++i)
            out.push_back(
                camera_of(preset_pose(PathPreset::orbit, place, static_cast<double>(i) / kAround),
                          kWeighedSide, kWeighedSide * 3 / 4));
    }
    return out;
}

Result<GaussianModel> simplified(Rasterizer& rasterizer, const GaussianModel& model, std::size_t n,
                                 std::vector<Camera> cameras, const Progress& progress) {
    if (cameras.empty()) return fail(ErrorKind::usage, "", "no camera to view the Gaussians from");
    cameras = cameras_to_weigh(cameras);
    GS_TRY(const auto weights,
           blend_weights(rasterizer, model, cameras, plain_options(model), progress));
    GS_TRY(GaussianModel fewer, merged_to(model, weights, n, progress));
    GS_TRY_VOID(fit_colors(rasterizer, model, fewer, cameras, kColorPasses, progress));
    return fewer;
}

}  // namespace gs
