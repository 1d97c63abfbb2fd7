// Commands for notes: texts pinned to points, Gaussians and spans.
#include <fmt/format.h>

#include <algorithm>

#include "app/commands/commands.h"
#include "app/session/engine.h"
#include "app/session/place_finder.h"
#include "app/studio/arguments.h"
#include "app/studio/studio.h"
#include "base/try.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr std::int64_t kMostRow = std::int64_t{1} << 40;

Result<void> await(S state, NoteOn on, const std::string& text, std::uint64_t row = 0) {
    Note note;
    note.on = on;
    note.text = text;
    note.row = row;
    state.notes.await(state.last_sent, std::move(note));
    return {};
}
Result<void> something_open(S state) {
    if (state.scene) return {};
    return fail(ErrorKind::usage, "", "nothing is open to attach notes to");
}

Result<void> add(S state, A a) {
    GS_TRY_VOID(something_open(state));
    GS_TRY(const double x, number_argument(a[0], 0, 1e6, "X"));
    GS_TRY(const double y, number_argument(a[1], 0, 1e6, "Y"));
    if (!state.frame) return fail(ErrorKind::usage, "", "there is no picture yet");
    const Camera& shown = state.frame->camera;
    if (x >= shown.width || y >= shown.height)
        return fail(ErrorKind::usage, "",
                    fmt::format("the picture has {} x {} pixels", shown.width, shown.height));
    GS_TRY_VOID(send(state, [request = view_request_of(state, state.width, state.height),
                             u = x / shown.width, v = y / shown.height](Engine& e) {
        if (const auto scene = e.open_scene()) e.part<PlaceFinder>().locate(*scene, request, u, v);
    }));
    return await(state, NoteOn::place, a[2]);
}
Result<void> here(S state, A) {
    GS_TRY_VOID(something_open(state));
    return ask(state, [](Studio& s) { return s.ui().begin_note(); });
}
Result<void> add_gaussian(S state, A a) {
    GS_TRY_VOID(something_open(state));
    GS_TRY(const auto row, integer_argument(a[0], 0, kMostRow, "the Gaussian"));
    GS_TRY_VOID(send(state, [row](Engine& e) {
        e.part<PlaceFinder>().locate_gaussian(static_cast<std::uint64_t>(row));
    }));
    return await(state, NoteOn::gaussian, a[1], static_cast<std::uint64_t>(row));
}
Result<void> add_span(S state, A a) {
    GS_TRY_VOID(something_open(state));
    return ask(state, [text = a[0]](Studio& s) { return s.note_span(text); });
}

Result<std::size_t> number_of(const std::string& text) {
    GS_TRY(const auto number, integer_argument(text, 1, kMostRow, "the note"));
    return static_cast<std::size_t>(number);
}
Result<void> edit(S state, A a) {
    GS_TRY(const std::size_t number, number_of(a[0]));
    return state.notes.edit(number, a[1]);
}
Result<void> remove(S state, A a) {
    GS_TRY(const std::size_t number, number_of(a[0]));
    return state.notes.remove(number);
}
/// Turns the camera to it, or shows it in the timeline.
Result<void> go(S state, A a) {
    GS_TRY(const std::size_t number, number_of(a[0]));
    GS_TRY(const Note* note, state.notes.find(number));
    if (note->on == NoteOn::span)
        return ask(state, [range = TimeRange{note->begin_ns, note->end_ns}](Studio& s) {
            return s.show_stretch(range);
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
    {"note.here",     "Note at the mouse",         "View/Notes 3", "N", "",
     "Pin a note to the point under the mouse, or in the picture's middle; the Notes panel asks for the "
     "text.", here},
    {"note.add",      "Note on a pixel",           "",     "",     "X Y TEXT",
     "Pin a text to the point at this pixel of the picture.", add},
    {"note.gaussian", "Note on a Gaussian",        "View/Notes 3", "", "ROW TEXT",
     "Pins a text to a Gaussian.", add_gaussian},
    {"note.span",     "Note on the selected span", "View/Notes 3", "", "TEXT",
     "Pin a text to the span or time range selected in the timeline.", add_span},
    {"note.edit",     "Change a note",             "",     "",     "N TEXT",
     "Change a note's text.", edit},
    {"note.remove",   "Remove a note",             "",     "",     "N",
     "Delete a note.", remove},
    {"note.go",       "Go to a note",              "",     "",     "N",
     "Turn the camera to a note, or show its time range in the timeline.", go},
};
// clang-format on

}  // namespace

std::span<const CommandRow> note_commands() { return kRows; }

}  // namespace gs
