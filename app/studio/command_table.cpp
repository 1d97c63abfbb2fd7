#include "app/studio/command_table.h"

#include <algorithm>

#include "base/edit_distance.h"

namespace gs {
namespace {

std::string words_of(const CommandRow& row) {
    if (row.most() == 0) return "no";
    if (row.least() == row.most()) return fmt::format("{}", row.least());
    return fmt::format("{} to {}", row.least(), row.most());
}

}  // namespace

CommandTable::CommandTable(std::vector<CommandRow> rows)
    : rows_(std::move(rows)), infos_(rows_.begin(), rows_.end()) {}

const CommandRow* CommandTable::find(std::string_view name) const {
    const auto row = std::ranges::find(rows_, name, &CommandRow::name);
    return row == rows_.end() ? nullptr : &*row;
}

void CommandTable::show_keys(const KeyMap& map, const KeyLayout& layout) {
    for (CommandInfo& info : infos_) {
        const std::vector<std::string> keys = map.marks_of(info.name, layout);
        info.key = keys.empty() ? "" : keys.front();
        info.keys.clear();
        for (const std::string& key : keys) info.keys += (info.keys.empty() ? "" : ", ") + key;
    }
}

Result<void> CommandTable::run(StudioState& state, std::string_view name,
                               const Arguments& arguments) const {
    const CommandRow* row = find(name);
    if (!row) {
        const auto nearest =
            std::ranges::min_element(rows_, [&](const CommandRow& a, const CommandRow& b) {
                return edit_distance(name, a.name) < edit_distance(name, b.name);
            });
        return fail(ErrorKind::usage, "", fmt::format("there is no command \"{}\"", name),
                    fmt::format("did you mean \"{}\"?", nearest->name));
    }
    if (!row->takes_words(arguments.size()))
        return fail(
            ErrorKind::usage, "",
            fmt::format("{} takes {} arguments, not {}", name, words_of(*row), arguments.size()),
            fmt::format("usage: {} {}", name, row->arguments));
    if (!row->run) return fail(ErrorKind::usage, "", fmt::format("{} works in scripts only", name));
    return row->run(state, arguments);
}

void CommandTable::give(StudioState& state, std::string_view name,
                        const Arguments& arguments) const {
    if (auto done = run(state, name, arguments); !done) complain(state, done.error().text());
}

}  // namespace gs
