// GpuWindows: when CUPTI may record, so that what it costs stays within a share of the process's
// time. CUPTI is dear: it takes its time inside every CUDA call, whether its records are kept or
// not, so a pause is one only with its kinds of records off. A window of recording is paid for
// afterwards: CUPTI goes off when the share is used up, after a second at the earliest, and stays
// off until the time that has passed has paid for all of it. So what is spent never exceeds the
// share by more than one window, whatever the program does next, and nothing has to converge.
// Asked once a tick by the injection library's host.
//
// The price of a record is a figure measured on a GPU (docs/profiling.md, "The budget"), corrected
// by how much slower the program's own loop runs while CUPTI records (loop_pace.h).
#pragma once

#include "base/record/budget.h"

namespace gs::service {

/// Nanoseconds that the program loses for one of CUPTI's records: a launch makes two.
inline constexpr double kCuptiRecordNs = 1500;

class GpuWindows {
  public:
    explicit GpuWindows(double record_ns = kCuptiRecordNs) : record_ns_(record_ns) {}

    /// Whether CUPTI may record until the next call. `share` of the time is what it may cost; 0 or
    /// less: no limit.
    bool update(const CostSample& now, double share) noexcept;
    /// By what share of its time the program took longer in the last window than around it: what
    /// the median of some windows says is from then on what a record costs here.
    void learn(double slower) noexcept;
    /// The price of a record as it was found to be, over what the constructor got.
    double factor() const { return factor_; }

    /// Share of the time that CUPTI recorded, over the last window and the pause that paid for it;
    /// in a pause that already is longer, over the window and that one.
    double duty() const { return duty_; }

  private:
    double price(const CostSample& from, const CostSample& to) const noexcept;
    void turn(bool on, const CostSample& now) noexcept;
    double share_of_window(std::uint64_t pause_ns) const {
        return static_cast<double>(window_ns_) / static_cast<double>(window_ns_ + pause_ns);
    }

    static constexpr std::uint32_t kLearned = 5;
    double record_ns_, factor_ = 1;
    double factors_[kLearned] = {};
    std::uint32_t learned_ = 0;
    double window_share_ = 0;  ///< of the last window's time, at the first price
    double tokens_ns_ = 0;     ///< what may be spent yet; below zero: what has to be paid first
    double duty_ = 1;
    bool on_ = true, began_ = false;
    CostSample last_, window_;                    ///< newest; at the begin of the last window
    std::uint64_t since_ns_ = 0, window_ns_ = 0;  ///< of this state; length of the last window
};

}  // namespace gs::service
