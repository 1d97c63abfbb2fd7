// Sort by keys of 64 bits, and scan, by CUB: all that the Python module's library takes of
// Primitives, so that its code for every architecture is no larger.
#include <cub/device/device_scan.cuh>

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/primitives_sort.cuh"

namespace gs::cuda {

std::size_t wide_sort_bytes(std::size_t n) { return sort_bytes<std::uint64_t>(n, 64); }
std::size_t scan_bytes(std::size_t n) {
    std::size_t bytes = 0;
    check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, static_cast<const std::uint32_t*>(nullptr),
                                        static_cast<std::uint32_t*>(nullptr), counted(n)),
          "size of a scan");
    return bytes;
}

void Primitives::sort_pairs(Swap<std::uint64_t>& keys, Swap<std::uint32_t>& values, std::size_t n,
                            int end_bit, const Stream& stream) {
    sort(scratch_, keys, values, n, end_bit, stream);
}

void Primitives::exclusive_sum(const std::uint32_t* in, std::uint32_t* out, std::size_t n,
                               const Stream& stream) {
    if (n == 0) return;
    scratch_.resize_discard(std::max(scan_bytes(n), scratch_.size()), stream);
    std::size_t available = scratch_.size();
    check(cub::DeviceScan::ExclusiveSum(scratch_.data(), available, in, out, counted(n),
                                        stream.get()),
          "scan");
}

}  // namespace gs::cuda
