// What a run leaves behind, one by one: the log of its steps, its scores as JSON, and writing files
// so that nothing is lost when the output folder cannot take them any more. Called by Run;
// `eval` reports its scores the same way.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "trainer/trainer.h"

namespace gs {

/// {psnr, ssim, psnr_fitted, images: [{name, psnr, ssim, l1, psnr_fitted}]}; what was not measured
/// is null.
nlohmann::ordered_json score_json(const Evaluation& evaluation);
/// What was learned of photos and cameras: {mode, photos: [{name, camera, exposure, stops of red,
/// green, blue, colour}], cameras: [{vignette: centre x, y, a1, a2, a3 by channel, curve: toe,
/// shoulder, gamma, centre by channel}]}; null where nothing is.
nlohmann::ordered_json appearance_json(const Trainer& trainer);
/// {name: value} of every setting.
nlohmann::ordered_json settings_json(const TrainingSettings& settings);

/// metrics.csv: a row per step, in order. What a device measures comes some steps later, and goes
/// into the row it belongs to. A field that was not measured is empty.
class StepLog {
  public:
    void add(const StepReport& report);
    /// Takes the rows up to and including `last_step` of the file of an earlier part of the run,
    /// where there is one.
    void take_earlier(const fs::path& csv, std::uint64_t last_step);
    Result<void> write(const fs::path& csv) const;
    /// One a step; `measured_step` is its own, or 0.
    const std::vector<StepReport>& rows() const { return rows_; }

  private:
    std::vector<StepReport> rows_;
};

using WriteFile = std::function<Result<void>(const fs::path&)>;
/// write(path) after making its folder. Errors: of write(), or what it threw.
Result<void> write_into_folder(const fs::path& path, const WriteFile& write);
/// Takes what there is to say; `debug` is a success that some want to see.
using Tell = std::function<void(LogLevel, const std::string&)>;

/// Which files a run has left, and where.
class RunFiles {
  public:
    /// Writes `what`. When that fails, a file of the same name in "gausscope-rescue-PID" of the
    /// system's temporary folder, and a note of it in kElsewhere beside `path`, where that can be;
    /// problems are reported. False: it is lost.
    bool leave(const std::string& what, const fs::path& path, const WriteFile& write,
               const Tell& tell);
    /// Written without leave().
    void note(const std::string& what, const fs::path& where);
    /// Where `what` is; empty: nowhere.
    std::string at(const std::string& what) const;
    /// All of them were written where they should be when they were written last.
    bool in_place() const { return misplaced_.empty(); }
    const std::vector<std::pair<std::string, std::string>>& all() const { return files_; }

  private:
    std::vector<std::pair<std::string, std::string>> files_;  // what, where
    std::set<std::string> misplaced_;                         // in the rescue folder, or lost
};
/// In a run's folder: which of its files could not be written there, and where they are.
inline constexpr const char* kElsewhere = "saved_elsewhere.txt";

}  // namespace gs
