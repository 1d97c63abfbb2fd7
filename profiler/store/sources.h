// Sources: the rings and files that a trace comes from and the processes behind them, each with its
// own numbers for names and tracks, what was lost of it, and how old the news are. A part of the
// TraceStore.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "profiler/store/event.h"
#include "profiler/store/name_book.h"
#include "profiler/store/sliding.h"
#include "profiler/store/timeline.h"

namespace gs {

/// Which process it is, and how its recording went.
struct ProcessFacts {
    std::uint64_t source = 0;                ///< TraceBatch::source of the first ring
    std::uint32_t pid = 0, visible_pid = 0;  ///< as TraceBatch's
    std::string name;
    std::uint64_t named_by = 0;  ///< of Sources, the source that gave the name
    ProcessLabels labels;
    std::optional<ServiceStatus> service;
    std::optional<ServiceStatus>
        service_first;  ///< the first status that arrived: its totals began earlier
    LossCounts loss;
    std::uint64_t written = 0;
    std::vector<GpuDeviceEvent> devices;
    std::int64_t read_ns = 0;  ///< when one of its rings was last read
    bool ended = false;        ///< nothing comes of it any more (TraceBatch::ended)
};
/// A process that was recorded. Tracks, counters and frames name theirs by its index. Two rings of
/// one process (its own and the injection library's) are one process here; losses are those of
/// both.
struct TraceProcess : ProcessFacts {
    SlidingArray<SyncEvent> syncs;     ///< in order of arrival, the newest max_points
    SlidingArray<MemoryEvent> memory;  ///< likewise
    SlidingArray<PauseEvent> pauses;   ///< in order of time, joined where they touch

    /// Takes the state of a batch; `keep`: how many entries each list may have.
    void take(const TraceBatch& batch, std::size_t keep);
    /// Of waits and memory events before `t`.
    std::size_t bytes_before(std::int64_t t) const;
    void forget_before(std::int64_t t);
    std::size_t bytes() const { return syncs.bytes() + memory.bytes() + pauses.bytes(); }
};
/// A stretch in which records were lost: overwritten before they were read, or not written for lack
/// of space.
struct LossStretch {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t records = 0;
    std::uint32_t process = 0;
};

/// One ring, or one process of a file: its numbers, and ours.
struct TraceSource {
    std::uint32_t process = 0;
    std::vector<std::uint32_t> name_of_id;
    std::unordered_map<std::uint32_t, std::uint32_t> track_of_id;
    LossCounts loss;
    std::uint64_t written = 0;
    std::vector<OpenSpan> open;
    bool ended = false;

    std::uint32_t name(std::uint32_t id) const {
        return name_of_id[id < name_of_id.size() ? id : 0];
    }
    std::uint32_t track(std::uint32_t id) const {
        const auto found = track_of_id.find(id);
        return found == track_of_id.end() ? kNoTrack : found->second;
    }
    void take_open(std::span<const OpenSpan> spans);
    /// An event's span (SpanEvent, AsyncSpanEvent) under our name.
    template <class Event>
    TraceSpan span(const Event& e) const {
        return {e.begin_ns,    e.end_ns,       e.payload, name(e.name),
                e.has_payload, e.payload_kind, e.category};
    }
};

class Sources {
  public:
    const std::vector<TraceProcess>& processes() const { return processes_; }
    /// Of the first process.
    std::string_view process_name() const {
        return processes_.empty() ? std::string_view() : std::string_view(processes_.front().name);
    }
    /// `track` and `name` of these are ours.
    std::span<const OpenSpan> open_spans() const { return open_; }
    /// Where records were lost while the store was fed, oldest first.
    std::span<const LossStretch> losses() const { return losses_.view(); }
    const LossCounts& loss() const { return loss_; }
    std::uint64_t records_written() const { return written_; }
    std::int64_t read_ns() const {
        return read_ns_;
    }  ///< when a ring was last read: the age of everything in the store
    std::int64_t realtime_offset_ns() const { return realtime_offset_ns_; }
    std::int64_t collector_cpu_ns() const { return collector_cpu_ns_; }

    // ---- for the store that fills it
    /// The source of a batch with its names and tracks, those new in the batch included.
    TraceSource& take(const TraceBatch& batch, NameBook& names, Timeline& timeline);
    /// Takes the losses and the process's state from the batch, not its spans. `keep`: how many
    /// entries each growing list may have.
    void take_state(TraceSource& source, const TraceBatch& batch, std::size_t keep);
    /// By track: a thread that may yet record. Other tracks are created again when data of them
    /// arrives.
    std::vector<bool> held_tracks(const Timeline& timeline) const;
    /// Marks the names that a source may yet use, or that are open.
    void mark_names(std::vector<bool>& used) const;
    /// Of waits and of memory events before `t`.
    std::size_t bytes_before(std::int64_t t) const;
    void forget_before(std::int64_t t);
    /// What was lost of those that go still counts in loss().
    void renumber(const Renumbering& to);
    void clear();
    std::size_t bytes() const;
    /// Of processes and sources themselves.
    std::size_t fixed_bytes() const;
    /// A copy with what the processes did in [begin, end]; not to be fed.
    Sources excerpt(std::int64_t begin_ns, std::int64_t end_ns) const;

  private:
    using ProcessKey =
        std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // machine, pid or source, start

    std::uint32_t process_of(const TraceBatch& batch);
    void take_losses(const TraceSource& source, const TraceBatch& batch, std::size_t keep);
    void gather_open();
    void total_losses(const TraceSource& source, const TraceBatch& batch);
    void take_end(TraceSource& source);

    std::map<std::uint64_t, TraceSource> sources_;  // by TraceBatch::source
    std::map<ProcessKey, std::uint32_t> process_of_key_;
    std::vector<TraceProcess> processes_;
    SlidingArray<LossStretch> losses_;
    std::vector<OpenSpan> open_;
    LossCounts loss_;
    std::uint64_t written_ = 0;
    std::int64_t read_ns_ = 0, realtime_offset_ns_ = 0, collector_cpu_ns_ = 0;
};

}  // namespace gs
