// Device-wide sort, scan and reduction. CUB on the device (primitives.cu); the emulator has host
// bodies of the same meaning. All deterministic. Scratch memory belongs to the object and grows by
// high-water mark.
#pragma once

#include "renderer/device/cuda/runtime.h"

namespace gs::cuda {

/// Two buffers that sorting moves between; `current` says which holds the data.
template <class T>
struct Swap {
    T* buffer[2];
    int current = 0;
    T* now() const { return buffer[current]; }
};

class Primitives {
  public:
    /// `ordered`: as DeviceBuffer has it.
    explicit Primitives(const Stream* ordered = nullptr)
        : scratch_("scratch of sort and scan", ordered) {}
    /// Stable, ascending by bits [0, end_bit) of the keys. n is host-known: arrays that are filled
    /// less than that end in sentinel keys, which sort last.
    void sort_pairs(Swap<std::uint32_t>& keys, Swap<std::uint32_t>& values, std::size_t n,
                    int end_bit, const Stream& stream);
    void sort_pairs(Swap<std::uint16_t>& keys, Swap<std::uint32_t>& values, std::size_t n,
                    int end_bit, const Stream& stream);
    void sort_pairs(Swap<std::uint64_t>& keys, Swap<std::uint32_t>& values, std::size_t n,
                    int end_bit, const Stream& stream);
    /// out[i] = in[0] + ... + in[i - 1]; out may be in.
    void exclusive_sum(const std::uint32_t* in, std::uint32_t* out, std::size_t n,
                       const Stream& stream);
    /// *out = sum, in double, in a fixed order.
    void sum(const double* in, double* out, std::size_t n, const Stream& stream);
    /// Makes scratch for the sizes named, so that later calls allocate nothing (needed before a
    /// stream capture).
    void reserve(std::size_t sorted_items, std::size_t scanned_items, const Stream& stream);
    std::size_t bytes() const { return scratch_.capacity_bytes(); }

  private:
    DeviceBuffer<std::byte> scratch_;
};

}  // namespace gs::cuda
