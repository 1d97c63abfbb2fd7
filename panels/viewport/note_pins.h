// Notes as pins over the picture: a point with the note's number and its text. Drawn with the
// viewport's overlays.
#pragma once

#include <imgui.h>

#include "panels/state/notes_state.h"
#include "panels/viewport/chips.h"
#include "renderer/scene/camera.h"

namespace gs {

struct NotePin {
    std::size_t number = 0;  ///< from 1
    ImVec2 at{};             ///< on the screen
};
/// Pins of the notes on points and Gaussians in front of `camera` and inside its picture.
std::vector<NotePin> note_pins(const NotesState& notes, const Camera& camera, PictureRect picture);

/// Texts that would cover another pin's are left out; numbers always stand.
void draw_note_pins(ImDrawList& list, const NotesState& notes, const Camera& camera,
                    PictureRect picture);

}  // namespace gs
