// Commands of the Window and Help menus: palette, panels, layout, log.
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
                    fmt::format("a panel can be shown, or hidden with \"hide\", not \"{}\"", a[1]));
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
     "Finds and runs any command by name.", palette},
    {"browse",       "Ask for a command's path", "",       "",       "COMMAND",
     "Opens the file browser for a command that reads or writes a file, the palette for any other.",
     browse},
    {"panel",        "Show a panel",             "",       "",       "NAME [hide]",
     "Shows a panel and brings it to the front, or hides it.", panel},
    {"layout",       "Show a layout",            "Window 2", "",       "NAME",
     "Puts the panels where the layout has them: studio, traces, or one of your own.", layout},
    {"layout.save",  "Save the layout",          "Window 2", "",       "NAME",
     "Keeps where the panels lie under a name, for layout. The name studio is the one that "
     "layout.reset goes back to.", save_layout},
    {"layout.reset", "Reset the layout",         "Window 2", "",       "",
     "Puts all panels back where they were on the first start.", reset_layout},
    {"window.full-screen", "Full screen",        "Window 3", "F11",        "[on|off]",
     "Fills the screen with the window.", full_screen},
    {"view.only",    "Picture only",             "Window 3", "Shift+F11",  "[on|off]",
     "Nothing but the viewport's picture; Escape brings the panels back.", picture_only},
    {"panel.maximise", "Maximise a panel",       "Window 3", "Ctrl+Space", "[NAME]",
     "The panel (or what the mouse is over) over all others, and back again; so does a double click "
     "on its tab.", maximise},
    {"log.level",    "Set the log level",        "",       "",       "LEVEL",
     "debug, info, warning or error: what reaches the terminal.", log_level},
    {"help",         "Commands and keys",        "Help 1",   "F1",     "",
     "Lists every command with its key.", help},
};
// clang-format on

}  // namespace

std::span<const CommandRow> window_commands() { return kRows; }

}  // namespace gs
