// Timeline: the spans of a trace by thread or GPU stream and row, in order of time, with what is
// known of GPU work beside them. A part of the TraceStore; panels, exports and analyses search it.
//
// Where its parts are: timeline.cpp finds and forgets, timeline_rows.cpp puts spans into rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/store/event.h"
#include "profiler/store/renumbering.h"
#include "profiler/store/sliding.h"

namespace gs {

/// A finished span. `name` is an index into the NameBook.
struct TraceSpan {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t name = 0;
    bool has_payload = false;
    PayloadKind payload_kind = PayloadKind::whole;
    std::uint8_t category = 0;  ///< see NameBook::category()
    std::int64_t length_ns() const { return end_ns - begin_ns; }
};
/// Of a row, the index of the first that ends after `t`.
std::size_t first_ending_after(std::span<const TraceSpan> row, std::int64_t t);
/// "-3", "0.5"; empty without a payload.
std::string payload_text(const TraceSpan& span);
std::string payload_text(std::uint64_t payload, PayloadKind kind);

/// Details of a piece of GPU work beyond its span, if CUPTI or a file has them. Unknown numbers are
/// zero.
struct GpuWork {
    std::uint64_t correlation = 0;
    std::uint64_t bytes = 0;                       ///< copies and fills
    std::int64_t queued_ns = 0, submitted_ns = 0;  ///< 0: unknown
    std::uint32_t grid[3] = {0, 0, 0};
    std::uint16_t block[3] = {0, 0, 0};
    std::uint16_t registers = 0;                          ///< a thread
    std::uint32_t static_shared = 0, dynamic_shared = 0;  ///< bytes
    std::uint32_t local_per_thread = 0, graph = 0;
    GpuWorkKind kind = GpuWorkKind::kernel;
    MemoryType source = MemoryType::unknown, target = MemoryType::unknown;
    bool asynchronous = true;
};

/// Whose a track is, and what it is called.
struct TrackFacts {
    std::uint32_t pid = 0, tid = 0;
    std::string name;  ///< "engine", "thread 1234", "CUDA stream training"
    bool ended = false;
    TrackKind kind = TrackKind::thread;
    std::uint32_t process = 0;  ///< index into TraceStore::processes()
    std::uint32_t device = 0, context = 0,
                  stream = 0;  ///< of GPU streams that CUPTI or a file described
};
/// One thread's, or one GPU stream's, timeline. Spans of a row do not overlap and are in order of
/// time. Rows are nesting depths; of API tracks row 0 is the runtime and the next the driver inside
/// it; work of a stream, or ranges of an overlapping track, that run at the same time are on the
/// first row that is free.
struct TraceTrack : TrackFacts {
    std::vector<SlidingArray<TraceSpan>> rows;
    std::vector<SlidingArray<TraceLaunch>>
        launches;  ///< of GPU streams: [row][span], beside `rows`
    std::vector<SlidingArray<GpuWork>>
        works;  ///< of GPU streams with details: [row][span], beside `rows`; else empty
    std::int64_t newest_launch_ns = 0;  ///< of GPU streams
    bool empty() const;                 ///< it has no spans
    /// The span of a row at time t, null when none.
    const TraceSpan* span_at(std::size_t row, std::int64_t t) const;
    /// For `span`, one of rows[row].view(): its recorded launch and its details, null without.
    const TraceLaunch* launch_of(std::size_t row, const TraceSpan& span) const;
    const GpuWork* work_of(std::size_t row, const TraceSpan& span) const;
    /// A GPU stream whose work CUPTI or a file lists piece by piece. On other streams a stage timer
    /// measured the stages, which nest and have the names of ranges.
    bool described() const { return !works.empty(); }
};

/// A span and where it is.
struct FoundSpan {
    const TraceSpan* span = nullptr;  ///< null: there is none, or it is no longer kept
    std::uint32_t track = kNoTrack;
    std::size_t row = 0;
    bool inferred = false;  ///< see range_of()
};

/// A span on its way into a track's rows, with what lies beside it on GPU streams.
struct StagedSpan {
    static constexpr std::uint16_t kNoRow = 65535;
    TraceSpan span;
    TraceLaunch launch;
    std::uint64_t correlation = 0;
    std::uint32_t work = 0;  ///< index into the works given to Timeline::settle()
    std::uint8_t first_row = 0;
    std::uint16_t row = kNoRow;  ///< where it went
};

/// Finds tracks by the numbers of their threads, and the busiest thread of each process.
class ThreadIndex {
  public:
    /// The tracks of one kind of a thread, oldest first: its number may have been another's before,
    /// and its ranges may come from two rings.
    std::span<const std::uint32_t> all(std::uint32_t process, std::uint32_t tid,
                                       TrackKind kind) const;
    /// The newest of them, kNoTrack when there is none.
    std::uint32_t find(std::uint32_t process, std::uint32_t tid, TrackKind kind) const;
    /// The thread with the most time in outermost ranges, ever; kNoTrack when there is none.
    std::uint32_t busiest(std::uint32_t process) const;

