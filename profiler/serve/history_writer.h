// HistoryWriter: what `serve --history` keeps: once a minute the quantiles of what each job's
// iterations and their stages took in it. Used by Daemon.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "profiler/history/history.h"
#include "profiler/serve/watch.h"

namespace gs::serve {

class HistoryWriter {
  public:
    explicit HistoryWriter(history::History history) : history_(std::move(history)) {}

    /// Takes what is new. Writes when a minute of `realtime_s` (since 1970) is over; a file that
    /// cannot be written is logged once, and tried again the next minute.
    void take(const TraceStore& store, std::span<const News> news, std::int64_t realtime_s);
    /// Writes what there is of the present minute.
    void finish();
    /// Medians [ms] of this job's iterations, a minute each: history::past_medians().
    std::vector<double> past(const TraceProcess& process) const;

  private:
    static constexpr std::int64_t kMinute = 60, kDay = 86400;
    /// At most this many of a metric and minute, taken at random: their quantiles are those of all.
    static constexpr std::size_t kMostValues = 4096;
    static constexpr std::size_t kMostMetrics = 64;    ///< of a subject
    static constexpr std::size_t kMostWaiting = 1024;  ///< minutes of a job
    struct Values {
        std::uint64_t seen = 0;
        std::vector<double> kept;
    };
    struct Key {
        history::Subject subject;
        std::string commit;
        auto operator<=>(const Key&) const = default;
    };
    static void keep(Values& values, double value);
    void write();
    Result<void> write_waiting();

    history::History history_;
    struct Waiting {
        history::Subject subject;
        std::vector<history::History::Entry> entries;
    };
    std::map<Key, std::map<std::string, Values>> minute_;  ///< by metric
    std::vector<Waiting> waiting_;  ///< minutes that are over and not written yet
    std::int64_t minute_s_ = 0, thinned_s_ = 0;
    bool failed_ = false;
};

}  // namespace gs::serve
