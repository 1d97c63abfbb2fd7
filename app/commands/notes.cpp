// Commands for notes: texts pinned to points, Gaussians and spans.
#include <fmt/format.h>

#include <algorithm>

#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/place_finder.h"
#include "app/studio/studio.h"

namespace gs {
namespace command::notes {

using namespace args;
using S = StudioState&;

Result<void> await(S state, NoteOn on, const std::string& text, std::uint64_t row = 0) {
    Note note;
    note.on = on;
    note.text = text;
    note.row = row;
    state.notes.await(state.last_sent, std::move(note));
    return {};
}
Result<void> something_open(const StudioState& state) {
    if (state.scene) return {};
    return fail(ErrorKind::usage, "", "nothing is open to attach notes to");
}

Result<void> add(S state, const ViewRequest& request, double u, double v, const std::string& text) {
    GS_TRY_VOID(send(state, [request, u, v](Engine& e) {
        if (const auto scene = e.open_scene()) e.part<PlaceFinder>().locate(*scene, request, u, v);
    }));
    return await(state, NoteOn::place, text);
}
Result<void> here(S state) {
    GS_TRY_VOID(something_open(state));
    return ask(state, [](Studio& s) { return s.ui().begin_note(); });
}
Result<void> add_gaussian(S state, std::uint64_t row, const std::string& text) {
    GS_TRY_VOID(send(state, [row](Engine& e) { e.part<PlaceFinder>().locate_gaussian(row); }));
    return await(state, NoteOn::gaussian, text, row);
}
Result<void> note_span(Studio& studio, const std::string& text) {
    auto note = studio.ui().selected_stretch(studio.traces().shown());
    if (!note)
        return fail(ErrorKind::usage, "", "nothing is selected in the timeline",
                    "click a span, or drag over a time range with Shift held");
    note->text = text;
    note->step = studio.state().training.step;
    return studio.state().notes.add(std::move(*note));
}
/// Turns the camera to it, or shows it in the timeline.
Result<void> go(S state, std::size_t number) {
    GS_TRY(const Note* note, state.notes.find(number));
    if (note->on == NoteOn::span)
        return ask(state, [range = TimeRange{note->begin_ns, note->end_ns}](Studio& s) {
            TraceView& view = s.ui().workspace().trace_view;
            view.jump = TracePlace{range, kNoTrack, 0};
            view.selection = range;
            return s.ui().show_panel("Timeline", false);
        });
    state.navigation = focus(state.navigation, note->point);
    state.view.capture_view = -1;
    if (note->id < 0) return {};
    return send(state, [id = static_cast<std::uint32_t>(note->id)](Engine& e) {
        e.part<PlaceFinder>().focus_on_id(id);  // it may have moved since
    });
}

// clang-format off
const CommandRow kRows[] = {
    {"note.here",     "Note at the mouse",         "View/Notes 3",
     "Pin a note to the point under the mouse, or in the picture's middle; the Notes panel asks for the "
     "text.", here},
    {"note.add",      "Note on a pixel",           "",
     "Pin a text to the point at this pixel of the picture.",
     add, when(something_open, shown_view()), pixel_x(), pixel_y(), word("TEXT")},
    {"note.gaussian", "Note on a Gaussian",        "View/Notes 3",
     "Pins a text to a Gaussian.", add_gaussian, when(something_open, gaussian()), word("TEXT")},
    {"note.span",     "Note on the selected span", "View/Notes 3",
     "Pin a text to the span or time range selected in the timeline.",
     note_span, when(something_open, word("TEXT"))},
    {"note.edit",     "Change a note",             "",
     "Change a note's text.", &Notes::edit, whole("N", 1, kMost), word("TEXT")},
    {"note.remove",   "Remove a note",             "",
     "Delete a note.", &Notes::remove, whole("N", 1, kMost)},
    {"note.go",       "Go to a note",              "",
     "Turn the camera to a note, or show its time range in the timeline.", go, whole("N", 1, kMost)},
};
// clang-format on

}  // namespace command::notes

std::span<const CommandRow> note_commands() { return command::notes::kRows; }

}  // namespace gs
