// Long work in parallel whose progress is reported by, and can be cancelled from, the one thread
// that asked for it: callers' progress callbacks need not be thread-safe. Used where a format's
// parts are packed or unpacked at the same time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "renderer/io/files/records.h"

namespace gs {

/// Progress of the work, from any thread.
class Meter {
  public:
    void add(std::size_t n) { done_.fetch_add(n, std::memory_order_relaxed); }
    bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
    void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
    std::size_t done() const { return done_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::size_t> done_{0};
    std::atomic<bool> cancelled_{false};
};

/// work(Meter&) -> Result<void>, on another thread when there is somebody to tell. `total` is what
/// it will have added in the end. When the user cancels, `work` should look at cancelled() and
/// return soon; its error is the result.
template <class Work>
Result<void> run_metered(const Progress& progress, std::size_t total, Work&& work) {
    Meter meter;
    if (!progress) return work(meter);
    constexpr auto kInterval = std::chrono::milliseconds(50);
    std::mutex mutex;
    std::condition_variable changed;
    bool finished = false;
    Result<void> result;
    std::exception_ptr thrown;
    std::thread worker([&] {
        try {
            result = work(meter);
        } catch (...) {
            thrown = std::current_exception();
        }
        const std::lock_guard lock(mutex);
        finished = true;
        changed.notify_one();
    });
    for (std::unique_lock lock(mutex);
         !changed.wait_for(lock, kInterval, [&] { return finished; });) {
        lock.unlock();
        if (!keep_going(progress, std::min(meter.done(), total), total)) meter.cancel();
        lock.lock();
    }
    worker.join();
    if (thrown) std::rethrow_exception(thrown);
    // Short work is reported too, so that a callback that cancels always does.
    if (result && (meter.cancelled() || !keep_going(progress, total, total)))
        return fail(ErrorKind::cancelled, "", "was cancelled");
    return result;
}

}  // namespace gs
