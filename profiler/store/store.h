// TraceStore: the measurements of this session, in bounded memory. Filled from TraceBatches and
// read by one thread (the UI's, or a command's): panels, the Perfetto export, `bench` and the
// insights all read this one store.
//
// It takes batches and hands what is in them to its parts, which hold everything and answer for it:
// names() what things are called, timeline() the spans of threads and GPU streams, frames()
// iterations and stage statistics, sources() processes and losses, samples() call stacks.
// LaunchJoin, which joins GPU work with its launch, needs no reader.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "profiler/store/counters.h"
#include "profiler/store/event.h"
#include "profiler/store/frame_book.h"
#include "profiler/store/launch_join.h"
#include "profiler/store/name_book.h"
#include "profiler/store/range_values.h"
#include "profiler/store/sample_book.h"
#include "profiler/store/sliding.h"
#include "profiler/store/sources.h"
#include "profiler/store/store_options.h"
#include "profiler/store/timeline.h"

namespace gs {

struct TraceInstant {
    std::int64_t time_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t track = 0, name = 0;
    PayloadKind payload_kind = PayloadKind::whole;
};

class TraceStore {
  public:
    explicit TraceStore(TraceStoreOptions options = {}) : options_(options), frames_(options) {}

    void ingest(const TraceBatch& batch);
    /// Lets go of what has ended and holds nothing any more: processes half a minute after their
    /// last record, with their sources, series and frames; tracks; names. Beyond 1,024 ended
    /// processes and 49,152 tracks the oldest that have ended go with all they hold. `now_ns` is of
    /// CLOCK_MONOTONIC. True: processes, tracks and names have other numbers now, and every one
    /// that was asked before is void; so it is for those who keep none (`serve`). O(what it holds)
    /// when something goes, else O(tracks).
    bool retire(std::int64_t now_ns);
    /// Forgets everything measured; threads and names stay known.
    void clear();
    /// A copy of what is in [begin, end], for reading on another thread: tracks, names and
    /// processes under the same numbers, spans, counters and GPU work of that time. Without frames;
    /// not to be fed. O(what it holds).
    TraceStore excerpt(std::int64_t begin_ns, std::int64_t end_ns) const;
    /// The next frames are warm-up again: another scene, another size, another backend.
    void restart_warm_up() { frames_.restart_warm_up(); }
    /// The map for NameBook::gpu_stage(), for kernels that come from now on and those that are
    /// here. Frames keep their sums.
    void set_stage_map(StageMap map) { names_.set_stage_map(std::move(map)); }

    // ---- its parts
    const NameBook& names() const { return names_; }
    const Timeline& timeline() const { return timeline_; }
    const FrameBook& frames() const { return frames_; }
    const Sources& sources() const { return sources_; }
    const SampleBook& samples() const { return samples_; }
    const std::vector<CounterSeries>& counters() const { return counters_.series(); }
    std::span<const TraceInstant> instants() const { return instants_.view(); }

    /// What spans and marks have beyond their payloads.
    const RangeValues& values() const { return values_; }

    // ---- what readers ask most; times are nanoseconds of CLOCK_MONOTONIC
    std::string_view name(std::uint32_t index) const { return names_.text(index); }
    const std::vector<TraceTrack>& tracks() const { return timeline_.tracks(); }
    const std::vector<TraceProcess>& processes() const { return sources_.processes(); }
    /// From the begin of the first to the end of the last span or sample; 0, 0 when there is none.
    std::int64_t begin_ns() const;
    std::int64_t end_ns() const { return std::max(timeline_.end_ns(), samples_.end_ns()); }
    /// The earliest begin ever seen, whatever has been dropped since: where the trace's clock is 0.
    std::int64_t origin_ns() const { return origin_ns_.value_or(0); }
    std::uint64_t span_count() const { return timeline_.span_count(); }
    std::size_t bytes() const;

  private:
    void keep_within_limits(const TraceBatch& batch);
    void free_bytes();
    void renumber(const Renumbering& to);

    TraceStoreOptions options_;
    NameBook names_;
    Sources sources_;
    Timeline timeline_;
    FrameBook frames_;
    LaunchJoin launches_;
    Counters counters_;
    SampleBook samples_;
    RangeValues values_;
    SlidingArray<TraceInstant> instants_;
    std::optional<std::int64_t> origin_ns_;
    std::size_t unchecked_bytes_ = 0;     // at most, come since the memory was last looked at
    std::size_t names_looked_at_ = 4096;  // from twice as many names on, the unused are looked for
};

/// The innermost range of a thread's track at time t.
FoundSpan innermost_at(const TraceStore& store, std::uint32_t track, std::int64_t t);
/// The range a piece of GPU work, `span` of a stream's rows[row].view(), was launched in. When the
/// launching thread had none open (PyTorch launches a backward pass from threads of its own), it is
/// the innermost one that was open then on the thread that has the process's iterations, and
/// `inferred` says so.
FoundSpan range_of(const TraceStore& store, std::size_t track, std::size_t row,
                   const TraceSpan& span);

}  // namespace gs
