// Reads this process's ring here and now, for tests without a collector.
#pragma once

#include "base/record/ring.h"
#include "profiler/collect/reader.h"
#include "profiler/store/store.h"

namespace gs {

inline void drain_ring(TraceReader& reader, TraceStore& store) {
    publish_clock_snapshot();
    TraceBatch batch;
    reader.drain(batch);
    store.ingest(batch);
}

}  // namespace gs
