// A run's pose corrections as arrows at the cameras' frusta (view.poses.arrows): from the capture's
// position and direction to the corrected ones. Corrections are small compared with the scene, so
// the arrows are magnified. Drawn with the viewport's overlays.
#pragma once

#include <imgui.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "panels/state/pose_change.h"
#include "panels/state/snapshot.h"
#include "panels/viewport/chips.h"

namespace gs {

/// The arrow of one camera, in the world: from, to.
struct PoseArrow {
    std::size_t row = 0;  ///< index into the rows
    std::array<Vec3d, 2> move, look;
};
/// The arrows of all cameras that the run has corrected.
struct PoseArrows {
    std::vector<PoseArrow> arrows;
    double times_moved = 1, times_turned = 1;  ///< magnification: 1, 2, 5, 10, ...
    double longest = 0, widest = 0;            ///< of the moves, world units; of the turns, degrees
};
/// `size`: depth of the frusta, world units; no arrow is longer than half of it again.
PoseArrows pose_arrows(std::span<const CameraRow> rows, std::span<const PoseChange> changes,
                       double size);
/// "poses corrected by up to 0.012 and 0.31 deg; arrows 50x and 20x"; empty: none.
std::string words_of(const PoseArrows& arrows);

void draw_pose_arrows(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                      PictureRect picture);
/// Their values in words; empty: none are drawn.
std::string words_of_pose_arrows(const Snapshot& snapshot);

}  // namespace gs
