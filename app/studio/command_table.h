// CommandTable: every action of the studio by name, with the facts for menus, palette, keys, help
// page and scripts, and the function that runs it. The rows are in app/commands; panels push
// commands, keys and scripts look them up here; nothing else changes the studio.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "panels/state/command.h"

namespace gs {

struct StudioState;  // app/studio/studio_state.h
using Arguments = std::vector<std::string>;

/// One command: a row of a table in app/commands.
struct CommandRow : CommandInfo {
    Result<void> (*run)(StudioState&, const Arguments&) = nullptr;  ///< null: scripts only (waits)
};

/// The number of arguments of a command.
struct ArgumentCount {
    std::size_t least = 0, most = 0;
    bool allows(std::size_t count) const { return count >= least && count <= most; }
};
/// Parses a text like "PATH [WIDTH HEIGHT] [plain|overlays]": each word is an argument, brackets
/// are optional, and of "[A B C | D]" the longer alternative counts.
ArgumentCount argument_count(std::string_view text);

class CommandTable {
  public:
    explicit CommandTable(std::vector<CommandRow> rows);
    std::span<const CommandInfo> infos() const { return infos_; }
    std::span<const CommandRow> rows() const { return rows_; }
    const CommandRow* find(std::string_view name) const;
    const CommandRow* find_key(std::string_view chord) const;
    /// Runs one command. Errors (kind usage): unknown name (with the nearest one), wrong
    /// number or kind of arguments.
    Result<void> run(StudioState& state, std::string_view name, const Arguments& arguments) const;

  private:
    std::vector<CommandRow> rows_;
    std::vector<CommandInfo> infos_;
};

}  // namespace gs
