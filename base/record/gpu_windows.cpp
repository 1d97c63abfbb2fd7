#include "base/record/gpu_windows.h"

#include <algorithm>

namespace gs::service {
namespace {

// Shorter windows hold too few iterations, and switching would be what they cost.
constexpr std::uint64_t kLeastOnNs = 1'000'000'000, kLeastOffNs = 1'000'000'000;
/// So long a time's share is saved up at most while the program is cheap.
constexpr double kSavedNs = 1e9;
/// A window that is not paid for by a pause any more: recording is on for good.
constexpr std::uint64_t kForGoodNs = 30'000'000'000;

}  // namespace

double GpuWindows::price(const CostSample& from, const CostSample& to) const noexcept {
    return record_ns_ * factor_ * static_cast<double>(to.cupti_records - from.cupti_records) +
           static_cast<double>(to.cupti_ns - from.cupti_ns);
}

void GpuWindows::turn(bool on, std::uint64_t now_ns) noexcept {
    const std::uint64_t length = now_ns - since_ns_;
    if (!on) window_ns_ = length;
    if (on) duty_ = static_cast<double>(window_ns_) / static_cast<double>(window_ns_ + length);
    on_ = on;
    since_ns_ = now_ns;
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
        last_ = now;
    }
    tokens_ns_ = std::min(tokens_ns_ + share * time_between(last_, now) - price(last_, now),
                          share * kSavedNs);
    last_ = now;
    const std::uint64_t length = now.now_ns - since_ns_;
    if (on_ && tokens_ns_ <= 0 && length >= kLeastOnNs) turn(false, now.now_ns);
    if (!on_ && tokens_ns_ >= 0 && length >= kLeastOffNs) turn(true, now.now_ns);
    if (on_ && now.now_ns - since_ns_ >= kForGoodNs) duty_ = 1;
    return on_;
}

}  // namespace gs::service
