// What a frame in groups of tiles adds to the kernels of one: how many isects each tile has, the
// coverage of one group, and gradients that are added up over the groups. The sums of a slot are
// those that row_sums.cuh has under way for its number of rows: one of a thread, eight of a warp,
// or eight of each of a block's warps. Rows go to them by their place in the whole frame.
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/chained_sum.cuh"
#include "renderer/raster/cuda/frame_groups.h"
#include "renderer/raster/cuda/row_sums.cuh"
#include "renderer/raster/cuda/tile_rows.cuh"
#include "renderer/raster/frame_size.h"

namespace gs::cuda {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kLanes = 8;               ///< sums of a warp, whose lanes are 4 to a row
constexpr std::uint32_t kWarps = kChunk / kWarp;  ///< that share the rows of one slot
static_assert(kThreads == kChunk && kLanes == kWarp / 4);

struct GroupParams {
    FrameArrays frame;  ///< of a group, but for count_changes of all tiles
    GroupArrays all;
    TileRange rows, columns;  ///< of the group
};

GS_DEVICE bool in_use(const FrameArrays& frame, std::uint32_t slot) {
    return slot % kChunk < frame.chunk_slots[slot / kChunk];
}

/// Keeps what the frame covers, and counts where the isects of tiles change along each row.
GS_KERNEL(kThreads, 4)
void count_changes(GroupParams p) {
    const std::uint32_t slot = blockIdx.x * kThreads + threadIdx.x;
    if (!in_use(p.frame, slot)) return;
    const Coverage cover = p.frame.coverage[slot];
    p.all.coverage[slot] = cover;
    p.all.isects[slot] = p.frame.isects_of_slot[slot];
    const int tiles_x = p.frame.constants->tiles_x;
    for (int row = cover.y0; row < cover.y1; ++row) {
        const TileRange tiles =
            row_tiles(cover, p.frame.splats[slot], row, tiles_x, p.frame.constants->wrap);
        if (tiles.first >= tiles.end) continue;
        std::uint32_t* const of =
            p.all.changes + static_cast<std::size_t>(row) * static_cast<std::size_t>(tiles_x + 1);
        atomicAdd(&of[tiles.first], 1u);
        atomicAdd(&of[min(tiles.end, tiles_x)], ~0u);
        if (tiles.end <= tiles_x) continue;
        atomicAdd(&of[0], 1u);
        atomicAdd(&of[tiles.end - tiles_x], ~0u);
    }
}

/// A part of one row, which has the form of a box; no rows where none of it is covered.
GS_DEVICE std::uint32_t cut_to_columns(const GroupParams& p, const Splat& splat, Coverage& cover) {
    const int row = p.rows.first, tiles_x = p.frame.constants->tiles_x;
    TileRange tiles{0, 0};
    if (cover.y0 <= row && row < cover.y1)
        tiles = within(row_tiles(cover, splat, row, tiles_x, p.frame.constants->wrap), p.columns,
                       tiles_x);
    cover.x0 = static_cast<std::uint16_t>(tiles.first);
    cover.x1 = static_cast<std::uint16_t>(tiles.end);
    cover.y0 = static_cast<std::uint16_t>(row);
    cover.y1 = static_cast<std::uint16_t>(tiles.first < tiles.end ? row + 1 : row);
    cover.exact = cover.mask = 0;
    return static_cast<std::uint32_t>(tiles.end - tiles.first);
}

/// Whole rows.
GS_DEVICE std::uint32_t cut_to_rows(const GroupParams& p, const Splat& splat, Coverage& cover) {
    const int top = max(static_cast<int>(cover.y0), p.rows.first),
              bottom = max(min(static_cast<int>(cover.y1), p.rows.end), top);
    const auto width = static_cast<std::uint32_t>(cover.x1 - cover.x0);
    if (cover.mask != 0)
        cover.mask = top < bottom
                         ? cover.mask >> (static_cast<std::uint32_t>(top - cover.y0) * width) &
                               low_bits(static_cast<std::uint32_t>(bottom - top) * width)
                         : 0;
    cover.y0 = static_cast<std::uint16_t>(top);
    cover.y1 = static_cast<std::uint16_t>(bottom);
    std::uint32_t isects = 0;
    for (int row = top; row < bottom; ++row) {
        const TileRange tiles =
            row_tiles(cover, splat, row, p.frame.constants->tiles_x, p.frame.constants->wrap);
        isects += static_cast<std::uint32_t>(tiles.end - tiles.first);
    }
    return isects;
}

/// The coverage of a group, and how many isects it has.
GS_KERNEL(kThreads, 4)
void cut_coverage(GroupParams p) {
    const std::uint32_t slot = blockIdx.x * kThreads + threadIdx.x;
    std::uint32_t isects = 0;
    if (in_use(p.frame, slot)) {
        Coverage cover = p.all.coverage[slot];
        const bool whole = p.columns.end - p.columns.first == p.frame.constants->tiles_x;
        isects = whole ? cut_to_rows(p, p.frame.splats[slot], cover)
                       : cut_to_columns(p, p.frame.splats[slot], cover);
        p.frame.coverage[slot] = cover;
        p.frame.isects_of_slot[slot] = isects;
    }
    isects = warp_sum(isects);
    if (lane_id() == 0 && isects > 0) atomicAdd(&p.frame.counts->isects, isects);
}

/// Sums that the rows of `isects` have under way.
GS_DEVICE std::uint32_t sums_of(std::uint32_t isects) {
    return isects <= kThreadRows ? 1 : isects <= kWarpRows ? kLanes : kWarps * kLanes;
}

static_assert(sizeof(SplatSums) == sizeof(IsectGradient));
GS_DEVICE SplatSums& sums_at(const GroupParams& p, std::uint32_t row) {
    return reinterpret_cast<SplatSums*>(p.all.sums)[row];
}

/// Where the sums of each slot begin, in the order of slots: a block per chunk.
GS_KERNEL(kThreads, 4)
void place_sums(GroupParams p) {
    GS_SHARED(std::uint32_t, ticket, 1);
    GS_SHARED(std::uint32_t, warp_sums, kWarps);
    GS_SHARED(std::uint32_t, base, 1);
    const std::uint32_t chunk = take_ticket(p.all.chain, ticket),
                        slot = chunk * kChunk + threadIdx.x;
    const bool used = in_use(p.frame, slot);
    const BlockRank own = block_sum_before(used ? sums_of(p.all.isects[slot]) : 0, warp_sums);
    if (warp_id() == 0) {
        const unsigned long long earlier = sum_of_earlier(p.all.chain, chunk, own.total);
        if (lane_id() == 0) base[0] = static_cast<std::uint32_t>(earlier);
    }
    __syncthreads();
    if (!used) return;
    p.all.first_sum[slot] = base[0] + own.rank;
    p.all.done[slot] = 0;
}

/// Eight threads a slot, each of which adds to every eighth of a warp's rows.
GS_KERNEL(kThreads, 4)
void add_rows(GroupParams p) {
    const std::uint32_t slot = (blockIdx.x * kThreads + threadIdx.x) / kLanes,
                        lane = threadIdx.x % kLanes;
    const bool used = in_use(p.frame, slot);
    // The lane that writes it is the only one that reads it.
    const std::uint32_t done = __shfl_sync(kAllLanes, used && lane == 0 ? p.all.done[slot] : 0u,
                                           lane_id() - static_cast<int>(lane));
    const std::uint32_t all = used ? p.all.isects[slot] : 0,
                        count = used ? p.frame.isects_of_slot[slot] : 0;
    const std::uint32_t share = all <= kWarpRows ? ~0u : (all + kWarps - 1) / kWarps;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t place = done + i, row = p.frame.first_emission[slot] + i,
                            of = all <= kThreadRows
                                     ? 0
                                     : place / share * kLanes + place % share % kLanes;
        if (of % kLanes != lane || (p.frame.live_rows[row / 32] >> (row % 32) & 1u) == 0) continue;
        SplatSums& to = sums_at(p, p.all.first_sum[slot] + of);
        to = plus(to, reinterpret_cast<const SplatSums*>(p.frame.isect_gradients)[row]);
    }
    if (used && lane == 0) p.all.done[slot] = done + count;
}

