// What the emulated CUDA runtime holds: streams with their pending work, events, allocations,
// graphs, the counters and the switches of emulator.h. One lock for all of it; work runs under the
// lock, on the thread that waits for it.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/emulator/allocations.h"
#include "tests/support/emulator/emulator.h"

namespace gs::emulator {

using Work = std::function<void()>;
class LaunchObserver;

struct EventState {
    unsigned flags = 0;
    std::uint64_t recorded = 0;  ///< records asked for
    std::map<std::uint64_t, CUstream_st*>
        pending;                    ///< those of them not carried out, and where they are
    CUstream_st* stream = nullptr;  ///< of the newest record
    std::chrono::steady_clock::time_point time;
    unsigned queries_left = 0;  ///< that still say "not yet"
};
struct GraphNode {
    std::string name;
    bool kernel;
    Work work;
};
/// A capture in progress; several streams may take part.
struct Capture {
    CUstream_st* origin = nullptr;
    std::vector<GraphNode> nodes;
    std::set<CUstream_st*> unjoined;  ///< streams with work that the origin has not waited for
    std::map<EventState*, std::set<CUstream_st*>> recorded;
    bool invalid = false;
};

}  // namespace gs::emulator

struct CUstream_st {
    unsigned flags = 0;
    int device = 0;
    std::deque<gs::emulator::Work> pending;
    std::shared_ptr<gs::emulator::Capture> capture;
    unsigned queries_left = 0;
};
struct CUevent_st {
    std::shared_ptr<gs::emulator::EventState> state;
};
struct CUgraph_st {
    std::vector<gs::emulator::GraphNode> nodes;
};
struct CUgraphExec_st {
    std::vector<gs::emulator::GraphNode> nodes;
};

namespace gs::emulator {

class Runtime {
  public:
    static Runtime& instance();
    Runtime();
    std::recursive_mutex mutex;

    // ---- settings
    Execution execution = Execution::eager;
    unsigned event_lag = 0;
    std::uint64_t seed = 1;
    bool deterministic = false, separate_memory = false;
    unsigned together = 1;  ///< blocks that run at one time; 1: each to its end
    Device device = Device::present;
    int device_count = 1, gl_device = 0;
    std::set<int> contexts;
    static thread_local int current_device;
    std::size_t device_bytes = std::size_t{16} << 30, device_used = 0;
    std::uint64_t failing_device_allocation = 0, failing_pinned_allocation = 0;
    std::function<void(const ArrayWrite&)> array_writer;
    std::vector<LaunchObserver*> observers;

    // ---- objects
    std::vector<std::string> reports;
    Calls calls;
    Statistics statistics{};
    cudaError_t last_error = cudaSuccess;
    CUstream_st default_stream;
    std::set<CUstream_st*> streams;
    std::set<CUevent_st*> events;
    std::set<CUgraph_st*> graphs;
    std::set<CUgraphExec_st*> executables;
    std::set<cudaGraphicsResource_t> graphics_resources;
    Allocations allocations;

    /// Counts the call; the error every call gives while there is no usable device.
    cudaError_t enter(const char* name);
    void count(const std::string& name) { ++calls[name]; }
    cudaError_t fail(cudaError_t error) {
        last_error = error;
        return error;
    }
    CUstream_st* stream_of(cudaStream_t stream);
    /// Appends to the stream, or to the graph that is being captured from it.
    void enqueue(cudaStream_t stream, std::string name, bool kernel, Work work);
    /// True, and the capture is spoiled, when the stream is being captured: it can not be waited
    /// for.
    bool spoils_capture(CUstream_st* stream);
    void drain(CUstream_st* stream);
    void drain_all();
    /// The same for calls that destructors make: while another exception is under way, a second one
    /// is dropped.
    void drain_for_destructor();
    /// Runs work until the event's record `number` is carried out.
    void run_until(EventState& event, std::uint64_t number);
    /// All of the stream is done: its events say so at once.
    void settle(CUstream_st* stream);

    // ---- memory
    /// EmulatorError unless the range is in one allocation on the device (or in pinned memory,
    /// for a copy).
    void expect_device(const char* call, const void* pointer, std::size_t bytes) const;
};

using Guard = std::lock_guard<std::recursive_mutex>;

}  // namespace gs::emulator

/// The beginning of every API function: `runtime`, locked and counted, or the error of a missing
/// device.
#define GS_ENTER(name)                      \
    Runtime& runtime = Runtime::instance(); \
    const Guard guard(runtime.mutex);       \
    if (const cudaError_t error = runtime.enter(name); error != cudaSuccess) return error
