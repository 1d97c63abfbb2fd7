// Parses the arguments of commands: used by the functions in app/commands and by scripts. Errors
// are of kind usage and say what was expected.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/vec.h"

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
/// Parses "3,#7,9".
Result<std::vector<std::uint64_t>> rows_argument(const std::string& text);
/// Finds the index in a list of names.
Result<std::size_t> choice_argument(const std::string& text, std::span<const std::string> choices);

}  // namespace gs
