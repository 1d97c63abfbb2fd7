// Commands of the File, Window and Help menus: open, save, pictures, panels.
#include <algorithm>
#include <array>

#include "app/commands/commands.h"
#include "base/log.h"
#include "panels/viewport/compare.h"
#include "profiler/files/trace_file.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr std::array<const char*, 4> kLogLevels{"debug", "info", "warning", "error"};
constexpr std::array<const char*, 2> kPictureKinds{"plain", "overlays"};

Result<void> ask(S state, UiAction action) {
    state.ui_actions.push_back(std::move(action));
    return {};
}

Result<void> open(S state, A arguments) {
    if (arguments.size() == 1 && is_trace_file(arguments[0]))
        return ask(state, OpenTrace{arguments[0]});
    return send(state,
                OpenCommand{arguments[0], arguments.size() > 1 ? arguments[1] : "", false, false});
}
Result<void> open_sample(S state, A) {
    return send(state, OpenCommand{state.sample_dir, "", false, true});
}
Result<void> close(S state, A) { return send(state, CloseCommand{}); }
Result<void> export_splats(S state, A arguments) {
    return send(state, ExportCommand{arguments[0]});
}
Result<void> save_trace(S state, A arguments) { return ask(state, SaveTrace{arguments[0]}); }
Result<void> quit(S state, A) { return ask(state, QuitStudio{}); }

Result<void> screenshot(S state, A arguments) {
    int width = state.width, height = state.height;
    bool overlays = false;
    std::vector<std::string> sizes(arguments.begin() + 1, arguments.end());
    if (!sizes.empty() && !std::isdigit(static_cast<unsigned char>(sizes.back().front()))) {
        const auto kind = choice_argument(sizes.back(), kPictureKinds);
        if (!kind) return tl::unexpected<Error>(kind.error());
        overlays = *kind == 1;
        sizes.pop_back();
    }
    if (sizes.size() == 1) return fail(ErrorKind::usage, "", "a size is given as WIDTH HEIGHT");
    if (sizes.size() == 2) {
        const auto w = integer_argument(sizes[0], 1, 16384, "the width"),
                   h = integer_argument(sizes[1], 1, 16384, "the height");
        if (!w || !h) return tl::unexpected<Error>(w ? h.error() : w.error());
        width = overlays ? picture_width(state.view, static_cast<int>(*w)) : static_cast<int>(*w);
        height = static_cast<int>(*h);
    }
    ++state.pictures_asked;
    auto sent =
        send(state, PictureCommand{view_request_of(state, width, height), arguments[0], overlays});
    if (!sent) ++state.pictures_written;
    return sent;
}
Result<void> screenshot_window(S state, A arguments) {
    return ask(state, WindowPicture{arguments[0]});
}

Result<void> panel(S state, A arguments) {
    if (arguments.size() > 1 && arguments[1] != "hide")
        return fail(
            ErrorKind::usage, "",
            fmt::format("a panel can be shown, or hidden with \"hide\", not \"{}\"", arguments[1]));
    return ask(state, ShowPanel{arguments[0], arguments.size() > 1});
}
Result<void> palette(S state, A) { return ask(state, ShowPalette{}); }
Result<void> browse(S state, A arguments) { return ask(state, ShowPalette{arguments[0]}); }
Result<void> help(S state, A) { return ask(state, ShowPanel{"Help", false}); }
Result<void> reset_layout(S state, A) { return ask(state, ResetLayout{}); }
Result<void> log_level(S, A arguments) {
    const auto level = choice_argument(arguments[0], kLogLevels);
    if (!level) return tl::unexpected<Error>(level.error());
    set_log_level(static_cast<LogLevel>(*level));
    return {};
}

}  // namespace

void add_file_commands(std::vector<CommandRow>& rows) {
    rows.push_back({{"open", "Open...", "File", "Ctrl+O", "PATH [CAPTURE]",
                     "Opens a capture, a splat file, a checkpoint or a trace; CAPTURE gives photos "
                     "to compare with."},
                    open,
                    {},
                    1,
                    2});
    rows.push_back({{"open.sample", "Open the sample capture", "File", "", "",
                     "Makes the built-in sample capture (no download) and opens it."},
                    open_sample,
                    {},
                    0,
                    0});
    rows.push_back({{"close", "Close", "File", "Ctrl+W", "",
                     "Closes the scene; unsaved training is saved first. Also cancels loading."},
                    close,
                    {},
                    0,
                    0});
    rows.push_back(
        {{"export", "Export splats...", "File", "Ctrl+E", "PATH",
          "Writes the model as a splat file that other programs read: .ply, .spz, .sog, .glb, ..."},
         export_splats,
         {},
         1,
         1});
    rows.push_back({{"screenshot", "Save the viewport's picture...", "File", "F12",
                     "PATH [WIDTH HEIGHT] [plain|overlays]",
                     "Writes the viewport as PNG, at any size, with or without overlays."},
                    screenshot,
                    {},
                    1,
                    4});
    rows.push_back({{"screenshot.window", "Save a picture of the window...", "File", "Shift+F12",
                     "PATH", "Writes the whole window as PNG."},
                    screenshot_window,
                    {},
                    1,
                    1});
    rows.push_back({{"trace.save", "Save the timeline...", "File", "Ctrl+Shift+T", "PATH",
                     "Writes all measurements as a Perfetto trace."},
                    save_trace,
                    {},
                    1,
                    1});
    rows.push_back(
        {{"quit", "Quit", "File", "Ctrl+Q", "", "Saves unsaved training and ends the program."},
         quit,
         {},
         0,
         0});
}

void add_window_commands(std::vector<CommandRow>& rows) {
    rows.push_back({{"palette", "Command palette", "Window", "Ctrl+P", "",
                     "Finds and runs any command by name."},
                    palette,
                    {},
                    0,
                    0});
    rows.push_back({{"browse", "Ask for a command's path", "", "", "COMMAND",
                     "Opens the file browser for open, scene.compare or export, the palette for "
                     "any other command."},
                    browse,
                    {},
                    1,
                    1});
    rows.push_back({{"panel", "Show a panel", "", "", "NAME [hide]",
                     "Shows a panel and brings it to the front, or hides it."},
                    panel,
                    {},
                    1,
                    2});
    rows.push_back({{"layout.reset", "Reset the layout", "Window", "", "",
                     "Puts all panels back where they were on the first start."},
                    reset_layout,
                    {},
                    0,
                    0});
    rows.push_back({{"log.level", "Set the log level", "", "", "LEVEL",
                     "debug, info, warning or error: what reaches the terminal."},
                    log_level,
                    {},
                    1,
                    1});
    rows.push_back(
        {{"help", "Commands and keys", "Help", "F1", "", "Lists every command with its key."},
         help,
         {},
         0,
         0});
}

}  // namespace gs
