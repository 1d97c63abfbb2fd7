// Poses of a capture that are a little wrong by a known amount, and how wrong poses are, so that
// what training makes of them can be judged. Used by tests and tests/bench/pose_bench.
#pragma once

#include <cstdint>
#include <vector>

#include "renderer/scene/capture.h"

namespace gs {

struct PoseNoise {
    double degrees = 0.5;  ///< standard deviation of the angle, about an axis of any direction
    double share = 0.005;  ///< of a move along each axis, x the scene's extent
    std::uint64_t seed = 1;
};
/// Turns the cameras of training photos about their own places, and moves them; test photos stay.
void disturb_poses(Capture& capture, const PoseNoise& noise, double extent);

/// Root mean squares.
struct PoseErrors {
    double degrees = 0;
    double move = 0;  ///< world units
};
/// What is left when the similarity that brings the centres of `found` nearest to those of `truth`
/// has been taken out (Horn 1987, by quaternions). At least three cameras, not on a line.
PoseErrors pose_errors(const std::vector<Camera>& found, const std::vector<Camera>& truth);

}  // namespace gs
