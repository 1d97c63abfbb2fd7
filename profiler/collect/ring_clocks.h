// RingClocks: the clocks of a recorder, from the snapshots in its ring: its ticks and, where CUPTI
// records there, CUPTI's clock. Used by TraceReader.
#pragma once

#include <cstdint>

#include "profiler/collect/clock_map.h"
#include "profiler/collect/cupti_clock.h"
#include "profiler/collect/ring_memory.h"

namespace gs {

class RingClocks {
  public:
    RingClocks() = default;
    RingClocks(abi::TickClock clock, double ns_per_tick) : ticks_(clock, ns_per_tick) {}

    /// Takes the snapshots written since the last call; one is `snapshot_bytes` long in this ring.
    void read(const RingMemory& memory, std::uint64_t snapshot_bytes);
    ClockMap& ticks() { return ticks_; }
    bool knows_cupti() const { return cupti_.ready(); }
    /// Without a snapshot CUPTI's clock is taken for the wall clock, which is its default.
    std::int64_t ns_from_cupti(std::uint64_t cupti_ns) const;

  private:
    void take(const abi::ClockSnapshot& snapshot);

    ClockMap ticks_;
    CuptiClock cupti_;
    std::uint64_t read_ = 0;
};

}  // namespace gs
