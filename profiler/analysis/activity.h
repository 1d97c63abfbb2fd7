// What a process did on its GPUs and in the CUDA API during a stretch of time, as sets of intervals
// over all streams and threads: busy, copying, waiting. Used by the breakdown of iterations and by
// the insights.
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/analysis/intervals.h"
#include "profiler/store/store.h"

namespace gs {

/// api_kind_of() for the names of a store, each asked once.
class ApiKinds {
  public:
    explicit ApiKinds(const TraceStore& store) : store_(&store) {}
    ApiKind operator()(std::uint32_t name);

  private:
    const TraceStore* store_;
    std::vector<std::int8_t> known_;
};

struct ProcessActivity {
    Intervals kernels;     ///< at least one kernel runs
    Intervals copies;      ///< at least one copy or fill
    Intervals busy;        ///< any work of a GPU
    Intervals sync;        ///< a host thread is inside a synchronising call
    Intervals api;         ///< a host thread is inside any CUDA call
    Intervals watched;     ///< recording was not paused: the sets above hold nothing outside
    bool has_gpu = false;  ///< GPU work was recorded at all, whenever it was
    bool has_api = false;  ///< so were calls
};
/// Sets are clipped to [begin, end].
ProcessActivity activity_of(const TraceStore& store, std::uint32_t process, std::int64_t begin_ns,
                            std::int64_t end_ns);

/// Visits a thread's CUDA calls that overlap [begin, end]: the runtime's, then those of the driver
/// that are not inside one of the runtime's. visit(row, span).
template <class Visit>
void for_each_call(const TraceTrack& track, std::int64_t begin_ns, std::int64_t end_ns,
                   const Visit& visit);

/// Spans of a row that overlap [begin, end]: rows are in order of time and do not overlap.
std::span<const TraceSpan> spans_within(std::span<const TraceSpan> row, std::int64_t begin_ns,
                                        std::int64_t end_ns);

/// The kind of GPU work that spans of a row are, if known; else kernels.
inline GpuWorkKind work_kind(const TraceTrack& track, std::size_t row, std::size_t index) {
    if (row >= track.works.size() || index >= track.works[row].size()) return GpuWorkKind::kernel;
    return track.works[row].view()[index].kind;
}
template <class Visit>
void for_each_call(const TraceTrack& track, std::int64_t begin_ns, std::int64_t end_ns,
                   const Visit& visit) {
    std::span<const TraceSpan> outer;
    for (std::size_t r = 0; r < track.rows.size(); ++r) {
        const auto row = spans_within(track.rows[r].view(), begin_ns, end_ns);
        std::size_t p = 0;
        for (const TraceSpan& span : row) {
            while (p < outer.size() && outer[p].end_ns <= span.begin_ns) ++p;
            if (r == 0 || p == outer.size() || outer[p].begin_ns > span.begin_ns) visit(r, span);
        }
        if (r == 0) outer = row;
    }
}
inline bool is_copy(GpuWorkKind kind) {
    return kind == GpuWorkKind::copy || kind == GpuWorkKind::fill;
}

}  // namespace gs
