#include "profiler/collect/clock_map.h"

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

// Wide enough for any counter: 10 MHz (100 ns a tick) to 20 GHz.
bool plausible(double ns_per_tick) { return ns_per_tick > 0.05 && ns_per_tick < 100.0; }

}  // namespace

void ClockMap::add(const abi::ClockSnapshot& s) {
    constexpr auto kYearsNs = std::uint64_t{1} << 62;
    if (s.monotonic_ns >= kYearsNs || s.realtime_ns >= kYearsNs || s.ticks == 0) return;
    if (any_ && (s.ticks <= last_.ticks || s.monotonic_ns <= last_.monotonic_ns)) return;
    realtime_offset_ns_ =
        static_cast<std::int64_t>(s.realtime_ns) - static_cast<std::int64_t>(s.monotonic_ns);
    if (!any_) {
        any_ = true;
        first_ = last_ = s;
        base_ns_ = static_cast<std::int64_t>(s.monotonic_ns);
        knots_.push_back({s.ticks, 0.0, 0.0});
        return;
    }
    if (identity_) {
        last_ = s;
        return;
    }
    const double rate = static_cast<double>(s.monotonic_ns - first_.monotonic_ns) /
                        static_cast<double>(s.ticks - first_.ticks);
    if (!plausible(rate)) return;
    last_ = s;
    if (knots_.size() == 1) {
        // Two knots from the first two snapshots: exact there, and extrapolating from the second.
        knots_[0].rate = rate;
        knots_.push_back(
            {s.ticks, static_cast<double>(s.monotonic_ns - first_.monotonic_ns), rate});
        return;
    }
    Knot& back = knots_.back();
    const auto since = static_cast<double>(s.ticks - back.ticks);
    const double measured =
        static_cast<double>(static_cast<std::int64_t>(s.monotonic_ns) - base_ns_);
    // Nothing was told since the snapshot before: the clock between the two is as it was measured.
    if (told_ <= back.ticks && plausible((measured - back.ns_at) / since))
        back.rate = (measured - back.ns_at) / since;
    // Else keep what was promised up to here, and aim to meet the measured clock in as long as it
    // is known, one second at most.
    const double promised = back.ns_at + back.rate * since;
    const double correction =
        std::clamp((measured - promised) / std::min(measured, 1e9), -0.5, 0.5);
    if (knots_.size() >= kMaxKnots) knots_.erase(knots_.begin(), knots_.begin() + kMaxKnots / 2);
    knots_.push_back({s.ticks, promised, rate * (1.0 + correction)});
}

std::int64_t ClockMap::ns_from_ticks(std::uint64_t ticks) {
    told_ = std::max(told_, ticks);
    constexpr auto kLimit = std::int64_t{1} << 62;
    if (identity_)
        return ticks >= static_cast<std::uint64_t>(kLimit) ? kLimit
                                                           : static_cast<std::int64_t>(ticks);
    // The newest knot at or before `ticks`; nearly always one of the last few.
    auto knot = std::upper_bound(knots_.begin(), knots_.end(), ticks,
                                 [](std::uint64_t t, const Knot& k) { return t < k.ticks; });
    if (knot != knots_.begin()) --knot;
    const double delta = ticks >= knot->ticks ? static_cast<double>(ticks - knot->ticks)
                                              : -static_cast<double>(knot->ticks - ticks);
    const double ns = knot->ns_at + knot->rate * delta;
    if (std::fabs(ns) > 4e18) return ns < 0 ? -kLimit : kLimit;
    return std::clamp(base_ns_ + static_cast<std::int64_t>(std::llround(ns)), -kLimit, kLimit);
}

std::int64_t ClockMap::length_ns(std::uint64_t ticks) const {
    const double ns =
        static_cast<double>(ticks) * (identity_ || knots_.empty() ? 1.0 : knots_.back().rate);
    return static_cast<std::int64_t>(std::min(ns, 4e18));
}

}  // namespace gs
