// CuptiClock: CUPTI's nanoseconds -> nanoseconds of CLOCK_MONOTONIC, from the clock snapshots of a
// ring that carry both. Between two snapshots it is linear; before the first and after the last it
// runs at the rate of real time. Used by TraceReader.
#pragma once

#include <cstdint>
#include <vector>

namespace gs {

class CuptiClock {
  public:
    /// Takes a newer pair of readings; one that cannot be true is ignored.
    void add(std::uint64_t cupti_ns, std::int64_t monotonic_ns);
    bool ready() const { return !knots_.empty(); }
    /// Beyond any time (2^62) for what cannot be a time.
    std::int64_t monotonic_ns(std::uint64_t cupti_ns) const;

  private:
    struct Knot {
        std::int64_t cupti_ns, monotonic_ns;
    };
    static constexpr std::size_t kMaxKnots = 8192;
    std::vector<Knot> knots_;
};

}  // namespace gs
