// The recorder: this process's ring (abi.h) and the few words each thread needs to write to it.
// Nothing here blocks, throws or allocates on the recording path; what cannot be written is
// counted. Called through Span and friends (scope.h); programs only call start_recording(),
// set_recording() and ring_fd().
//
// The recorder reads no shared memory to decide where to write: head, depth and capacity live in
// ThreadLane, so nothing a reader could do to the mapping leads a write astray.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/record/abi.h"
#include "base/record/clock.h"

namespace gs {

/// A name in the ring's string arena. 0 is "no name". Valid in this process until it ends.
using StringId = std::uint32_t;

struct RecordingOptions {
    std::size_t bytes = abi::kHardCap;  ///< memory budget, clamped to [1 MiB, abi::kHardCap]; pages
                                        ///< are used as lanes fill
    bool armed = true;   ///< false: spans are recorded once set_recording(true) was called
    bool stages = true;  ///< names gausscope's stages and reports spans to NVTX tools; false in
                         ///< foreign programs
};

/// Makes the ring and starts recording; the first Span does it too. False when the ring cannot be
/// made (no memfd, no memory): then spans cost a flag test and nothing is recorded. After fork()
/// the child records nothing until it calls this itself.
bool start_recording(const RecordingOptions& options = {}) noexcept;

/// Switches recording off and on again: spans that begin while it is off are not recorded. Returns
/// what it was.
bool set_recording(bool on) noexcept;
bool is_recording() noexcept;

/// The memfd, owned by the recorder; dup() it to keep it. -1: no ring, or the program has closed
/// the descriptor. In a program that is not gausscope only for the thread that made the ring
/// (descriptors.h).
int ring_fd() noexcept;

/// A name and what else its entry says. Entries that differ in text, domain or flags are different
/// names; the first colour that one comes with is its colour.
struct StringKey {
    std::string_view text{};
    StringId domain = 0;      ///< name of its NVTX domain, 0: none
    std::uint32_t color = 0;  ///< abi::StringEntry::color
    std::uint32_t flags = 0;  ///< abi::StringEntry::flags
    bool numbered = false;    ///< may be one of very many that differ in their numbers only
};
/// The id of a name, the same for the same key. Cut to abi::kMaxStringBytes (counted); 0 when the
/// arena is full (counted) or there is no ring. A new name takes a lock: register once, not per
/// span.
StringId register_string(const StringKey& key) noexcept;
inline StringId register_string(const char* text, StringId domain = 0,
                                std::uint32_t color = 0) noexcept {
    if (text == nullptr) return 0;
    return register_string(StringKey{.text = text, .domain = domain, .color = color});
}
/// Names category `number` (a record has space for 1..255) of `domain`.
inline StringId register_category(std::string_view text, StringId domain,
                                  std::uint32_t number) noexcept {
    return register_string(
        StringKey{.text = text, .domain = domain, .flags = abi::kCategoryName | number << 8});
}

/// Puts {ticks, MONOTONIC, REALTIME, CUPTI} into the ring and renews the heartbeat. The collector
/// or the endpoint calls it every 100 ms.
void publish_clock_snapshot() noexcept;

namespace detail {

/// One thread's way into its lane. Private memory: readers cannot reach it.
struct ThreadLane {
    abi::Lane* lane = nullptr;  ///< null: no lane (not yet, refused, forked, or thread is leaving)
    std::uint64_t* records = nullptr;  ///< 4 words each
    std::uint64_t head = 0;
    std::uint32_t mask = 0;  ///< record_capacity - 1
    std::uint32_t depth = 0;
    std::uint32_t refused = 0;  ///< records to count as dropped before asking for a lane again
    std::uint32_t name = 0;
    // The injection library's: for which period of recording the lane was made ready, ranges open
    // that the budget left out, events left out and not yet counted.
    std::uint32_t period = 0, skipped = 0, uncounted = 0;
    bool leaving = false;
};

/// A lane of 64-byte records, as its one writer sees it (device_lane.h, activity_lane.h). Private
/// memory, as ThreadLane.
struct WideLane {
    abi::Lane* lane = nullptr;
    std::uint64_t* records = nullptr;  ///< 8 words each
    std::uint64_t head = 0;
    std::uint32_t mask = 0;
    std::uint32_t ring = 0;  ///< number of the ring it belongs to
    std::uint32_t name = 0;
    std::uint32_t refused = 0;
};
/// Gets `ref` a lane of the present ring; false when there is none (counted). Writes into no lane
/// of another ring: a fork takes the ring away.
bool take_wide_lane(abi::LaneKind kind, WideLane& ref) noexcept;
void release_wide_lane(WideLane& ref) noexcept;
/// Counts up whenever this process loses its ring (fork).
std::uint32_t ring_number() noexcept;
/// The index of `lane` in the directory.
std::uint32_t index_of(const abi::Lane& lane) noexcept;

/// How code finds a thread's lane. Programs find it at once in any case, because the linker knows
/// its place. The injection library asks for that too: it has little for each thread. The Python
/// module's library cannot, because CUDA's runtime in it has more than the loader gives to a
/// library that comes late.
#ifdef GS_INJECTED
#define GS_THREAD_LANE_MODEL __attribute__((tls_model("initial-exec")))
#else
#define GS_THREAD_LANE_MODEL
#endif
enum class RecorderState : int { off = 0, armed = 1, unstarted = 2 };
extern constinit std::atomic<int> recorder_state;
extern constinit thread_local ThreadLane thread_lane GS_THREAD_LANE_MODEL;
extern constinit bool nvtx_active;  ///< a tool listens to NVTX

/// The mapped ring; null: there is none.
abi::RingHeader* ring_header() noexcept;

/// thread_lane, for code that is not in a hurry.
ThreadLane& this_threads_lane() noexcept;
/// Calls the thread `name` in traces from now on; only for the calling thread's lane.
void name_lane(ThreadLane& thread, StringId name) noexcept;

/// Gets this thread a lane, starting the recorder if nobody has. False: this record is lost (and
/// counted).
bool take_lane(ThreadLane& thread) noexcept;
void nvtx_push(StringId name, std::uint64_t payload, bool has_payload) noexcept;
void nvtx_pop() noexcept;

/// A fence between two groups of relaxed accesses. ThreadSanitizer does not know fences (and sees
/// no race without them).
inline void fence(std::memory_order order) noexcept {
#if defined(__SANITIZE_THREAD__)
    static_cast<void>(order);
#else
    std::atomic_thread_fence(order);
#endif
}

template <class T>
inline void store(T& where, T value) noexcept {
    std::atomic_ref<T>(where).store(value, std::memory_order_relaxed);
}
template <class T>
inline void publish(T& where, T value) noexcept {
    std::atomic_ref<T>(where).store(value, std::memory_order_release);
}

/// The one way a record gets into a thread's lane.
inline void write_record_at(ThreadLane& t, std::uint64_t depth, abi::RecordKind kind,
                            std::uint64_t begin, std::uint64_t end, std::uint64_t payload,
                            StringId name, std::uint16_t flags) noexcept {
    std::uint64_t* words = t.records + 4 * (t.head & t.mask);
    // Orders these stores after the previous head: a reader that sees any of them also sees that
    // head (abi.h).
    fence(std::memory_order_release);
    store(words[0], begin);
    store(words[1], end);
    store(words[2], payload);
    store(words[3], std::uint64_t{name} | static_cast<std::uint64_t>(kind) << 32 | depth << 40 |
                        std::uint64_t{flags} << 48);
    publish(t.lane->head, ++t.head);
}
inline void write_record(ThreadLane& t, abi::RecordKind kind, std::uint64_t begin,
                         std::uint64_t end, std::uint64_t payload, StringId name,
                         std::uint16_t flags) noexcept {
    write_record_at(t, t.depth < 255 ? t.depth : 255, kind, begin, end, payload, name, flags);
}

/// The same for lanes of 64-byte records.
inline void write_wide(WideLane& t, const std::uint64_t (&record)[8]) noexcept {
    std::uint64_t* words = t.records + 8 * (t.head & t.mask);
    fence(std::memory_order_release);
    for (int i = 0; i < 8; ++i) store(words[i], record[i]);
    publish(t.lane->head, ++t.head);
}

/// True when this thread may write: recording is on and it has a lane.
inline bool ready(ThreadLane& t) noexcept {
    if (recorder_state.load(std::memory_order_relaxed) == static_cast<int>(RecorderState::off))
        return false;
    return t.lane != nullptr || take_lane(t);
}

/// Opens a range; its begin in ticks, 0 when it is not recorded.
inline std::uint64_t open_range(StringId name, std::uint64_t payload,
                                std::uint16_t flags) noexcept {
    ThreadLane& t = thread_lane;
    if (!ready(t)) return 0;
    const std::uint64_t begin = read_ticks();
    if (t.depth < abi::kStackSlots) [[likely]] {
        abi::OpenRange& slot = t.lane->stack[t.depth];
        // After the head that the last range left behind: readers that see this slot also see that.
        fence(std::memory_order_release);
        store(slot.begin, begin);
        store(slot.payload, payload);
        store(slot.name, name);
        store<std::uint32_t>(slot.flags, flags);
    }
    publish(t.lane->depth, ++t.depth);
    if (nvtx_active) [[unlikely]]
        nvtx_push(name, payload, flags & abi::kHasPayload);
    return begin;
}

inline void close_range(std::uint64_t begin, StringId name, std::uint64_t payload,
                        std::uint16_t flags) noexcept {
    if (begin == 0) return;
    const std::uint64_t end = read_ticks();
    if (nvtx_active) [[unlikely]]
        nvtx_pop();
    ThreadLane& t = thread_lane;
    // The lane may have gone meanwhile: fork() gives the child an empty ThreadLane, thread exit
    // too.
    if (t.lane == nullptr || t.depth == 0) return;
    publish(t.lane->depth, --t.depth);
    write_record(t, abi::RecordKind::span, begin, end, payload, name, flags);
}

}  // namespace detail
}  // namespace gs
