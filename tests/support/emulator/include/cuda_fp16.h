// The host emulator's cuda_fp16.h: halves as kernels store and read them, converted to and from
// floats as cvt.rn.f16.f32 and cvt.f32.f16 do. No arithmetic: our kernels compute in single
// precision.
#pragma once

#include <bit>

struct __half {
    unsigned short bits;
};
static_assert(sizeof(__half) == 2);

inline unsigned short __half_as_ushort(__half v) { return v.bits; }
inline __half __ushort_as_half(unsigned short bits) { return {bits}; }
/// To nearest even; beyond 65504 infinite; every NaN becomes the one that CUDA makes.
inline __half __float2half_rn(float v) {
    if (v != v) return {0x7fff};
    return {std::bit_cast<unsigned short>(static_cast<_Float16>(v))};
}
inline float __half2float(__half v) { return static_cast<float>(std::bit_cast<_Float16>(v.bits)); }
