// ImportEvents: what the file readers find, collected until the whole file has been read: then
// begins and ends are paired, spans nested, launches joined with GPU work, clocks aligned, and
// everything goes into the store in order of time, process by process, as live readers would have
// brought it. Used by import_perfetto and import_chrome.
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

#include "profiler/files/import.h"
#include "profiler/store/stack_builder.h"

namespace gs {

/// Times beyond this (73 years) are no times; half of what would overflow when two are added.
inline constexpr std::int64_t kMaxImportTime = std::int64_t{1} << 61;

/// One begin, end or whole span as it lay in the file.
struct ImportedEvent {
    enum class Kind : std::uint8_t { begin, end, whole };
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t payload = 0;
    std::uint64_t flow = 0;  ///< joins GPU work with the span or call that launched it, 0: none
    std::uint32_t name = 0;
    std::uint32_t values = 0;  ///< of add_values(), 0: none
    Kind kind = Kind::whole;
    std::uint8_t depth = 0;
    PayloadKind payload_kind = PayloadKind::whole;
    std::uint8_t category = 0;
    bool has_payload : 1 = false;
    bool driver : 1 = false;     ///< a call of the driver's API
    bool is_call : 1 = false;    ///< a CUDA call, whatever track it is on
    bool not_ended : 1 = false;  ///< it was open at the end, which end_ns says if it is known
    bool overlaps : 1 = false;   ///< another one of its track, without lying inside
};

class ImportEvents {
  public:
    explicit ImportEvents(const ImportOptions& options);

    /// What is known of a process by the time of finish(). Work whose pid is no process goes to the
    /// one with most spans.
    struct Process {
        std::string name;
        ProcessLabels labels;
        bool declared =
            false;  ///< the file says that this is a process; else a pid may be a device's number
        LossCounts loss;  ///< what the file itself says is missing
        std::optional<ServiceStatus> service;
        std::vector<GpuDeviceEvent> devices;
        std::vector<GpuWorkEvent> work;
        std::vector<ApiCallEvent> calls;
        std::vector<SyncEvent> syncs;
        std::vector<MemoryEvent> memory;
        std::vector<PauseEvent> pauses;
        std::vector<CounterEvent> points;
        TraceBatch stacks;  ///< frames, stacks and samples alone
        StackBuilder stack_builder{};
        /// It did nothing that is known.
        bool empty() const {
            return work.empty() && calls.empty() && syncs.empty() && memory.empty() &&
                   pauses.empty() && points.empty() && stacks.samples.empty();
        }
    };
    Process& process(std::uint32_t pid) {
        const auto [place, added] = processes_.try_emplace(pid);
        if (added) order_.push_back(pid);
        return place->second;
    }

    /// A new track, described by what info() says by the time of finish(): its pid is its process,
    /// and spans of API, overhead and overlapping tracks become calls, overhead and overlapping
    /// ranges.
    std::uint32_t add_track();
    TrackInfo& info(std::uint32_t track) { return tracks_[track].info; }
    std::size_t track_count() const { return tracks_.size(); }
    std::uint32_t name(std::string_view text, std::string_view domain = {});
    /// The number of an NVTX category that a domain's ranges bear.
    std::uint8_t category(std::string_view text, std::string_view domain);

