// How a recording process and its readers find and talk to each other. A process under the service
// listens on a SOCK_SEQPACKET UNIX socket in a directory that only its user can enter; a client
// asks with one Request and gets one Reply, which may carry the ring's memfd (SCM_RIGHTS). Used by
// base/record/endpoint.* (in the recording process, the injection library included: standard
// library and POSIX only) and profiler/collect/client.* (in gausscope).
//
//   directory  $GAUSSCOPE_RUNTIME_DIR, else $XDG_RUNTIME_DIR/gausscope, else /tmp/gausscope-<uid>;
//   mode 0700, owned by
//              the user, no symbolic link; anything else is refused on both sides
//   socket     <pid>.<role>.sock, role "own" (a gausscope) or "nvtx" (the injection library); both
//   sides check the
//              peer's uid with SO_PEERCRED (the same user, or root)
//              (a second process of the same number, in another container: <pid>-2.<role>.sock,
//              ...)
//   collector  $GAUSSCOPE_COLLECTOR names a socket of a reader that wants every process from its
//   first moment on
//              (`gausscope record`): a new producer connects to it itself, sends a Reply with its
//              ring unasked, and from then on the connection is one like any other. So a process
//              that lives for a millisecond is also read.
//   lease      a connection that has asked to `arm` keeps the process recording until it asks to
//   disarm, closes or
//              dies: recording is on while there is a lease, or GAUSSCOPE_ARM=1 says always.
//              Where a collector is named, too, GAUSSCOPE_ARM=1 says from the first moment on, and
//              the connection to the collector is a lease from then on
//   watched    `gausscope serve` holds a lock on the file serve.watching of the directory (of the
//   one for all users, where there is one): a process that starts meanwhile records from its first
//              moment on, for as long as the daemon takes to find it, two seconds at most
//   budget     held as a lease is: that of the client that set one last counts, and goes with it
//
// The memfd that is handed out is sealed against writing by anyone but the mapping the producer
// already has (F_SEAL_FUTURE_WRITE, Linux 5.1); on older kernels it is re-opened read-only.
#pragma once

#include <cstdint>

namespace gs::service {

inline constexpr std::uint32_t kProtocolMagic = 0x56535347;  ///< "GSSV"
inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr const char* kDirectoryVariable = "GAUSSCOPE_RUNTIME_DIR";
inline constexpr const char* kCollectorVariable = "GAUSSCOPE_COLLECTOR";
inline constexpr const char* kArmVariable = "GAUSSCOPE_ARM";
inline constexpr const char* kWatchedName = "serve.watching";

enum class Op : std::uint32_t {
    hello = 1,       ///< Reply carries the ring's memfd
    arm = 2,         ///< this connection takes a lease; idempotent
    disarm = 3,      ///< gives it up
    set_budget = 4,  ///< value: parts per million of the process's time recording may cost, 0: no
                     ///< limit; as long as this connection lasts
    release_cupti = 5,  ///< CUPTI is let go completely, so that another tool can have it
    acquire_cupti = 6,  ///< takes it (again)
    status = 7,         ///< nothing but the Reply
    graph_nodes = 8,    ///< value: for N seconds, an hour at most, CUDA graphs are recorded node
                        ///< by node; then as a whole again
};

struct Request {
    std::uint32_t magic = kProtocolMagic, version = kProtocolVersion;
    std::uint32_t op = 0, reserved = 0;
    std::uint64_t value = 0;
};
static_assert(sizeof(Request) == 24);

enum class Answer : std::uint32_t { done = 0, not_understood = 1, not_possible = 2 };

struct Reply {
    std::uint32_t magic = kProtocolMagic, version = kProtocolVersion;
    std::uint32_t answer = 0;  ///< Answer
    std::uint32_t leases = 0;  ///< connections that keep it armed
    std::uint32_t pid = 0, cupti_state = 0;
    std::uint64_t process_start = 0;  ///< as RingHeader::process_start
    std::uint64_t budget_ppm = 0;
    char role[8] = {};    ///< of the producer; zero-terminated
    char text[184] = {};  ///< why not, or how the process calls itself; zero-terminated
};
static_assert(sizeof(Reply) == 232);

}  // namespace gs::service
