#include "profiler/inject/cupti_session.h"

#include <dlfcn.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "base/record/clock.h"
#include "base/record/service_status.h"
#include "profiler/inject/cupti_names.h"
#include "profiler/inject/cupti_sink.h"

namespace gs::inject::cupti {
namespace {

// ---- the GPUs of this process for the ring's table: what the occupancy of a kernel follows from.
// The CUDA driver that the program has initialised is asked for attributes, which needs no context
// and starts nothing.

/// CUdevice_attribute.
enum Attribute : int {
    kSharedPerBlock = 8,
    kClock = 13,
    kMultiprocessors = 16,
    kPciBus = 33,
    kPciDevice = 34,
    kMemoryClock = 36,
    kMemoryBusBits = 37,
    kL2Bytes = 38,
    kThreadsPerMultiprocessor = 39,
    kPciDomain = 50,
    kComputeMajor = 75,
    kComputeMinor = 76,
    kSharedPerMultiprocessor = 81,
    kRegistersPerMultiprocessor = 82,
    kBlocksPerMultiprocessor = 106,
};

struct Driver {
    int (*count)(int*) = nullptr;
    int (*device)(int*, int ordinal) = nullptr;
    int (*name)(char*, int, int device) = nullptr;
    int (*attribute)(int*, int attribute, int device) = nullptr;
    int (*memory)(std::size_t*, int device) = nullptr;
    int (*uuid)(void*, int device) = nullptr;

