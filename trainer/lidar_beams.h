// What a step learns from beside its photos, of a drive's lidar: some beams of one sweep, each as a
// ray in the world with the range that came back. Which they are follows from the seed and the
// step alone, so a run that was resumed takes the same. Owned by the trainer; beam_step.h draws
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "renderer/io/lidar/lidar_log.h"
#include "trainer/settings.h"

namespace gs {

/// The beams of one step. What came back of none of them is missing is not here: of KITTI's and
/// nuScenes' sweeps nobody knows which beams nothing came back of.
struct BeamPlan {
    std::vector<CameraRay> rays;  ///< world
    std::vector<float> ranges;    ///< [ray] m along it
    Pose sensor_from_world;       ///< in the middle of the sweep
    Vec3d place;                  ///< of the sensor then, world: who is nearer is drawn first
    double weight = 0;            ///< of their loss beside that of one photo
};

class LidarBeams {
  public:
    LidarBeams() = default;
    /// Of the drive that the capture at `path` was read from; without a lidar nothing. Nothing is
    /// read before open(). `origin`: the capture's.
    explicit LidarBeams(const std::string& path, Vec3d origin = {});
    bool empty() const { return !there_; }
    /// Reads which sweeps there are, the first time. False: it is empty; where its sweeps cannot be
    /// read, that is told, and from then on it is.
    bool open();
    /// About `settings.lidar_beams` beams of one sweep, in groups of neighbouring columns. Never
    /// those of columns that are held out, nor what lies outside the crop. Null: of this step's
    /// sweep nothing can be used, which is told once. Must be open.
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
