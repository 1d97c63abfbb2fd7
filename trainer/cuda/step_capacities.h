// StepCapacities: the capacity for the next step of a view: by what that view last needed
// (`Capacity`), else as much as any view did, else a guess. In a small scene all views get the same
// capacity: blocks without work cost next to nothing there, and steps of one shape can be replayed
// (StepGraphs). Owned by StepEngine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/frame_limits.h"

namespace gs::cuda {

class StepCapacities {
  public:
    struct Both {
        std::uint32_t visible = 0, isects = 0;
    };
    void start(std::size_t views, std::size_t gaussians) {
        capacities_.assign(views, {});
        largest_ = {};
        guess_ = {stepped(gaussians), stepped(std::uint64_t{4} * gaussians)};
    }
    Both of(std::size_t view) const {
        const ViewCapacities& own = capacities_[view];
        if (largest_.visible == 0) return guess_;
        if (!own.visible.known() || largest_.isects <= kSharedIsects) return largest_;
        return {own.visible.now(), own.isects.now()};
    }
    /// A step of `view` needed this.
    void learn(std::size_t view, const FrameCounts& counts) {
        capacities_[view].visible.learn(counts.visible);
        capacities_[view].isects.learn(counts.isects);
        find_largest();
    }
    /// There are `factor` times as many Gaussians now.
    void scale(double factor) {
        for (ViewCapacities& capacity : capacities_) {
            capacity.visible.scale(factor);
            capacity.isects.scale(factor);
        }
        find_largest();
        Capacity visible(guess_.visible), isects(guess_.isects);
        visible.scale(factor);
        isects.scale(factor);
        guess_ = {visible.now(), isects.now()};
    }

  private:
    /// Listing up to this many is limited by launches, not by their number.
    static constexpr std::uint32_t kSharedIsects = 1u << 20;
    struct ViewCapacities {
        Capacity visible, isects;
    };
    void find_largest() {
        largest_ = {};
        for (const ViewCapacities& capacity : capacities_) {
            largest_.visible = std::max(largest_.visible, capacity.visible.now());
            largest_.isects = std::max(largest_.isects, capacity.isects.now());
        }
    }

    std::vector<ViewCapacities> capacities_;  ///< by view
    Both largest_, guess_;
};

}  // namespace gs::cuda
