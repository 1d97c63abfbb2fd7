// Sizes and limits that the timeline's files share.
#pragma once

#include <algorithm>

#include "panels/widgets/theme.h"

namespace gs {

inline constexpr double kLeastSpanNs = 200, kMostSpanNs = 3.6e12;  ///< of time in view

inline float label_width(float room) { return std::clamp(0.17F * room, 6.2F * em(), 14 * em()); }
inline float row_height() { return 1.15F * em(); }
inline float folded_height() { return 0.6F * row_height(); }
inline float row_gap() { return 0.35F * em(); }
inline float heading_height() { return 1.35F * em(); }
inline float counter_height() { return 2.2F * em(); }
inline float bars_height() { return 2.6F * em(); }
inline float ruler_height() { return 1.25F * em(); }

}  // namespace gs
