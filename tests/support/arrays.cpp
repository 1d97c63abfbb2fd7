#include "tests/support/arrays.h"

#include "tests/support/bad_data.h"

namespace gs::test {

std::size_t Array::dim(std::size_t axis) const {
    REQUIRE_DATA(axis < shape.size(), "the array has {} axes, axis {} was asked for", shape.size(),
                 axis);
    return shape[axis];
}

double Array::scalar() const {
    REQUIRE_DATA(values.size() == 1, "a scalar was expected, the array has {} values",
                 values.size());
    return values[0];
}

std::vector<float> Array::floats() const { return {values.begin(), values.end()}; }
std::vector<int> Array::ints() const { return {values.begin(), values.end()}; }

Array Array::slice(std::size_t index) const {
    REQUIRE_DATA(!shape.empty() && index < shape[0], "slice {} of an array of {}", index,
                 shape.empty() ? 0 : shape[0]);
    Array out;
    out.shape.assign(shape.begin() + 1, shape.end());
    const std::size_t stride = values.size() / shape[0];
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(index * stride);
    out.values.assign(begin, begin + static_cast<std::ptrdiff_t>(stride));
    return out;
}

const Array& Arrays::operator[](const std::string& name) const {
    const auto found = arrays_.find(name);
    REQUIRE_DATA(found != arrays_.end(), "{} holds no array \"{}\"", path_, name);
    return found->second;
}

}  // namespace gs::test
