// What primitives.cu and primitives_wide.cu share. Not for the emulator.
#pragma once

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <limits>

#include "renderer/device/cuda/primitives.h"

namespace gs::cuda {

inline std::uint32_t counted(std::size_t n) {
    CHECK(n <= std::numeric_limits<std::uint32_t>::max() / 2,
          "{} items are more than sort and scan are made for", n);
    return static_cast<std::uint32_t>(n);
}

template <class Key>
std::size_t sort_bytes(std::size_t n, int end_bit) {
    std::size_t bytes = 0;
    cub::DoubleBuffer<Key> keys(nullptr, nullptr);
    cub::DoubleBuffer<std::uint32_t> values(nullptr, nullptr);
    check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, values, counted(n), 0, end_bit),
          "size of a sort");
    return bytes;
}

template <class Key>
void sort(DeviceBuffer<std::byte>& scratch, Swap<Key>& keys, Swap<std::uint32_t>& values,
          std::size_t n, int end_bit, const Stream& stream) {
    if (n == 0) return;
    const std::size_t bytes = sort_bytes<Key>(n, end_bit);
    scratch.resize_discard(std::max(bytes, scratch.size()), stream);
    cub::DoubleBuffer<Key> k(keys.now(), keys.buffer[1 - keys.current]);
    cub::DoubleBuffer<std::uint32_t> v(values.now(), values.buffer[1 - values.current]);
    std::size_t available = scratch.size();
    check(cub::DeviceRadixSort::SortPairs(scratch.data(), available, k, v, counted(n), 0, end_bit,
                                          stream.get()),
          "sort");
    if (k.selector != 0) keys.current = 1 - keys.current;
    if (v.selector != 0) values.current = 1 - values.current;
}

/// Scratch of what primitives_wide.cu does.
std::size_t wide_sort_bytes(std::size_t n);
std::size_t scan_bytes(std::size_t n);

}  // namespace gs::cuda
