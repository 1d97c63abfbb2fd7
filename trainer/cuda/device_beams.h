// DeviceBeams: the way of a step's beams to the device, and the memory of their lists. Rays are
// grouped into tiles on the host. Owned by StepEngine.
#pragma once

#include <vector>

#include "renderer/raster/cuda/frame_limits.h"
#include "trainer/cuda/beams.h"
#include "trainer/lidar/lidar_beams.h"

namespace gs::cuda {

class DeviceBeams {
  public:
    /// `slots` steps are under way at most.
    DeviceBeams(const Stream& stream, std::size_t slots)
        : stream_(&stream), staging_(slots), primitives_(&stream) {}
    /// Sends the beams of a step of `views` views, of a model of `rows` rows. The step that had
    /// `slot` before is done.
    BeamArrays send(const BeamPlan& plan, std::uint32_t views, Compatibility compatibility,
                    std::size_t rows, std::size_t slot);
    /// A step needed N pairs. Sweeps need different numbers: the capacity is for the largest.
    void learn(std::uint64_t pairs) {
        most_ = std::max(most_, std::min<std::uint64_t>(pairs, kMaxCapacity));
        pairs_.learn(static_cast<std::uint32_t>(most_));
    }
    /// There are `factor` times as many Gaussians now.
    void scale(double factor) {
        pairs_.scale(factor);
        most_ = static_cast<std::uint64_t>(static_cast<double>(most_) * factor);
    }
    /// Of the step sent last.
    const BeamTotals* totals() const { return arrays_.totals; }
    Primitives& primitives() { return primitives_; }
    std::size_t bytes() const {
        return rays_.capacity_bytes() + arena_.bytes() + terms_.capacity_bytes() +
               primitives_.bytes();
    }

  private:
    struct Sizes {
        std::size_t rows = 0;
        std::uint32_t tiles = 0, slots = 0, pairs = 0;
        bool operator==(const Sizes&) const = default;
    };
    void carve(const Sizes& sizes);

    const Stream* stream_;
    std::vector<std::vector<PinnedBuffer<std::byte>>> staging_;  ///< [slot] one, or none yet
    DeviceBuffer<std::byte> rays_{"rays"};                       ///< BeamInputs and its arrays
    Arena arena_{"lists of rays"};
    DeviceBuffer<double> terms_{"loss of rays"};
    Primitives primitives_;
    Capacity pairs_;
    std::uint64_t most_ = 0;  ///< pairs of a step
    Sizes sizes_;
    BeamArrays arrays_;
};

}  // namespace gs::cuda
