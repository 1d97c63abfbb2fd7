// PerfEvents: the kernel's clock samples of processes of one's own user, without root: what each
// thread was in N times a second of its time on a CPU, and what happens to the processes'
// memory maps meanwhile. One buffer a CPU; whatever the processes start, threads and children, is
// also sampled. Used by StackSampler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"

namespace gs::sample {

/// Of the thread's own code, also where it was in the kernel; in DWARF's order, the last is the
/// program counter.
struct UserRegisters {
    static constexpr std::size_t kCount = 17, kStackPointer = 7, kProgramCounter = 16;
    std::array<std::uint64_t, kCount> value{};
    bool known = false;
};

/// Of a stack, at most, from its innermost end.
inline constexpr std::uint32_t kStackBytes = 16 << 10;

struct PerfRecord {
    enum class Kind : std::uint8_t { sample, mapping, program, start, end };
    Kind kind = Kind::sample;
    std::int64_t time_ns = 0;  ///< CLOCK_MONOTONIC
    std::uint32_t pid = 0, tid = 0;
    std::uint32_t parent = 0;              ///< of a start: the process that did it
    std::vector<std::uint64_t> addresses;  ///< of a sample: by frame pointers, innermost first
    UserRegisters registers;
    std::vector<std::byte> stack;                       ///< from the stack pointer on
    std::uint64_t address = 0, length = 0, offset = 0;  ///< of a mapping of code
    std::string path;                                   ///< of a mapping; a program's name
};

struct PerfOptions {
    int hz = 99;              ///< samples a second of a thread's time
    bool with_stack = false;  ///< registers and kStackBytes of the stack, for who unwinds by DWARF
};

class PerfEvents {
  public:
    /// Samples what the calling thread starts next by exec. Errors: unsupported, with the reason.
    static Result<PerfEvents> of_next_program(const PerfOptions& options);
    /// Of a process that runs. Errors: as above; unreadable, there is no such process.
    static Result<PerfEvents> of_process(std::uint32_t pid, const PerfOptions& options);
    PerfEvents(PerfEvents&&) noexcept;
    ~PerfEvents();

    /// Until there is something to take, or `milliseconds` have passed.
    void wait(int milliseconds) const;
    /// Appends what had come until now, in order of time from call to call.
    void take(std::vector<PerfRecord>& out);
    /// Records that the kernel had no space for.
    std::uint64_t lost() const { return lost_; }
    /// Samples within the kernel were refused: only time in the program's own code is seen.
    bool without_kernel() const { return without_kernel_; }
    /// Threads that could not be sampled for want of file descriptors.
    std::size_t threads_left_out() const { return left_out_; }

  private:
    struct Ring;
    PerfEvents();
    Result<void> open_rings(std::uint32_t tid, const PerfOptions& options, bool on_exec);
    bool open_thread(std::uint32_t tid, const PerfOptions& options);

    std::vector<Ring> rings_;
    std::vector<PerfRecord> waiting_;  // for the next take
    std::vector<int> others_;          // events of further threads, which write into the rings
    std::uint64_t lost_ = 0;
    std::size_t left_out_ = 0;
    bool without_kernel_ = false;
};

/// Appends those of `from` up to that time to `to`, in order of time, and keeps the others.
void move_until(std::int64_t until, std::vector<PerfRecord>& from, std::vector<PerfRecord>& to);

/// The threads of a process; empty: there is none.
std::vector<std::uint32_t> threads_of(std::uint32_t pid);

}  // namespace gs::sample
