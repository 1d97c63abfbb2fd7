// The picture and its comparison with the photo or a second scene: their places in the viewport,
// and drawing them side by side, split, or in turn. Called by the viewport, also for screenshots.
#pragma once

#include <algorithm>

#include "panels/viewport/overlays.h"

namespace gs {

/// Places of the two pictures: the same unless they are side by side.
struct PicturePlaces {
    PictureRect room, other_room;  ///< what each may fill
    PictureRect picture, other;    ///< the pictures themselves
    bool beside = false;
    bool split = false;          ///< the other one is to the right of `divider`
    bool other_instead = false;  ///< only the other one is shown
    float divider = 0;           ///< x of the split

    /// The picture that contains a point; `picture` if neither does.
    const PictureRect& under(ImVec2 point) const {
        return beside && other.contains(point) ? other : picture;
    }
};
PicturePlaces places_of(const Snapshot& snapshot, PictureRect room);

/// Pixels between two pictures side by side.
inline constexpr int kPictureGap = 2;
/// Width of a viewport with pictures `one` pixels wide, and the reverse.
inline int pictures_width(const ViewSettings& view, int one) {
    return view.compare == Compare::beside ? 2 * one + kPictureGap : one;
}
inline int picture_width(const ViewSettings& view, int all) {
    return view.compare == Compare::beside ? std::max(1, (all - kPictureGap) / 2) : all;
}

/// The frame that `picture` shows: the snapshot's, or the second scene's where that is shown
/// instead.
const ViewFrame& shown_frame(const Snapshot& snapshot, const PicturePlaces& places);

/// Draws both pictures without overlays. `bright`: the divider is under the mouse.
void draw_pictures(ImDrawList& list, const Snapshot& snapshot, const PicturePlaces& places,
                   bool bright);

/// Overlays of both pictures: draw_viewport_overlays() with the places filled in.
void draw_overlays(ImDrawList& list, const Snapshot& snapshot, const PicturePlaces& places,
                   OverlayState state);

}  // namespace gs
