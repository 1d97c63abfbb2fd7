#include "profiler/collect/discovery.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "base/log.h"
#include "base/record/clock.h"
#include "base/record/local_socket.h"
#include "base/record/process.h"
#include "base/try.h"

namespace gs::service {
namespace {

constexpr std::int64_t kSearchInterval = 1'000'000'000;
constexpr std::int64_t kLongestPause = 60'000'000'000;  ///< before a refused socket is tried again
/// Of one user. Sockets that take connections and say nothing must not use up the descriptors that
/// others' processes need.
constexpr std::ptrdiff_t kMostGreeted = 256;

template <class Range, class T>
bool contains(const Range& range, const T& value) {
    return std::find(range.begin(), range.end(), value) != range.end();
}

bool descends_from(std::uint32_t pid, std::uint32_t ancestor) {
    for (int generation = 0; pid > 1 && generation < 64; ++generation) {
        if (pid == ancestor) return true;
        pid = process_stat(pid).parent;
    }
    return false;
}

/// As the system calls a process; "process" where it has gone.
std::string command_name(std::uint32_t pid) {
    std::ifstream file(fmt::format("/proc/{}/comm", pid));
    std::string name;
    return std::getline(file, name) && !name.empty() ? name : "process";
}

/// A connection takes three descriptors for a moment.
bool short_of_descriptors() {
    Descriptor probes[3];
    for (Descriptor& probe : probes) {
        probe = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        if (!probe && (errno == EMFILE || errno == ENFILE)) return true;
    }
    return false;
}

/// Locks kWatchedName; where that is not possible, the first moments of programs are missing.
Descriptor announce() {
    char path[560];
    if (!watched_path(path, sizeof path)) return Descriptor();
    Descriptor out(::open(path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (out) ::flock(out.get(), LOCK_SH | LOCK_NB);
    return out;
}

}  // namespace

void raise_file_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<Discovery> Discovery::start(const DiscoveryOptions& options) {
    Discovery out(options);
    if (options.accept) {
        GS_TRY(out.arrivals_, CollectorSocket::open());
        out.collector_path_ = out.arrivals_->path();
    }
    if (options.discover) {
        GS_TRY(const fs::path folder, runtime_directory());
        out.watch_ = Descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
        if (out.watch_)
            ::inotify_add_watch(out.watch_.get(), folder.c_str(), IN_MOVED_TO | IN_CREATE);
    }
    if (options.announce) out.announced_ = announce();
    return out;
}

std::vector<Connection> Discovery::look(const std::function<bool(const fs::path&)>& is_read,
                                        std::chrono::milliseconds patience) {
    std::vector<Connection> out;
    take_arrivals(out);
    if (options_.discover && is_time_to_find()) find(is_read);
    greet(patience, out);
    return out;
}

/// The directory has changed, or was not looked at for a second.
bool Discovery::is_time_to_find() {
    char events[4096];
    bool changed = false;
    while (watch_ && ::read(watch_.get(), events, sizeof events) > 0) changed = true;
    return changed || now_ns() - last_search_ns_ > kSearchInterval;
}

bool Discovery::wanted(const Producer& producer) const {
    if (producer.socket == own_socket_) return false;
    if (!options_.role.empty() && options_.role != producer.role) return false;
    if (!options_.pids.empty() && !contains(options_.pids, producer.pid)) return false;
    return options_.ancestor == 0 || descends_from(producer.pid, options_.ancestor);
}

void Discovery::refuse(const Producer& producer, const Error& why) {
    if (why.kind == ErrorKind::not_found) {
        refused_.erase(producer.socket);
        return;
    }
    if (short_of_descriptors()) {  // which is not the process's fault
        if (!said_short_)
            log_warning(
                "cannot read more processes: too many open files; raise the limit (ulimit -n)");
        said_short_ = true;
        return;
    }
    said_short_ = false;
    Refusal& refusal = refused_[producer.socket];
    if (refusal.said != why.text())
        log_warning("process {} cannot be read: {}", producer.pid, why.text());
    refusal.said = why.text();
    refusal.pause_ns = std::clamp(2 * refusal.pause_ns, kSearchInterval, kLongestPause);
    refusal.again_ns = now_ns() + refusal.pause_ns;
}

bool Discovery::may_try(const Producer& producer) const {
    const auto refused = refused_.find(producer.socket);
    return refused == refused_.end() || refused->second.again_ns <= now_ns();
}

bool Discovery::may_greet(const Producer& producer) const {
    const auto is_its = [&](const Connection& c) { return c.producer().socket == producer.socket; };
    const auto is_the_users = [&](const Connection& c) {
        return c.producer().socket.parent_path() == producer.socket.parent_path();
    };
    return std::none_of(greeting_.begin(), greeting_.end(), is_its) &&
           std::count_if(greeting_.begin(), greeting_.end(), is_the_users) < kMostGreeted;
}

void Discovery::find(const std::function<bool(const fs::path&)>& is_read) {
    last_search_ns_ = now_ns();
    const std::vector<Producer> producers = list_producers();
    std::erase_if(refused_, [&](const auto& entry) {
        return std::none_of(producers.begin(), producers.end(),
                            [&](const Producer& p) { return p.socket == entry.first; });
    });
    for (const Producer& producer : producers) {
        if (is_read(producer.socket) || !may_try(producer) || !wanted(producer) ||
            !may_greet(producer))
            continue;
        auto connection = Connection::begin(producer);
        // The number in the name is not enough: a process in another container may bear ours.
        const auto own = static_cast<std::uint32_t>(::getpid());
        if (connection && producer.pid == own && connection->visible_pid() == own)
            own_socket_ = producer.socket;
        else if (connection)
            greeting_.push_back(std::move(*connection));
        else
            refuse(producer, connection.error());
    }
}

void Discovery::greet(std::chrono::milliseconds patience, std::vector<Connection>& out) {
    std::vector<Connection> waiting;
    // Of all together: who says nothing must not keep the others waiting.
    const auto until = std::chrono::steady_clock::now() + patience;
    for (Connection& connection : greeting_) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            until - std::chrono::steady_clock::now());
        const auto greeted = connection.greeted(std::max(left, std::chrono::milliseconds(0)));
        if (greeted && *greeted) refused_.erase(connection.producer().socket);
        if (greeted)
            (*greeted ? out : waiting).push_back(std::move(connection));
        else
            refuse(connection.producer(), greeted.error());
    }
    greeting_ = std::move(waiting);
}

void Discovery::take_arrivals(std::vector<Connection>& out) {
    if (!arrivals_) return;
    for (int socket = arrivals_->accept(); socket >= 0; socket = arrivals_->accept()) {
        std::optional<Reply> excuse;
        auto connection = Connection::adopt(socket, &excuse);
        if (connection)
            out.push_back(std::move(*connection));
        else if (excuse)
            excuses_.push_back({excuse->pid, command_name(excuse->pid), excuse->text});
        else
            log_warning("cannot read a process that asked for it: {}", connection.error().text());
    }
}

}  // namespace gs::service