    void add(std::uint32_t track, const ImportedEvent& event);
    /// Of a track, as they were added, until finish().
    std::vector<ImportedEvent>& events(std::uint32_t track) { return tracks_[track].events; }
    /// What an event of a thread's track has beyond its payload: name, value and kind of each.
    std::uint32_t add_values(std::vector<RangeValueEvent> values);
    void add_instant(const InstantEvent& event);
    void add_point(std::uint32_t pid, const CounterEvent& event);
    /// `event`: a number by which add_submission() may tell which call launched it, 0: none.
    void add_work(std::uint32_t pid, const GpuWorkEvent& work, std::uint64_t event = 0);
    void add_call(std::uint32_t pid, const ApiCallEvent& call);
    void add_sync(std::uint32_t pid, const SyncEvent& sync);
    void add_memory(std::uint32_t pid, const MemoryEvent& event);
    /// The ranges of `track` are others of `into`, which they overlap.
    void join(std::uint32_t track, std::uint32_t into);
    /// A sample and its stack, innermost frame first.
    void add_sample(std::uint32_t pid, SampleEvent sample, std::span<const FrameEvent> frames);
    /// The flow of a call that launched these pieces of work.
    std::uint64_t add_submission(const std::vector<std::uint64_t>& events);
    /// Counts something that is missed; `what` in the plural.
    void skip(const std::string& what, std::uint64_t count = 1) { skipped_[what].count += count; }
    /// The same, with where the first of them is in the file.
    void skip_at(const std::string& what, std::uint64_t byte) {
        Skipped& of = skipped_[what];
        if (of.count++ == 0) of.byte = byte;
    }
    /// Counts something that is not missed: the rest of the file says it as well.
    void pass_over(const std::string& what) {
        Skipped& of = skipped_[what];
        ++of.count;
        of.missed = false;
    }
    void note(std::string text) { notes_.push_back(std::move(text)); }
    /// The file ends early, or cannot be read from there on; `why` is a sentence for the notes.
    void cut(std::string why) {
        cut_ = true;
        note(std::move(why));
    }
    bool is_cut() const { return cut_; }
    /// Anything has come in.
    bool any() const { return events_ > 0; }
    /// Spans and CUDA calls of threads, GPU work, samples and counters: how many have come in.
    std::size_t count() const { return events_; }
    /// Called from time to time with the share of the file that has been read; false: stop.
    bool go_on(double share) {
        return go_on_ = go_on_ && (!options_.progress || options_.progress(share));
    }
    bool stopped() const { return !go_on_; }

    std::int64_t read_ns = 0;
    std::optional<std::int64_t>
        realtime_offset_ns;  ///< REALTIME - the file's time; none: not known
    /// By how much neighbours may overlap because their times were rounded.
    std::int64_t rounding_ns = 0;

    ImportSummary finish(TraceStore& store);

  private:
    struct Track {
        TrackInfo info;
        std::vector<ImportedEvent> events;
        bool joined = false;  // with another one
    };
    struct Finished {
        ImportedEvent event;
        std::uint32_t track = 0;
    };
    /// What a process's batches are made of, each in order of time.
    struct Delivery {
        std::uint32_t pid = 0;
        std::vector<Finished> spans;
        std::vector<AsyncSpanEvent> asyncs;
        std::vector<OverheadEvent> overheads;
        std::vector<OpenSpan> open;
        std::vector<AsyncSpanEvent> open_asyncs;
        std::vector<InstantEvent> instants;
    };
    /// What was skipped, for one reason.
    struct Skipped {
        std::uint64_t count = 0;
        std::optional<std::uint64_t> byte;  // of the first
        bool missed = true;
    };
    bool full();
    void close_open(Delivery& delivery, const Process& process);
    void summarize(ImportSummary& summary) const;
    std::uint32_t main_pid() const;
    void join_submissions();
    void take_tracks(std::uint32_t main, std::map<std::uint32_t, Delivery>& deliveries,
                     ImportSummary& summary);
    void take_track(Track& track, Delivery& delivery);
    void shift(TraceStore& store, std::map<std::uint32_t, Delivery>& deliveries);
    void adopt_devices(std::uint32_t main, std::map<std::uint32_t, Delivery>& deliveries);
    void deliver(TraceStore& store, Delivery& delivery, Process& process, std::uint64_t source);
    std::vector<RangeValueEvent> values_of(const Delivery& delivery) const;
    TraceBatch first_batch(const Delivery& delivery, Process& process, std::uint64_t source) const;

    ImportOptions options_;
    std::map<std::uint32_t, Process> processes_;  // by pid
    std::vector<std::uint32_t> order_;            // their pids as the file has them
    std::vector<Track> tracks_;
    std::vector<NameInfo> names_;
    std::unordered_map<std::string, std::uint32_t> id_of_name_;
    std::map<std::pair<std::string, std::string>, std::uint8_t> categories_;
    std::vector<InstantEvent> instants_;
    std::vector<std::vector<RangeValueEvent>> values_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> submissions_;  // event, flow
    std::vector<std::tuple<std::uint64_t, std::uint32_t, std::size_t>>
        work_events_;  // event, pid, index of its work
    std::uint64_t flows_ = 0;
    std::map<std::string, Skipped> skipped_;
    std::vector<std::string> notes_;
    std::size_t events_ = 0, most_by_memory_;
    std::uint64_t overlapping_ = 0;
    std::uint64_t beside_ = 0;  // ranges that went from their thread to the overlapping ones
    bool go_on_ = true, cut_ = false;
};

}  // namespace gs
