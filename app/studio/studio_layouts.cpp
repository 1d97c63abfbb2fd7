// Layouts of the panels: a run's, saved with it, and named ones of the user.
#include <algorithm>
#include <cctype>

#include "app/studio/studio.h"
#include "base/file.h"
#include "base/log.h"
#include "base/try.h"

namespace gs {
namespace {

constexpr const char* kLayoutFile = "layout.txt";  // beside a run's views.txt

}  // namespace

/// A run's panels lie again where they lay.
void Studio::keep_layout(const fs::path& run) {
    if (trace_layout_) return;
    if (const auto kept = write_text_file(run / kLayoutFile, ui_.layout()); !kept)
        log_debug("{}", kept.error().text());
}

/// Loads the opened run's layout; without a run, restores the user's own.
void Studio::use_layout_of_run() {
    if (!options_.remember || options_.headless) return;
    const auto layout = state_.views_file.filename() == "views.txt"
                            ? read_text_file(state_.views_file.parent_path() / kLayoutFile, 1 << 20)
                            : Result<std::string>(std::string());
    const bool has = layout && !layout->empty();
    if (!run_layout_ && has) preferences_.layout = ui_.layout();
    if (has)
        ui_.load_layout(*layout);
    else if (run_layout_)
        ui_.load_layout(preferences_.layout);
    run_layout_ = has;
}

Result<void> Studio::show_layout(const std::string& name) {
    GS_TRY_VOID(ui_.show_layout(name));
    trace_layout_ = false;
    return {};
}

Result<void> Studio::save_layout(const std::string& name) {
    const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_';
    });
    if (!plain)
        return fail(ErrorKind::usage, "", fmt::format("\"{}\" is not a valid layout name", name),
                    "use letters, digits, - and _");
    const fs::path path = config_folder() / "assets" / "layouts" / (name + ".layout");
    std::error_code ignored;  // writing says what is wrong
    fs::create_directories(path.parent_path(), ignored);
    GS_TRY_VOID(write_text_file(path, ui_.layout()));
    wrote(path.string());
    return {};
}

}  // namespace gs
