// Film: the camera path on a small timeline: add, drag and delete keys, set the shown time, the
// motion and the film's format. A tab of the workspace.
#pragma once

#include <optional>

#include "panels/state/command.h"
#include "panels/state/film_state.h"
#include "panels/state/snapshot.h"

namespace gs {

struct FilmPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

  private:
    void draw_timeline(const FilmState& film, Commands& commands);
    void drag(const FilmState& film, double seconds, bool on_key, std::size_t key,
              Commands& commands);

    /// A key that is dragged, and where to.
    struct Dragged {
        std::size_t key = 0;
        double seconds = 0;
    };
    std::optional<Dragged> dragged_;
    bool scrubs_ = false;
};

}  // namespace gs
