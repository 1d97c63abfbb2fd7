// Sparse points from a PLY: x y z and, where present, red green blue. Used for transforms.json
// captures.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/scene/capture.h"

namespace gs {

/// Points without a finite position are dropped and counted in `notes`.
Result<std::vector<SparsePoint>> read_ply_points(const fs::path& path,
                                                 std::vector<std::string>& notes);

/// As text. Errors: unwritable.
Result<void> write_ply_points(const fs::path& path, const std::vector<SparsePoint>& points);

}  // namespace gs
