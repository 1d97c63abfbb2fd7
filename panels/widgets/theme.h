// The studio's looks: dark theme, crisp fonts at any scale, one colour per stage everywhere,
// colours of meaning. The app calls load_fonts() and apply_theme() once per scale; panels take
// colours from here and sizes from em().
#pragma once

#include <imgui.h>

#include "base/record/stage.h"

namespace gs {

/// Text, title and fixed-width fonts at `scale` times their size into the current context's atlas:
/// Roboto and DejaVu Sans Mono, which are built in, so that text is the same on every machine. Call
/// before the atlas is built.
void load_fonts(double scale);
/// Colours and metrics of the current context at `scale`.
void apply_theme(double scale);

/// The font for headings and for code and logs; the text font when it was not loaded.
ImFont* title_font();
ImFont* mono_font();

/// Height of the text font in pixels: every size in the panels is a multiple of it.
inline float em() { return ImGui::GetFontSize(); }

constexpr ImU32 color_rgb(unsigned rgb, unsigned alpha = 255) {
    return IM_COL32((rgb >> 16) & 255, (rgb >> 8) & 255, rgb & 255, alpha);
}
constexpr ImU32 with_alpha(ImU32 color, unsigned alpha) {
    return (color & ~IM_COL32_A_MASK) | (static_cast<ImU32>(alpha) << IM_COL32_A_SHIFT);
}
/// `share` of b mixed into a, opaque.
ImU32 mix(ImU32 a, ImU32 b, float share);

inline constexpr ImU32 kTextColor = color_rgb(0xdfe3ea);
inline constexpr ImU32 kDimColor = color_rgb(0x98a1b0);
inline constexpr ImU32 kFaintColor = color_rgb(0x5c6575);
inline constexpr ImU32 kGridColor = color_rgb(0x2b313c);
inline constexpr ImU32 kWindowColor = color_rgb(0x14171c);
inline constexpr ImU32 kPanelColor = color_rgb(0x1a1e25);
inline constexpr ImU32 kFieldColor = color_rgb(0x262c36);
inline constexpr ImU32 kAccentColor = color_rgb(0x4ea1f3);
inline constexpr ImU32 kGoodColor = color_rgb(0x35b48a);
inline constexpr ImU32 kWarningColor = color_rgb(0xe6b450);
inline constexpr ImU32 kErrorColor = color_rgb(0xe8704f);
inline constexpr ImU32 kTrainCameraColor = color_rgb(0x7fb4e6);
inline constexpr ImU32 kTestCameraColor = color_rgb(0xe69f3c);

/// The stage's colour in tables, timeline and plots: neighbours differ in lightness, groups in hue
/// (forward blue, backward orange, optimisation green), in hues that the common colour deficiencies
/// keep apart.
ImU32 stage_color(Stage stage);
/// Black or white, whichever is read better on `background`.
ImU32 text_on(ImU32 background);

}  // namespace gs
