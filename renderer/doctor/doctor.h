// The doctor: faults of splats or a capture, their consequences, and fixes.
// docs/doctor.md has the table of findings and thresholds. Called by `gausscope info`, by training
// before its first step, and by the studio.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/finding.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

/// World units. A scene that is smaller than a few times the distance (kNearestDrawn) below which
/// nothing is drawn shows parts of itself, or nothing; a larger one is hardly meant so.
inline constexpr double kNearestDrawn = 0.01, kSmallestScene = 5 * kNearestDrawn,
                        kLargestScene = 1e5;

/// note where there is none.
Severity worst_of(std::span<const Finding> findings);

/// By the sums in docs/doctor.md.
MemoryPlan plan_memory(std::uint64_t gaussians, int sh_degree, double isects_per_gaussian,
                       int width, int height);
/// MemAvailable of /proc/meminfo; 0 if unknown.
std::uint64_t available_host_bytes();
/// All memory, with what can be swapped out; 0 if unknown.
std::uint64_t total_host_bytes();

/// What is known besides the model. Zero bytes: unknown, nothing is compared with it.
struct SplatQuestions {
    std::vector<std::string> notes;  ///< of the reader; each becomes a finding
    int width = 1920, height = 1080;
    std::uint64_t cap = 0;  ///< Gaussians training may grow to; 0: no growth
    std::uint64_t host_bytes = 0, device_bytes = 0;
};
struct SplatReport {
    std::vector<Finding> findings;  ///< gravest first
    MemoryPlan now, at_cap;         ///< at_cap is now where no cap was given
};
/// Parallel, bounded memory (16 bytes a Gaussian while duplicates are looked for), the same for
/// every thread count.
SplatReport examine(const GaussianModel& model, const SplatQuestions& questions = {});
/// The same, telling how far it is. Errors: cancelled.
Result<SplatReport> examine(const GaussianModel& model, const SplatQuestions& questions,
                            const Progress& progress);
/// Photos need not be decoded.
std::vector<Finding> examine(const Capture& capture);

/// A byte for each Gaussian, 1: the finding `id` is about it. Empty: a finding about something
/// else, or an unknown one.
std::vector<std::uint8_t> rows_of_finding(const GaussianModel& model, std::string_view id);

struct Fixed {
    GaussianModel model;
    std::vector<std::string> changes;  ///< one line each, with counts; empty: nothing was changed
};
/// A fixed copy, so that it can be undone: of `ids` nothing fixable is left. Empty ids:
/// everything fixable.
Fixed fix(const GaussianModel& model, std::span<const std::string> ids = {});
/// The same, telling how far each round is. Errors: cancelled.
Result<Fixed> fix(const GaussianModel& model, std::span<const std::string> ids,
                  const Progress& progress);

}  // namespace gs
