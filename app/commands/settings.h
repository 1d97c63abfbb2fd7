// Functions for the tables of this folder: commands that set one field of ViewSettings, or the
// order of a list of photos.
#pragma once

#include <array>
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
/// Without an argument, toggles the switch.
template <auto field>
Result<void> set_switch(StudioState& state, const Arguments& a) {
    bool on = !(state.view.*field);
    if (!a.empty()) {
        GS_TRY(on, switch_argument(a[0]));
    }
    state.view.*field = on;
    return {};
}
/// KEY [up|down]: what photos are sorted by, and which way; for settings with `key` and
/// `descending`.
template <class Sorted>
Result<void> set_order(Sorted& into, const Arguments& a) {
    GS_TRY(const std::size_t key, choice_argument(a[0], kPhotoKeyNames));
    constexpr std::array<const char*, 2> kWays{"up", "down"};
    std::size_t way = 0;
    if (a.size() > 1) {
        GS_TRY(way, choice_argument(a[1], kWays));
    }
    into.key = static_cast<PhotoKey>(key);
    into.descending = way == 1;
    return {};
}
inline Result<void> set_number(double& into, const std::string& text, double least, double most,
                               std::string_view what) {
    GS_TRY(into, number_argument(text, least, most, what));
    return {};
}

}  // namespace gs
