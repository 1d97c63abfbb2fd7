// What a reader makes of a ring, as plain structs: times in nanoseconds of CLOCK_MONOTONIC, names and threads by
// number. A TraceBatch travels from the reader (collector thread) to the TraceStore (its one user).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gs {

/// A thread that recorded, numbered from 0 per reader. A lane that changes hands gets a new track.
struct TrackInfo {
    std::uint32_t track = 0;
    std::uint32_t pid = 0, tid = 0;
    std::string name;  ///< empty when the thread was not named
    bool ended = false;
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
    std::uint64_t dropped_strings = 0, truncated_strings = 0;
    std::uint64_t total() const { return lapped + dropped + malformed; }
};

struct TraceBatch {
    std::vector<TrackInfo> tracks;  ///< new or changed
    std::vector<NameInfo> names;    ///< new
    std::vector<SpanEvent> spans;   ///< per track in order of their ends
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
