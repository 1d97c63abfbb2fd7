// Stalls: notices processes that no longer get on, once per stall, and says over the ranks of a job
// where each of them is: waiting in the collective, or missing there. Used by Daemon.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "profiler/analysis/pulse.h"
#include "profiler/serve/triggers.h"
#include "profiler/serve/watch.h"

namespace gs::serve {

struct StalledProcess {
    double seconds = 0;
    std::string range;  ///< the innermost it is in; empty: none
};

class Stalls {
  public:
    explicit Stalls(StallOptions options) : options_(options) {}

    /// One trigger, of kind "stall", for each job (or process without one) that begins to be stuck;
    /// its progress is logged.
    std::vector<Trigger> look(const TraceStore& store, std::span<const News> news,
                              std::int64_t now_ns);
    /// As of the last look, by source.
    const std::map<std::uint64_t, StalledProcess>& stalled() const { return stalled_; }

  private:
    struct Known {
        Pulse pulse;
        bool told = false;
    };
    Trigger trigger_of(const TraceStore& store, std::span<const News> news, const News& of,
                       const Stall& stall, std::int64_t now_ns) const;
    std::string job_text(const TraceStore& store, std::span<const News> news,
                         const TraceProcess& of) const;

    StallOptions options_;
    std::map<std::uint64_t, Known> known_;  // by source
    std::map<std::uint64_t, StalledProcess> stalled_;
};

}  // namespace gs::serve
