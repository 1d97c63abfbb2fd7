// Float operations that are each rounded once, to nearest, whatever a compiler would fuse, reorder
// or approximate (nvcc makes multiply-adds, and -prec-div=false of a file changes its divisions).
// For numbers that must come out alike wherever they are computed: which tiles an ellipse reaches
// is found by one kernel that counts and again by one that lists. On the host operations are plain,
// which -ffp-contract=off keeps so. Beside base/host_device.h the one header outside device/ that
// looks at the compiler.
#pragma once

#include "renderer/math/scalar.h"

namespace gs::math {

#ifdef __CUDA_ARCH__
GS_HD inline float mul_rn(float a, float b) { return __fmul_rn(a, b); }
GS_HD inline float add_rn(float a, float b) { return __fadd_rn(a, b); }
GS_HD inline float sub_rn(float a, float b) { return __fsub_rn(a, b); }
GS_HD inline float div_rn(float a, float b) { return __fdiv_rn(a, b); }
GS_HD inline float sqrt_rn(float x) { return __fsqrt_rn(x); }
#else
GS_HD inline float mul_rn(float a, float b) { return a * b; }
GS_HD inline float add_rn(float a, float b) { return a + b; }
GS_HD inline float sub_rn(float a, float b) { return a - b; }
GS_HD inline float div_rn(float a, float b) { return a / b; }
GS_HD inline float sqrt_rn(float x) { return sqrt(x); }
#endif

}  // namespace gs::math
