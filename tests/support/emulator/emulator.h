// The host emulator for CUDA: the same kernels and the same host code as on a GPU, run by tests on
// the CPU. Link gs_cuda_emulated; everything of renderer/device/cuda, renderer/raster/cuda and
// trainer/cuda is in it.
//
//   Execution   a fiber per CUDA thread; warps, lanes and blocks in an order scrambled by
//   set_seed(); blocks on several
//               host threads unless set_deterministic(true)
//   Checked     barriers that part of a block never reaches, lanes missing from a *_sync mask,
//   shuffles from lanes that
//               are not there, shared memory out of bounds or used before written (poison: NaN),
//               damage around allocations, copies outside allocations, misshapen launches:
//               EmulatorError, with file and line
//   Host side   every runtime call is counted; work is done at once or, with Execution::deferred,
//   only when the host
//               waits or asks; events can lag; calls can be made to fail
//
// Under ASan device memory is plain malloc, so a kernel's stray access is reported exactly.
// Any test program starts with other settings by environment: GAUSSCOPE_EMULATOR_SEED=n, _LAG=n,
// _DEFERRED=1, _SEPARATE=1.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gs::emulator {

enum class Fault {
    divergent_barrier,     ///< threads of a block wait at different barriers
    divergent_collective,  ///< a lane of the mask does not come
    bad_mask,              ///< the caller is not in its own mask
    absent_source,         ///< a shuffle reads a lane that has ended or is not in the mask
    shared_bounds,         ///< index outside a shared array
    shared_overrun,        ///< a pointer wrote past a shared array
    shared_mismatch,       ///< one declaration, two sizes
    shared_too_large,      ///< more than 48 KiB a block
    bad_launch,            ///< block or grid shape
    red_zone,              ///< written outside an allocation
    bad_pointer,           ///< copy, fill or free of what is no allocation
    host_pointer,  ///< with separate memory: a kernel is given an address of pageable host memory
    trap,
    no_progress,  ///< blocks that run wait for one that has not begun
};

/// A bug in code under test. Thrown out of the launch, or out of the call that lets deferred work
/// run.
class EmulatorError : public std::logic_error {
  public:
    EmulatorError(Fault fault_kind, const std::string& message, std::string file_name,
                  unsigned line_number);
    Fault fault;
    std::string file;  ///< empty where there is no place
    unsigned line;
};
/// What was reported since the last call. A program that ends with reports nobody took prints them
/// and fails, so code that catches every exception hides no bug.
std::vector<std::string> take_reports();

// ---- how work runs
void set_seed(std::uint64_t seed);
/// Blocks one after another on the calling thread.
void set_deterministic(bool on);
/// Runs `blocks` blocks at one time on the calling thread, like a device that holds no more. The
/// next one is chosen at random wherever a block reads what others write (look_at()).
/// Fault::no_progress if all running blocks wait for one that has not begun. 1 at first: off.
void set_together(unsigned blocks);
/// Device memory allocated from here on can be touched by kernels and copies only, as on a GPU:
/// host code that does ends the program, with a word about it (under ASan: use-after-poison), and
/// kernels get no host pointers. For tests of the whole backend; off at first, so that a test of
/// one kernel may give it vectors and look at results where they are.
void set_separate_memory(bool on);
enum class Execution {
    eager,     ///< when it is enqueued
    deferred,  ///< when somebody waits, asks, or copies synchronously
};
void set_execution(Execution execution);
/// An event answers "not yet" to this many queries after its record, whatever was done.
void set_event_lag(unsigned queries);

// ---- what was called
using Calls = std::map<std::string, std::uint64_t, std::less<>>;
/// Runtime calls by name, since the start. "launch" and "launch:<kernel>" count kernels when
/// enqueued (a graph's when it is launched); "implicit synchronization" counts calls that wait
/// though their name does not say so, "busy wait" those that keep a host core at work meanwhile,
/// "page-locked memory freed under way" what it says, "copy of what nobody wrote" copies to the
/// host of device memory with a word that still is as it was allocated.
Calls calls();
std::uint64_t calls(std::string_view name);
/// What `later` has more than `earlier`.
Calls difference(const Calls& earlier, const Calls& later);
/// Sum of what allocates or frees, and of what makes the host wait.
std::uint64_t allocations(const Calls& calls);
std::uint64_t synchronizations(const Calls& calls);

// ---- failures to order
/// The n-th next cudaMalloc (1: the next) says out of memory; 0: none.
void fail_device_allocation(std::uint64_t n);
void fail_pinned_allocation(std::uint64_t n);
/// What cudaMemGetInfo has to give; allocations beyond it fail. 16 GiB at first.
void set_device_bytes(std::size_t total);
enum class Device { present, absent, no_driver, old_driver, old_architecture };
void set_device(Device device);

// ---- several devices: alike, with memory of one pool; a stream belongs to the device it was made
// on
/// 1 at first.
void set_device_count(int count);
/// The device that OpenGL draws on, where there is an array writer. 0 at first.
void set_gl_device(int index);
/// Devices that some call has made a context on. As in CUDA 12 and newer, choosing a device is such
/// a call; asking how many there are, what they are and which is chosen is none.
std::vector<int> contexts();
/// Forgets them, and which device the calling thread has chosen.
void forget_contexts();

// ---- what is left
struct LiveAllocation {
    const void* pointer;
    std::size_t bytes;
    bool pinned;
};
std::vector<LiveAllocation> live_allocations();
struct LiveObjects {
    std::size_t streams, events, graphs, executables, graphics_resources;
};
LiveObjects live_objects();

/// Where pixels copied into a mapped GL image go. Called when the copy is carried out.
struct ArrayWrite {
    unsigned image, target;
    const void* pixels;
    std::size_t pitch, x_bytes, y, width_bytes, height;
};
void set_array_writer(std::function<void(const ArrayWrite&)> writer);

struct Statistics {
    std::uint64_t launches, blocks, threads, switches;
};
Statistics statistics();

}  // namespace gs::emulator
