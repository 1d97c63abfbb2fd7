// StackSampler: where the threads of other processes are, in C++ and Python, on a CPU and waiting.
// A thread of its own takes what the kernel samples, makes stacks of it and hands them to the owner
// of a TraceStore. Started by `record --stacks` and `attach --stacks`; nothing is put into the
// processes, and nothing of them stops.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "profiler/sample/perf_events.h"
#include "profiler/store/store.h"

namespace gs {
namespace sample {
class SymbolFiles;
}

struct StackSamplerOptions {
    int hz = 99;          ///< samples a second of a thread's time on a CPU
    int blocked_hz = 10;  ///< looks a second at the threads that wait
    /// Shared by several samplers (sample::make_symbol_files()); null: its own.
    std::shared_ptr<sample::SymbolFiles> files = nullptr;
};

class StackSampler {
  public:
    /// Of the program that the calling thread starts next, and all that it starts. Errors:
    /// unsupported, with what to do about it.
    static Result<std::unique_ptr<StackSampler>> of_next_program(const StackSamplerOptions&);
    /// Of a process that runs, and what it starts. Errors: as above; unreadable.
    static Result<std::unique_ptr<StackSampler>> of_process(std::uint32_t pid,
                                                            const StackSamplerOptions&);
    ~StackSampler();

    /// Moves what has come into `store`, on the store's thread.
    void take_into(TraceStore& store);
    /// Looks a last time and ends.
    void finish(TraceStore& store);
    /// What is missing and why, a sentence each; complete after finish().
    std::vector<std::string> remarks() const;

  private:
    class Worker;
    explicit StackSampler(std::unique_ptr<Worker> worker);
    std::unique_ptr<Worker> worker_;
    std::jthread thread_;
};

}  // namespace gs
