// The studio's looks: dark theme, crisp fonts at any scale, one colour per stage everywhere,
// colours of meaning. The app calls load_fonts() and apply_theme() once per scale; panels take
// colours from here and sizes from em().
#pragma once

#include <imgui.h>

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/assets.h"
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
/// A thin line: one pixel at scale 1, whole ones at others.
float hairline();

constexpr ImU32 color_rgb(unsigned rgb, unsigned alpha = 255) {
    return IM_COL32((rgb >> 16) & 255, (rgb >> 8) & 255, rgb & 255, alpha);
}
constexpr ImU32 with_alpha(ImU32 color, unsigned alpha) {
    return (color & ~IM_COL32_A_MASK) | (static_cast<ImU32>(alpha) << IM_COL32_A_SHIFT);
}
/// `share` of b mixed into a, opaque.
ImU32 mix(ImU32 a, ImU32 b, float share);

/// The colours that panels draw with: those of assets/themes/dark.theme, or of the user's file of
/// that name. Read when first asked for.
struct Theme {
    ImU32 text, dim, faint, grid, window, panel, field, accent, good, warning, error, train_camera,
        test_camera;
    std::array<ImU32, kStageCount> stages;
    std::vector<std::pair<std::string, ImU32>> interface;  ///< ImGui's, by its own names
};
const Theme& theme();
/// Merges the files, later ones over earlier ones; an invalid line is reported and skipped.
Theme read_theme(std::span<const Asset> files);

/// The stage's colour in tables, timeline and plots: neighbours differ in lightness, groups in hue
/// (forward blue, backward orange, optimisation green), in hues that the common colour deficiencies
/// keep apart.
ImU32 stage_color(Stage stage);
/// Black or white, whichever is read better on `background`.
ImU32 text_on(ImU32 background);

}  // namespace gs