/// What a warp's shuffles make of its eight sums.
GS_DEVICE SplatSums sum_of_warp(const SplatSums* lanes) {
    return plus(plus(plus(lanes[0], lanes[1]), plus(lanes[2], lanes[3])),
                plus(plus(lanes[4], lanes[5]), plus(lanes[6], lanes[7])));
}

/// Leaves the whole sum of each slot in its first, as a run of one row.
GS_KERNEL(kThreads, 2)
void make_runs(GroupParams p) {
    const std::uint32_t slot = blockIdx.x * kThreads + threadIdx.x;
    if (!in_use(p.frame, slot)) return;
    const std::uint32_t sums = sums_of(p.all.isects[slot]);
    SplatSums* const own = &sums_at(p, p.all.first_sum[slot]);
    if (sums == kLanes) own[0] = sum_of_warp(own);
    if (sums > kLanes) {
        SplatSums sum{};
        for (std::uint32_t warp = 0; warp < kWarps; ++warp)
            sum = plus(sum, sum_of_warp(own + warp * kLanes));
        own[0] = sum;
    }
    p.all.done[slot] = 1;
}

std::size_t slots_of(const FrameLimits& limits) {
    return static_cast<std::size_t>(limits.chunks()) * kChunk;
}
int columns_of(const FrameLimits& limits) { return (limits.width + kTileSize - 1) / kTileSize; }

