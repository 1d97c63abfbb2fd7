// Commands of the lab: suites that run, what is recorded of them, and the way from a run's numbers
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
        return fail(ErrorKind::usage, "", fmt::format("no run {} is recorded", number),
                    "lab.open FILE reads what is");
    if (row->folder.empty())
        return fail(ErrorKind::usage, "", fmt::format("the files of run {} are gone", number));
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
     "Shows the runs that `gausscope lab run` or lab.run has recorded; without a file those of the database that was looked at last.", open},
    {"lab.run",     "Run a suite",           "",     "",            "SUITE [LABEL] [CAPTURES]",
     "Trains what of a suite (a file, or one that is built in) is not recorded yet, one process a run, into the database.", run},
    {"lab.stop",    "Stop the suite",        "Training/Lab 4", "", "",
     "Ends the suite that is being run; the same lab.run goes on where it stopped.", stop},
    {"lab.compare", "Compare what was run",  "",     "",            "A B",
     "B against A with intervals, verdicts and gates: labels, settings, backends or commits.", compare},
    {"lab.report",  "Report of the lab",     "",     "",            "FILE.html",
     "Writes all that is recorded as one page, with what is compared and the worst photos.", report},
    {"lab.show",    "Open a run of the lab", "",     "",            "RUN",
     "Opens what this run trained, with its capture; RUN is its number in the Lab panel.", show},
    {"lab.beside",  "Open a run beside",     "",     "",            "RUN",
     "Opens what this run trained beside the open scene, seen from the same camera.", beside},
    {"lab.photo",   "Worst photo of a run",  "",     "",            "RUN [PHOTO]",
     "Looks from the held-out photo that this run shows worst, or from this one, once the run is open.", photo},
};
// clang-format on

}  // namespace

std::span<const CommandRow> lab_commands() { return kRows; }

}  // namespace gs
