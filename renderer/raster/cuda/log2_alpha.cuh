// log2 of a splat's alpha at a pixel. Blend and its backward call this one function, written so
// that the compiler has nothing left to contract: they decide about every pixel on the same bits.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/raster/cuda/frame.h"

namespace gs::cuda {

/// dx, dy: pixel centre - (splat.x, splat.y).
GS_DEVICE float log2_alpha(const Splat& s, float dx, float dy) {
    const float across = __fmaf_rn(s.a, dx, __fmul_rn(s.b, dy));
    const float along = __fmaf_rn(-__fmul_rn(s.c, dy), dy, s.l);
    return __fmaf_rn(-across, dx, along);
}

}  // namespace gs::cuda
