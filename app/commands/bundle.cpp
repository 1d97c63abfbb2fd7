// Commands for bundles: a scene and everything made from it in one file.
#include "app/studio/studio.h"

namespace gs {
namespace command::bundle {

using namespace args;

// clang-format off
const CommandRow kRows[] = {
    {"bundle.save", "Save a bundle…", "File 3",
     "Pack the scene, its cameras, saved views, notes, settings, trace and a report into one file (.gsb), "
     "optionally with the photos.", save_bundle, word("PATH"), flag("photos")},
};
// clang-format on

}  // namespace command::bundle

std::span<const CommandRow> bundle_commands() { return command::bundle::kRows; }

}  // namespace gs
