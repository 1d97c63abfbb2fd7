// ImportEvents: what the file readers find, collected until the whole file has been read; then an
// ImportDelivery puts it into the store. Used by import_perfetto and import_chrome.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
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

/// What is known of a process by the time of finish(). Work whose pid is no process goes to the
/// one with most spans.
struct ImportedProcess {
    TraceBatch batch;  ///< all but the spans of its tracks, in the order of the file
    StackBuilder stack_builder{};
    bool declared = false;  ///< the file says that this is a process, not a device's number
    /// It did nothing that is known.
    bool empty() const {
        return batch.gpu_work.empty() && batch.api_calls.empty() && batch.syncs.empty() &&
               batch.memory.empty() && batch.pauses.empty() && batch.counters.empty() &&
               batch.samples.empty();
    }
    /// Everything of `other` but its samples.
    void take(ImportedProcess& other);
};
struct ImportedTrack {
    TrackInfo info;
    std::vector<ImportedEvent> events;
    bool joined = false;  ///< with another one
};

/// A file's clock.
struct ImportClock {
    std::int64_t read_ns = 0;
    std::optional<std::int64_t> realtime_offset_ns;  ///< REALTIME - the file's time; none: unknown
    /// By how much neighbours may overlap because their times were rounded.
    std::int64_t rounding_ns = 0;
};

/// All that a file has.
struct ImportedTrace {
    std::map<std::uint32_t, ImportedProcess> processes;  // by pid
    std::vector<std::uint32_t> order;                    // their pids as the file has them
    std::vector<ImportedTrack> tracks;
    std::vector<NameInfo> names;
    std::vector<InstantEvent> instants;
    std::vector<std::vector<RangeValueEvent>> values;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> submissions;  // event, flow
    std::vector<std::tuple<std::uint64_t, std::uint32_t, std::size_t>>
        work_events;  // event, pid, index of its work

    ImportedProcess& process(std::uint32_t pid);
};

/// What a reader of the file should know: what was skipped and why, whether the file ends early.
class ImportNotes {
  public:
    /// Counts something that is missed; `what` in the plural.
    void skip(const std::string& what, std::uint64_t count = 1) { skipped_[what].count += count; }
    /// The same, with where the first of them is in the file.
    void skip_at(const std::string& what, std::uint64_t byte);
    /// Counts something that is not missed: the rest of the file says it as well.
    void pass_over(const std::string& what);
    void note(std::string text) { texts_.push_back(std::move(text)); }
    /// The file ends early, or cannot be read from there on; `why` is a sentence for the notes.
    void cut(std::string why);
    bool is_cut() const { return cut_; }
    /// `more`: lines between those on what was skipped and the others.
    void summarize(ImportSummary& summary, const std::vector<std::string>& more) const;

  private:
    /// What was skipped, for one reason.
    struct Skipped {
        std::uint64_t count = 0;
        std::optional<std::uint64_t> byte;  // of the first
        bool missed = true;
    };
    std::map<std::string, Skipped> skipped_;
    std::vector<std::string> texts_;
    bool cut_ = false;
};

class ImportEvents {
  public:
    explicit ImportEvents(const ImportOptions& options);

    ImportNotes notes;
    ImportClock clock;

    ImportedProcess& process(std::uint32_t pid) { return trace_.process(pid); }

    /// A new track, described by what info() says by the time of finish(): its pid is its process,
    /// and spans of API, overhead and overlapping tracks become calls, overhead and overlapping
    /// ranges.
    std::uint32_t add_track();
    TrackInfo& info(std::uint32_t track) { return trace_.tracks[track].info; }
    std::uint32_t name(std::string_view text, std::string_view domain = {});
    /// The number of an NVTX category that a domain's ranges bear.
    std::uint8_t category(std::string_view text, std::string_view domain);

    void add(std::uint32_t track, const ImportedEvent& event);
    /// Of a track, as they were added, until finish().
    std::vector<ImportedEvent>& events(std::uint32_t track) { return trace_.tracks[track].events; }
    /// What an event of a thread's track has beyond its payload: name, value and kind of each.
    std::uint32_t add_values(std::vector<RangeValueEvent> values);
    void add_instant(const InstantEvent& event);
    /// One of a process's own events: add(pid, &TraceBatch::syncs, {...}).
    template <class T>
    void add(std::uint32_t pid, std::vector<T> TraceBatch::*list,
             const std::type_identity_t<T>& event) {
        if (!full()) (process(pid).batch.*list).push_back(event);
    }
    /// `event`: a number by which add_submission() may tell which call launched it, 0: none.
    void add_work(std::uint32_t pid, const GpuWorkEvent& work, std::uint64_t event = 0);
    /// The ranges of `track` are others of `into`, which they overlap.
    void join(std::uint32_t track, std::uint32_t into);
    /// Whether there is anything of another process than `pid` and 0.
    bool has_others(std::uint32_t pid) const;
    /// A sample and its stack, innermost frame first.
    void add_sample(std::uint32_t pid, SampleEvent sample, std::span<const FrameEvent> frames);
    /// The flow of a call that launched these pieces of work.
    std::uint64_t add_submission(const std::vector<std::uint64_t>& events);
    /// Spans and CUDA calls of threads, GPU work, samples or counters have come in.
    bool any() const { return events_ > 0; }
    /// Called from time to time with the share of the file that has been read; false: stop.
    bool go_on(double share) {
        return go_on_ = go_on_ && (!options_.progress || options_.progress(share));
    }
    bool stopped() const { return !go_on_; }

    /// Puts everything into the store, once.
    ImportSummary finish(TraceStore& store);

  private:
    bool full();

    ImportOptions options_;
    ImportedTrace trace_;
    std::unordered_map<std::string, std::uint32_t> id_of_name_;
    std::map<std::pair<std::string, std::string>, std::uint8_t> categories_;
    std::uint64_t flows_ = 0;
    std::size_t events_ = 0, most_by_memory_;
    bool go_on_ = true;
};

}  // namespace gs
