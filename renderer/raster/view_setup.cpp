#include "renderer/raster/view_setup.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

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

void check_drawable(const Camera& camera, const RenderOptions& options) {
    CHECK((camera.model == CameraModel::pinhole || camera.orthographic()) && camera.valid(),
          "the rasterizer takes valid pinhole and orthographic cameras");
    CHECK(!(options.gradients && camera.orthographic()), "gradients go through pinholes only");
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

const BlendCosts& ForwardState::backward_costs() const {
    static const BlendCosts kNone;
    return kNone;
}

}  // namespace gs
