// The lidar data of a drive that a step learns from, together with its photos: some beams of one
// sweep, each as a ray in the world with its measured range. The seed and the step determine the
// beams, so a resumed run takes the same ones. Owned by the trainer; beam_step.h draws them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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
    double weight = 0;            ///< of their loss beside that of one photo
};

class LidarBeams {
  public:
    LidarBeams() = default;
    /// Of the drive that the capture at `path` was read from; without a lidar nothing. Nothing is
    /// read before open(). `origin`: the capture's.
    explicit LidarBeams(const std::string& path, Vec3d origin = {});
    bool empty() const { return !there_; }
    /// Reads the list of sweeps, the first time. False: it is empty. If its sweeps cannot be read,
    /// it reports that and is empty from then on.
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

    bool there_ = false;
    std::string path_;
    Vec3d origin_;
    std::optional<LidarLog> log_;
    std::vector<std::shared_ptr<const Sweep>> kept_;  ///< [sweep] null: read when wanted
    std::vector<std::uint8_t> useless_;               ///< [sweep] it could not be read
    std::size_t bytes_ = 0;
};

}  // namespace gs
