// DeviceBatch: the records of a node's GPUs on their way into a store: a source of its own, with
// its names and one track, of the program that asked NVML. Used by DeviceSampler's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "profiler/collect/nvml.h"
#include "profiler/store/event.h"

namespace gs::nvml {

class DeviceBatch {
  public:
    void counter(const std::string& name, double value);
    void say(const std::string& text);
    void device(const Device& device, std::uint64_t memory_bytes);
    /// To be handed over, which leaves an empty one; after seal() only.
    std::shared_ptr<TraceBatch>& pending() { return pending_; }
    /// Makes one batch of the collected values, if any.
    void seal();

  private:
    std::uint32_t number_of(const std::string& name);
    std::shared_ptr<TraceBatch> pending_ = std::make_shared<TraceBatch>();
    std::map<std::string, std::uint32_t> numbers_;
    std::uint64_t written_ = 0;
};

}  // namespace gs::nvml
