// A training setting written as text, "lr_means" "1e-4" or "appearance" "exposure", as files of
// settings and suites of the lab hold them. Read by `--config` and by the lab.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/expected.h"

namespace gs {

/// The name as the settings table has it ("lr-means" is "lr_means") and the value, in range. Errors
/// (usage): there is no such setting; no number and none of its words; out of range; a fraction
/// where whole numbers are wanted.
Result<std::pair<std::string, double>> read_setting(std::string name, const std::string& text);

}  // namespace gs
