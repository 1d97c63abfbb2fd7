// The sorts of a frame on the emulated device: every size around a block's part, ties, digits of
// one pass to three, frames that do not fit; and blocks in any order, few at a time, which all get
// to their end because they wait for earlier ones only.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <vector>

#include "renderer/raster/cuda/pipeline.h"
#include "renderer/raster/cuda/stages.h"
#include "tests/support/emulator/emulator.h"

namespace gs::test {
namespace {

using namespace gs::cuda;

template <class T>
void put(T* to, const std::vector<T>& from, const Stream& stream) {
    if (!from.empty()) copy_to_device(to, from.data(), from.size() * sizeof(T), stream);
    stream.synchronize();
}
template <class T>
std::vector<T> get(const T* from, std::size_t count, const Stream& stream) {
    std::vector<T> out(count);
    if (count > 0) copy_to_host(out.data(), from, count * sizeof(T), stream);
    stream.synchronize();
    return out;
}

/// A frame's arrays, with what is cleared before a frame cleared.
class Lists {
  public:
    Lists(int width, int height, std::uint32_t gaussians, std::uint32_t visible,
          std::uint32_t isects) {
        limits.width = width;
        limits.height = height;
        limits.tiles = (width + kTileSize - 1) / kTileSize * ((height + kTileSize - 1) / kTileSize);
        limits.gaussians = gaussians;
        limits.visible = visible;
        limits.isects = isects;
        pipeline.prepare(limits);
        auto* const begin = reinterpret_cast<std::byte*>(arrays().counts);
        auto* const end = reinterpret_cast<std::byte*>(arrays().splats);
        fill_bytes(begin, 0, static_cast<std::size_t>(end - begin), stream);
    }
    const FrameArrays& arrays() const { return pipeline.arrays(); }
    FrameCounts counts() const { return get(arrays().counts, 1, stream)[0]; }

    const Stream stream{"lists"};
    FrameLimits limits;

  private:
    FramePipeline pipeline{stream};
};

struct Sorted {
    std::vector<std::uint32_t> keys, values;
    bool operator==(const Sorted&) const = default;
};
Sorted expected(const std::vector<std::uint32_t>& keys, const std::vector<std::uint32_t>& values) {
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return keys[i]; });
    Sorted out;
    for (const std::size_t i : order) {
        out.keys.push_back(keys[i]);
        out.values.push_back(values[i]);
    }
    return out;
}

/// Gaussians of which chunk c keeps `kept[c]`, at depths of which many are equal; sorted by depth.
struct ByDepth {
    Sorted got, wanted;
    FrameCounts counts;
};
ByDepth by_depth(const std::vector<std::uint32_t>& kept, std::uint32_t room, bool ties) {
    Lists lists(64, 48, static_cast<std::uint32_t>(kept.size()) * kChunk, room, 4096);
    std::mt19937 random(7);
    std::vector<std::uint32_t> depths(kept.size() * kChunk), keys, values;
    for (std::size_t c = 0; c < kept.size(); ++c)
        for (std::uint32_t i = 0; i < kept[c]; ++i) {
            const std::uint32_t slot = static_cast<std::uint32_t>(c) * kChunk + i;
            const float depth = ties ? 0.5f + static_cast<float>(random() % 5)
                                     : static_cast<float>(random() % 1'000'000) * 0.37f + 0.01f;
            keys.push_back(depths[slot] = std::bit_cast<std::uint32_t>(depth));
            values.push_back(slot);
        }
    const FrameArrays& a = lists.arrays();
    put(a.depth_of_slot, depths, lists.stream);
    put(a.chunk_slots, kept, lists.stream);
    run_sort_by_depth(lists.stream, lists.limits, a);
    ByDepth out{{}, expected(keys, values), lists.counts()};
    const std::size_t n = std::min<std::size_t>(out.counts.visible, room);
    out.got = {get(a.depth_keys[1], n, lists.stream), get(a.slot_from_rank[1], n, lists.stream)};
    return out;
}

template <class Key>
Sorted by_tile_as(Lists& lists, const std::vector<std::uint32_t>& tiles,
                  const std::vector<std::uint32_t>& values) {
    const FrameArrays& a = lists.arrays();
    const int digits = lists.limits.tile_digits(), bits = lists.limits.tile_digit_bits(),
              from = unsorted(digits);
    EXPECT_GE(digits * bits, lists.limits.tile_bits());
    std::vector<std::uint32_t> counted(kMostDigits * kDigits, 0);
    for (const std::uint32_t tile : tiles)
        for (int digit = 0; digit < digits; ++digit)
            ++counted[static_cast<std::size_t>(digit) * kDigits +
                      (tile >> (digit * bits) & ((1u << bits) - 1))];
    put(a.by_tile.digits, counted, lists.stream);
    put(reinterpret_cast<Key*>(a.tile_keys[from]), std::vector<Key>(tiles.begin(), tiles.end()),
        lists.stream);
    put(a.payload[from], values, lists.stream);
    FrameCounts counts{};
    counts.isects = static_cast<std::uint32_t>(tiles.size());
    put(a.counts, std::vector<FrameCounts>{counts}, lists.stream);
    run_sort_by_tile(lists.stream, lists.limits, a);
    const auto keys = get(reinterpret_cast<const Key*>(a.tile_keys[1]), tiles.size(), lists.stream);
    return {{keys.begin(), keys.end()}, get(a.payload[1], tiles.size(), lists.stream)};
}

