// Named arrays as reference files hold them (.npz, .safetensors), widened to double, which is exact
// for every type they use. Tests read inputs and expected numbers from here. A missing name or
// wrong shape is a broken data file: BadData.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace gs::test {

/// C-ordered. Text arrays have `texts` instead of `values`.
struct Array {
    std::vector<std::size_t> shape;  ///< empty for a scalar
    std::vector<double> values;
    std::vector<std::string> texts;

    std::size_t size() const { return values.size(); }
    double operator[](std::size_t i) const { return values[i]; }
    std::size_t dim(std::size_t axis) const;
    /// The one value of a scalar (or of a one-element array).
    double scalar() const;
    std::vector<float> floats() const;
    std::vector<int> ints() const;
    /// Entry `index` along the first axis, with that axis removed.
    Array slice(std::size_t index) const;
};

class Arrays {
  public:
    Arrays() = default;
    Arrays(std::string path, std::map<std::string, Array> arrays)
        : path_(std::move(path)), arrays_(std::move(arrays)) {}
    bool has(const std::string& name) const { return arrays_.count(name) > 0; }
    const Array& operator[](const std::string& name) const;
    const std::string& path() const { return path_; }
    const std::map<std::string, Array>& all() const { return arrays_; }

  private:
    std::string path_;
    std::map<std::string, Array> arrays_;
};

}  // namespace gs::test
