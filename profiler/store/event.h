// What a reader makes of a ring, as plain structs: times in nanoseconds of CLOCK_MONOTONIC, names
// and threads by number. A TraceBatch travels from the reader (collector thread) to the TraceStore
// (its one user).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/store/gpu_event.h"
#include "profiler/store/sample_event.h"

namespace gs {

/// What a track shows.
enum class TrackKind : std::uint8_t {
    thread,       ///< nested ranges of a host thread
    gpu_stream,   ///< the work of one stream of a GPU
    api,          ///< CUDA calls of a host thread; tid is that thread's
    overlapping,  ///< ranges of a process that may overlap (NVTX start/end), spread over rows so
                  ///< that none do
    overhead,     ///< time the driver or the tool took, of a host thread
};
inline constexpr std::size_t kTrackKinds = 5;

/// A thread that recorded, or a GPU stream; numbered from 0 per reader. A lane that changes hands
/// gets a new track.
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
    std::string domain = {};  ///< NVTX domain, empty: none
    std::uint32_t color = 0;  ///< 0xRRGGBB | 1 << 24 when the producer chose one, else 0
    std::uint32_t category =
        0;  ///< not 0: `text` is what `domain` calls this category of its ranges
};
struct SpanEvent {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t track = 0, name = 0;
    std::uint8_t depth = 0;
    bool has_payload = false;
    PayloadKind payload_kind = PayloadKind::whole;
    std::uint8_t category = 0;  ///< number of an NVTX category of the name's domain, 0: none
};
/// A span of a stream's track as a stage timer measured it; `launch` by the source's numbers.
inline GpuWorkEvent stage_work(const SpanEvent& span, const TraceLaunch& launch = {},
                               std::uint64_t correlation = 0) {
    return {.begin_ns = span.begin_ns,
            .end_ns = span.end_ns,
            .correlation = correlation,
            .name = span.name,
            .kind = GpuWorkKind::stage,
            .track = span.track,
            .launch = launch,
            .payload = span.payload,
            .depth = span.depth,
            .has_payload = span.has_payload,
            .payload_kind = span.payload_kind,
            .category = span.category};
}
struct CounterEvent {
    std::int64_t time_ns = 0;
    double value = 0;
    std::uint32_t track = 0, name = 0;
};
struct InstantEvent {
    std::int64_t time_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t track = 0, name = 0;
    PayloadKind payload_kind = PayloadKind::whole;
};
/// A range that need not nest: NVTX start/end.
struct AsyncSpanEvent {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t track = 0, name = 0;  ///< the thread that ended it
    bool has_payload = false;
    PayloadKind payload_kind = PayloadKind::whole;
    std::uint8_t category = 0;
};
/// One of the named values that a range of a thread has beyond its payload. It comes before the
/// range's span, usually when the range begins. For a mark: the mark's time, depth 255.
struct RangeValueEvent {
    std::int64_t begin_ns = 0;  ///< of the range
    std::uint64_t value = 0;
    std::uint32_t track = 0, name = 0;
    std::uint8_t depth = 0;
    PayloadKind kind = PayloadKind::whole;
};
/// A range that was open when the reader looked: what a thread is doing now, or did when its
/// process died.
struct OpenSpan {
    std::int64_t begin_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t track = 0, name = 0;
    std::uint8_t depth = 0;
    std::int64_t end_ns = 0;  ///< when its process ended, where a file says so, else 0
};

/// A stretch in which the budget held recording back: what is not there was not recorded.
struct PauseEvent {
    std::int64_t begin_ns = 0, end_ns = 0;
    bool ranges = false;  ///< outermost ranges that began in it
    bool gpu = false;     ///< GPU work and CUDA calls, and inner ranges
};

/// Everything lost, by reason; totals since the ring began.
struct LossCounts {
    std::uint64_t lapped = 0;     ///< overwritten before the reader came (of this reader)
    std::uint64_t dropped = 0;    ///< not recorded: the thread got no lane
    std::uint64_t malformed = 0;  ///< records that cannot be true (of this reader)
    std::uint64_t untimed =
        0;  ///< GPU work that was launched and not timed: all event pairs were in use
    std::uint64_t too_deep = 0;   ///< ranges in too many others, or begun while too many were open
    std::uint64_t forgotten = 0;  ///< discarded by the recorder whose memory was full (of a file)
    std::uint64_t unexplained = 0;  ///< for reasons that a file does not hold
    std::uint64_t dropped_strings = 0, truncated_strings = 0;
    std::uint64_t total() const {
        return lapped + dropped + malformed + untimed + too_deep + forgotten + unexplained;
    }
};

