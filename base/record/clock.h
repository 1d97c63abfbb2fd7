// Ticks: the time a recorder stamps. The invariant time stamp counter where the CPU has one, else
// CLOCK_MONOTONIC. Called by every Span; readers convert ticks to nanoseconds
// (profiler/collect/clock_map.h), the recorder never does.
#pragma once

#include <time.h>

#include <cstdint>

namespace gs {

namespace detail {
/// True when the counter runs at one rate through sleep and frequency changes (constant_tsc and
/// nonstop_tsc). Set once by start_recording(), before anything is stamped.
extern constinit bool ticks_are_tsc;
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

inline std::uint64_t read_ticks() noexcept {
#if defined(__x86_64__)
    if (detail::ticks_are_tsc) [[likely]]
        return __builtin_ia32_rdtsc();
#endif
    return monotonic_ns();
}

}  // namespace gs
