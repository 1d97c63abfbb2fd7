// The log of a run that trains until a score is reached: time to quality, from photos on disk.
// Lines of JSON, one an event: begin, loaded, eval ..., end. Written by `train --until-psnr`, read
// by the lab, checked by `lab check-log`; docs/benchmark.md has the format and the rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "app/lab/suite.h"
#include "base/expected.h"
#include "base/file.h"

namespace gs::lab {

/// In a run's folder.
inline constexpr const char* kBenchmarkLog = "benchmark.jsonl";

class BenchmarkLog {
  public:
    using Clock = std::chrono::steady_clock;
    /// `begin`: before the first photo was read. `about`: content of the event "begin".
    BenchmarkLog(Clock::time_point begin, double target_db, const nlohmann::ordered_json& about);
    void loaded(Clock::time_point at);
    /// A measurement of the held-out photos. True: the target is reached.
    bool evaluated(std::uint64_t step, double psnr, double ssim, std::size_t photos);
    /// "reached", "missed" (its steps are over) or "stopped". Seals the lines above with their
    /// hash.
    void end(const char* status);
    bool reached() const { return reached_; }
    /// Errors: unwritable.
    Result<void> write(const fs::path& file) const;

  private:
    void add(const char* event, Clock::time_point at, const nlohmann::ordered_json& more);
    Clock::time_point begin_;
    double target_db_;
    std::string text_;
    bool reached_ = false;
};

/// A valid log.
struct BenchmarkResult {
    std::string scene, status, commit, backend, processor, host, settings;
    double threads = 0;
    /// "photos_hash" and so on, as the log has them.
    std::vector<std::pair<std::string, std::string>> hashes;
    bool unchecked = false;  ///< the suite has no hashes to compare with
    std::uint64_t seed = 0, steps = 0;
    double target_db = 0, psnr = 0;
    double seconds = 0;  ///< from the beginning to the measurement that reached the target
};
/// Errors (malformed): the rule that is broken, with its line. `suite` has the scenes: photos,
/// size and target of one of them must be the log's.
Result<BenchmarkResult> check_benchmark_log(const fs::path& file, const Suite& suite);
/// The median seconds of one scene: as many seeds as the rules need, each once, of the same
/// program, settings and machine, all reached. Errors (malformed): the difference.
Result<double> benchmark_score(std::span<const BenchmarkResult> results);

}  // namespace gs::lab