    void add(std::uint32_t track, const TrackFacts& facts);
    /// Counts time in outermost ranges of a thread.
    void add_time(std::uint32_t track, std::uint32_t process, std::int64_t ns);
    /// `tracks`: those that stay, under their new numbers.
    void renumber(const NewNumbers& to, std::span<const TraceTrack> tracks);

  private:
    std::vector<std::int64_t> outer_ns_;  // by track
    std::vector<std::uint32_t> busiest_;  // by process
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>
        tracks_of_[kTrackKinds];  // by kind, process and tid
};

class Timeline {
  public:
    const std::vector<TraceTrack>& tracks() const { return tracks_; }
    const ThreadIndex& threads() const { return threads_; }
    /// Begin of the oldest and end of the newest span kept; 0, 0 when there is none.
    std::int64_t begin_ns() const;
    std::int64_t end_ns() const { return end_ns_; }
    std::uint64_t span_count() const { return span_count_; }
    std::uint64_t forgotten() const { return forgotten_; }  ///< dropped for want of memory
    /// What ended before this moment has been dropped for want of memory; 0: nothing has.
    std::int64_t kept_from_ns() const { return kept_from_ns_; }
    /// Overlapped their neighbours, nested too deep, or belonged to more tracks than are kept.
    std::uint64_t misplaced() const { return misplaced_; }

    /// The span that launched `span`, one of a GPU stream's rows[row].view(): where its arrow
    /// begins.
    FoundSpan launching_span(std::size_t track, std::size_t row, const TraceSpan& span) const;

    // ---- for those who fill it
    /// A new track of which only these are known; kNoTrack when there are too many.
    std::uint32_t add(std::uint32_t process, std::uint32_t pid, std::uint32_t tid, TrackKind kind);
    TraceTrack& track(std::uint32_t index) { return tracks_[index]; }
    /// Puts a span that comes in order into its row, its begin moved to where the row ends when
    /// need be. False: it cannot be there.
    bool place(std::uint32_t track, TraceSpan& span, std::uint8_t depth);
    /// Inserts spans that come in any order, each on the first row from its first_row that is free;
    /// sets StagedSpan::row. Sorts `staged`.
    void settle(std::uint32_t track, std::vector<StagedSpan>& staged,
                std::span<const GpuWork> works);
    void count_misplaced() { ++misplaced_; }
    /// How many spans end before `t`, and what they take with what lies beside them.
    std::uint64_t spans_before(std::int64_t t) const;
    std::size_t bytes_before(std::int64_t t) const;
    /// Drops them: at a time that is the same for all tracks, so that all begin together.
    void forget_before(std::int64_t t);
    /// Tracks that go take their spans along.
    void renumber(const Renumbering& to);
    void clear();
    std::size_t bytes() const;
    /// Of the tracks themselves, without their spans.
    std::size_t track_bytes() const { return tracks_.size() * kBytesPerTrack; }
    /// What add() takes at most.
    static constexpr std::size_t kMaxTracks = 65536;
    /// A copy with the same tracks and their spans in [begin, end].
    Timeline excerpt(std::int64_t begin_ns, std::int64_t end_ns) const;

  private:
    static constexpr std::size_t kBytesPerTrack = 512;  // with its rows, its name and its index

    void count(std::uint32_t track, std::size_t row, const TraceSpan& span);

    std::vector<TraceTrack> tracks_;
    ThreadIndex threads_;
    std::int64_t kept_from_ns_ = 0;
    std::uint64_t span_count_ = 0, forgotten_ = 0, misplaced_ = 0;
    std::int64_t end_ns_ = 0;
};

}  // namespace gs
