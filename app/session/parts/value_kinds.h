// The values that Gaussians can be coloured by, with their source, unit and scale. Pure functions
// of a model or of a run's arrays; Values (values.h) calls them.
#pragma once

#include <span>

#include "app/session/loading.h"
#include "trainer/density/snapshot.h"

namespace gs {

struct ValueKind {
    const char* name;
    const char* unit;
    bool logarithmic;  ///< spans decades
};
ValueKind kind_of(GaussianValue value);
/// Made from the gradients or costs of the picture from one camera.
constexpr bool is_of_camera(GaussianValue value) {
    return value == GaussianValue::gradient || value == GaussianValue::error ||
           value == GaussianValue::cost;
}
/// Kept by a run, and nowhere else.
constexpr bool is_of_run(GaussianValue value) {
    return value == GaussianValue::second_moment || value == GaussianValue::density ||
           value == GaussianValue::age || value == GaussianValue::views ||
           value == GaussianValue::filter;
}

/// opacity, size, anisotropy and sh_energy by row. Another value: nothing.
void values_of_model(GaussianValue value, const GaussianModel& model, Buffer<float>& out);
/// Those of is_of_run(), by row. age: steps since birth; second_moment: the norm of Adam's v over
/// all planes, as of each Gaussian's last step; density: what density control compares with its
/// threshold; views: steps in which it was visible since the last round; filter: nothing where the
/// run has no 3D filter.
void values_of_run(GaussianValue value, const RunArrays& run, Buffer<float>& out);
/// Levels of detail by row; NaN for what is of every level.
void values_of_levels(std::span<const LevelRun> runs, std::size_t rows, Buffer<float>& out);

/// The norm of each Gaussian's gradient over all its parameters; 0 where it was not visible.
class GradientNorms final : public GradientSink {
  public:
    explicit GradientNorms(Buffer<float>& by_row) : by_row_(by_row) {}
    void take(const BlockGradients& gradients) override;

  private:
    Buffer<float>& by_row_;
};
/// With Upstream::error: sum over the pixels of weight x error, mean of the channels. Where a
/// colour is clamped at 0 its channel counts nothing.
class ErrorShares final : public GradientSink {
  public:
    explicit ErrorShares(Buffer<float>& by_row) : by_row_(by_row) {}
    void take(const BlockGradients& gradients) override;

  private:
    Buffer<float>& by_row_;
};

}  // namespace gs
