#include "base/record/device_lane.h"

#include <atomic>

namespace gs {

using detail::store;

LaunchPoint launch_point() noexcept {
    const detail::ThreadLane& t = detail::this_threads_lane();
    if (t.lane == nullptr || t.depth == 0 || t.depth > abi::kStackSlots) return {};
    const std::uint32_t depth = t.depth - 1;
    abi::Lane& lane = *t.lane;
    return {std::atomic_ref(lane.stack[depth].begin).load(std::memory_order_relaxed),
            detail::index_of(lane),
            std::atomic_ref(lane.generation).load(std::memory_order_relaxed), depth};
}

DeviceLane::~DeviceLane() {
    if (ref_.lane == nullptr) return;
    if (ref_.ring == detail::ring_number()) {
        const std::uint64_t now = read_ticks();
        put(abi::RecordKind::thread_end, {.begin = now, .end = now, .name = ref_.name});
    }
    detail::release_wide_lane(ref_);
}

bool DeviceLane::ready() noexcept {
    using detail::RecorderState;
    const auto state =
        static_cast<RecorderState>(detail::recorder_state.load(std::memory_order_acquire));
    if (state == RecorderState::unstarted) start_recording();
    if (!is_recording()) return false;
    if (ref_.lane != nullptr && ref_.ring == detail::ring_number()) return true;
    ref_.lane = nullptr;
    ref_.name = register_string(text_);
    if (!detail::take_wide_lane(abi::LaneKind::device, ref_)) return false;
    const std::uint64_t now = read_ticks();
    put(abi::RecordKind::thread_begin,
        {.begin = now, .end = now, .name = ref_.name, .has_payload = true});
    untimed_before_ = ref_.lane->untimed;  // of earlier owners: the count only grows
    store(ref_.lane->untimed, untimed_before_ + untimed_);
    return true;
}

void DeviceLane::put(abi::RecordKind kind, const DeviceSpan& s) noexcept {
    const std::uint64_t flags = s.has_payload ? abi::kHasPayload : 0;
    const std::uint64_t words[] = {
        s.begin,
        s.end,
        s.payload,
        std::uint64_t{s.name} | static_cast<std::uint64_t>(kind) << 32 |
            std::uint64_t{s.depth} << 40 | flags << 48,
        s.launch.begin,
        std::uint64_t{s.launch.lane} | std::uint64_t{s.launch.generation} << 32,
        std::uint64_t{s.launch.depth},
        s.correlation};
    detail::write_wide(ref_, words);
}

void DeviceLane::write(const DeviceSpan& span) noexcept {
    if (ready()) put(abi::RecordKind::span, span);
}

void DeviceLane::count_untimed(std::uint64_t pieces) noexcept {
    untimed_ += pieces;
    if (ref_.lane != nullptr && ref_.ring == detail::ring_number())
        store(ref_.lane->untimed, untimed_before_ + untimed_);
}

}  // namespace gs
