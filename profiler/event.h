// What a reader makes of a ring, as plain structs: times in nanoseconds of CLOCK_MONOTONIC, names and threads by
// number. A TraceBatch travels from the reader (collector thread) to the TraceStore (its one user).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gs {

/// What a track shows: a host thread, or the work of one GPU stream.
enum class TrackKind : std::uint8_t { thread, gpu_stream };
inline constexpr std::uint32_t kNoTrack = ~0u;

/// A thread that recorded, or a GPU stream; numbered from 0 per reader. A lane that changes hands gets a new track.
struct TrackInfo {
    std::uint32_t track = 0;
    std::uint32_t pid = 0, tid = 0;
    std::string name;  ///< empty when the thread was not named
    bool ended = false;
    TrackKind kind = TrackKind::thread;
};
struct NameInfo {
    std::uint32_t name = 0;  ///< string id, from 1
    std::string text;
};
struct SpanEvent {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t track = 0, name = 0;
    std::uint8_t depth = 0;
    bool has_payload = false;
};
/// A piece of GPU work and the span that launched it: the one of track `launch_track` at depth `launch_depth` that
/// began at `launch_ns`. launch_track is kNoTrack when that is not known.
struct DeviceSpanEvent {
    SpanEvent span;
    std::int64_t launch_ns = 0;
    std::uint64_t correlation = 0;  ///< 1, 2, 3, ... per stream in order of launch
    std::uint32_t launch_track = kNoTrack;
    std::uint8_t launch_depth = 0;
};
struct CounterEvent {
    std::int64_t time_ns = 0;
    double value = 0;
    std::uint32_t track = 0, name = 0;
};
struct InstantEvent {
    std::int64_t time_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t track = 0, name = 0;
};
/// A range that was open when the reader looked: what a thread is doing now, or did when its process died.
struct OpenSpan {
    std::int64_t begin_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t track = 0, name = 0;
    std::uint8_t depth = 0;
};

/// Everything lost, by reason; totals since the ring began.
struct LossCounts {
    std::uint64_t lapped = 0;     ///< overwritten before the reader came (of this reader)
    std::uint64_t dropped = 0;    ///< not recorded: the thread got no lane
    std::uint64_t malformed = 0;  ///< records that cannot be true (of this reader)
    std::uint64_t untimed = 0;    ///< GPU work that was launched and not timed: all event pairs were in use
    std::uint64_t dropped_strings = 0, truncated_strings = 0;
    std::uint64_t total() const { return lapped + dropped + malformed + untimed; }
};

struct TraceBatch {
    std::vector<TrackInfo> tracks;              ///< new or changed
    std::vector<NameInfo> names;                ///< new
    std::vector<SpanEvent> spans;               ///< per track in order of their ends
    std::vector<DeviceSpanEvent> device_spans;  ///< per track and depth in order
    std::vector<CounterEvent> counters;
    std::vector<InstantEvent> instants;
    std::vector<OpenSpan> open;  ///< all that are open now; replaces what was open before
    LossCounts loss;
    std::uint64_t written = 0;  ///< records written since the ring began
    std::uint32_t pid = 0;
    std::string process_name;
    std::int64_t read_ns = 0;             ///< when the ring was read, 0: an empty batch
    std::int64_t realtime_offset_ns = 0;  ///< REALTIME - MONOTONIC
    std::int64_t collector_cpu_ns = 0;    ///< CPU time the collecting thread has used in all
};

}  // namespace gs
