// What the lanes of a warp do together: shuffles, votes, barriers of a warp; and values of two
// registers in one.
#include <fmt/format.h>

#include <bit>

#include "tests/support/ptx/forms.h"
#include "tests/support/ptx/warp.h"

namespace gs::ptx {
namespace {

/// A membermask names every lane that comes, and nobody else.
void check_mask(Warp& warp, Slot mask) {
    if (const auto poison = warp.poisoned(mask) & warp.active; poison != 0) {
        warp.fault(FaultKind::uninitialised, std::countr_zero(poison), "is the mask");
    }
    const auto* masks = warp.values<std::uint32_t>(mask);
    for_lanes(warp.active, [&](int lane) {
        const std::uint32_t members = masks[lane];
        if (((members >> lane) & 1) == 0) {
            warp.fault(FaultKind::bad_mask, lane,
                       fmt::format("lane {}, mask {:#x}", lane, members));
        }
        if (const std::uint32_t absent = members & ~warp.active; absent != 0) {
            const int other = std::countr_zero(absent);
            warp.fault(FaultKind::absent_lane, lane,
                       fmt::format("lane {} of mask {:#x} {}", other, members,
                                   (warp.ended >> other) & 1 ? "has ended" : "is elsewhere"));
        }
    });
}

}  // namespace

void shuffle(Warp& warp, const Instruction& i) {
    check_mask(warp, i.elements[0]);
    const auto *a = warp.values<std::uint32_t>(i.a), *b = warp.values<std::uint32_t>(i.b);
    const auto* c = warp.values<std::uint32_t>(i.c);
    const auto* masks = warp.values<std::uint32_t>(i.elements[0]);
    const std::uint32_t poison = warp.poisoned(i.a);
    // Nobody can say what comes from a lane that nobody named.
    std::uint32_t given[kLanes], inside = 0, unwritten = warp.poisoned(i.b) | warp.poisoned(i.c);
    for_lanes(warp.active, [&](int lane) {
        const int by = static_cast<int>(b[lane] & 31), clamp = static_cast<int>(c[lane] & 31);
        const int segment = static_cast<int>((c[lane] >> 8) & 31);
        const int first = lane & segment, last = first | (clamp & ~segment);
        int from = lane;
        bool within = false;
        switch (Shuffle{i.mode}) {
            case Shuffle::up:
                from = lane - by, within = from >= last;
                break;
            case Shuffle::down:
                from = lane + by, within = from <= last;
                break;
            case Shuffle::bfly:
                from = lane ^ by, within = from <= last;
                break;
            case Shuffle::idx:
                from = first | (by & ~segment), within = from <= last;
                break;
        }
        if (!within) from = lane;
        if (((warp.active & masks[lane]) >> from & 1) == 0) {
            warp.fault(FaultKind::absent_source, lane, fmt::format("reads lane {}", from));
        }
        given[lane] = a[from];
        unwritten |= ((poison >> from) & 1) << lane;
        inside |= static_cast<std::uint32_t>(within) << lane;
    });
    auto* d = warp.values<std::uint32_t>(i.d);
    for_lanes(warp.active, [&](int lane) { d[lane] = given[lane]; });
    warp.set_poison(i.d, unwritten);
    if (i.e.width == kPredicate) {
        warp.set_predicate(i.e, inside);
        warp.set_poison(i.e, 0);
    }
}

void vote(Warp& warp, const Instruction& i) {
    check_mask(warp, i.elements[0]);
    if (const auto poison = warp.poisoned(i.a) & warp.active; poison != 0) {
        warp.fault(FaultKind::uninitialised, std::countr_zero(poison), "is voted");
    }
    const std::uint32_t yes = warp.holds(i.a) & warp.active;
    const auto* masks = warp.values<std::uint32_t>(i.elements[0]);
    warp.set_poison(i.d, 0);
    if (Vote{i.mode} == Vote::ballot) {
        auto* d = warp.values<std::uint32_t>(i.d);
        for_lanes(warp.active, [&](int lane) { d[lane] = yes & masks[lane]; });
        return;
    }
    std::uint32_t result = 0;
    for_lanes(warp.active, [&](int lane) {
        const std::uint32_t members = masks[lane] & warp.active, agree = yes & members;
        const bool holds = Vote{i.mode} == Vote::all   ? agree == members
                           : Vote{i.mode} == Vote::any ? agree != 0
                                                       : agree == members || agree == 0;
        result |= static_cast<std::uint32_t>(holds) << lane;
    });
    warp.set_predicate(i.d, result);
}

void warp_barrier(Warp& warp, const Instruction& i) {
    check_mask(warp, i.elements[0]);
    // Only a barrier of all lanes that are left orders: one of some of them orders those alone, and
    // the shadow of shared memory keeps no lane's own order.
    const auto* masks = warp.values<std::uint32_t>(i.elements[0]);
    std::uint32_t left = 0;
    for (const Warp::Level& level : warp.levels) left |= level.mask;
    bool whole = warp.active == left;
    for_lanes(warp.active, [&](int lane) { whole = whole && masks[lane] == warp.active; });
    if (whole) ++warp.stamp;
}

void pack(Warp& warp, const Instruction& i) {
    std::uint32_t poison = 0;
    for (std::size_t n = 0; n < i.count; ++n) poison |= warp.poisoned(i.elements[n]);
    for_lanes(warp.active, [&](int lane) {
        std::uint64_t all = 0;
        for (std::size_t n = 0; n < i.count; ++n) {
            const std::uint64_t part = warp.value(i.elements[n], lane);
            all |= part << (8 * i.bytes * n);
        }
        warp.set_value(i.d, lane, all);
    });
    warp.set_poison(i.d, poison);
}

void unpack(Warp& warp, const Instruction& i) {
    for_lanes(warp.active, [&](int lane) {
        const std::uint64_t all = warp.value(i.a, lane);
        for (std::size_t n = 0; n < i.count; ++n) {
            if (i.elements[n].width == kNoOperand) continue;
            warp.set_value(i.elements[n], lane, all >> (8 * i.bytes * n));
        }
    });
    for (std::size_t n = 0; n < i.count; ++n) {
        if (i.elements[n].width != kNoOperand) warp.set_poison(i.elements[n], warp.poisoned(i.a));
    }
}

}  // namespace gs::ptx