    explicit Driver(void* library) noexcept {
        find(library, count, "cuDeviceGetCount");
        find(library, device, "cuDeviceGet");
        find(library, name, "cuDeviceGetName");
        find(library, attribute, "cuDeviceGetAttribute");
        find(library, memory, "cuDeviceTotalMem_v2");
        find(library, uuid, "cuDeviceGetUuid_v2");
        if (uuid == nullptr) find(library, uuid, "cuDeviceGetUuid");
    }
    bool complete() const noexcept {
        return count != nullptr && device != nullptr && name != nullptr && attribute != nullptr;
    }
    template <class F>
    static void find(void* library, F& f, const char* symbol) noexcept {
        f = reinterpret_cast<F>(::dlsym(library, symbol));
    }
    /// 0 where the driver does not tell.
    std::uint32_t get(Attribute which, int of) const noexcept {
        int value = 0;
        return attribute(&value, which, of) == 0 && value > 0 ? static_cast<std::uint32_t>(value)
                                                              : 0;
    }
};

abi::GpuDevice describe(const Driver& driver, int device) noexcept {
    const auto get = [&](Attribute a) { return driver.get(a, device); };
    abi::GpuDevice d{};
    char name[gs::abi::kMaxStringBytes + 1] = "GPU";
    driver.name(name, static_cast<int>(sizeof name) - 1, device);
    d.name = register_string(name);
    d.compute_major = static_cast<std::uint16_t>(get(kComputeMajor));
    d.compute_minor = static_cast<std::uint16_t>(get(kComputeMinor));
    d.multiprocessors = get(kMultiprocessors);
    d.warps_per_multiprocessor = get(kThreadsPerMultiprocessor) / 32;
    d.blocks_per_multiprocessor = get(kBlocksPerMultiprocessor);
    d.registers_per_multiprocessor = get(kRegistersPerMultiprocessor);
    d.shared_per_multiprocessor = get(kSharedPerMultiprocessor);
    d.shared_per_block = get(kSharedPerBlock);
    d.clock_khz = get(kClock);
    d.memory_clock_khz = get(kMemoryClock);
    d.memory_bus_bits = get(kMemoryBusBits);
    d.l2_bytes = get(kL2Bytes);
    d.pci_domain = get(kPciDomain);
    d.pci_bus = get(kPciBus);
    d.pci_device = get(kPciDevice);
    std::size_t bytes = 0;
    if (driver.memory != nullptr && driver.memory(&bytes, device) == 0) d.memory_bytes = bytes;
    if (driver.uuid != nullptr) driver.uuid(d.uuid, device);
    return d;
}

bool publish_gpu_devices() noexcept {
    void* library = mapped_driver();
    if (library == nullptr) return false;
    const Driver driver(library);
    int count = 0;
    if (!driver.complete() || driver.count(&count) != 0) return false;
    count = std::min(count, static_cast<int>(abi::kGpuSlots));
    for (int i = 0; i < count; ++i) {
        int device = 0;
        if (driver.device(&device, i) == 0)
            write_gpu_device(static_cast<std::uint32_t>(i), describe(driver, device));
    }
    return count > 0;
}

struct KindChoice {
    std::uint32_t kind;
    const char* name;
};
/// Kernels as they overlap: kind 3 would serialise them.
constexpr KindChoice kKinds[] = {
    {kConcurrentKernel, "kernels"},
    {kMemcpy, "copies"},
    {kMemcpyPeer, "copies between GPUs"},
    {kMemset, "fills"},
    {kSynchronization, "waits"},
    {kOverhead, "overheads"},
    {kMemory, "allocations"},
    {kGraphTrace, "whole graphs"},
};

/// So long CUPTI may go without a buffer before we ask whether it has nothing to tell.
constexpr std::uint64_t kQuietNs = 5'000'000'000;
/// Work launched before kinds were enabled has run if nothing is reported for this long.
constexpr std::uint64_t kCatchUpNs = 500'000'000;

// What the callback at the end of a CUDA call, on any thread, and the session share.
enum class Leaving : int { no, wanted, under_way, done };
constinit std::atomic<Leaving> leaving{Leaving::no};
constinit std::atomic<std::uint64_t> calls_seen{0};  // that CUPTI has to report
constinit std::atomic<Result (*)()> finalize{nullptr};
constinit std::atomic<Result (*)(std::uint64_t*)> timestamp{nullptr};

void at_cuda_call(void*, int domain, std::uint32_t cbid, const void* data) noexcept {
    if (data == nullptr || (domain != kDriverDomain && domain != kRuntimeDomain)) return;
    if (static_cast<const CallbackHead*>(data)->site != kApiExit) return;
    if (sink::call_is_recorded(domain == kDriverDomain, cbid))
        calls_seen.fetch_add(1, std::memory_order_relaxed);
    Leaving expected = Leaving::wanted;
    if (!leaving.compare_exchange_strong(expected, Leaving::under_way, std::memory_order_acq_rel))
        return;
    finalize.load(std::memory_order_acquire)();
    leaving.store(Leaving::done, std::memory_order_release);
}

std::uint64_t read_cupti_clock() noexcept {
    std::uint64_t now = 0;
    auto* read = timestamp.load(std::memory_order_acquire);
    return read != nullptr && read(&now) == kSuccess ? now : 0;
}

}  // namespace

Result Session::subscribe(char* holder) noexcept {
    if (library_.f.Subscribe_v2 == nullptr)
        return library_.f.Subscribe(&subscriber_, at_cuda_call, nullptr);
    SubscriberParams params{sizeof(SubscriberParams), "gausscope", holder, 64};
    return library_.f.Subscribe_v2(&subscriber_, at_cuda_call, nullptr, &params);
}

bool Session::take(char* why, bool& held) noexcept {
    held = false;
    if (!library_.open(why)) return false;
    char holder[65] = {};
    const Result result = subscribe(holder);
    held = result == kMultipleSubscribers;
    if (held)
        std::snprintf(why, kReasonBytes, "CUPTI is in use by %s",
                      holder[0] != '\0' ? holder : "another tool");
    else if (result != kSuccess)
        std::snprintf(why, kReasonBytes, "CUPTI: %s (%d)", library_.text_of(result), result);
    if (result != kSuccess) return false;
    taken_ = true;
    const Functions& f = library_.f;
    // Without this, API records bear pthread_self() instead of the kernel's thread id.
    if (f.SetThreadIdType != nullptr) f.SetThreadIdType(kThreadIdSystem);
    timestamp.store(f.GetTimestamp, std::memory_order_release);
    finalize.store(f.Finalize, std::memory_order_release);
    // The program may have given all the GPU's memory out. Refused where it cannot be.
    set_attribute(kHostPinned, 1);
    set_attribute(kZeroedBuffers, 1);
    if (sink::begin(f, *library_.layouts, library_.version) &&
        f.ActivityRegisterCallbacks(sink::requested, sink::completed) == kSuccess)
        return true;
    std::snprintf(why, kReasonBytes, "CUPTI accepts no buffers");
    f.Unsubscribe(subscriber_);
    forget();
    return false;
}

void Session::set_attribute(std::uint32_t attribute, std::uint8_t value) noexcept {
    std::size_t size = sizeof value;
    if (library_.f.ActivitySetAttribute != nullptr)
        library_.f.ActivitySetAttribute(attribute, &size, &value);
}

Result Session::enable_calls() noexcept {
    const Functions& f = library_.f;
    if (f.ActivityEnableRuntimeApi == nullptr || f.ActivityEnableDriverApi == nullptr) {
        const Result runtime = f.ActivityEnable(kRuntime);
        return runtime != kSuccess ? runtime : f.ActivityEnable(kDriver);
    }
    Result worst = kSuccess;
    for (std::uint32_t cbid = 1; cbid < ApiCalls::kNumbers; ++cbid) {
        if (sink::call_is_recorded(false, cbid))
            if (const Result r = f.ActivityEnableRuntimeApi(cbid, 1); r != kSuccess) worst = r;
        if (sink::call_is_recorded(true, cbid))
            if (const Result r = f.ActivityEnableDriverApi(cbid, 1); r != kSuccess) worst = r;
    }
    return worst;
}

bool Session::switch_on(bool nodes, char* why, bool& held) noexcept {
    const Functions& f = library_.f;
    why[0] = '\0';
    held = false;
    // Queries that found work unfinished are no waits.
    if (f.ActivityEnableAllSyncRecords != nullptr) f.ActivityEnableAllSyncRecords(0);
    std::size_t said = 0;
    const auto refused = [&](const char* what, Result result) {
        if (said < kReasonBytes)
            said += static_cast<std::size_t>(
                std::snprintf(why + said, kReasonBytes - said, "%s%s: %s",
                              said == 0 ? "without " : ", ", what, library_.text_of(result)));
    };
    for (const KindChoice& choice : kKinds) {
        // Both at once, nodes and graphs, CUPTI does not tell.
        if (nodes && choice.kind == kGraphTrace) continue;
        const Result result = f.ActivityEnable(choice.kind);
        if (result == kSuccess) continue;
        refused(choice.name, result);
        held = result == kMultipleSubscribers;
        if (choice.kind == kConcurrentKernel) return false;
    }
    if (const Result result = enable_calls(); result != kSuccess) refused("CUDA calls", result);
    kinds_on_ = true;
    nodes_ = nodes;
    told_at_switch_ = sink::gpu_told();
    quiet_since_ = monotonic_ns();
    return true;
}

void Session::switch_off() noexcept {
    const Functions& f = library_.f;
    for (const KindChoice& choice : kKinds)
        if (!nodes_ || choice.kind != kGraphTrace) f.ActivityDisable(choice.kind);
    // Also undoes what was enabled call by call.
    f.ActivityDisable(kRuntime);
    f.ActivityDisable(kDriver);
    kinds_on_ = false;
    if (looks_) watch_calls(false);
    looks_ = suspects_ = false;
}

void Session::tell_nodes(bool nodes) noexcept {
    if (nodes == nodes_) return;
    nodes ? library_.f.ActivityDisable(kGraphTrace) : library_.f.ActivityEnable(kGraphTrace);
    nodes_ = nodes;
}

void Session::pause(bool on) noexcept {
    if (on == paused_) return;
    paused_ = on;
    const std::uint64_t now = read_cupti_clock();
    on ? sink::begin_pause(now) : sink::end_pause(now);
}

bool Session::has_caught_up() const noexcept {
    return sink::gpu_told() != told_at_switch_ || monotonic_ns() - quiet_since_ >= kCatchUpNs;
}

void Session::collect(bool forced) noexcept {
    if (!devices_known_) devices_known_ = publish_gpu_devices();
    const std::uint64_t flushed = monotonic_ns();
    // Nothing is on and nothing is to come: CUPTI is left alone.
    if (!kinds_on_ && !forced && sink::nothing_out()) return set_cupti_complete(flushed);
    library_.f.ActivityFlushAll(forced ? kFlushForced : 0);
    set_cupti_complete(sink::complete_until(flushed));
    std::size_t dropped = 0;
    if (library_.f.ActivityGetNumDroppedRecords(nullptr, 0, &dropped) == kSuccess)
        dropped_ += dropped;
    set_cupti_dropped(dropped_ + sink::lost());
    // CUPTI's clock settles when the GPU is up; its first records show that it is.
    if (clock_set_ || sink::written() == 0) return;
    set_cupti_clock(read_cupti_clock);
    publish_clock_snapshot();
    clock_set_ = true;
}

void Session::watch_calls(bool on) noexcept {
    library_.f.EnableDomain(on ? 1 : 0, subscriber_, kRuntimeDomain);
    library_.f.EnableDomain(on ? 1 : 0, subscriber_, kDriverDomain);
}

bool Session::was_robbed() noexcept {
    const std::uint64_t now = monotonic_ns(), visits = sink::visits();
    if (!kinds_on_ || visits != visits_) {
        visits_ = visits;
        quiet_since_ = now;
        if (looks_) watch_calls(false);
        looks_ = suspects_ = false;
        return false;
    }
    if (now - quiet_since_ < kQuietNs) return false;
    if (!looks_) {
        calls_seen.store(0, std::memory_order_relaxed);
        watch_calls(looks_ = true);
        return false;
    }
    // The next flush brings their records, if any.
    const bool suspected = suspects_;
    suspects_ = calls_seen.load(std::memory_order_relaxed) > sink::calls_without_visit();
    return suspected && suspects_;
}

/// Before CUDA 12.6 a program that uses graphs crashes when CUPTI is acquired again after it was
/// finalised.
bool Session::may_detach() const noexcept {
    return library_.f.Finalize != nullptr &&
           (library_.version >= kSafeFinalize || !sink::graph_seen());
}

void Session::begin_leaving() noexcept {
    pause(false);
    if (kinds_on_) switch_off();
    collect(true);
    if (clock_set_) publish_clock_snapshot();  // the last records lie between two snapshots
    set_cupti_clock(nullptr);
    clock_set_ = false;
    if (!may_detach()) return leave_now();
    leaving.store(Leaving::wanted, std::memory_order_release);
    watch_calls(true);
}

bool Session::is_leaving() const noexcept {
    return leaving.load(std::memory_order_acquire) != Leaving::no;
}

bool Session::has_left() noexcept {
    if (leaving.load(std::memory_order_acquire) != Leaving::done) return !taken_;
    forget_detached();
    return true;
}

void Session::leave_now() noexcept {
    Leaving expected = Leaving::wanted;
    const bool called_off =
        leaving.compare_exchange_strong(expected, Leaving::no, std::memory_order_acq_rel);
    if (!called_off && expected != Leaving::no) {
        // A thread is detaching this very moment; that takes milliseconds.
        while (leaving.load(std::memory_order_acquire) == Leaving::under_way) ::sched_yield();
        return forget_detached();
    }
    if (called_off) watch_calls(false);
    set_attribute(kZeroedBuffers, 0);  // whoever comes next has not promised it
    library_.f.Unsubscribe(subscriber_);
    forget();
}

void Session::stay() noexcept {
    Leaving expected = Leaving::wanted;
    if (leaving.compare_exchange_strong(expected, Leaving::no, std::memory_order_acq_rel))
        watch_calls(false);
}

void Session::forget() noexcept {
    leaving.store(Leaving::no, std::memory_order_release);
    taken_ = kinds_on_ = looks_ = suspects_ = false;
    set_cupti_complete(0);
    subscriber_ = nullptr;
}

void Session::forget_detached() noexcept {
    forget();
    sink::recall_buffers();
}

}  // namespace gs::inject::cupti
