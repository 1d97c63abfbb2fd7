// Endpoint: makes this process's ring reachable (protocol.h): a socket and one thread at low
// priority that answers requests, renews clock snapshots and lets a Host's periodic work run. Made
// by the gausscope program for its own ring and by the injection library in other programs.
// Standard library and POSIX only; never throws into its host.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "base/record/ring.h"

namespace gs::service {

/// What the endpoint asks of the code it serves. Called from the endpoint's thread only.
struct Host {
    virtual ~Host() = default;
    virtual void set_armed(bool armed) noexcept = 0;
    virtual void set_budget(std::uint64_t ppm) noexcept = 0;
    /// False: not possible here; `why` (192 bytes) says why.
    virtual bool release_cupti(char* why) noexcept = 0;
    virtual bool acquire_cupti(char* why) noexcept = 0;
    /// CUDA graphs node by node for so long. False: as above.
    virtual bool tell_graph_nodes(std::uint64_t seconds, char* why) noexcept = 0;
    /// Every 50 ms while armed, every second otherwise: flush CUPTI, steer the budget.
    virtual void tick(bool armed) noexcept = 0;
    /// publish_clock_snapshot(), on whichever thread may read CUPTI's clock.
    virtual void take_snapshot() noexcept { publish_clock_snapshot(); }
    /// Processor time of threads that work for this host, besides the endpoint's.
    virtual std::uint64_t other_cpu_ns() noexcept { return 0; }
    /// How many those are.
    virtual unsigned other_threads() noexcept { return 0; }
    /// Ends the process as its last thread would, on a thread with the program's descriptors.
    virtual void exit_process() noexcept { std::exit(0); }
};

/// Starts the thread and the socket for `role` ("own", "nvtx"); false when the system refuses (then
/// `why` says so, if not null, and a collector that waits for this process is informed) or one is
/// running already. The thread leaves the program's table of descriptors where it can
/// (descriptors.h), calls `prepare` (null: the ring is there already) and makes the socket; this
/// waits for that, two seconds at most. The thread survives until stop() or the end of the process;
/// after fork() the child has none. When the program's own threads have all ended, it ends the
/// process. `host` must live until then; set_armed(true) may be called before this returns.
bool start_endpoint(const char* role, Host& host, char* why = nullptr,
                    bool (*prepare)() noexcept = nullptr) noexcept;
/// Starts nothing. A collector that waits for this process learns why.
void excuse_process(const char* role, const char* why) noexcept;
/// Whether this is its thread, which may have a table of descriptors of its own.
bool is_endpoint_thread() noexcept;
/// Takes the socket away; from then on the host is not called. At once, or after the tick under
/// way, for which it waits two seconds at most. Connections end within a second, or with the
/// process. Called at exit and by tests.
void stop_endpoint() noexcept;

}  // namespace gs::service
