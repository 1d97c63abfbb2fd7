#include "tests/support/ptx/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

namespace gs::ptx {

Block::Block(const Program& program, Memory& device_memory, std::span<const std::byte> given,
             Grid grid, const Options& options)
    : shared(program),
      memory(device_memory),
      parameters(given),
      program_(program),
      grid_(grid),
      options_(options),
      counts_(program.code.size()) {
    const unsigned warps = (grid.threads + kLanes - 1) / kLanes;
    for (unsigned n = 0; n < warps; ++n) {
        warps_.push_back(std::make_unique<Warp>(*this, program, static_cast<int>(n)));
    }
    stopped_.resize(warps);
}

void Block::run(unsigned index) {
    index_ = index;
    shared.begin_block();
    std::vector<std::size_t> order(warps_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(options_.seed * 0x9e3779b97f4a7c15u + index);
    for (auto& warp : warps_) warp->begin(index, grid_.blocks, grid_.threads);
    std::fill(stopped_.begin(), stopped_.end(), Stop::barrier);
    while (std::find(stopped_.begin(), stopped_.end(), Stop::barrier) != stopped_.end()) {
        if (options_.seed != 0) std::shuffle(order.begin(), order.end(), random);
        for (std::size_t n : order) {
            if (stopped_[n] != Stop::ended) stopped_[n] = advance(*warps_[n]);
        }
        release();
    }
}

Block::Stop Block::advance(Warp& warp) {
    while (!warp.levels.empty() && !stopped()) {
        Warp::Level& top = warp.levels.back();
        if (top.pc == top.until || top.mask == 0) {
            warp.levels.pop_back();
            continue;
        }
        const Instruction& i = program_.code[static_cast<std::size_t>(top.pc)];
        warp.pc = top.pc;
        warp.active = top.mask;
        if (i.guarded) {
            if (const auto poison = warp.poisoned(i.guard) & top.mask; poison != 0) {
                warp.fault(FaultKind::uninitialised, std::countr_zero(poison), "decides");
            }
            warp.active &= warp.holds(i.guard);
        }
        Counts& counts = counts_[static_cast<std::size_t>(top.pc)];
        counts.issued += 1;
        counts.lanes += static_cast<std::uint64_t>(std::popcount(warp.active));
        warp.counts = &counts;
        if (++warp.issued > options_.most_instructions) {
            warp.fault(FaultKind::endless, std::countr_zero(top.mask),
                       fmt::format("over {} instructions", options_.most_instructions));
            warp.levels.clear();
            break;
        }
        switch (i.flow) {
            case Flow::none:
                if (warp.active != 0) i.run(warp, i);
                ++top.pc;
                break;
            case Flow::branch:
                branch(warp, i);
                break;
            case Flow::trap:
                if (warp.active != 0) {
                    warp.fault(FaultKind::trap, std::countr_zero(warp.active), "");
                }
                [[fallthrough]];
            case Flow::end: {
                ++top.pc;
                end_lanes(warp, warp.active);
                break;
            }
            case Flow::barrier:
                return Stop::barrier;
        }
    }
    return Stop::ended;
}

void Block::branch(Warp& warp, const Instruction& i) {
    Warp::Level& top = warp.levels.back();
    const std::uint32_t taken = warp.active, passed = top.mask & ~taken;
    if (passed == 0) {
        top.pc = i.target;
    } else if (taken == 0) {
        ++top.pc;
    } else {
        const int next = top.pc + 1;
        // Whoever meets nobody again, or only those of the level below, needs no level of its own.
        if (i.reconverge < 0 || i.reconverge == top.until) {
            const int until = i.reconverge < 0 ? top.until : i.reconverge;
            warp.levels.pop_back();
            warp.levels.push_back({taken, i.target, until});
            warp.levels.push_back({passed, next, until});
        } else {
            top.pc = i.reconverge;
            warp.levels.push_back({taken, i.target, i.reconverge});
            warp.levels.push_back({passed, next, i.reconverge});
        }
    }
}

void Block::end_lanes(Warp& warp, std::uint32_t lanes) {
    warp.ended |= lanes;
    for (Warp::Level& level : warp.levels) level.mask &= ~lanes;
}

void Block::check_barrier(Warp& first, Warp& warp) {
    const Warp::Level& top = warp.levels.back();
    warp.pc = top.pc;
    const Location& here = program_.locations[static_cast<std::size_t>(top.pc)];
    const Location& there = program_.locations[static_cast<std::size_t>(first.levels.back().pc)];
    const Instruction& i = program_.code[static_cast<std::size_t>(top.pc)];
    const Instruction& other = program_.code[static_cast<std::size_t>(first.levels.back().pc)];
    const std::uint32_t live = [&] {
        const unsigned lanes =
            std::min<unsigned>(kLanes, grid_.threads - static_cast<unsigned>(warp.index) * kLanes);
        return lanes == kLanes ? kAll : (1u << lanes) - 1;
    }();
    if (top.mask != live) {
        const int absent = std::countr_zero(live & ~top.mask);
        warp.fault(FaultKind::barrier_divergence, std::countr_zero(top.mask),
                   fmt::format("thread {} {}", warp.thread(absent),
                               (warp.ended >> absent) & 1 ? "has ended" : "is elsewhere"));
    }
    if (i.barrier != other.barrier || here.line != there.line || here.file != there.file) {
        warp.fault(FaultKind::barrier_divergence, std::countr_zero(top.mask),
                   fmt::format("warp {} waits at PTX line {}", first.index, there.ptx_line));
    }
}

void Block::release() {
    Warp* first = nullptr;
    Warp* gone = nullptr;
    std::uint64_t voted = 0, threads = 0;
    for (std::size_t n = 0; n < warps_.size(); ++n) {
        Warp& warp = *warps_[n];
        if (stopped_[n] == Stop::ended) {
            gone = &warp;
            continue;
        }
        if (first == nullptr) first = &warp;
        check_barrier(*first, warp);
        const Instruction& i = program_.code[static_cast<std::size_t>(warp.levels.back().pc)];
        const std::uint32_t mask = warp.levels.back().mask;
        threads += static_cast<std::uint64_t>(std::popcount(mask));
        if (i.barrier == BarrierKind::sync) continue;
        voted += static_cast<std::uint64_t>(std::popcount(warp.holds(i.a) & mask));
        if (const auto poison = warp.poisoned(i.a) & mask; poison != 0) {
            warp.fault(FaultKind::uninitialised, std::countr_zero(poison), "is voted");
        }
    }
    if (first == nullptr) return;
    if (gone != nullptr) {
        first->fault(FaultKind::barrier_divergence, std::countr_zero(first->levels.back().mask),
                     fmt::format("warp {} has ended", gone->index));
    }
    shared.barrier();
    for (std::size_t n = 0; n < warps_.size(); ++n) {
        if (stopped_[n] == Stop::ended) continue;
        Warp& warp = *warps_[n];
        Warp::Level& top = warp.levels.back();
        const Instruction& i = program_.code[static_cast<std::size_t>(top.pc)];
        ++warp.stamp;
        warp.active = top.mask;
        ++top.pc;
        if (i.barrier == BarrierKind::sync) continue;
        warp.set_poison(i.d, 0);
        if (i.barrier == BarrierKind::popc) {
            for_lanes(top.mask, [&](int lane) { warp.set_value(i.d, lane, voted); });
        } else {
            const bool holds = i.barrier == BarrierKind::all ? voted == threads : voted > 0;
            warp.set_predicate(i.d, holds ? kAll : 0);
        }
    }
}

void Block::fault(const Warp& warp, FaultKind kind, int lane, std::string detail) {
    const std::pair key{kind, warp.pc};
    const auto known = std::find(fault_keys_.begin(), fault_keys_.end(), key);
    if (known != fault_keys_.end()) {
        ++faults_[static_cast<std::size_t>(known - fault_keys_.begin())].count;
        return;
    }
    if (faults_.size() >= options_.most_faults) return;
    fault_keys_.push_back(key);
    faults_.push_back(
        {.kind = kind,
         .source = program_.source(static_cast<std::size_t>(warp.pc)),
         .instruction = std::string(program_.locations[static_cast<std::size_t>(warp.pc)].text),
         .block = static_cast<int>(index_),
         .thread = warp.thread(lane),
         .detail = std::move(detail)});
}

Report Block::report() const {
    Report report;
    report.faults = faults_;
    report.instructions.reserve(counts_.size());
    for (std::size_t n = 0; n < counts_.size(); ++n) {
        const Location& at = program_.locations[n];
        report.instructions.push_back(
            {at.ptx_line, program_.file_of(n), at.line, at.opcode, counts_[n]});
        report.total += counts_[n];
    }
    return report;
}

}  // namespace gs::ptx
