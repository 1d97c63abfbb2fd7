// Discovery: finds the processes that are to be read: those that have a socket, and those that
// connect by themselves. Gives each of them once, as a connection that has its ring. Used by the
// collector's thread; but for the first look it waits for nobody.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/collect/client.h"
#include "profiler/collect/descriptor.h"

namespace gs::service {

/// Of all that have a socket those that pass every filter that is set, never this process.
struct DiscoveryOptions {
    bool discover = true;   ///< false: only those that connect by themselves
    bool accept = false;    ///< a collector socket for new processes (collector_path())
    bool announce = false;  ///< programs that start from now on record until they are found
    std::vector<std::uint32_t> pids{};  ///< empty: any
    std::uint32_t ancestor = 0;         ///< only this process and those it started, 0: any
    std::string role{};                 ///< "own" or "nvtx"; empty: both
};

/// Lets this process open as many files as the system allows: each process that is read takes one.
/// For a daemon: programs that it starts would inherit the limit.
void raise_file_limit();

class Discovery {
  public:
    /// Errors: the runtime directory or the collector socket cannot be had.
    static Result<Discovery> start(const DiscoveryOptions& options);

    /// The new ones. `is_read` says whether a socket's process is being read: such are left
    /// alone. Waits `patience` for each that has not answered yet; one that does not answer then is
    /// asked again by the next look.
    std::vector<Connection> look(const std::function<bool(const fs::path&)>& is_read,
                                 std::chrono::milliseconds patience = {});
    /// Processes that connected to say why they cannot be recorded, since the last call.
    struct Excuse {
        std::uint32_t pid = 0;
        std::string name, why;
    };
    std::vector<Excuse> take_excuses() { return std::exchange(excuses_, {}); }
    /// For kCollectorVariable; empty without options.accept.
    const fs::path& collector_path() const { return collector_path_; }

  private:
    explicit Discovery(const DiscoveryOptions& options) : options_(options) {}
    bool is_time_to_find();
    bool wanted(const Producer& producer) const;
    void find(const std::function<bool(const fs::path&)>& is_read);
    void take_arrivals(std::vector<Connection>& out);
    void greet(std::chrono::milliseconds patience, std::vector<Connection>& out);
    void refuse(const Producer& producer, const Error& why);
    bool may_try(const Producer& producer) const;
    bool may_greet(const Producer& producer) const;

    /// A socket that was tried in vain. Its number may come to be another process's, and what was
    /// in the way may pass, so it is tried again, ever less often.
    struct Refusal {
        std::int64_t again_ns = 0, pause_ns = 0;
        std::string said;  ///< to the log, once
    };

    DiscoveryOptions options_;
    std::optional<CollectorSocket> arrivals_;
    fs::path collector_path_;
    Descriptor announced_;  // the lock on kWatchedName
    Descriptor watch_;      // of the directory
    std::int64_t last_search_ns_ = 0;
    fs::path own_socket_;                  // this process\'s, once it was met
    std::vector<Connection> greeting_;     // asked for their rings, and have not answered yet
    std::map<fs::path, Refusal> refused_;  // by socket
    std::vector<Excuse> excuses_;
    bool said_short_ = false;  // that no more files can be opened
};

}  // namespace gs::service
