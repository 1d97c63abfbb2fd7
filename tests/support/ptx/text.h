// The text of a .ptx file taken apart: entries, functions, arrays, files; a body as statements.
// decode.cpp makes a Program of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "tests/support/ptx/execute.h"

namespace gs::ptx {

/// "[.align 16] .b8 name[128] = {1, 2}" and parameters.
struct Declared {
    std::string_view type, name;
    std::size_t align = 1, count = 1;  ///< elements
    bool is_array = false;
    std::string_view values;  ///< between the braces
    std::size_t element_bytes() const;
    std::size_t bytes() const { return element_bytes() * count; }
};

struct Function {
    std::string_view name, body;  ///< between its braces
    int line = 0;                 ///< of the body's first character
    std::vector<Declared> results, parameters;
    int most_threads = 0;
    bool entry = false;
};

struct ModuleText {
    std::string path, text;
    std::vector<Function> functions;
    std::vector<Declared> statics, shared;  ///< of the module
    std::vector<std::string> files;         ///< by number
    const Function* function(std::string_view name) const;
};

enum class StatementKind { open, close, label, directive, location, instruction };

/// One statement of a body. `text` ends before its ';'; of a label, before its ':'.
struct Statement {
    StatementKind kind{};
    std::string_view text;
    int line = 0;
};

/// Statements of a body, one after another.
class Statements {
  public:
    Statements(std::string_view body, int line) : rest_(body), line_(line) {}
    /// False at the end.
    bool next(Statement& statement);

  private:
    void skip_blanks();
    void drop(std::size_t count);

    std::string_view rest_;
    int line_;
};

/// "a, {b, c}, [d + 4]" at its outer commas, without blanks around.
std::vector<std::string_view> split_operands(std::string_view text);
/// The same for parts of an opcode.
std::vector<std::string_view> split_dots(std::string_view text);
std::string_view trimmed(std::string_view text);
/// ".align 8 .b8 name[16]"; none where it is not such.
std::optional<Declared> declared(std::string_view text);
std::optional<long long> whole_number(std::string_view text);

}  // namespace gs::ptx
