#include "renderer/scene/trained_through.h"

#include <fmt/format.h>

namespace gs {
namespace {

// From here on a pinhole's picture stretches what a fisheye draws small, and Gaussians, whose
// extent is a tangent of the lens at their middle, no longer look alike.
constexpr double kDrawnAlike = 50;  // degrees from the axis

}  // namespace

std::vector<std::string> drawn_otherwise(const TrainedThrough& trained, bool antialiased) {
    std::vector<std::string> out;
    if (trained.widest_angle > kDrawnAlike)
        out.push_back(fmt::format(
            "it was trained through lenses that see {:.0f} degrees from their axis: viewers that "
            "support only pinholes draw areas far off the axis differently",
            trained.widest_angle));
    if (trained.unscented)
        out.emplace_back(
            "it was trained by the unscented transform (--projection ut): most viewers project by "
            "the Jacobian and draw large and near Gaussians slightly differently");
    if (antialiased)
        out.emplace_back(
            "it was trained antialiased: viewers that do not antialias, or cannot see this in its "
            "file, draw thin or far Gaussians too thick and too dark");
    return out;
}

}  // namespace gs
