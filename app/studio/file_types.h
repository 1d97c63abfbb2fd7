// What can be opened and written, for the browsers of files: the registry of splat formats and the
// readers of captures, checkpoints and traces are asked themselves.
#pragma once

#include <memory>

#include "panels/state/file_types.h"

namespace gs {

std::shared_ptr<const FileTypes> file_types();

}  // namespace gs
