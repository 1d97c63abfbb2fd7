// ImportDelivery: puts what a file has into a store, as live readers would have brought it: begins
// and ends are paired, spans nested, launches joined with GPU work, clocks aligned, and all comes
// in order of time, process by process. Used by ImportEvents.
#pragma once

#include "profiler/files/import_events.h"

namespace gs {

class ImportDelivery {
  public:
    ImportDelivery(ImportedTrace&& trace, const ImportClock& clock, const ImportOptions& options,
                   ImportNotes& notes)
        : trace_(std::move(trace)), clock_(clock), options_(options), notes_(notes) {}

    ImportSummary deliver(TraceStore& store);

  private:
    struct Finished {
        ImportedEvent event;
        std::uint32_t track = 0;
    };
    /// What the tracks of a process have.
    struct Part {
        std::vector<Finished> spans;
        std::vector<AsyncSpanEvent> open_asyncs;
    };

    void join_submissions();
    std::uint32_t main_pid() const;
    void take_tracks(std::uint32_t main);
    void take_track(ImportedTrack& track, Part& part, TraceBatch& batch);
    void adopt_devices(std::uint32_t main);
    void close_open(Part& part, TraceBatch& batch);
    void shift(TraceStore& store);
    void sort(Part& part, TraceBatch& batch) const;
    void count(const Part& part, const TraceBatch& batch);
    std::vector<RangeValueEvent> values_of(const Part& part) const;
    void deliver(TraceStore& store, const Part& part, TraceBatch rest) const;
    void deliver_pieces(TraceStore& store, TraceBatch batch, const std::vector<Finished>& spans,
                        const std::vector<ApiCallEvent>& calls,
                        const std::vector<GpuWorkEvent>& works) const;
    std::vector<std::string> own_notes() const;

    ImportedTrace trace_;
    ImportClock clock_;
    const ImportOptions& options_;
    ImportNotes& notes_;
    std::map<std::uint32_t, Part> parts_;  // by pid
    ImportSummary summary_;
    std::uint64_t overlapping_ = 0;
    std::uint64_t beside_ = 0;  // ranges that went from their thread to the overlapping ones
};

}  // namespace gs
