// Commands for bundles: a scene and everything made from it in one file.
#include "app/commands/commands.h"
#include "app/studio/studio.h"

namespace gs {
namespace {

Result<void> save(StudioState& state, const Arguments& a) {
    if (a.size() > 1 && a[1] != "photos")
        return fail(ErrorKind::usage, "", "after the path only \"photos\" may follow");
    return ask(state, [path = a[0], photos = a.size() > 1](Studio& s) {
        return s.save_bundle(path, photos);
    });
}

// clang-format off
const CommandRow kRows[] = {
    {"bundle.save", "Save a bundle...", "File 3", "Ctrl+Shift+S", "PATH [photos]",
     "Pack the scene, its cameras, saved views, notes, settings, trace and a report into one file (.gsb), "
     "optionally with the photos.", save},
};
// clang-format on

}  // namespace

std::span<const CommandRow> bundle_commands() { return kRows; }

}  // namespace gs
