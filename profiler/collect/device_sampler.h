// DeviceSampler: asks NVML of the GPUs of this machine, each once a second however many processes
// use it, on a thread of its own because the driver may keep it waiting. Its answers go into
// the store as a source of its own (profiler/store/node_gpus.h). Part of a MultiCollector.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "profiler/store/store.h"

namespace gs::service {

struct DeviceSamplerOptions {
    bool all = false;  ///< also GPUs that nobody uses
    std::chrono::milliseconds interval{1000};
    /// What a GPU refused is asked for again: GPUs are reset and cut into slices while a daemon
    /// runs for months.
    std::chrono::milliseconds renew_after = std::chrono::minutes(10);
};

class DeviceSampler {
  public:
    /// Of more GPUs than this nobody asks at once; what rings say of theirs is not to be trusted.
    static constexpr std::size_t kMostWatched = 256;
    /// Null with GAUSSCOPE_NVML=0. NVML is opened when there is a GPU to ask about.
    static std::unique_ptr<DeviceSampler> start(DeviceSamplerOptions options);
    ~DeviceSampler() { stop(); }

    /// The GPUs that are used now, by uuid; the others are let be. From any thread.
    void watch(std::set<std::string> uuids);
    /// As BatchQueue::take_into().
    std::size_t take_into(TraceStore& store);
    /// Stops the thread and moves everything into `store`.
    void finish(TraceStore& store);

  private:
    /// The thread's, which keeps it for as long as the driver keeps the thread.
    class Work;
    explicit DeviceSampler(std::shared_ptr<Work> work) : work_(std::move(work)) {}
    /// False: the driver does not answer, and the thread is left to it.
    bool stop();

    std::shared_ptr<Work> work_;
    std::thread thread_;
};

}  // namespace gs::service
