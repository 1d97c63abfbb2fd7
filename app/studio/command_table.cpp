#include "app/studio/command_table.h"

#include <algorithm>
#include <numeric>

namespace gs {
namespace {

/// Levenshtein distance: for "did you mean".
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] =
                std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
            diagonal = above;
        }
    }
    return row.back();
}

std::string words_of(const ArgumentCount& count) {
    if (count.most == 0) return "no";
    if (count.least == count.most) return fmt::format("{}", count.least);
    return fmt::format("{} to {}", count.least, count.most);
}

}  // namespace

ArgumentCount argument_count(std::string_view text) {
    ArgumentCount out;
    std::size_t way = 0, longest = 0;  // words of this way through the brackets, of the longest
    bool optional = false, word = false;
    for (const char c : text) {
        if (c == '[') optional = true, way = longest = 0;
        if (c == ']') optional = false, out.most += std::max(way, longest);
        if (c == '|' && !word) longest = std::max(way, longest), way = 0;
        const bool letter = c != ' ' && c != '[' && c != ']' && (c != '|' || word);
        if (letter && !word) optional ? ++way : ++out.least;
        word = letter;
    }
    out.most += out.least;
    return out;
}

CommandTable::CommandTable(std::vector<CommandRow> rows)
    : rows_(std::move(rows)), infos_(rows_.begin(), rows_.end()) {}

const CommandRow* CommandTable::find(std::string_view name) const {
    const auto row = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const CommandRow& r) { return r.name == name; });
    return row == rows_.end() ? nullptr : &*row;
}

const CommandRow* CommandTable::find_key(std::string_view chord) const {
    const auto row = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const CommandRow& r) { return r.key == chord; });
    return row == rows_.end() || chord.empty() ? nullptr : &*row;
}

Result<void> CommandTable::run(StudioState& state, std::string_view name,
                               const Arguments& arguments) const {
    const CommandRow* row = find(name);
    if (!row) {
        const auto nearest = std::min_element(
            rows_.begin(), rows_.end(), [&](const CommandRow& a, const CommandRow& b) {
                return edit_distance(name, a.name) < edit_distance(name, b.name);
            });
        return fail(ErrorKind::usage, "", fmt::format("there is no command \"{}\"", name),
                    fmt::format("did you mean \"{}\"?", nearest->name));
    }
    const ArgumentCount taken = argument_count(row->arguments);
    if (!taken.allows(arguments.size()))
        return fail(
            ErrorKind::usage, "",
            fmt::format("{} takes {} arguments, not {}", name, words_of(taken), arguments.size()),
            fmt::format("usage: {} {}", name, row->arguments));
    if (!row->run) return fail(ErrorKind::usage, "", fmt::format("{} works in scripts only", name));
    return row->run(state, arguments);
}

}  // namespace gs
