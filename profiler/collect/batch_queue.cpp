#include "profiler/collect/batch_queue.h"

#include <vector>

namespace gs {
namespace {

constexpr std::size_t kMaxPending = 500'000;  // of a kind, in the one batch that waits

template <class Event>
std::size_t drop_oldest(std::vector<Event>& events) {
    if (events.size() <= kMaxPending) return 0;
    const std::size_t excess = events.size() - kMaxPending / 2;
    events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(excess));
    return excess;
}

template <class... Events>
std::size_t drop_oldest_of(Events&... kinds) {
    return (drop_oldest(kinds) + ...);
}

}  // namespace

std::uint64_t BatchQueue::hand_over(std::shared_ptr<TraceBatch>& batch) {
    if (batch->read_ns == 0) return 0;
    if (batches_.try_put(batch)) {
        batch = std::make_shared<TraceBatch>();
        return 0;
    }
    return drop_oldest_of(batch->spans, batch->counters, batch->instants, batch->async_spans,
                          batch->gpu_work, batch->api_calls, batch->syncs, batch->memory,
                          batch->overheads, batch->pauses, batch->values);
}

std::size_t BatchQueue::take_into(TraceStore& store) {
    // Not until it is empty: where rings fill faster than a store takes them in, it never is.
    const std::size_t count = batches_.size();
    for (std::size_t i = 0; i < count; ++i) store.ingest(**batches_.try_take());
    return count;
}

}  // namespace gs
