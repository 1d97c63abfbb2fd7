// OverheadCounters: what the service costs and loses in this process, as counters in its own ring,
// so that every trace of it shows them over time: processor time of the service's thread, records
// lost or left out, the share of time that recording is on. Written by the endpoint's thread.
#pragma once

#include <cstdint>

#include "base/record/ring.h"

namespace gs::service {

class OverheadCounters {
  public:
    /// Once a second while recording; nothing otherwise.
    void write(std::uint64_t now_ns) noexcept;

  private:
    std::uint64_t last_ns_ = 0, cpu_ns_ = 0;
    StringId cpu_ = 0, lost_ = 0, duty_ = 0;
};

}  // namespace gs::service
