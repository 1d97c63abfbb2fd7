#include "profiler/collect/collector.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/record/ring.h"

namespace gs {

Collector::Collector(CollectorOptions options) : options_(options) {
    auto reader = TraceReader::attach_own();
    if (!reader) {
        log_warning("nothing will be measured: {}", reader.error().text());
        return;
    }
    reader_ = std::make_unique<TraceReader>(std::move(*reader));
    if (!options_.past) reader_->skip_past();
    pending_ = std::make_shared<TraceBatch>();
    thread_ = std::thread([this] { run(); });
}

Collector::~Collector() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
}

void Collector::run() {
    ::pthread_setname_np(::pthread_self(), "gs-collector");
    auto interval = options_.interval;
    do {  // at least once: a thread that starts late, on a busy machine, still takes its turn and
          // accounts for it
        collect();
        interval = busy_ ? options_.interval : std::min(interval * 2, options_.idle_interval);
        if (!stop_) std::this_thread::sleep_for(interval);
    } while (!stop_);
}

void Collector::collect() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_clock_ > std::chrono::milliseconds(100)) {
        publish_clock_snapshot();
        last_clock_ = now;
    }
    const std::uint64_t before = taken_;
    reader_->drain(*pending_);
    taken_ = pending_->written;
    busy_ = taken_ != before;
    pending_->collector_cpu_ns = static_cast<std::int64_t>(clock_ns(CLOCK_THREAD_CPUTIME_ID));
    reader_->count_lost(batches_.hand_over(pending_));
}

std::size_t Collector::drain_into(TraceStore& store) { return batches_.take_into(store); }

void Collector::finish(TraceStore& store) {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    drain_into(store);
    if (!available()) return;
    publish_clock_snapshot();
    reader_->drain(*pending_);
    store.ingest(*pending_);
    pending_ = std::make_shared<TraceBatch>();
}

void drain_ring(TraceReader& reader, TraceStore& store) {
    publish_clock_snapshot();
    TraceBatch batch;
    reader.drain(batch);
    store.ingest(batch);
}

}  // namespace gs
