// How many of a kernel's blocks a multiprocessor holds at once, and how many rounds ("waves") its
// grid takes: from the launch and the device's limits alone, no counters. The arithmetic of CUDA's
// occupancy calculator. Used by the insights and the timeline's tooltips.
#pragma once

#include <cstdint>

#include "profiler/store/gpu_event.h"
#include "profiler/store/store.h"

namespace gs {

struct KernelShape {
    std::uint64_t blocks = 0;
    std::uint32_t threads_per_block = 0, registers = 0;  ///< a thread
    std::uint32_t shared_bytes = 0;                      ///< a block, static and dynamic
};
KernelShape shape_of(const GpuWork& work);

enum class OccupancyLimit { none, warps, blocks, registers, shared_memory };
/// "warps", "blocks", "registers", "shared memory"; "-".
const char* name_of(OccupancyLimit limit);

struct Occupancy {
    std::uint32_t blocks_per_multiprocessor = 0;
    double share = 0;  ///< of the warps a multiprocessor can hold, 0..1
    OccupancyLimit limit = OccupancyLimit::none;
    double waves = 0;       ///< blocks over what the whole device holds at once
    double used_share = 0;  ///< multiprocessors that get a block at all, 0..1
};

/// share 0 when the device's limits or the launch are not known, or it cannot run there.
Occupancy occupancy_of(const KernelShape& shape, const GpuDeviceEvent& device);

}  // namespace gs
