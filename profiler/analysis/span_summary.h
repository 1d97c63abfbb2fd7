// Figures over many spans: a table by name (Statistics, and what `record` and `trace` print), a
// list of hits with their distribution (Find), sums by stage (the timeline's measure). Each is
// filled by a SpanWalk piece by piece and knows when it is complete. Free of ImGui, so that tests
// can check every figure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/record/stage.h"
#include "base/task.h"
#include "profiler/analysis/span_walk.h"

namespace gs {

/// GPU work by the stage map, ranges by their own name.
Stage stage_of(const TraceStore& store, const TraceTrack& track, std::uint32_t name);

/// Statistics of one name on tracks of one kind, and of one kind of GPU work where that is known.
struct NameFigures {
    std::uint32_t name = 0;
    Stage stage = Stage::other;
    TrackKind kind = TrackKind::thread;
    std::uint64_t count = 0;
    std::int64_t total_ns = 0, self_ns = 0, min_ns = 0,
                 max_ns = 0;               ///< total and self within the range
    std::optional<GpuWorkKind> work = {};  ///< of GPU work with details
    std::uint64_t bytes = 0;               ///< of copies and fills
    double total_ms() const { return static_cast<double>(total_ns) * 1e-6; }
    double mean_ns() const {
        return count > 0 ? static_cast<double>(total_ns) / static_cast<double>(count) : 0;
    }
};

class NameTable {
  public:
    NameTable() = default;
    NameTable(const TraceStore& store, TimeRange range, const TrackChoice& choice)
        : walk_(store, range, choice) {}
    /// False: there is more to do.
    bool advance(const TraceStore& store, double budget_ms);
    bool done() const { return walk_.done(); }
    double share() const { return walk_.share(); }
    const std::vector<NameFigures>& rows() const { return rows_; }
    /// Time of outermost spans: what percentages are of.
    std::int64_t outer_ns() const { return outer_ns_; }

  private:
    SpanWalk walk_;
    std::vector<NameFigures> rows_;
    std::unordered_map<std::uint64_t, std::size_t> row_of_;
    std::int64_t outer_ns_ = 0;
};

/// The whole trace by name, the longest total first.
std::vector<NameFigures> totals_by_name(const TraceStore& store);

/// A span that Find found.
struct Hit {
    std::int64_t begin_ns = 0, length_ns = 0;
    std::uint32_t track = 0, name = 0, parent = ~0u;  ///< parent: a name, ~0u: outermost
    std::uint16_t row = 0;
    Stage stage = Stage::other;
    std::int64_t end_ns() const { return begin_ns + length_ns; }
};

enum class HitGroup { name, thread, parent, stage };
inline constexpr std::array<const char*, 4> kHitGroupNames{"name", "thread", "parent", "stage"};

/// What is known of all hits together; made by a worker thread from its own copy.
struct HitFigures {
    std::vector<Hit> longest_first;
    double total_ns = 0, mean_ns = 0;
    /// P50, P90, P95, P99, P99.9; linear between neighbours, as statistics.h.
    std::array<double, 5> percentiles{};
    struct Group {
        std::uint32_t key = 0;  ///< a name, a track, a stage
        std::uint64_t count = 0;
        double total_ns = 0, median_ns = 0, max_ns = 0;
    };
    std::array<std::vector<Group>, 4> groups;  ///< by HitGroup, the largest total first
};
inline constexpr std::array<double, 5> kHitPercents{50, 90, 95, 99, 99.9};
HitFigures figures_of(std::vector<Hit> hits);

/// Spans whose names contain `pattern` without case; '*' stands for anything.
class SpanSearch {
  public:
    SpanSearch() = default;
    SpanSearch(const TraceStore& store, std::string pattern, TimeRange range,
               const TrackChoice& choice)
        : walk_(store, range, choice), pattern_(std::move(pattern)), running_(true) {}
    /// False: there is more to do. When it is true, figures() are complete.
    bool advance(const TraceStore& store, double budget_ms);
    double share() const { return walk_.share(); }
    std::uint64_t found() const { return found_; }
    /// More were found than are kept.
    bool cut() const { return found_ > kMostHits; }
    const HitFigures& figures() const { return figures_; }
    static constexpr std::size_t kMostHits = 4'000'000;

  private:
    bool matches(const TraceStore& store, std::uint32_t name);

    SpanWalk walk_;
    std::string pattern_;
    std::vector<std::uint8_t> known_;  // by name: 0 not asked, 1 no, 2 yes
    std::vector<Hit> hits_;
    std::uint64_t found_ = 0;
    bool running_ = false;
    std::unique_ptr<Task<HitFigures>> sorting_;
    HitFigures figures_;
};

/// True when `text` holds the parts of `pattern` between '*' in this order, without case (ASCII).
bool pattern_fits(std::string_view pattern, std::string_view text);

}  // namespace gs
