// How Gaussians were trained to be drawn, if that is not how every viewer draws. Our splat files
// store it, readers of them keep it, and exports of Gaussians report it.
#pragma once

#include <string>
#include <vector>

namespace gs {

struct TrainedThrough {
    bool unscented = false;   ///< by the unscented transform (ProjectionMethod::ut)
    double widest_angle = 0;  ///< degrees from the axis, of lenses that bend lines; 0: none does
    bool operator==(const TrainedThrough&) const = default;
};
/// What is drawn differently elsewhere, a line each. `antialiased`: of the model
/// (GaussianModel::antialiased), which a run with a 3D filter also makes.
std::vector<std::string> drawn_otherwise(const TrainedThrough& trained, bool antialiased);

}  // namespace gs
