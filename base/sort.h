// Stable radix sort of 32-bit keys with 32-bit values, least significant digit first, in parallel.
// The order of equal keys is kept and the split into parts depends on the size alone, so the result
// never depends on the thread count.
#pragma once

#include <cstdint>

#include "base/buffer.h"

namespace gs {

class RadixSort {
  public:
    /// Sorts keys[0..n) ascending and carries values along. `keys` and `values` keep size n.
    void sort(Buffer<std::uint32_t>& keys, Buffer<std::uint32_t>& values);

  private:
    Buffer<std::uint32_t> other_keys_, other_values_, counts_;
};

}  // namespace gs
