// Sort, scan and sum of this device against the host's, on random numbers: selftest's way to them.
// No CUDA header comes in from here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/expected.h"

namespace gs {

struct PrimitivesCheck {
    std::size_t items = 0;
    std::size_t wrong_sorted = 0;   ///< places that differ from std::stable_sort, all key sizes
    std::size_t wrong_scanned = 0;  ///< places that differ from std::exclusive_scan
    double sum_error = 0;           ///< relative
    bool same_twice = false;        ///< the sum's bits, twice
};
/// Errors as cuda_device_info(). Throws DeviceError.
Result<PrimitivesCheck> check_cuda_primitives(std::size_t items, std::uint64_t seed, int index);

}  // namespace gs
