// The half of Block that makes threads meet: warp collectives, barriers, and what is said when
// somebody does not come.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "tests/support/emulator/block.h"
#include "tests/support/emulator/emulator.h"

namespace gs::emulator {

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

std::uint64_t Block::collective(Collective kind, unsigned mask, std::uint64_t value,
                                unsigned source, Place where) {
    const unsigned thread = threadIdx.x, lane = thread % 32;
    Warp& warp = warps_[thread / 32];
    if ((mask & bit(lane)) == 0) {
        report(Fault::bad_mask,
               fmt::format("lane {} calls with mask {:#010x}, which is without it", lane, mask),
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
        warp.ready &= ~bit(lane);  // this one keeps running
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
        const auto v =
            static_cast<std::uint32_t>(warp.value[static_cast<unsigned>(std::countr_zero(rest))]);
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

/// All of `lanes` have arrived: each gets its result and may continue.
void Block::finish(Warp& warp, unsigned lanes, unsigned lane) {
    const Collective kind = warp.kind[lane];
    std::uint64_t common = 0;
    if (kind == Collective::ballot || kind == Collective::any || kind == Collective::all) {
        const std::uint32_t votes = lanes & ~lanes_with(warp, lanes, 0);
        common = kind == Collective::ballot ? votes
                 : kind == Collective::any  ? votes != 0
                                            : votes == lanes;
    } else if (kind >= Collective::reduce_add) {
        common = reduced(kind, warp, lanes);
    }
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned one = static_cast<unsigned>(std::countr_zero(rest));
        if (kind == Collective::shuffle) {
            if ((lanes & bit(warp.source[one])) == 0) {
                report(
                    Fault::absent_source,
                    fmt::format("lane {} shuffles from lane {}, which {}", one, warp.source[one],
                                (warp.ended & bit(warp.source[one])) != 0 ? "has ended"
                                                                          : "is not in the mask"),
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

/// If all threads that have not ended are at one barrier, lets them continue.
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

/// No thread can continue: reports which threads wait where.
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
    std::string text = collective ? "lanes of one mask do not meet:"
                                  : "threads of the block wait at different barriers:";
    for (const Waiting& one : places)
        text += fmt::format(" thread {} waits at {};", one.thread, place_text(one.where));
    text += fmt::format(" {} of {} threads have ended", launch_.threads - live_, launch_.threads);
    threadIdx.x = places.front().thread;
    report(collective ? Fault::divergent_collective : Fault::divergent_barrier, text,
           places.front().where);
}

std::string place_text(const Place& where) {
    return fmt::format("{}:{}", where.file_name(), where.line());
}

std::uint64_t warp_collective(Collective kind, unsigned mask, std::uint64_t value,
                              unsigned source_lane, Place where) {
    return current_block()->collective(kind, mask, value, source_lane, where);
}
int block_barrier(Barrier kind, int predicate, Place where) {
    return current_block()->barrier(kind, predicate, where);
}
void trap(Place where) { current_block()->report(Fault::trap, "__trap", where); }

}  // namespace gs::emulator
