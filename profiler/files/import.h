// Traces from files, ours and other people's, into a TraceStore: Perfetto (TrackEvent), Chrome
// JSON, XSpace (JAX) and SQLite (Nsight Systems), gzipped or not; the content decides which. Called
// by `gausscope trace`. What a file holds and the store cannot is counted and said. A damaged event
// costs that event only; of a file that was cut, everything before the cut is read. A file without
// any whole event is an error with its byte, and nothing of it reaches the store.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "profiler/store/store.h"

namespace gs {

/// What a file's clock shows more than that of the store it goes into, beyond what the wall clocks
/// tell: offset_ns + drift (t - at_ns) at the store's time t.
struct ClockShift {
    double offset_ns = 0, drift = 0;
    std::int64_t at_ns = 0;
    std::string text{};  ///< becomes ProcessLabels::clock of the file's processes
};

struct ImportOptions {
    /// Of the file, of what it unpacks to, and of the events in it. 0: what the machine has free.
    std::uint64_t max_bytes = 0;
    std::size_t max_events = ~std::size_t{0};  ///< the rest is skipped and counted
    ClockShift shift{};  ///< taken off the file's times, of a file that is not the store's first
    /// Called from time to time with the share done, 0 to 1; false ends the import (kind
    /// unsupported, "stopped").
    std::function<bool(double)> progress{};
};

struct ImportSummary {
    std::string format;  ///< "Perfetto", "Chrome JSON", "XSpace", "Nsight Systems"
    std::uint64_t spans = 0, instants = 0, points = 0, threads = 0, streams = 0;
    std::uint64_t processes = 0, calls = 0, work = 0;  ///< CUDA calls; kernels, copies and fills
    std::uint64_t samples = 0;                         ///< of call stacks
    std::uint64_t open = 0;     ///< ranges that never end, which are not among the spans
    std::uint64_t skipped = 0;  ///< events the store cannot hold, and those that it need not
    std::uint64_t lost = 0;     ///< of these, events that are missed: bad ones, unknown kinds, ...
    bool cut = false;           ///< the file ends early, or from some byte on it cannot be read
    std::vector<std::string> notes;  ///< which those were, and what else a reader should know
};

/// Into a store that holds something already, the file's processes come beside those that are
/// there, its times moved by the wall clock if it has one.
Result<ImportSummary> import_trace(const fs::path& path, TraceStore& store,
                                   const ImportOptions& options = {});

}  // namespace gs
