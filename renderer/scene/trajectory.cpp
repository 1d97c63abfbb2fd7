#include "renderer/scene/trajectory.h"

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

bool finite_pose(const TimedPose& pose) {
    const Vec3d t = pose.world_from_body.translation;
    double sum = pose.time + t.x + t.y + t.z;
    for (const auto& row : pose.world_from_body.rotation.m) sum += row[0] + row[1] + row[2];
    return std::isfinite(sum);
}

}  // namespace

Pose inverse_of(const Pose& pose) {
    const Mat3d back = transpose(pose.rotation);
    return {back, -(back * pose.translation)};
}

Pose operator*(const Pose& a, const Pose& b) {
    return {a.rotation * b.rotation, a.rotation * b.translation + a.translation};
}

Trajectory::Trajectory(const std::vector<TimedPose>& poses, std::size_t* left_out) {
    for (const TimedPose& pose : poses)
        if (finite_pose(pose) && (poses_.empty() || pose.time > poses_.back().time))
            poses_.push_back(pose);
    if (left_out != nullptr) *left_out = poses.size() - poses_.size();
}

Pose Trajectory::at(double time) const {
    if (poses_.empty()) return {};
    if (poses_.size() == 1) return poses_[0].world_from_body;
    const auto after =
        std::upper_bound(poses_.begin() + 1, poses_.end() - 1, time,
                         [](double t, const TimedPose& pose) { return t < pose.time; });
    const TimedPose &a = *std::prev(after), &b = *after;
    const double share = std::clamp((time - a.time) / (b.time - a.time), -1.0, 2.0);
    return pose_between(a.world_from_body, b.world_from_body, share);
}

double Trajectory::length() const {
    double sum = 0;
    for (std::size_t i = 1; i < poses_.size(); ++i) {
        const Vec3d step =
            poses_[i].world_from_body.translation - poses_[i - 1].world_from_body.translation;
        sum += std::sqrt(dot(step, step));
    }
    return sum;
}

}  // namespace gs
