// Two stretches of traces side by side: how long iterations take, and their stages on either side,
// as distributions, with the difference and how sure it is. Two stores, or two ranges of one. Used
// by the Compare view of the timeline, by `gausscope trace A B --compare` and by rule R22 of the
// insights.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "profiler/analysis/breakdown.h"
#include "profiler/analysis/machine_use.h"
#include "profiler/store/store.h"

namespace gs {

/// What is compared: the iterations of a process within a range.
struct CompareSide {
    const TraceStore* store = nullptr;
    std::uint32_t process = 0;
    std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
    std::string name = {};  ///< for texts: "before.pftrace"
};

/// not_quiet: the difference may be what threads waited for a CPU, in one of them or both.
enum class Verdict { same, faster, slower, ambiguous, too_few, not_quiet };
/// "same", "faster", "slower", "unclear", "too few", "not quiet".
const char* name_of(Verdict verdict);

struct Distribution {
    std::size_t count = 0;
    double median_ms = std::numeric_limits<double>::quiet_NaN(), p95_ms = median_ms,
           mean_ms = median_ms;
};

/// One line: a duration per iteration on either side.
struct ComparedRow {
    enum class Kind { iteration, gpu_stage, cpu_stage, range, gpu_total };
    Kind kind = Kind::iteration;
    std::string name;  ///< "iteration", a stage's name, a range's, "GPU idle"
    Stage stage = Stage::other;
    Distribution a, b;
    /// b - a per iteration, and its 95 % interval. Over matched iterations where there are enough,
    /// else over all pairs.
    double difference_ms = std::numeric_limits<double>::quiet_NaN();
    double low_ms = difference_ms, high_ms = difference_ms;
    double relative = difference_ms;  ///< difference over a's median
    bool matched = false;
    Verdict verdict = Verdict::too_few;
};

struct MatchedIteration {
    std::uint64_t number = 0;
    Iteration a, b;
};

struct Comparison {
    CompareSide a, b;
    std::string how_a, how_b;         ///< how iterations were found
    MachineUse machine_a, machine_b;  ///< while they ran
    std::vector<ComparedRow> rows;    ///< the iteration first, then by what differs most
    std::vector<MatchedIteration> matched;
};

struct CompareOptions {
    double least_effect = 0.03;  ///< of a's median: less is "same" (references: minimum effect 3 %)
    std::size_t warm_up = 3;     ///< first iterations of a process that are left out
    std::size_t max_iterations = 512;  ///< the newest of either side
    std::size_t max_ranges = 24;       ///< of rows by range name, the longest
};

Comparison compare(const CompareSide& a, const CompareSide& b, const CompareOptions& options = {});

/// What the verdicts leave undecided because the machine was not quiet, and how busy it was; empty
/// where it was quiet, or where that was not recorded.
std::string quiet_text(const Comparison& comparison);
/// A table for terminals.
std::string comparison_text(const Comparison& comparison);
/// NaN as null.
std::string comparison_json(const Comparison& comparison);

/// The shift of b against a with its 95 % interval, distribution-free: Hodges and Lehmann's median
/// of all pairwise differences, its interval from the normal approximation of Mann and Whitney's U.
/// NaN below kLeastSamples.
struct Shift {
    double estimate = std::numeric_limits<double>::quiet_NaN(), low = estimate, high = estimate;
};
inline constexpr std::size_t kLeastSamples = 5;
Shift shift_of(std::span<const double> a, std::span<const double> b);
/// The same of pairs: the median of the Walsh averages of their differences, Wilcoxon's signed-rank
/// interval.
Shift paired_shift(std::span<const double> differences);
Verdict verdict_of(const Shift& shift, double base, double least_effect);
/// The shift's interval made wider by what threads waited for a CPU on either side: as much of
/// these times may not have been the program's.
Shift widened(const Shift& shift, double waited_a_ms, double waited_b_ms);

}  // namespace gs
