// TraceStore: the measurements of this session, in bounded memory. Spans by thread and depth, stage statistics,
// histories per frame, counters, and what was lost. Filled from TraceBatches and read by one thread (the UI's, or a
// command's): panels, the Perfetto export, `bench` and the insights all read this one store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/event.h"
#include "profiler/sliding.h"
#include "profiler/stage_map.h"
#include "profiler/statistics.h"

namespace gs {

/// A finished span. `name` is an index for TraceStore::name().
struct TraceSpan {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t name = 0;
    bool has_payload = false;
    std::int64_t length_ns() const { return end_ns - begin_ns; }
};

/// The span that launched a piece of GPU work: of tracks()[track], row `row`, begun at `time_ns`. track is kNoTrack
/// when it is not known. TraceStore::launching_span() finds it.
struct TraceLaunch {
    std::int64_t time_ns = 0;
    std::uint32_t track = kNoTrack;
    std::uint8_t row = 0;
};

/// What is known of a piece of GPU work beyond its span, where CUPTI or a file told. Numbers not told are zero.
struct GpuWork {
    std::uint64_t correlation = 0;
    std::uint64_t bytes = 0;                       ///< copies and fills
    std::int64_t queued_ns = 0, submitted_ns = 0;  ///< 0: not told
    std::uint32_t grid[3] = {0, 0, 0};
    std::uint16_t block[3] = {0, 0, 0};
    std::uint16_t registers = 0;                          ///< a thread
    std::uint32_t static_shared = 0, dynamic_shared = 0;  ///< bytes
    std::uint32_t local_per_thread = 0, graph = 0;
    GpuWorkKind kind = GpuWorkKind::kernel;
    MemoryType source = MemoryType::unknown, target = MemoryType::unknown;
    bool asynchronous = true;
};

/// A process that was recorded. Tracks, counters and frames name theirs by its index.
struct TraceProcess {
    std::uint64_t source = 0;  ///< TraceBatch::source
    std::uint32_t pid = 0;
    std::string name;
    ProcessLabels labels;
    std::optional<ServiceStatus> service;
    LossCounts loss;
    std::uint64_t written = 0;
    std::vector<GpuDeviceEvent> devices;
    SlidingArray<SyncEvent> syncs;     ///< in order of arrival
    SlidingArray<MemoryEvent> memory;  ///< in order of arrival
};
inline constexpr std::uint32_t kAnyProcess = ~0u;

/// One thread's, or one GPU stream's, timeline: a row per nesting depth. Spans of a row do not overlap and are in order
/// of time.
struct TraceTrack {
    std::uint32_t pid = 0, tid = 0;
    std::string name;  ///< "engine", "thread 1234", "CUDA stream training"
    bool ended = false;
    TrackKind kind = TrackKind::thread;
    std::uint32_t process = 0;                          ///< index into TraceStore::processes()
    std::uint32_t device = 0, context = 0, stream = 0;  ///< of GPU streams that CUPTI or a file described
    std::vector<SlidingArray<TraceSpan>> rows;
    std::vector<SlidingArray<TraceLaunch>> launches;  ///< of GPU streams: [row][span], beside `rows`
    std::vector<SlidingArray<GpuWork>> works;  ///< of GPU streams with details: [row][span], beside `rows`; else empty
    std::int64_t newest_launch_ns = 0;         ///< of GPU streams
};

/// What the timeline draws: one span, or several that are too small to tell apart.
struct DrawnSpan {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t name = 0;  ///< of the first, when several
    std::uint32_t count = 1;
    bool has_payload = false;
    std::uint32_t first = 0;  ///< the (first) span is rows[row].view()[first]
};

struct CounterPoint {
    std::int64_t time_ns = 0;
    double value = 0;
};
struct CounterSeries {
    std::uint32_t name = 0;
    std::uint32_t process = 0;
    SlidingArray<CounterPoint> points;
};
struct TraceInstant {
    std::int64_t time_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t track = 0, name = 0;
};

struct TraceStoreOptions {
    std::size_t max_spans = 2'000'000;  ///< 32 bytes each; the oldest go first
    std::size_t max_frames = 8192;      ///< history length, per scope
    std::size_t max_calls = 4096;       ///< remembered durations, per stage
    std::size_t max_points = 65536;     ///< per counter
    std::size_t warm_up = 3;            ///< first frames per scope that statistics leave out
};

class TraceStore {
  public:
    explicit TraceStore(TraceStoreOptions options = {});

