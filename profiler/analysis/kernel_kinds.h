// What kernels of deep learning programs do ("attention", "matmul", ...), by their names: for
// traces that have nothing to do with 3D Gaussian Splatting, whose kernels the stage map calls
// "other". Used by `gausscope trace`.
#pragma once

#include <string_view>

#include "base/record/stage.h"

namespace gs {

/// By the files of assets/kernel_kinds in the order of their names; "other" when no rule matches.
std::string_view kernel_kind(std::string_view kernel);

/// Only 3D Gaussian Splatting has this stage: sorting, losses and Adam are everybody's.
bool is_splatting(Stage stage);

}  // namespace gs
