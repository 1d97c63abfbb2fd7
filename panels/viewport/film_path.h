// The camera path over the viewport's picture: a line, with keys as small pyramids. Drawn with the
// other overlays.
#pragma once

#include <imgui.h>

#include "panels/state/film_state.h"
#include "panels/state/snapshot.h"
#include "panels/viewport/chips.h"

namespace gs {

/// `extent`: of the scene, world units; pyramids are a part of it.
void draw_film_path(ImDrawList& list, const FilmState& film, const ViewFrame& frame, double extent,
                    PictureRect picture);

}  // namespace gs
