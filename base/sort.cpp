#include "base/sort.h"

#include <algorithm>
#include <bit>

#include "base/parallel.h"

namespace gs {
namespace {

constexpr int kMaxDigitBits = 11;

}  // namespace

void RadixSort::sort(Buffer<std::uint32_t>& keys, Buffer<std::uint32_t>& values) {
    const std::size_t n = keys.size();
    if (n < 2) return;
    const std::size_t parts = std::clamp<std::size_t>(n / 8192, 1, 64),
                      part_size = (n + parts - 1) / parts;

    // Only the bits between the smallest and the largest key need sorting.
    std::uint32_t lowest = keys[0], highest = keys[0];
    for (const std::uint32_t key : keys) {
        lowest = std::min(lowest, key);
        highest = std::max(highest, key);
    }
    const int bits = std::bit_width(highest - lowest);
    if (bits == 0) return;
    const int passes = (bits + kMaxDigitBits - 1) / kMaxDigitBits,
              digit_bits = (bits + passes - 1) / passes;
    const std::size_t radix = std::size_t{1} << digit_bits;
    const std::uint32_t digit_mask = static_cast<std::uint32_t>(radix - 1);

    other_keys_.resize_discard(n);
    other_values_.resize_discard(n);
    counts_.resize_discard(parts * radix);
    for (int pass = 0; pass < passes; ++pass) {
        const int shift = pass * digit_bits;
        parallel_for(parts, 1, [&](std::size_t part) {
            std::uint32_t* count = counts_.data() + part * radix;
            std::fill_n(count, radix, 0u);
            const std::size_t end = std::min(n, (part + 1) * part_size);
            for (std::size_t i = part * part_size; i < end; ++i)
                ++count[((keys[i] - lowest) >> shift) & digit_mask];
        });
        // Turn counts into first positions: digit by digit, part by part.
        std::uint32_t position = 0;
        for (std::size_t digit = 0; digit < radix; ++digit)
            for (std::size_t part = 0; part < parts; ++part) {
                const std::uint32_t count = counts_[part * radix + digit];
                counts_[part * radix + digit] = position;
                position += count;
            }
        parallel_for(parts, 1, [&](std::size_t part) {
            std::uint32_t* next = counts_.data() + part * radix;
            const std::size_t end = std::min(n, (part + 1) * part_size);
            for (std::size_t i = part * part_size; i < end; ++i) {
                const std::uint32_t to = next[((keys[i] - lowest) >> shift) & digit_mask]++;
                other_keys_[to] = keys[i];
                other_values_[to] = values[i];
            }
        });
        std::swap(keys, other_keys_);
        std::swap(values, other_values_);
    }
}

}  // namespace gs
