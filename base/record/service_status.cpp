#include "base/record/service_status.h"

#include <atomic>

#include <sched.h>

namespace gs {
namespace {

using detail::ring_header;
using detail::store;

constinit std::atomic<std::uint64_t (*)()> cupti_clock{nullptr};
constinit std::atomic_flag snapshot_busy = ATOMIC_FLAG_INIT;

/// The tightest of a few brackets: being scheduled away between two clocks would bend time.
abi::ClockSnapshot read_clocks() noexcept {
    abi::ClockSnapshot best{};
    best.uncertainty_ticks = ~std::uint64_t{0};
    for (int i = 0; i < 8; ++i) {
        const std::uint64_t before = read_ticks();
        const std::uint64_t monotonic = monotonic_ns(), realtime = clock_ns(CLOCK_REALTIME);
        const std::uint64_t after = read_ticks();
        if (after - before >= best.uncertainty_ticks) continue;
        const std::uint64_t ticks =
            detail::ticks_are_counter ? before + (after - before) / 2 : monotonic;
        best = {ticks, monotonic, realtime, 0, after - before};
    }
    return best;
}

/// CUPTI's time at the moment CLOCK_MONOTONIC was `monotonic`, which has just been; 0: not known.
/// Its clock takes long to read, so it has a bracket of its own, and both run at one rate for the
/// microseconds between.
std::uint64_t cupti_ns_at(std::uint64_t monotonic) noexcept {
    auto* clock = cupti_clock.load(std::memory_order_acquire);
    if (clock == nullptr) return 0;
    std::uint64_t best = 0, tightest = ~std::uint64_t{0};
    for (int i = 0; i < 4; ++i) {
        const std::uint64_t before = monotonic_ns();
        const std::uint64_t cupti = clock();
        const std::uint64_t after = monotonic_ns();
        if (cupti == 0 || after - before >= tightest) continue;
        tightest = after - before;
        best = cupti - (before + (after - before) / 2 - monotonic);
    }
    return best;
}

void write_snapshot(abi::RingHeader& h, const abi::ClockSnapshot& s) noexcept {
    const std::uint64_t number = h.clock_count;
    abi::ClockSnapshot& slot = number == 0 ? h.first_clock : h.clocks[number % abi::kClockSlots];
    detail::fence(std::memory_order_release);
    store(slot.ticks, s.ticks);
    store(slot.monotonic_ns, s.monotonic_ns);
    store(slot.realtime_ns, s.realtime_ns);
    store(slot.cupti_ns, s.cupti_ns);
    store(slot.uncertainty_ticks, s.uncertainty_ticks);
    detail::publish(h.clock_count, number + 1);
    store(h.heartbeat_ns, s.monotonic_ns);
}

}  // namespace

void publish_clock_snapshot() noexcept {
    abi::RingHeader* h = ring_header();
    if (h == nullptr || snapshot_busy.test_and_set(std::memory_order_acquire)) return;
    abi::ClockSnapshot snapshot = read_clocks();
    snapshot.cupti_ns = cupti_ns_at(snapshot.monotonic_ns);
    write_snapshot(*h, snapshot);
    snapshot_busy.clear(std::memory_order_release);
}

void set_cupti_clock(std::uint64_t (*clock)()) noexcept {
    cupti_clock.store(clock, std::memory_order_release);
    // A snapshot under way may have read the old one.
    while (snapshot_busy.test_and_set(std::memory_order_acquire)) ::sched_yield();
    snapshot_busy.clear(std::memory_order_release);
}

void set_cupti_state(abi::CuptiState state, const char* reason) noexcept {
    abi::RingHeader* h = ring_header();
    if (h == nullptr) return;
    store(h->cupti_reason, reason != nullptr ? register_string(reason) : 0);
    detail::publish(h->cupti_state, static_cast<std::uint32_t>(state));
}

void set_cupti_dropped(std::uint64_t records) noexcept {
    if (abi::RingHeader* h = ring_header()) store(h->cupti_dropped, records);
}

void set_cupti_complete(std::uint64_t monotonic_ns) noexcept {
    // After the records that it counts.
    if (abi::RingHeader* h = ring_header()) detail::publish(h->cupti_complete_ns, monotonic_ns);
}

void forget_snapshots_in_child() noexcept {
    cupti_clock.store(nullptr, std::memory_order_relaxed);
    snapshot_busy.clear(std::memory_order_relaxed);
}

void set_budget_words(std::uint32_t budget_ppm, std::uint32_t duty_ppm) noexcept {
    abi::RingHeader* h = ring_header();
    if (h == nullptr) return;
    store(h->budget_ppm, budget_ppm);
    store(h->duty_ppm, duty_ppm);
}

void count_budget_skipped(std::uint64_t records) noexcept {
    detail::count(&abi::RingHeader::budget_skipped, records);
}

void set_service_cpu_ns(std::uint64_t total) noexcept {
    if (abi::RingHeader* h = ring_header()) store(h->service_cpu_ns, total);
}

void add_service_ticks(std::uint64_t ticks) noexcept {
    detail::count(&abi::RingHeader::service_ticks, ticks);
}

void say_farewell() noexcept {
    if (abi::RingHeader* h = ring_header()) store(h->armed, 0u);
}

void write_gpu_device(std::uint32_t index, const abi::GpuDevice& device) noexcept {
    abi::RingHeader* h = ring_header();
    if (h == nullptr || index >= abi::kGpuSlots) return;
    abi::GpuDevice& slot = h->devices[index];
    store(slot.name, 0u);
    detail::fence(std::memory_order_release);
    abi::GpuDevice unnamed = device;
    unnamed.name = 0;
    slot = unnamed;
    detail::publish(slot.name, device.name);
}

namespace detail {

void count(std::uint64_t abi::RingHeader::*word, std::uint64_t by) noexcept {
    if (abi::RingHeader* h = ring_header())
        std::atomic_ref(h->*word).fetch_add(by, std::memory_order_relaxed);
}

}  // namespace detail
}  // namespace gs
