// StepRooms: how much room the next step of a view gets: what that view last needed and a quarter
// more, else as much as any view did, else a guess. Owned by StepEngine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/frame_limits.h"

namespace gs::cuda {

class StepRooms {
  public:
    struct Room {
        std::uint32_t visible = 0, isects = 0;  ///< 0: not known
    };
    void start(std::size_t views, std::size_t gaussians) {
        rooms_.assign(views, {});
        largest_ = {};
        guess_ = {stepped(gaussians), stepped(std::uint64_t{4} * gaussians)};
    }
    Room of(std::size_t view) const {
        const Room& own = rooms_[view];
        return own.visible != 0 ? own : largest_.visible != 0 ? largest_ : guess_;
    }
    /// A step of `view` needed this.
    void learn(std::size_t view, const FrameCounts& counts) {
        const Room before = of(view);
        rooms_[view] = {room_for(counts.visible, before.visible),
                        room_for(counts.isects, before.isects)};
        largest_.visible = std::max(largest_.visible, rooms_[view].visible);
        largest_.isects = std::max(largest_.isects, rooms_[view].isects);
    }
    /// There are `factor` times as many Gaussians now.
    void scale(double factor) {
        const auto scaled = [&](std::uint32_t n) {
            return n == 0 ? 0 : stepped(static_cast<std::uint64_t>(n * factor));
        };
        for (Room& room : rooms_) room = {scaled(room.visible), scaled(room.isects)};
        largest_ = {scaled(largest_.visible), scaled(largest_.isects)};
        guess_ = {scaled(guess_.visible), scaled(guess_.isects)};
    }

  private:
    std::vector<Room> rooms_;  ///< by view
    Room largest_, guess_;
};

}  // namespace gs::cuda
