// Commands in the Window and Help menus: palette, panels, layout, log.
#include <array>
#include <optional>

#include "app/commands/settings.h"
#include "app/studio/studio.h"
#include "base/log.h"

namespace gs {
namespace {

using namespace args;

constexpr std::array kLogLevels{"debug", "info", "warning", "error"};

void log_level(StudioState&, LogLevel level) { set_log_level(level); }

// clang-format off
const CommandRow kRows[] = {
    {"palette",      "Command palette",          "Window 1", "Ctrl+P",
     "Find and run any command by name.", &StudioUi::show_palette, always(std::string())},
    {"browse",       "Ask for a command's path", "",       "",
     "Open the file browser for a command that reads or writes a file, else the palette.",
     &StudioUi::show_palette, word("COMMAND")},
    {"panel",        "Show a panel",             "",       "",
     "Show a panel in front, or hide it.", &StudioUi::show_panel, word("NAME"), flag("hide")},
    {"layout",       "Show a layout",            "Window 2", "",
     "Arrange the panels as in a layout: studio, traces, or one of your own.", &Studio::show_layout, word("NAME")},
    {"layout.save",  "Save the layout",          "Window 2", "",
     "Save the panels' arrangement under a name, for layout. The name studio is the one that "
     "layout.reset restores.", &Studio::save_layout, word("NAME")},
    {"layout.reset", "Reset the layout",         "Window 2", "",
     "Restore the panels' arrangement of the first start.", &Studio::show_layout, always(std::string("studio"))},
    {"window.full-screen", "Full screen",        "Window 3", "F11",
     "Fill the screen with the window.", &Studio::full_screen, toggle()},
    {"view.only",    "Picture only",             "Window 3", "Shift+F11",
     "Show only the viewport's picture; Escape restores the panels.", &StudioUi::show_picture_only, toggle()},
    {"panel.maximise", "Maximise a panel",       "Window 3", "Ctrl+Space",
     "Maximise the panel (or the one under the mouse), or restore it; so does a double click "
     "on its tab.", &StudioUi::maximise, optional_word("NAME")},
    {"log.level",    "Set the log level",        "",       "",
     "debug, info, warning or error: the least level shown in the terminal.",
     log_level, choice("LEVEL", kLogLevels)},
    {"help",         "Commands and keys",        "Help 1",   "F1",
     "List every command with its key.", &StudioUi::show_panel, always(std::string("Help")), always(false)},
};
// clang-format on

}  // namespace

std::span<const CommandRow> window_commands() { return kRows; }

}  // namespace gs
