// What NVML reports of one GPU, sample by sample: utilisation, memory, clocks, power, temperature
// and what slows the clocks down; on Hopper and newer also what GPM reports of the multiprocessors
// and the memory. What a device does not offer is said once as text ("absent", "not permitted"),
// never as a zero. Used by DeviceSampler.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "profiler/collect/device_batch.h"
#include "profiler/collect/nvml.h"

namespace gs::nvml {

/// What was said of a GPU so far, which outlives it: NVML is reopened from time to time.
struct Said {
    std::string gpm;
    std::array<std::string, 13> refusals;  ///< by metric
    unsigned long long reasons = 0;
};

class Gpu {
  public:
    static constexpr std::size_t kMetrics = std::tuple_size_v<decltype(Said::refusals)>;
    /// `library` and `said` must outlive it.
    Gpu(const Library& library, Device device, Said& said)
        : f_(&library.f()), device_(std::move(device)), said_(&said) {
        if (!library.has_gpm()) no_gpm_ = "absent (the driver is too old)";
    }
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    const Device& device() const { return device_; }
    bool is_new() const { return !begun_; }
    void sample(DeviceBatch& out);

  private:
    void begin(DeviceBatch& out);
    void prepare_gpm();
    void sample_basics(DeviceBatch& out);
    void sample_gpm(DeviceBatch& out);
    void tell_reasons(DeviceBatch& out, unsigned long long reasons);
    void put(DeviceBatch& out, std::size_t metric, Result result, double value);
    template <class Read>
    void read(DeviceBatch& out, std::size_t metric, Read read);

    const Functions* f_;
    Device device_;
    Said* said_;
    bool begun_ = false;
    std::array<bool, kMetrics> refused_{};  // not asked again
    const char* no_gpm_ = nullptr;
    void* samples_[2] = {};  // GPM: the earlier, the later
    bool has_earlier_ = false;
};

}  // namespace gs::nvml
