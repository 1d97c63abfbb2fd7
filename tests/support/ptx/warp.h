// A warp: registers of 32 lanes, which lanes run, and what the instructions' functions need of the
// block. The functions of forms_*.cpp see this and nothing else.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/ptx/program.h"

namespace gs::ptx {

class Block;

inline constexpr std::uint32_t kAll = 0xffffffffu;

class Warp {
  public:
    Warp(Block& block, const Program& program, int index);

    /// Values of a register, one a lane.
    template <class T>
    T* values(Slot slot) {
        return reinterpret_cast<T*>(registers_ + slot.at);
    }
    /// Lanes in which a predicate holds.
    std::uint32_t holds(Slot slot) const {
        const auto bits = *reinterpret_cast<const std::uint32_t*>(registers_ + slot.at);
        return slot.negated ? ~bits : bits;
    }
    void set_predicate(Slot slot, std::uint32_t bits) {
        auto& to = *reinterpret_cast<std::uint32_t*>(registers_ + slot.at);
        to = (to & ~active) | (bits & active);
    }
    /// Value of a lane of any width, extended with zeros.
    std::uint64_t value(Slot slot, int lane) const;
    /// The same of a lane to be set; cut to the width.
    void set_value(Slot slot, int lane, std::uint64_t value);

    std::uint32_t poisoned(Slot slot) const { return poison_[slot.index]; }
    /// The active lanes of a register are as unwritten as `lanes` says.
    void set_poison(Slot slot, std::uint32_t lanes) {
        auto& to = poison_[slot.index];
        to = (to & ~active) | (lanes & active);
    }
    void set_poison_of_lane(Slot slot, int lane, bool on) {
        poison_[slot.index] = (poison_[slot.index] & ~(1u << lane)) | (std::uint32_t{on} << lane);
    }

    int thread(int lane) const { return index * kLanes + lane; }
    void fault(FaultKind kind, int lane, std::string detail);

    Block& block;
    const Program& program;
    const int index;               ///< in its block
    std::uint32_t active = 0;      ///< lanes that run the present instruction
    std::uint32_t carry = 0;       ///< CC.CF of each lane
    std::uint32_t ended = 0;       ///< lanes that have returned
    std::uint32_t stamp = 0;       ///< warp barriers passed: orders accesses of its lanes
    std::uint64_t issued = 0;      ///< in this block
    int pc = 0;                    ///< of the present instruction
    Counts* counts = nullptr;      ///< of the present instruction
    std::vector<std::byte> local;  ///< [lane][Program::local_bytes]
    std::vector<std::uint8_t> local_written;

    /// Lanes that run together, and where they meet those they parted from.
    struct Level {
        std::uint32_t mask;
        int pc, until;
    };
    std::vector<Level> levels;

    /// As at the start of a block.
    void begin(unsigned block_index, unsigned blocks, unsigned threads);

  private:
    void fill(Slot slot, std::uint64_t value);

    std::vector<std::uint64_t> storage_;
    std::byte* registers_;
    std::vector<std::uint32_t> poison_;
};

/// Calls f(lane) for every bit of the mask.
template <class F>
inline void for_lanes(std::uint32_t mask, F f) {
    for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

/// d = f(sources) in every active lane; a lane is as unwritten as what it is made of.
template <class D, class F, class... S>
inline void map_lanes(Warp& warp, Slot to, F f, const S*... from) {
    D* d = warp.values<D>(to);
    if (warp.active == kAll) {
#ifndef __clang__
#pragma GCC ivdep
#endif
        for (int lane = 0; lane < kLanes; ++lane) d[lane] = f(from[lane]...);
    } else {
        for_lanes(warp.active, [&](int lane) { d[lane] = f(from[lane]...); });
    }
}

}  // namespace gs::ptx
