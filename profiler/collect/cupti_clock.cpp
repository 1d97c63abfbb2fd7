#include "profiler/collect/cupti_clock.h"

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

constexpr std::int64_t kLimit = std::int64_t{1} << 62;

}  // namespace

void CuptiClock::add(std::uint64_t cupti_ns, std::int64_t monotonic_ns) {
    if (cupti_ns == 0 || cupti_ns >= static_cast<std::uint64_t>(kLimit) ||
        std::abs(monotonic_ns) >= kLimit)
        return;
    const Knot knot{static_cast<std::int64_t>(cupti_ns), monotonic_ns};
    if (!knots_.empty() && knot.monotonic_ns <= knots_.back().monotonic_ns) return;
    // CUPTI's clock is the wall clock, which may be set back: what was read before is no help then.
    while (!knots_.empty() && knots_.back().cupti_ns >= knot.cupti_ns) knots_.pop_back();
    if (knots_.size() >= kMaxKnots) knots_.erase(knots_.begin(), knots_.begin() + kMaxKnots / 2);
    knots_.push_back(knot);
}

std::int64_t CuptiClock::monotonic_ns(std::uint64_t cupti_ns) const {
    if (knots_.empty() || cupti_ns >= static_cast<std::uint64_t>(kLimit)) return kLimit;
    const auto t = static_cast<std::int64_t>(cupti_ns);
    const auto after = std::ranges::upper_bound(knots_, t, {}, &Knot::cupti_ns);
    const auto shifted = [t](const Knot& k) {
        return std::clamp(k.monotonic_ns + (t - k.cupti_ns), -kLimit, kLimit);
    };
    if (after == knots_.begin()) return shifted(*after);
    const Knot& before = *(after - 1);
    if (after == knots_.end()) return shifted(before);
    const double rate = static_cast<double>(after->monotonic_ns - before.monotonic_ns) /
                        static_cast<double>(after->cupti_ns - before.cupti_ns);
    // The wall clock is slewed by parts in a thousand at most; anything else is a jump.
    if (std::fabs(rate - 1) > 0.01) return shifted(before);
    return before.monotonic_ns +
           static_cast<std::int64_t>(std::llround(rate * static_cast<double>(t - before.cupti_ns)));
}

}  // namespace gs
