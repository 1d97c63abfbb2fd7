// What the system knows about processes: what a ring's header says about its own (once, when the
// recorder starts), and what those who watch others ask.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/record/abi.h"

namespace gs::detail {

/// Reads the beginning of a file of /proc, zero-terminated; the number of bytes read. No stdio: it
/// would allocate, and a thread of ours in a strange program has no heap yet.
std::size_t read_small(const char* path, char* out, std::size_t capacity);

/// True when the counter that read_ticks() reads runs at one rate on every core, always: on x86
/// what /proc/cpuinfo promises (constant_tsc and nonstop_tsc), on ARM what the architecture does.
bool has_invariant_counter();

/// Fills pid, process_start, process_name and boot_id from /proc; what cannot be read stays zero.
void describe_process(abi::RingHeader& header);

}  // namespace gs::detail

namespace gs {

/// What /proc/PID/stat says of a process; all zero when it says nothing: there is none.
struct ProcessStat {
    char state = 0;  ///< 'R', 'S', ...; 'Z' and 'X': dead, and only its parent has not asked yet
    std::uint32_t parent = 0;
    std::uint64_t start = 0;  ///< in clock ticks since the machine's start (abi.h, process_start)
};
/// 0: this process, also where /proc numbers processes otherwise than we do.
ProcessStat process_stat(std::uint32_t pid) noexcept;

/// Whether this process would have ended but for `threads` of its threads: its main called
/// pthread_exit(), and all others have ended. Opens no file.
bool only_these_threads_are_left(unsigned threads) noexcept;

}  // namespace gs
