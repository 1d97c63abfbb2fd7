// Lost poses: single cameras that a reconstruction put far from everything else. The scene's size
// does not count them, the doctor names them, and training and scores skip those that see nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "renderer/scene/capture.h"

namespace gs {

/// A lost camera is this many times as far from the middle as every other camera and nine of ten
/// points.
inline constexpr double kLostReach = 10;

/// By view: 1 where its pose is lost. At most a quarter of the views are, and of fewer than four
/// none: more of them would be a scene of their own. Random points (`with_points` false) say
/// nothing; then at most a twentieth is, or one.
std::vector<std::uint8_t> lost_views(const std::vector<View>& views,
                                     const std::vector<SparsePoint>& points, bool with_points);
inline std::vector<std::uint8_t> lost_views(const Capture& capture) {
    return lost_views(capture.views, capture.points, !capture.points_are_random);
}
/// Every Nth of them, about 20,000 at most.
std::vector<Vec3d> some_points(const std::vector<SparsePoint>& points);
/// Whether any of `points` is in the camera's picture.
bool sees_any(const Camera& camera, const std::vector<Vec3d>& points);
/// By view: 1 where its pose is lost and none of some_points() is in its picture. Its photo teaches
/// nothing.
std::vector<std::uint8_t> blind_lost_views(const Capture& capture);
/// A line about a blind view for the log: skipped, or `used` because no other is left. `doing`:
/// "scoring", "training on".
std::string about_blind(const View& view, const char* doing, bool used);
/// Of `views`, those that are not; all of them where none is left.
std::vector<std::size_t> without_blind(const Capture& capture, std::vector<std::size_t> views);
/// The views that scores are of: the test photos, or all where there are none, without blind ones.
std::vector<std::size_t> scored_views(const Capture& capture);

}  // namespace gs
