#include "base/record/gpu_windows.h"

#include <algorithm>

namespace gs::service {
namespace {

// Shorter windows hold too few iterations, and switching would be what they cost.
constexpr std::uint64_t kShortestOnNs = 1'000'000'000, kShortestOffNs = 1'000'000'000;
/// So long a time's share is saved up at most while the program is cheap.
constexpr double kSavedNs = 1e9;
/// A window that is not paid for by a pause any more: recording is on for good.
constexpr std::uint64_t kForGoodNs = 30'000'000'000;
/// One window may lie beside something else that takes time. A program that waits for its GPU loses
/// next to nothing, but may not always wait for it.
constexpr std::uint32_t kLeastLearned = 3;
constexpr double kLeastFactor = 0.25, kMostFactor = 8;

}  // namespace

double GpuWindows::price(const CostSample& from, const CostSample& to) const noexcept {
    return record_ns_ * factor_ * static_cast<double>(to.cupti_records - from.cupti_records) +
           static_cast<double>(to.cupti_ns - from.cupti_ns);
}

/// The records of a window are complete when its pause is over.
void GpuWindows::turn(bool on, const CostSample& now) noexcept {
    const std::uint64_t length = now.now_ns - since_ns_;
    if (!on) window_ns_ = length;
    if (on) {
        duty_ = share_of_window(length);
        const std::uint64_t records = now.cupti_records - window_.cupti_records;
        window_share_ = record_ns_ * static_cast<double>(records) / static_cast<double>(window_ns_);
        window_ = now;
    }
    on_ = on;
    since_ns_ = now.now_ns;
}

void GpuWindows::learn(double slower) noexcept {
    if (window_share_ <= 0) return;
    factors_[learned_++ % kLearned] = slower / window_share_;
    if (learned_ < kLeastLearned) return;
    double sorted[kLearned];
    const std::uint32_t count = std::min(learned_, kLearned);
    std::copy(factors_, factors_ + count, sorted);
    std::nth_element(sorted, sorted + count / 2, sorted + count);
    factor_ = std::clamp(sorted[count / 2], kLeastFactor, kMostFactor);
}

bool GpuWindows::update(const CostSample& now, double share) noexcept {
    if (share <= 0) {
        began_ = false;
        duty_ = 1;
        return on_ = true;
    }
    if (!began_) {
        began_ = on_ = true;
        tokens_ns_ = share * kSavedNs;
        since_ns_ = now.now_ns;
        last_ = window_ = now;
    }
    tokens_ns_ = std::min(tokens_ns_ + share * time_between(last_, now) - price(last_, now),
                          share * kSavedNs);
    last_ = now;
    const std::uint64_t length = now.now_ns - since_ns_;
    if (on_ && tokens_ns_ <= 0 && length >= kShortestOnNs) turn(false, now);
    if (!on_ && tokens_ns_ >= 0 && length >= kShortestOffNs) turn(true, now);
    if (on_ && now.now_ns - since_ns_ >= kForGoodNs) duty_ = 1;
    if (!on_) duty_ = std::min(duty_, share_of_window(now.now_ns - since_ns_));
    return on_;
}

}  // namespace gs::service
