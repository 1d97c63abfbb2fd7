// Small widgets that several panels share: icons and icon buttons, dim labels, choices that become
// commands. Called by panels only.
#pragma once

#include <imgui.h>

#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "panels/state/command.h"
#include "panels/widgets/theme.h"

namespace gs {

enum class Icon { play, pause, step, run_to, stop, previous, next, save, search };

/// Draws `icon` into the square at `corner` with side `size`.
void draw_icon(ImDrawList& list, Icon icon, ImVec2 corner, float size, ImU32 color);
/// A square button with an icon and a tooltip. True when clicked.
bool icon_button(const char* id, Icon icon, const char* tooltip, bool enabled = true,
                 ImU32 color = theme().text);
/// Icon and text on one button.
bool icon_text_button(Icon icon, const char* label, const char* tooltip, bool enabled = true);

void text(std::string_view text);
void dim_text(std::string_view text);
void colored_text(ImU32 color, std::string_view text);
void wrapped_text(ImU32 color, std::string_view text);
/// The stage's colour and its name, as long as fits.
void stage_label(Stage stage, std::string_view name = {});
/// Right-aligned text in the current table cell.
void cell_right(std::string_view text, ImU32 color = theme().text);
/// A table's heading without ImGui's space for the sorting arrow, so that names fit in
/// narrow columns. In a row begun with ImGuiTableRowFlags_Headers.
void table_heading(const char* name, bool right);
/// A collapsible heading; open at first.
bool section(const char* label);
/// A row "label  value" of a two-column table.
void fact(std::string_view label, std::string_view value);
/// Tooltip for the item just drawn, wrapped at a readable width; shown on hover.
void tooltip(std::string_view text);
/// The same, whatever the mouse is over.
void show_tooltip(std::string_view text);
/// Since the last call a tooltip has got another text: its box is as large in the next frame.
bool tooltip_changed();
/// The button that Enter presses as well: the usual answer of a dialog.
bool default_button(const char* label, ImVec2 size = {0, 0});
/// Highlighted while `on`.
bool lit_button(const char* label, bool on, std::string_view hint, bool small = false);
/// Another button of it: Enter presses it while the keyboard stands on it.
bool other_button(const char* label, ImVec2 size = {0, 0});
/// Puts the next button beside the last item if it fits.
void beside_if_fits(const char* label);
/// Text in the middle of the remaining region, dim, for panels with nothing to show.
void empty_note(std::string_view text);
/// With a capital first letter, as every control has.
std::string sentence(std::string_view words);
/// Names of paths that tell them apart: with as many of their folders as that takes, "room/dense".
std::vector<std::string> short_names(std::span<const std::string> paths);

/// How many bytes of `words` fit `width` with `end` behind them; characters stay whole.
std::size_t fitting(std::string_view words, float width, std::string_view end = {});
/// As much as `lines` lines of this width hold, without the middle of what is longer.
std::string fitted_lines(std::string_view text, float width, std::size_t lines);
/// `text` cut to fit `width`, its end replaced by "..".
std::string fitted(std::string_view text, float width);
/// The same for paths: their beginning goes, the file name stays.
std::string fitted_path(std::string_view path, float width);

/// A number in a field with a line that shows its place between two ends. Drag it sideways, or type
/// it after Ctrl + click or a double click; a click alone changes nothing. True when it changed.
/// `beyond`: what is typed may lie outside of the ends.
bool drag_bar(const char* label, double& value, double least, double most, const char* format,
              ImGuiSliderFlags flags = 0, bool beyond = false);
template <class T>
bool drag_bar(const char* label, T& value, T least, T most, const char* format,
              ImGuiSliderFlags flags = 0) {
    auto now = static_cast<double>(value);
    if (!drag_bar(label, now, static_cast<double>(least), static_cast<double>(most), format, flags))
        return false;
    const T before = value;
    value = static_cast<T>(std::is_integral_v<T> ? std::round(now) : now);
    return value != before;
}
/// A combo box of `names`; a choice gives `command` with the name. `width` in em.
void choice_command(Commands& commands, const char* id, std::string_view command,
                    std::span<const char* const> names, std::size_t current, float width,
                    const char* hint);
/// The hint with the command's key, as it is marked on this keyboard.
std::string with_key(const Commands& commands, std::string_view command, std::string hint);
/// A small on/off button that gives `command` with on or off.
void toggle_command(Commands& commands, const char* label, std::string_view command, bool on,
                    const char* hint);

}  // namespace gs
