#include "tests/support/emulator/runtime_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

namespace gs::emulator {

Runtime& Runtime::instance() {
    static Runtime* const runtime =
        new Runtime;  // outlives every static object that still frees something
    return *runtime;
}

Runtime::Runtime() {
    const auto number = [](const char* name, std::uint64_t otherwise) {
        const char* const text = std::getenv(name);
        return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
    };
    seed = number("GAUSSCOPE_EMULATOR_SEED", seed);
    separate_memory = number("GAUSSCOPE_EMULATOR_SEPARATE", 0) != 0;
    execution =
        number("GAUSSCOPE_EMULATOR_DEFERRED", 0) != 0 ? Execution::deferred : Execution::eager;
    event_lag = static_cast<unsigned>(number("GAUSSCOPE_EMULATOR_LAG", 0));
}

thread_local int Runtime::current_device = 0;

namespace {

/// What can be asked without a context.
constexpr std::string_view kAsking[] = {
    "cudaGetDeviceCount",     "cudaGetDevice",        "cudaGetDeviceProperties",
    "cudaDeviceGetAttribute", "cudaDriverGetVersion", "cudaRuntimeGetVersion",
    "cudaGLGetDevices",       "cudaSetDevice"};  // the last says itself which it is

}  // namespace

cudaError_t Runtime::enter(const char* name) {
    count(name);
    if (std::find(std::begin(kAsking), std::end(kAsking), name) == std::end(kAsking))
        contexts.insert(current_device);
    switch (device) {
        case Device::absent:
            return fail(cudaErrorNoDevice);
        case Device::no_driver:
        case Device::old_driver:
            return fail(cudaErrorInsufficientDriver);
        default:
            return cudaSuccess;
    }
}

CUstream_st* Runtime::stream_of(cudaStream_t stream) {
    if (stream == nullptr) return &default_stream;
    if (!streams.contains(stream)) {
        throw EmulatorError(Fault::bad_pointer, "a stream that does not exist (any more) is used",
                            "", 0);
    }
    return stream;
}

void Runtime::enqueue(cudaStream_t handle, std::string name, bool kernel, Work work) {
    CUstream_st* const stream = stream_of(handle);
    if (stream->capture) {
        stream->capture->nodes.push_back({std::move(name), kernel, std::move(work)});
        if (stream != stream->capture->origin) stream->capture->unjoined.insert(stream);
        return;
    }
    if (kernel) {
        count("launch");
        count("launch:" + name);
    }
    stream->queries_left = event_lag;
    stream->pending.push_back(std::move(work));
    if (execution == Execution::eager || stream == &default_stream) {
        if (stream == &default_stream) {  // the default stream waits for every stream that was not
                                          // made to ignore it
            for (CUstream_st* other : streams) {
                if ((other->flags & cudaStreamNonBlocking) == 0) drain(other);
            }
        }
        drain(stream);
    }
}

bool Runtime::spoils_capture(CUstream_st* stream) {
    if (!stream->capture) return false;
    stream->capture->invalid = true;
    return true;
}

void Runtime::drain(CUstream_st* stream) {
    if (stream->pending.empty()) return;
    const Allocations::Reach reach(allocations);
    while (!stream->pending.empty()) {
        const Work work = std::move(stream->pending.front());
        stream->pending.pop_front();
        try {
            work();
        } catch (...) {
            stream->pending.clear();  // as on a device, nothing comes after a failure
            throw;
        }
    }
}

void Runtime::drain_all() {
    drain(&default_stream);
    for (CUstream_st* stream : streams) drain(stream);
}

void Runtime::drain_for_destructor() {
    try {
        drain_all();
    } catch (...) {
        if (std::uncaught_exceptions() == 0) throw;
    }
}

void Runtime::run_until(EventState& event, std::uint64_t number) {
    const Allocations::Reach reach(allocations);
    for (auto record = event.pending.find(number); record != event.pending.end();
         record = event.pending.find(number)) {
        CUstream_st* const stream = record->second;
        if (stream->pending.empty()) return;  // thrown away after a failure
        const Work work = std::move(stream->pending.front());
        stream->pending.pop_front();
        work();
    }
}

void Runtime::settle(CUstream_st* stream) {
    stream->queries_left = 0;
    for (CUevent_st* event : events) {
        if (event->state->stream == stream) event->state->queries_left = 0;
    }
}

// ---- emulator.h

namespace {

/// A lock of its own: blocks on other host threads report, too, while the runtime is held by the
/// one that launched.
std::mutex& report_mutex() {
    static auto* const mutex = new std::mutex;
    return *mutex;
}

}  // namespace

EmulatorError::EmulatorError(Fault fault_kind, const std::string& message, std::string file_name,
                             unsigned line_number)
    : std::logic_error(message), fault(fault_kind), file(std::move(file_name)), line(line_number) {
    const std::lock_guard lock(report_mutex());
    Runtime::instance().reports.push_back(message);
}
std::vector<std::string> take_reports() {
    const std::lock_guard lock(report_mutex());
    return std::exchange(Runtime::instance().reports, {});
}

void set_seed(std::uint64_t seed) { Runtime::instance().seed = seed; }
void set_deterministic(bool on) { Runtime::instance().deterministic = on; }
void set_together(unsigned blocks) { Runtime::instance().together = blocks; }
void set_separate_memory(bool on) { Runtime::instance().separate_memory = on; }
void set_execution(Execution execution) {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    if (execution == Execution::eager) runtime.drain_all();
    runtime.execution = execution;
}
void set_event_lag(unsigned queries) { Runtime::instance().event_lag = queries; }
void fail_device_allocation(std::uint64_t n) { Runtime::instance().failing_device_allocation = n; }
void fail_pinned_allocation(std::uint64_t n) { Runtime::instance().failing_pinned_allocation = n; }
void set_device_bytes(std::size_t total) { Runtime::instance().device_bytes = total; }
void set_device(Device device) {
    Runtime::instance().device = device;
    Runtime::instance().last_error = cudaSuccess;
}
void set_device_count(int count) { Runtime::instance().device_count = count; }
void set_gl_device(int index) { Runtime::instance().gl_device = index; }
std::vector<int> contexts() {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    return {runtime.contexts.begin(), runtime.contexts.end()};
}
void forget_contexts() {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    runtime.contexts.clear();
    Runtime::current_device = 0;
}
void set_array_writer(std::function<void(const ArrayWrite&)> writer) {
    Runtime::instance().array_writer = std::move(writer);
}

Calls calls() {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    return runtime.calls;
}
std::uint64_t calls(std::string_view name) {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    const auto found = runtime.calls.find(name);
    return found == runtime.calls.end() ? 0 : found->second;
}
Calls difference(const Calls& earlier, const Calls& later) {
    Calls more;
    for (const auto& [name, count] : later) {
        const auto before = earlier.find(name);
        const std::uint64_t added = count - (before == earlier.end() ? 0 : before->second);
        if (added != 0) more[name] = added;
    }
    return more;
}

namespace {

std::uint64_t sum_of(const Calls& calls, std::initializer_list<std::string_view> names) {
    std::uint64_t sum = 0;
    for (const std::string_view name : names) {
        const auto found = calls.find(name);
        if (found != calls.end()) sum += found->second;
    }
    return sum;
}

}  // namespace

std::uint64_t allocations(const Calls& calls) {
    return sum_of(calls,
                  {"cudaMalloc", "cudaFree", "cudaMallocHost", "cudaHostAlloc", "cudaFreeHost",
                   "cudaStreamCreateWithFlags", "cudaEventCreateWithFlags", "cudaGraphInstantiate",
                   "cudaGraphicsGLRegisterImage", "cudaGraphicsUnregisterResource"});
}
std::uint64_t synchronizations(const Calls& calls) {
    return sum_of(calls, {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize",
                          "implicit synchronization"});
}

std::vector<LiveAllocation> live_allocations() {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    std::vector<LiveAllocation> live;
    for (const auto& [first, one] : runtime.allocations.all()) {
        live.push_back({reinterpret_cast<const void*>(first), one.bytes, one.pinned});
    }
    return live;
}
LiveObjects live_objects() {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    return {runtime.streams.size(), runtime.events.size(), runtime.graphs.size(),
            runtime.executables.size(), runtime.graphics_resources.size()};
}
Statistics statistics() {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    return runtime.statistics;
}

namespace {

/// The last line of every test program that ran kernels says which backend it exercised; reports
/// that were swallowed on the way make it fail.
struct AtTheEnd {
    ~AtTheEnd() {
        const Statistics done = statistics();
        if (done.launches != 0) {
            std::printf("backends: CUDA kernels (emulated, %llu launches, %llu thread switches)\n",
                        static_cast<unsigned long long>(done.launches),
                        static_cast<unsigned long long>(done.switches));
        }
        const std::vector<std::string> reports = take_reports();
        for (const std::string& report : reports)
            std::fprintf(stderr, "emulator, not taken by a test: %s\n", report.c_str());
        std::fflush(stdout);
        if (!reports.empty()) std::_Exit(1);
    }
} at_the_end;

}  // namespace
}  // namespace gs::emulator
