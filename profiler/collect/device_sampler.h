// DeviceSampler: asks NVML of the GPUs of this machine, each once a second however many processes
// use it, on a thread of its own because the driver may keep it waiting. What it is told goes into
// the store as a source of its own (profiler/store/node_gpus.h). Part of a MultiCollector.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "profiler/collect/batch_queue.h"
#include "profiler/collect/nvml_gpu.h"

namespace gs::service {

struct DeviceSamplerOptions {
    bool all = false;  ///< also GPUs that nobody uses
    std::chrono::milliseconds interval{1000};
};

class DeviceSampler {
  public:
    /// Null with GAUSSCOPE_NVML=0. NVML is opened when there is a GPU to ask about.
    static std::unique_ptr<DeviceSampler> start(DeviceSamplerOptions options);
    ~DeviceSampler() { stop(); }

    /// A process uses this GPU. From any thread.
    void watch(const std::string& uuid);
    /// Whether nobody is left who uses those that are watched: then they are let be. From any
    /// thread.
    void set_unused(bool unused);
    /// As BatchQueue::take_into().
    std::size_t take_into(TraceStore& store) { return batches_.take_into(store); }
    /// Stops the thread and moves everything into `store`.
    void finish(TraceStore& store);

  private:
    using Clock = std::chrono::steady_clock;
    explicit DeviceSampler(DeviceSamplerOptions options) : options_(options) {}
    void run();
    void stop();
    /// Of those that `wanted` names; only those that never were, unless it is time for all.
    void sample(const std::set<std::string>& wanted, bool time_for_all);
    bool open();
    void close();
    void tell_missing(const std::set<std::string>& wanted);

    DeviceSamplerOptions options_;
    BatchQueue batches_{64};
    // ---- shared
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<std::string> wanted_;  // uuids
    bool unused_ = false, stop_ = false;
    // ---- the thread's
    nvml::DeviceBatch batch_;
    std::unique_ptr<nvml::Library> library_;
    std::vector<std::unique_ptr<nvml::Gpu>> gpus_;
    std::set<std::string> missing_;  // of the wanted, those that NVML does not know: said
    std::string problem_;            // why the library cannot be had
    bool problem_told_ = false;
    Clock::time_point renew_{};
    std::thread thread_;
};

}  // namespace gs::service
