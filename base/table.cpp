#include "base/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_write.h"
#include "base/shortened.h"

namespace gs {
namespace {

using Column = ColumnOf<std::size_t>;

double number_in(const TableCell& cell) {
    return std::visit(
        [](const auto& v) {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(v)>>)
                return static_cast<double>(v);
            else
                return std::numeric_limits<double>::quiet_NaN();
        },
        cell.value);
}

std::string csv_of(const TableCell& cell, CellFormat stored) {
    if (const auto* text = std::get_if<std::string>(&cell.value)) return csv_cell(*text);
    if (!std::isfinite(number_in(cell))) return {};
    return cell_text(cell, stored);
}

nlohmann::ordered_json json_of(const TableCell& cell) {
    return std::visit(
        [](const auto& v) -> nlohmann::ordered_json {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, std::monostate>)
                return nullptr;
            else if constexpr (std::is_same_v<T, double>)
                return json_number(v);
            else
                return v;
        },
        cell.value);
}

/// Printed width: bytes that begin a character of UTF-8.
std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

}  // namespace

std::string cell_text(const TableCell& cell, CellFormat format) {
    return std::visit(
        [format](const auto& v) -> std::string {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, std::monostate>)
                return {};
            else if constexpr (std::is_same_v<T, std::string>)
                return v;
            else if constexpr (std::is_same_v<T, bool>)
                return v ? "yes" : "no";
            else if (!std::isfinite(static_cast<double>(v)))
                return "-";
            else
                return format ? format(static_cast<double>(v)) : fmt::format("{}", v);
        },
        cell.value);
}

bool sorts_before(const TableCell& a, const TableCell& b, bool descending) {
    const auto *left = std::get_if<std::string>(&a.value),
               *right = std::get_if<std::string>(&b.value);
    if (left && right) return descending ? *right < *left : *left < *right;
    const double x = number_in(a), y = number_in(b);
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
    return descending ? y < x : x < y;
}

std::string table_text(const Table& table, std::string_view indent, std::size_t most) {
    if (table.rows == 0) return {};
    // The titles, then the rows.
    std::vector<std::vector<std::string>> lines(1 + std::min(table.rows, most));
    std::vector<std::size_t> widths;
    std::vector<bool> right;
    for (const Column& column : table.columns) {
        if (column.title.empty()) continue;
        right.push_back(column.format != nullptr);
        std::size_t& width = widths.emplace_back();
        for (std::size_t r = 0; r < lines.size(); ++r) {
            lines[r].push_back(r == 0 ? column.title
                                      : shortened(cell_text(column.cell(r - 1), column.format)));
            width = std::max(width, width_of(lines[r].back()));
        }
    }
    std::string out;
    for (const auto& cells : lines) {
        std::string line(indent);
        for (std::size_t c = 0; c < cells.size(); ++c) {
            const std::string space(widths[c] - width_of(cells[c]), ' ');
            line += (c == 0 ? "" : "  ") + (right[c] ? space + cells[c] : cells[c] + space);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return table.rows <= most ? out
                              : out + fmt::format("{}and {} more\n", indent, table.rows - most);
}

std::string table_csv(const Table& table) {
    std::vector<const Column*> columns;
    for (const Column& column : table.columns)
        if (!column.id.empty()) columns.push_back(&column);
    std::string out;
    for (const Column* column : columns)
        out += (column == columns[0] ? "" : ",") + csv_cell(column->id);
    out += "\n";
    for (std::size_t i = 0; i < table.rows; ++i) {
        for (const Column* column : columns)
            out += (column == columns[0] ? "" : ",") + csv_of(column->cell(i), column->stored);
        out += "\n";
    }
    return out;
}

nlohmann::ordered_json table_json(const Table& table) {
    auto out = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < table.rows; ++i) {
        auto row = nlohmann::ordered_json::object();
        for (const Column& column : table.columns)
            if (!column.id.empty()) row[column.id] = json_of(column.cell(i));
        out.push_back(std::move(row));
    }
    return out;
}

}  // namespace gs
