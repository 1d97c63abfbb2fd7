// Handlers of commands that set one field of ViewSettings. Used by commands_view.cpp and
// commands_compare.cpp.
#pragma once

#include <type_traits>

#include "app/commands/commands.h"

namespace gs {

/// A handler that sets one field of ViewSettings from a list of names.
template <auto field, const auto& names>
Result<void> set_choice(StudioState& state, const Arguments& arguments) {
    const auto index = choice_argument(arguments[0], names);
    if (!index) return tl::unexpected<Error>(index.error());
    using Value = std::remove_reference_t<decltype(state.view.*field)>;
    state.view.*field = static_cast<Value>(*index);
    return {};
}
/// Without an argument the switch is turned over.
template <auto field>
Result<void> set_switch(StudioState& state, const Arguments& arguments) {
    if (arguments.empty()) {
        state.view.*field = !(state.view.*field);
        return {};
    }
    const auto on = switch_argument(arguments[0]);
    if (!on) return tl::unexpected<Error>(on.error());
    state.view.*field = *on;
    return {};
}
inline Result<void> set_number(double& into, const std::string& text, double least, double most,
                               std::string_view what) {
    const auto value = number_argument(text, least, most, what);
    if (!value) return tl::unexpected<Error>(value.error());
    into = *value;
    return {};
}

}  // namespace gs
