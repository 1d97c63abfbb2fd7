// TraceReader: reads a ring (base/record/abi.h) as any client does: maps the memfd read-only,
// copies what is new, notices what it missed, and believes nothing it reads. Used by the
// Collector's thread, by command-line tools directly, and by tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/record/abi.h"
#include "profiler/collect/ring_clocks.h"
#include "profiler/store/event.h"

namespace gs {

/// An hour ahead of the reader: nothing later is something a recorder wrote.
inline std::int64_t latest_time(const TraceBatch& out) { return out.read_ns + 3'600'000'000'000; }

/// Where the GPUs are described: after the clock snapshots, which a newer minor may make longer.
inline std::uint64_t devices_offset(const abi::RingHeader& h) {
    return offsetof(abi::RingHeader, clocks) + std::uint64_t{abi::kClockSlots} * h.clock_bytes;
}

class TraceReader {
  public:
    /// Maps the ring behind `fd` (which stays the caller's). Errors: malformed (no ring, sizes or
    /// offsets that cannot be), unsupported (another major version, a memfd that may shrink under
    /// the reader).
    static Result<TraceReader> attach(int fd);
    /// This process's own ring, started if need be.
    static Result<TraceReader> attach_own();

    /// Appends everything written since the last call to `out` and sets its totals. Never waits for
    /// the writer.
    void drain(TraceBatch& out);

    /// The largest share of a lane that was new to the last drain(): at 1 records were lost.
    double fullest() const { return fullest_; }

    /// Adds to the lapped records: what a consumer of the batches had to throw away.
    void count_lost(std::uint64_t records) { loss_.lapped += records; }

    /// Of a ring that recorded for this reader from its first record on: what was overwritten
    /// before the reader came is also lost. Before the first drain().
    void count_past();

    /// Leaves out what was recorded up to now.
    void skip_past();

    /// False when the producer's memfd is all that is left of it.
    bool producer_alive() const;
    std::uint32_t pid() const { return layout_.pid; }
    std::uint64_t process_start() const { return layout_.process_start; }  ///< abi::RingHeader

    TraceReader(TraceReader&&) noexcept = default;
    TraceReader& operator=(TraceReader&&) noexcept = default;

  private:
    /// What the reader knows of a lane.
    struct LaneProgress {
        std::uint64_t tail = 0;        ///< next record to read
        std::uint32_t generation = 0;  ///< of the owner whose records are at tail
        std::uint32_t track = kNoTrack;
        std::uint32_t tid = 0;
        std::uint32_t name = 0;
        abi::LaneKind kind = abi::LaneKind::thread;
    };
    /// A record of any lane; of a thread's lane only the first half is set.
    struct alignas(8) RawRecord {
        std::byte bytes[sizeof(abi::ActivityRecord)];
    };
    struct KnownName {
        std::string text, domain;
    };

    TraceReader() = default;
    void read_strings(TraceBatch& out);
    void read_lane(std::uint32_t index, std::uint64_t head, const abi::Lane& info, TraceBatch& out);
    void read_open(std::uint32_t index, TraceBatch& out);
    void read_lanes(abi::LaneKind kind, TraceBatch& out);
    /// The records of a lane that are whole, from the first kept one on; moves the lane's progress.
    std::span<const RawRecord> copy_lane(std::uint32_t index, std::uint64_t head,
                                         const abi::Lane& info, TraceBatch& out);
    void take_record(LaneProgress& lane, const abi::DeviceRecord& record, TraceBatch& out);
    void take_span(const LaneProgress& lane, const abi::DeviceRecord& record, const SpanEvent& span,
                   TraceBatch& out);
    void take_value(const LaneProgress& lane, const abi::Record& record, std::int64_t begin,
                    TraceBatch& out);
    void new_owner(LaneProgress& lane, std::uint32_t tid, std::uint32_t name, TraceBatch& out);
    void report_track(const LaneProgress& lane, bool ended, TraceBatch& out);
    // ---- reader_activity.cpp
    void take_activities(TraceBatch& out);
    void take_activity(const abi::ActivityRecord& record, TraceBatch& out);
    void read_devices(TraceBatch& out);
    void read_service(const abi::RingHeader& now, TraceBatch& out);
    /// The id itself when its text is known, else 0.
    std::uint32_t known(std::uint32_t name, TraceBatch& out);

    RingMemory memory_;
    abi::RingHeader layout_{};  ///< validated copy; sizes and offsets are taken from here only
    RingClocks clocks_;
    std::uint64_t arena_read_ = 0;
    std::vector<KnownName> names_;
    std::vector<LaneProgress> lanes_;
    std::vector<RawRecord> scratch_;
    std::vector<abi::ActivityRecord> activities_;  ///< wait until their clock is known
    std::int64_t waiting_since_ns_ = 0;
    std::uint32_t devices_told_ = 0;  ///< a bit per slot
    std::uint64_t records_left_ = 0;  ///< that this drain() may still copy
    std::uint32_t tracks_ = 0;
    std::uint32_t lanes_used_ = 0;
    double fullest_ = 0;
    LossCounts loss_;
};

}  // namespace gs
