// The report of a subcommand: one JSON object (--json prints it as the last line), and text made
// from the same object: lines with its values filled in, tables of its rows. Both come from one
// source and cannot differ.
#pragma once

#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/table.h"

namespace gs::cli {

using Json = nlohmann::ordered_json;

/// `pattern` with values of `from` in it: "{path}: {views} photos, in {seconds:.1f} s". A dot goes
/// into an object or, with a number, a list: "{bounds.lo.0}"; what may be absent has a question
/// mark: "{rank?}". After the colon stands a format of fmt, or "bytes" (1.2 GiB), "rate" (4.81 T),
/// "percent" (of a share), "short" (cut at 64 letters) or "list" (a, b, c). null is "-".
std::string filled(std::string_view pattern, const Json& from);
/// The same, printed, with a line end.
void say(std::string_view pattern, const Json& from, std::FILE* to = stdout);

/// "4.81 T", "310 G".
std::string format_rate(double value);

struct Column {
    const char* title;
    const char* pattern;  ///< of a row
    bool left = false;    ///< text; numbers are right-aligned
};
struct TableStyle {
    const char* indent = "";
    std::size_t most = std::numeric_limits<std::size_t>::max();  ///< rows; then "and N more"
    std::FILE* to = stdout;
};
/// As table_text.
void say_table(const Table& table, const TableStyle& style = {});
void say_table(const Json& rows, std::span<const Column> columns, const TableStyle& style = {});

}  // namespace gs::cli
