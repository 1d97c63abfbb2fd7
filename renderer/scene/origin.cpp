#include "renderer/scene/origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/nth.h"

namespace gs {
namespace {

std::vector<Vec3d> finite_of(std::span<const Vec3d> places) {
    std::vector<Vec3d> out;
    for (const Vec3d p : places)
        if (std::isfinite(p.x) && std::isfinite(p.y) && std::isfinite(p.z)) out.push_back(p);
    return out;
}

double longest(Vec3d v) { return std::max({std::abs(v.x), std::abs(v.y), std::abs(v.z)}); }

double spread_around(const std::vector<Vec3d>& places, Vec3d middle) {
    if (places.empty()) return 0;
    std::vector<double> values(places.size());
    std::transform(places.begin(), places.end(), values.begin(),
                   [middle](Vec3d p) { return longest(p - middle); });
    return upper_median(values);
}

}  // namespace

Vec3d median_place(const std::vector<Vec3d>& places) {
    Vec3d out;
    std::vector<double> values(places.size());
    for (double Vec3d::*axis : {&Vec3d::x, &Vec3d::y, &Vec3d::z}) {
        std::transform(places.begin(), places.end(), values.begin(),
                       [axis](Vec3d p) { return p.*axis; });
        out.*axis = upper_median(values);
    }
    return out;
}

Vec3d origin_for(std::span<const Vec3d> cameras, std::span<const Vec3d> points) {
    const std::vector<Vec3d> eyes = finite_of(cameras), seen = finite_of(points);
    if (eyes.empty() && seen.empty()) return {};
    const Vec3d middle = median_place(eyes.empty() ? seen : eyes);
    const double spread = std::max(spread_around(eyes, middle), spread_around(seen, middle));
    // What is all in one place has no shape to lose.
    if (!(spread > 0) || !std::isfinite(spread) || !(longest(middle) > kFarFromZero * spread))
        return {};
    const double step = std::pow(10.0, std::floor(std::log10(spread)));
    const auto rounded = [step](double x) {
        const double out = std::round(x / step) * step;
        return std::isfinite(out) ? out : x;
    };
    return {rounded(middle.x), rounded(middle.y), rounded(middle.z)};
}

Camera seen_from_zero(Camera camera, Vec3d zero) {
    if (is_zero(zero)) return camera;
    camera.translation += camera.rotation * zero;
    if (camera.rolling()) {
        camera.first.translation += camera.first.rotation * zero;
        camera.last.translation += camera.last.rotation * zero;
    }
    return camera;
}

Trajectory seen_from_zero(const Trajectory& trajectory, Vec3d zero) {
    if (is_zero(zero)) return trajectory;
    std::vector<TimedPose> poses = trajectory.poses();
    for (TimedPose& pose : poses)
        pose.world_from_body.translation = pose.world_from_body.translation - zero;
    return Trajectory(poses);
}

void set_origin(GaussianModel& model, Vec3d origin) {
    if (same_place(model.origin, origin)) return;
    const Vec3d move = model.origin - origin;
    const double along[3] = {move.x, move.y, move.z};
    for (int axis = 0; axis < 3; ++axis)
        for (std::size_t i = 0; i < model.count; ++i) {
            float& value = model.at(kMeans + axis, i);
            value = static_cast<float>(static_cast<double>(value) + along[axis]);
        }
    model.origin = origin;
}

std::string text_of_origin(Vec3d origin) {
    return fmt::format("({}, {}, {})", origin.x + 0.0, origin.y + 0.0, origin.z + 0.0);  // no "-0"
}

}  // namespace gs
