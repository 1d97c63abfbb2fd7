// NVML, opened at run time (libnvidia-ml.so.1, part of the driver): which GPUs this machine has.
// Needs no privileges. Used by DeviceSampler's thread.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "profiler/collect/nvml_abi.h"

namespace gs::nvml {

struct Device {
    unsigned number = 0;  ///< NVML's, as nvidia-smi shows it
    std::string uuid;     ///< "GPU-...", as CUDA's
    std::string name;
    void* handle = nullptr;
    bool sliced = false;  ///< cut into slices (MIG), whose figures are not the GPU's
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

    void* library_;
    bool initialised_ = false;
    Functions f_{};
};

}  // namespace gs::nvml
