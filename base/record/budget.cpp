#include "base/record/budget.h"

#include <algorithm>
#include <cmath>

#include "base/record/ring.h"

namespace gs::service {
namespace {

constexpr double kPeriodNs = 5e9;
constexpr double kStep = 1.4142135623730951;  // duty changes by this factor at most
constexpr double kBandBegin = 0.70, kBandAim = 0.825,
                 kBandEnd = 0.95;  // of the budget: there duty stays as it is
constexpr double kLeastDuty = 1.0 / 256;
constexpr double kLeastOnNs = 5e8;  // of a cycle: some iterations must fit
constexpr double kLeastCycleNs = 1e9;
constexpr std::uint64_t kGraceNs = 1'000'000'000;  // for an outermost range to end by itself
constexpr double kRefill = 0.25;

}  // namespace

double time_between(const CostSample& from, const CostSample& to) noexcept {
    return static_cast<double>(
        std::max(to.now_ns - from.now_ns, to.process_cpu_ns - from.process_cpu_ns));
}

CostSample sample_costs() noexcept {
    CostSample out{.now_ns = monotonic_ns(), .process_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID)};
    abi::RingHeader* h = detail::ring_header();
    if (h == nullptr) return out;
    auto* lanes = reinterpret_cast<abi::Lane*>(reinterpret_cast<char*>(h) + h->lanes_offset);
    const std::uint32_t used = std::atomic_ref(h->lanes_used).load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < used; ++i) {
        const std::uint64_t head = std::atomic_ref(lanes[i].head).load(std::memory_order_relaxed);
        if (lanes[i].kind != static_cast<std::uint32_t>(abi::LaneKind::activity))
            out.records += head;
    }
    out.service_ns = std::atomic_ref(h->service_cpu_ns).load(std::memory_order_relaxed);
    return out;
}

double price_of_record() noexcept {
    constexpr int kRounds = 256;
    volatile std::uint64_t keep = 0;
    std::uint64_t best = ~std::uint64_t{0};
    for (int attempt = 0; attempt < 4; ++attempt) {
        const std::uint64_t begin = monotonic_ns();
        for (int i = 0; i < kRounds; ++i) keep = read_ticks() + read_ticks();
        best = std::min(best, monotonic_ns() - begin);
    }
    static_cast<void>(keep);
    return 2.0 * static_cast<double>(best) / kRounds;
}

void BudgetController::set_budget(std::uint64_t ppm) noexcept {
    budget_ = static_cast<double>(std::min<std::uint64_t>(ppm, 1'000'000)) * 1e-6;
    duty_ = 1;
    began_ = false;
    empty_ = false;
}

double BudgetController::price(const CostSample& from, const CostSample& to) const noexcept {
    return record_ns_ * static_cast<double>(to.records - from.records) +
           static_cast<double>(static_cast<std::int64_t>(to.service_ns - from.service_ns));
}

std::uint64_t BudgetController::cycle_ns() const noexcept {
    return static_cast<std::uint64_t>(std::max(kLeastCycleNs, kLeastOnNs / duty_));
}

/// What a period or a cycle may cost, and half as much again: the duty cycle itself never empties
/// the bucket.
double BudgetController::capacity_ns() const noexcept {
    return 1.5 * budget_ * std::max(kPeriodNs, static_cast<double>(cycle_ns()));
}

Gate BudgetController::gate_of_cycle(std::uint64_t now_ns) const noexcept {
    if (duty_ >= 1) return Gate::open;
    const std::uint64_t cycle = cycle_ns(), at = (now_ns - cycle_begin_ns_) % cycle;
    const auto on = static_cast<std::uint64_t>(duty_ * static_cast<double>(cycle));
    if (at < on) return Gate::open;
    return at - on < kGraceNs ? Gate::closing : Gate::closed;
}

void BudgetController::start_period(const CostSample& now) noexcept {
    period_ = now;
    wanted_ns_ = allowed_ns_ = 0;
}

// Time in which the bucket was empty says nothing about what the present duty would cost.
void BudgetController::end_period(const CostSample& now) noexcept {
    const double span = time_between(period_, now);
    cost_ = span > 0 ? price(period_, now) / span : 0;
    const double allowed = static_cast<double>(allowed_ns_) /
                           static_cast<double>(std::max<std::uint64_t>(wanted_ns_, 1));
    const double projected = wanted_ns_ > 0 ? cost_ / std::max(allowed, 0.01) : cost_;
    const double before = duty_;
    if (projected > kBandEnd * budget_ || projected < kBandBegin * budget_)
        duty_ *= std::clamp(kBandAim * budget_ / std::max(projected, 1e-9), 1 / kStep, kStep);
    duty_ = std::clamp(duty_, kLeastDuty, 1.0);
    if (duty_ != before) cycle_begin_ns_ = now.now_ns;
    tokens_ns_ = std::min(tokens_ns_, capacity_ns());
    start_period(now);
}

Gate BudgetController::update(const CostSample& now) noexcept {
    if (budget_ <= 0) return Gate::open;
    if (!began_) {
        began_ = true;
        last_ = now;
        cycle_begin_ns_ = now.now_ns;
        tokens_ns_ = capacity_ns();
        start_period(now);
    }
    const std::uint64_t passed = now.now_ns - last_.now_ns;
    tokens_ns_ = std::min(tokens_ns_ + budget_ * time_between(last_, now) - price(last_, now),
                          capacity_ns());
    const bool wanted = gate_of_cycle(last_.now_ns) == Gate::open;
    wanted_ns_ += wanted ? passed : 0;
    allowed_ns_ += wanted && !empty_ ? passed : 0;
    last_ = now;
    // A whole number of cycles, or what is measured depends on where the period falls.
    const double cycle = static_cast<double>(cycle_ns());
    const double period = duty_ < 1 ? std::ceil(kPeriodNs / cycle) * cycle : kPeriodNs;
    if (static_cast<double>(now.now_ns - period_.now_ns) >= period) end_period(now);
    empty_ = tokens_ns_ <= 0 || (empty_ && tokens_ns_ < kRefill * capacity_ns());
    return empty_ ? Gate::closed : gate_of_cycle(now.now_ns);
}

}  // namespace gs::service
