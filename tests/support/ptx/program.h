// A kernel decoded: instructions whose operands are places in a warp's registers, each with the
// function that carries it out. Made by decode.cpp, run by block.cpp.
//
// A register is 32 lanes side by side; a predicate is 32 bits. Immediate values, addresses of
// arrays and special registers (%tid.x) are registers that are filled before a block starts, so an
// operand is a place and nothing else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/ptx/execute.h"

namespace gs::ptx {

class Warp;
struct Instruction;
using Handler = void (*)(Warp&, const Instruction&);

inline constexpr int kLanes = 32;

/// A register. `width`: bytes of a lane; kPredicate, kNoOperand.
struct Slot {
    std::uint32_t at = 0;     ///< bytes from the start of the warp's registers
    std::uint32_t index = 0;  ///< of its word in Warp::poison
    std::uint8_t width = 0;
    bool negated = false;  ///< a predicate read as its opposite
};
inline constexpr std::uint8_t kPredicate = 0;
inline constexpr std::uint8_t kNoOperand = 255;

/// What the loop over instructions does itself.
enum class Flow : std::uint8_t { none, branch, end, barrier, trap };

enum class Space : std::uint8_t { generic, global, shared, local, parameter };

// Windows of the generic address space. Devices place theirs where no allocation lies; these are
// no addresses that a host has.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 56;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << 56;
inline constexpr std::uint64_t kParameterWindow = std::uint64_t{3} << 56;
inline constexpr std::uint64_t kStaticWindow = std::uint64_t{4} << 56;
inline constexpr std::uint64_t kWindowMask = std::uint64_t{0xff} << 56;
/// Arrays of one space lie this far apart, so that an index too large leaves its array.
inline constexpr int kArrayShift = 20;

enum class BarrierKind : std::uint8_t { sync, popc, all, any };

struct Instruction {
    Handler run = nullptr;
    Slot d, a, b, c;  ///< destination and sources
    Slot e;           ///< second destination (shfl, setp), or membermask
    Slot guard;       ///< where `guarded`
    bool guarded = false;
    Flow flow = Flow::none;
    BarrierKind barrier = BarrierKind::sync;
    // ---- branches
    int target = -1;
    int reconverge = -1;  ///< where lanes that part here meet; -1: where they end
    // ---- memory
    Space space = Space::generic;
    std::uint8_t bytes = 0;  ///< of one element
    std::uint8_t count = 0;  ///< elements
    bool is_signed = false;
    std::int64_t offset = 0;
    std::array<Slot, 4> elements;
    int mode = 0;  ///< the handler's own (kind of shuffle, of rounding)
};

struct Location {
    int ptx_line = 0, file = -1, line = 0;
    std::string_view opcode, text;  ///< of the module's text
};

/// An array in shared or local memory, or the module's own in global memory.
struct Array {
    std::string name;
    std::uint64_t address = 0;  ///< within its space
    std::uint64_t bytes = 0;
    std::uint64_t at = 0;              ///< in the storage of its space
    std::vector<std::uint8_t> values;  ///< of a static one
};

enum class Special : std::uint8_t {
    tid,
    ntid,
    ctaid,
    nctaid,
    lane,
    warp,
    zero,
    one,
    lanemask_lt,
    lanemask_le,
    lanemask_gt,
    lanemask_ge,
    lanemask_eq,
    clock
};

struct Program {
    std::shared_ptr<const void> keeps_text;  ///< what the views look into
    std::string name, path;
    std::size_t parameter_bytes = 0;
    int most_threads = 0;
    std::vector<Instruction> code;
    std::vector<Location> locations;  ///< one per instruction
    std::vector<std::string> files;   ///< by number of .file

    std::size_t register_bytes = 0;  ///< of a warp
    std::size_t registers = 0;       ///< words of poison
    struct Constant {
        Slot slot;
        std::uint64_t value;
    };
    std::vector<Constant> constants;
    struct SpecialRegister {
        Slot slot;
        Special what;
    };
    std::vector<SpecialRegister> specials;
    std::vector<Array> shared, local, statics;
    std::size_t shared_bytes = 0, local_bytes = 0;  ///< storage of them
    int shared_granule = 4;                         ///< bytes of the smallest access to shared

    std::string_view file_of(std::size_t instruction) const;  ///< empty where it is not known
    Source source(std::size_t instruction) const;
};

}  // namespace gs::ptx
