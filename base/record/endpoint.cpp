#include "base/record/endpoint.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/record/local_socket.h"
#include "base/record/machine_counters.h"
#include "base/record/overhead_counters.h"
#include "base/record/process.h"
#include "base/record/ring.h"
#include "base/record/service_status.h"

namespace gs::service {
namespace {

constexpr int kClients = 32;
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kTickArmed = 50 * kMillisecond, kTickIdle = 1000 * kMillisecond;
constexpr std::uint64_t kClockArmed = 100 * kMillisecond;
// Between two looks at the sockets: whatever clients do, the thread costs no more than this allows.
constexpr std::uint64_t kRest = kMillisecond / 2;
constexpr std::uint64_t kSilence =
    2000 * kMillisecond;  // who has not asked for anything by then makes room
constexpr std::uint64_t kFarewell =
    2000 * kMillisecond;  // stop_endpoint() waits no longer for a tick under way

struct Client {
    int fd = -1;
    bool lease = false, spoke = false;
    std::uint64_t since = 0;
    std::uint64_t budget_ppm = 0, budget_number = 0;  // 0: it has asked for none; the newest counts
};

// One per process, because the thread outlives every object that could own it; never destroyed.
struct Endpoint {
    Host* host = nullptr;
    char role[8] = {};
    char name[48] = {};  // of the socket; empty: there is none, only a collector
    int directory = -1, listener = -1, wake = -1;
    Client clients[kClients];
    Reply card;           // what every Reply begins as
    bool asked = false;   // by kArmVariable: the host may have begun to record by itself
    bool always = false;  // and there is no collector whose connection would be the lease
    bool armed = false;
    std::uint64_t budget_ppm = 0, budgets = 0;
    pid_t pid = 0;
    pthread_t thread{};
    std::atomic<bool> stop{false};
};
constinit Endpoint endpoint;
constinit std::atomic_flag running = ATOMIC_FLAG_INIT;
constinit bool fork_handler = false;

void close_and_forget(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
}

void close_all() {
    for (Client& c : endpoint.clients) {
        close_and_forget(c.fd);
        c = Client{};
    }
    close_and_forget(endpoint.listener);
    close_and_forget(endpoint.wake);
    close_and_forget(endpoint.directory);
}

// In a forked child: the thread is the parent's, and so are the leases; a client must see them end
// with the parent.
void reset() noexcept {
    if (endpoint.pid == 0) return;
    close_all();
    endpoint.host = nullptr;
    endpoint.name[0] = '\0';
    endpoint.pid = 0;
    endpoint.armed = false;
    endpoint.stop.store(false, std::memory_order_relaxed);
    running.clear();
}

// ---- what clients get ----

std::uint32_t leases() {
    std::uint32_t count = 0;
    for (const Client& c : endpoint.clients) count += c.fd >= 0 && c.lease ? 1 : 0;
    return count;
}

Reply reply_with(Answer answer) {
    Reply reply = endpoint.card;
    reply.answer = static_cast<std::uint32_t>(answer);
    reply.leases = leases();
    if (const abi::RingHeader* h = detail::ring_header()) {
        reply.cupti_state = h->cupti_state;
        reply.budget_ppm = h->budget_ppm;
        std::memcpy(reply.text, h->process_name, sizeof h->process_name);
    }
    return reply;
}

Reply refusal(const char* why) {
    Reply reply = reply_with(Answer::not_possible);
    std::snprintf(reply.text, sizeof reply.text, "%s", why);
    return reply;
}

// Arming is at once, disarming waits for a tick: a client that asks for both in turn, all the time,
// moves little.
void settle_arming(bool may_disarm = false) {
    const bool wanted = endpoint.always || leases() > 0;
    if (wanted == endpoint.armed || !(wanted || may_disarm)) return;
    endpoint.armed = wanted;
    endpoint.host->set_armed(wanted);
}

// As leases do, a budget goes with the client that set it: the newest of those that are there
// counts, without any there is no limit.
void settle_budget() {
    const Client* newest = nullptr;
    for (const Client& c : endpoint.clients)
        if (c.budget_number > (newest != nullptr ? newest->budget_number : 0)) newest = &c;
    const std::uint64_t wanted = newest != nullptr ? newest->budget_ppm : 0;
    if (wanted == endpoint.budget_ppm) return;
    endpoint.budget_ppm = wanted;
    endpoint.host->set_budget(wanted);
}

/// `change(why)` asks the host.
template <class Change>
Reply cupti_reply(Change change) {
    char why[kWhyBytes] = "not possible in this process";
    return change(why) ? reply_with(Answer::done) : refusal(why);
}

Reply answer_to(const Request& request, Client& client) {
    switch (static_cast<Op>(request.op)) {
        case Op::hello:
            return ring_fd() >= 0 ? reply_with(Answer::done) : refusal("this process has no ring");
        case Op::arm:
        case Op::disarm:
            client.lease = static_cast<Op>(request.op) == Op::arm;
            settle_arming();
            return reply_with(Answer::done);
        case Op::set_budget:
            if (request.value > 1'000'000)
                return refusal("a budget is at most a million parts per million");
            client.budget_ppm = request.value;
            client.budget_number = ++endpoint.budgets;
            settle_budget();
            return reply_with(Answer::done);
        case Op::release_cupti:
            return cupti_reply([](char* why) { return endpoint.host->release_cupti(why); });
        case Op::acquire_cupti:
            return cupti_reply([](char* why) { return endpoint.host->acquire_cupti(why); });
        case Op::graph_nodes:
            if (request.value > 3600)
                return refusal("graphs are told node by node for an hour at most");
            return cupti_reply(
                [&](char* why) { return endpoint.host->tell_graph_nodes(request.value, why); });
        case Op::status:
            return reply_with(Answer::done);
    }
    return reply_with(Answer::not_understood);
}

// ---- connections ----

void hang_up(Client& client) {
    const bool had_budget = client.budget_number != 0;
    close_and_forget(client.fd);
    client = Client{};
    if (had_budget) settle_budget();
}

/// A place for a new connection: a free one, or that of somebody who connected and then said
/// nothing.
Client* free_place(std::uint64_t now) {
    Client* silent = nullptr;
    for (Client& c : endpoint.clients) {
        if (c.fd < 0) return &c;
        if (!c.spoke && now - c.since > kSilence) silent = &c;
    }
    if (silent != nullptr) hang_up(*silent);
    return silent;
}

void take_connection(std::uint64_t now) {
    const int fd = ::accept4(endpoint.listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    Client* place = trusted_peer(fd) ? free_place(now) : nullptr;
    if (place == nullptr) {
        ::close(fd);
        return;
    }
    *place = Client{};
    place->fd = fd;
    place->since = now;
}

// One message; what is left waits for the next look. A client that does not read its answers is let
// go.
void hear(Client& client) {
    Request request{};
    const ssize_t bytes = ::recv(client.fd, &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (bytes <= 0) return hang_up(client);
    const bool understood = bytes == static_cast<ssize_t>(sizeof request) &&
                            request.magic == kProtocolMagic && request.version == kProtocolVersion;
    client.spoke |= understood;
    const Reply reply =
        understood ? answer_to(request, client) : reply_with(Answer::not_understood);
    const bool hands_over = understood && static_cast<Op>(request.op) == Op::hello;
    if (!send_reply(client.fd, reply, hands_over ? ring_fd() : -1)) hang_up(client);
}

// ---- the socket ----

bool is_alive(const char* name) {
    const int fd = connect_in(endpoint.directory, name);
    if (fd >= 0) ::close(fd);
    return fd >= 0 || errno == EAGAIN;
}

/// A name that no living process uses: in another container somebody may have our number.
bool choose_name() {
    std::snprintf(endpoint.name, sizeof endpoint.name, "%d.%s.sock", endpoint.pid, endpoint.role);
    for (int i = 2; is_alive(endpoint.name); ++i) {
        if (i > 9) return false;
        std::snprintf(endpoint.name, sizeof endpoint.name, "%d-%d.%s.sock", endpoint.pid, i,
                      endpoint.role);
    }
    return true;
}

/// Binds under another name first: a socket that can be seen can also be connected to.
bool listen_on(const char* name) {
    char hidden[64];
    std::snprintf(hidden, sizeof hidden, ".%s", name);
    ::unlinkat(endpoint.directory, hidden, 0);
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return false;
    const sockaddr_un address = address_in(endpoint.directory, hidden);
    const bool listening =
        ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(fd, kClients) == 0 &&
        ::renameat(endpoint.directory, hidden, endpoint.directory, name) == 0;
    if (!listening) {
        const int error = errno;
        ::close(fd);
        ::unlinkat(endpoint.directory, hidden, 0);
        errno = error;
        return false;
    }
    close_and_forget(endpoint.listener);
    endpoint.listener = fd;
    return true;
}

bool open_socket(char* why) {
    char path[512];
    if (!runtime_directory_path(path, sizeof path)) {
        std::snprintf(why, kWhyBytes, "the runtime directory's path is too long");
        return false;
    }
    endpoint.directory = open_private_directory(path, true, why);
    if (endpoint.directory < 0) return false;
    if (choose_name() && listen_on(endpoint.name)) return true;
    std::snprintf(why, kWhyBytes, "no socket in %.100s: %s", path, std::strerror(errno));
    endpoint.name[0] = '\0';
    return false;
}

// Cleaners of temporary folders remove sockets that are in use.
void renew_lost_socket() {
    struct stat status {};
    if (endpoint.name[0] == '\0' ||
        ::fstatat(endpoint.directory, endpoint.name, &status, AT_SYMLINK_NOFOLLOW) == 0)
        return;
    if (listen_on(endpoint.name)) return;
    // The directory itself has gone.
    close_and_forget(endpoint.directory);
    char why[kWhyBytes];
    open_socket(why);
}

/// The reader that waits for new processes, null: none does.
const char* collector_path() {
    const char* path = std::getenv(kCollectorVariable);
    return path != nullptr && path[0] == '/' ? path : nullptr;
}

/// Tells it of this process. What it wants recorded from the first moment on (kArmVariable) is
/// recorded for as long as it is there.
void report_to_collector() {
    const char* path = collector_path();
    if (path == nullptr || ring_fd() < 0) return;
    char folder[512];
    const char* slash = std::strrchr(path, '/');
    const int length =
        std::snprintf(folder, sizeof folder, "%.*s", static_cast<int>(slash - path), path);
    if (length <= 0 || static_cast<std::size_t>(length) >= sizeof folder) return;
    const int directory = open_private_directory(folder, false, nullptr);
    if (directory < 0) return;
    const int fd = connect_in(directory, slash + 1);
    ::close(directory);
    if (fd < 0) return;
    if (!trusted_peer(fd) || !send_reply(fd, reply_with(Answer::done), ring_fd())) {
        ::close(fd);
        return;
    }
    Client& collector = endpoint.clients[0];
    collector.fd = fd;
    collector.lease = endpoint.asked;
    collector.spoke = true;
    collector.since = monotonic_ns();
}

// ---- the thread ----

struct Schedule {
    std::uint64_t tick = 0, clock = 0;
    // Between two clock snapshots. It doubles from the first millisecond on: a reader goes on at
    // the rate it knows, for no longer than it has known it.
    std::uint64_t clock_pause = kMillisecond;
    OverheadCounters overhead{};

    void keep(std::uint64_t now) {
        if (now >= clock) {
            publish_clock_snapshot();
            clock_pause = std::min(2 * clock_pause, endpoint.armed ? kClockArmed : kTickIdle);
            clock = now + clock_pause;
        }
        if (now < tick) return;
        settle_arming(true);
        endpoint.host->tick(endpoint.armed);
        set_service_cpu_ns(clock_ns(CLOCK_THREAD_CPUTIME_ID));
        if (endpoint.armed) {
            overhead.write(now);
            write_machine_counters();
        } else {
            renew_lost_socket();
        }
        tick = now + (endpoint.armed ? kTickArmed : kTickIdle);
    }
    /// Milliseconds until something is due, 1 at least.
    int patience(std::uint64_t now) const {
        const std::uint64_t due = tick < clock ? tick : clock;
        return due > now ? static_cast<int>((due - now) / kMillisecond) + 1 : 1;
    }
};

void rest() {
    const timespec pause{0, static_cast<long>(kRest)};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
}

void look_at_sockets(int patience) {
    pollfd polled[kClients + 2];
    Client* whose[kClients];
    nfds_t count = 0;
    polled[count++] = {endpoint.wake, POLLIN, 0};
    polled[count++] = {endpoint.listener, POLLIN, 0};
    for (Client& c : endpoint.clients) {
        if (c.fd < 0) continue;
        whose[count - 2] = &c;
        polled[count++] = {c.fd, POLLIN, 0};
    }
    if (::poll(polled, count, patience) <= 0 || endpoint.stop.load(std::memory_order_acquire))
        return;
    for (nfds_t i = 2; i < count; ++i)
        if (polled[i].revents != 0) hear(*whose[i - 2]);
    if (polled[1].revents != 0) take_connection(monotonic_ns());
    rest();
}

void* serve(void*) {
    ::pthread_setname_np(::pthread_self(), "gs-service");
    // Of this thread alone (Linux): it must never take a core from what it watches.
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 19);
    settle_arming();
    // The collector that had it recorded from the first moment on has gone.
    if (endpoint.asked && !endpoint.armed) endpoint.host->set_armed(false);
    Schedule schedule;
    while (!endpoint.stop.load(std::memory_order_acquire)) {
        const bool was_armed = endpoint.armed;
        schedule.keep(monotonic_ns());
        look_at_sockets(schedule.patience(monotonic_ns()));
        if (endpoint.armed != was_armed) schedule = {};
    }
    return nullptr;
}

/// All signals are the host's own threads' to handle.
bool start_thread() {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = ::pthread_create(&endpoint.thread, nullptr, serve, nullptr) == 0;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

void describe(const char* role, Host& host) {
    static abi::RingHeader
        identity;  // for its pid and start only; too large for a stranger's stack
    detail::describe_process(identity);
    endpoint.host = &host;
    std::snprintf(endpoint.role, sizeof endpoint.role, "%s", role);
    endpoint.pid = ::getpid();
    endpoint.card = Reply{};
    std::memcpy(endpoint.card.role, endpoint.role, sizeof endpoint.role);
    endpoint.card.pid = identity.pid;
    endpoint.card.process_start = identity.process_start;
    const char* arm = std::getenv(kArmVariable);
    endpoint.asked = arm != nullptr && std::strcmp(arm, "1") == 0;
    endpoint.always = endpoint.asked && collector_path() == nullptr;
    endpoint.armed = false;
    endpoint.budget_ppm = endpoint.budgets = 0;
    endpoint.stop.store(false, std::memory_order_relaxed);
}

}  // namespace

bool start_endpoint(const char* role, Host& host, char* why) noexcept {
    char reason[kWhyBytes] = "it runs already";
    bool started = false;
    if (!running.test_and_set(std::memory_order_acquire)) {
        describe(role, host);
        if (!fork_handler) fork_handler = ::pthread_atfork(nullptr, nullptr, reset) == 0;
        const bool open = open_socket(reason);
        report_to_collector();
        endpoint.wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        started = (open || endpoint.clients[0].fd >= 0) && endpoint.wake >= 0 && start_thread();
        if (open && !started) {
            std::snprintf(reason, sizeof reason, "no thread for it");
            ::unlinkat(endpoint.directory, endpoint.name, 0);
        }
        if (!started) reset();
    }
    if (!started && why != nullptr) std::memcpy(why, reason, sizeof reason);
    return started;
}

void stop_endpoint() noexcept {
    if (endpoint.pid == 0 || endpoint.pid != ::getpid() || endpoint.stop.exchange(true)) return;
    if (endpoint.name[0] != '\0') ::unlinkat(endpoint.directory, endpoint.name, 0);
    ::eventfd_write(endpoint.wake, 1);
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += static_cast<time_t>(kFarewell / (1000 * kMillisecond));
    // A tick that hangs (a driver that is itself being torn down) must not keep the program from
    // ending: then the thread and what it uses stay behind.
    if (::pthread_timedjoin_np(endpoint.thread, nullptr, &until) != 0) {
        ::pthread_detach(endpoint.thread);
        say_farewell();
        return;
    }
    say_farewell();
    // Its last tick may have found the socket missing and made it anew.
    if (endpoint.name[0] != '\0') ::unlinkat(endpoint.directory, endpoint.name, 0);
    reset();
}

}  // namespace gs::service
