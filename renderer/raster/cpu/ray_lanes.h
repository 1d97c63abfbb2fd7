// The vector arithmetic of rays that both ways of blending share: where 16 rays come nearest to a
// Gaussian, to the same bits forward and backward, so that backward meets whom forward has blended.
// Included once per instruction set by rays/trace.cpp, rays/trace_backward.cpp and tensor_tile.cpp
// (Highway's foreach_target), hence the toggled guard.
#if defined(GS_RASTER_CPU_RAY_LANES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GS_RASTER_CPU_RAY_LANES_H_
#undef GS_RASTER_CPU_RAY_LANES_H_
#else
#define GS_RASTER_CPU_RAY_LANES_H_
#endif

#include "renderer/raster/cpu/lanes.h"
#include "renderer/raster/ray_form.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

using RayLanes = hn::Vec<D>;
struct RayLanes3 {
    RayLanes x, y, z;
};

HWY_INLINE RayLanes3 load3(const float* planes, std::size_t stride) {
    const D d;
    return {hn::Load(d, planes), hn::Load(d, planes + stride), hn::Load(d, planes + 2 * stride)};
}
/// row of M times v, plus `more`.
HWY_INLINE RayLanes row_times(const float* m, const RayLanes3& v, RayLanes more) {
    const D d;
    return hn::MulAdd(hn::Set(d, m[0]), v.x,
                      hn::MulAdd(hn::Set(d, m[1]), v.y, hn::MulAdd(hn::Set(d, m[2]), v.z, more)));
}
HWY_INLINE RayLanes dot3(const RayLanes3& a, const RayLanes3& b) {
    return hn::MulAdd(a.x, b.x, hn::MulAdd(a.y, b.y, hn::Mul(a.z, b.z)));
}
HWY_INLINE RayLanes3 cross3(const RayLanes3& a, const RayLanes3& b) {
    return {hn::MulSub(a.y, b.z, hn::Mul(a.z, b.y)), hn::MulSub(a.z, b.x, hn::Mul(a.x, b.z)),
            hn::MulSub(a.x, b.y, hn::Mul(a.y, b.x))};
}

HWY_INLINE RayLanes3 scaled3(RayLanes by, const RayLanes3& v) {
    return {hn::Mul(by, v.x), hn::Mul(by, v.y), hn::Mul(by, v.z)};
}
/// v + by * w.
HWY_INLINE RayLanes3 plus3(const RayLanes3& v, RayLanes by, const RayLanes3& w) {
    return {hn::MulAdd(by, w.x, v.x), hn::MulAdd(by, w.y, v.y), hn::MulAdd(by, w.z, v.z)};
}
HWY_INLINE RayLanes3 set3(Vec3f v) {
    const D d;
    return {hn::Set(d, v.x), hn::Set(d, v.y), hn::Set(d, v.z)};
}
/// How rays meet a Gaussian; see the top of rays/trace.cpp.
struct RayMeeting {
    RayLanes3 arm, step;  ///< M (place near the mean - mean), M direction
    RayLanes inverse;     ///< 1 / |step|^2
    RayLanes back;        ///< from that place back to where the ray comes nearest
    RayLanes3 aside;      ///< arm x step
    RayLanes power;       ///< log2 alpha, not clamped
    RayLanes distance;    ///< along the ray
};
/// `off`, `apart`: what the rays' directions and origins are more than their tile's.
template <bool kParted>
HWY_INLINE RayMeeting meet_rays(const RayForm& g, const RayLanes3& off, const RayLanes3& apart) {
    constexpr float kHalfLog2E = 0.72134752f;  // exp(-x / 2) = 2^(-x kHalfLog2E)
    const D d;
    const auto along = hn::Set(d, g.along), nothing = hn::Zero(d);
    RayMeeting out;
    const RayLanes3 turned{row_times(g.whitening, off, nothing),
                           row_times(g.whitening + 3, off, nothing),
                           row_times(g.whitening + 6, off, nothing)};
    out.step = {hn::Add(turned.x, hn::Set(d, g.step[0])), hn::Add(turned.y, hn::Set(d, g.step[1])),
                hn::Add(turned.z, hn::Set(d, g.step[2]))};
    out.arm = {hn::MulAdd(along, turned.x, hn::Set(d, g.arm[0])),
               hn::MulAdd(along, turned.y, hn::Set(d, g.arm[1])),
               hn::MulAdd(along, turned.z, hn::Set(d, g.arm[2]))};
    if constexpr (kParted)
        out.arm = {row_times(g.whitening, apart, out.arm.x),
                   row_times(g.whitening + 3, apart, out.arm.y),
                   row_times(g.whitening + 6, apart, out.arm.z)};
    out.inverse = hn::Div(hn::Set(d, 1.0f), dot3(out.step, out.step));
    out.back = hn::Mul(dot3(out.arm, out.step), out.inverse);
    // Not |arm|^2 - (arm . step)^2 / |step|^2: an arm that points along the ray would cancel.
    out.aside = cross3(out.arm, out.step);
    const auto distance2 = hn::Mul(dot3(out.aside, out.aside), out.inverse);
    out.power = hn::NegMulAdd(hn::Set(d, kHalfLog2E), distance2, hn::Set(d, g.log2_opacity));
    out.distance = hn::Sub(along, out.back);
    return out;
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
