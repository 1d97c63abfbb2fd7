// What this GPU can do at most: copies, multiply-adds, special functions, shared memory, float
// additions in memory, launches. No CUDA header comes in from here. Called by bench and by the
// studio on demand; takes well under a second.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ceilings.h"
#include "base/expected.h"

namespace gs {

/// How much is done for each figure. The default suits GPUs; tests that emulate one ask for less.
struct CeilingEffort {
    std::size_t copy_bytes = 256u << 20;  ///< of each of two buffers; less where memory is short
    std::uint32_t rounds = 2000;          ///< inner loops
    std::uint32_t blocks_per_multiprocessor = 8;
    int launches = 1000;
    int repeats = 4;  ///< the best counts
};

/// Errors as cuda_device_info(); also what goes wrong while measuring.
Result<Ceilings> measure_cuda_ceilings(int index, const CeilingEffort& effort = {});

}  // namespace gs
