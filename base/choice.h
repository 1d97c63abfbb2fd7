// Choices with a table of names: enums whose words a person writes.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace gs {

/// The one that `names` calls `name`.
template <class Choice, class Names>
std::optional<Choice> choice_named(const Names& names, std::string_view name) {
    const auto found = std::find(std::begin(names), std::end(names), name);
    if (found == std::end(names)) return std::nullopt;
    return static_cast<Choice>(found - std::begin(names));
}

}  // namespace gs
