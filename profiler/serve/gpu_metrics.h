// GpuMetrics: the counters of GPUs (utilisation, clocks, power), once for each GPU of the node
// however many processes report it, by its uuid and in base units. Used by Metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "profiler/serve/exposition.h"
#include "profiler/store/counters.h"
#include "profiler/store/sources.h"

namespace gs::serve {

class GpuMetrics {
  public:
    static constexpr std::size_t kFamilies = 13;
    /// Takes "GPU 0 power [W]" of a process whose GPU 0 is known by its uuid. False: that is
    /// something else. What the reader asked NVML itself holds, whatever else reports that GPU.
    bool take(const TraceProcess& process, std::string_view name, const CounterPoint& newest);
    /// GPUs that nobody has reported since then are gone.
    void forget_before(std::int64_t time_ns);
    void write(Exposition& out) const;

  private:
    struct Gpu {
        bool by_reader = false;
        std::string model;
        double memory_bytes = 0;
        std::array<CounterPoint, kFamilies> newest{};  ///< time 0: not known
    };
    template <class Value>
    void family(Exposition& out, std::size_t f, const Exposition::Family& about, Value value) const;

    std::map<std::string, Gpu> by_uuid_;
};

}  // namespace gs::serve
