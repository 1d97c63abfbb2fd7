// Reader of .safetensors files (8-byte length, JSON header, raw tensors): the test cases of Brush
// come in them.
#pragma once

#include "base/file.h"
#include "tests/support/arrays.h"

namespace gs::test {

/// Tensors of type F32, F64, I32. A broken file throws BadData.
Arrays load_safetensors(const fs::path& path);

}  // namespace gs::test
