#include "tests/support/ptx/warp.h"

#include <algorithm>
#include <cstring>

#include "tests/support/ptx/block.h"

namespace gs::ptx {

Warp::Warp(Block& its_block, const Program& its_program, int number)
    : block(its_block),
      program(its_program),
      index(number),
      local(its_program.local_bytes * kLanes),
      local_written(its_program.local_bytes * kLanes),
      storage_(its_program.register_bytes / 8 + 16),
      poison_(its_program.registers) {
    // On a line of the cache, as lanes are worked on many at a time.
    auto place = reinterpret_cast<std::uintptr_t>(storage_.data());
    registers_ = reinterpret_cast<std::byte*>((place + 63) / 64 * 64);
    for (const auto& constant : program.constants) fill(constant.slot, constant.value);
}

void Warp::fill(Slot slot, std::uint64_t value) {
    if (slot.width == kPredicate) {
        const std::uint32_t bits = value != 0 ? kAll : 0;
        std::memcpy(registers_ + slot.at, &bits, sizeof bits);
        return;
    }
    for (int lane = 0; lane < kLanes; ++lane) set_value(slot, lane, value);
}

std::uint64_t Warp::value(Slot slot, int lane) const {
    std::uint64_t value = 0;
    std::memcpy(&value, registers_ + slot.at + static_cast<std::size_t>(lane) * slot.width,
                slot.width);
    return value;
}

void Warp::set_value(Slot slot, int lane, std::uint64_t value) {
    std::memcpy(registers_ + slot.at + static_cast<std::size_t>(lane) * slot.width, &value,
                slot.width);
}

void Warp::fault(FaultKind kind, int lane, std::string detail) {
    block.fault(*this, kind, lane, std::move(detail));
}

void Warp::begin(unsigned block_index, unsigned blocks, unsigned threads) {
    std::fill(poison_.begin(), poison_.end(), kAll);
    std::fill(local_written.begin(), local_written.end(), std::uint8_t{0});
    for (const auto& constant : program.constants) poison_[constant.slot.index] = 0;
    for (const auto& special : program.specials) {
        poison_[special.slot.index] = 0;
        for (int lane = 0; lane < kLanes; ++lane) {
            const std::uint64_t bit = std::uint64_t{1} << lane;
            const auto number = static_cast<std::uint64_t>(lane);
            std::uint64_t value = 0;
            switch (special.what) {
                case Special::tid:
                    value = static_cast<std::uint64_t>(thread(lane));
                    break;
                case Special::ntid:
                    value = threads;
                    break;
                case Special::ctaid:
                    value = block_index;
                    break;
                case Special::nctaid:
                    value = blocks;
                    break;
                case Special::lane:
                    value = number;
                    break;
                case Special::warp:
                    value = static_cast<std::uint64_t>(index);
                    break;
                case Special::zero:
                    break;
                case Special::one:
                    value = 1;
                    break;
                case Special::lanemask_lt:
                    value = bit - 1;
                    break;
                case Special::lanemask_le:
                    value = 2 * bit - 1;
                    break;
                case Special::lanemask_gt:
                    value = kAll & ~(2 * bit - 1);
                    break;
                case Special::lanemask_ge:
                    value = kAll & ~(bit - 1);
                    break;
                case Special::lanemask_eq:
                    value = bit;
                    break;
                case Special::clock:
                    break;  // time stands still
            }
            set_value(special.slot, lane, value);
        }
    }
    const unsigned first = static_cast<unsigned>(index) * kLanes;
    const unsigned lanes = std::min<unsigned>(kLanes, threads - first);
    carry = ended = 0;
    issued = 0;
    ++stamp;
    levels.clear();
    levels.push_back({lanes == kLanes ? kAll : (1u << lanes) - 1, 0, -1});
}

}  // namespace gs::ptx
