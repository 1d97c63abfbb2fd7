#include "base/record/endpoint.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/record/descriptors.h"
#include "base/record/local_socket.h"
#include "base/record/machine_counters.h"
#include "base/record/named_socket.h"
#include "base/record/overhead_counters.h"
#include "base/record/process.h"
#include "base/record/ring.h"
#include "base/record/service_status.h"
#include "base/record/service_thread.h"

namespace gs::service {
namespace {

constexpr int kClients = 32;
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kTickArmed = 50 * kMillisecond, kTickIdle = 1000 * kMillisecond;
constexpr std::uint64_t kClockArmed = 100 * kMillisecond;
// Between two looks at the sockets: whatever clients do, the thread costs no more than this allows.
constexpr std::uint64_t kRest = kMillisecond / 2;
constexpr std::uint64_t kSilence =
    2000 * kMillisecond;  // clients that have not asked by then are dropped
constexpr std::uint64_t kFarewell =
    2000 * kMillisecond;  // stop_endpoint() waits no longer for a tick under way
constexpr std::uint64_t kExpected = 2000 * kMillisecond;  // a daemon connects within
constexpr std::uint64_t kWelcome = 2000 * kMillisecond;   // nor start_endpoint() for the thread

struct Client {
    OwnedDescriptor fd;
    bool lease = false, spoke = false;
    std::uint64_t since = 0;
    std::uint64_t budget_ppm = 0, budget_number = 0;  // 0: it has asked for none; the newest counts
};

enum class Start : int { under_way, serving, failed };

// One per process, because the thread outlives every object that could own it; never destroyed.
// Descriptors are the thread's alone: most of the time they are in its own table.
struct Endpoint {
    Host* host = nullptr;
    bool (*prepare)() noexcept = nullptr;
    char role[8] = {};
    bool own_table = false;
    NamedSocket socket;
    Client clients[kClients];
    Reply card;                // what every Reply begins as
    char collector[512] = {};  // its socket; empty: there is none
    bool asked = false;        // by kArmVariable: the host may have begun to record by itself
    bool always = false;       // and there is no collector whose connection would be the lease
    bool armed = false;
    std::uint64_t expected_until = 0;  // it records for a daemon that has not connected yet
    std::uint64_t budget_ppm = 0, budgets = 0;
    pid_t pid = 0;
    pthread_t thread{};
    std::atomic<bool> stop{false};
    std::atomic<Start> start{Start::under_way};
    sem_t started{};
    // Held while the thread works: all the time but for its waits.
    pthread_mutex_t working = PTHREAD_MUTEX_INITIALIZER;
    bool deaf = false;         // until the next tick: a connection could not be taken
    bool to_join = false;      // stopped, but the thread may still be in its last wait
    char why[kWhyBytes] = {};  // it could not be
};
constinit Endpoint endpoint;
constinit std::atomic_flag running = ATOMIC_FLAG_INIT;
constinit bool fork_handler = false;
constinit thread_local bool serves_here = false;

void close_all() {
    for (Client& c : endpoint.clients) {
        c.fd.close();
        c = Client{};
    }
}

void become_idle() {
    endpoint.host = nullptr;
    endpoint.pid = 0;
    endpoint.armed = false;
    endpoint.own_table = false;
    endpoint.stop.store(false, std::memory_order_relaxed);
    running.clear();
}

// In a forked child: the thread is the parent's, and so are the leases; a client must see them end
// with the parent. What is in the thread's own table has not come along.
void reset() noexcept {
    if (endpoint.pid == 0 && !endpoint.to_join) return;
    endpoint.to_join = false;
    if (endpoint.own_table)
        for (Client& c : endpoint.clients) c = Client{};
    else
        close_all();
    endpoint.socket.leave_to_parent(!endpoint.own_table);
    become_idle();
}

// ---- what clients get ----

std::uint32_t leases() {
    std::uint32_t count = 0;
    for (const Client& c : endpoint.clients) count += c.fd.is_open() && c.lease ? 1 : 0;
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
    if (leases() > 0) endpoint.expected_until = 0;
    const bool wanted = endpoint.always || leases() > 0 || monotonic_ns() < endpoint.expected_until;
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
            if (ring_fd() >= 0) return reply_with(Answer::done);
            return refusal(detail::ring_header() == nullptr
                               ? "this process has no ring"
                               : "the program closed its ring's descriptor, so no process can "
                                 "attach any more");
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
                return refusal("graphs are recorded node by node for at most an hour");
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
    client.fd.close();
    client = Client{};
    if (had_budget) settle_budget();
}

/// A place for a new connection: a free one, or that of somebody who connected and then said
/// nothing.
Client* free_place(std::uint64_t now) {
    Client* silent = nullptr;
    for (Client& c : endpoint.clients) {
        if (!c.fd.is_open()) return &c;
        if (!c.spoke && now - c.since > kSilence) silent = &c;
    }
    if (silent != nullptr) hang_up(*silent);
    return silent;
}

void take_connection(std::uint64_t now) {
    const int fd =
        ::accept4(endpoint.socket.listener(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    // Descriptors are short. The connection stays in the queue and would wake the thread again and
    // again.
    endpoint.deaf = fd < 0 && errno != EAGAIN;
    if (fd < 0) return;
    Client* place = trusted_peer(fd) ? free_place(now) : nullptr;
    if (place == nullptr) {
        ::close(fd);
        return;
    }
    *place = Client{};
    place->fd = OwnedDescriptor(fd, !endpoint.own_table);
    place->since = now;
}

// One message; what is left waits for the next look. A client that does not read its answers is let
// go.
void hear(Client& client) {
    Request request{};
    const ssize_t bytes =
        ::recv(client.fd.get(), &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (bytes <= 0) return hang_up(client);
    const bool understood = bytes == static_cast<ssize_t>(sizeof request) &&
                            request.magic == kProtocolMagic && request.version == kProtocolVersion;
    client.spoke |= understood;
    const Reply reply =
        understood ? answer_to(request, client) : reply_with(Answer::not_understood);
    const bool hands_over = understood && static_cast<Op>(request.op) == Op::hello;
    if (!send_reply(client.fd.get(), reply, hands_over ? ring_fd() : -1)) hang_up(client);
}

// ---- the collector ----

/// It is to say why this process is missing.
void excuse(const char* why) {
    OwnedDescriptor(send_to(endpoint.collector, refusal(why), -1)).close();
}

/// Announces this process to it. What it wants recorded from the first moment on (kArmVariable) is
/// recorded for as long as it is there.
void report_to_collector() {
    const int fd = send_to(endpoint.collector, reply_with(Answer::done), ring_fd());
    if (fd < 0) return;
    Client& collector = endpoint.clients[0];
    collector.fd = OwnedDescriptor(fd, !endpoint.own_table);
    collector.lease = endpoint.asked;
    collector.spoke = true;
    collector.since = monotonic_ns();
}

// ---- the thread ----

void count_own_time() {
    set_service_cpu_ns(clock_ns(CLOCK_THREAD_CPUTIME_ID) + endpoint.host->other_cpu_ns());
}

struct Schedule {
    std::uint64_t tick = 0, clock = 0;
    // Between two clock snapshots. It doubles from the first millisecond on: a reader continues at
    // the rate it knows, for no longer than it has known it.
    std::uint64_t clock_pause = kMillisecond;
    OverheadCounters overhead{};

    /// Whether a tick was due.
    bool keep(std::uint64_t now) {
        if (now >= clock) {
            endpoint.host->take_snapshot();
            clock_pause = std::min(2 * clock_pause, endpoint.armed ? kClockArmed : kTickIdle);
            clock = now + clock_pause;
        }
        if (now < tick) return false;
        endpoint.deaf = false;
        settle_arming(true);
        endpoint.host->tick(endpoint.armed);
        count_own_time();
        if (endpoint.armed) {
            overhead.write(now);
            // They open files of /proc all the time, which must not be the program's in between.
            if (endpoint.own_table) write_machine_counters();
        } else {
            endpoint.socket.renew();
        }
        tick = now + (endpoint.armed ? kTickArmed : kTickIdle);
        return true;
    }
    /// Milliseconds until something is due, 1 at least.
    int patience(std::uint64_t now) const {
        const std::uint64_t due = tick < clock ? tick : clock;
        return due > now ? static_cast<int>((due - now) / kMillisecond) + 1 : 1;
    }
};

int rest() {
    const timespec pause{0, static_cast<long>(kRest)};
    return ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
}

bool is_stopped() { return endpoint.stop.load(std::memory_order_acquire); }

/// With others at work in the meantime; back when it is the thread's turn again.
template <class Wait>
auto wait_idly(Wait wait) {
    ::pthread_mutex_unlock(&endpoint.working);
    const auto result = wait();
    ::pthread_mutex_lock(&endpoint.working);
    return result;
}

void look_at_sockets(int patience) {
    pollfd polled[kClients + 1];
    Client* whose[kClients];
    nfds_t count = 0;
    polled[count++] = {endpoint.deaf ? -1 : endpoint.socket.listener(), POLLIN, 0};
    for (Client& c : endpoint.clients) {
        if (!c.fd.is_open()) continue;
        // One that the program has closed ends as one that its client has.
        if (c.fd.get() < 0) {
            hang_up(c);
            continue;
        }
        whose[count - 1] = &c;
        polled[count++] = {c.fd.get(), POLLIN, 0};
    }
    if (wait_idly([&] { return ::poll(polled, count, patience); }) <= 0 || is_stopped()) return;
    for (nfds_t i = 1; i < count; ++i)
        if (polled[i].revents != 0) hear(*whose[i - 1]);
    if (polled[0].revents != 0) take_connection(monotonic_ns());
    wait_idly(rest);
}

/// Everything that needs descriptors, so that none of them is ever in the program's table. The
/// program waits meanwhile, in its first call, perhaps with the loader's lock: nothing here may
/// need that.
bool begin() {
    endpoint.own_table = take_own_table(endpoint.prepare == nullptr ? ring_fd() : -1);
    static abi::RingHeader identity;  // for its pid and start only
    detail::describe_process(identity);
    endpoint.card.pid = identity.pid;
    endpoint.card.process_start = identity.process_start;
    if (endpoint.prepare != nullptr && !endpoint.prepare()) {
        std::snprintf(endpoint.why, kWhyBytes, "the system refuses memory for its ring");
        return false;
    }
    const bool open = endpoint.socket.open(endpoint.pid, endpoint.role, kClients,
                                           !endpoint.own_table, endpoint.why);
    if (ring_fd() >= 0) report_to_collector();
    if (open && is_watched()) endpoint.expected_until = monotonic_ns() + kExpected;
    settle_arming();
    return open || endpoint.clients[0].fd.is_open();
}

void answer_starter(bool serves) {
    if (!serves) excuse(endpoint.why);
    endpoint.start.store(serves ? Start::serving : Start::failed, std::memory_order_release);
    ::sem_post(&endpoint.started);
}

void* serve(void*) {
    ::pthread_setname_np(::pthread_self(), "gs-service");
    serves_here = true;
    ::pthread_mutex_lock(&endpoint.working);
    const bool serves = begin();
    answer_starter(serves);
    // The collector that had it recorded from the first moment on has gone.
    if (serves && endpoint.asked && !endpoint.armed) endpoint.host->set_armed(false);
    lower_own_priority();
    if (serves) count_own_time();  // starting is no cost of recording, which budgets watch
    Schedule schedule;
    while (serves && !is_stopped()) {
        const bool was_armed = endpoint.armed;
        if (schedule.keep(monotonic_ns()) &&
            only_these_threads_are_left(1 + endpoint.host->other_threads())) {
            ::pthread_mutex_unlock(&endpoint.working);
            endpoint.host->exit_process();
        }
        look_at_sockets(schedule.patience(monotonic_ns()));
        if (endpoint.armed != was_armed) schedule = {};
    }
    endpoint.socket.close();
    close_all();
    ::pthread_mutex_unlock(&endpoint.working);
    return nullptr;
}

/// On the program's thread, for the environment is its.
void describe(const char* role, Host* host, bool (*prepare)() noexcept) {
    endpoint.host = host;
    endpoint.prepare = prepare;
    std::snprintf(endpoint.role, sizeof endpoint.role, "%s", role);
    endpoint.pid = ::getpid();
    endpoint.card = Reply{};
    std::memcpy(endpoint.card.role, endpoint.role, sizeof endpoint.role);
    endpoint.card.pid = static_cast<std::uint32_t>(endpoint.pid);
    const char* collector = std::getenv(kCollectorVariable);
    const bool named = collector != nullptr && collector[0] == '/' &&
                       std::strlen(collector) < sizeof endpoint.collector;
    std::snprintf(endpoint.collector, sizeof endpoint.collector, "%s", named ? collector : "");
    const char* arm = std::getenv(kArmVariable);
    endpoint.asked = arm != nullptr && std::strcmp(arm, "1") == 0;
    endpoint.always = endpoint.asked && !named;
    endpoint.armed = endpoint.own_table = false;
    endpoint.expected_until = 0;
    endpoint.budget_ppm = endpoint.budgets = 0;
    endpoint.stop.store(false, std::memory_order_relaxed);
    endpoint.start.store(Start::under_way, std::memory_order_relaxed);
    ::sem_init(&endpoint.started, 0, 0);
    ::pthread_mutex_init(&endpoint.working, nullptr);
}

/// False: it has failed, and its thread has ended. One that takes too long will serve later.
bool wait_for_thread() {
    const timespec until = after(kWelcome);
    while (::sem_timedwait(&endpoint.started, &until) != 0 && errno == EINTR) {
    }
    if (endpoint.start.load(std::memory_order_acquire) != Start::failed) return true;
    ::pthread_join(endpoint.thread, nullptr);
    return false;
}

}  // namespace

bool start_endpoint(const char* role, Host& host, char* why, bool (*prepare)() noexcept) noexcept {
    char reason[kWhyBytes] = "it is already running";
    bool started = false;
    if (!running.test_and_set(std::memory_order_acquire)) {
        if (endpoint.to_join) ::pthread_join(endpoint.thread, nullptr);
        endpoint.to_join = false;
        describe(role, &host, prepare);
        if (!fork_handler) fork_handler = ::pthread_atfork(nullptr, nullptr, reset) == 0;
        const bool has_thread = start_service_thread(endpoint.thread, serve);
        if (!has_thread) {
            std::snprintf(endpoint.why, kWhyBytes, "the system refuses a thread (ulimit -u, -v)");
            excuse(endpoint.why);
        }
        started = has_thread && wait_for_thread();
        std::memcpy(reason, endpoint.why, sizeof reason);
        if (!started) become_idle();
    }
    if (!started && why != nullptr) std::memcpy(why, reason, sizeof reason);
    return started;
}

void excuse_process(const char* role, const char* why) noexcept {
    if (running.test_and_set(std::memory_order_acquire)) return;
    describe(role, nullptr, nullptr);
    excuse(why);
    become_idle();
}

bool is_endpoint_thread() noexcept { return serves_here; }

// The thread is not waited for: on a busy machine it may have to wait for a processor, and a
// program must end as fast as without it. It is in a wait now, finds that it has been stopped when
// that ends, and ends with the process at the latest.
void stop_endpoint() noexcept {
    if (endpoint.pid == 0 || endpoint.pid != ::getpid() || is_stopped()) return;
    const timespec until = after(kFarewell);
    const bool idle = ::pthread_mutex_timedlock(&endpoint.working, &until) == 0;
    endpoint.stop.store(true, std::memory_order_release);
    say_farewell();
    // A tick that hangs (a driver that is itself being torn down) must not keep the program from
    // ending: then the thread and what it uses stay behind.
    if (!idle) return;
    endpoint.socket.remove_by_path();
    endpoint.to_join = true;
    endpoint.pid = 0;
    running.clear();
    ::pthread_mutex_unlock(&endpoint.working);
}

}  // namespace gs::service
