// The instructions that the executor knows, by name without .ftz and cache hints. Each group of
// them (arithmetic, integers, comparisons and conversions) adds its forms for decode.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tests/support/ptx/program.h"

namespace gs::ptx {

/// What carries an instruction out, and the widths that its operands must have: d, a, b, c.
struct Form {
    Handler run = nullptr;
    Handler run_ftz = nullptr;  ///< with .ftz; null where there is no such form
    std::array<std::uint8_t, 4> widths{kNoOperand, kNoOperand, kNoOperand, kNoOperand};
    int mode = 0;  ///< the handler's own
};
/// A width that no operand must have: cvt reads and writes registers wider than its types.
inline constexpr std::uint8_t kAnyWidth = 254;
using Forms = std::unordered_map<std::string, Form>;

void add_float_forms(Forms& forms);
void add_integer_forms(Forms& forms);
void add_compare_forms(Forms& forms);
void add_convert_forms(Forms& forms);

/// The row of that name, or null.
const Form* find_form(std::string_view name);

/// ld, st, atom, red: what carries them out, by their parts. Null: not known.
Handler load_form(Space space);
Handler store_form(Space space);
/// `operation` "add", `type` "u32".
Handler atomic_form(std::string_view operation, std::string_view type);

// shfl.sync.MODE.b32 and vote.sync.MODE, mode in Instruction::mode; bar.warp.sync.
enum class Shuffle { up, down, bfly, idx };
enum class Vote { all, any, uni, ballot };
void shuffle(Warp& warp, const Instruction& i);
void vote(Warp& warp, const Instruction& i);
void warp_barrier(Warp& warp, const Instruction& i);
/// mov.b64 {lo, hi}, a and back: elements[0..count) beside d or a.
void pack(Warp& warp, const Instruction& i);
void unpack(Warp& warp, const Instruction& i);

}  // namespace gs::ptx