    void ingest(const TraceBatch& batch);
    /// Forgets everything measured; threads and names stay known.
    void clear();
    /// The next frames are warm-up again: another scene, another size, another backend.
    void restart_warm_up();

    // ---- names
    std::string_view name(std::uint32_t index) const {
        return index < names_.size() ? names_[index] : std::string_view("?");
    }
    /// The stage a range's name stands for, `other` when none.
    Stage stage(std::uint32_t name) const { return name < kStageCount ? static_cast<Stage>(name) : Stage::other; }
    /// The stage of GPU work: of its own name, or of the kernel of that name by the stage map.
    Stage gpu_stage(std::uint32_t name) const;
    /// The map for gpu_stage(), for kernels that come from now on and those that are here.
    void set_stage_map(StageMap map);

    // ---- processes
    const std::vector<TraceProcess>& processes() const { return processes_; }
    /// The track of a thread (kind thread or api) of a process, kNoTrack when there is none. Where several threads had
    /// the number one after the other: the newest.
    std::uint32_t track_of(std::uint32_t process, std::uint32_t tid, TrackKind kind) const;

    // ---- timeline; times are nanoseconds of CLOCK_MONOTONIC
    const std::vector<TraceTrack>& tracks() const { return tracks_; }
    /// Begin of the oldest and end of the newest span kept; 0, 0 when there is none.
    std::int64_t begin_ns() const;
    std::int64_t end_ns() const { return end_ns_; }
    /// Appends the spans of one row that overlap [t0, t1], at most a few per `merge_ns` (the time a pixel covers; 0:
    /// every one): O(drawn * log(spans)).
    void visible(std::size_t track, std::size_t row, std::int64_t t0, std::int64_t t1, std::int64_t merge_ns,
                 std::vector<DrawnSpan>& out) const;
    /// The span of a row at time t, null when none.
    const TraceSpan* span_at(std::size_t track, std::size_t row, std::int64_t t) const;
    /// What launched `span`, which is one of a GPU stream's rows[row].view(). The arrow of the timeline begins there.
    struct LaunchingSpan {
        const TraceSpan* span = nullptr;  ///< null: not known, or no longer kept
        std::uint32_t track = kNoTrack;
        std::size_t row = 0;
    };
    LaunchingSpan launching_span(std::size_t track, std::size_t row, const TraceSpan& span) const;
    /// The details of `span`, which is one of a GPU stream's rows[row].view(); null when none were told.
    const GpuWork* gpu_work(std::size_t track, std::size_t row, const TraceSpan& span) const;
    /// The range a piece of GPU work was launched in. When the launching thread had none open (PyTorch launches a
    /// backward pass from threads of its own), it is the innermost one that was open then on the thread that holds the
    /// process's iterations, and `inferred` says so.
    struct RangeOf {
        const TraceSpan* span = nullptr;  ///< null: none was open
        std::uint32_t track = kNoTrack;
        std::size_t row = 0;
        bool inferred = false;
    };
    RangeOf range_of(std::size_t track, std::size_t row, const TraceSpan& span) const;
    /// The innermost range of a thread's track at time t.
    RangeOf innermost_at(std::uint32_t track, std::int64_t t) const;
    std::span<const OpenSpan> open_spans() const { return open_; }  ///< `track` and `name` as everywhere in the store
    const std::vector<CounterSeries>& counters() const { return counters_; }
    std::span<const TraceInstant> instants() const { return instants_.view(); }

