// What kernels ("attention", "matmul", ...) and ranges ("data", "forward", ...) of deep learning
// programs do, by their names: for traces that have nothing to do with 3D Gaussian Splatting, whose
// kernels and ranges are of no stage. Used by `gausscope trace` and the figures of `serve`.
#pragma once

#include <string_view>

#include "base/record/stage.h"

namespace gs {

/// By the files of assets/kernel_kinds in the order of their names; "other" when no rule matches.
/// The word stays valid.
std::string_view kernel_kind(std::string_view kernel);

/// The same for a range of the host, by assets/range_kinds; empty when no rule matches. Patterns
/// are lower case, '^' and '$' the name's ends.
std::string_view range_kind(std::string_view range);
/// What is inside a range of this kind belongs to it, whatever its own name says.
inline bool holds_all(std::string_view kind) {
    return kind == "evaluation" || kind == "checkpoint";
}

/// What copies and fills are counted as.
inline constexpr std::string_view kCopiesKind = "copies";

/// Only 3D Gaussian Splatting has this stage: sorting, losses and Adam are everybody's.
bool is_splatting(Stage stage);

}  // namespace gs
