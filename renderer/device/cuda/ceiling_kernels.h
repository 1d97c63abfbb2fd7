// The bare kernels that ceilings.cpp times. Each enqueues one.
#pragma once

#include <cstdint>

#include "renderer/device/cuda/runtime.h"

namespace gs::cuda {

inline constexpr std::uint32_t kCeilingThreads = 256;  ///< of a block
inline constexpr int kCeilingChains = 8;  ///< independent operations of a thread and round

void launch_copy(const Stream& stream, std::uint32_t blocks, const float4* from, float4* to,
                 std::size_t count);
/// multiply_add and special: kCeilingChains operations a thread and round; shared: a read of 16
/// bytes.
enum class Arithmetic { multiply_add, special, shared };
void launch_arithmetic(const Stream& stream, Arithmetic kind, std::uint32_t blocks,
                       std::uint32_t rounds, float* out);
/// Thread i adds `rounds` times to to[i & mask].
void launch_atomics(const Stream& stream, std::uint32_t blocks, std::uint32_t rounds, float* to,
                    std::uint32_t mask);
void launch_nothing(const Stream& stream);

}  // namespace gs::cuda
