// The vectors of the blend kernels: a lane is a pixel of a square of a tile.
// Included once per instruction set by the kernels' source files (Highway's foreach_target), hence
// the toggled guard.
#if defined(GS_RASTER_CPU_LANES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GS_RASTER_CPU_LANES_H_
#undef GS_RASTER_CPU_LANES_H_
#else
#define GS_RASTER_CPU_LANES_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "renderer/raster/rasterizer.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// At most 16 floats: a square of a tile. Narrower machines take several steps.
using D = hn::CappedTag<float, kTileSize>;

/// c[0] f^5 + ... + c[5], in pairs (Estrin): blending waits for what comes out, so the way there
/// is short.
HWY_INLINE hn::Vec<D> polynomial(hn::Vec<D> f, const float (&c)[6]) {
    const D d;
    const auto pair = [&](int i) { return hn::MulAdd(hn::Set(d, c[i]), f, hn::Set(d, c[i + 1])); };
    const auto f2 = hn::Mul(f, f);
    auto p = pair(0);
    p = hn::MulAdd(p, f2, pair(2));
    return hn::MulAdd(p, f2, pair(4));
}

/// 2^x for |x| < 126, relative error 1e-7: an integer into the exponent, a polynomial for the rest
/// (of least error, or through Chebyshev nodes).
HWY_INLINE hn::Vec<D> exp2(hn::Vec<D> x) {
#if HWY_TARGET <= HWY_AVX3
    // Both halves are instructions: x - floor(x), and times 2^floor(x).
    constexpr float kAboveFloor[6] = {0.0018775767f, 0.0089893400f, 0.0558263181f,
                                      0.2401536170f, 0.6931530732f, 0.9999999251f};
    const hn::Vec<D> f{_mm512_reduce_ps(x.raw, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
    return hn::Vec<D>{_mm512_scalef_ps(polynomial(f, kAboveFloor).raw, x.raw)};
#else
    constexpr float kAroundNearest[6] = {0.0013390863365f, 0.0096760319183f, 0.0555035711422f,
                                         0.2402210748531f, 0.6931471880262f, 1.0f};
    const D d;
    const hn::RebindToSigned<D> di;
    // Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits, ready to
    // become an exponent.
    const auto magic = hn::Set(d, 12582912.0f), shifted = hn::Add(x, magic);
    const auto p = polynomial(hn::Sub(x, hn::Sub(shifted, magic)), kAroundNearest);
    return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
#endif
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
