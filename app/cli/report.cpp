#include "app/cli/report.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/cli/common.h"
#include "base/check.h"
#include "base/json_write.h"
#include "base/shortened.h"

namespace gs::cli {
namespace {

std::string joined(const Json& list) {
    std::string out;
    for (const Json& item : list)
        out += (out.empty() ? "" : ", ") +
               (item.is_string() ? shortened(item.get<std::string>()) : json_text(item));
    return out;
}

const Json& value_at(std::string_view path, const Json& from) {
    static const Json kAbsent = "";
    const std::size_t dot = path.find('.');
    std::string name(path.substr(0, dot));
    const bool may_be_absent = name.ends_with('?');
    if (may_be_absent) name.pop_back();
    if (may_be_absent && !from.contains(name)) return kAbsent;
    const Json& found = from.is_array() ? from.at(std::stoul(name)) : from.at(name);
    return dot == std::string_view::npos ? found : value_at(path.substr(dot + 1), found);
}

std::string text_of(const Json& value, std::string_view how) {
    if (value.is_null()) return "-";
    if (how == "list") return joined(value);
    if (how == "percent") return fmt::format("{:.1f} %", 100 * value.get<double>());
    if (how == "short") return shortened(value.get<std::string>(), 64);
    if (how == "rate") return format_rate(value.get<double>());
    if (how == "bytes") return human_bytes(value.get<std::uint64_t>());
    const std::string format = fmt::format("{{:{}}}", how);
    if (value.is_string())
        return fmt::format(fmt::runtime(format), shortened(value.get<std::string>()));
    const bool as_real = value.is_number_float() || how.ends_with('f') || how.ends_with('g');
    if (as_real) return fmt::format(fmt::runtime(format), value.get<double>());
    if (value.is_number_unsigned())
        return fmt::format(fmt::runtime(format), value.get<std::uint64_t>());
    if (value.is_number_integer())
        return fmt::format(fmt::runtime(format), value.get<std::int64_t>());
    return json_text(value);
}

}  // namespace

std::string filled(std::string_view pattern, const Json& from) {
    std::string out;
    while (!pattern.empty()) {
        const std::size_t open = pattern.find('{');
        out += pattern.substr(0, open);
        if (open == std::string_view::npos) break;
        const std::size_t close = pattern.find('}', open);
        CHECK(close != std::string_view::npos, "a pattern ends within braces");
        const std::string_view inside = pattern.substr(open + 1, close - open - 1);
        const std::size_t colon = std::min(inside.find(':'), inside.size());
        out += text_of(value_at(inside.substr(0, colon), from),
                       inside.substr(std::min(colon + 1, inside.size())));
        pattern.remove_prefix(close + 1);
    }
    return out;
}

std::string format_rate(double value) {
    const char* prefix[] = {"", "k", "M", "G", "T", "P"};
    std::size_t i = 0;
    for (; value >= 1000 && i < 5; ++i) value /= 1000;
    return fmt::format("{:.3g} {}", value, prefix[i]);
}

void say(std::string_view pattern, const Json& from, std::FILE* to) {
    fmt::print(to, "{}\n", filled(pattern, from));
}

void say_table(const Table& table, const TableStyle& style) {
    fmt::print(style.to, "{}", table_text(table, style.indent, style.most));
}

void say_table(const Json& rows, std::span<const Column> columns, const TableStyle& style) {
    Table table{rows.size(), {}};
    for (const Column& column : columns)
        table.columns.push_back(
            {"", column.title, column.left ? nullptr : fixed<0>,
             [&](const std::size_t& i) { return filled(column.pattern, rows[i]); }});
    say_table(table, style);
}

}  // namespace gs::cli
