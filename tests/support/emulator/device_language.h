// What CUDA C++ has beyond C++, for the host compiler: function qualifiers, bit and float
// intrinsics, cached loads and atomics. Collectives: collectives.h. Overloads are exactly those of
// CUDA, so code that nvcc would reject fails here too.
#pragma once

#include <math.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "tests/support/emulator/vector_types.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

namespace gs::emulator {
/// Called where a thread reads a word that other blocks write: another block may run first.
void look_between_blocks();
}  // namespace gs::emulator

// ---- indices of the running thread, set at every switch
extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;
inline constexpr int warpSize = 32;

// ---- bits
inline int __popc(unsigned v) { return std::popcount(v); }
inline int __popcll(unsigned long long v) { return std::popcount(v); }
inline int __clz(int v) { return std::countl_zero(static_cast<unsigned>(v)); }
inline int __clzll(long long v) { return std::countl_zero(static_cast<unsigned long long>(v)); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __brev(unsigned v) {
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; ++bit, v >>= 1) reversed = (reversed << 1) | (v & 1u);
    return reversed;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    const std::uint64_t both = (static_cast<std::uint64_t>(high) << 32) | low;
    return static_cast<unsigned>((both << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    const std::uint64_t both = (static_cast<std::uint64_t>(high) << 32) | low;
    return static_cast<unsigned>(both >> (shift & 31));
}
inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>((static_cast<std::uint64_t>(a) * b) >> 32);
}
inline unsigned __float_as_uint(float v) { return std::bit_cast<unsigned>(v); }
inline int __float_as_int(float v) { return std::bit_cast<int>(v); }
inline float __uint_as_float(unsigned v) { return std::bit_cast<float>(v); }
inline float __int_as_float(int v) { return std::bit_cast<float>(v); }
inline long long __double_as_longlong(double v) { return std::bit_cast<long long>(v); }
inline double __longlong_as_double(long long v) { return std::bit_cast<double>(v); }

// ---- floats
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __frsqrt_rn(float a) { return 1.0f / std::sqrt(a); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float v) { return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f; }
inline float rsqrtf(float v) { return 1.0f / std::sqrt(v); }
inline double rsqrt(double v) { return 1.0 / std::sqrt(v); }
inline int __float2int_rn(float v) { return static_cast<int>(std::nearbyint(v)); }
inline int __float2int_rd(float v) { return static_cast<int>(std::floor(v)); }
inline int __float2int_ru(float v) { return static_cast<int>(std::ceil(v)); }
inline int __float2int_rz(float v) { return static_cast<int>(v); }
inline unsigned __float2uint_rn(float v) { return static_cast<unsigned>(std::nearbyint(v)); }
inline unsigned __float2uint_rz(float v) { return static_cast<unsigned>(v); }
inline float __int2float_rn(int v) { return static_cast<float>(v); }
inline float __uint2float_rn(unsigned v) { return static_cast<float>(v); }
// The C library declares functions of these names for its own use, so they can only be macros.
#define __expf(x) ::std::exp(static_cast<float>(x))
#define __exp2f(x) ::std::exp2(static_cast<float>(x))
#define __logf(x) ::std::log(static_cast<float>(x))
#define __log2f(x) ::std::log2(static_cast<float>(x))
#define __powf(x, y) ::std::pow(static_cast<float>(x), static_cast<float>(y))
#define __sinf(x) ::std::sin(static_cast<float>(x))
#define __cosf(x) ::std::cos(static_cast<float>(x))

inline int min(int a, int b) { return b < a ? b : a; }
inline unsigned min(unsigned a, unsigned b) { return b < a ? b : a; }
inline unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
inline unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
inline long min(long a, long b) { return b < a ? b : a; }
inline unsigned long min(unsigned long a, unsigned long b) { return b < a ? b : a; }
inline long long min(long long a, long long b) { return b < a ? b : a; }
inline unsigned long long min(unsigned long long a, unsigned long long b) { return b < a ? b : a; }
inline float min(float a, float b) { return std::fmin(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline int max(int a, int b) { return a < b ? b : a; }
inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
inline unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
inline unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
inline long max(long a, long b) { return a < b ? b : a; }
inline unsigned long max(unsigned long a, unsigned long b) { return a < b ? b : a; }
inline long long max(long long a, long long b) { return a < b ? b : a; }
inline unsigned long long max(unsigned long long a, unsigned long long b) { return a < b ? b : a; }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }

// ---- memory: the caching hints mean nothing here
template <class T>
T __ldg(const T* from) {
    return *from;
}
template <class T>
T __ldcs(const T* from) {
    return *from;
}
template <class T>
T __ldcg(const T* from) {
    return *from;
}
template <class T>
T __ldca(const T* from) {
    return *from;
}
template <class T>
void __stcs(T* to, T value) {
    *to = value;
}
template <class T>
void __stcg(T* to, T value) {
    *to = value;
}
template <class T>
void __stwt(T* to, T value) {
    *to = value;
}
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __nanosleep(unsigned) {}
inline long long clock64() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// ---- atomics: real ones, since blocks may run on several host threads
namespace gs::emulator {

/// Replaces *at by change(*at) in one piece; returns what was there.
template <class T, class Change>
T atomic_change(T* at, Change change) {
    std::atomic_ref<T> cell(*at);
    T seen = cell.load(std::memory_order_relaxed);
    while (!cell.compare_exchange_weak(seen, change(seen), std::memory_order_relaxed)) {
    }
    return seen;
}

}  // namespace gs::emulator

#define GS_EMULATOR_ATOMICS(T)                                                      \
    inline T atomicExch(T* at, T value) {                                           \
        return std::atomic_ref<T>(*at).exchange(value, std::memory_order_relaxed);  \
    }                                                                               \
    inline T atomicAdd(T* at, T value) {                                            \
        return std::atomic_ref<T>(*at).fetch_add(value, std::memory_order_relaxed); \
    }
GS_EMULATOR_ATOMICS(int)
GS_EMULATOR_ATOMICS(unsigned)
GS_EMULATOR_ATOMICS(unsigned long long)
GS_EMULATOR_ATOMICS(float)
#undef GS_EMULATOR_ATOMICS
inline double atomicAdd(double* at, double value) {
    return std::atomic_ref<double>(*at).fetch_add(value, std::memory_order_relaxed);
}
inline int atomicSub(int* at, int value) { return std::atomic_ref<int>(*at).fetch_sub(value); }
inline unsigned atomicSub(unsigned* at, unsigned value) {
    return std::atomic_ref<unsigned>(*at).fetch_sub(value);
}
#define GS_EMULATOR_ATOMICS(T)                                                      \
    inline T atomicMin(T* at, T value) {                                            \
        return ::gs::emulator::atomic_change(                                       \
            at, [value](T seen) { return value < seen ? value : seen; });           \
    }                                                                               \
    inline T atomicMax(T* at, T value) {                                            \
        return ::gs::emulator::atomic_change(                                       \
            at, [value](T seen) { return seen < value ? value : seen; });           \
    }                                                                               \
    inline T atomicAnd(T* at, T value) {                                            \
        return std::atomic_ref<T>(*at).fetch_and(value, std::memory_order_relaxed); \
    }                                                                               \
    inline T atomicOr(T* at, T value) {                                             \
        return std::atomic_ref<T>(*at).fetch_or(value, std::memory_order_relaxed);  \
    }                                                                               \
    inline T atomicXor(T* at, T value) {                                            \
        return std::atomic_ref<T>(*at).fetch_xor(value, std::memory_order_relaxed); \
    }                                                                               \
    inline T atomicCAS(T* at, T expected, T value) {                                \
        std::atomic_ref<T>(*at).compare_exchange_strong(expected, value);           \
        return expected;                                                            \
    }
GS_EMULATOR_ATOMICS(int)
GS_EMULATOR_ATOMICS(unsigned)
GS_EMULATOR_ATOMICS(unsigned long long)
#undef GS_EMULATOR_ATOMICS
inline long long atomicMin(long long* at, long long value) {
    return gs::emulator::atomic_change(
        at, [value](long long seen) { return value < seen ? value : seen; });
}
inline long long atomicMax(long long* at, long long value) {
    return gs::emulator::atomic_change(
        at, [value](long long seen) { return seen < value ? value : seen; });
}
inline unsigned atomicInc(unsigned* at, unsigned limit) {
    return gs::emulator::atomic_change(
        at, [limit](unsigned seen) { return seen >= limit ? 0u : seen + 1; });
}
