// Counters: the series of points of a trace, by process and name. A part of the TraceStore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profiler/store/renumbering.h"
#include "profiler/store/sliding.h"

namespace gs {

struct CounterPoint {
    std::int64_t time_ns = 0;
    double value = 0;
};
struct CounterSeries {
    std::uint32_t name = 0;
    std::uint32_t process = 0;
    SlidingArray<CounterPoint> points;
};

class Counters {
  public:
    const std::vector<CounterSeries>& series() const { return series_; }
    /// Appends to the series, of which the newest `keep` points stay; what comes after 65,536
    /// series is left out (a node's eight ranks that sample eight GPUs each have some 900).
    void add(std::uint32_t process, std::uint32_t name, CounterPoint point, std::size_t keep);
    std::size_t bytes() const;
    /// Of points before `t`.
    std::size_t bytes_before(std::int64_t t) const;
    void forget_before(std::int64_t t);
    /// Series without points go, too: they come back with their next point.
    void renumber(const Renumbering& to);
    /// The same series with their points in [begin, end]; not to be added to.
    Counters excerpt(std::int64_t begin_ns, std::int64_t end_ns) const;

  private:
    std::vector<CounterSeries> series_;
    std::unordered_map<std::uint64_t, std::size_t> index_of_;  // by process and name
};

}  // namespace gs
