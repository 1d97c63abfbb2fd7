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

/// 2^x for |x| < 126, relative error 1e-7: nearest integer into the exponent, degree-5 polynomial
/// (Chebyshev nodes) for the rest.
HWY_INLINE hn::Vec<D> exp2(hn::Vec<D> x) {
    const D d;
    const hn::RebindToSigned<D> di;
    // Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits, ready to
    // become an exponent.
    const auto magic = hn::Set(d, 12582912.0f), shifted = hn::Add(x, magic),
               f = hn::Sub(x, hn::Sub(shifted, magic));
    auto p = hn::Set(d, 0.0013390863364533504f);
    p = hn::MulAdd(p, f, hn::Set(d, 0.009676031918326564f));
    p = hn::MulAdd(p, f, hn::Set(d, 0.05550357114219461f));
    p = hn::MulAdd(p, f, hn::Set(d, 0.24022107485308208f));
    p = hn::MulAdd(p, f, hn::Set(d, 0.6931471880262287f));
    p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
