// Lanes: a SIMD vector that behaves like a float, so that the functions of renderer/math run on many Gaussians at once.
// Included once per instruction set by the kernels' source files (Highway's foreach_target), hence the toggled guard.
#if defined(GS_RASTER_CPU_LANES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GS_RASTER_CPU_LANES_H_
#undef GS_RASTER_CPU_LANES_H_
#else
#define GS_RASTER_CPU_LANES_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>
// highway first
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// At most 16 floats: a row of a tile, a block of Gaussians. Narrower machines take several steps.
using D = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<D>;

struct LaneMask {
    hn::Mask<D> m;
};
struct Lanes {
    hn::Vec<D> v;
    HWY_INLINE Lanes() : v(hn::Zero(D())) {}
    HWY_INLINE explicit Lanes(float x) : v(hn::Set(D(), x)) {}
    HWY_INLINE explicit Lanes(hn::Vec<D> x) : v(x) {}
};
HWY_INLINE Lanes load(const float* p) { return Lanes(hn::LoadU(D(), p)); }
HWY_INLINE void store(Lanes x, float* p) { hn::StoreU(x.v, D(), p); }

// clang-format off
HWY_INLINE Lanes operator+(Lanes a, Lanes b) { return Lanes(hn::Add(a.v, b.v)); }
HWY_INLINE Lanes operator-(Lanes a, Lanes b) { return Lanes(hn::Sub(a.v, b.v)); }
HWY_INLINE Lanes operator*(Lanes a, Lanes b) { return Lanes(hn::Mul(a.v, b.v)); }
HWY_INLINE Lanes operator/(Lanes a, Lanes b) { return Lanes(hn::Div(a.v, b.v)); }
HWY_INLINE Lanes operator-(Lanes a) { return Lanes(hn::Neg(a.v)); }
HWY_INLINE LaneMask operator<(Lanes a, Lanes b)  { return {hn::Lt(a.v, b.v)}; }
HWY_INLINE LaneMask operator>(Lanes a, Lanes b)  { return {hn::Gt(a.v, b.v)}; }
HWY_INLINE LaneMask operator<=(Lanes a, Lanes b) { return {hn::Le(a.v, b.v)}; }
HWY_INLINE LaneMask operator>=(Lanes a, Lanes b) { return {hn::Ge(a.v, b.v)}; }
HWY_INLINE LaneMask both(LaneMask a, LaneMask b)   { return {hn::And(a.m, b.m)}; }
HWY_INLINE LaneMask either(LaneMask a, LaneMask b) { return {hn::Or(a.m, b.m)}; }
HWY_INLINE Lanes select(LaneMask m, Lanes a, Lanes b) { return Lanes(hn::IfThenElse(m.m, a.v, b.v)); }
HWY_INLINE Lanes sqrt(Lanes x) { return Lanes(hn::Sqrt(x.v)); }
HWY_INLINE Lanes exp(Lanes x)  { return Lanes(hn::Exp(D(), x.v)); }
HWY_INLINE Lanes log(Lanes x)  { return Lanes(hn::Log(D(), x.v)); }
// As for floats: the second operand where they do not compare (NaN in the first gives the second).
HWY_INLINE Lanes min(Lanes a, Lanes b) { return Lanes(hn::IfThenElse(hn::Lt(a.v, b.v), a.v, b.v)); }
HWY_INLINE Lanes max(Lanes a, Lanes b) { return Lanes(hn::IfThenElse(hn::Gt(a.v, b.v), a.v, b.v)); }
// clang-format on

/// 2^x for |x| < 126, relative error 1e-7: nearest integer into the exponent, degree-5 polynomial (Chebyshev nodes) for
/// the rest.
HWY_INLINE hn::Vec<D> exp2(hn::Vec<D> x) {
    const D d;
    const DI di;
    const auto whole = hn::Round(x);
    const auto f = hn::Sub(x, whole);
    auto p = hn::Set(d, 0.0013390863364533504f);
    p = hn::MulAdd(p, f, hn::Set(d, 0.009676031918326564f));
    p = hn::MulAdd(p, f, hn::Set(d, 0.05550357114219461f));
    p = hn::MulAdd(p, f, hn::Set(d, 0.24022107485308208f));
    p = hn::MulAdd(p, f, hn::Set(d, 0.6931471880262287f));
    p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
    const auto exponent = hn::ShiftLeft<23>(hn::ConvertTo(di, whole));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
