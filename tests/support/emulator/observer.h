// Observers of launches: the emulator calls them right before and right after each kernel, in
// order, also in replays of graphs, while device memory can be read. The counter of the kernels
// that ran and the executor that runs them again (tests/support/ptx_launches) are observers.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace gs::emulator {

/// One launch through cuda::launch.
struct Launched {
    const void* function;     ///< of this program, see kernel_name.h
    const std::string& name;  ///< as cuda::launch was given it
    unsigned blocks, threads;
    std::span<const std::byte> parameters;  ///< the kernel's one struct, zero between its fields
};

/// Watches from its construction to its destruction, on whichever thread lets work run, under the
/// runtime's lock: no launch runs meanwhile. Costs nothing while there is none.
class LaunchObserver {
  public:
    LaunchObserver();
    virtual ~LaunchObserver();
    LaunchObserver(const LaunchObserver&) = delete;
    LaunchObserver& operator=(const LaunchObserver&) = delete;
    virtual void before(const Launched&) {}
    virtual void after(const Launched&) {}
};

}  // namespace gs::emulator
