// DriveState: a lidar's recording for the Drive panel and the viewport: its sweeps, the current one
// as pictures and points, the sensor's path, and playback. Owned by the engine's part for it
// (app/session/parts/drive_part.h), changed by the drive.* commands.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "renderer/maps/sweep_colors.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/image.h"

namespace gs {

struct DriveRow {
    static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    std::string name;
    double seconds = 0;                 ///< after the first sweep
    Vec3d place;                        ///< of the sensor then, world
    std::vector<std::size_t> photos{};  ///< of the same moment, by CameraRow; nearest first
    std::optional<std::size_t> returns{};
    /// Points that this sweep was the first to see but other sweeps saw through.
    std::optional<std::size_t> moving{};
    // ---- drawn from the model, over all its returns
    std::optional<std::uint64_t> step{};  ///< training step; none: not rendered yet
    double median_m = kUnknown;           ///< |range difference|; NaN: more than half hit nothing
    double within_10cm = kUnknown;        ///< share of returns
    std::string problem{};                ///< why it cannot be read
};

/// A return in the world, with the sensor's motion taken into account.
struct SweepDot {
    Vec3f at;
    Rgb8 color;
};
/// The chosen sweep.
struct ShownSweep {
    std::uint64_t serial = 0;  ///< changes with every new picture
    std::size_t index = 0;
    bool drawn = false;      ///< there is a model; else only the measurement
    std::uint64_t step = 0;  ///< training step when it was rendered
    SweepColors colors;
    Image8 picture;  ///< drawn, measured, error: as of sweep_picture()
    ImageF planes;   ///< as of sweep_planes(): drawn, expected, alpha, measured
    std::vector<SweepDot> dots;
    std::vector<std::string> notes;  ///< skipped parts of it
};

struct DriveState {
    std::string path, format;
    bool posed = true;                  ///< false: sensor pose unknown, placed at the origin
    std::vector<DriveRow> sweeps;       ///< times ascend
    std::vector<Vec3d> way;             ///< path of the sensor, world; empty: unknown
    Vec3d up{0, 0, 1}, ahead{1, 0, 0};  ///< of the map; of length 1, at a right angle
    std::size_t chosen = 0;             ///< index into `sweeps`
    double seconds = 0;                 ///< the shown time, after the first sweep
    Pose world_from_sensor;             ///< then
    SweepChannel channel = SweepChannel::range;
    bool playing = false;
    bool following = false;   ///< the viewport follows the photos over time
    bool in_picture = false;  ///< the chosen sweep is drawn over the viewport's picture
    std::shared_ptr<const ShownSweep> shown;  ///< null: being read, or unreadable
    std::vector<std::string> notes;           ///< skipped parts of the recording

    double length() const { return sweeps.empty() ? 0 : sweeps.back().seconds; }
};

}  // namespace gs
