// A frame of Gaussians that several ranks hold, each a range of blocks. Every rank projects its own
// and sends each splat to the ranks that draw the tiles it touches; a rank draws whole rows of
// tiles. What the head gets is the picture of one process to the bit: splats arrive in the order of
// their rows, so every tile has its list, and a Gaussian's gradients are added in the order of its
// tiles. The scheme is Grendel's (Zhao et al. 2024), with an order that does not depend on the
// number of ranks. Private to raster/cpu.
#pragma once

#include <cstdint>
#include <vector>

#include "base/exchange.h"
#include "renderer/raster/cpu/frame.h"

namespace gs::cpu {

/// What a frame of several ranks keeps beside the state of this rank's own Gaussians.
struct SharedFrame {
    CpuState lists;                        ///< of all ranks' splats, in this rank's tiles
    std::vector<std::uint32_t> first_row;  ///< [ranks + 1] of tiles, that each rank draws
    std::vector<std::size_t> first_slot;   ///< [ranks + 1] in `lists`, of each rank's splats
    Buffer<std::uint8_t> continued;  ///< [slot] of `lists`: it begins in an earlier rank's tiles
    /// By rank, by slot: one sum where the splat begins here, else one for each of its isects,
    /// which its owner adds one by one.
    Buffer<GradientSum> gradients;
    std::vector<std::uint64_t> first_gradient;  ///< [ranks + 1] in `gradients`
    Buffer<std::uint64_t> next_gradient;        ///< [slot] of `lists`: where its next one goes
    PixelGradients pixels;                      ///< of the tiles that this rank draws

    std::size_t bytes() const;
    TileGroup own_tiles(int rank, int tiles_x) const;
    PixelRows own_rows(int rank, int height) const;
};

/// Sends the splats of `own`, which was projected, to where they are drawn, and lists those that
/// came: in own.shared->lists, depth order and isects aside. Returns how many isects came.
std::uint64_t share_splats(Exchange& ranks, CpuState& own);
/// Sums over the ranks of what their Gaussians are counted as.
void share_counts(Exchange& ranks, RenderCounters& counters);
/// To the head: every rank's tiles, into its `result`, and what was counted in them.
void join_picture(Exchange& ranks, const CpuState& own, const RenderOptions& options,
                  RenderResult& result);
/// From the head: d loss / d picture of the tiles that this rank draws.
const PixelGradients& share_pixel_gradients(Exchange& ranks, CpuState& own, int width, int height,
                                            const PixelGradients& of_head);
/// Before the first group of shared.lists is blended backwards.
void begin_gradients(SharedFrame& shared);
/// Keeps the gradients of a group of shared.lists.
void keep_gradients(SharedFrame& shared);
/// Sends them to the splats' owners; own.groups.sums are this rank's afterwards.
void return_gradients(Exchange& ranks, CpuState& own);

}  // namespace gs::cpu
