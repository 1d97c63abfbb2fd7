#include "profiler/inject/library.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "base/record/budget.h"
#include "base/record/endpoint.h"
#include "base/record/gpu_windows.h"
#include "base/record/loop_pace.h"
#include "base/record/pauses.h"
#include "base/record/protocol.h"
#include "base/record/service_status.h"
#include "profiler/inject/chain.h"
#include "profiler/inject/conditions.h"
#include "profiler/inject/cupti.h"
#include "profiler/inject/cupti_thread.h"
#include "profiler/inject/handles.h"
#include "profiler/inject/modules.h"
#include "profiler/inject/ranges.h"
#include "profiler/inject/schemas.h"

namespace gs::inject {
namespace {

constinit std::atomic<bool> chained{false};
constinit std::atomic<bool> armed{false};

const char* setting(const char* name) {
    const char* value = ::secure_getenv(name);
    return value != nullptr && value[0] != '\0' ? value : nullptr;
}

void arm_nvtx(bool on) {
    // Pointers lead to hooks before there is something to record, and away from them after.
    if (on) begin_period();
    point_modules(on, chained.load(std::memory_order_acquire));
    if (!on) end_period();
    armed.store(on);  // in order with LibraryHost::starting_
}

/// Where the driver is, on the thread that may call it. False: the system refuses that thread.
template <class Work>
bool at_cupti(Work work) noexcept {
    if (cupti::driver_is_near()) return cupti_thread::run(work);
    work();
    return true;
}

/// Between two looks at CUPTI while the budget pauses it.
constexpr std::uint64_t kPausedTickNs = 200'000'000;

/// What the endpoint's thread asks of us.
class LibraryHost final : public service::Host {
  public:
    void set_armed(bool on) noexcept override {
        if (!on && !starting_) hold(service::Gate::open, true);
        if (armed.load(std::memory_order_acquire) != on) arm_nvtx(on);
        if (starting_) return;
        if (on) cupti::look_for_driver();
        at_cupti([&] { cupti::set_armed(on); });
    }
    /// From here on CUPTI is armed with the rest. While the library starts, its starter may be
    /// inside cuInit() or hold the loader's lock.
    void has_started() noexcept { starting_ = false; }
    void set_budget(std::uint64_t ppm) noexcept override {
        budget().set_budget(ppm);
        tell_budget();
    }
    bool release_cupti(char* why) noexcept override {
        bool done = false;
        return at_cupti([&] { done = cupti::release(why); }) && done;
    }
    bool acquire_cupti(char* why) noexcept override {
        bool done = false;
        cupti::look_for_driver();
        return at_cupti([&] { done = cupti::acquire(why); }) && done;
    }
    bool tell_graph_nodes(std::uint64_t seconds, char*) noexcept override {
        return at_cupti([&] { cupti::tell_graph_nodes(seconds); });
    }
    void take_snapshot() noexcept override { at_cupti(publish_clock_snapshot); }
    std::uint64_t other_cpu_ns() noexcept override { return cupti_thread::cpu_ns(); }
    unsigned other_threads() noexcept override { return cupti_thread::is_running() ? 1 : 0; }
    void exit_process() noexcept override {
        if (!cupti_thread::run([] { std::exit(0); })) std::exit(0);
    }
    void tick(bool on) noexcept override {
        if (!on) {
            // Letting go of CUPTI may take until the program's next CUDA call.
            at_cupti(cupti::tick);
            return;
        }
        settle_modules();
        cupti::look_for_driver();
        const service::CostSample now = costs();
        const service::Gate gate = budget().update(now);
        if (budget().budget_ppm() != 0)
            if (const auto slower = pace_.look(!cupti::is_paused())) windows_.learn(*slower);
        hold(gate, windows_.update(now, share_of_gpu()));
        tell_budget();
        // In a pause little is left to do, and what it costs must not outweigh what is saved.
        if (paused_ && cupti::is_paused() && now.now_ns < next_paused_tick_ns_) return;
        next_paused_tick_ns_ = now.now_ns + kPausedTickNs;
        if (!at_cupti(cupti::tick))
            set_cupti_state(abi::CuptiState::unavailable,
                            "the system cannot start a thread for it");
        pauses_.tell(paused_things());
    }

  private:
    service::BudgetController& budget() {
        if (budget_ == nullptr) {
            static service::BudgetController
                controller;  // measures clocks: not before somebody asks
            controller.set_budget(0);
            budget_ = &controller;
        }
        return *budget_;
    }
    /// CUPTI is what a window of recording costs, and not what closes the ranges' gate.
    service::CostSample costs() const {
        service::CostSample now = service::sample_costs();
        const cupti::Costs cupti = cupti::costs();
        // This thread's alone, and of now: what the header says is of the last tick and of both.
        now.service_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        now.cupti_records = cupti.records;
        now.cupti_ns = cupti_thread::cpu_ns() + cupti.switch_ns;
        return now;
    }
    /// What the ranges leave of the budget; they need little, and come first.
    double share_of_gpu() {
        const double all = 1e-6 * budget().budget_ppm();
        return std::max(all - budget().cost(), all / 20);
    }
    void tell_budget() {
        const double duty = windows_.duty();
        set_budget_words(budget().budget_ppm(),
                         std::min(budget().duty_ppm(), static_cast<std::uint32_t>(duty * 1e6)));
    }
    // A pause is recorded from before something goes off until after it is on again.
    void hold(service::Gate gate, bool gpu) {
        const std::uint64_t before = paused_things();
        const bool pause = gate == service::Gate::closed || !gpu;
        gate_ = gate;
        pauses_.tell(before | paused_things() | (pause ? abi::kPausesGpu : 0));
        set_gate(gate);
        if (pause != paused_) {
            next_paused_tick_ns_ = 0;
            at_cupti([&] { cupti::set_paused(paused_ = pause); });
        }
        pauses_.tell(paused_things());
    }
    /// abi::kPauses...
    std::uint64_t paused_things() const {
        const bool gpu = paused_ || cupti::is_paused();
        return (gate_ != service::Gate::open ? abi::kPausesRanges : 0) |
               (gpu ? abi::kPausesGpu : 0);
    }

