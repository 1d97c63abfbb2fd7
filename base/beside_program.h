// Files that come with the program and lie near it, wherever it was built or installed: libraries
// that are opened at run time, what goes into Python programs. Asked when one is needed.
#pragma once

#include <initializer_list>

#include "base/expected.h"
#include "base/file.h"

namespace gs {

/// The first of `folders` (relative to the program's own; "" is that itself) that has `name`.
/// Errors: not_found, with `missing` as what is wrong.
Result<fs::path> beside_program(const char* name, std::initializer_list<const char*> folders,
                                const char* missing);

}  // namespace gs
