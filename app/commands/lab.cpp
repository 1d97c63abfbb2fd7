// Commands for the lab: running suites, their recorded runs, and the way from a run's numbers
// to its pictures.

#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/lab_part.h"
#include "app/studio/studio.h"

namespace gs {
namespace command::lab {

using namespace args;
using S = StudioState&;

Result<void> show_panel(S state) {
    return ask(state, [](Studio& s) { return s.ui().show_panel("Lab", false); });
}
Result<void> open(S state, const std::optional<std::string>& given) {
    GS_TRY_VOID(show_panel(state));
    return send(state, [file = given.value_or(state.lab->database)](Engine& e) {
        e.part<LabPart>().open(file);
    });
}
Result<void> run(S state, const std::string& suite, const std::string& label,
                 const std::string& captures) {
    GS_TRY_VOID(show_panel(state));
    return send(state, [=](Engine& e) { e.part<LabPart>().run(suite, label, captures); });
}

/// A run whose files are there.
Parameter<LabRunRow> recorded_run() {
    const auto number = whole("RUN", 1, 1'000'000'000'000);
    return {number, [read = number.read](S state, Words& words) -> Result<LabRunRow> {
                GS_TRY(const auto id, read(state, words));
                const LabRunRow* row = state.lab ? state.lab->run(id) : nullptr;
                if (!row)
                    return fail(ErrorKind::usage, "",
                                fmt::format("run {} is not in the database", id),
                                "read a database with lab.open FILE");
                if (row->folder.empty())
                    return fail(ErrorKind::usage, "",
                                fmt::format("the files of run {} are missing", id));
                return *row;
            }};
}
Result<void> show(S state, const LabRunRow& row) {
    return open_path(state,
                     {.contents = {.path = row.folder}, .capture = find_capture(row.capture)});
}
void beside(Engine& engine, const LabRunRow& row) {
    engine.open({.contents = {.path = row.folder}, .beside = true});
}
Result<void> photo(S state, const LabRunRow& row, const std::optional<std::string>& given) {
    const std::string name = given.value_or(row.worst_photo);
    if (state.cameras)
        for (const CameraRow& camera : *state.cameras)
            if (camera.name == name)
                return ask(state, [view = std::to_string(camera.view)](Studio& s) {
                    return s.give("view.capture", {view});
                });
    return fail(ErrorKind::usage, "", fmt::format("no photo \"{}\" is open", name),
                fmt::format("lab.show {} opens the run", row.id));
}

// clang-format off
const CommandRow kRows[] = {
    {"lab.open",    "Read a lab's database", "Training/Lab 4",
     "Show the runs that `gausscope lab run` or lab.run has recorded; without a file, those of the last database.",
     open, optional(word("FILE"))},
    {"lab.run",     "Run a suite",           "",
     "Train the runs of a suite (a file or a built-in one) that are not recorded yet, one process per run, into the database.",
     run, word("SUITE"), optional_word("LABEL"), optional_word("CAPTURES")},
    {"lab.stop",    "Stop the suite",        "Training/Lab 4",
     "Stop the running suite; the same lab.run resumes it.", &Engine::cancel, always(std::string("lab"))},
    {"lab.compare", "Compare runs",          "",
     "Compare B with A, with intervals, verdicts and gates: labels, settings, backends or commits.",
     &LabPart::compare, word("A"), word("B")},
    {"lab.report",  "Report of the lab",     "",
     "Write all runs, the comparison and the worst photos as one page.", &LabPart::report, word("FILE.html")},
    {"lab.show",    "Open a run of the lab", "",
     "Open this run's model with its capture; RUN is its number in the Lab panel.", show, recorded_run()},
    {"lab.beside",  "Compare with a run",    "",
     "Open this run's model next to the open scene, seen from the same camera.", beside, recorded_run()},
    {"lab.photo",   "Worst photo of a run",  "",
     "View from this run's worst held-out photo, or from PHOTO (open the run first).",
     photo, recorded_run(), optional(word("PHOTO"))},
};
// clang-format on

}  // namespace command::lab

std::span<const CommandRow> lab_commands() { return command::lab::kRows; }

}  // namespace gs
