// Viewport: the picture of the scene, the photo beside it, the overlays, and steering. Input
// becomes commands, or the NavigationInput that the app applies to its camera. The engine renders
// at width() x height(). Shows the welcome page if nothing is open.
#pragma once

#include <optional>
#include <utility>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/viewport/compare.h"
#include "panels/viewport/navigation.h"
#include "panels/viewport/tools.h"
#include "panels/viewport/welcome.h"

namespace gs {

class Viewport {
  public:
    /// Once per UI frame, whether the viewport is drawn or not: clears the last frame's input.
    void begin_frame();
    void draw(const Snapshot& snapshot, Commands& commands);
    /// The same without the row above the picture.
    void draw_alone(const Snapshot& snapshot, Commands& commands);

    /// Only the picture of snapshot.frame, with what it is compared with and the overlays, filling
    /// width x height pixels from the display's corner, without toolbar or input: screenshots.
    /// Between NewFrame() and Render() of any context.
    void draw_picture(const Snapshot& snapshot, int width, int height) const;

    /// Size of one picture in screen pixels, for the engine to render at; the last known size when
    /// it is not drawn.
    int width() const { return width_px_; }
    int height() const { return height_px_; }
    /// False when no viewport was drawn in this UI frame.
    bool drawn() const { return drawn_; }
    /// The mouse is over the picture: W A S D Q E belong to flying.
    bool hovered() const { return hovered_; }
    /// The pixel of the frame under the mouse; nothing when the mouse is elsewhere.
    std::optional<std::pair<int, int>> pixel() const { return pixel_; }
    /// The row of the capture camera under the mouse; nothing when there is none.
    std::optional<std::size_t> hovered_camera() const { return hovered_camera_; }
    /// The user's input over the picture in this UI frame.
    const NavigationInput& input() const { return input_; }
    /// True while keys or buttons are held, when the next frame should come at once.
    bool steering() const { return steering_; }

  private:
    void draw_scene(const Snapshot& snapshot, Commands& commands, PictureRect room);
    bool drag_split(const Snapshot& snapshot, Commands& commands, const PicturePlaces& places);
    void point_at(const Snapshot& snapshot, const PicturePlaces& places, OverlayState& state);
    void pick(const Snapshot& snapshot, Commands& commands, PictureRect picture);
    void steer(const Snapshot& snapshot, PictureRect picture);
    void draw_loading(const Snapshot& snapshot, Commands& commands);

    int width_px_ = 0, height_px_ = 0;
    bool drawn_ = false, hovered_ = false, steering_ = false, dragging_split_ = false;
    NavigationInput input_;
    float dragged_ = 0;
    std::optional<std::size_t> hovered_camera_;
    std::optional<std::pair<int, int>> pixel_;
    ToolUse tools_;
    WelcomePanel welcome_;
};

/// The row of choices above the picture (viewport_toolbar.cpp).
void draw_viewport_toolbar(const Snapshot& snapshot, Commands& commands);

}  // namespace gs
