// NVML, opened at run time (libnvidia-ml.so.1, part of the driver): which GPUs this machine has.
// Needs no privileges. Used by DeviceSampler's thread.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "profiler/collect/nvml_abi.h"

namespace gs::nvml {

struct Device {
    /// NVML's, as nvidia-smi shows it; of the slices of GPU 1: 200, 201, ...
    unsigned number = 0;
    std::string uuid;  ///< "GPU-...", as CUDA's; of a slice "MIG-..."
    std::string name;
    void* handle = nullptr;
    bool sliced = false;    ///< cut into slices (MIG); has no counters of its multiprocessors
    void* whole = nullptr;  ///< of a slice, its GPU's handle
    unsigned instance = 0;  ///< of a slice, its GPU instance
    bool shared = false;    ///< another slice, of the same GPU instance, has the counters of both

    /// CUDA's uuid of a slice is written "GPU-..." as well.
    bool is(std::string_view cuda_uuid) const {
        const std::string_view own = uuid;
        return own.substr(own.find('-')) ==
               cuda_uuid.substr(std::min(cuda_uuid.find('-'), cuda_uuid.size()));
    }
};

class Library {
  public:
    /// Errors, in words: "NVML: absent (libnvidia-ml.so.1 was not found)".
    static tl::expected<std::unique_ptr<Library>, std::string> open();
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    /// Those that this process may look at.
    std::vector<Device> devices() const;
    /// Those of GPM are null where the driver is too old for them.
    const Functions& f() const { return f_; }
    bool has_gpm() const { return f_.GpmMetricsGet != nullptr; }

  private:
    explicit Library(void* library) : library_(library) {}
    bool look_up();
    bool describe(Device& device) const;
    void add_slices(const Device& of, std::vector<Device>& out) const;

    void* library_;
    bool initialised_ = false;
    Functions f_{};
};

}  // namespace gs::nvml
