// From a function of one lane's values to the function that carries out an instruction.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "tests/support/ptx/forms.h"
#include "tests/support/ptx/warp.h"

namespace gs::ptx {

/// Denormals as zeros of their sign.
inline float flushed(float v) {
    const auto bits = std::bit_cast<std::uint32_t>(v);
    return std::bit_cast<float>((bits & 0x7f800000u) != 0 ? bits : bits & 0x80000000u);
}

template <class D, class... S>
constexpr std::array<std::uint8_t, 4> widths_of() {
    std::array<std::uint8_t, 4> widths{kNoOperand, kNoOperand, kNoOperand, kNoOperand};
    std::size_t at = 0;
    widths[at++] = sizeof(D);
    ((widths[at++] = sizeof(S)), ...);
    return widths;
}

/// d = F(a, b, c) lane by lane. A lane is as unwritten as what it is made of.
template <auto F, class D, class... S>
void lanewise(Warp& warp, const Instruction& i) {
    [&]<std::size_t... At>(std::index_sequence<At...>) {
        const std::array<Slot, 3> from{i.a, i.b, i.c};
        warp.set_poison(i.d, (warp.poisoned(from[At]) | ...));
        map_lanes<D>(warp, i.d, F, warp.values<S>(from[At])...);
    }
    (std::index_sequence_for<S...>{});
}

template <auto F, class D, class... S>
Form lanewise_form() {
    return {lanewise<F, D, S...>, nullptr, widths_of<D, S...>()};
}

}  // namespace gs::ptx
