// Ticks: the time a recorder stamps. The CPU's own counter where it runs at one rate (x86: the
// invariant time stamp counter; ARM: the generic timer's virtual count), else CLOCK_MONOTONIC.
// Called by every Span; readers convert ticks to nanoseconds (profiler/collect/clock_map.h), the
// recorder never does.
#pragma once

#include <time.h>

#include <cstdint>

namespace gs {

namespace detail {
/// True when the CPU's counter runs at one rate through sleep and frequency changes. Set once by
/// start_recording(), before anything is stamped.
extern constinit bool ticks_are_counter;
}  // namespace detail

inline std::uint64_t clock_ns(clockid_t clock) noexcept {
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(t.tv_nsec);
}
/// CLOCK_MONOTONIC in nanoseconds: the common clock of every trace.
inline std::uint64_t monotonic_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }
/// The same, signed, as everything that reads a trace counts.
inline std::int64_t now_ns() noexcept { return static_cast<std::int64_t>(monotonic_ns()); }

/// The CPU's counter, whether it runs at one rate or not; CLOCK_MONOTONIC where there is none.
inline std::uint64_t read_counter() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    std::uint64_t count;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return monotonic_ns();
#endif
}

inline std::uint64_t read_ticks() noexcept {
    if (detail::ticks_are_counter) [[likely]]
        return read_counter();
    return monotonic_ns();
}

}  // namespace gs
