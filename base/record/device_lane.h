// DeviceLane: a lane of the ring for one GPU stream (abi.h, "Device lanes"). Who polls the stream's
// events writes what the GPU has done, in this process's ticks, with the range that launched it.
// Used by renderer/device/cuda/stage_timer.cpp; knows nothing of CUDA itself.
#pragma once

#include "base/record/ring.h"

namespace gs {

/// The innermost range open on the calling thread: what launches work now. `begin` 0: none is open,
/// or nothing records.
struct LaunchPoint {
    std::uint64_t begin = 0;  ///< ticks
    std::uint32_t lane = 0, generation = 0, depth = 0;
};
LaunchPoint launch_point() noexcept;

struct DeviceSpan {
    std::uint64_t begin = 0, end = 0;  ///< ticks; of one depth in order and without overlap
    std::uint64_t payload = 0;
    std::uint64_t correlation = 0;
    StringId name = 0;
    std::uint8_t depth = 0;
    bool has_payload = false;
    LaunchPoint launch{};
};

/// Written by one thread at a time. Takes its lane with the first span; gives it back in the
/// destructor.
class DeviceLane {
  public:
    /// `name` as tracks show it: "CUDA stream training". Copied into the ring when needed.
    explicit DeviceLane(const char* name) noexcept : text_(name) {}
    ~DeviceLane();
    DeviceLane(const DeviceLane&) = delete;
    DeviceLane& operator=(const DeviceLane&) = delete;

    /// Wait-free but for the first call. What finds no lane is counted as dropped.
    void write(const DeviceSpan& span) noexcept;
    /// Work that was launched without being timed; shown as lost by every reader.
    void count_untimed(std::uint64_t pieces) noexcept;

  private:
    bool ready() noexcept;
    void put(abi::RecordKind kind, const DeviceSpan& span) noexcept;

    const char* text_;
    detail::WideLane ref_;
    std::uint64_t untimed_ = 0, untimed_before_ = 0;
};

}  // namespace gs
