// What kernels of deep learning programs do ("attention", "matmul", ...), by their names: for
// traces that have nothing to do with 3D Gaussian Splatting, whose kernels the stage map calls
// "other". Used by `gausscope trace` and the figures of `serve`.
#pragma once

#include <string_view>

#include "base/record/stage.h"

namespace gs {

/// By the files of assets/kernel_kinds in the order of their names; "other" when no rule matches.
/// The word stays valid.
std::string_view kernel_kind(std::string_view kernel);

/// What copies and fills are counted as.
inline constexpr std::string_view kCopiesKind = "copies";

/// Only 3D Gaussian Splatting has this stage: sorting, losses and Adam are everybody's.
bool is_splatting(Stage stage);

}  // namespace gs
