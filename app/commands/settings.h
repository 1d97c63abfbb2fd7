// Functions of commands that set one field of ViewSettings: for the tables of view, camera and
// compare.
#pragma once

#include <type_traits>

#include "app/commands/commands.h"
#include "app/studio/arguments.h"
#include "base/try.h"

namespace gs {

/// Sets a field from a list of names.
template <auto field, const auto& names>
Result<void> set_choice(StudioState& state, const Arguments& a) {
    GS_TRY(const std::size_t index, choice_argument(a[0], names));
    using Value = std::remove_reference_t<decltype(state.view.*field)>;
    state.view.*field = static_cast<Value>(index);
    return {};
}
template <auto field, auto value>
Result<void> set_to(StudioState& state, const Arguments&) {
    state.view.*field = value;
    return {};
}
/// Without an argument the switch is turned over.
template <auto field>
Result<void> set_switch(StudioState& state, const Arguments& a) {
    bool on = !(state.view.*field);
    if (!a.empty()) {
        GS_TRY(on, switch_argument(a[0]));
    }
    state.view.*field = on;
    return {};
}
inline Result<void> set_number(double& into, const std::string& text, double least, double most,
                               std::string_view what) {
    GS_TRY(into, number_argument(text, least, most, what));
    return {};
}

}  // namespace gs
