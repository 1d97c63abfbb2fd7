// TraceStore: the measurements of this session, in bounded memory. Spans by process, thread and
// depth, the work of GPU streams with its details, stage statistics, histories per frame, counters,
// and what was lost. Filled from TraceBatches and read by one thread (the UI's, or a command's):
// panels, the Perfetto export, `bench` and the insights all read this one store.
//
// Where its parts are: store.cpp takes batches, store_rows.cpp puts what comes in any order into
// rows, store_gpu.cpp joins GPU work with its launch, store_frames.cpp adds up frames,
// store_queries.cpp answers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/store/event.h"
#include "profiler/store/sliding.h"
#include "profiler/store/stage_map.h"
#include "profiler/store/statistics.h"

namespace gs {

/// A finished span. `name` is an index for TraceStore::name().
struct TraceSpan {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t name = 0;
    bool has_payload = false;
    PayloadKind payload_kind = PayloadKind::whole;
    std::uint8_t category = 0;  ///< see TraceStore::category()
    std::int64_t length_ns() const { return end_ns - begin_ns; }
};
/// "-3", "0.5"; empty without a payload.
std::string payload_text(const TraceSpan& span);

/// The span that launched a piece of GPU work: of tracks()[track], row `row`, begun at `time_ns`.
/// track is kNoTrack when it is not known. TraceStore::launching_span() finds it.
struct TraceLaunch {
    std::int64_t time_ns = 0;
    std::uint32_t track = kNoTrack;
    std::uint8_t row = 0;
};

/// What is known of a piece of GPU work beyond its span, where CUPTI or a file told. Numbers not
/// told are zero.
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

/// A process that was recorded. Tracks, counters and frames name theirs by its index. Two rings of
/// one process (its own and the injection library's) are one process here; losses are those of
/// both.
struct TraceProcess {
    std::uint64_t source = 0;  ///< TraceBatch::source of the first ring
    std::uint32_t pid = 0;
    std::string name;
    ProcessLabels labels;
    std::optional<ServiceStatus> service;
    std::optional<ServiceStatus>
        service_first;  ///< as it was told first: its totals count from before
    LossCounts loss;
    std::uint64_t written = 0;
    std::vector<GpuDeviceEvent> devices;
    SlidingArray<SyncEvent> syncs;     ///< in order of arrival, the newest max_points
    SlidingArray<MemoryEvent> memory;  ///< likewise
    std::int64_t read_ns = 0;          ///< when one of its rings was last read
};
/// One thread's, or one GPU stream's, timeline. Spans of a row do not overlap and are in order of
/// time. Rows are nesting depths; of API tracks row 0 is the runtime and the next the driver inside
/// it; where work of a stream or ranges of an overlapping track run at the same time, they are on
/// the first row that has room.
struct TraceTrack {
    std::uint32_t pid = 0, tid = 0;
    std::string name;  ///< "engine", "thread 1234", "CUDA stream training"
    bool ended = false;
    TrackKind kind = TrackKind::thread;
    std::uint32_t process = 0;  ///< index into TraceStore::processes()
    std::uint32_t device = 0, context = 0,
                  stream = 0;  ///< of GPU streams that CUPTI or a file described
    std::vector<SlidingArray<TraceSpan>> rows;
    std::vector<SlidingArray<TraceLaunch>>
        launches;  ///< of GPU streams: [row][span], beside `rows`
    std::vector<SlidingArray<GpuWork>>
        works;  ///< of GPU streams with details: [row][span], beside `rows`; else empty
    std::int64_t newest_launch_ns = 0;  ///< of GPU streams
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
/// A stretch in which records were lost: overwritten before the reader came, or not written for
/// want of room.
struct LossStretch {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t records = 0;
    std::uint32_t process = 0;
};
struct TraceInstant {
    std::int64_t time_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t track = 0, name = 0;
};

/// That a span takes in the store on average: between a range's 32 and a kernel's 144.
inline constexpr std::size_t kBytesPerSpan = 96;

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
    /// A copy of what is in [begin, end], for reading on another thread: tracks, names and
    /// processes under the same numbers, spans, counters and GPU work of that time. Without frames;
    /// not to be fed. O(what it holds).
    TraceStore excerpt(std::int64_t begin_ns, std::int64_t end_ns) const;
    /// The next frames are warm-up again: another scene, another size, another backend.
    void restart_warm_up();

