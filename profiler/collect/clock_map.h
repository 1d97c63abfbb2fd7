// ClockMap: ticks of a recorder -> nanoseconds of CLOCK_MONOTONIC, from the clock snapshots in its
// ring. Continuous, never decreasing, and never changing its mind about the past, so that spans
// read at different times still nest. Used by TraceReader.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/record/abi.h"

namespace gs {

/// Nanoseconds a tick of this machine's counter, over the time since it was first asked: what
/// processes write of their own is milliseconds old at first. 0: not known, over a time too short
/// or too long.
double own_ns_per_tick();

class ClockMap {
  public:
    /// `ns_per_tick`: of the counter, where it is known better than by a ring's first snapshots.
    explicit ClockMap(abi::TickClock clock = abi::TickClock::monotonic_ns, double ns_per_tick = 0)
        : identity_(clock != abi::TickClock::counter), known_rate_(ns_per_tick) {}

    /// Takes a newer snapshot; one that cannot be true (time going back, an absurd rate) is
    /// ignored.
    void add(const abi::ClockSnapshot& snapshot);
    /// False until two snapshots (one, when ticks are nanoseconds) are known: nothing can be
    /// converted yet.
    bool ready() const { return identity_ || knots_.size() >= 2; }
    std::int64_t ns_from_ticks(std::uint64_t ticks);
    /// How long this many ticks last, at the newest rate.
    std::int64_t length_ns(std::uint64_t ticks) const;
    std::int64_t realtime_offset_ns() const { return realtime_offset_ns_; }

  private:
    /// The machine slept between the last snapshot and this one, or its clock stood.
    bool has_jumped(const abi::ClockSnapshot& s) const;
    void jump(const abi::ClockSnapshot& s);
    void steer(const abi::ClockSnapshot& s);
    void follow(const abi::ClockSnapshot& s);
    void measure_rate(const abi::ClockSnapshot& s);
    void add_knot(std::uint64_t ticks, double ns_at, double rate);
    double at(std::uint64_t ticks) const;
    double measured(const abi::ClockSnapshot& s) const {
        return static_cast<double>(static_cast<std::int64_t>(s.monotonic_ns) - base_ns_);
    }

    /// From `ticks` on, ns = ns_at + rate * (t - ticks).
    struct Knot {
        std::uint64_t ticks;
        double ns_at;
        double rate;
    };
    static constexpr std::size_t kMaxKnots = 8192;

    bool identity_;
    double known_rate_;
    std::vector<Knot> knots_;
    /// Of the last minute, half a second apart at least: the rate follows the machine's clock,
    /// which is corrected all the time.
    std::deque<abi::ClockSnapshot> minute_;
    abi::ClockSnapshot last_{};
    double rate_ = 0;  ///< nanoseconds a tick, over the last minute
    bool any_ = false;
    std::uint64_t told_ = 0;  ///< the newest ticks that were converted
    std::int64_t realtime_offset_ns_ = 0;
    std::int64_t base_ns_ =
        0;  ///< knots count from here, so that doubles keep fractions of nanoseconds
};

}  // namespace gs
