#include "renderer/raster/view_setup.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "renderer/raster/frame_size.h"
#include "renderer/scene/camera_lens.h"

namespace gs {

RasterRules rules_for(const RenderOptions& options) {
    RasterRules rules = rules_of(options.compatibility);
    if (options.near_plane > 0.0f) rules.near_plane = options.near_plane;
    return rules;
}

float ending_transmittance(const RasterRules& rules) {
    return rules.stop_at_equal ? rules.transmittance_min
                               : std::nextafter(rules.transmittance_min, 0.0f);
}

int used_sh_degree(const RenderOptions& options, int model_sh_degree) {
    return std::clamp(options.sh_degree, 0, model_sh_degree);
}

float wrap_width(const Camera& camera) {
    return camera.model == CameraModel::equirectangular ? static_cast<float>(camera.width) : 0.0f;
}

math::Pinhole<float> pinhole_of(const Camera& c) {
    return math::make_pinhole<float>(c.rotation, c.translation, c.fx, c.fy, c.cx, c.cy, c.width,
                                     c.height, c.orthographic());
}

bool draws_unscented(const Camera& camera, const RenderOptions& options) {
    return options.projection == ProjectionMethod::ut && !camera.orthographic();
}

bool draws_through_lens(const Camera& camera, const RenderOptions& options) {
    return draws_unscented(camera, options) || !draws_as_pinhole(camera);
}

CameraConstants camera_constants(const Camera& camera, const RenderOptions& options) {
    if (!draws_through_lens(camera, options)) return pinhole_of(camera);
    const auto lens = math::make_lens_camera<float>(camera);
    if (draws_unscented(camera, options)) return math::UnscentedCamera<float>{lens};
    return lens;
}

/// Columns of tiles, twice around where the picture repeats, are counted by 16 bits.
constexpr int kMostFrameSide = 32768 * kTileSize;

void check_drawable(const Camera& camera, const RenderOptions& options) {
    CHECK(camera.valid(), "the rasterizer takes valid cameras");
    CHECK(!(options.gradients && camera.orthographic()), "no gradients go through parallel rays");
    CHECK(!(camera.rolling() && camera.orthographic()), "parallel rays have a global shutter");
    if (camera.width >= kMostFrameSide || camera.height >= kMostFrameSide)
        throw FrameTooLarge(
            fmt::format("cannot draw a picture of {} x {}: a side must be less than {} px",
                        camera.width, camera.height, kMostFrameSide));
    CHECK(!(options.gradients && options.tint), "gradients are of the model, not of a tint");
    CHECK(options.depth || !options.median_depth, "a median depth needs a depth picture");
    CHECK(!options.costs || (options.counters && !options.depth),
          "costs are measured with counters and without depth");
}

Vec3f ray_origin(const Camera& camera) {
    const Vec3d at = camera.orthographic() ? -camera.forward() : camera.position();
    return {static_cast<float>(at.x), static_cast<float>(at.y), static_cast<float>(at.z)};
}

ViewSides<double> view_sides(const Camera& c) {
    const double slack_x = (0.15 * c.width + 4.0) / c.fx, slack_y = (0.15 * c.height + 4.0) / c.fy;
    // From the optical axis to the edges, at depth 1 or, where rays are parallel, anywhere.
    const double edges[4] = {c.cx / c.fx + slack_x, (c.width - c.cx) / c.fx + slack_x,
                             c.cy / c.fy + slack_y, (c.height - c.cy) / c.fy + slack_y};
    constexpr Vec3d kInwards[4] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}};
    ViewSides<double> sides{};
    for (int i = 0; i < 4; ++i) {
        Vec3d n = kInwards[i];
        if (c.orthographic())
            sides.offset[i] = edges[i];
        else
            n.z = edges[i];
        sides.normal[i] = (1.0 / std::sqrt(dot(n, n))) * n;
    }
    return sides;
}

namespace {

/// The largest angle between the optical axis and what is seen on the straight line from the
/// principal point to `end`, px.
double angle_towards(const math::Lens<double>& lens, Vec2<double> end) {
    const auto ray_at = [&](double share) {
        return math::lens_ray(lens, Vec2<double>{lens.cx + share * (end.x - lens.cx),
                                                 lens.cy + share * (end.y - lens.cy)});
    };
    // Where the lens sees nothing, its rim lies between the two.
    double seen = 0, unseen = 1;
    auto ray = ray_at(1);
    if (!ray.valid) {
        ray = ray_at(0);
        for (int i = 0; i < 24; ++i) {
            const double share = 0.5 * (seen + unseen);
            const auto at = ray_at(share);
            (at.valid ? seen : unseen) = share;
            if (at.valid) ray = at;
        }
    }
    return ray.valid ? std::acos(std::clamp(ray.direction.z, -1.0, 1.0)) : 0;
}

double angle_between(const Mat3d& a, const Mat3d& b) {
    double trace = 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) trace += a.m[i][j] * b.m[i][j];
    return std::acos(std::clamp(0.5 * (trace - 1), -1.0, 1.0));
}

}  // namespace

ViewCone<double> view_cone(const Camera& camera, const math::Lens<double>& lens) {
    // Between the places that are looked at, and where a lens is bent beside its axis.
    constexpr double kSlack = 0.03;
    constexpr int kPlaces = 8;  // of a side
    double angle = kSlack, reach = 0;
    if (lens.base == math::LensBase::angles) {
        angle = std::numbers::pi;
    } else {
        const double w = camera.width, h = camera.height, x = 0.15 * w + 4, y = 0.15 * h + 4;
        for (int i = 0; i <= kPlaces; ++i) {
            const double share = static_cast<double>(i) / kPlaces, at_x = -x + share * (w + 2 * x),
                         at_y = -y + share * (h + 2 * y);
            for (const Vec2<double> end : {Vec2<double>{at_x, -y}, Vec2<double>{at_x, h + y},
                                           Vec2<double>{-x, at_y}, Vec2<double>{w + x, at_y}})
                angle = std::max(angle, angle_towards(lens, end) + kSlack);
        }
    }
    if (camera.rolling())
        for (const Pose& pose : {camera.first, camera.last}) {
            const Vec3d apart = camera.position() + transpose(pose.rotation) * pose.translation;
            reach = std::max(reach, std::sqrt(dot(apart, apart)));
            angle += angle_between(pose.rotation, camera.rotation);
        }
    angle = std::min(angle, std::numbers::pi);
    return {std::cos(angle), std::sin(angle), reach, lens.by_distance};
}

const BlendCosts& ForwardState::backward_costs() const {
    static const BlendCosts kNone;
    return kNone;
}

}  // namespace gs