    service::BudgetController* budget_ = nullptr;
    service::GpuWindows windows_;
    service::LoopPace pace_;
    service::PauseRecords pauses_;
    service::Gate gate_ = service::Gate::open;
    bool paused_ = false;
    std::uint64_t next_paused_tick_ns_ = 0;
    std::atomic<bool> starting_{true};
};

// Never destroyed: the endpoint's thread may outlast everything.
constinit LibraryHost* host = nullptr;
alignas(LibraryHost) constinit std::byte host_memory[sizeof(LibraryHost)] = {};

enum class Progress : int { none, under_way, running, failed };
constinit std::atomic<int> progress{static_cast<int>(Progress::none)};
void advance(Progress to) { progress.store(static_cast<int>(to), std::memory_order_release); }

/// Registered late, so it runs early: before the program's static objects go, whose destructors may
/// still call NVTX.
void at_exit() {
    service::stop_endpoint();
    cupti::finish();
}

constinit bool forked = false, at_exit_set = false;

// The child has neither the ring nor the endpoint, and most children need none: it makes its own
// with the first NVTX call that would be recorded, or with cuInit().
void in_child() noexcept {
    forget_modules();  // hold_modules() locked them for the fork, whatever this process has started
    if (progress.load(std::memory_order_relaxed) == static_cast<int>(Progress::none)) return;
    forked = true;
    advance(Progress::none);
    armed.store(false, std::memory_order_relaxed);
    forget_ranges([] { start_library(); });
    forget_handles();
    forget_schemas();
    cupti::forget_in_child();
    cupti_thread::forget_in_child();
}

std::size_t ring_bytes() {
    const char* mib = setting("GAUSSCOPE_RING_MIB");
    const long wanted = mib != nullptr ? std::strtol(mib, nullptr, 10) : 0;
    return std::min(most_ring_bytes(), wanted > 0 && wanted < 16
                                           ? static_cast<std::size_t>(wanted) << 20
                                           : abi::kHardCap);
}

void load_chained() {
    const char* path = setting("GAUSSCOPE_CHAIN_NVTX");
    if (path != nullptr && !forked && chain::load(path))
        chained.store(true, std::memory_order_release);
}

bool make_ring() noexcept {
    start_recording({.bytes = ring_bytes(), .armed = false, .stages = false});
    return detail::ring_header() != nullptr;
}

/// The ring and the endpoint. False: there is no ring. Nothing is said here: the program's output
/// is its own; a collector that waits for the process gets the reason.
bool start_service() {
    if (const char* obstacle = obstacle_to_starting()) {
        if (obstacle[0] != '\0') service::excuse_process("nvtx", obstacle);
        return false;
    }
    host = new (host_memory) LibraryHost;
    cupti_thread::start();
    // What the program does first is to be seen, too: by then it is armed, if it is to be.
    const bool reachable = service::start_endpoint("nvtx", *host, nullptr, make_ring);
    host->has_started();
    if (detail::ring_header() == nullptr) return false;
    if (!reachable) {
        if (armed.load(std::memory_order_relaxed)) arm_nvtx(false);  // for nobody
        return true;
    }
    if (armed.load()) {
        cupti::look_for_driver();
        cupti::set_armed(true);
    }
    if (!at_exit_set) at_exit_set = std::atexit(at_exit) == 0;  // a child has its parent's
    return true;
}

}  // namespace

bool start_library() noexcept {
    int expected = static_cast<int>(Progress::none);
    if (!progress.compare_exchange_strong(expected, static_cast<int>(Progress::under_way)))
        return expected != static_cast<int>(Progress::failed);
    if (is_static_program() || !start_service()) {
        advance(Progress::failed);
        return false;
    }
    if (forked) {
        renew_handles();
        renew_schemas();
    } else {
        ::pthread_atfork(hold_modules, let_go_of_modules, in_child);
    }
    load_chained();
    // The parent's calls may have been recorded when it forked, and the child's are not.
    if (forked || chained.load(std::memory_order_acquire))
        chain_modules(chained.load(std::memory_order_acquire));
    advance(Progress::running);
    return true;
}

bool take_nvtx(nvtx::GetExportTable get_export_table) noexcept {
    const bool taken = attach_module(get_export_table);
    // The other tool may have come while this object's pointers were being set.
    if (taken && chained.load(std::memory_order_acquire)) chain_modules(true);
    return taken;
}

void expect_cuda() noexcept { cupti::driver_begins(); }
void take_cuda() noexcept { cupti::cuda_appeared(); }

}  // namespace gs::inject
