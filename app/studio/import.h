// Import: the question before a capture is opened by hand. It examines the capture (headers and
// cameras, no photos) on a thread, keeps the choices, and makes the engine's request and the
// equivalent command line from them (app/commands/import.cpp, panels/import_dialog.h). Lives on the
// UI thread.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/session_types.h"
#include "base/task.h"
#include "panels/state/import_state.h"
#include "renderer/io/captures/capture_io.h"
#include "trainer/settings.h"

namespace gs {

/// What the studio was started with, which every capture is opened with unless something else is
/// chosen.
struct ImportBase {
    CaptureOptions loading;
    NamedValues settings;  ///< that were given
    RunOptions run;        ///< of which command lines name pace and checkpoints
    std::string backend = "auto";
    std::string output{};  ///< folder that was named for the first run; empty: a new one
    /// Of the device that computes; empty: this machine's memory is what training needs.
    std::function<std::uint64_t()> free_device_bytes{};
};

/// How fast training has been in this session.
struct StepSpeed {
    double ms_per_megapixel = 0;  ///< 0: not known
    std::string based_on;         ///< "7,000 steps of fox"
};

class Import {
  public:
    /// The names of choices, for import.set.
    static constexpr std::array<const char*, 9> kNames{"downscale", "test-every", "test-views",
                                                       "masks",     "undistort",  "background",
                                                       "steps",     "gaussians",  "output"};
    Import(std::string path, ImportBase base, std::function<void()> wake);

    /// Errors (usage): no such choice, or a value that it cannot have; then nothing has changed.
    Result<void> set(const std::string& name, const std::string& value);
    /// What opens it as chosen. Errors: what is wrong with the choices, or with the capture.
    Result<OpenRequest> request(bool train) const;
    /// "gausscope train PATH ... --view": as one line for a shell.
    std::string command_line() const;
    /// True while the capture is examined.
    bool working() const { return task_ != nullptr; }
    /// Takes what was read meanwhile; true when there was something.
    bool update();
    /// Nobody waits for it any more. False while what it reads has not ended, which its destructor
    /// would wait for: keep it until then.
    bool over();
    /// For the dialog.
    std::shared_ptr<const ImportState> state(const StepSpeed& speed) const;

  private:
    struct Examined {
        CaptureForecast forecast;
        ImportState::Facts found;
        std::vector<Finding> findings;
        std::vector<std::string> skipped;
        std::size_t points = 0;
    };
    static Result<Examined> examine(const std::string& path, CaptureOptions options,
                                    const Progress& progress);
    void start();
    void leave_task();
    const std::string& value(const char* name) const { return values_.at(name); }
    NamedValues settings() const;
    Result<CaptureOptions> loading() const;
    std::string what_is_wrong() const;
    std::vector<ImportState::Choice> choices() const;
    ImportState::Facts forecast(const StepSpeed& speed) const;

    std::string path_;
    ImportBase base_;
    std::function<void()> wake_;
    std::map<std::string, std::string, std::less<>> values_;
    std::unique_ptr<Task<Examined>> task_;
    std::vector<std::unique_ptr<Task<Examined>>> left_;  // cancelled, but not ended yet
    Examined examined_;
    std::string problem_;
};

}  // namespace gs
