#include "trainer/poses/intrinsics_refinement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "renderer/scene/camera_lens.h"
#include "renderer/scene/camera_names.h"
#include "trainer/poses/likely_step.h"

namespace gs {
namespace {

/// By the camera's numbers instead of the lens's.
Intrinsics by_camera(CameraModel model, const LensSlopes& slopes) {
    Intrinsics out{};
    out[0] = slopes[math::kFocal];
    const auto numbers = math::distortion_numbers(model);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        out[1 + i] = slopes[static_cast<std::size_t>(numbers[i])];
    return out;
}

/// How far each number moves the picture's corner, x its distance from the middle; 1 for those that
/// the model does not have.
Intrinsics at_corner(const Camera& camera) {
    const math::Lens<double> lens = math::make_point_lens(camera);
    const double x = std::max(camera.cx, camera.width - camera.cx) / camera.fx,
                 y = std::max(camera.cy, camera.height - camera.cy) / camera.fy;
    const double shorter = std::min(1.0, 0.99 * std::sqrt(lens.limit_squared) / std::hypot(x, y));
    const Vec3d c = math::direction_of(lens.base, Vec2<double>{shorter * x, shorter * y});
    const Jacobian<kIntrinsics> j = intrinsics_jacobian(camera.model, lens, c);
    const double far = std::hypot(j[0][0], j[1][0]);  // the focal length's is the distance itself
    Intrinsics out;
    for (std::size_t i = 0; i < kIntrinsics; ++i) {
        out[i] = std::hypot(j[0][i], j[1][i]) / far;
        if (!(out[i] > 0 && std::isfinite(out[i]))) out[i] = 1;
    }
    return out;
}

}  // namespace

std::string why_not_refined(const View& view) {
    const Camera& c = view.camera;
    if (c.rolling()) return "has a rolling shutter";
    if (c.model == CameraModel::pinhole || !math::distortion_numbers(c.model).empty()) return {};
    return fmt::format("is seen through a lens of the model {}", text_of(c.model));
}

IntrinsicsRefinement::IntrinsicsRefinement(const Capture& capture,
                                           std::span<const std::size_t> views)
    : camera_of_view_(capture.views.size(), kNone) {
    std::vector<std::vector<std::size_t>> photos;  // by camera
    const auto camera_of = [&](const View& view) {
        const auto same = [&](const std::vector<std::size_t>& of) {
            const View& other = capture.views[of.front()];
            return other.camera_number == view.camera_number &&
                   same_lens(other.camera, view.camera);
        };
        return static_cast<std::size_t>(std::ranges::find_if(photos, same) - photos.begin());
    };
    for (const std::size_t v : views) {
        const std::size_t camera = camera_of(capture.views[v]);
        if (camera == photos.size()) photos.emplace_back();
        photos[camera].push_back(v);
    }
    for (std::size_t v = 0; v < capture.views.size(); ++v)
        if (const std::size_t camera = camera_of(capture.views[v]); camera < photos.size())
            camera_of_view_[v] = camera;
    rows_.resize(photos.size());
    for (const std::vector<std::size_t>& of : photos) {
        const Camera& camera = capture.views[of.front()].camera;
        cameras_.push_back({intrinsics_information(capture, of), at_corner(camera), camera.model,
                            static_cast<double>(of.size())});
    }
}

Camera IntrinsicsRefinement::applied(Camera camera, std::size_t view) const {
    const std::size_t which = empty() ? kNone : camera_of_view_[view];
    if (which == kNone || rows_[which].steps == 0) return camera;
    const Intrinsics& change = rows_[which].change;
    camera.fx *= std::exp(change[0]);
    camera.fy *= std::exp(change[0]);
    for (std::size_t i = 0; i + 1 < kIntrinsics; ++i) camera.distortion[i] += change[1 + i];
    return camera;
}

bool IntrinsicsRefinement::step(const IntrinsicsGradient& said, double sigma, double forgets) {
    const std::size_t which = camera_of_view_[said.view];
    if (which == kNone ||
        !std::isfinite(std::accumulate(said.slopes.begin(), said.slopes.end(), said.residual)))
        return which == kNone;
    const Known& camera = cameras_[which];
    if (!camera.photo.any) return true;
    Row& row = rows_[which];
    ++row.steps;
    Intrinsics sigmas;
    for (std::size_t i = 0; i < kIntrinsics; ++i) sigmas[i] = 0.01 * sigma / camera.corner[i];
    const StepSaid<kIntrinsics> step{by_camera(camera.model, said.slopes), said.residual,
                                     forgets_of_one(forgets, camera.photos)};
    const Intrinsics by = likely_step(camera.photo, step, row.change, sigmas, row.known);
    for (std::size_t i = 0; i < kIntrinsics; ++i) row.change[i] += by[i];
    return true;
}

bool IntrinsicsRefinement::restore(std::vector<Row> rows) {
    const auto sound = [](const Row& row) {
        return row.known >= 0 &&
               std::isfinite(std::accumulate(row.change.begin(), row.change.end(), row.known));
    };
    if (rows.size() != rows_.size() || !std::ranges::all_of(rows, sound)) return false;
    rows_ = std::move(rows);
    return true;
}

}  // namespace gs
