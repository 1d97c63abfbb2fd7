// Commands for the import dialog (app/studio/import.h).
#include <imgui.h>

#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/studio/studio.h"

namespace gs {
namespace command::import {

using namespace args;
using S = StudioState&;

Result<void> nothing_asked() {
    return fail(ErrorKind::usage, "", "nothing is being imported", "begin with import PATH");
}

/// Only captures have an import dialog.
Result<void> begin(S state, const std::string& path) {
    PathContents found = find_contents(path);
    if (found.kind != PathKind::capture) return open_path(state, {.contents = std::move(found)});
    return ask(state, [found = std::move(found)](Studio& s) { return s.import(found); });
}
Result<void> set(S state, const std::string& name, const std::string& value) {
    if (!state.import) return nothing_asked();
    return state.import->set(name, value);
}
Result<void> accept(S state, bool train) {
    if (!state.import) return nothing_asked();
    GS_TRY(auto request, state.import->request(train));
    state.end_import();
    return open_path(state, std::move(request));
}
Result<void> cancel(S state) {
    if (!state.import) return nothing_asked();
    state.end_import();
    return {};
}
Result<void> copy(S state) {
    if (!state.import) return nothing_asked();
    return ask(state, [line = state.import->command_line()](Studio&) {
        ImGui::SetClipboardText(line.c_str());
        return Result<void>();
    });
}

// clang-format off
const CommandRow kRows[] = {
    {"import",        "Import a capture",               "",
     "Ask how to open a capture, as File > Open does; open any other file at once.", begin, word("PATH")},
    {"import.set",    "Choose how to import",           "",
     "downscale, test-every, test-views, masks, undistort, photo-memory, background, strategy, steps, gaussians, "
     "batch, sh-degree or output of the capture that is being imported; without a value, the default.",
     set, word("NAME"), optional_word("VALUE")},
    {"import.output", "Folder of the imported run…",  "",
     "Output folder of the imported capture's run.", set, always(std::string("output")), word("PATH")},
    {"import.accept", "Open the imported capture",      "",
     "Open it with the chosen settings; train: and start training.", accept, or_first(choice("look|train"))},
    {"import.cancel", "Cancel the import",              "",
     "Close the question without opening anything.", cancel},
    {"import.copy",   "Copy the import's command line", "",
     "Copy the command line equivalent to open and train.", copy},
};
// clang-format on

}  // namespace command::import

std::span<const CommandRow> import_commands() { return command::import::kRows; }

}  // namespace gs