/// How the profiling service does inside a process (abi.h, RingHeader).
struct ServiceStatus {
    abi::CuptiState cupti = abi::CuptiState::not_asked;
    std::string cupti_reason;
    std::uint64_t cupti_dropped = 0, budget_skipped = 0;
    /// Of the recorder's descriptors: the program has closed or replaced them.
    std::uint64_t lost_descriptors = 0;
    std::uint64_t unmatched_ends = 0;  ///< ends of ranges that were not open: the program's mistake
    std::int64_t service_cpu_ns = 0;   ///< of its own threads
    std::int64_t slow_path_ns = 0;     ///< of the program's threads
    double budget = 0;                 ///< share of the program's time, 0: no limit
    double duty = 1;                   ///< share of the time that recording is on
    bool armed = false;
    std::int64_t heartbeat_ns = 0;
    std::int64_t gpu_complete_ns = 0;  ///< all GPU work until then is here; 0: do not wait for it
};
/// The place of a process in a job. Empty texts and -1: unknown.
struct ProcessLabels {
    std::string host, job, pod;  ///< SLURM_JOB_ID or the like; Kubernetes pod name
    /// Where Kubernetes runs it; the node is the host elsewhere.
    std::string name_space{}, node{};
    int rank = -1, local_rank = -1, world_size = -1;
    std::string command;  ///< its command line, cut
    /// What the job is called, the same for every run of it (SLURM_JOB_NAME or the like), and the
    /// commit it runs.
    std::string job_name, commit;
    /// How its clock differed from that of the others it was merged with, and that it was set
    /// right: "3.21 ms +- 0.04 ms behind host a (212 collectives)".
    std::string clock{};
    bool empty() const {
        return host.empty() && job.empty() && pod.empty() && rank < 0 && command.empty();
    }
};

struct TraceBatch {
    std::vector<TrackInfo> tracks;  ///< new or changed
    std::vector<NameInfo> names;    ///< new
    std::vector<SpanEvent> spans;   ///< per track in order of their ends
    std::vector<CounterEvent> counters;
    std::vector<InstantEvent> instants;
    std::vector<OpenSpan> open;  ///< all that are open now; replaces what was open before
    LossCounts loss;
    std::vector<AsyncSpanEvent> async_spans;
    std::vector<PauseEvent> pauses;
    std::vector<RangeValueEvent> values;
    // ---- sample_event.h; each by its place in the list before it
    std::vector<FrameEvent> frames;
    std::vector<StackEvent> stacks;
    std::vector<SampleEvent> samples;
    std::vector<ThreadNameEvent> thread_names;  ///< new or changed, of threads with samples
    // ---- gpu_event.h; CUPTI's records come in any order of time
    std::vector<GpuWorkEvent> gpu_work;
    std::vector<ApiCallEvent> api_calls;
    std::vector<SyncEvent> syncs;
    std::vector<MemoryEvent> memory;
    std::vector<OverheadEvent> overheads;
    std::vector<GpuDeviceEvent> devices;   ///< new
    std::optional<ServiceStatus> service;  ///< of processes under the profiling service
    ProcessLabels labels;                  ///< when new or changed, else empty

    std::uint64_t written = 0;  ///< records written since the ring began
    /// Which ring, or which process of a file, this came from; sources number their names and
    /// tracks independently. Those of one machine (or file) have the upper 32 bits in common. 0:
    /// the only one.
    std::uint64_t source = 0;
    std::uint32_t pid = 0;  ///< as the process itself sees it, which may be in a container
    /// As the reader sees it, 0: not known. The only number that can be asked about.
    std::uint32_t visible_pid = 0;
    std::uint64_t process_start =
        0;  ///< distinguishes a reused pid from the same process; 0: unknown
    std::string process_name;
    std::int64_t read_ns = 0;             ///< when the ring was read, 0: an empty batch
    bool ended = false;                   ///< the last of its source: nothing comes any more
    std::int64_t realtime_offset_ns = 0;  ///< REALTIME - MONOTONIC
    std::int64_t collector_cpu_ns = 0;    ///< CPU time the collecting thread has used in all
};

}  // namespace gs
