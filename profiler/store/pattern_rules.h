// Files of rules "pattern = word" about names of kernels: read with their origins, and matched.
// Used by StageMap and KernelKinds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace gs {

struct PatternRule {
    std::string pattern, word;
    std::string origin;  ///< what the last "[NAME]" above said; empty: nothing
    std::uint64_t line = 0;
};
/// One rule a line; '#' starts a comment. Errors name the line: no '=', an empty pattern.
Result<std::vector<PatternRule>> parse_pattern_rules(const std::string& path,
                                                     std::string_view text);

/// Parts of `pattern` between '*' occur in `name` in this order, anywhere in it. Case counts.
bool matches_pattern(std::string_view pattern, std::string_view name);

}  // namespace gs
