// NVML, as the injection library uses it: once a second utilisation, memory, clocks, power,
// temperature and what slows the clocks down become counters in the ring; on Hopper and newer also
// what GPM tells of the multiprocessors and the memory. Opened at run time (libnvidia-ml.so.1);
// needs no privileges. What a device or a container does not offer is said in the trace as text
// ("absent", "not permitted"), never as a zero. Called from the endpoint's thread.
#pragma once

namespace gs::inject::nvml {

/// One sample when a second has passed since the last; opens the library with the first.
/// GAUSSCOPE_NVML=0: never.
void tick() noexcept;

/// Shuts the library down (at disarm and at exit); the next tick() opens it again.
void release() noexcept;

/// In the child of a fork: forgets everything, calls nothing.
void forget_in_child() noexcept;

}  // namespace gs::inject::nvml
