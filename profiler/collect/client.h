// Finding processes under the profiling service and reading them (protocol.h). Used by `record`,
// `attach`, `serve` and the studio, mostly through a MultiCollector.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "base/record/protocol.h"
#include "profiler/collect/descriptor.h"
#include "profiler/collect/reader.h"
#include "profiler/store/event.h"

namespace gs::service {

struct Producer {
    std::uint32_t pid = 0;
    std::string role;  ///< "own", "nvtx"
    fs::path socket;
};

/// The runtime directory; created (0700) when missing. Errors: it exists and is not safe (owner,
/// mode, a link).
Result<fs::path> runtime_directory();
/// For root: makes the directory that kDirectoryVariable names one for all users, in which each
/// has a directory of his own (local_socket.h). Errors: usage (not root, none named), unwritable.
Result<void> share_runtime_directory();
/// Every producer that has a socket, alive or not; of every user, where root asks and users share a
/// runtime directory. Disturbs nobody.
std::vector<Producer> list_producers();
/// Every live producer of this user; sockets left behind by dead processes are removed.
std::vector<Producer> find_producers();

/// A connection: holds the lease and the reader of the ring. What was written stays readable after
/// the process has died.
class Connection {
  public:
    /// Errors: not_found (nobody listens there any more; the socket is removed), unreadable (not
    /// this user's, no answer), and what TraceReader::attach() finds wrong with the ring.
    static Result<Connection> open(const Producer& producer);
    /// The same in two halves that do not wait: a process whose machine is very busy may take
    /// seconds to answer. Until greeted() is true only producer() can be used. `patience`: for a
    /// place in its queue.
    static Result<Connection> begin(const Producer& producer, std::chrono::seconds patience = {});
    Result<bool> greeted(std::chrono::milliseconds patience = {});
    /// Of a process that connected by itself (kCollectorVariable). Takes `socket` over. `excuse`:
    /// set when it only says why it cannot be recorded.
    static Result<Connection> adopt(int socket, std::optional<Reply>* excuse = nullptr);

    /// Errors: the process has gone, or does not answer within two seconds. An answer other than
    /// "done" is none.
    Result<Reply> ask(Op op, std::uint64_t value = 0);
    /// The same in two halves, neither of which waits: the process may be short of processors, and
    /// the caller has rings to read. False: it cannot be asked now. Answers come in the order of
    /// questions.
    bool tell(Op op, std::uint64_t value = 0);
    std::optional<Reply> take_answer();
    /// False once the process, or what served its ring there, is gone.
    bool alive() const;

    /// The reader's drain(), and what only the connection knows: source, and labels the first time.
    void drain(TraceBatch& out);
    TraceReader& reader() { return *reader_; }
    const TraceReader& reader() const { return *reader_; }
    const Producer& producer() const { return producer_; }
    /// What the process said of itself last.
    const Reply& card() const { return card_; }
    /// Its number as this process sees it, 0: it is in a container that cannot be looked into.
    std::uint32_t visible_pid() const { return visible_pid_; }
    /// Unique among this process's connections: TraceBatch::source.
    std::uint64_t source() const { return source_; }
    const ProcessLabels& labels() const { return labels_; }
    /// From /proc while the process lives: RANK, SLURM_*, OMPI_*, Kubernetes variables, its command
    /// line.
    static ProcessLabels labels_of(std::uint32_t pid);
    /// The same from the text of its environment (NAME=value, zeros between).
    static ProcessLabels labels_from(std::string_view environment,
                                     std::string_view control_groups = {});

  private:
    Connection() = default;
    Result<void> say_hello(bool asks);
    Descriptor socket_;
    Producer producer_;
    Reply card_;
    std::uint32_t visible_pid_ = 0;
    std::uint64_t source_ = 0;
    ProcessLabels labels_;
    bool told_labels_ = false;
    std::unique_ptr<TraceReader> reader_;
};

/// The socket of a reader that new processes connect to by themselves; its path goes into their
/// kCollectorVariable.
class CollectorSocket {
  public:
    static Result<CollectorSocket> open();
    const fs::path& path() const { return path_; }
    int descriptor() const { return socket_.get(); }
    /// A process that has connected, -1: none has.
    int accept();
    CollectorSocket(CollectorSocket&&) noexcept = default;
    CollectorSocket& operator=(CollectorSocket&&) noexcept = default;
    ~CollectorSocket();

  private:
    CollectorSocket() = default;
    Descriptor socket_;
    fs::path path_;
};

}  // namespace gs::service
