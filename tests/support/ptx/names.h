// What names stand for while an entry is decoded: registers, constants, special registers, arrays,
// parameters, in scopes; and operands made of them. decode.cpp asks for every instruction.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/ptx/program.h"
#include "tests/support/ptx/text.h"

namespace gs::ptx {

/// Bytes of a lane of a register of that type ("f32", "pred").
std::uint8_t width_of(std::string_view type);

/// Registers and constants of a program while it is being made.
class Registers {
  public:
    explicit Registers(Program& program) : program_(program) {}

    Slot add(std::uint8_t width);
    /// The register that holds this value in every lane.
    Slot constant(std::uint8_t width, std::uint64_t value);
    /// %tid.x and so on; none where the name is no special register.
    std::optional<Slot> special(std::string_view name);

  private:
    Program& program_;
    std::map<std::pair<int, std::uint64_t>, Slot> constants_;
    std::map<std::string, Slot, std::less<>> specials_;
};

/// What a call passes: registers by offset, under the names of caller and called.
using Passed = std::map<long long, Slot>;

struct Named {
    enum class Kind { reg, range, shared, local, fixed, parameter, passed } kind{};
    Slot slot;                  ///< reg
    std::vector<Slot> slots;    ///< range
    std::uint64_t address = 0;  ///< of an array or parameter
    std::shared_ptr<Passed> passed;
};
using Scope = std::map<std::string, Named, std::less<>>;

class Names {
  public:
    Names(const ModuleText& text, Program& program);

    /// The module's arrays, and the parameters of an entry.
    void begin(const Function& entry);
    void open() { scopes_.emplace_back(); }
    void close() { scopes_.pop_back(); }
    std::size_t depth() const { return scopes_.size(); }
    /// A called function sees the module's names, `parameters` and its own. Returns what to give
    /// back to leave().
    std::vector<Scope> enter(Scope parameters);
    void leave(std::vector<Scope> scopes) { scopes_ = std::move(scopes); }

    void declare_registers(std::string_view text);
    void add_array(const Declared& d, Named::Kind kind);
    void add_passed(std::string_view name);
    const Named* find(std::string_view name) const;
    Slot fresh(std::uint8_t width) { return registers_.add(width); }

    /// `width` is what the instruction asks; kAnyWidth takes any register, and constants of
    /// `otherwise` bytes.
    Slot operand(std::string_view text, std::uint8_t width, std::uint8_t otherwise = 4);
    /// "{a, b}" or "a" into the elements; "_" is nowhere.
    void elements(Instruction& i, std::string_view text, std::uint8_t bytes);
    /// "[a + 4]" into i.a and i.offset.
    void address(Instruction& i, std::string_view text);

    /// Keeps the first message; decoding continues with an empty operand.
    void bad(std::string message);
    const std::optional<Error>& error() const { return error_; }
    int line = 0;  ///< that is being decoded

  private:
    void add_module_arrays();
    /// %r12 of `.reg .b32 %r<20>`, one declared alone, or a special one.
    std::optional<Slot> register_named(std::string_view name);
    /// An address, or a number, as a constant.
    std::optional<std::uint64_t> fixed_value(std::string_view text, std::uint8_t width);

    const ModuleText& text_;
    Program& program_;
    Registers registers_;
    std::vector<Scope> scopes_;
    std::optional<Error> error_;
};

}  // namespace gs::ptx
