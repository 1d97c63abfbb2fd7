// Collector: a thread that drains this process's ring every few milliseconds and hands batches over
// through a Queue, so that the thread that shows or saves measurements never reads the ring itself.
// Made once by the studio and by `train`.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "profiler/collect/batch_queue.h"
#include "profiler/collect/reader.h"
#include "profiler/store/event.h"
#include "profiler/store/store.h"

namespace gs {

struct CollectorOptions {
    bool past = true;  ///< also collect what this process recorded before, as far as the ring still
                       ///< holds it
    std::chrono::milliseconds interval{5};        ///< between two looks while records come
    std::chrono::milliseconds idle_interval{20};  ///< it grows to this while none do: a long lane
                                                  ///< holds 20 ms of 1.6 million records a second
};

class Collector {
  public:
    /// Starts the thread on this process's ring. Without a ring (the system refused one) there is
    /// nothing to collect; available() says so.
    explicit Collector(CollectorOptions options = {});
    ~Collector();
    Collector(const Collector&) = delete;
    Collector& operator=(const Collector&) = delete;

    bool available() const { return reader_ != nullptr; }
    /// Moves everything handed over so far into `store`; call it from the store's thread, every
    /// frame or every second. The number of batches taken. Never waits for the collector.
    std::size_t drain_into(TraceStore& store);
    /// Stops the thread and moves everything, up to this moment, into `store`.
    void finish(TraceStore& store);

  private:
    void run();
    void collect();

    CollectorOptions options_;
    std::unique_ptr<TraceReader> reader_;
    BatchQueue batches_{64};
    std::shared_ptr<TraceBatch> pending_;  // the collecting thread's
    std::chrono::steady_clock::time_point last_clock_{};
    std::uint64_t taken_ = 0;  // records, as of the last look
    bool busy_ = false;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// For commands without a collector thread: reads the ring here and now.
void drain_ring(TraceReader& reader, TraceStore& store);

}  // namespace gs
