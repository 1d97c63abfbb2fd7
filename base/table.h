// Table: rows of typed cells under columns. It is made where the numbers are; terminals, CSV and
// JSON print it here, windows in panels/widgets/table_view.h. A column says once how its cells
// are read, formatted and explained. Cells are read when they are printed, so a long table costs
// only its visible rows.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/format.h"

namespace gs {

/// A meaning of a cell besides its value; windows show it by a color.
enum class Tone { normal, dim, faint, good, warning, error, accent };

struct TableCell {
    /// Nothing is empty everywhere. A number that is not finite is "-", empty in CSV, null in JSON.
    using Value =
        std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

    TableCell() = default;
    template <class T, class = std::enable_if_t<!std::is_same_v<T, TableCell>>>
    TableCell(const T& from, Tone how = Tone::normal, std::string why = {})
        : tone(how), hint(std::move(why)) {
        if constexpr (std::is_same_v<T, bool>)
            value = from;
        else if constexpr (std::is_floating_point_v<T>)
            value = static_cast<double>(from);
        else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
            value = static_cast<std::int64_t>(from);
        else if constexpr (std::is_integral_v<T>)
            value = static_cast<std::uint64_t>(from);
        else
            value = std::string(std::string_view(from));
    }
    template <class T>
    TableCell(const std::optional<T>& from) : TableCell(from ? TableCell(*from) : TableCell()) {}

    Value value;
    Tone tone = Tone::normal;
    std::string hint;  ///< a window shows it under the mouse
};

/// Writes a number: format_ns, format_bytes, fixed<2>. Columns with a format are right-aligned.
using CellFormat = std::string (*)(double);
template <int kDigits>
std::string fixed(double value) {
    return format_fixed(value, kDigits);
}
template <int kDigits>
std::string significant(double value) {
    return format_number(value, kDigits);
}

/// The direction in which a click on the heading sorts first.
enum class SortOrder { ascending, descending, none };

template <class Row>
struct ColumnOf {
    std::string id;               ///< key in JSON, heading in CSV; empty: not in files
    std::string title;            ///< heading with its unit; empty: only in files
    CellFormat format = nullptr;  ///< nullptr: text
    std::function<TableCell(const Row&)> cell;
    float width =
        0;  ///< in windows: em; negative: a share of the rest; 0: as the table's flags say
    std::string help = {};
    SortOrder order = SortOrder::ascending;
    CellFormat stored = nullptr;  ///< in CSV; nullptr: numbers in full
};

struct Table {
    std::size_t rows = 0;
    std::vector<ColumnOf<std::size_t>> columns;
};

/// `rows`: a list of Row or of pointers to Row; a std::span is not copied and must outlive the
/// table. Cells may be given by a member: &Row::name.
template <class Row, class Rows>
Table table_of(Rows rows, std::vector<ColumnOf<Row>> columns) {
    Table out{rows.size(), {}};
    const auto kept = std::make_shared<Rows>(std::move(rows));
    for (ColumnOf<Row>& c : columns)
        out.columns.push_back({std::move(c.id), std::move(c.title), c.format,
                               [kept, cell = std::move(c.cell)](const std::size_t& i) {
                                   if constexpr (std::is_pointer_v<typename Rows::value_type>)
                                       return cell(*(*kept)[i]);
                                   else
                                       return cell((*kept)[i]);
                               },
                               c.width, std::move(c.help), c.order, c.stored});
    return out;
}

/// For a person.
std::string cell_text(const TableCell& cell, CellFormat format);
/// Numbers by size, texts by their bytes; what is absent comes last in either direction.
bool sorts_before(const TableCell& a, const TableCell& b, bool descending);

/// A line a row under the titles, columns as wide as their cells. Nothing without rows. After
/// `most` rows: "and N more".
std::string table_text(const Table& table, std::string_view indent = {},
                       std::size_t most = std::numeric_limits<std::size_t>::max());
std::string table_csv(const Table& table);
/// A list of objects, numbers in full.
nlohmann::ordered_json table_json(const Table& table);

}  // namespace gs
