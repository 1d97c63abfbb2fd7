#include "tests/support/emulator/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "tests/support/emulator/emulator.h"

constinit thread_local uint3 threadIdx{0, 0, 0};
constinit thread_local uint3 blockIdx{0, 0, 0};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace gs::emulator {
namespace {

constexpr std::uint32_t bit(unsigned lane) { return 1u << lane; }

std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

bool same_place(const Place& a, const Place& b) {
    return a.line() == b.line() && a.column() == b.column() &&
           (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

std::string place_text(const Place& where) { return fmt::format("{}:{}", where.file_name(), where.line()); }

}  // namespace

Block*& current_block() {
    static constinit thread_local Block* block = nullptr;
    return block;
}

Block::Block() : warps_(32) {}
Block::~Block() = default;

void Block::run(const Launch& launch, unsigned index) {
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
    blockIdx = {index, 0, 0};
    blockDim = dim3(launch.threads);
    gridDim = dim3(launch.blocks);
    error_ = nullptr;
    current_block() = this;
    choose();
    running_ = next_;
    switch_context(host_, running_->context);
    if (error_) {
        for (const auto& fiber : fibers_) fiber->reset();
        idle_.clear();
        for (const auto& fiber : fibers_) idle_.push_back(fiber.get());
    } else {
        try {
            shared_.verify();
        } catch (...) {
            error_ = std::current_exception();
        }
    }
    current_block() = nullptr;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Block::fiber_entry(void* block) {
    Block& self = *static_cast<Block*>(block);
    for (;;) self.run_threads(*self.running_);
}

/// Runs the chosen thread, and all that follow it without having been left, on this fiber; returns when chosen anew.
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
        forward_ ? static_cast<unsigned>(std::countr_zero(std::rotr(candidates, after + 1)) + after + 1) & 31u
                 : static_cast<unsigned>(after - 1 - std::countl_zero(std::rotl(candidates, 32 - after))) & 31u;
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

bool Block::complete(Warp& warp, unsigned mask, unsigned lane) const {
    const unsigned needed = mask & ~warp.ended;
    if ((warp.arrived & needed) != needed) return false;
    for (unsigned rest = needed; rest != 0; rest &= rest - 1) {
        const unsigned other = static_cast<unsigned>(std::countr_zero(rest));
        if (warp.mask[other] != mask || warp.kind[other] != warp.kind[lane] ||
            !same_place(warp.where[other], warp.where[lane])) {
            return false;
        }
    }
    return true;
}

std::uint64_t Block::collective(Collective kind, unsigned mask, std::uint64_t value, unsigned source, Place where) {
    const unsigned thread = threadIdx.x, lane = thread % 32;
    Warp& warp = warps_[thread / 32];
    if ((mask & bit(lane)) == 0) {
        report(Fault::bad_mask, fmt::format("lane {} calls with mask {:#010x}, which is without it", lane, mask),
               where);
    }
    warp.kind[lane] = kind;
    warp.mask[lane] = mask;
    warp.where[lane] = where;
    warp.value[lane] = value;
    warp.source[lane] = static_cast<std::uint8_t>(source);
    warp.arrived |= bit(lane);
    if (complete(warp, mask, lane)) {
        finish(warp, mask & ~warp.ended, lane);
        warp.ready &= ~bit(lane);  // this one just goes on
        if ((warp.unstarted | warp.ready) == 0) runnable_ &= ~bit(thread / 32);
    } else {
        yield(warp.fiber[lane]->context);
    }
    return warp.result[lane];
}

namespace {

std::uint64_t reduced(Collective kind, const Warp& warp, unsigned lanes) {
    std::uint32_t all = 0;
    bool first = true;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        const auto v = static_cast<std::uint32_t>(warp.value[static_cast<unsigned>(std::countr_zero(rest))]);
        const auto s = static_cast<std::int32_t>(v), signed_all = static_cast<std::int32_t>(all);
        if (first) {
            all = v;
        } else {
            switch (kind) {
                case Collective::reduce_add:
                    all += v;
                    break;
                case Collective::reduce_min_unsigned:
                    all = std::min(all, v);
                    break;
                case Collective::reduce_max_unsigned:
                    all = std::max(all, v);
                    break;
                case Collective::reduce_min_signed:
                    all = static_cast<std::uint32_t>(std::min(signed_all, s));
                    break;
                case Collective::reduce_max_signed:
                    all = static_cast<std::uint32_t>(std::max(signed_all, s));
                    break;
                case Collective::reduce_and:
                    all &= v;
                    break;
                case Collective::reduce_or:
                    all |= v;
                    break;
                default:
                    all ^= v;
                    break;
            }
        }
        first = false;
    }
    return all;
}

std::uint32_t lanes_with(const Warp& warp, unsigned lanes, std::uint64_t value) {
    std::uint32_t equal = 0;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
        if (warp.value[lane] == value) equal |= bit(lane);
    }
    return equal;
}

}  // namespace

/// All of `lanes` are there: each gets its result and may go on.
void Block::finish(Warp& warp, unsigned lanes, unsigned lane) {
    const Collective kind = warp.kind[lane];
    std::uint64_t common = 0;
    if (kind == Collective::ballot || kind == Collective::any || kind == Collective::all) {
        const std::uint32_t votes = lanes & ~lanes_with(warp, lanes, 0);
        common = kind == Collective::ballot ? votes : kind == Collective::any ? votes != 0 : votes == lanes;
    } else if (kind >= Collective::reduce_add) {
        common = reduced(kind, warp, lanes);
    }
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned one = static_cast<unsigned>(std::countr_zero(rest));
        if (kind == Collective::shuffle) {
            if ((lanes & bit(warp.source[one])) == 0) {
                report(Fault::absent_source,
                       fmt::format("lane {} shuffles from lane {}, which {}", one, warp.source[one],
                                   (warp.ended & bit(warp.source[one])) != 0 ? "has ended" : "is not in the mask"),
                       warp.where[one]);
            }
            warp.result[one] = warp.value[warp.source[one]];
        } else if (kind == Collective::match_any) {
            warp.result[one] = lanes_with(warp, lanes, warp.value[one]);
        } else {
            warp.result[one] = common;
        }
    }
    warp.arrived &= ~lanes;
    warp.ready |= lanes;
    runnable_ |= bit(static_cast<unsigned>(&warp - warps_.data()));
}

/// A lane has ended: those who waited for it need not any longer.
void Block::finish_waiting(Warp& warp) {
    for (unsigned rest = warp.arrived; rest != 0; rest &= rest - 1) {
        const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
        if ((warp.arrived & bit(lane)) != 0 && complete(warp, warp.mask[lane], lane)) {
            finish(warp, warp.mask[lane] & ~warp.ended, lane);
        }
    }
}

int Block::barrier(Barrier kind, int predicate, Place where) {
    const unsigned thread = threadIdx.x, lane = thread % 32;
    Warp& warp = warps_[thread / 32];
    warp.barrier[lane] = kind;
    warp.where[lane] = where;
    warp.at_barrier |= bit(lane);
    ++waiting_;
    predicates_ += predicate != 0;
    yield(warp.fiber[lane]->context);
    return barrier_result_;
}

/// All threads that have not ended are at one barrier: lets them go on.
bool Block::release_barrier() {
    if (waiting_ != live_) return false;
    const Place* where = nullptr;
    Barrier kind{};
    for (unsigned w = 0; w < warps_used_; ++w) {
        for (unsigned rest = warps_[w].at_barrier; rest != 0; rest &= rest - 1) {
            const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
            if (where == nullptr) {
                where = &warps_[w].where[lane];
                kind = warps_[w].barrier[lane];
            } else if (!same_place(*where, warps_[w].where[lane])) {
                return false;
            }
        }
    }
    switch (kind) {
        case Barrier::plain:
            break;
        case Barrier::count:
            barrier_result_ = predicates_;
            break;
        case Barrier::all:
            barrier_result_ = predicates_ == static_cast<int>(live_);
            break;
        case Barrier::any:
            barrier_result_ = predicates_ != 0;
            break;
    }
    for (unsigned w = 0; w < warps_used_; ++w) {
        warps_[w].ready = std::exchange(warps_[w].at_barrier, 0);
        if (warps_[w].ready != 0) runnable_ |= bit(w);
    }
    waiting_ = 0;
    predicates_ = 0;
    return true;
}

namespace {

struct Waiting {
    unsigned thread;
    Place where;
};

}  // namespace

/// Nobody can go on: says who waits where.
void Block::report_stuck() const {
    std::vector<Waiting> places;  // one thread of each place
    bool collective = false;
    const auto add = [&](unsigned w, unsigned lane) {
        const Place& where = warps_[w].where[lane];
        for (const Waiting& known : places) {
            if (same_place(known.where, where)) return;
        }
        places.push_back({w * 32 + lane, where});
    };
    for (unsigned w = 0; w < warps_used_; ++w) {
        for (unsigned rest = warps_[w].arrived; rest != 0; rest &= rest - 1) {
            add(w, static_cast<unsigned>(std::countr_zero(rest)));
            collective = true;
        }
    }
    for (unsigned w = 0; w < warps_used_; ++w) {
        for (unsigned rest = warps_[w].at_barrier; rest != 0; rest &= rest - 1) {
            add(w, static_cast<unsigned>(std::countr_zero(rest)));
        }
    }
    std::string text =
        collective ? "lanes of one mask do not meet:" : "threads of the block wait at different barriers:";
    for (const Waiting& one : places) text += fmt::format(" thread {} waits at {};", one.thread, place_text(one.where));
    text += fmt::format(" {} of {} threads have ended", launch_.threads - live_, launch_.threads);
    report(collective ? Fault::divergent_collective : Fault::divergent_barrier, text, places.front().where);
}

void Block::report(Fault fault, const std::string& what, Place where) const {
    throw EmulatorError(fault,
                        fmt::format("{}: {} (kernel {}, block {}, thread {})", place_text(where), what, launch_.name,
                                    index_, threadIdx.x),
                        where.file_name(), where.line());
}

std::uint64_t warp_collective(Collective kind, unsigned mask, std::uint64_t value, unsigned source_lane, Place where) {
    return current_block()->collective(kind, mask, value, source_lane, where);
}
int block_barrier(Barrier kind, int predicate, Place where) { return current_block()->barrier(kind, predicate, where); }
void trap(Place where) { current_block()->report(Fault::trap, "__trap", where); }

}  // namespace gs::emulator
