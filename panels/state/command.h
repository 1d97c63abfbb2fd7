// Command: the output of panels. Every action of the studio is a named command with text arguments;
// menus, palette, keys, scripts (--script FILE) and the command line give the same ones.
// app/commands has the table and runs them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gs {

/// One parameter of a command.
struct ArgumentInfo {
    std::string usage;                 ///< "FACTOR", "X Y Z", "[on|off]"
    std::size_t least = 1, most = 1;   ///< words
    std::string range;                 ///< "0.001 to 1000"; empty: any
    std::vector<std::string> choices;  ///< words it may be; empty: others
};

/// One row of the command table, as menus, palette and help page show it.
struct CommandInfo {
    std::string name;       ///< "train.pause"
    std::string title;      ///< "Pause training"
    std::string menu;       ///< "View/Show 1" (menus.h); empty: palette and scripts only
    std::string key;        ///< "Space", "Ctrl+P"; empty: none. From the key map
    std::string arguments;  ///< "STEP", "PATH [WIDTH HEIGHT]"; empty: none
    std::string help;       ///< one sentence
    std::vector<ArgumentInfo> takes{};
    std::string keys{};  ///< all of them: "Delete, Backspace"
    /// Whether arguments must be given: those outside brackets.
    bool needs_arguments() const { return !arguments.empty() && arguments.front() != '['; }
};

/// Commands given in this UI frame, in order, plus the table for those who list them.
class Commands {
  public:
    explicit Commands(std::span<const CommandInfo> table = {}) : table_(table) {}
    void push(std::string name, std::vector<std::string> arguments = {}) {
        given_.emplace_back(std::move(name), std::move(arguments));
    }
    std::span<const CommandInfo> table() const { return table_; }
    /// Null: there is none of that name.
    const CommandInfo* find(std::string_view name) const {
        for (const CommandInfo& info : table_)
            if (info.name == name) return &info;
        return nullptr;
    }
    std::vector<std::pair<std::string, std::vector<std::string>>> take() {
        return std::exchange(given_, {});
    }

  private:
    std::span<const CommandInfo> table_;
    std::vector<std::pair<std::string, std::vector<std::string>>> given_;
};

}  // namespace gs
