// BudgetController: holds what recording ranges costs a process to a stated share of its time.
// Asked once a tick (endpoint.h) by whoever serves a ring: the injection library, and gausscope for
// its own. What CUPTI costs is held by GpuWindows (gpu_windows.h), with what is left of the budget.
// Two means, one inside the other:
//
//  - a token bucket. Every record, and the service's own work, takes its price from it; the budget
//  fills it. When it is
//    empty nothing is recorded until a quarter is back. So no burst costs more than the bucket
//    holds.
//  - a duty cycle, because a record of every fifth iteration is worth more than the first fifth of
//  each. Once a period
//    the share of time that recording is on goes up or down, by a factor of sqrt(2) at most, unless
//    the price lies between 70 and 95 % of the budget. Recording ends between outermost ranges, so
//    an iteration is recorded whole or not at all.
//
// Prices: a record costs twice two reads of the clock, which is what span_bench and service_bench
// hold the recorder to; the service's processor time is measured.
#pragma once

#include <cstdint>

namespace gs::service {

/// What has been spent since the process began.
struct CostSample {
    std::uint64_t now_ns = 0;      ///< CLOCK_MONOTONIC
    std::uint64_t records = 0;     ///< written to lanes of threads
    std::uint64_t service_ns = 0;  ///< processor time of the service's threads, and in slow paths,
                                   ///< without cupti_ns
    std::uint64_t process_cpu_ns = 0;
    std::uint64_t cupti_records = 0;  ///< that CUPTI made, whether they were kept or not
    std::uint64_t cupti_ns = 0;       ///< fetching them, and switching CUPTI on and off
};
/// Of this process and its ring, now; nothing of CUPTI, which is counted where it is called.
CostSample sample_costs() noexcept;
/// The wall's time, or the processors' where several threads work.
double time_between(const CostSample& from, const CostSample& to) noexcept;

/// Nanoseconds that one record may be taken to cost on this machine.
double price_of_record() noexcept;

enum class Gate : int {
    open,     ///< everything is recorded
    closing,  ///< what is inside an outermost range that is being recorded still is; no new one
              ///< begins
    closed,   ///< nothing is
};

class BudgetController {
  public:
    explicit BudgetController(double record_ns = price_of_record()) : record_ns_(record_ns) {}

    /// Parts per million of the process's time, which is the wall's or its processors', whichever
    /// is more; 0: no limit.
    void set_budget(std::uint64_t ppm) noexcept;
    /// What is recorded until the next call. Call it at least ten times a second.
    Gate update(const CostSample& now) noexcept;

    std::uint32_t budget_ppm() const { return static_cast<std::uint32_t>(budget_ * 1e6 + 0.5); }
    std::uint32_t duty_ppm() const { return static_cast<std::uint32_t>(duty_ * 1e6 + 0.5); }
    /// Share of the process's time that was spent over the last period.
    double cost() const { return cost_; }

  private:
    void start_period(const CostSample& now) noexcept;
    void end_period(const CostSample& now) noexcept;
    double price(const CostSample& from, const CostSample& to) const noexcept;
    double capacity_ns() const noexcept;
    std::uint64_t cycle_ns() const noexcept;
    Gate gate_of_cycle(std::uint64_t now_ns) const noexcept;

    double record_ns_;
    double budget_ = 0;  ///< share
    double duty_ = 1, cost_ = 0;
    double tokens_ns_ = 0;
    bool empty_ = false, began_ = false;
    CostSample last_, period_;
    std::uint64_t wanted_ns_ = 0;   ///< of this period: the duty cycle had recording on
    std::uint64_t allowed_ns_ = 0;  ///< of that: the bucket was not empty
    std::uint64_t cycle_begin_ns_ = 0;
};

}  // namespace gs::service
