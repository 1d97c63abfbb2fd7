// The TraceStore as a Perfetto trace, to be opened at ui.perfetto.dev (or any reader of that
// format): threads, GPU streams, spans with their payloads, arrows from launch to GPU work,
// counters, instants. Called by `--trace F` and by the studio's timeline.
#pragma once

#include <cstdint>
#include <limits>

#include "base/file.h"
#include "profiler/store/store.h"

namespace gs {

/// Spans that touch [begin_ns, end_ns] (CLOCK_MONOTONIC) are written, whole.
struct PerfettoOptions {
    std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
    /// Of a part of the time; then what did nothing in it is left out.
    bool bounded() const { return begin_ns != std::numeric_limits<std::int64_t>::min(); }
    bool contains(std::int64_t time) const { return time >= begin_ns && time <= end_ns; }
    bool covers(const TraceSpan& span) const {
        return span.end_ns >= begin_ns && span.begin_ns <= end_ns;
    }
};

struct PerfettoSummary {
    std::uint64_t spans = 0, threads = 0, streams = 0, counters = 0, samples = 0, bytes = 0;
};

/// Writes the file under its final name only when complete. Errors: unwritable.
Result<PerfettoSummary> export_perfetto(const TraceStore& store, const fs::path& path,
                                        const PerfettoOptions& options = {});

}  // namespace gs
