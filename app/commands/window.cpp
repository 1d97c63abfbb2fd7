// Commands in the Window and Help menus: palette, panels, layout, log.
#include <array>
#include <optional>

#include "app/commands/settings.h"
#include "app/studio/studio.h"
#include "base/log.h"

namespace gs {
namespace command::window {

using namespace args;

constexpr std::array kLogLevels{"debug", "info", "warning", "error"};

void show_palette(StudioUi& ui, const std::string& command) {
    ui.workspace().palette.show(command);
}
Result<void> toggle_help(StudioUi& ui) {
    return ui.show_panel("Help", ui.workspace().in_front("Help"));
}
Result<void> show_layout(Studio& studio, const std::string& name) {
    return studio.scene().show_layout(name);
}
Result<void> save_layout(Studio& studio, const std::string& name) {
    GS_TRY(const std::string file, studio.scene().save_layout(name));
    studio.wrote(file);
    return {};
}
Result<void> choose_keys(Studio& studio, const std::string& name) {
    return studio.keys().choose(name);
}

void log_level(StudioState&, LogLevel level) { set_log_level(level); }

// clang-format off
const CommandRow kRows[] = {
    {"palette",      "Command palette",          "Window 1",
     "Find and run any command by name.", show_palette, always(std::string())},
    {"browse",       "Ask for a command's path", "",
     "Open the file browser for a command that reads or writes a file, else the palette.",
     show_palette, word("COMMAND")},
    {"panel",        "Show a panel",             "",
     "Show a panel in front, or hide it.", &StudioUi::show_panel, word("NAME"), flag("hide")},
    {"layout",       "Show a layout",            "Window 2",
     "Arrange the panels as in a layout: studio, traces, or one of your own.", show_layout, word("NAME")},
    {"layout.save",  "Save the layout",          "Window 2",
     "Save the panels' arrangement under a name, for layout. The name studio is the one that "
     "layout.reset restores.", save_layout, word("NAME")},
    {"layout.reset", "Reset the layout",         "Window 2",
     "Restore the panels' arrangement of the first start.", show_layout, always(std::string("studio"))},
    {"window.full-screen", "Full screen",        "Window 3",
     "Fill the screen with the window.", &StudioUi::full_screen, toggle()},
    {"view.only",    "Picture only",             "Window 3",
     "Show only the viewport's picture; Escape restores the panels.", &StudioUi::show_picture_only, toggle()},
    {"panel.maximise", "Maximise a panel",       "Window 3",
     "Maximise the panel (or the one under the mouse), or restore it; so does a double click "
     "on its tab.", &StudioUi::maximise, optional_word("NAME")},
    {"interface.larger", "Larger interface",     "Window 4",
     "Make text and controls a tenth larger; remembered.", &Studio::scale_interface, always(1.1)},
    {"interface.smaller", "Smaller interface",   "Window 4",
     "Make text and controls a tenth smaller; remembered.", &Studio::scale_interface, always(1 / 1.1)},
    {"interface.reset", "Interface as the display", "Window 4",
     "Make text and controls as large as the display asks for.",
     &Studio::scale_interface, always(std::optional<double>())},
    {"log.level",    "Set the log level",        "",
     "debug, info, warning or error: the least level shown in the terminal.",
     log_level, choice("LEVEL", kLogLevels)},
    {"help",         "Commands and keys",        "Help 1",
     "List every command with its key, or close the list.", toggle_help},
    {"keys",         "Choose a key map",         "Help 1",
     "Use the keys of gausscope, supersplat, blender or one of your own; without a name, read the "
     "chosen one and your keys.txt again.", choose_keys, optional_word("NAME")},
};
// clang-format on

}  // namespace command::window

std::span<const CommandRow> window_commands() { return command::window::kRows; }

}  // namespace gs
