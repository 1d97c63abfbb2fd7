#include "renderer/raster/view_setup.h"

#include <algorithm>
#include <cmath>

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

ViewSides<double> view_sides(const Camera& c) {
    const double slack_x = (0.15 * c.width + 4.0) / c.fx, slack_y = (0.15 * c.height + 4.0) / c.fy;
    ViewSides<double> sides{};
    sides.normal[0] = {1.0, 0.0, c.cx / c.fx + slack_x};
    sides.normal[1] = {-1.0, 0.0, (c.width - c.cx) / c.fx + slack_x};
    sides.normal[2] = {0.0, 1.0, c.cy / c.fy + slack_y};
    sides.normal[3] = {0.0, -1.0, (c.height - c.cy) / c.fy + slack_y};
    for (Vec3d& n : sides.normal) n = (1.0 / std::sqrt(dot(n, n))) * n;
    return sides;
}

}  // namespace gs
