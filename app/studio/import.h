// Import: the question before a capture is opened by hand. It examines the capture (headers and
// cameras, no photos) on a thread, keeps the choices, and makes the engine's request and the
// equivalent command line from them (app/commands/import.cpp, panels/import_dialog.h). Lives on the
// UI thread.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/session/session_types.h"
#include "base/task.h"
#include "panels/state/import_state.h"
#include "trainer/settings/settings.h"

namespace gs {

/// The studio's start options: the defaults for every imported capture.
struct ImportBase {
    CaptureOptions loading;
    NamedValues settings;  ///< given explicitly
    RunOptions run;        ///< command lines name its pace and checkpoints
    std::string backend = "auto";
    std::string output{};  ///< folder for the first run; empty: a new one
    /// Of the compute device; empty: training uses this machine's memory.
    std::function<std::uint64_t()> free_device_bytes{};
};

/// How fast training has been in this session.
struct StepSpeed {
    double ms_per_megapixel = 0;  ///< 0: unknown
    std::string based_on;         ///< "7,000 steps of fox"
};

class Import {
  public:
    /// The names of choices, for import.set.
    static constexpr std::array<const char*, 13> kNames{
        "downscale", "test-every", "test-views", "masks", "undistort", "photo-memory", "background",
        "strategy",  "steps",      "gaussians",  "batch", "sh-degree", "output"};
    Import(PathContents contents, ImportBase base, std::function<void()> wake);

    /// Errors (usage): no such choice, or an invalid value; then nothing changes.
    Result<void> set(const std::string& name, const std::string& value);
    /// The engine's request with the choices. Errors: problems of the choices or of the capture.
    Result<OpenRequest> request(bool train) const;
    /// "gausscope train PATH ... --view": as one line for a shell.
    std::string command_line() const;
    /// True while the capture is examined.
    bool working() const { return task_ != nullptr; }
    /// Takes finished results; true if there were any.
    bool update();
    /// Cancels it. False while its thread still reads; the destructor would wait for that, so keep
    /// the object until then.
    bool over();
    /// For the dialog.
    std::shared_ptr<const ImportState> state(const StepSpeed& speed) const;

  private:
    struct Examined {
        std::string name;        ///< of the capture
        std::string new_folder;  ///< of the run, where none is named
        CaptureForecast forecast;
        ImportState::Facts found;
        std::vector<Finding> findings;
        std::vector<std::string> skipped;
        std::size_t points = 0;
    };
    static Result<Examined> examine(const CaptureFiles& files, CaptureOptions options,
                                    const Progress& progress);
    void start();
    void leave_task();
    const std::string& value(const char* name) const { return values_.at(name); }
    NamedValues settings() const;
    Result<CaptureOptions> loading() const;
    std::string what_is_wrong() const;
    std::vector<ImportState::Choice> choices() const;
    ImportState::Facts forecast(const StepSpeed& speed) const;

    PathContents contents_;
    ImportBase base_;
    std::function<void()> wake_;
    std::map<std::string, std::string, std::less<>> values_;
    std::unique_ptr<Task<Examined>> task_;
    std::vector<std::unique_ptr<Task<Examined>>> left_;  // cancelled, but not ended yet
    Examined examined_;
    std::string problem_;
};

}  // namespace gs
