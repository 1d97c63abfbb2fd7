// Commands of the question before a capture is opened by hand (app/studio/import.h).
#include "app/commands/commands.h"
#include "app/session/engine.h"
#include "app/studio/arguments.h"
#include "app/studio/studio.h"
#include "base/try.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

Result<void> open(S state, OpenRequest request) {
    return leave_scene(state, [request = std::move(request)](Engine& e) { e.open(request); });
}
Result<void> nothing_asked() {
    return fail(ErrorKind::usage, "", "nothing is being imported", "import PATH begins");
}

/// Only a capture is asked about.
Result<void> begin(S state, A a) {
    const auto kind = kind_of_path(a[0]);
    if (!kind || *kind != PathKind::capture)
        return ask(state, [path = a[0]](Studio& s) { return s.give("open", {path}); });
    return ask(state, [path = a[0]](Studio& s) { return s.import(path); });
}
Result<void> set(S state, A a) {
    if (!state.import) return nothing_asked();
    return state.import->set(a[0], a.size() > 1 ? a[1] : "");
}
Result<void> output(S state, A a) { return set(state, {"output", a[0]}); }
Result<void> accept(S state, A a) {
    constexpr std::array kHow{"look", "train"};
    if (!state.import) return nothing_asked();
    std::size_t how = 0;
    if (!a.empty()) {
        GS_TRY(how, choice_argument(a[0], kHow));
    }
    GS_TRY(auto request, state.import->request(how == 1));
    state.end_import();
    return open(state, std::move(request));
}
Result<void> cancel(S state, A) {
    if (!state.import) return nothing_asked();
    state.end_import();
    return {};
}
Result<void> copy(S state, A) {
    if (!state.import) return nothing_asked();
    return ask(state, [line = state.import->command_line()](Studio& s) {
        s.copy_text(line);
        return Result<void>();
    });
}

// clang-format off
const CommandRow kRows[] = {
    {"import",        "Import a capture",               "", "", "PATH",
     "Asks how to open a capture (what opening by hand does); anything else is opened at once.", begin},
    {"import.set",    "Choose how to import",           "", "", "NAME [VALUE]",
     "downscale, test-every, test-views, masks, background, steps, gaussians or output of the "
     "capture that is being imported; without a value what is usual.", set},
    {"import.output", "Folder of the imported run...",  "", "", "PATH",
     "Where the run of the capture that is being imported leaves what it makes.", output},
    {"import.accept", "Open what is being imported",    "", "", "[look|train]",
     "Opens it as chosen; train: and begins to train.", accept},
    {"import.cancel", "Cancel the import",              "", "", "",
     "Opens nothing.", cancel},
    {"import.copy",   "Copy the import's command line", "", "", "",
     "Copies the command line that does the same as open and train.", copy},
};
// clang-format on

}  // namespace

std::span<const CommandRow> import_commands() { return kRows; }

}  // namespace gs
