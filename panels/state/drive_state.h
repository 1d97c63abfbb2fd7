// DriveState: a lidar's recording as the Drive panel and the viewport show it: its sweeps, the
// chosen one as pictures and points, where the sensor went, what plays. Owned by the engine's part
// for it (app/session/drive_desk.h), changed by the drive.* commands.
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
    /// Of the places that this sweep was the first to see, those that others saw through.
    std::optional<std::size_t> moving{};
    // ---- drawn from the model, over all its returns
    std::optional<std::uint64_t> step{};  ///< that training had done; none: not drawn yet
    double median_m = kUnknown;           ///< |range difference|; NaN: more than half meet nothing
    double within_10cm = kUnknown;        ///< share of returns
    std::string problem{};                ///< why it cannot be read
};

/// A return in the world, where the sensor was at its own moment taken into account.
struct SweepDot {
    Vec3f at;
    Rgb8 color;
};
/// The chosen sweep.
struct ShownSweep {
    std::uint64_t serial = 0;  ///< another one with every picture that is made
    std::size_t index = 0;
    bool drawn = false;      ///< there is a model; else there is only what was measured
    std::uint64_t step = 0;  ///< that training had done when it was drawn
    SweepColors colors;
    Image8 picture;  ///< drawn, measured, error: as of sweep_picture()
    ImageF planes;   ///< as of sweep_planes(): drawn, expected, alpha, measured
    std::vector<SweepDot> dots;
    std::vector<std::string> notes;  ///< what was left out of it
};

struct DriveState {
    std::string path, format;
    bool posed = true;  ///< false: nobody says where the sensor was; it stands at the origin
    std::vector<DriveRow> sweeps;       ///< times ascend
    std::vector<Vec3d> way;             ///< where the sensor was, world; empty: it is not known
    Vec3d up{0, 0, 1}, ahead{1, 0, 0};  ///< of the map; of length 1, at a right angle
    std::size_t chosen = 0;             ///< index into `sweeps`
    double seconds = 0;                 ///< the moment that is looked at, after the first sweep
    Pose world_from_sensor;             ///< then
    SweepChannel channel = SweepChannel::range;
    bool playing = false;
    bool following = false;   ///< the viewport looks through the photo of the moment
    bool in_picture = false;  ///< the chosen sweep is drawn over the viewport's picture
    std::shared_ptr<const ShownSweep> shown;  ///< null: it is being read, or cannot be
    std::vector<std::string> notes;           ///< what was left out of the recording

    double length() const { return sweeps.empty() ? 0 : sweeps.back().seconds; }
};

}  // namespace gs
