#include "base/comparison.h"

#include <fmt/format.h>

namespace gs {

double ComparisonRow::figure() const {
    switch (measure) {
        case Measure::largest:
            return worst;
        case Measure::of_largest:
            return worst / std::max(size, 1e-12);
        case Measure::l2:
            return l2();
        case Measure::bits:
            return static_cast<double>(differ);
    }
    return std::numeric_limits<double>::infinity();
}

double ComparisonRow::mean() const {
    if (measure == Measure::l2 || values == 0) return figure();
    const double mean = sum / static_cast<double>(values);
    return measure == Measure::of_largest ? mean / std::max(size, 1e-12) : mean;
}

void ComparisonRow::add_lengths(std::size_t a, std::size_t b, const char* of) {
    ++values;
    if (differ++ == 0) first = fmt::format("{} {} / {}", of, a, b);
    worst = sum = squares = std::numeric_limits<double>::infinity();
}

std::string ComparisonRow::with_both(std::string place, double a, double b) {
    return place.empty() ? place : fmt::format("{}: {:.9g} / {:.9g}", place, a, b);
}

Table comparison_table(std::span<const ComparisonRow> rows, Against against) {
    using Row = ComparisonRow;
    const auto verdict = [against](const Row& r) {
        return !r.passed()                 ? "differs"
               : against == Against::truth ? "agrees"
               : r.differ == 0             ? "same bits"
                                           : "same to rounding";
    };
    const ColumnOf<Row> stage{"stage", "stage", nullptr, &Row::stage},
        values{"values", "numbers", fixed<0>, &Row::values},
        limit{"tolerance", "tolerance", significant<1>, &Row::limit},
        judged{"verdict", "verdict", nullptr, verdict};
    const std::vector<Row> kept(rows.begin(), rows.end());
    if (against == Against::truth)
        return table_of<Row>(kept, {stage,
                                    {"what", "of", nullptr, &Row::what},
                                    values,
                                    {"worst", "worst", significant<2>, &Row::figure},
                                    {"mean", "mean", significant<2>, &Row::mean},
                                    limit,
                                    {"unit", "unit", nullptr, &Row::unit},
                                    judged,
                                    {"where", "worst at", nullptr, &Row::where}});
    return table_of<Row>(kept, {stage,
                                values,
                                {"differ", "differ", fixed<0>, &Row::differ},
                                {"worst", "", significant<2>, &Row::worst},
                                {"relative", "relative", significant<2>, &Row::l2},
                                limit,
                                judged,
                                {"first", "first (was / now)", nullptr, [](const Row& r) {
                                     return r.first.empty() ? TableCell() : TableCell(r.first);
                                 }}});
}

std::string comparison_text(std::span<const ComparisonRow> rows) {
    std::string out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const ComparisonRow& row = rows[i];
        out += fmt::format("{}{} {:.2g}", i > 0 ? ", " : "", row.what, row.figure());
        if (!row.passed() && !row.where.empty()) out += " at " + row.where;
        if (i + 1 == rows.size() || rows[i + 1].limit != row.limit)
            out += fmt::format(" (limit {:.2g})", row.limit);
    }
    return out;
}

bool all_passed(std::span<const ComparisonRow> rows) {
    return std::ranges::all_of(rows, &ComparisonRow::passed);
}

}  // namespace gs
