// PlaceFinder: the engine's part that finds places: at a pixel of the picture, to turn the camera
// to, to measure from or to pin a note to; and a Gaussian's current place. Results come back
// through the outbox (SessionOutbox::focus, picked, found). Owned by the engine.
#pragma once

#include <array>
#include <vector>

#include "app/session/engine_context.h"
#include "app/session/viewer.h"

namespace gs {

class PlaceFinder final : public PartWith<Viewer> {
  public:
    using PartWith::PartWith;

    // Turns the camera to the place at fractions of the picture's width and height. Reports an
    // empty place.
    void focus(const Shown& shown, const ViewRequest& request, double x, double y);
    /// All of them, or none: see points_at().
    void pick(const Shown& shown, const ViewRequest& request,
              const std::vector<std::array<double, 2>>& places, PickedFor what);
    /// Finds a place for a note, without turning the camera.
    void locate(const Shown& shown, const ViewRequest& request, double x, double y);
    void locate_gaussian(std::uint64_t row);
    /// Turns the camera to the Gaussian of this id, where a run still has it.
    void focus_on_id(std::uint32_t id);
};

}  // namespace gs
