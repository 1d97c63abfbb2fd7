// Commands for the lab: running suites, their recorded runs, and the way from a run's numbers
// to its pictures.
#include <algorithm>

#include "app/commands/commands.h"
#include "app/session/engine.h"
#include "app/session/lab_desk.h"
#include "app/studio/arguments.h"
#include "app/studio/studio.h"
#include "base/try.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

Result<void> show_panel(S state) {
    return ask(state, [](Studio& s) { return s.ui().show_panel("Lab", false); });
}
Result<void> open(S state, A a) {
    GS_TRY_VOID(show_panel(state));
    return send(state, [file = a.empty() ? state.lab->database : a[0]](Engine& e) {
        e.part<LabDesk>().open(file);
    });
}
Result<void> run(S state, A a) {
    GS_TRY_VOID(show_panel(state));
    const auto or_empty = [&](std::size_t i) { return i < a.size() ? a[i] : std::string(); };
    return send(state, [suite = a[0], label = or_empty(1), captures = or_empty(2)](Engine& e) {
        e.part<LabDesk>().run(suite, label, captures);
    });
}
Result<void> stop(S state, A) {
    return send(state, [](Engine& e) { e.cancel("lab"); });
}
Result<void> compare(S state, A a) {
    return send(state, [first = a[0], second = a[1]](Engine& e) {
        e.part<LabDesk>().compare(first, second);
    });
}
Result<void> report(S state, A a) {
    return send(state, [html = a[0]](Engine& e) { e.part<LabDesk>().report(html); });
}

/// A run whose files are there.
Result<const LabRunRow*> run_argument(S state, const std::string& number) {
    GS_TRY(const auto id, integer_argument(number, 1, 1'000'000'000'000, "the run's number"));
    const LabRunRow* row = state.lab ? state.lab->run(id) : nullptr;
    if (!row)
        return fail(ErrorKind::usage, "", fmt::format("run {} is not in the database", number),
                    "read a database with lab.open FILE");
    if (row->folder.empty())
        return fail(ErrorKind::usage, "", fmt::format("the files of run {} are missing", number));
    return row;
}
Result<void> show(S state, A a) {
    GS_TRY(const LabRunRow* row, run_argument(state, a[0]));
    return leave_scene(
        state, [request = OpenRequest{row->folder, row->capture}](Engine& e) { e.open(request); });
}
Result<void> beside(S state, A a) {
    GS_TRY(const LabRunRow* row, run_argument(state, a[0]));
    OpenRequest request{row->folder, row->capture};
    request.beside = true;
    return send(state, [request](Engine& e) { e.open(request); });
}
Result<void> photo(S state, A a) {
    GS_TRY(const LabRunRow* row, run_argument(state, a[0]));
    const std::string& name = a.size() > 1 ? a[1] : row->worst_photo;
    if (state.cameras)
        for (const CameraRow& camera : *state.cameras)
            if (camera.name == name)
                return ask(state, [view = std::to_string(camera.view)](Studio& s) {
                    return s.give("view.capture", {view});
                });
    return fail(ErrorKind::usage, "", fmt::format("no photo \"{}\" is open", name),
                fmt::format("lab.show {} opens the run", row->id));
}

// clang-format off
const CommandRow kRows[] = {
    {"lab.open",    "Read a lab's database", "Training/Lab 4", "", "[FILE]",
     "Show the runs that `gausscope lab run` or lab.run has recorded; without a file, those of the last database.", open},
    {"lab.run",     "Run a suite",           "",     "",            "SUITE [LABEL] [CAPTURES]",
     "Train the runs of a suite (a file or a built-in one) that are not recorded yet, one process per run, into the database.", run},
    {"lab.stop",    "Stop the suite",        "Training/Lab 4", "", "",
     "Stop the running suite; the same lab.run resumes it.", stop},
    {"lab.compare", "Compare runs",          "",     "",            "A B",
     "Compare B with A, with intervals, verdicts and gates: labels, settings, backends or commits.", compare},
    {"lab.report",  "Report of the lab",     "",     "",            "FILE.html",
     "Write all runs, the comparison and the worst photos as one page.", report},
    {"lab.show",    "Open a run of the lab", "",     "",            "RUN",
     "Open this run's model with its capture; RUN is its number in the Lab panel.", show},
    {"lab.beside",  "Compare with a run",    "",     "",            "RUN",
     "Open this run's model next to the open scene, seen from the same camera.", beside},
    {"lab.photo",   "Worst photo of a run",  "",     "",            "RUN [PHOTO]",
     "View from this run's worst held-out photo, or from PHOTO (open the run first).", photo},
};
// clang-format on

}  // namespace

std::span<const CommandRow> lab_commands() { return kRows; }

}  // namespace gs
