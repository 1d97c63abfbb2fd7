// Inspector: the engine's part that explains a pixel (renderer/inspect), against the photo at a
// photo's camera, and lists the most expensive tiles of a frame. Answers between two training
// steps; an answer stays until the next request. Owned by the engine; commands call it there.
#pragma once

#include <optional>

#include "app/session/engine_context.h"
#include "app/session/shown_tint.h"
#include "app/session/viewer.h"
#include "panels/state/inspection.h"

namespace gs {

class Inspector final : public PartWith<Viewer, ShownTint> {
  public:
    using PartWith::PartWith;

    /// The pixel at this place of the request's picture (fractions of its width and height): of the
    /// whole photo's size where a capture camera is shown, else of the size asked for. Answered
    /// through SessionView::inspection.
    void pixel(const ViewRequest& request, double x, double y);
    /// Inspects the last pixel again, in the current model.
    void again();
    /// Inspects the middle pixel of a tile of such a picture.
    void tile(const ViewRequest& request, int column, int row);
    /// The same of the picture whose tiles are listed, wherever the viewport looks from now.
    void listed_tile(int column, int row);
    /// Draws the request's picture with its counters, and lists its tiles.
    void tiles(const ViewRequest& request);
    void clear();
    /// With another model the last question is answered again: once for all changes of a turn, with
    /// what is hidden after them; not while the camera moves, when a streamed set changes its
    /// levels all the time.
    void scene_changed(SceneChange change) override;

  private:
    struct Question {
        ViewRequest request;
        int x = 0, y = 0;  ///< pixels of the picture
    };
    /// The camera and its photo's number; empty, with an error reported, if there is no picture.
    std::optional<Camera> camera_of_question(const ViewRequest& request);
    void answer();
    void publish(PixelInspection inspection);
    PixelInspection published();

    std::optional<Question> asked_;
    ViewRequest listed_;  ///< the picture whose tiles are published
};

}  // namespace gs
