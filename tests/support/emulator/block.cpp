#include "tests/support/emulator/block.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "tests/support/emulator/emulator.h"

constinit thread_local uint3 threadIdx{0, 0, 0};
constinit thread_local uint3 blockIdx{0, 0, 0};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace gs::emulator {
namespace {

std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

}  // namespace

Block*& current_block() {
    static constinit thread_local Block* block = nullptr;
    return block;
}

Block::Block() : warps_(32) {}
Block::~Block() = default;

void Block::run(const Launch& launch, unsigned index) {
    begin(launch, index);
    pausing_ = false;
    (void)go();
}

void Block::begin(const Launch& launch, unsigned index) {
    launch_ = launch;
    index_ = index;
    warps_used_ = (launch.threads + 31) / 32;
    random_ = mixed(launch.seed ^ (static_cast<std::uint64_t>(index) << 20));
    forward_ = (random_ & 1) != 0;
    for (unsigned w = 0; w < warps_used_; ++w) {
        Warp& warp = warps_[w];
        warp.unstarted = ~0u;
        warp.ready = warp.arrived = warp.at_barrier = warp.ended = 0;
        warp.cursor = static_cast<unsigned>(random_ >> 8) & 31u;
    }
    runnable_ = warps_used_ == 32 ? ~0u : bit(warps_used_) - 1;
    warp_ = static_cast<unsigned>((random_ >> 16) % warps_used_);
    waiting_ = 0;
    live_ = launch.threads;
    predicates_ = 0;
    shared_.begin();
    error_ = nullptr;
    running_ = nullptr;
    pausing_ = true;
    paused_ = false;
}

bool Block::go() {
    blockIdx = {index_, 0, 0};
    blockDim = dim3(launch_.threads);
    gridDim = dim3(launch_.blocks);
    current_block() = this;
    if (running_ == nullptr) {
        choose();
        running_ = next_;
    } else {
        threadIdx.x = thread_;
    }
    paused_ = false;
    switch_context(host_, running_->context);
    if (error_) {
        abandon();
    } else if (!paused_) {
        try {
            shared_.verify();
        } catch (...) {
            error_ = std::current_exception();
        }
    }
    current_block() = nullptr;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return !paused_;
}

void Block::abandon() {
    for (const auto& fiber : fibers_) fiber->reset();
    idle_.clear();
    for (const auto& fiber : fibers_) idle_.push_back(fiber.get());
}

void Block::look() {
    if (!pausing_) return;
    thread_ = threadIdx.x;
    paused_ = true;
    switch_context(running_->context, host_);
}

void look_between_blocks() {
    if (Block* const block = current_block()) block->look();
}

void Block::fiber_entry(void* block) {
    Block& self = *static_cast<Block*>(block);
    for (;;) self.run_threads(*self.running_);
}

/// Runs the chosen thread, and all that follow it without having been left, on this fiber; returns
/// when a thread of this fiber is chosen again.
void Block::run_threads(Fiber& fiber) {
    bool more = true;
    while (more) {
        try {
            (*launch_.body)();
            end_thread();
            idle_.push_back(&fiber);
            more = choose() && next_ == &fiber;
        } catch (...) {
            error_ = std::current_exception();
        }
        // Outside the handler: this fiber is not resumed, and a handler must not be left open.
        if (error_) switch_context(fiber.context, host_);
        if (live_ == 0) {
            ++switches_;
            switch_context(fiber.context, host_);
            return;
        }
    }
    running_ = next_;
    ++switches_;
    switch_context(fiber.context, running_->context);
}

Fiber& Block::idle_fiber() {
    if (idle_.empty()) {
        fibers_.push_back(std::make_unique<Fiber>(fibers_.size(), &Block::fiber_entry, this));
        idle_.push_back(fibers_.back().get());
    }
    Fiber& fiber = *idle_.back();
    idle_.pop_back();
    return fiber;
}

bool Block::choose() {
    if (runnable_ == 0) {
        if (live_ == 0) return false;
        if (!release_barrier()) report_stuck();
    }
    if ((runnable_ & bit(warp_)) == 0) {
        // Another warp: the first at or after a random one.
        random_ = random_ * 6364136223846793005u + 1442695040888963407u;
        const int start = static_cast<int>(random_ >> 59);
        warp_ = static_cast<unsigned>(std::countr_zero(std::rotr(runnable_, start)) + start) & 31u;
    }
    Warp& warp = warps_[warp_];
    const std::uint32_t candidates = warp.unstarted | warp.ready;
    const int after = static_cast<int>(warp.cursor);
    const unsigned lane =
        forward_ ? static_cast<unsigned>(std::countr_zero(std::rotr(candidates, after + 1)) +
                                         after + 1) &
                       31u
                 : static_cast<unsigned>(after - 1 -
                                         std::countl_zero(std::rotl(candidates, 32 - after))) &
                       31u;
    warp.cursor = lane;
    if ((warp.unstarted & bit(lane)) != 0) {
        warp.unstarted &= ~bit(lane);
        Fiber& fiber = idle_fiber();
        fiber.lane = warp_ * 32 + lane;
        warp.fiber[lane] = &fiber;
    } else {
        warp.ready &= ~bit(lane);
    }
    if ((warp.unstarted | warp.ready) == 0) runnable_ &= ~bit(warp_);
    next_ = warp.fiber[lane];
    threadIdx.x = warp_ * 32 + lane;
    return true;
}

void Block::yield(Context& from) {
    choose();
    if (&next_->context == &from) return;
    running_ = next_;
    ++switches_;
    switch_context(from, running_->context);
}

void Block::end_thread() {
    const unsigned thread = threadIdx.x;
    Warp& warp = warps_[thread / 32];
    warp.ended |= bit(thread % 32);
    --live_;
    if (warp.arrived != 0) finish_waiting(warp);
}

void Block::report(Fault fault, const std::string& what, Place where) const {
    throw EmulatorError(fault,
                        fmt::format("{}: {} (kernel {}, block {}, thread {})", place_text(where),
                                    what, launch_.name, index_, threadIdx.x),
                        where.file_name(), where.line());
}

}  // namespace gs::emulator
