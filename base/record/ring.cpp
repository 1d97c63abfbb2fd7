#include "base/record/ring.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/record/descriptors.h"
#include "base/record/machine_counters.h"
#include "base/record/mutex.h"
#include "base/record/nvtx.h"
#include "base/record/process.h"
#include "base/record/scope.h"
#include "base/record/service_status.h"
#include "base/record/strings.h"

namespace gs {
namespace detail {

constinit bool ticks_are_counter = false;
constinit bool nvtx_active = false;
constinit std::atomic<int> recorder_state{static_cast<int>(RecorderState::unstarted)};
constinit thread_local ThreadLane thread_lane;

namespace {

// The process has one recorder, because threads outlive every object that could own it. It is never
// destroyed: other threads' spans may end after main() has returned.
struct Recorder {
    abi::RingHeader* header = nullptr;
    service::OwnedDescriptor fd;
    std::atomic_flag starting = ATOMIC_FLAG_INIT;
    // Guards lanes being taken and given back; held for nanoseconds, never while recording.
    pthread_mutex_t lanes = PTHREAD_MUTEX_INITIALIZER;
    bool fork_handler = false;
    std::uint32_t number = 0;  // of this ring; a fork ends it
};
constinit Recorder recorder;

abi::Lane* lane_at(std::uint32_t index) {
    auto* base = reinterpret_cast<std::byte*>(recorder.header) + recorder.header->lanes_offset;
    return reinterpret_cast<abi::Lane*>(base) + index;
}

// About a tenth of a second by any clock: several looks of a collector.
constexpr std::uint64_t kGraceTicks = 200'000'000;

constexpr std::uint64_t page_up(std::uint64_t bytes) {
    return (bytes + 4095) & ~std::uint64_t{4095};
}

void lay_out(abi::RingHeader& h, std::uint64_t total) {
    h.version = abi::kVersion;
    h.header_bytes = sizeof(abi::RingHeader);
    h.lane_bytes = sizeof(abi::Lane);
    h.record_bytes = sizeof(abi::Record);
    h.clock_bytes = sizeof(abi::ClockSnapshot);
    h.string_entry_bytes = sizeof(abi::StringEntry);
    h.total_bytes = total;
    h.lanes_offset = sizeof(abi::RingHeader);
    h.lane_count = abi::kLaneCount;
    h.stack_slots = abi::kStackSlots;
    h.arena_offset = page_up(h.lanes_offset + std::uint64_t{h.lane_count} * h.lane_bytes);
    h.arena_bytes = abi::kArenaBytes;
    h.rings_offset = h.arena_offset + h.arena_bytes;
    h.rings_bytes = total - h.rings_offset;
    h.tick_clock = static_cast<std::uint32_t>(ticks_are_counter ? abi::TickClock::counter
                                                                : abi::TickClock::monotonic_ns);
    h.start_realtime_ns = clock_ns(CLOCK_REALTIME);
}

/// Leaves this mapping the only one through which the memory can be written: seals it (Linux 5.1),
/// and reopens it without the right to write, which is all there is on older kernels. The
/// descriptor to hand out, in place of `fd`; -1 when neither is possible.
int seal_against_writing(int fd) {
    constexpr int kSealFutureWrite = 0x0010;  // F_SEAL_FUTURE_WRITE: older headers lack it
    const bool sealed = ::fcntl(fd, F_ADD_SEALS, kSealFutureWrite) == 0;
    char path[64];
    std::snprintf(path, sizeof path, "/proc/thread-self/fd/%d", fd);
    const int readable = ::open(path, O_RDONLY | O_CLOEXEC);
    if (readable < 0 && sealed) return fd;
    ::close(fd);
    return readable;
}

/// A sealed, mapped memfd of `bytes`; null when the system refuses.
void* make_memory(std::size_t bytes, service::OwnedDescriptor& fd_out) {
    // A file larger than it may make would end the program by SIGXFSZ.
    rlimit most{};
    if (::getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < bytes) return nullptr;
    const int fd = static_cast<int>(
        ::syscall(SYS_memfd_create, "gausscope-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd < 0) return nullptr;
    void* memory = MAP_FAILED;
    if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0 &&
        ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        ::close(fd);
        return nullptr;
    }
    fd_out = service::OwnedDescriptor(seal_against_writing(fd), true);
    return memory;
}

// The child shares the parent's pages: it must not write to them, nor take a lane in their
// directory.
void forget_in_child() noexcept {
    recorder_state.store(static_cast<int>(RecorderState::off), std::memory_order_relaxed);
    thread_lane = ThreadLane{};
    if (recorder.header != nullptr) ::munmap(recorder.header, recorder.header->total_bytes);
    recorder.fd.close();
    recorder.header = nullptr;
    ++recorder.number;
    string_table.detach();
    forget_snapshots_in_child();
    forget_machine_counters_in_child();
    recorder.starting.clear();
    ::pthread_mutex_init(&recorder.lanes, nullptr);
}

void register_stages(abi::RingHeader& header) {
    for (const char* name : kStageNames) string_table.add({.text = name});
    header.first_stage_string = string_of(Stage{});
    header.stage_count = static_cast<std::uint32_t>(kStageCount);
}

bool create_ring(const RecordingOptions& options) {
    const std::size_t budget = options.bytes;
    ticks_are_counter = has_invariant_counter();
    constexpr std::size_t kLeast = 1u << 20;
    const std::size_t bytes = (budget < kLeast          ? kLeast
                               : budget > abi::kHardCap ? abi::kHardCap
                                                        : budget) &
                              ~std::size_t{4095};
    void* memory = make_memory(bytes, recorder.fd);
    if (memory == nullptr) return false;
    auto* header = new (memory) abi::RingHeader;  // leaves the zeros of the fresh pages as they are
    lay_out(*header, bytes);
    describe_process(*header);
    recorder.header = header;
    string_table.attach(*header);
    if (options.stages) register_stages(*header);
    publish_clock_snapshot();
    // A second one soon, so that readers have a first rate: error 1e-4 here, steered away as
    // snapshots follow.
    const std::uint64_t until = monotonic_ns() + 300'000;
    while (monotonic_ns() < until) {
    }
    publish_clock_snapshot();
    store(header->armed, options.armed ? 1u : 0u);
    publish(header->magic, abi::kMagic);
    if (!recorder.fork_handler)
        recorder.fork_handler = ::pthread_atfork(nullptr, nullptr, forget_in_child) == 0;
    nvtx_active = options.stages && nvtx_listens();
    return true;
}

// ---- lanes ----

/// Bytes for the next new lane: an eighth of what is not needed to give every later lane 32 KiB, 1
/// MiB at most. So the first threads, which are the ones that matter, get long lanes, and all 128
/// get one. The activity lane bears what all streams and threads do, in bursts: half of it, 4 MiB
/// at most.
std::uint64_t bytes_for(abi::LaneKind kind, std::uint64_t bytes_left, std::uint64_t lanes_left) {
    const bool activity = kind == abi::LaneKind::activity;
    constexpr std::uint64_t kFewest = 32u << 10;
    const std::uint64_t most = activity ? 4u << 20 : 1u << 20;
    const std::uint64_t reserved = lanes_left * kFewest;
    const std::uint64_t extra =
        bytes_left > reserved ? (bytes_left - reserved) / (activity ? 2 : 8) : 0;
    const std::uint64_t equal = bytes_left / lanes_left;
    return std::bit_floor(std::max(std::min(extra, most), std::min(equal, kFewest)));
}

abi::Lane* fresh_lane(abi::LaneKind kind) {
    abi::RingHeader& h = *recorder.header;
    if (h.lanes_used >= h.lane_count) return nullptr;
    const std::uint64_t bytes =
        bytes_for(kind, h.rings_bytes - h.rings_used, h.lane_count - h.lanes_used);
    const std::uint32_t record_bytes =
        kind == abi::LaneKind::thread ? sizeof(abi::Record) : sizeof(abi::DeviceRecord);
    const auto records = static_cast<std::uint32_t>(bytes / record_bytes);
    if (records == 0) return nullptr;
    abi::Lane* lane = lane_at(h.lanes_used);
    lane->records_offset = h.rings_offset + h.rings_used;
    lane->record_capacity = records;
    lane->record_bytes = record_bytes;
    lane->kind = static_cast<std::uint32_t>(kind);
    store(h.rings_used, h.rings_used + bytes);
    publish(h.lanes_used, h.lanes_used + 1);
    return lane;
}

bool is_left(const abi::Lane& lane, abi::LaneKind kind) {
    return lane.state == static_cast<std::uint32_t>(abi::LaneState::released) &&
           lane.kind == static_cast<std::uint32_t>(kind);
}

/// The longest of the lanes left at least `grace` ticks ago: readers had time to see their last
/// records.
abi::Lane* settled_lane(abi::LaneKind kind, std::uint64_t grace) {
    const std::uint64_t now = read_ticks();
    abi::Lane* best = nullptr;
    for (std::uint32_t i = 0; i < recorder.header->lanes_used; ++i) {
        abi::Lane* lane = lane_at(i);
        const bool settled = is_left(*lane, kind) && now - lane->released_at >= grace;
        if (settled && (best == nullptr || lane->record_capacity > best->record_capacity))
            best = lane;
    }
    return best;
}

/// The lane left longest ago, however short that is.
abi::Lane* oldest_left_lane(abi::LaneKind kind) {
    abi::Lane* best = nullptr;
    for (std::uint32_t i = 0; i < recorder.header->lanes_used; ++i) {
        abi::Lane* lane = lane_at(i);
        if (!is_left(*lane, kind)) continue;
        if (best == nullptr || lane->released_at < best->released_at) best = lane;
    }
    return best;
}

abi::Lane* some_lane(abi::LaneKind kind) {
    abi::Lane* lane = settled_lane(kind, kGraceTicks);
    if (lane == nullptr) lane = fresh_lane(kind);
    return lane == nullptr ? oldest_left_lane(kind) : lane;
}

std::uint64_t* records_of(const abi::Lane& lane) {
    return reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(recorder.header) +
                                            lane.records_offset);
}

/// Writes the new owner into the lane; readers follow `generation`.
void sign(abi::Lane& lane, std::uint32_t tid, std::uint32_t name) {
    store(lane.tid, tid);
    store(lane.name, name);
    store(lane.owner_first, lane.head);
    store(lane.depth, 0u);
    publish(lane.generation, lane.generation + 1);
    publish(lane.state, static_cast<std::uint32_t>(abi::LaneState::owned));
}

/// Gives the lane back when its thread ends. Not the main thread's: that one runs this in exit(),
/// before the static destructors, which may also record.
struct LaneReturner {
    bool used = false;
    ~LaneReturner() {
        if (::syscall(SYS_gettid) == ::getpid()) return;
        ThreadLane& t = thread_lane;
        if (t.lane != nullptr && recorder.header != nullptr) {
            const std::uint64_t now = read_ticks();
            write_record(t, abi::RecordKind::thread_end, now, now, 0, t.name, 0);
            const Locked lock(recorder.lanes);
            publish(t.lane->depth, 0u);
            t.lane->released_at = now;
            publish(t.lane->state, static_cast<std::uint32_t>(abi::LaneState::released));
        }
        t = ThreadLane{};
        t.leaving = true;  // spans in later thread_local destructors are lost and counted
    }
};
thread_local LaneReturner lane_returner;

void occupy(ThreadLane& t, abi::Lane* lane) {
    const auto tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    t.lane = lane;
    t.head = lane->head;
    t.depth = 0;
    t.mask = lane->record_capacity - 1;
    t.records = records_of(*lane);
    sign(*lane, tid, t.name);
    const std::uint64_t now = read_ticks();
    write_record(t, abi::RecordKind::thread_begin, now, now, tid, t.name, abi::kHasPayload);
}

/// False while another thread is still making it.
bool has_ring() {
    return recorder_state.load(std::memory_order_acquire) !=
               static_cast<int>(RecorderState::unstarted) &&
           recorder.header != nullptr;
}

void count_dropped() { count(&abi::RingHeader::dropped_records); }

}  // namespace

ThreadLane& this_threads_lane() noexcept { return thread_lane; }

abi::RingHeader* ring_header() noexcept { return recorder.header; }

bool take_lane(ThreadLane& t) noexcept {
    if (recorder_state.load(std::memory_order_relaxed) ==
        static_cast<int>(RecorderState::unstarted))
        start_recording();
    if (recorder_state.load(std::memory_order_acquire) != static_cast<int>(RecorderState::armed))
        return false;
    if (t.leaving || t.refused > 0) {
        if (t.refused > 0) --t.refused;
        count_dropped();
        return false;
    }
    lane_returner.used = true;  // registers its destructor with this thread
    {
        const Locked lock(recorder.lanes);
        if (abi::Lane* lane = some_lane(abi::LaneKind::thread)) occupy(t, lane);
    }
    if (t.lane != nullptr) return true;
    t.refused = 1000;
    count_dropped();
    return false;
}

void name_lane(ThreadLane& t, StringId name) noexcept {
    t.name = name;
    if (t.lane == nullptr) return;  // take_lane() passes the name on
    store(t.lane->name, t.name);
    const std::uint64_t now = read_ticks();
    write_record(t, abi::RecordKind::thread_name, now, now, 0, t.name, 0);
}

std::uint32_t ring_number() noexcept { return recorder.number; }

std::uint32_t index_of(const abi::Lane& lane) noexcept {
    return static_cast<std::uint32_t>(&lane - lane_at(0));
}

bool take_wide_lane(abi::LaneKind kind, WideLane& ref) noexcept {
    if (ref.refused > 0) {
        --ref.refused;
        count_dropped();
        return false;
    }
    const Locked lock(recorder.lanes);
    abi::Lane* lane = some_lane(kind);
    if (lane == nullptr) {
        ref.refused = 1000;
        count_dropped();
        return false;
    }
    ref.lane = lane;
    ref.records = records_of(*lane);
    ref.head = lane->head;
    ref.mask = lane->record_capacity - 1;
    ref.ring = recorder.number;
    sign(*lane, 0, ref.name);
    return true;
}

void release_wide_lane(WideLane& ref) noexcept {
    if (ref.lane != nullptr && recorder.header != nullptr && ref.ring == recorder.number) {
        const Locked lock(recorder.lanes);
        ref.lane->released_at = read_ticks();
        publish(ref.lane->state, static_cast<std::uint32_t>(abi::LaneState::released));
    }
    ref.lane = nullptr;
}

}  // namespace detail

bool start_recording(const RecordingOptions& options) noexcept {
    using namespace detail;
    constexpr int kArmed = static_cast<int>(RecorderState::armed),
                  kOff = static_cast<int>(RecorderState::off);
    if (recorder_state.load(std::memory_order_acquire) == kArmed) return true;
    // Whoever comes second while the ring is being made records nothing yet, rather than wait.
    if (recorder.starting.test_and_set(std::memory_order_acquire))
        return set_recording(true) || is_recording();
    const bool made = create_ring(options);
    recorder_state.store(made && options.armed ? kArmed : kOff, std::memory_order_release);
    return made;
}

bool set_recording(bool on) noexcept {
    using namespace detail;
    const bool was = is_recording();
    if (!has_ring()) return was;
    recorder_state.store(static_cast<int>(on ? RecorderState::armed : RecorderState::off),
                         std::memory_order_release);
    store(recorder.header->armed, on ? 1u : 0u);
    return was;
}

bool is_recording() noexcept {
    return detail::recorder_state.load(std::memory_order_acquire) ==
           static_cast<int>(detail::RecorderState::armed);
}

int ring_fd() noexcept { return detail::has_ring() ? detail::recorder.fd.get() : -1; }

StringId register_string(const StringKey& key) noexcept {
    using namespace detail;
    if (recorder_state.load(std::memory_order_acquire) ==
        static_cast<int>(RecorderState::unstarted))
        start_recording();
    return has_ring() ? string_table.add(key) : 0;
}

void name_this_thread(const char* name) noexcept {
    using namespace detail;
    // The first thread's name is what top and pgrep call the process.
    if (::gettid() != ::getpid()) {
        char system_name[16] = {};
        std::strncpy(system_name, name, sizeof system_name - 1);
        ::pthread_setname_np(::pthread_self(), system_name);
    }
    name_lane(thread_lane, register_string(name));
}

}  // namespace gs
