// CUPTI, as the injection library uses it: kernels, copies, CUDA calls, waits, allocations and
// overheads of this process become activity records in its ring (abi.h, "Activity lanes"). The
// library is opened at run time, never linked; where it is missing or another tool has it,
// everything else continues and RingHeader::cupti_state and cupti_reason say why.
//
// Called by the library's Host (base/record/endpoint.h): from the endpoint's thread while there is
// no driver in the process, then from the thread of cupti_thread.h; by InitializeInjection from the
// thread that initialises CUDA, and at exit. Calls that meet each other do not wait: the later one
// leaves its wish for the next tick(). Nothing throws; no lock of ours is held while CUPTI runs,
// and none is taken inside its callbacks.
#pragma once

#include <cstdint>

namespace gs::inject::cupti {

/// Looks whether CUDA's driver is in the process, five times a second at most. Takes the loader's
/// lock.
void look_for_driver() noexcept;
/// Whether it was seen. Before that nothing here calls it or CUPTI.
bool driver_is_near() noexcept;

/// Recording is wanted (or no longer). On: CUPTI is taken as soon as CUDA is in the process - now,
/// or in a later tick(). Off: kinds off, the last records fetched, CUPTI given back completely, so
/// that no slow-down stays behind. GAUSSCOPE_CUPTI=0 in the environment: never taken.
void set_armed(bool armed) noexcept;

/// The budget's pauses: kinds of records go off, so that CUPTI does nothing in the program's calls;
/// CUPTI stays ours.
void set_paused(bool paused) noexcept;
/// True until recording continues, which is later than set_paused(false): the GPU still runs what
/// was launched in the pause.
bool is_paused() noexcept;

/// What CUPTI has cost since the process began.
struct Costs {
    std::uint64_t records = 0;    ///< made by it, kept or not
    std::uint64_t switch_ns = 0;  ///< switching its kinds of records, by the clock: who calls CUDA
                                  ///< meanwhile may have to wait
};
Costs costs() noexcept;

/// CUDA graphs are recorded node by node for this long, once recording is on and CUPTI's kinds of
/// records have been as they are for half a minute; otherwise as a whole.
void tell_graph_nodes(std::uint64_t seconds) noexcept;

/// On a client's request: CUPTI is given back and stays so until acquire(). False: `why` (192
/// bytes) says why not.
bool release(char* why) noexcept;
/// Allows it again and, when armed, tries at once. False: `why` says who has it or what is missing.
bool acquire(char* why) noexcept;

/// Fetches what CUPTI has completed, counts what it dropped, looks whether CUDA has appeared and
/// whether a tool that held CUPTI has gone. Armed or not: letting go, too, may take until the
/// program's next CUDA call.
void tick() noexcept;

/// The driver is being initialised by the calling thread (InitializeInjection), before anything
/// else of this is called: from inside cuInit() the driver must not be asked whether it is there.
void driver_begins() noexcept;
/// The same, once the library has started: takes CUPTI now when armed, so that no kernel is missed.
void cuda_appeared() noexcept;

/// At exit, after the endpoint's thread has ended: forced flush, then nothing more. CUPTI is not
/// called afterwards.
void finish() noexcept;

/// In the child of a fork: forgets everything, calls nothing.
void forget_in_child() noexcept;

}  // namespace gs::inject::cupti
