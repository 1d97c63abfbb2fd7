// Insights: what costs time in a trace, and what would make it faster. Rules look at a TraceStore;
// each gives an Insight, or says why it cannot tell. Used by the Insights panel, `gausscope record
// --insights`, `gausscope trace
// --insights` and `serve`.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/table.h"
#include "profiler/analysis/cost_model.h"
#include "profiler/store/store.h"

namespace gs {

/// Where to look: a stretch of a track (kNoTrack: of the whole process).
struct Evidence {
    std::uint32_t track = kNoTrack;
    std::size_t row = 0;
    std::int64_t begin_ns = 0, end_ns = 0;
    std::string text;  ///< "cudaStreamSynchronize, 4.2 ms"
};

namespace insights {
/// A rank as R23 sees it.
struct RankLoad;
using RankLoads = std::map<std::uint32_t, std::shared_ptr<const RankLoad>>;  // by process
}  // namespace insights

enum class Confidence { measured, inferred };

struct Insight {
    std::string rule;    ///< "R3"
    std::string title;   ///< "The host waits for the GPU 12 times an iteration"
    std::string text;    ///< what was seen, with its numbers
    std::string advice;  ///< what to do
    std::uint32_t process = 0;
    std::vector<std::uint32_t> also;  ///< processes of this job and program with an equal finding
    double recoverable_ms =
        std::numeric_limits<double>::quiet_NaN();             ///< per iteration; NaN: unknown
    double share = std::numeric_limits<double>::quiet_NaN();  ///< of an iteration, 0..1
    Confidence confidence = Confidence::measured;
    std::vector<Evidence> evidence;  ///< the worst first, a few
};

/// A rule that could not be asked here.
struct Unanswered {
    std::string rule, title;
    std::string why;  ///< "not permitted: ...", "no GPU", "no iterations found"
};

/// A rank of a job beside the others: medians of its iterations.
struct RankFigures {
    std::uint32_t process = 0, pid = 0;
    int rank = -1;
    std::string job;
    std::size_t iterations = 0;
    double iteration_ms = 0;
    /// Absent: no communication is seen.
    std::optional<double> own_ms{}, exposed_ms{}, waiting_ms{};
    std::optional<double> megabytes{}, gb_per_s{};  ///< of collectives whose bytes are known
    /// It keeps the others waiting, by R23. Absent: R23 cannot tell, as it may have waited for a
    /// CPU instead, or a rank shows no communication.
    std::optional<bool> slow{};
};
Table ranks_table(std::vector<RankFigures> ranks);

struct Insights {
    std::vector<Insight> findings;  ///< by recoverable time, the largest first; unknown ones last
    std::vector<Unanswered> unanswered;
    std::vector<std::string>
        clear;  ///< rules that were asked and found nothing: "R4 pageable copies"
    std::vector<RankFigures> ranks;  ///< of jobs with two ranks or more, by job and rank
    std::uint64_t iterations = 0;    ///< how many the figures are means of
    double iteration_ms = std::numeric_limits<double>::quiet_NaN();  ///< their median
};

struct InsightOptions {
    std::uint32_t process = kAnyProcess;                               ///< kAnyProcess: every one
    std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();  ///< only iterations within
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
    const TraceStore* baseline = nullptr;  ///< for R22, null: none given
    /// For R22 without a baseline: medians [ms] of this job's iterations in earlier minutes or
    /// runs; empty function: there is no history.
    std::function<std::vector<double>(const TraceProcess&)> past;
    /// The ranks' loads, for those who ask of one process after the other about the same time;
    /// null: gathered for this question alone.
    insights::RankLoads* loads = nullptr;
    std::size_t max_iterations = 512;  ///< the newest
    /// The least time that stages of one iteration need on this machine (stage_floors()), for R9 to
    /// R11 where no counters are; only right for our own renderer. Empty: not known.
    std::vector<StageFloor> floors;
};

/// Asks every rule. Never throws; costs milliseconds for a live session's store.
Insights find_insights(const TraceStore& store, const InsightOptions& options = {});

/// {"findings": [...], "unanswered": [...], ...}; NaN as null. Names in it may be of any bytes.
nlohmann::ordered_json insights_json(const TraceStore& store, const Insights& insights);
/// For terminals: a few lines a finding.
std::string insights_text(const TraceStore& store, const Insights& insights);

}  // namespace gs
