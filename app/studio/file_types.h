// File types to open and write, for the file browsers, taken from the registry of splat formats and
// the readers of captures, checkpoints and traces.
#pragma once

#include <memory>

#include "panels/state/file_types.h"

namespace gs {

std::shared_ptr<const FileTypes> file_types();

}  // namespace gs