    // ---- names. The same text in two NVTX domains is two names.
    std::string_view name(std::uint32_t index) const {
        return index < names_.size() ? std::string_view(names_[index].text) : std::string_view("?");
    }
    std::size_t name_count() const { return names_.size(); }
    std::string_view domain(std::uint32_t name) const {
        return name < names_.size() ? std::string_view(names_[name].domain) : std::string_view();
    }
    /// 0xRRGGBB | 1 << 24 where the program chose a colour, else 0.
    std::uint32_t color(std::uint32_t name) const {
        return name < names_.size() ? names_[name].color : 0;
    }
    /// What the program calls the NVTX category of a span; empty when it has none.
    std::string_view category(const TraceSpan& span) const;
    /// The stage a range's name stands for, `other` when none.
    Stage stage(std::uint32_t name) const {
        return name < names_.size() ? names_[name].stage : Stage::other;
    }
    /// The stage of GPU work: of its own name, or of the kernel of that name by the stage map.
    Stage gpu_stage(std::uint32_t name) const;
    /// The map for gpu_stage(), for kernels that come from now on and those that are here. Frames
    /// keep their sums.
    void set_stage_map(StageMap map);

    // ---- processes
    const std::vector<TraceProcess>& processes() const { return processes_; }
    /// The track of a thread (kind thread or api) of a process, kNoTrack when there is none. Where
    /// several threads had the number one after the other: the newest.
    std::uint32_t track_of(std::uint32_t process, std::uint32_t tid, TrackKind kind) const;

    // ---- timeline; times are nanoseconds of CLOCK_MONOTONIC
    const std::vector<TraceTrack>& tracks() const { return tracks_; }
    /// Begin of the oldest and end of the newest span kept; 0, 0 when there is none.
    std::int64_t begin_ns() const;
    std::int64_t end_ns() const { return end_ns_; }
    /// Appends the spans of one row that overlap [t0, t1], at most a few per `merge_ns` (the time a
    /// pixel covers; 0: every one): O(drawn * log(spans)).
    void visible(std::size_t track, std::size_t row, std::int64_t t0, std::int64_t t1,
                 std::int64_t merge_ns, std::vector<DrawnSpan>& out) const;
    /// The span of a row at time t, null when none.
    const TraceSpan* span_at(std::size_t track, std::size_t row, std::int64_t t) const;
    /// What launched `span`, which is one of a GPU stream's rows[row].view(). The arrow of the
    /// timeline begins there.
    struct LaunchingSpan {
        const TraceSpan* span = nullptr;  ///< null: not known, or no longer kept
        std::uint32_t track = kNoTrack;
        std::size_t row = 0;
    };
    LaunchingSpan launching_span(std::size_t track, std::size_t row, const TraceSpan& span) const;
    /// The details of `span`, which is one of a GPU stream's rows[row].view(); null when none were
    /// told.
    const GpuWork* gpu_work(std::size_t track, std::size_t row, const TraceSpan& span) const;
    /// The range a piece of GPU work was launched in. When the launching thread had none open
    /// (PyTorch launches a backward pass from threads of its own), it is the innermost one that was
    /// open then on the thread that holds the process's iterations, and `inferred` says so.
    struct RangeOf {
        const TraceSpan* span = nullptr;  ///< null: none was open
        std::uint32_t track = kNoTrack;
        std::size_t row = 0;
        bool inferred = false;
    };
    RangeOf range_of(std::size_t track, std::size_t row, const TraceSpan& span) const;
    /// The innermost range of a thread's track at time t.
    RangeOf innermost_at(std::uint32_t track, std::int64_t t) const;
    std::span<const OpenSpan> open_spans() const {
        return open_;
    }  ///< `track` and `name` as everywhere in the store
    const std::vector<CounterSeries>& counters() const { return counters_; }
    std::span<const TraceInstant> instants() const { return instants_.view(); }
    /// Where records were lost while this store was fed, oldest first.
    std::span<const LossStretch> losses() const { return losses_.view(); }

    // ---- frames and stages
    /// Oldest first. Empty for StatScope::call.
    std::span<const FrameSample> history(StatScope scope) const;
    /// Over the newest `last_n` frames (calls, for StatScope::call) of a process, warm-up and
    /// incomplete frames left out.
    std::vector<StageStats> statistics(StatScope scope, std::size_t last_n = 256,
                                       std::uint32_t process = kAnyProcess) const;
    /// GPU time of the same stages in the same form: what those frames launched. Empty where no GPU
    /// was timed.
    std::vector<StageStats> gpu_statistics(StatScope scope, std::size_t last_n = 256,
                                           std::uint32_t process = kAnyProcess) const;

