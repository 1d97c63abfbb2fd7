// CommandTable: every action of the studio by name, with the facts for menus, palette, keys, help
// page and scripts, and the function that runs it. The rows are in app/commands; panels push
// commands, keys and scripts look them up here; nothing else changes the studio.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "app/studio/command_row.h"
#include "app/studio/key_map.h"

namespace gs {

class CommandTable {
  public:
    explicit CommandTable(std::vector<CommandRow> rows);
    std::span<const CommandInfo> infos() const { return infos_; }
    std::span<const CommandRow> rows() const { return rows_; }
    const CommandRow* find(std::string_view name) const;
    /// The infos' keys, as they are marked on this keyboard.
    void show_keys(const KeyMap& map, const KeyLayout& layout);
    /// Runs one command. Errors (kind usage): unknown name (with the nearest one), wrong
    /// number or kind of arguments.
    Result<void> run(StudioState& state, std::string_view name, const Arguments& arguments) const;
    /// The same; an error is logged and shown.
    void give(StudioState& state, std::string_view name, const Arguments& arguments) const;

  private:
    std::vector<CommandRow> rows_;
    std::vector<CommandInfo> infos_;
};

}  // namespace gs
