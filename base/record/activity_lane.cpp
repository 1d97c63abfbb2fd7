#include "base/record/activity_lane.h"

#include <cstring>

namespace gs {

bool ActivityLane::ready() noexcept {
    if (ref_.lane != nullptr && ref_.ring == detail::ring_number()) return true;
    ref_.lane = nullptr;
    if (detail::ring_header() == nullptr) return false;
    ref_.name = register_string(text_);
    return detail::take_wide_lane(abi::LaneKind::activity, ref_);
}

bool ActivityLane::write(const abi::ActivityRecord& record) noexcept {
    if (!ready()) return false;
    std::uint64_t words[8];
    static_assert(sizeof words == sizeof record);
    std::memcpy(words, &record, sizeof words);
    detail::write_wide(ref_, words);
    ++written_;
    return true;
}

}  // namespace gs
