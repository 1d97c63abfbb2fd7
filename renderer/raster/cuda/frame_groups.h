// FrameGroups: a frame of more isects than its arrays have space for, drawn in groups of tiles
// (tile_groups.h). The frame is projected and sorted by depth once. Each group is then listed by
// the kernels that list any frame, from coverage that is cut to the group's tiles. Owned by
// FramePipeline; a frame in one pass comes nowhere near it.
#pragma once

#include <cstdint>
#include <vector>

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/tile_groups.h"

namespace gs::cuda {

/// What a frame in groups has besides its arrays; all device pointers.
struct GroupArrays {
    Coverage* coverage;         ///< [slot] of all tiles
    std::uint32_t* isects;      ///< [slot] of all tiles
    std::uint32_t* done;        ///< [slot] of these, in the groups before
    std::uint32_t* first_sum;   ///< [slot]
    std::uint32_t* changes;     ///< as for group_tiles()
    unsigned long long* chain;  ///< chained_sum.cuh, of sums
    IsectGradient* sums;
    std::uint32_t* live;  ///< of sums, as FrameArrays::live_rows: all are
};

class FrameGroups {
  public:
    /// Of a frame that was projected and not yet sorted: keeps its coverage, cuts it into groups of
    /// at most `most` isects and leaves no sum of isects behind. Waits.
    void make(const Stream& stream, const FrameLimits& limits, const FrameArrays& frame,
              std::uint64_t most);
    /// No groups: the frame is one that is drawn in one pass.
    void clear() { list_.clear(); }
    const std::vector<TileGroup>& list() const { return list_; }

    /// From now on the frame's arrays are those of a frame that covers only this group.
    void enter(const Stream& stream, const FrameLimits& limits, const FrameArrays& frame,
               const TileGroup& group) const;

    // ---- gradients, with limits.gradients
    /// Before the first group. Waits.
    void start_sums(const Stream& stream, const FrameLimits& limits, const FrameArrays& frame);
    /// Adds a group's isect_gradients, in the order in which row_sums.cuh adds them in one pass.
    void add_gradients(const Stream& stream, const FrameLimits& limits,
                       const FrameArrays& frame) const;
    /// Behind the last group.
    void finish_sums(const Stream& stream, const FrameLimits& limits,
                     const FrameArrays& frame) const;
    /// The frame with one row of gradients a slot, the sum over all groups, for project backward.
    FrameArrays summed(const FrameLimits& limits, FrameArrays frame) const;

    std::size_t bytes() const;

  private:
    GroupArrays arrays(const FrameLimits& limits) const;

    std::vector<TileGroup> list_;
    std::vector<std::uint32_t> host_changes_;
    DeviceBuffer<Coverage> coverage_{"coverage of a frame in groups"};
    DeviceBuffer<std::uint32_t> slots_{"slots of a frame in groups"};  ///< isects, done, first_sum
    DeviceBuffer<std::uint32_t> changes_{"isects by tile"};
    DeviceBuffer<unsigned long long> chain_{"chain of gradient sums"};
    DeviceBuffer<IsectGradient> sums_{"gradient sums of a frame in groups"};
    DeviceBuffer<std::uint32_t> live_{"live gradient sums"};
};

}  // namespace gs::cuda
