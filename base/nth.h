// Medians and other places of a sorted order, without sorting.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gs {

/// What would be `values[index]`, which must be there, if they were sorted. Reorders them; O(n).
template <class T>
T nth_of(std::vector<T>& values, std::size_t index) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(index);
    std::nth_element(values.begin(), at, values.end());
    return *at;
}
/// Of two in the middle the larger one. Needs a value, and reorders them.
template <class T>
T upper_median(std::vector<T>& values) {
    return nth_of(values, values.size() / 2);
}

/// The value that `share` of the others do not exceed. Needs a value, and reorders them.
template <class T>
T quantile(std::vector<T>& values, double share) {
    return nth_of(values, static_cast<std::size_t>(share * static_cast<double>(values.size() - 1)));
}

}  // namespace gs