/// Random tiles of a picture, the number behind the last among them, sorted.
void expect_sorted_by_tile(int width, int height, std::size_t n, std::uint32_t different) {
    Lists lists(width, height, 256, 4096, static_cast<std::uint32_t>(n) + 100);
    std::mt19937 random(static_cast<unsigned>(n));
    std::vector<std::uint32_t> tiles(n), values(n);
    const auto last = static_cast<std::uint32_t>(lists.limits.tiles);
    for (std::size_t i = 0; i < n; ++i) {
        tiles[i] = last - random() % std::min(different, last + 1);
        values[i] = static_cast<std::uint32_t>(i * 7);
    }
    const Sorted got = short_tile_keys(lists.limits)
                           ? by_tile_as<std::uint16_t>(lists, tiles, values)
                           : by_tile_as<std::uint32_t>(lists, tiles, values);
    EXPECT_TRUE(got == expected(tiles, values)) << n << " of " << last << " tiles";
}

TEST(CudaSort, ByDepthIsStableAtEverySize) {
    for (const std::vector<std::uint32_t>& kept : {std::vector<std::uint32_t>{0},
                                                   {1},
                                                   {0, 0, 255},
                                                   {256},
                                                   {256, 256, 0, 7, 256, 256},
                                                   std::vector<std::uint32_t>(8, 256),
                                                   std::vector<std::uint32_t>(17, 121)})
        for (const bool ties : {false, true}) {
            const ByDepth out = by_depth(kept, 8192, ties);
            EXPECT_EQ(out.counts.overflow, 0u);
            EXPECT_EQ(out.counts.visible, out.wanted.keys.size());
            EXPECT_TRUE(out.got == out.wanted) << kept.size() << " chunks, ties " << ties;
        }
}

TEST(CudaSort, ByTileIsStableAtEverySizeAndWidth) {
    for (const std::size_t n : {0u, 1u, 31u, 3071u, 3072u, 3073u, 6200u})
        expect_sorted_by_tile(320, 240, n, ~0u);
    expect_sorted_by_tile(16, 16, 700, ~0u);         // one digit of a bit
    expect_sorted_by_tile(255 * 16, 16, 3000, ~0u);  // one digit, whole
    expect_sorted_by_tile(1920, 1080, 5000, ~0u);    // two of 7
    expect_sorted_by_tile(1920, 1080, 5000, 1);      // all alike
    expect_sorted_by_tile(1920, 1080, 5000, 3);      // crowded
    expect_sorted_by_tile(4320, 4160, 5000, ~0u);    // keys of 32 bits, three of 6
}

TEST(CudaSort, AFrameThatDoesNotFitIsNotSorted) {
    const ByDepth out = by_depth(std::vector<std::uint32_t>(20, 256), 4096, false);
    EXPECT_EQ(out.counts.overflow, 1u);
    EXPECT_EQ(out.counts.visible, 20u * 256);
}

/// Few blocks at a time, which begin and continue in any order: each waits only for blocks with
/// lower tickets, which run or have ended.
TEST(CudaSort, EveryBlockGetsToItsEndHoweverFewRun) {
    const ByDepth alone = by_depth(std::vector<std::uint32_t>(40, 200), 16384, true);
    ASSERT_TRUE(alone.got == alone.wanted);
    for (const unsigned together : {2u, 3u, 64u})
        for (const std::uint64_t seed : {1u, 2u}) {
            emulator::set_seed(seed);
            emulator::set_together(together);
            const ByDepth out = by_depth(std::vector<std::uint32_t>(40, 200), 16384, true);
            expect_sorted_by_tile(320, 240, 9000, ~0u);
            emulator::set_together(1);
            EXPECT_TRUE(out.got == alone.wanted) << together << " at a time";
        }
}

/// 64 blocks under way, each of which looks at more earlier ones than it does in a turn: 8 of
/// radix_pass (from 27,648 pairs on), 32 of compact (from 67,584 Gaussians on).
TEST(CudaSort, BlocksLookBackFurtherThanOneTurn) {
    emulator::set_seed(2);
    emulator::set_together(64);
    const ByDepth out = by_depth(std::vector<std::uint32_t>(700, 256), 200'000, true);
    expect_sorted_by_tile(1920, 1080, 100'000, ~0u);
    expect_sorted_by_tile(1920, 1080, 60'000, 3);
    expect_sorted_by_tile(4320, 4160, 60'000, ~0u);
    emulator::set_together(1);
    EXPECT_EQ(out.counts.visible, 179'200u);
    EXPECT_TRUE(out.got == out.wanted);
}

}  // namespace
}  // namespace gs::test