    // ---- frames and stages
    /// Oldest first. Empty for StatScope::call.
    std::span<const FrameSample> history(StatScope scope) const;
    /// Over the newest `last_n` frames (calls, for StatScope::call) of a process, warm-up and incomplete frames left
    /// out.
    std::vector<StageStats> statistics(StatScope scope, std::size_t last_n = 256,
                                       std::uint32_t process = kAnyProcess) const;
    /// GPU time of the same stages in the same form: what those frames launched. Empty where no GPU was timed.
    std::vector<StageStats> gpu_statistics(StatScope scope, std::size_t last_n = 256,
                                           std::uint32_t process = kAnyProcess) const;

    // ---- how good the numbers are
    const LossCounts& loss() const { return loss_; }
    std::uint64_t forgotten_spans() const { return forgotten_; }  ///< dropped from this store for want of memory
    std::uint64_t misplaced_spans() const { return misplaced_; }  ///< overlapped their neighbours, or nested too deep
    std::uint64_t records_written() const { return written_; }
    std::uint64_t span_count() const { return span_count_; }
    std::size_t bytes() const;
    std::int64_t read_ns() const { return read_ns_; }  ///< when the ring was last read: the age of everything here
    std::int64_t realtime_offset_ns() const { return realtime_offset_ns_; }
    std::int64_t collector_cpu_ns() const { return collector_cpu_ns_; }
    std::string_view process_name() const { return process_name_; }

  private:
    static constexpr std::size_t kMaxRows = 64;
    struct Call {
        std::int64_t end_ns;
        double milliseconds;
    };
    /// GPU work that waits for the frame that launched it: frames are recorded when they end.
    struct DeviceWork {
        std::int64_t launch_ns = 0;
        float milliseconds = 0;
        std::uint32_t track = 0, launch_track = 0;
        Stage stage = Stage::other;
        bool outermost = false;
    };
    /// A process: its own numbers for names and tracks, and ours.
    struct Source {
        std::vector<std::uint32_t> name_of_id;
        std::unordered_map<std::uint32_t, std::uint32_t> track_of_id;
        std::uint64_t lapped = 0;
        LossCounts loss;
        std::uint64_t written = 0;
    };

    std::uint32_t intern(std::string_view text);
    static std::uint32_t name_in(const Source& source, std::uint32_t id);
    void take_track(Source& source, const TrackInfo& info);
    void take_span(std::uint32_t track, const TraceSpan& span, std::uint8_t depth, bool lossy);
    bool place_span(std::uint32_t track, TraceSpan& span, std::uint8_t depth);
    void take_device_span(std::uint32_t track, const TraceSpan& span, std::uint8_t depth, const TraceLaunch& launch);
    void add_gpu_time(FrameSample& frame, const DeviceWork& work) const;
    void take_pending_work(StatScope scope, FrameSample& frame);
    std::vector<StageStats> call_statistics(const SlidingArray<Call> (&calls)[kStageCount], std::size_t last_n) const;
    void take_frame(StatScope scope, std::uint32_t track, const TraceSpan& span, std::size_t depth, bool lossy);
    void take_counter(std::uint32_t name, CounterPoint point);
    void forget_oldest();
    void total_losses();

    TraceStoreOptions options_;
    std::vector<std::string> names_;
    std::unordered_map<std::string, std::uint32_t> index_of_name_;
    std::uint32_t unknown_name_ = 0;
    std::map<std::uint32_t, Source> sources_;  // by pid
    std::vector<TraceProcess> processes_;
    std::vector<TraceTrack> tracks_;
    std::vector<CounterSeries> counters_;
    SlidingArray<TraceInstant> instants_;
    std::vector<OpenSpan> open_;
    SlidingArray<FrameSample> frames_[kFrameScopes];
    std::size_t warm_up_left_[kFrameScopes];
    SlidingArray<DeviceWork> pending_work_[kFrameScopes];
    SlidingArray<Call> calls_[kStageCount], gpu_calls_[kStageCount];
    LossCounts loss_;
    std::uint64_t forgotten_ = 0, misplaced_ = 0, written_ = 0, span_count_ = 0;
    std::int64_t end_ns_ = 0, read_ns_ = 0, realtime_offset_ns_ = 0, collector_cpu_ns_ = 0;
    std::string process_name_;
};

}  // namespace gs
