// Where a series changes for good: between which two points, by how much, and how sure that is.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "profiler/analysis/compare.h"
#include "profiler/history/history.h"

namespace gs::history {

struct Change {
    std::size_t first = 0;         ///< index of the first point after it
    double before = 0, after = 0;  ///< medians of the stretches on either side
    Shift shift;                   ///< after - before, with its 95 % interval
    double relative = 0;           ///< shift over before
};

struct ChangeOptions {
    /// What all stretches together may have by chance, as Pettitt's approximation bounds it, which
    /// is far from sharp: at 0.1 a change was found in fewer than 2 % of 2,000 series without one.
    double chance = 0.1;
    double least_effect = 0.03;  ///< of the median before
};

/// Changes of the median (p50) along a series, in order. Pettitt's test (A. N. Pettitt, "A
/// non-parametric approach to the change-point problem", Applied Statistics 28, 1979) asks where,
/// and whether at all, of stretches of every length; then either side is asked again; what is left
/// is kept where the shift between its neighbouring stretches (shift_of()) is beyond doubt and
/// beyond the least effect. A long series is looked at in stretches of equal length, because
/// minutes of one run resemble each other more than those of two. Six points on either side are the
/// least that can be sure.
std::vector<Change> change_points(std::span<const Point> points, const ChangeOptions& options = {});

}  // namespace gs::history
