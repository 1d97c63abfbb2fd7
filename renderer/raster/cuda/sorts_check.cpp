#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "renderer/device/cuda/device.h"
#include "renderer/raster/cuda/lists_check.h"
#include "renderer/raster/cuda/pipeline.h"
#include "renderer/raster/cuda/stages.h"

namespace gs {
namespace cuda {
namespace {

struct Pairs {
    std::vector<std::uint32_t> keys, values;
};

/// Places of `got` that are not those of a stable sort of `from`.
std::size_t places_wrong(const Pairs& from, const Pairs& got) {
    std::vector<std::uint32_t> order(from.keys.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return from.keys[i]; });
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < order.size(); ++i)
        wrong += got.keys[i] != from.keys[order[i]] || got.values[i] != from.values[order[i]];
    return wrong;
}

/// A frame of 1080p with a capacity of `items`. The arrays to clear before a frame are cleared.
class SortFrame {
  public:
    explicit SortFrame(std::uint32_t items) {
        limits.width = 1920;
        limits.height = 1080;
        limits.tiles = ((limits.width + kTileSize - 1) / kTileSize) *
                       ((limits.height + kTileSize - 1) / kTileSize);
        limits.gaussians = limits.visible = limits.isects = items;
        pipeline_.prepare(limits);
        auto* const begin = reinterpret_cast<std::byte*>(arrays().counts);
        auto* const end = reinterpret_cast<std::byte*>(arrays().splats);
        fill_bytes(begin, 0, static_cast<std::size_t>(end - begin), stream);
    }
    const FrameArrays& arrays() const { return pipeline_.arrays(); }
    template <class T>
    void put(T* to, const std::vector<T>& from) const {
        copy_to_device(to, from.data(), from.size() * sizeof(T), stream);
        stream.synchronize();
    }
    template <class T>
    std::vector<T> get(const T* from, std::size_t count) const {
        std::vector<T> out(count);
        if (count > 0) copy_to_host(out.data(), from, count * sizeof(T), stream);
        stream.synchronize();
        return out;
    }

    const Stream stream{"sorts check"};
    FrameLimits limits;

  private:
    FramePipeline pipeline_{stream};
};

/// Chunks of 150 to 256 visible Gaussians, at depths of which many are equal.
std::size_t by_depth(std::size_t items, std::uint64_t seed, std::size_t& sorted) {
    const std::size_t chunks = (items + kChunk - 1) / kChunk;
    const SortFrame frame(static_cast<std::uint32_t>(chunks * kChunk));
    std::vector<std::uint32_t> depths(chunks * kChunk), kept(chunks);
    Pairs from;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        kept[chunk] =
            150 + static_cast<std::uint32_t>(random_bits(seed, 1, chunk) % (kChunk - 149));
        for (std::size_t i = 0; i < kept[chunk]; ++i) {
            const std::size_t slot = chunk * kChunk + i;
            const auto step = static_cast<float>(random_bits(seed, 2, slot) % (items / 4 + 1));
            depths[slot] = std::bit_cast<std::uint32_t>(0.2f + 0.01f * step);
            from.keys.push_back(depths[slot]);
            from.values.push_back(static_cast<std::uint32_t>(slot));
        }
    }
    const FrameArrays& a = frame.arrays();
    frame.put(a.depth_of_slot, depths);
    frame.put(a.chunk_slots, kept);
    run_sort_by_depth(frame.stream, frame.limits, a);
    sorted = from.keys.size();
    if (frame.get(a.counts, 1)[0].visible != sorted) return sorted;
    return places_wrong(
        from, {frame.get(a.depth_keys[1], sorted), frame.get(a.slot_from_rank[1], sorted)});
}

/// Random tiles; every third pair in one of the first three, as where a list is long.
std::size_t by_tile(std::size_t items, std::uint64_t seed) {
    using Key = std::uint16_t;
    const SortFrame frame(static_cast<std::uint32_t>(items));
    const FrameArrays& a = frame.arrays();
    const int digits = frame.limits.tile_digits(), bits = frame.limits.tile_digit_bits(),
              begin = unsorted(digits);
    Pairs from;
    std::vector<Key> keys(items);
    std::vector<std::uint32_t> counted(kMostDigits * kDigits, 0);
    for (std::size_t i = 0; i < items; ++i) {
        const auto different = i % 3 == 0 ? 3u : static_cast<std::uint32_t>(frame.limits.tiles);
        const auto tile = static_cast<std::uint32_t>(random_bits(seed, 3, i) % different);
        for (int digit = 0; digit < digits; ++digit)
            ++counted[static_cast<std::size_t>(digit) * kDigits +
                      (tile >> (digit * bits) & ((1u << bits) - 1))];
        keys[i] = static_cast<Key>(tile);
        from.keys.push_back(tile);
        from.values.push_back(static_cast<std::uint32_t>(i));
    }
    frame.put(a.by_tile.digits, counted);
    frame.put(reinterpret_cast<Key*>(a.tile_keys[begin]), keys);
    frame.put(a.payload[begin], from.values);
    FrameCounts counts{};
    counts.isects = static_cast<std::uint32_t>(items);
    frame.put(a.counts, std::vector<FrameCounts>{counts});
    run_sort_by_tile(frame.stream, frame.limits, a);
    const auto got = frame.get(reinterpret_cast<const Key*>(a.tile_keys[1]), items);
    return places_wrong(from, {{got.begin(), got.end()}, frame.get(a.payload[1], items)});
}

}  // namespace
}  // namespace cuda

Result<SortsCheck> check_cuda_sorts(std::size_t items, std::uint64_t seed, int index) {
    const Result<CudaDeviceInfo> device = cuda_device_info(index);
    if (!device) return tl::make_unexpected(device.error());
    cuda::use_device(index);
    SortsCheck out{.by_tile = items};
    out.wrong_by_depth = cuda::by_depth(items, seed, out.by_depth);
    out.wrong_by_tile = cuda::by_tile(items, seed);
    return out;
}

}  // namespace gs
