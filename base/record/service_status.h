// What the service says of itself in the ring's header (abi.h, "signs of life"): clock snapshots,
// the state of CUPTI, what it costs and loses, the GPUs. (publish_clock_snapshot() is in ring.h.)
// Called by the endpoint's thread, the injection library and the collector; the recording path only
// counts here what it could not record. Without a ring every one of these does nothing.
#pragma once

#include "base/record/ring.h"

namespace gs {

/// From now on snapshots carry what `clock` returns, CUPTI's time in nanoseconds (0: not known just
/// now); null: not any more. On return the former clock is not being called and never will be, so
/// its library may go.
void set_cupti_clock(std::uint64_t (*clock)()) noexcept;

/// `reason` is shown to the user: which tool holds CUPTI, which library is missing. null: none.
void set_cupti_state(abi::CuptiState state, const char* reason = nullptr) noexcept;
void set_cupti_dropped(std::uint64_t records) noexcept;
/// Until when CUPTI's records are complete (abi::RingHeader::cupti_complete_ns).
void set_cupti_complete(std::uint64_t monotonic_ns) noexcept;
/// In the child of a fork: another thread of the parent may have been taking a snapshot.
void forget_snapshots_in_child() noexcept;

/// What recording may cost and how much of the time it is on, in millionths.
void set_budget_words(std::uint32_t budget_ppm, std::uint32_t duty_ppm) noexcept;
void count_budget_skipped(std::uint64_t records) noexcept;
/// Processor time of the service's own threads in this process, in all.
void set_service_cpu_ns(std::uint64_t total) noexcept;
/// Time a thread of the program has spent in a slow path of the recorder.
void add_service_ticks(std::uint64_t ticks) noexcept;

/// The process is leaving in order: to readers it does not record any more, although what it still
/// writes is kept. One that is gone and had not said so was killed.
void say_farewell() noexcept;

/// Describes GPU `index` to readers; before its first record. Numbers beyond abi::kGpuSlots have no
/// slot.
void write_gpu_device(std::uint32_t index, const abi::GpuDevice& device) noexcept;

namespace detail {
/// Counts up a word of the header, from any thread.
void count(std::uint64_t abi::RingHeader::*word, std::uint64_t by = 1) noexcept;
}  // namespace detail

}  // namespace gs
