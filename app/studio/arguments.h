// Parses the arguments of commands: used by the functions in app/commands and by scripts. Errors
// are of kind usage and say what was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/vec.h"
#include "renderer/scene/clip_box.h"

namespace gs {

/// Parses a finite number within the bounds.
Result<double> number_argument(const std::string& text, double least, double most,
                               std::string_view what);
/// Parses a whole number within the bounds.
Result<std::int64_t> integer_argument(const std::string& text, std::int64_t least,
                                      std::int64_t most, std::string_view what);
/// Parses "on" or "off".
Result<bool> switch_argument(const std::string& text);
/// Parses a direction along an axis of the world: x, y, z, -x, -y or -z.
Result<Vec3d> axis_argument(const std::string& text);
/// Parses X0 Y0 Z0 X1 Y1 Z1: the lower and the upper corner of a box in the world.
Result<ClipBox> box_argument(std::span<const std::string> words);
/// Gaussians by their rows in the model at a step.
struct RowsArgument {
    std::vector<std::uint64_t> rows;    ///< empty: the selection
    std::optional<std::uint64_t> step;  ///< none: the current model
};
/// Parses "3,#7,9".
Result<std::vector<std::uint64_t>> rows_argument(const std::string& text);
/// Parses [ROW,... [STEP]].
Result<RowsArgument> rows_of_step_argument(std::span<const std::string> words);
/// Finds the index in a list of names.
Result<std::size_t> choice_argument(const std::string& text, std::span<const char* const> choices);

}  // namespace gs
