// The lidar data of a capture that a step learns from, together with its photos: some beams of one
// sweep, each as a ray in the world with its measured range. The seed and the step determine the
// beams, so a resumed run takes the same ones. Owned by the trainer; beam_step.h draws them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "renderer/io/lidar/lidar_log.h"
#include "trainer/settings/settings.h"

namespace gs {

/// The beams of one step. It has only beams with a return: the sweeps of KITTI and nuScenes do not
/// record the beams without one.
struct BeamPlan {
    std::vector<CameraRay> rays;  ///< world
    std::vector<float> ranges;    ///< [ray] m along it
    Pose sensor_from_world;       ///< in the middle of the sweep
    Vec3d place;                  ///< of the sensor then, world: nearer Gaussians are drawn first
    double weight = 0;            ///< of their loss beside that of one photo: lidar_weight for
                                  ///< each step since the last that had beams
};

class LidarBeams {
  public:
    LidarBeams() = default;
    /// Of a capture's recordings (Capture::lidars). Nothing is read before open(). `origin`: the
    /// capture's.
    explicit LidarBeams(std::vector<std::string> paths, Vec3d origin = {});
    bool empty() const { return paths_.empty() && sweeps_.empty(); }
    /// Reads the lists of sweeps, the first time, and reports recordings that cannot be read.
    /// False: there is no sweep.
    bool open();
    /// About `settings.lidar_beams` beams of one sweep, in groups of neighbouring columns. Never
    /// beams of held-out columns, nor beams outside the crop. Null: nothing of this step's sweep
    /// can be used, which is reported once. Must be open.
    std::shared_ptr<const BeamPlan> plan(const TrainingSettings& settings, std::uint64_t step);
    std::size_t bytes() const { return bytes_; }

  private:
    /// What can be learned from of a sweep.
    struct Sweep {
        double time = 0;
        std::vector<LidarBeam> beams;
    };
    std::shared_ptr<const Sweep> sweep(std::size_t index);

    std::vector<std::string> paths_;  ///< not opened yet
    Vec3d origin_;
    std::vector<LidarLog> logs_;
    std::vector<std::pair<std::size_t, std::size_t>> sweeps_;  ///< recording, number in it
    std::vector<std::shared_ptr<const Sweep>> kept_;           ///< [sweep] null: read when wanted
    std::vector<std::uint8_t> useless_;                        ///< [sweep] it could not be read
    std::size_t bytes_ = 0;
};

}  // namespace gs
