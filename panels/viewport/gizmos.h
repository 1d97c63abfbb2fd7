// Gizmos: lines and handles over the picture for tools that work in the world: the sphere and the
// box that select, and the arrows, rings and the handle that move, turn and scale the selection.
// Drags become commands: volumes select during the drag, the selection changes when the button is
// released. Owned by the viewport's tools (tools.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "panels/state/command.h"
#include "panels/viewport/overlays.h"

namespace gs {

class Gizmo {
  public:
    /// One frame: takes the mouse where a handle is grabbed, gives commands, draws. `over`: the
    /// mouse is over the picture. `ready`: the last selection has been made, another may be asked
    /// for. True while a handle is held.
    bool use(ImDrawList& list, const Snapshot& snapshot, PictureRect picture, bool over, bool ready,
             Commands& commands);

  private:
    /// The motion of a handle: along a direction of the world, in the picture's plane, to a
    /// distance, or around an axis.
    struct Handle {
        enum class Kind { along, plane, distance, around } kind = Kind::along;
        Vec3d at{};      ///< world
        Vec3d axis{};    ///< of along and around; unit
        int number = 0;  ///< which of its gizmo
        ImU32 color = 0;
    };
    /// The middle and half sizes that the tool works with: of its volume, or the selection.
    struct Body {
        Vec3d centre{}, half{};
        bool any = false;
    };
    static Body body_of(const Snapshot& snapshot);
    static std::vector<Handle> handles_of(const Snapshot& snapshot, const Body& body,
                                          PictureRect picture);
    std::optional<std::size_t> handle_at(const std::vector<Handle>& handles, const Camera& camera,
                                         PictureRect picture) const;
    void follow_mouse(const Snapshot& snapshot, PictureRect picture);
    Body dragged(const Snapshot& snapshot) const;
    void give(const Snapshot& snapshot, bool live, Commands& commands) const;
    void draw_body(ImDrawList& list, const Snapshot& snapshot, PictureRect picture,
                   const Body& body) const;

    std::optional<Handle> held_;
    Body start_;              // when it was grabbed
    ImVec2 grabbed_{};        // the mouse then
    Vec3d shift_{};           // of along and plane, world
    double value_ = 0;        // of distance: world units; of around: radians
    std::string last_given_;  // so that a mouse that rests asks nothing again
};

}  // namespace gs
