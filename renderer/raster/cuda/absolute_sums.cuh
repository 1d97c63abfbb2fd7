// What a splat's pixels pull its mean by, without signs: the part of isect_gradients that blend
// backward leaves where PictureGradientView::absolute asks for it, added up for each visible
// Gaussian. A pass of its own, so that projection backward is the same whether anybody asks or not.
//
// A Sink is a small trivially copyable struct, a kernel parameter, with
//     GS_DEVICE void take(std::uint32_t gaussian, float x, float y) const;
// called once a visible Gaussian and frame with BlockGradients::mean2d as options.absolute has it,
// and not at all in a frame that overflowed.
#pragma once

#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/row_sums.cuh"

namespace gs::cuda {

template <class Sink>
struct AbsoluteParams {
    FrameArrays frame;  ///< after blend backward
    Sink sink;
};

/// A block per chunk, a thread per slot.
template <class Sink>
GS_KERNEL(kChunk, 4)
void sum_absolute(AbsoluteParams<Sink> p) {
    GS_SHARED(std::uint32_t, long_runs, kChunk / kWarp);
    GS_SHARED(RowRun, runs, kChunk);
    GS_SHARED(SplatSums, partial_sums, 2 * kChunk / kWarp);
    if (p.frame.counts->overflow != 0) return;
    const bool used = threadIdx.x < p.frame.chunk_slots[blockIdx.x];
    const std::uint32_t slot = blockIdx.x * kChunk + threadIdx.x;
    RowRun mine{0, 0};
    if (used) mine = {p.frame.first_emission[slot], p.frame.isects_of_slot[slot]};
    const GradientTable table{p.frame.isect_gradients, p.frame.live_rows};
    SplatSums sums = sum_rows(table, mine);
    sum_long_runs(table, mine, sums, long_runs, runs, partial_sums);
    constexpr float kLn2 = 0.69314718f;
    if (used) p.sink.take(p.frame.gaussian_from_slot[slot], kLn2 * sums.a.w, kLn2 * sums.b.w);
}

/// `name` as for launch().
template <class Sink>
void launch_absolute_sums(const Stream& stream, const char* name, const FrameLimits& limits,
                          const FrameArrays& frame, const Sink& sink) {
    launch(stream, name, Grid{limits.chunks(), kChunk}, sum_absolute<Sink>,
           AbsoluteParams<Sink>{frame, sink});
}

}  // namespace gs::cuda
