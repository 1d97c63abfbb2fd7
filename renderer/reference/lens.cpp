#include "renderer/reference/lens.h"

#include "renderer/scene/camera_lens.h"

namespace gs::reference {
namespace {

Vec3<Jet> inputs(Vec3d p) { return {Jet::input(p.x, 0), Jet::input(p.y, 1), Jet::input(p.z, 2)}; }
}  // namespace

DrawnCamera::DrawnCamera(const Camera& c) : camera(c), straight(draws_as_pinhole(c)) {
    if (!c.orthographic()) lens = math::make_lens_camera<Jet>(c);
}

LensPlace place_through(const math::LensCamera<Jet>& camera, Vec3d mean) {
    LensPlace out;
    const Vec3<Jet> middle = camera.rotation * inputs(mean) + camera.translation;
    // Newton's steps to a rolling shutter's moment carry the moment's derivatives with them.
    const math::Seen<Jet> seen = math::seen_through(camera, middle);
    const auto on = math::lens_project(camera.lens, seen.point);
    const Jet depth = math::lens_depth(camera.lens, middle);
    out.valid = on.valid && seen.stretch.regular;
    out.pixel = {on.uv.x.value, on.uv.y.value};
    out.depth = depth.value;
    out.depth_slope = {depth.slope[0], depth.slope[1], depth.slope[2]};
    const Jet* uv[2] = {&on.uv.x, &on.uv.y};
    for (int r = 0; r < 2; ++r)
        for (int k = 0; k < 3; ++k) {
            out.slope.m[r][k] = out.footprint.m[r][k] = uv[r]->slope[k];
            for (int by = 0; by < 3; ++by) out.bend[by].m[r][k] = uv[r]->bend[k][by];
        }
    const Vec2<Jet> own = math::base_place(camera.lens.base, seen.point);
    out.bounded = own.x.value != seen.at.x.value || own.y.value != seen.at.y.value;
    if (seen.inside && !out.bounded) return out;
    // Beyond the bounds the extent does not follow the pixel: it has a Jacobian of its own.
    const auto f = math::footprint(camera, seen, Quat<Jet>{1.0, 0.0, 0.0, 0.0});
    for (int r = 0; r < 2; ++r)
        for (int k = 0; k < 3; ++k) {
            out.footprint.m[r][k] = f.a[r][k].value;
            for (int by = 0; by < 3; ++by) out.bend[by].m[r][k] = f.a[r][k].slope[by];
        }
    return out;
}

}  // namespace gs::reference