    // ---- how good the numbers are
    const LossCounts& loss() const { return loss_; }
    std::uint64_t forgotten_spans() const {
        return forgotten_;
    }  ///< dropped from this store for want of memory
    /// Overlapped their neighbours, nested too deep, or belonged to more tracks than are kept.
    std::uint64_t misplaced_spans() const { return misplaced_; }
    std::uint64_t records_written() const { return written_; }
    std::uint64_t span_count() const { return span_count_; }
    std::size_t bytes() const;
    std::int64_t read_ns() const {
        return read_ns_;
    }  ///< when the ring was last read: the age of everything here
    std::int64_t realtime_offset_ns() const { return realtime_offset_ns_; }
    std::int64_t collector_cpu_ns() const { return collector_cpu_ns_; }
    /// Of the first process.
    std::string_view process_name() const {
        return processes_.empty() ? std::string_view() : std::string_view(processes_.front().name);
    }

  private:
    struct Name {
        std::string text, domain;
        std::uint32_t color = 0;
        Stage stage = Stage::other;
        int iteration_rank = 0;  ///< of iteration_name.h
    };
    struct Call {
        std::int64_t end_ns;
        double milliseconds;
        std::uint32_t process;
    };
    /// GPU work that waits for the frame that launched it: frames are recorded when they end.
    struct DeviceWork {
        std::int64_t launch_ns = 0;
        float milliseconds = 0;
        std::uint32_t track = 0, launch_track = 0;
        Stage stage = Stage::other;
        bool outermost = false;
        bool by_api = false;  ///< told by CUPTI: it counts for the process's iteration, whichever
                              ///< thread launched it
    };
    /// A span on its way into a track's rows (store_rows.cpp).
    struct Staged {
        TraceSpan span;
        TraceLaunch launch;
        std::uint64_t correlation = 0;
        std::uint32_t work = 0;  ///< index into staged_works_
        std::uint8_t first_row = 0;
        std::uint8_t row = 0;  ///< where it went
    };
    struct TrackState {
        std::vector<Staged> staged;
        std::int64_t outer_ns = 0;  ///< of row 0, ever
    };
    /// GPU work whose API call has not come yet.
    struct Unlaunched {
        std::uint64_t correlation = 0;
        std::int64_t begin_ns = 0;
        std::uint32_t track = 0;
        std::uint8_t row = 0;
    };
    /// An API call by the low bits of its correlation: the newest calls stay.
    struct LaunchSlot {
        std::uint64_t correlation = 0;
        TraceLaunch at;
        bool driver = false;
    };
    using StreamKey =
        std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // device, context, stream
    /// What the store knows of a process beside processes_[i].
    struct ProcessState {
        std::vector<LaunchSlot> launches;
        SlidingArray<Unlaunched> unlaunched;
        SlidingArray<DeviceWork> waiting[kFrameScopes];
        std::size_t warm_up_left[kFrameScopes] = {};
        std::map<StreamKey, std::uint32_t> streams;
        std::uint32_t overlapping = kNoTrack;
        std::uint32_t iterations_on = kNoTrack;  ///< the thread of its newest iteration
        std::uint32_t busiest = kNoTrack;        ///< the thread with most time in outermost ranges
        int iteration_rank = 1;                  ///< names that are less than this make no frames
        std::uint64_t next_iteration = 0;        ///< for those without a number
        bool times_itself =
            false;  ///< its own stage timer tells GPU time: CUPTI's would count twice
    };
    /// A ring: its own numbers for names and tracks, and ours.
    struct Source {
        std::uint32_t process = 0;
        std::vector<std::uint32_t> name_of_id;
        std::unordered_map<std::uint32_t, std::uint32_t> track_of_id;
        std::uint64_t lapped = 0;
        LossCounts loss;
        std::uint64_t written = 0;
        std::vector<OpenSpan> open;
    };
    static constexpr std::uint8_t kNoRow = 255;
    using ProcessKey =
        std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // machine, pid or source, start

