// Commands for the import dialog (app/studio/import.h).
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
    return fail(ErrorKind::usage, "", "nothing is being imported", "begin with import PATH");
}

/// Only captures have an import dialog.
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
     "Ask how to open a capture, as File > Open does; open any other file at once.", begin},
    {"import.set",    "Choose how to import",           "", "", "NAME [VALUE]",
     "downscale, test-every, test-views, masks, background, steps, gaussians or output of the "
     "capture that is being imported; without a value, the default.", set},
    {"import.output", "Folder of the imported run...",  "", "", "PATH",
     "Output folder of the imported capture's run.", output},
    {"import.accept", "Open the imported capture",      "", "", "[look|train]",
     "Open it with the chosen settings; train: and start training.", accept},
    {"import.cancel", "Cancel the import",              "", "", "",
     "Close the question without opening anything.", cancel},
    {"import.copy",   "Copy the import's command line", "", "", "",
     "Copy the command line equivalent to open and train.", copy},
};
// clang-format on

}  // namespace

std::span<const CommandRow> import_commands() { return kRows; }

}  // namespace gs
