// BatchQueue: between a collecting thread and the owner of a TraceStore. The collecting thread
// fills a batch and hands it over; when the owner is behind it continues filling the same one, and
// when it has stopped taking any, the oldest go, so memory stays bounded. Used by
// service::MultiCollector.
#pragma once

#include <cstdint>
#include <memory>

#include "base/mailbox.h"
#include "profiler/store/event.h"
#include "profiler/store/store.h"

namespace gs {

class BatchQueue {
  public:
    explicit BatchQueue(std::size_t capacity) : batches_(capacity) {}

    /// Queues `batch` and puts an empty one in its place; leaves it when there is no space. The
    /// number of records dropped for lack of memory, for the reader's count_lost().
    std::uint64_t hand_over(std::shared_ptr<TraceBatch>& batch);
    /// Moves everything handed over before this call into `store`, on the store's thread; the
    /// number of batches. Never waits.
    std::size_t take_into(TraceStore& store);

  private:
    Queue<std::shared_ptr<const TraceBatch>> batches_;
};

}  // namespace gs
