#include "profiler/collect/ring_clocks.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "base/record/ring.h"

namespace gs {
namespace {

constexpr std::uint64_t kClockCount = offsetof(abi::RingHeader, clock_count);

abi::ClockSnapshot snapshot_at(const RingMemory& memory, std::uint64_t offset) {
    abi::ClockSnapshot snapshot;
    memory.copy(offset, &snapshot, sizeof snapshot);
    return snapshot;
}

}  // namespace

void RingClocks::read(const RingMemory& memory, std::uint64_t snapshot_bytes) {
    const auto count = memory.load_acquire<std::uint64_t>(kClockCount);
    if (count <= read_) return;
    std::uint64_t first = std::max<std::uint64_t>(read_, 1);
    if (read_ == 0) take(snapshot_at(memory, offsetof(abi::RingHeader, first_clock)));
    if (count - first > abi::kClockSlots) first = count - abi::kClockSlots;
    for (std::uint64_t i = first; i < count; ++i) {
        const abi::ClockSnapshot snapshot = snapshot_at(
            memory, offsetof(abi::RingHeader, clocks) + i % abi::kClockSlots * snapshot_bytes);
        detail::fence(std::memory_order_acquire);
        const auto now = memory.load_acquire<std::uint64_t>(kClockCount);
        if (now < i || now - i < abi::kClockSlots)
            take(snapshot);  // else it was overwritten while being copied
    }
    read_ = count;
}

// GPU times are to agree with the ranges of threads, so CUPTI's clock is tied to converted ticks.
void RingClocks::take(const abi::ClockSnapshot& snapshot) {
    ticks_.add(snapshot);
    if (snapshot.cupti_ns != 0 && ticks_.ready())
        cupti_.add(snapshot.cupti_ns, ticks_.ns_from_ticks(snapshot.ticks));
}

std::int64_t RingClocks::ns_from_cupti(std::uint64_t cupti_ns) const {
    if (cupti_.ready()) return cupti_.monotonic_ns(cupti_ns);
    constexpr std::uint64_t kLimit = std::uint64_t{1} << 62;
    return static_cast<std::int64_t>(std::min(cupti_ns, kLimit)) - ticks_.realtime_offset_ns();
}

}  // namespace gs
