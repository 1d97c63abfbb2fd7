// Comparisons: numbers of two results beside each other, as rows of a table that say what was
// compared, how far apart it is, where, how much is allowed, and the verdict. One body for
// selftest and its cases, `verify`, `replay`, `diff` and `convert --verify`.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>

#include "base/table.h"

namespace gs {

/// The figure of a row that is held against its limit.
enum class Measure {
    largest,     ///< difference
    of_largest,  ///< largest difference, over the largest finite number of `a`
    l2,          ///< |a - b| / |a|
    bits,        ///< how many numbers have other bits
};

/// One row: `what`, `limit` and `measure` are given, the rest follows from the numbers added. A NaN
/// is infinitely far off from everything, and so is an infinity on one side alone.
struct ComparisonRow {
    std::string what{};
    double limit = 0;
    Measure measure = Measure::largest;
    std::string unit{}, stage{};
    bool nan_is_nan = false;  ///< NaN on both sides agree: what is repeated, bit for bit

    std::size_t values = 0, differ = 0;  ///< compared; of those with other bits
    double worst = 0, sum = 0;           ///< differences: the largest, all together
    double squares = 0, norm = 0;        ///< of the differences, of finite `a`
    double size = 0;                     ///< largest finite |a|
    std::string where{}, first{};        ///< of the worst; of the first that differs, with both

    double figure() const;
    double l2() const { return squares > 0 ? std::sqrt(squares / norm) : 0; }
    double mean() const;  ///< in the unit of figure()
    bool passed() const { return figure() <= limit; }

    /// `place` names where they are; called only for the first that differs and a new worst.
    template <class Place>
    void add(double a, double b, const Place& place) {
        ++values;
        if (std::isfinite(a)) {
            norm += a * a;
            size = std::max(size, std::abs(a));
        }
        const bool both_nan = std::isnan(a) && std::isnan(b);
        if (both_nan ? nan_is_nan
                     : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b))
            return;
        double apart = a == b ? 0 : std::abs(a - b);
        if (std::isnan(apart)) apart = std::numeric_limits<double>::infinity();
        sum += apart;
        squares += apart * apart;
        if (differ++ == 0) first = with_both(place(), a, b);
        if (!(apart > worst)) return;
        worst = apart;
        where = place();
    }
    void add(double a, double b) {
        add(a, b, [] { return std::string(); });
    }
    /// Lists of numbers; `place` is given their index. Infinitely far off when of other lengths.
    template <class A, class B, class Place>
    void add_all(const A& a, const B& b, const Place& place) {
        const auto size_a = std::size(a), size_b = std::size(b);
        if (size_a != size_b) return add_lengths(size_a, size_b, "numbers");
        for (std::size_t i = 0; i < size_a; ++i)
            add(static_cast<double>(a[i]), static_cast<double>(b[i]), [&] { return place(i); });
    }
    template <class A, class B>
    void add_all(const A& a, const B& b) {
        add_all(a, b, [](std::size_t) { return std::string(); });
    }
    void add_lengths(std::size_t a, std::size_t b, const char* what);

  private:
    static std::string with_both(std::string place, double a, double b);
};

/// `a` and `b` beside each other: lists of numbers, of which `a` is the truth, or the earlier one.
template <class A, class B>
ComparisonRow compare(ComparisonRow subject, const A& a, const B& b) {
    subject.add_all(a, b);
    return subject;
}

/// What `a` was: an earlier result of the same bits, so the first that differs is shown; or a truth
/// that is rounded otherwise, so the worst place is.
enum class Against { itself, truth };
Table comparison_table(std::span<const ComparisonRow> rows, Against against);
/// "colour 1.2e-07, opacity 3.1e-07 (limit 2e-05), gradient 5e-06 (limit 0.0001)".
std::string comparison_text(std::span<const ComparisonRow> rows);
bool all_passed(std::span<const ComparisonRow> rows);

}  // namespace gs
