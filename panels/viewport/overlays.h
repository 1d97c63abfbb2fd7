// Overlays on the viewport's picture: legend, capture cameras, tile grid, axes, facts about the
// picture. Called by the viewport, and by the app for screenshots with overlays.
#pragma once

#include <imgui.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "panels/state/snapshot.h"
#include "panels/viewport/chips.h"
#include "panels/viewport/frame_words.h"
#include "panels/viewport/frusta.h"

namespace gs {

/// The largest rectangle of width : height in the middle of `room`.
PictureRect letterbox(PictureRect room, int width, int height);
/// A place of the frame's picture, px, on the screen.
ImVec2 on_screen(PictureRect picture, const Camera& camera, Pixel p);

struct OverlayState {
    std::optional<std::size_t> hovered_camera;  ///< row drawn bright, with its name
    double mark =
        std::numeric_limits<double>::quiet_NaN();  ///< value under the mouse, shown in the legend
    std::string value;                             ///< value under the mouse, in words
    std::optional<PictureRect> room;               ///< area for texts, if not only the picture
    std::optional<PictureRect> other_room;         ///< the same for the other picture
    std::optional<float> divider;                  ///< x of the split
    bool photo = false;                            ///< the other picture is the photo
    bool photo_instead = false;                    ///< and the only one that is shown
};

/// Everything that ViewSettings::overlays, frusta and tile_grid ask for, over `picture` showing
/// `frame`.
void draw_viewport_overlays(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                            PictureRect picture, const OverlayState& state);

/// The cameras of `snapshot` as seen in `frame`; empty when they are switched off.
std::vector<FrustumLines> frusta_in(const Snapshot& snapshot, const ViewFrame& frame);

}  // namespace gs
