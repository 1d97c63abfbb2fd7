// Host bodies of Primitives, in the place of CUB's: the same results, enqueued like any work, so
// that they are deferred, captured and counted as a kernel of that name would be.
#include "renderer/device/cuda/primitives.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/support/emulator/runtime_state.h"

namespace gs::cuda {
namespace {

void enqueue(const Stream& stream, const char* name, emulator::Work work) {
    emulator::Runtime& runtime = emulator::Runtime::instance();
    const emulator::Guard guard(runtime.mutex);
    runtime.enqueue(stream.get(), name, true, std::move(work));
}

template <class Key>
void sort_stable(Swap<Key>& keys, Swap<std::uint32_t>& values, std::size_t n, int end_bit,
                 const Stream& stream) {
    CHECK(end_bit >= 0 && end_bit <= static_cast<int>(sizeof(Key) * 8), "{} bits", end_bit);
    if (n == 0) return;
    const Key* const keys_in = keys.now();
    const std::uint32_t* const values_in = values.now();
    Key* const keys_out = keys.buffer[1 - keys.current];
    std::uint32_t* const values_out = values.buffer[1 - values.current];
    keys.current = 1 - keys.current;
    values.current = 1 - values.current;
    enqueue(stream, "sort", [=] {
        const std::uint64_t mask =
            end_bit >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << end_bit) - 1;
        std::vector<std::uint32_t> order(n);
        std::iota(order.begin(), order.end(), 0u);
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return (keys_in[a] & mask) < (keys_in[b] & mask);
        });
        for (std::size_t i = 0; i < n; ++i) {
            keys_out[i] = keys_in[order[i]];
            values_out[i] = values_in[order[i]];
        }
    });
}

}  // namespace

void Primitives::sort_pairs(Swap<std::uint32_t>& keys, Swap<std::uint32_t>& values, std::size_t n,
                            int end_bit, const Stream& stream) {
    sort_stable(keys, values, n, end_bit, stream);
}
void Primitives::sort_pairs(Swap<std::uint16_t>& keys, Swap<std::uint32_t>& values, std::size_t n,
                            int end_bit, const Stream& stream) {
    sort_stable(keys, values, n, end_bit, stream);
}
void Primitives::sort_pairs(Swap<std::uint64_t>& keys, Swap<std::uint32_t>& values, std::size_t n,
                            int end_bit, const Stream& stream) {
    sort_stable(keys, values, n, end_bit, stream);
}

void Primitives::exclusive_sum(const std::uint32_t* in, std::uint32_t* out, std::size_t n,
                               const Stream& stream) {
    if (n == 0) return;
    enqueue(stream, "scan", [=] {
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t value = in[i];  // before out[i], which may be the same
            out[i] = sum;
            sum += value;
        }
    });
}

void Primitives::sum(const double* in, double* out, std::size_t n, const Stream& stream) {
    enqueue(stream, "sum", [=] { *out = std::accumulate(in, in + n, 0.0); });
}

void Primitives::reserve(std::size_t sorted_items, std::size_t scanned_items,
                         const Stream& stream) {
    scratch_.resize_discard(
        sorted_items * sizeof(std::uint64_t) + scanned_items * sizeof(std::uint32_t) + 1, stream);
}

}  // namespace gs::cuda
