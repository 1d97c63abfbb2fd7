// Opens the studio for the subcommands with a window: view, train --view and attach.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/options.h"
#include "base/expected.h"
#include "trainer/run/run.h"

namespace gs {
struct StudioOptions;  // app/studio/options.h
}

namespace gs::cli {

struct ViewArguments {
    std::string path, capture, compare, output;
    std::vector<std::string> traces;    ///< opened as well
    std::vector<std::uint32_t> attach;  ///< processes under the profiling service to show live
    int stacks_hz = 0;                  ///< also their call stacks
    CaptureArguments loading;
    std::vector<std::pair<std::string, double>> settings;
    WindowArguments window;
    /// Of `train --view`: the path is a capture, and training starts at once.
    std::optional<RunOptions> training;
};

/// The cameras of a time lapse (choose_lapse_cameras), including views saved in the studio. `run`:
/// the folder of a resumed run, or empty. Errors: usage.
Result<std::vector<LapseCamera>> lapse_cameras(const std::string& names, const fs::path& run,
                                               const Capture& capture);

/// The studio's start options. Errors (usage): settings that make no sense, a backend that
/// cannot be used. Not in a build without the studio.
Result<StudioOptions> studio_options(const ViewArguments& a, const CommonArguments& common);
/// Runs until the window is closed or the script ends; the exit code. Errors (usage): paths that
/// are not there, settings that make no sense, a backend that cannot be used.
Result<int> open_studio(const ViewArguments& a, const CommonArguments& common);

}  // namespace gs::cli
