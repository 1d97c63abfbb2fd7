#include "app/studio/same_picture.h"

#include <array>
#include <tuple>

namespace gs {
namespace {

auto clip_key(const ClipBox& box) {
    return std::array{box.lo.x, box.lo.y, box.lo.z, box.hi.x, box.hi.y, box.hi.z};
}
auto color_key(const ColorBy& c) {
    return std::tuple(c.value, c.map, c.automatic, c.lo, c.hi, c.filter);
}
/// What of a request decides the picture.
auto picture_key(const ViewRequest& r) {
    const Camera& c = r.camera;
    const ViewSettings& v = r.settings;
    const auto& m = c.rotation.m;
    return std::tuple(
        c.width, c.height,
        std::array{c.fx, c.fy, c.cx, c.cy, c.translation.x, c.translation.y, c.translation.z},
        std::array{m[0][0], m[0][1], m[0][2], m[1][0], m[1][1], m[1][2], m[2][0], m[2][1], m[2][2]},
        v.mode, v.style, v.colormap, v.range, v.range_lo, v.range_hi, v.percentile, v.logarithmic,
        v.capture_view, v.sh_degree, v.scale_modifier, v.viewer_budget, v.lod_budget, v.lod_pixels,
        v.lod_level, v.level_colors, color_key(v.color_by), v.point_size, v.compare != Compare::off,
        v.with, v.swapped, v.signed_error,
        std::array{v.background.x, v.background.y, v.background.z}, c.model, v.near_plane,
        v.clip.has_value(), clip_key(v.clip.value_or(ClipBox{})));
}

}  // namespace

bool same_picture(const ViewRequest& a, const ViewRequest& b) {
    return picture_key(a) == picture_key(b);
}

bool same_pose(const Camera& a, const Camera& b) {
    ViewRequest from_a, from_b;
    from_a.camera = a;
    from_b.camera = b;
    return same_picture(from_a, from_b);
}

}  // namespace gs
