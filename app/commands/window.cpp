// Commands in the Window and Help menus: palette, panels, layout, log.
#include <array>
#include <optional>

#include "app/commands/commands.h"
#include "app/studio/arguments.h"
#include "app/studio/studio.h"
#include "base/log.h"
#include "base/try.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr std::array<const char*, 4> kLogLevels{"debug", "info", "warning", "error"};

Result<void> show_palette(S state, std::string command) {
    return ask(state, [command = std::move(command)](Studio& s) -> Result<void> {
        s.ui().show_palette(command);
        return {};
    });
}
Result<void> palette(S state, A) { return show_palette(state, {}); }
Result<void> browse(S state, A a) { return show_palette(state, a[0]); }

Result<void> show_panel(S state, std::string name, bool hide) {
    return ask(state,
               [name = std::move(name), hide](Studio& s) { return s.ui().show_panel(name, hide); });
}
Result<void> panel(S state, A a) {
    if (a.size() > 1 && a[1] != "hide")
        return fail(ErrorKind::usage, "",
                    fmt::format("after a panel only \"hide\" may follow, not \"{}\"", a[1]));
    return show_panel(state, a[0], a.size() > 1);
}
Result<void> help(S state, A) { return show_panel(state, "Help", false); }

Result<void> layout(S state, A a) {
    return ask(state, [name = a[0]](Studio& s) { return s.show_layout(name); });
}
Result<void> save_layout(S state, A a) {
    return ask(state, [name = a[0]](Studio& s) { return s.save_layout(name); });
}
Result<void> reset_layout(S state, A) {
    return ask(state, [](Studio& s) { return s.show_layout("studio"); });
}
Result<std::optional<bool>> switch_or_none(A a) {
    if (a.empty()) return std::optional<bool>();
    GS_TRY(const bool on, switch_argument(a[0]));
    return std::optional(on);
}
Result<void> full_screen(S state, A a) {
    GS_TRY(const auto on, switch_or_none(a));
    return ask(state, [on](Studio& s) -> Result<void> {
        s.full_screen(on);
        return {};
    });
}
Result<void> picture_only(S state, A a) {
    GS_TRY(const auto on, switch_or_none(a));
    return ask(state, [on](Studio& s) -> Result<void> {
        s.picture_only(on);
        return {};
    });
}
Result<void> maximise(S state, A a) {
    return ask(state, [name = a.empty() ? "" : a[0]](Studio& s) { return s.ui().maximise(name); });
}
Result<void> log_level(S, A a) {
    GS_TRY(const std::size_t level, choice_argument(a[0], kLogLevels));
    set_log_level(static_cast<LogLevel>(level));
    return {};
}

// clang-format off
const CommandRow kRows[] = {
    {"palette",      "Command palette",          "Window 1", "Ctrl+P", "",
     "Find and run any command by name.", palette},
    {"browse",       "Ask for a command's path", "",       "",       "COMMAND",
     "Open the file browser for a command that reads or writes a file, else the palette.",
     browse},
    {"panel",        "Show a panel",             "",       "",       "NAME [hide]",
     "Show a panel in front, or hide it.", panel},
    {"layout",       "Show a layout",            "Window 2", "",       "NAME",
     "Arrange the panels as in a layout: studio, traces, or one of your own.", layout},
    {"layout.save",  "Save the layout",          "Window 2", "",       "NAME",
     "Save the panels' arrangement under a name, for layout. The name studio is the one that "
     "layout.reset restores.", save_layout},
    {"layout.reset", "Reset the layout",         "Window 2", "",       "",
     "Restore the panels' arrangement of the first start.", reset_layout},
    {"window.full-screen", "Full screen",        "Window 3", "F11",        "[on|off]",
     "Fill the screen with the window.", full_screen},
    {"view.only",    "Picture only",             "Window 3", "Shift+F11",  "[on|off]",
     "Show only the viewport's picture; Escape restores the panels.", picture_only},
    {"panel.maximise", "Maximise a panel",       "Window 3", "Ctrl+Space", "[NAME]",
     "Maximise the panel (or the one under the mouse), or restore it; so does a double click "
     "on its tab.", maximise},
    {"log.level",    "Set the log level",        "",       "",       "LEVEL",
     "debug, info, warning or error: the least level shown in the terminal.", log_level},
    {"help",         "Commands and keys",        "Help 1",   "F1",     "",
     "List every command with its key.", help},
};
// clang-format on

}  // namespace

std::span<const CommandRow> window_commands() { return kRows; }

}  // namespace gs
