// What there is to say about one span of the timeline, as lines of label and value: the tooltip
// shows the first of them, the strip below the timeline all. Free of ImGui, so that tests can read
// them.
#pragma once

#include <string>
#include <vector>

#include "profiler/store/store.h"

namespace gs {

struct SpanFact {
    std::string label, value;
};
/// `span` is one of the row's.
std::vector<SpanFact> facts_of(const TraceStore& trace, std::size_t track, std::size_t row,
                               const TraceSpan& span);

/// A piece of GPU work that a host span launched.
struct LaunchedWork {
    std::uint32_t track = 0, row = 0;
    const TraceSpan* span = nullptr;
};
/// What a CUDA call, or a range of a stage timer, launched itself; the first few. A look at the
/// work of every stream that begins within a second of the span.
std::vector<LaunchedWork> launched_by(const TraceStore& trace, std::size_t track, std::size_t row,
                                      const TraceSpan& span, std::size_t most = 8);

/// "12.4 GB/s"; empty where there are no bytes or no time.
std::string rate_text(std::uint64_t bytes, std::int64_t length_ns);

}  // namespace gs
