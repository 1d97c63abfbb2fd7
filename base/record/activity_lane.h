// ActivityLane: the ring's lane for CUPTI's records (abi.h, "Activity lanes"). One per
// process, long, written by one thread at a time: the one that CUPTI's buffers are completed on.
// Used by profiler/inject/cupti*; knows nothing of CUPTI itself.
#pragma once

#include "base/record/ring.h"

namespace gs {

class ActivityLane {
  public:
    /// `name` as tracks show it, copied into the ring when needed.
    explicit ActivityLane(const char* name = "CUPTI") noexcept : text_(name) {}
    ~ActivityLane() { detail::release_wide_lane(ref_); }
    ActivityLane(const ActivityLane&) = delete;
    ActivityLane& operator=(const ActivityLane&) = delete;

    /// Wait-free but for the first call. Also while recording is off: CUPTI delivers late what it
    /// saw while it was on. False, and counted as dropped, when there is no lane or no ring.
    bool write(const abi::ActivityRecord& record) noexcept;
    /// Records written through this object.
    std::uint64_t written() const noexcept { return written_; }

  private:
    bool ready() noexcept;

    const char* text_;
    detail::WideLane ref_;
    std::uint64_t written_ = 0;
};

}  // namespace gs