/// `threads` for each slot.
void launch_by_slot(const Stream& stream, const char* name, const FrameLimits& limits,
                    void (*kernel)(GroupParams), const GroupParams& params,
                    std::uint32_t threads = 1) {
    launch(stream, name, grid_for(slots_of(limits) * threads, kThreads), kernel, params);
}

}  // namespace

GroupArrays FrameGroups::arrays(const FrameLimits& limits) const {
    const auto at = [](const auto& buffer) {
        using T = std::remove_const_t<std::remove_reference_t<decltype(*buffer.data())>>;
        return const_cast<T*>(buffer.data());
    };
    std::uint32_t* const slots = at(slots_);
    return {at(coverage_),
            slots,
            slots + slots_of(limits),
            slots + 2 * slots_of(limits),
            at(changes_),
            at(chain_),
            at(sums_),
            at(live_)};
}

void FrameGroups::make(const Stream& stream, const FrameLimits& limits, const FrameArrays& frame,
                       std::uint64_t most) {
    const int tiles_x = columns_of(limits), tiles_y = limits.tiles / tiles_x;
    coverage_.resize_discard(slots_of(limits), stream);
    slots_.resize_discard(3 * slots_of(limits), stream);
    changes_.resize_discard(static_cast<std::size_t>(limits.tiles + tiles_y), stream);
    fill_bytes(changes_.data(), 0, changes_.size() * sizeof(std::uint32_t), stream);
    launch_by_slot(stream, "count changes", limits, count_changes, {frame, arrays(limits), {}, {}});
    fill_bytes(frame.isect_total, 0, sizeof(*frame.isect_total), stream);
    host_changes_.resize(changes_.size());
    changes_.download(host_changes_, stream);
    stream.synchronize();
    list_ = group_tiles(host_changes_, tiles_x, tiles_y, most, limits.wraps);
}

void FrameGroups::enter(const Stream& stream, const FrameLimits& limits, const FrameArrays& frame,
                        const TileGroup& group) const {
    // What counting and sorting isects begin with; side by side (frame_arrays.cpp).
    auto* const chains = reinterpret_cast<std::byte*>(frame.count_chain);
    fill_bytes(chains, 0,
               static_cast<std::size_t>(reinterpret_cast<std::byte*>(frame.splats) - chains),
               stream);
    fill_bytes(&frame.counts->isects, 0, sizeof(frame.counts->isects), stream);
    // Tiles of other groups have no list.
    fill_bytes(frame.tile_begin, 0,
               (static_cast<std::size_t>(limits.tiles) + 1) * sizeof(std::uint32_t), stream);
    const int tiles_x = columns_of(limits);
    launch_by_slot(stream, "cut coverage", limits, cut_coverage,
                   {frame, arrays(limits), group.rows(tiles_x), group.columns(tiles_x)});
}

void FrameGroups::start_sums(const Stream& stream, const FrameLimits& limits,
                             const FrameArrays& frame) {
    chain_.resize_discard(1 + limits.chunks(), stream);
    fill_bytes(chain_.data(), 0, chain_.size() * sizeof(unsigned long long), stream);
    launch_by_slot(stream, "place sums", limits, place_sums, {frame, arrays(limits), {}, {}});
    unsigned long long rows = 0;
    copy_to_host(&rows, chain_.data() + limits.chunks(), sizeof(rows), stream);
    stream.synchronize();
    rows >>= kSumShift;
    if (rows > 0xffffffffu)
        throw FrameTooLarge("the visible Gaussians of a frame have more than 4 G gradient sums");
    sums_.resize_discard(rows, stream);
    fill_bytes(sums_.data(), 0, rows * sizeof(IsectGradient), stream);
    live_.resize_discard(rows / 32 + 2, stream);
    fill_bytes(live_.data(), 0xff, live_.size() * sizeof(std::uint32_t), stream);
}

void FrameGroups::add_gradients(const Stream& stream, const FrameLimits& limits,
                                const FrameArrays& frame) const {
    launch_by_slot(stream, "add rows", limits, add_rows, {frame, arrays(limits), {}, {}}, kLanes);
}

void FrameGroups::finish_sums(const Stream& stream, const FrameLimits& limits,
                              const FrameArrays& frame) const {
    launch_by_slot(stream, "finish sums", limits, make_runs, {frame, arrays(limits), {}, {}});
}

FrameArrays FrameGroups::summed(const FrameLimits& limits, FrameArrays frame) const {
    const GroupArrays all = arrays(limits);
    frame.first_emission = all.first_sum;
    frame.isects_of_slot = all.done;
    frame.isect_gradients = all.sums;
    frame.live_rows = all.live;
    return frame;
}

std::size_t FrameGroups::bytes() const {
    return coverage_.capacity_bytes() + slots_.capacity_bytes() + changes_.capacity_bytes() +
           chain_.capacity_bytes() + sums_.capacity_bytes() + live_.capacity_bytes();
}

}  // namespace gs::cuda
