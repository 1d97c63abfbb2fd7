#include "profiler/inject/cupti.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/record/clock.h"
#include "base/record/endpoint.h"
#include "base/record/service_status.h"
#include "profiler/inject/cupti_session.h"
#include "profiler/inject/cupti_sink.h"
#include "profiler/inject/settings.h"

namespace gs::inject::cupti {
namespace {

using abi::CuptiState;

constexpr std::uint64_t kSecond = 1'000'000'000, kMillisecond = 1'000'000;
/// Another tool may keep CUPTI for hours, and asking costs it nothing, but us.
constexpr std::uint64_t kFirstRetry = kSecond, kLastRetry = 60 * kSecond;
constexpr std::uint64_t kPresenceInterval = kSecond / 5;
/// The GPU needs less for what a host may have launched ahead of it, unless its kernels are very
/// long; then sink::read_buffer() throws away what cannot be true.
constexpr std::uint64_t kWorkOff = kSecond / 5;
/// How long a client that asked for CUPTI waits for the program's next CUDA call; it gives up on
/// answers after 2 s.
constexpr std::uint64_t kLeaveTime = kSecond / 3, kPatience = kSecond / 2;

// One per process; calls come from the endpoint's thread, from cuInit() and from exit().
struct Control {
    // What is wanted, set by anyone at any time.
    std::atomic<bool> armed{false}, paused{false}, released{false}, finished{false};
    std::atomic<bool> driver_seen{false};  // cuInit() has been called: no need to look for it
    std::atomic<bool> driver_near{false};  // it is mapped
    std::atomic<std::uint64_t> next_near{0};
    // Who holds this works on the rest. Never waited for inside a callback of CUPTI.
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
    Session session;
    bool at_exit = false;
    std::uint64_t next_try = 0, retry = 0, next_look = 0;
    // Graphs node by node: for how long from when it can be begun, and until when.
    std::atomic<std::uint64_t> nodes_asked_ns{0};
    std::uint64_t nodes_until = 0;
    std::uint64_t changed = 0, paused_since = 0;  // kinds of records; recording
    std::atomic<std::uint64_t> switch_ns{0};
    bool robbed = false, node_setting_used = false;
    bool inherited = false;  // by the child of a fork: CUPTI is its parent's
    std::atomic<CuptiState> state{CuptiState::not_asked};  // written in a turn
    CuptiState failure = CuptiState::not_asked;
    char reason[kReasonBytes] = {}, failed_because[kReasonBytes] = {};
};
constinit Control control;
constexpr const char* kRobbed =
    "another tool took over CUPTI's buffers; use --acquire-cupti to reclaim them";

void pause_for(std::uint64_t ns) noexcept {
    const timespec pause{0, static_cast<long>(ns)};
    ::nanosleep(&pause, nullptr);
}

class Turn {
  public:
    explicit Turn(std::uint64_t wait_ns = 0) noexcept {
        // By the clock: on a busy machine a millisecond's sleep takes several.
        const std::uint64_t until = wait_ns == 0 ? 0 : monotonic_ns() + wait_ns;
        for (;; pause_for(kMillisecond)) {
            mine_ = !control.busy.test_and_set(std::memory_order_acquire);
            if (mine_ || until == 0 || monotonic_ns() >= until) return;
        }
    }
    ~Turn() {
        if (mine_) control.busy.clear(std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const noexcept { return mine_; }

  private:
    bool mine_ = false;
};

bool forbidden() noexcept { return !settings().cupti; }

void say(CuptiState state, const char* reason = "") noexcept {
    if (state == control.state && std::strcmp(reason, control.reason) == 0) return;
    control.state = state;
    std::snprintf(control.reason, sizeof control.reason, "%s", reason);
    set_cupti_state(state, control.reason[0] != '\0' ? control.reason : nullptr);
}

// Before the destructors of libcupti: handlers registered later run earlier.
void finish_at_exit() { finish(); }

void note_failure(CuptiState state) noexcept {
    control.failure = state;
    control.retry = control.retry == 0 ? kFirstRetry : std::min(2 * control.retry, kLastRetry);
    control.next_try = monotonic_ns() + control.retry;
}

constexpr std::uint64_t kForEver = ~std::uint64_t{0};
std::uint64_t nanoseconds(std::uint64_t seconds) noexcept {
    return seconds < kForEver / kSecond ? seconds * kSecond : kForEver;
}

bool may_change_kinds(std::uint64_t now, std::uint64_t rest_s) noexcept {
    return control.changed == 0 || now - control.changed >= nanoseconds(rest_s);
}

void count_switch(std::uint64_t begin) noexcept {
    control.switch_ns.fetch_add(monotonic_ns() - begin, std::memory_order_relaxed);
}

/// Begins the period in which graphs are recorded node by node, if one was asked for.
bool begin_nodes(std::uint64_t now) noexcept {
    const std::uint64_t asked = control.nodes_asked_ns.exchange(0);
    if (asked != 0) control.nodes_until = asked < kForEver - now ? now + asked : kForEver;
    return now < control.nodes_until;
}

bool fetch_kinds() noexcept {
    bool held = false;
    const std::uint64_t now = monotonic_ns();
    if (!control.node_setting_used && settings().graph_nodes_s != 0)
        control.nodes_asked_ns.store(nanoseconds(settings().graph_nodes_s));
    control.node_setting_used = true;
    control.changed = now;
    const bool on = control.session.switch_on(begin_nodes(now), control.failed_because, held);
    count_switch(now);
    if (on) return true;
    control.session.leave_now();
    note_failure(held ? CuptiState::held : CuptiState::unavailable);
    return false;
}

void try_to_take() noexcept {
    bool held = false;
    control.failed_because[0] = '\0';
    if (!control.session.take(control.failed_because, held))
        return note_failure(held ? CuptiState::held : CuptiState::unavailable);
    if (!control.at_exit) control.at_exit = std::atexit(finish_at_exit) == 0;
    if (control.paused.load() || fetch_kinds()) control.retry = control.next_try = 0;
}

/// In a pause nothing is on that costs the program anything, once the GPU has worked off what was
/// launched before: CUPTI may tell wrong times of what runs when its kinds are switched. What is
/// recorded from the start of the pause on is skipped, until the GPU has done what was launched in
/// it: of that nothing is known.
void settle_pause(std::uint64_t now) noexcept {
    Session& session = control.session;
    const bool may_change = may_change_kinds(now, settings().pause_rest_s);
    if (control.paused.load()) {
        if (!session.paused()) control.paused_since = now;
        session.pause(true);
        const bool worked_off = now - control.paused_since >= kWorkOff;
        if (!session.recording() || !may_change || !worked_off) return;
        session.switch_off();
        count_switch(now);
        control.changed = now;
        return;
    }
    if (!session.recording()) {
        if (!may_change) return;
        session.pause(true);
        fetch_kinds();
        return;
    }
    if (session.paused() && session.has_caught_up()) session.pause(false);
}

void settle_nodes(std::uint64_t now) noexcept {
    Session& session = control.session;
    if (!session.recording() || !may_change_kinds(now, settings().rest_s)) return;
    const bool nodes = begin_nodes(now);
    if (nodes == session.tells_nodes()) return;
    session.tell_nodes(nodes);
    control.changed = now;
}

void say_recording() noexcept {
    char text[kReasonBytes + 32];
    const char* nodes = control.session.tells_nodes() ? "graphs node by node" : "";
    std::snprintf(text, sizeof text, "%s%s%s", control.failed_because,
                  nodes[0] != '\0' && control.failed_because[0] != '\0' ? "; " : "", nodes);
    text[kReasonBytes - 1] = '\0';
    say(CuptiState::recording, text);
}

/// CUPTI is wanted: takes it when that can be done, and has its kinds on or off as they should be.
void pursue() noexcept {
    Session& session = control.session;
    if (session.is_leaving() && !session.has_left()) session.stay();
    const std::uint64_t now = monotonic_ns();
    if (control.robbed) return say(CuptiState::held, kRobbed);
    if (!session.taken()) {
        // What it opens belongs into the program's table of descriptors: where a driver has come in
        // this very moment, the next tick is elsewhere.
        if (now < control.next_try || service::is_endpoint_thread()) return;
        if (!control.driver_seen.load()) {
            const bool near = control.driver_near.load();
            if (near && now < control.next_look) return;
            control.next_look = now + kPresenceInterval;
            if (!near || !driver_is_initialized())
                return say(CuptiState::not_asked, "the program has not used CUDA so far");
            control.driver_seen.store(true);
        }
        try_to_take();
    } else {
        settle_pause(now);
        settle_nodes(now);
    }
    if (!session.taken()) return say(control.failure, control.failed_because);
    if (!session.recording() || session.paused()) return say(CuptiState::paused);
    say_recording();
}

/// CUPTI is not wanted. Gone, or going with the next CUDA call.
void let_go() noexcept {
    Session& session = control.session;
    if (session.taken() && !session.is_leaving()) session.begin_leaving();
    if (session.is_leaving()) session.has_left();
    control.next_try = control.retry = 0;
    if (session.taken()) return say(CuptiState::released, "with the program's next CUDA call");
    if (control.released.load()) return say(CuptiState::released, "on request");
    if (forbidden()) return say(CuptiState::not_asked, "switched off by GAUSSCOPE_CUPTI=0");
    if (control.state == CuptiState::not_asked) return say(CuptiState::not_asked);
    say(CuptiState::released, "nobody records");
}

void settle() noexcept {
    if (control.inherited)
        return say(CuptiState::not_asked, "CUDA was in use before the fork, and is not after it");
    if (control.finished.load()) return;
    const bool wanted = control.armed.load() && !control.released.load() && !forbidden();
    wanted ? pursue() : let_go();
}

void settle_if_free() noexcept {
    if (const Turn turn; turn) settle();
}

bool leave_within(std::uint64_t ns) noexcept {
    for (const std::uint64_t until = monotonic_ns() + ns;
         control.session.taken() && monotonic_ns() < until; let_go())
        pause_for(kMillisecond);
    return !control.session.taken();
}

bool answer(char* why, const char* text) noexcept {
    if (why != nullptr) std::snprintf(why, kReasonBytes, "%s", text);
    return false;
}

}  // namespace

void look_for_driver() noexcept {
    const std::uint64_t now = monotonic_ns();
    if (control.driver_near.load() || now < control.next_near.load()) return;
    control.next_near.store(now + kPresenceInterval);
    if (mapped_driver() != nullptr) control.driver_near.store(true);
}

bool driver_is_near() noexcept { return control.driver_near.load(); }

void set_armed(bool armed) noexcept {
    if (armed && !control.armed.load()) control.robbed = false;
    control.armed.store(armed);
    control.paused.store(false);
    settle_if_free();
}

void set_paused(bool paused) noexcept {
    control.paused.store(paused);
    settle_if_free();
}

Costs costs() noexcept { return {sink::told(), control.switch_ns.load(std::memory_order_relaxed)}; }

bool is_paused() noexcept { return control.state.load() == CuptiState::paused; }

bool release(char* why) noexcept {
    control.released.store(true);
    const Turn turn(kPatience);
    if (!turn) return answer(why, "CUPTI is busy; it will be released shortly");
    settle();
    if (!leave_within(kLeaveTime) && !control.finished.load()) {
        control.session.leave_now();
        let_go();
    }
    return true;
}

bool acquire(char* why) noexcept {
    control.released.store(false);
    if (forbidden()) return answer(why, "switched off by GAUSSCOPE_CUPTI=0");
    if (control.finished.load()) return answer(why, "the program is ending");
    if (!control.armed.load()) return true;
    const Turn turn(kPatience);
    if (!turn) return answer(why, "CUPTI is busy; it will be acquired shortly");
    control.next_try = control.next_look = 0;
    control.robbed = false;
    settle();
    return control.session.taken() || answer(why, control.reason);
}

void tick() noexcept {
    const Turn turn;
    if (!turn || control.finished.load()) return;
    settle();
    if (!control.session.taken() || control.session.is_leaving()) return;
    control.session.collect(false);
    if (!control.session.was_robbed()) return;
    // Whoever has the buffers wants what is in them: nothing is switched off.
    control.session.leave_now();
    control.robbed = true;
    settle();
}

void tell_graph_nodes(std::uint64_t seconds) noexcept {
    control.nodes_asked_ns.store(nanoseconds(seconds));
    settle_if_free();
}

void driver_begins() noexcept {
    control.driver_seen.store(true);
    control.driver_near.store(true);
}

void cuda_appeared() noexcept {
    // The endpoint's thread may be at it, even waiting for this very cuInit(); then its next tick()
    // does the rest.
    if (const Turn turn(kSecond / 10); turn) settle();
}

void finish() noexcept {
    if (control.finished.exchange(true)) return;
    const Turn turn(kPatience);
    if (!turn || !control.session.taken() || control.session.is_leaving()) return;
    if (control.session.recording()) control.session.collect(true);
    publish_clock_snapshot();
    set_cupti_clock(nullptr);
}

void forget_in_child() noexcept {
    control.busy.clear();
    control.armed.store(false);
    control.paused.store(false);
    control.released.store(false);
    control.state = CuptiState::not_asked;
    control.reason[0] = '\0';
    control.driver_seen.store(false);
    control.driver_near.store(false);
    control.next_near.store(0);
    control.robbed = false;
    // A CUPTI that the parent held is of no use here, and must not be called.
    if (!control.session.taken()) return;
    control.inherited = true;
    control.finished.store(true);
    sink::close();
}

}  // namespace gs::inject::cupti
