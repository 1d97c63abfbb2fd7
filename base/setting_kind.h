// SettingKind: what the values of a training setting are. For the table of settings
// (trainer/settings/settings.h) and the panel that shows its rows.
#pragma once

#include <cstdint>

namespace gs {

enum class SettingKind : std::uint8_t {
    toggle,  ///< 0 or 1
    choice,  ///< one of some words: 0 is the first
    count,   ///< a whole number
    number
};

}  // namespace gs
