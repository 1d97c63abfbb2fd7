#include "profiler/collect/clock_map.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/record/clock.h"
#include "base/record/process.h"

namespace gs {
namespace {

// Wide enough for any counter: 10 MHz (100 ns a tick) to 20 GHz.
bool plausible(double ns_per_tick) { return ns_per_tick > 0.05 && ns_per_tick < 100.0; }

constexpr std::uint64_t kSecondNs = 1'000'000'000, kLeastBaselineNs = 20'000'000,
                        kLongestBaselineNs = 60 * kSecondNs;
/// The counter ran while the clock stood (a suspended machine, a paused virtual one), or the
/// other way round: further apart than any rate explains.
constexpr double kJumpNs = 5e6, kJumpShare = 0.05;
constexpr double kSameCounter = 1e-3;     ///< rates further apart are of different counters
constexpr double kLongestSleepNs = 3e16;  // a year: more is no snapshot

double rate_between(const abi::ClockSnapshot& a, const abi::ClockSnapshot& b) {
    return static_cast<double>(b.monotonic_ns - a.monotonic_ns) /
           static_cast<double>(b.ticks - a.ticks);
}

/// The tightest of a few brackets.
abi::ClockSnapshot own_reading() {
    abi::ClockSnapshot best{};
    std::uint64_t tightest = ~std::uint64_t{0};
    for (int i = 0; i < 8; ++i) {
        const std::uint64_t before = read_counter(), ns = monotonic_ns(), after = read_counter();
        if (after - before >= tightest) continue;
        tightest = after - before;
        best.ticks = before + tightest / 2;
        best.monotonic_ns = ns;
    }
    return best;
}

}  // namespace

double own_ns_per_tick() {
    static const bool has_rate = detail::has_invariant_counter();
    static std::mutex mutex;
    static abi::ClockSnapshot first = own_reading();
    if (!has_rate) return 0;
    const std::lock_guard lock(mutex);
    const abi::ClockSnapshot now = own_reading();
    const std::uint64_t known_ns = now.monotonic_ns - first.monotonic_ns;
    if (known_ns < kLeastBaselineNs) return 0;
    const double rate = rate_between(first, now);
    // Over longer times a machine may have slept, and its clock stood.
    if (known_ns > kLongestBaselineNs) first = now;
    return known_ns > kLongestBaselineNs ? 0 : rate;
}

void ClockMap::add(const abi::ClockSnapshot& s) {
    constexpr auto kYearsNs = std::uint64_t{1} << 62;
    if (s.monotonic_ns >= kYearsNs || s.realtime_ns >= kYearsNs || s.ticks == 0) return;
    if (any_ && (s.ticks <= last_.ticks || s.monotonic_ns <= last_.monotonic_ns)) return;
    if (knots_.size() >= 2 && rate_ * static_cast<double>(s.ticks - last_.ticks) > kLongestSleepNs)
        return;
    const bool first = !any_;
    if (first) base_ns_ = static_cast<std::int64_t>(s.monotonic_ns);
    if (!first && !identity_) {
        const bool jumped = has_jumped(s);
        if (!jumped && !plausible(rate_between(minute_.front(), s))) return;
        jumped ? jump(s) : steer(s);
    }
    any_ = true;
    last_ = s;
    realtime_offset_ns_ =
        static_cast<std::int64_t>(s.realtime_ns) - static_cast<std::int64_t>(s.monotonic_ns);
    if (!first) return;
    knots_.push_back({s.ticks, 0.0, 0.0});
    minute_.push_back(s);
}

bool ClockMap::has_jumped(const abi::ClockSnapshot& s) const {
    if (knots_.size() < 2) return false;
    const double expected = rate_ * static_cast<double>(s.ticks - last_.ticks);
    const auto passed = static_cast<double>(s.monotonic_ns - last_.monotonic_ns);
    return std::fabs(passed - expected) > kJumpNs + kJumpShare * expected;
}

/// What was promised stands; from there straight to the measured clock, and on at the old rate.
void ClockMap::jump(const abi::ClockSnapshot& s) {
    const std::uint64_t from = std::min(std::max(told_, last_.ticks), s.ticks - 1);
    const double promised = at(from), now = std::max(measured(s), promised);
    add_knot(from, promised, (now - promised) / static_cast<double>(s.ticks - from));
    add_knot(s.ticks, now, rate_);
    minute_.assign(1, s);
}

void ClockMap::measure_rate(const abi::ClockSnapshot& s) {
    rate_ = rate_between(minute_.front(), s);
    // Two readings that are close to each other say less than what is known of the counter.
    if (s.monotonic_ns - minute_.front().monotonic_ns < kSecondNs && known_rate_ > 0 &&
        std::fabs(rate_ / known_rate_ - 1) < kSameCounter)
        rate_ = known_rate_;
    if (s.monotonic_ns - minute_.back().monotonic_ns < kSecondNs / 2) return;
    minute_.push_back(s);
    while (minute_.size() > 2 && s.monotonic_ns - minute_[1].monotonic_ns > 60 * kSecondNs)
        minute_.pop_front();
}

void ClockMap::steer(const abi::ClockSnapshot& s) {
    measure_rate(s);
    if (knots_.size() == 1) {
        // Two knots from the first two snapshots: exact there, and extrapolating from the second.
        knots_[0].rate = rate_;
        return add_knot(s.ticks, measured(s), rate_);
    }
    if (told_ <= last_.ticks) follow(s);
    // Else keep what was promised (a snapshot may be seen after newer ticks were converted), meet
    // the measured clock in as long as it is known, one second at most, and continue with it: the
    // next snapshot may be much later.
    const std::uint64_t from = std::max(s.ticks, told_);
    const double promised = at(from), known_ns = std::min(measured(s), 1e9);
    const double now = measured(s) + rate_ * static_cast<double>(from - s.ticks);
    const double steered = rate_ * (1.0 + std::clamp((now - promised) / known_ns, -0.5, 0.5));
    const double length = std::floor(known_ns / rate_);
    add_knot(from, promised, steered);
    add_knot(from + static_cast<std::uint64_t>(length), promised + steered * length, rate_);
}

/// Nothing was reported since the snapshot before: the clock between the two is as it was measured.
void ClockMap::follow(const abi::ClockSnapshot& s) {
    while (knots_.size() > 1 && knots_.back().ticks > last_.ticks) knots_.pop_back();
    Knot& back = knots_.back();
    const double rate = (measured(s) - back.ns_at) / static_cast<double>(s.ticks - back.ticks);
    if (plausible(rate)) back.rate = rate;
}

void ClockMap::add_knot(std::uint64_t ticks, double ns_at, double rate) {
    // The end of a correction that was not reached.
    while (!knots_.empty() && knots_.back().ticks >= ticks) knots_.pop_back();
    if (knots_.size() >= kMaxKnots) knots_.erase(knots_.begin(), knots_.begin() + kMaxKnots / 2);
    knots_.push_back({ticks, ns_at, rate});
}

/// By the newest knot at or before `ticks`; nearly always one of the last few.
double ClockMap::at(std::uint64_t ticks) const {
    auto knot = std::upper_bound(knots_.begin(), knots_.end(), ticks,
                                 [](std::uint64_t t, const Knot& k) { return t < k.ticks; });
    if (knot != knots_.begin()) --knot;
    const double delta = ticks >= knot->ticks ? static_cast<double>(ticks - knot->ticks)
                                              : -static_cast<double>(knot->ticks - ticks);
    return knot->ns_at + knot->rate * delta;
}

std::int64_t ClockMap::ns_from_ticks(std::uint64_t ticks) {
    told_ = std::max(told_, ticks);
    constexpr auto kLimit = std::int64_t{1} << 62;
    if (identity_)
        return ticks >= static_cast<std::uint64_t>(kLimit) ? kLimit
                                                           : static_cast<std::int64_t>(ticks);
    const double ns = at(ticks);
    if (std::fabs(ns) > 4e18) return ns < 0 ? -kLimit : kLimit;
    return std::clamp(base_ns_ + static_cast<std::int64_t>(std::llround(ns)), -kLimit, kLimit);
}

std::int64_t ClockMap::length_ns(std::uint64_t ticks) const {
    const double ns =
        static_cast<double>(ticks) * (identity_ || knots_.empty() ? 1.0 : knots_.back().rate);
    return static_cast<std::int64_t>(std::min(ns, 4e18));
}

}  // namespace gs
