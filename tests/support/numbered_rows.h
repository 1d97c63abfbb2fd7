// Numbers by which every row of a run is known again in every array, and the comparison of all
// arrays. Both go through each_row_array(): tests that use them also test a new array.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "trainer/density/row_arrays.h"

namespace gs::test {

/// Calls visit(array, c, column c of it in each of `runs`...) for every column of every array.
template <class Visit, class Run, class... More>
void each_column(Visit&& visit, Run& run, More&... more) {
    each_row_array(
        [&](const RowArray& array, auto& values, auto&... others) {
            for (std::size_t c = 0; !values.empty() && c < array.columns(run.model.planes()); ++c) {
                SCOPED_TRACE(fmt::format("{}, column {}", array.name, c));
                visit(array, c, row_column(array, run, values, c),
                      row_column(array, more, others, c)...);
            }
        },
        run, more...);
}

/// Gives every row in use other numbers in the arrays that `which` names, except those that say
/// which Gaussian it is and when it was stepped.
inline void number_rows(
    RunArrays& arrays, bool (*which)(const RowArray&) = [](const RowArray&) { return true; }) {
    int number = 0;
    each_column(
        [&](const RowArray& array, std::size_t, const auto& column) {
            if (array.round == RowArray::tags || array.values == RowArray::steps || !which(array))
                return;
            for (std::size_t row = 0; row < arrays.model.count; ++row)
                column[row] = static_cast<std::remove_cvref_t<decltype(column[0])>>(++number);
        },
        arrays);
}

/// Rows, ids, the optimizer's clock: all bits.
inline bool same_arrays(const RunArrays& a, const RunArrays& b) {
    bool out = a.model.count == b.model.count && a.adam.steps == b.adam.steps &&
               a.adam.base == b.adam.base && a.adam.pending == b.adam.pending &&
               a.identity.book == b.identity.book && a.model.sky == b.model.sky &&
               std::ranges::equal(a.sky_moments, b.sky_moments);
    each_row_array(
        [&](const RowArray&, const auto& x, const auto& y) {
            out &= x.size() == y.size() &&
                   (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(x[0])) == 0);
        },
        a, b);
    return out;
}

}  // namespace gs::test