    // ---- store.cpp
    std::uint32_t intern(std::string_view text, std::string_view domain = {});
    static std::uint32_t name_in(const Source& source, std::uint32_t id);
    static TraceSpan span_of(const Source& source, const SpanEvent& e);
    Source& source_of(const TraceBatch& batch);
    std::uint32_t process_of(const TraceBatch& batch);
    void take_names(Source& source, const TraceBatch& batch);
    void take_track(Source& source, const TrackInfo& info);
    std::uint32_t add_track(std::uint32_t process, std::uint32_t tid, TrackKind kind);
    std::uint32_t tid_track(std::uint32_t process, std::uint32_t tid, TrackKind kind);
    void take_points(const Source& source, const TraceBatch& batch);
    void take_losses(const Source& source, const TraceBatch& batch);
    void take_process(Source& source, const TraceBatch& batch);
    void take_counter(std::uint32_t process, std::uint32_t name, CounterPoint point);
    void forget_oldest();
    void total_losses(std::uint32_t process);
    // ---- store_rows.cpp
    bool place_span(std::uint32_t track, TraceSpan& span, std::uint8_t depth);
    void stage_span(std::uint32_t track, const Staged& staged);
    void settle(std::uint32_t track);
    void merge_row(std::uint32_t track, std::size_t row, std::span<const std::size_t> places,
                   std::span<const Staged* const> added);
    void count_span(std::uint32_t track, std::size_t row, const TraceSpan& span);
    // ---- store_frames.cpp
    void take_span(std::uint32_t track, const TraceSpan& span, std::uint8_t depth, bool lossy);
    void take_call(SlidingArray<Call>& calls, std::uint32_t track, const TraceSpan& span);
    bool is_iteration(std::uint32_t track, const TraceSpan& span);
    void take_frame(StatScope scope, std::uint32_t track, const TraceSpan& span, std::size_t depth,
                    bool lossy);
    std::uint64_t frame_number(StatScope scope, std::uint32_t process, const TraceSpan& span);
    bool launched_in(const FrameSample& frame, const DeviceWork& work, std::size_t scope) const;
    void add_gpu_time(FrameSample& frame, const DeviceWork& work) const;
    void take_waiting_work(StatScope scope, FrameSample& frame);
    void count_for_frames(const DeviceWork& work);
    std::vector<StageStats> call_statistics(const SlidingArray<Call> (&calls)[kStageCount],
                                            std::size_t last_n, std::uint32_t process) const;
    // ---- store_gpu.cpp
    void take_device_span(std::uint32_t track, const TraceSpan& span, std::uint8_t depth,
                          const TraceLaunch& launch);
    void take_activity(Source& source, const TraceBatch& batch);
    void stage_host(Source& source, const TraceBatch& batch);
    void stage_gpu_work(Source& source, const TraceBatch& batch);
    std::uint32_t stream_track(std::uint32_t process, const GpuWorkEvent& work);
    std::uint32_t work_name(const Source& source, const GpuWorkEvent& work);
    void remember_launch(std::uint32_t process, std::uint64_t correlation, const TraceLaunch& at,
                         bool driver);
    TraceLaunch find_launch(std::uint32_t process, std::uint64_t correlation) const;
    void take_launched(std::uint32_t track, std::size_t row, const TraceSpan& span,
                       const TraceLaunch& launch);
    void find_late_launches(std::uint32_t process);
    const TraceLaunch* launch_of(std::size_t track, std::size_t row, const TraceSpan& span) const;

    TraceStoreOptions options_;
    std::vector<Name> names_;
    std::unordered_map<std::string, std::uint32_t> index_of_name_;
    std::map<std::pair<std::string, std::uint32_t>, std::string>
        categories_;  // by domain and number
    std::uint32_t unknown_name_ = 0;
    StageMap stage_map_;
    mutable std::vector<std::uint16_t> gpu_stages_;  // by name; kStageCount: not asked yet
    std::map<std::uint64_t, Source> sources_;        // by TraceBatch::source
    std::map<ProcessKey, std::uint32_t> process_of_key_;
    std::vector<TraceProcess> processes_;
    std::vector<ProcessState> process_states_;  // beside processes_
    std::vector<TraceTrack> tracks_;
    std::vector<TrackState> track_states_;  // beside tracks_
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>
        tracks_of_tid_[5];                // by kind, process and tid
    std::vector<std::uint32_t> touched_;  // tracks with staged spans
    std::vector<GpuWork> staged_works_;
    std::vector<CounterSeries> counters_;
    std::unordered_map<std::uint64_t, std::size_t> counter_of_;  // by process and name
    SlidingArray<TraceInstant> instants_;
    SlidingArray<LossStretch> losses_;
    std::vector<OpenSpan> open_;
    SlidingArray<FrameSample> frames_[kFrameScopes];
    SlidingArray<Call> calls_[kStageCount], gpu_calls_[kStageCount];
    LossCounts loss_;
    std::uint64_t forgotten_ = 0, misplaced_ = 0, written_ = 0, span_count_ = 0;
    std::int64_t end_ns_ = 0, read_ns_ = 0, realtime_offset_ns_ = 0, collector_cpu_ns_ = 0;
};

}  // namespace gs
