// What a run leaves behind: scores as tables and JSON, per-step CSV, and writing results so that
// nothing is lost when the output folder cannot take them any more. Called by train and eval.
#pragma once

#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "profiler/store/store.h"
#include "trainer/trainer.h"

namespace gs::cli {

/// {psnr, ssim, images: [{name, psnr, ssim, l1}]}; means are null without images.
nlohmann::ordered_json score_json(const Evaluation& evaluation);
/// A line per image (at most 50) and the means, on stdout.
void print_scores(const Evaluation& evaluation);
/// [{name, ms_mean, ms_p50, ms_p95, ms_p99, share, samples, calls}] of the newest frames of a
/// scope.
nlohmann::ordered_json stages_json(const TraceStore& store, StatScope scope);
nlohmann::ordered_json settings_json(const TrainingSettings& settings);

/// metrics.csv: a row per step, in order. What a device measures comes some steps later; the row
/// waits for it, and a row whose measurement never came has empty fields.
class StepLog {
  public:
    void add(const StepReport& report);
    /// Takes the rows up to and including `last_step` of the file of an earlier part of the run,
    /// where there is one.
    void take_earlier(const fs::path& csv, std::uint64_t last_step);
    Result<void> write(const fs::path& csv) const;

  private:
    struct Waiting {
        std::uint64_t step;
        double milliseconds;
        std::size_t gaussians;
    };
    static std::string row_of(const Waiting& waiting, const StepReport* measured);
    std::string rows_;
    std::deque<Waiting> waiting_;
};

/// write(path), making the folder again when somebody deleted it. When that fails too:
/// write(rescue), `rescue` a file of the same name in a folder of the system's temporary directory.
/// The place it was written to, or the first error.
template <class Write>
Result<fs::path> write_or_rescue(const fs::path& path, Write&& write);
/// The folder that write_or_rescue falls back to.
fs::path rescue_folder();

template <class Write>
Result<fs::path> write_or_rescue(const fs::path& path, Write&& write) {
    std::error_code ignored;
    fs::create_directories(path.parent_path(), ignored);
    const Result<void> first = write(path);
    if (first) return path;
    fs::create_directories(rescue_folder(), ignored);
    const fs::path other = rescue_folder() / path.filename();
    if (write(other)) return other;
    return tl::unexpected(first.error());
}

}  // namespace gs::cli
