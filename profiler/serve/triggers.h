// Triggers: decides when something went wrong that is worth a trace: a step much slower than the
// others, a process that died without leaving orderly, a rule of the insights that fires for the
// first time. Used by Server.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "profiler/insights/insight.h"
#include "profiler/serve/watch.h"

namespace gs::serve {

struct Trigger {
    std::string kind;    ///< "slow-step", "crash", "R3"
    std::string reason;  ///< "iteration 1,204 of train.py (1234) took 812 ms, the median is 95 ms"
    std::uint32_t process = 0;
    std::int64_t time_ns = 0;   ///< CLOCK_MONOTONIC
    std::int64_t since_ns = 0;  ///< when it began, 0: at that moment
};

struct TriggerOptions {
    double step_factor = 3;  ///< a step this many times the median is slow; 0: not looked for
    bool rules = true;
    double least_share = 0.1;  ///< of an iteration, for a rule to count
    /// Processor time for rules in one look: after it, other jobs wait for the next.
    std::int64_t rules_ns = 100'000'000;
};

class Triggers {
  public:
    explicit Triggers(TriggerOptions options = {}) : options_(options) {}
    std::vector<Trigger> look(const TraceStore& store, std::span<const News> news,
                              std::int64_t now_ns);
    /// Processes whose rules the last look asked.
    std::size_t asked() const { return asked_; }

  private:
    static constexpr std::size_t kLeastIterations =
        20;  ///< before there is a median to compare with
    static constexpr std::size_t kRemembered = 256;
    static constexpr double kBeyondUsual = 1.5;
    static constexpr std::size_t kBetweenMedians = 32;  ///< iterations; and every look
    /// A step that ended longer ago is the past: of GPU work that was waited for, that much more.
    static constexpr std::int64_t kFreshNs = kPatienceNs + 10'000'000'000;
    static constexpr std::int64_t kRuleIntervalNs = 10'000'000'000;
    static constexpr std::int64_t kSilenceNs =
        2'000'000'000;  ///< heartbeats come every second at least
    struct Known {
        std::string loop;  ///< of which the lengths are
        std::deque<double> iteration_ms;
        double median_ms = 0, slow_ms = 0;
        std::size_t since_median = 0;
        std::set<std::string> rules;
        std::int64_t next_rules_ns = 0;
        bool rules_asked = false;
        bool reported_dead = false;
    };
    void slow_steps(Known& known, const TraceStore& store, const News& news, std::int64_t now_ns,
                    std::vector<Trigger>& out) const;
    void crash(Known& known, const TraceStore& store, const News& news, std::int64_t now_ns,
               std::vector<Trigger>& out) const;
    void ask_rules(const TraceStore& store, std::span<const News> news, std::int64_t now_ns,
                   std::vector<Trigger>& out);
    void new_rules(Known& known, const TraceStore& store, const News& news, std::int64_t now_ns,
                   insights::RankLoads& loads, std::vector<Trigger>& out) const;

    TriggerOptions options_;
    std::map<std::uint64_t, Known> known_;  // by source
    std::size_t asked_ = 0;
};

}  // namespace gs::serve
