#include "renderer/device/cuda/primitives_check.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "renderer/device/cuda/primitives.h"

namespace gs {
namespace cuda {
namespace {

/// Keys with many equals, so that stability shows. Returns how many places of keys or values are
/// wrong.
template <class Key>
std::size_t wrong_after_sort(Primitives& primitives, std::size_t n, std::uint64_t seed, int end_bit,
                             const Stream& stream) {
    std::vector<Key> keys(n);
    const Key mask = static_cast<Key>(end_bit >= static_cast<int>(8 * sizeof(Key))
                                          ? ~std::uint64_t{0}
                                          : (std::uint64_t{1} << end_bit) - 1);
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t bits = random_bits(seed, 1, i);
        keys[i] = static_cast<Key>(i % 3 == 0 ? bits % 50 : bits) & mask;
    }
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    DeviceBuffer<Key> k0("keys"), k1("keys");
    DeviceBuffer<std::uint32_t> v0("values"), v1("values");
    k0.upload(keys, stream);
    v0.upload(order, stream);
    k1.resize_discard(n, stream);
    v1.resize_discard(n, stream);
    Swap<Key> k{{k0.data(), k1.data()}};
    Swap<std::uint32_t> v{{v0.data(), v1.data()}};
    primitives.sort_pairs(k, v, n, end_bit, stream);
    std::vector<Key> sorted_keys(n);
    std::vector<std::uint32_t> sorted(n);
    copy_to_host(sorted_keys.data(), k.now(), n * sizeof(Key), stream);
    copy_to_host(sorted.data(), v.now(), n * sizeof(std::uint32_t), stream);
    stream.synchronize();
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i)
        wrong += sorted[i] != order[i] || sorted_keys[i] != keys[order[i]] ? 1 : 0;
    return wrong;
}

std::size_t wrong_after_scan(Primitives& primitives, std::size_t n, std::uint64_t seed,
                             const Stream& stream) {
    std::vector<std::uint32_t> in(n), expected(n), out(n);
    for (std::size_t i = 0; i < n; ++i)
        in[i] = static_cast<std::uint32_t>(random_bits(seed, 2, i) % 100);
    std::exclusive_scan(in.begin(), in.end(), expected.begin(), 0u);
    DeviceBuffer<std::uint32_t> values("values");
    values.upload(in, stream);
    primitives.exclusive_sum(values.data(), values.data(), n, stream);
    values.download(out, stream);
    stream.synchronize();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) wrong += out[i] != expected[i] ? 1 : 0;
    return wrong;
}

void check_sum(Primitives& primitives, std::uint64_t seed, const Stream& stream,
               PrimitivesCheck& out) {
    std::vector<double> in(out.items);
    long double expected = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
        in[i] = static_cast<double>(random_uniform(seed, 3, i)) - 0.25;
        expected += in[i];
    }
    DeviceBuffer<double> values("values"), sum("sum");
    values.upload(in, stream);
    sum.resize_discard(2, stream);
    double sums[2];
    for (int i = 0; i < 2; ++i) primitives.sum(values.data(), sum.data() + i, in.size(), stream);
    sum.download(sums, stream);
    stream.synchronize();
    out.sum_error =
        std::abs(sums[0] - static_cast<double>(expected)) / std::abs(static_cast<double>(expected));
    out.same_twice = sums[0] == sums[1];
}

}  // namespace
}  // namespace cuda

Result<PrimitivesCheck> check_cuda_primitives(std::size_t items, std::uint64_t seed, int index) {
    if (const auto device = cuda_device_info(index); !device)
        return tl::unexpected<Error>(device.error());
    cuda::use_device(index);
    const cuda::Stream stream("selftest");
    cuda::Primitives primitives;
    PrimitivesCheck out{
        .items = items,
        .wrong_sorted = cuda::wrong_after_sort<std::uint32_t>(primitives, items, seed, 32, stream) +
                        cuda::wrong_after_sort<std::uint16_t>(primitives, items, seed, 14, stream) +
                        cuda::wrong_after_sort<std::uint64_t>(primitives, items, seed, 46, stream),
        .wrong_scanned = cuda::wrong_after_scan(primitives, items, seed, stream)};
    cuda::check_sum(primitives, seed, stream, out);
    return out;
}

}  // namespace gs
