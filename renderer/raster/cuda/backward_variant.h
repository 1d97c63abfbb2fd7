// The ways blend backward gathers. bench times them, selftest checks them. No CUDA header comes in
// from here.
#pragma once

namespace gs::cuda {

/// Results agree to rounding.
enum class BackwardVariant {
    sub_tile,  ///< B: a warp per sub-tile walks the contributed bits, lane = pixel, one reduction
               ///< per splat
    systolic,  ///< A: lane = splat, pixel states travel from lane to lane
    sub_tile_atomic,  ///< B, its sums added by float atomics: shows what determinism costs, never
                      ///< the default
};

/// Which one the CUDA rasterizer and training use from now on. Not while anything is being
/// computed.
void choose_backward_variant(BackwardVariant variant);
BackwardVariant backward_variant();

}  // namespace gs::cuda
