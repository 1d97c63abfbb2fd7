// Records other processes for `record` and `attach --headless`: a bounded store that fills while
// they run, a summary that says what is missing and why, and the trace file.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/sample/stack_sampler.h"
#include "profiler/store/store.h"

namespace gs::cli {

/// How often a recorded process is looked at.
inline constexpr auto kLook = std::chrono::milliseconds(10);

struct RecordingOptions {
    service::MultiCollectorOptions collector;
    int memory_mib = 1024;  ///< for trace data; when full, the oldest is dropped
    bool insights = false;
};

class ProcessRecording {
  public:
    static Result<std::unique_ptr<ProcessRecording>> start(RecordingOptions options);

    /// Moves what has come into the store; call it every few milliseconds.
    void take();
    /// Call stacks of the program that this thread starts next, or of the process `pid`, `hz` times
    /// a second. Where that cannot be, remarks() says why, and the rest is recorded.
    void sample_next_program(int hz);
    void sample_process(std::uint32_t pid, int hz);
    /// Reads a last time and detaches from the processes.
    void finish();
    /// The trace at `path`. Errors: unwritable. Then the trace, or as much of its end as fits, is
    /// in another folder where one has space; print() says where.
    Result<void> write(const fs::path& path);

    service::MultiCollector& collector() { return *collector_; }
    const TraceStore& store() const { return store_; }
    double seconds() const;
    bool found_any() const { return !store_.processes().empty(); }

    /// On stderr, because stdout belongs to the command. `notes`: what the caller knows besides.
    void print(std::vector<std::string> notes);
    nlohmann::ordered_json json();
    /// Missing data and problems, one sentence each, with the remedy.
    std::vector<std::string> remarks();

  private:
    explicit ProcessRecording(RecordingOptions options);
    RecordingOptions options_;
    TraceStore store_;
    void take_sampler(Result<std::unique_ptr<StackSampler>> sampler);
    Result<void> write_part(const TraceStore& part, const fs::path& path);
    bool rescue(const fs::path& path);
    std::unique_ptr<service::MultiCollector> collector_;
    std::unique_ptr<StackSampler> sampler_;
    std::string no_sampler_;  // why there is none
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), end_ = begin_;
    fs::path written_;
    std::vector<std::string> written_notes_;  // what its format leaves out
};

/// Says on stderr when the disk may be too small for a trace of so much memory.
void warn_of_little_space(const fs::path& output, int memory_mib);
/// The library that goes into other processes: beside this program, or in ../lib of it. Errors:
/// not_found.
Result<fs::path> injection_library();
/// The folder of assets/pytorch: beside this program, or in ../share/gausscope of it. Errors:
/// not_found.
Result<fs::path> pytorch_folder();

/// "train-20260102-030405.pftrace" for a command line: named after the program, or the script an
/// interpreter runs.
std::string default_trace_name(const std::vector<std::string>& command, std::time_t now);

}  // namespace gs::cli
