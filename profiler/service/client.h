// Finding processes under the profiling service and reading them (protocol.h). Used by `record`, `attach`, `serve` and
// the studio.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profiler/event.h"
#include "profiler/reader.h"
#include "profiler/core/protocol.h"
#include "renderer/base/expected.h"
#include "renderer/base/file.h"

namespace gs::service {

struct Producer {
    std::uint32_t pid = 0;
    std::string role;  ///< "own", "nvtx"
    fs::path socket;
};

/// The runtime directory; created (0700) when missing. Errors: it exists and is not safe (owner, mode, a link).
Result<fs::path> runtime_directory();
/// Every live producer of this user; sockets left behind by dead processes are removed.
std::vector<Producer> find_producers();

/// A connection: holds the lease and the reader of the ring.
class Connection {
  public:
    static Result<Connection> open(const Producer& producer);
    Result<Reply> ask(Op op, std::uint64_t value = 0);
    TraceReader& reader() { return *reader_; }
    const Producer& producer() const { return producer_; }
    /// Unique among this process's connections: TraceBatch::source.
    std::uint64_t source() const { return source_; }
    /// From /proc while the process lives: RANK, SLURM_*, OMPI_*, Kubernetes variables, its command line.
    static ProcessLabels labels_of(std::uint32_t pid);

    Connection(Connection&&) noexcept;
    Connection& operator=(Connection&&) noexcept;
    ~Connection();

  private:
    Connection() = default;
    int socket_ = -1;
    Producer producer_;
    std::uint64_t source_ = 0;
    std::unique_ptr<TraceReader> reader_;
};

}  // namespace gs::service
