#include "base/record/pauses.h"

#include "base/record/ring.h"

namespace gs::service {

// As often as a reader must know how long the pause has lasted, and no more: it also costs.
constexpr std::uint64_t kInterval = 200'000'000;

// A thread that has a lane writes to it although recording is off: that it is off is the news.
void PauseRecords::tell(std::uint64_t what) noexcept {
    const std::uint64_t now_ns = monotonic_ns();
    if (what == what_ && (what == 0 || now_ns - told_ns_ < kInterval)) return;
    const std::uint64_t now = read_ticks();
    detail::ThreadLane& t = detail::this_threads_lane();
    if (t.lane == nullptr && (what | what_) != 0) detail::take_lane(t);
    if (what_ != 0 && t.lane != nullptr)
        detail::write_record(t, abi::RecordKind::pause, since_, now, what_, 0, abi::kHasPayload);
    what_ = what;
    since_ = now;
    told_ns_ = now_ns;
}

}  // namespace gs::service
