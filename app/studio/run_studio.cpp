#include <fstream>

#include "app/studio/studio.h"
#include "app/window/window.h"
#include "base/file.h"
#include "base/log.h"
#include "base/record/scope.h"

namespace gs {
namespace {

/// Up to 16 MiB of text, from a file or a pipe.
Result<std::string> read_script(const std::string& path) {
    constexpr std::size_t kMost = 16 << 20;
    if (folder_exists(path)) return fail(ErrorKind::unreadable, path, "is a folder");
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(ErrorKind::not_found, path, "cannot be opened");
    std::string text(kMost + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad()) return fail(ErrorKind::unreadable, path, "cannot be read");
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMost)
        return fail(ErrorKind::unreadable, path, "exceeds the limit for scripts (16 MiB)");
    return text;
}

}  // namespace

int run_studio(const StudioOptions& options, const CommandTable& table) {
    std::optional<std::vector<ScriptLine>> script;
    if (!options.script.empty()) {
        const auto text = read_script(options.script);
        auto lines = text ? parse_script(*text, options.script, table)
                          : Result<std::vector<ScriptLine>>(tl::unexpected<Error>(text.error()));
        if (!lines) {
            log_error("{}", lines.error().text());
            return 2;
        }
        script = std::move(*lines);
    } else if (options.headless) {
        log_warning("headless without a script: the studio runs until it is interrupted");
    }
    Preferences preferences = options.remember ? read_preferences(config_folder()) : Preferences();
    const WindowOptions window_options{
        .width = options.width > 0 ? options.width : preferences.width,
        .height = options.height > 0 ? options.height : preferences.height,
        .headless = options.headless,
        .scale = options.scale,
        .cuda_device = options.machine.cuda_device};
    auto window = open_window(window_options);
    if (!window) {
        log_error("{}", window.error().text());
        return 2;
    }
    name_this_thread("ui");
    Studio studio(options, table, **window, std::move(preferences));
    return studio.run(std::move(script));
}

}  // namespace gs
