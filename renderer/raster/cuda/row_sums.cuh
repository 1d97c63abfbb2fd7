// A splat's sums: the rows of its isects added up, by its thread when they are few, by its warp
// when they are more, and by the whole block for the splats that cover a good part of the picture,
// of which one warp could otherwise get several and keep the device waiting. The order of additions
// depends on the number of rows alone: a row that is not live counts as zeros. Used by
// project_backward.cuh.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/raster/cuda/frame.h"

namespace gs::cuda {

inline constexpr std::uint32_t kThreadRows = 12;  ///< at most, by a thread
inline constexpr std::uint32_t kWarpRows = 256;   ///< at most, by a warp
inline constexpr std::uint32_t kRowsAhead = 4;    ///< read at once

/// Rows of isect_gradients, those of a frame's emissions with a bit in `live`; no others are read.
struct GradientTable {
    const IsectGradient* rows;  ///< [emission]
    const std::uint32_t* live;  ///< FrameArrays::live_rows
};
/// Rows [first, first + count) of it.
struct RowRun {
    std::uint32_t first, count;
};
/// Which of the first 32 rows of a run are live. One with none is not looked up.
GS_DEVICE unsigned live_of(const GradientTable& table, RowRun run) {
    if (run.count == 0) return 0;
    const std::uint32_t* words = table.live + run.first / 32;
    const unsigned bits = __funnelshift_r(words[0], words[1], run.first % 32);
    return run.count < 32 ? bits & ((1u << run.count) - 1u) : bits;
}
/// An isect gradient's sums: s sx sxx absolute_x, sy sxy syy absolute_y, red green blue depth.
struct SplatSums {
    float4 a, b, c;
};
GS_DEVICE float4 plus(float4 u, float4 v) {
    return make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
}
/// v or zero, by selection and not by branch.
GS_DEVICE float4 only_if(bool wanted, float4 v) {
    return make_float4(wanted ? v.x : 0.0f, wanted ? v.y : 0.0f, wanted ? v.z : 0.0f,
                       wanted ? v.w : 0.0f);
}
GS_DEVICE float4 from_lane(float4 v, int lane) {
    return make_float4(__shfl_sync(kAllLanes, v.x, lane), __shfl_sync(kAllLanes, v.y, lane),
                       __shfl_sync(kAllLanes, v.z, lane), __shfl_sync(kAllLanes, v.w, lane));
}

GS_DEVICE SplatSums plus(const SplatSums& u, const SplatSums& v) {
    return {plus(u.a, v.a), plus(u.b, v.b), plus(u.c, v.c)};
}

/// A run of at most 32 rows by one thread: kRowsAhead live ones at a time without a branch between
/// the loads; those too many are the last one again, and left out.
GS_DEVICE SplatSums sum_by_thread(const GradientTable& table, RowRun run) {
    SplatSums sums{};
    const float4* rows = reinterpret_cast<const float4*>(table.rows + run.first);
    int at = 0;
    for (unsigned left = live_of(table, run); left != 0;) {
        SplatSums next[kRowsAhead];
        bool wanted[kRowsAhead];
        GS_UNROLL
        for (std::uint32_t k = 0; k < kRowsAhead; ++k, left &= left - 1) {
            wanted[k] = left != 0;
            at = wanted[k] ? __ffs(static_cast<int>(left)) - 1 : at;
            const float4* row = rows + 3 * at;
            next[k] = {row[0], row[1], row[2]};
        }
        GS_UNROLL
        for (std::uint32_t k = 0; k < kRowsAhead; ++k)
            sums = plus(sums, {only_if(wanted[k], next[k].a), only_if(wanted[k], next[k].b),
                               only_if(wanted[k], next[k].c)});
    }
    return sums;
}

/// A run by all lanes together: lane 4 r + part takes 16 bytes of every eighth row.
GS_DEVICE SplatSums sum_by_warp(const GradientTable& table, RowRun run) {
    static_assert(8 * kRowsAhead == 32, "rows of one word of bits");
    const std::uint32_t lane = static_cast<std::uint32_t>(lane_id()), part = min(lane % 4, 2u);
    const float4* values = reinterpret_cast<const float4*>(table.rows + run.first) + part;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (std::uint32_t begin = 0; begin < run.count; begin += 32) {
        const unsigned live = live_of(table, {run.first + begin, run.count - begin}) >> lane / 4;
        float4 next[kRowsAhead];
        GS_UNROLL
        for (std::uint32_t k = 0; k < kRowsAhead; ++k) {
            next[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if ((live >> 8 * k & 1u) != 0) next[k] = values[3 * (begin + lane / 4 + 8 * k)];
        }
        GS_UNROLL
        for (std::uint32_t k = 0; k < kRowsAhead; ++k) sum = plus(sum, next[k]);
    }
    for (int step = 4; step < kWarp; step *= 2)
        sum = plus(sum, from_lane(sum, static_cast<int>(lane) ^ step));
    return {from_lane(sum, 0), from_lane(sum, 1), from_lane(sum, 2)};
}

/// The sums of this lane's run, unless that is longer than kWarpRows. By all lanes of a warp; one
/// without a splat has count 0.
GS_DEVICE SplatSums sum_rows(const GradientTable& table, RowRun mine) {
    SplatSums sums = sum_by_thread(table, {mine.first, mine.count > kThreadRows ? 0 : mine.count});
    const bool together = mine.count > kThreadRows && mine.count <= kWarpRows;
    for (unsigned left = __ballot_sync(kAllLanes, together); left != 0; left &= left - 1) {
        const int owner = __ffs(static_cast<int>(left)) - 1;
        const SplatSums found = sum_by_warp(table, {__shfl_sync(kAllLanes, mine.first, owner),
                                                    __shfl_sync(kAllLanes, mine.count, owner)});
        if (owner == lane_id()) sums = found;
    }
    return sums;
}

/// Completes `sums` of threads whose run is longer than kWarpRows: every warp of the block takes
/// its share of each. By all kChunk threads of a block. Shared: long_runs [warp], runs [thread],
/// partial [2][warp].
template <class Masks, class Runs, class Partial>
GS_DEVICE void sum_long_runs(const GradientTable& table, RowRun mine, SplatSums& sums,
                             Masks& long_runs, Runs& runs, Partial& partial) {
    constexpr std::uint32_t kWarps = kChunk / kWarp;
    const std::uint32_t warp = static_cast<std::uint32_t>(warp_id());
    const bool is_long = mine.count > kWarpRows;
    const unsigned mask = __ballot_sync(kAllLanes, is_long);
    if (lane_id() == 0) long_runs[warp] = mask;
    if (is_long) runs[threadIdx.x] = mine;
    __syncthreads();
    std::uint32_t buffer = 0;
    for (std::uint32_t w = 0; w < kWarps; ++w)
        for (unsigned left = long_runs[w]; left != 0; left &= left - 1, buffer ^= kWarps) {
            const std::uint32_t owner =
                w * kWarp + static_cast<std::uint32_t>(__ffs(static_cast<int>(left)) - 1);
            const RowRun run = runs[owner];
            const std::uint32_t share = (run.count + kWarps - 1) / kWarps,
                                begin = min(warp * share, run.count);
            const SplatSums part =
                sum_by_warp(table, {run.first + begin, min(share, run.count - begin)});
            if (lane_id() == 0) partial[buffer + warp] = part;
            __syncthreads();
            if (threadIdx.x != owner) continue;
            for (std::uint32_t k = 0; k < kWarps; ++k) sums = plus(sums, partial[buffer + k]);
        }
}

}  // namespace gs::cuda
