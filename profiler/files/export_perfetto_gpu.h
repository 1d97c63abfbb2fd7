// The GPU's part of a Perfetto trace: kernels, copies and fills as render stage events with the GPU
// compute schema, so that ui.perfetto.dev opens a kernel with its launch and occupancy. Called by
// export_perfetto.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profiler/files/export_perfetto.h"
#include "profiler/files/perfetto_writer.h"

namespace gs::perfetto {

/// A span by its place in the store.
struct SpanKey {
    std::uint32_t track = 0, row = 0;
    std::int64_t begin_ns = 0;
    bool operator==(const SpanKey&) const = default;
};
struct SpanKeyHash {
    std::size_t operator()(const SpanKey& key) const;
};
/// Which render stage events each API call launched.
using Submissions = std::unordered_map<SpanKey, std::vector<std::uint64_t>, SpanKeyHash>;

/// Unique in a trace, never 0.
std::uint64_t render_stage_id(std::size_t track, std::size_t row, std::size_t index);
Submissions submissions_of(const TraceStore& store, const PerfettoOptions& options);
/// All work of a stream that has details, in order of time. The number of events.
std::uint64_t write_render_stages(Sequence& out, const TraceStore& store, std::size_t track,
                                  const PerfettoOptions& options, std::uint32_t pid);
/// Names and limits of the GPUs, once a trace.
void write_gpus(PacketSink& sink, const TraceStore& store);

}  // namespace gs::perfetto
