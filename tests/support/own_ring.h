// Reads this process's ring here and now, for tests without a collector.
#pragma once

#include <utility>

#include "base/record/ring.h"
#include "profiler/collect/reader.h"
#include "profiler/store/store.h"
#include "tests/support/required.h"

namespace gs {

inline TraceBatch drain(TraceReader& reader) {
    publish_clock_snapshot();
    TraceBatch batch;
    reader.drain(batch);
    return batch;
}
/// Without the records that are in the ring already.
inline TraceReader own_reader() {
    TraceReader reader = required(TraceReader::attach_own());
    TraceBatch before;
    reader.drain(before);
    return reader;
}

inline void drain_ring(TraceReader& reader, TraceStore& store) { store.ingest(drain(reader)); }

}  // namespace gs
