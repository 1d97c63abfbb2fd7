// A collector of one process, for tests of what it brings into a store.
#pragma once

#include "profiler/collect/multi_collector.h"
#include "tests/unit/service_process.h"

namespace gs::service {

inline MultiCollectorOptions only(const ServedProcess& process) {
    MultiCollectorOptions options;
    options.pids = {static_cast<std::uint32_t>(process.pid())};
    return options;
}

/// Spans of a name in a store.
inline std::size_t spans_named(const TraceStore& store, std::string_view name) {
    std::size_t count = 0;
    for (const TraceTrack& track : store.tracks())
        for (const auto& row : track.rows)
            for (const TraceSpan& span : row.view()) count += store.name(span.name) == name ? 1 : 0;
    return count;
}

inline std::unique_ptr<MultiCollector> started(MultiCollectorOptions options) {
    auto collector = MultiCollector::start(std::move(options));
    EXPECT_TRUE(collector);
    return collector ? std::move(*collector) : nullptr;
}

}  // namespace gs::service
