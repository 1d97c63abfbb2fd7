// Poses of a camera with a rolling shutter, between its first row and its last.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "renderer/scene/camera.h"

namespace gs {
namespace {

Camera turning() {
    Camera camera = look_at({0, 0, -3}, {0, 0, 0}, {0, -1, 0}, 64, 48, 1.0);
    camera.shutter = Shutter::top_to_bottom;
    camera.first = {rotation_from_quat({1, 0, 0, 0}), {0, 0, 1}};
    camera.last = {rotation_from_quat({std::cos(0.3), 0, std::sin(0.3), 0}), {2, 0, 3}};
    return camera;
}

TEST(CameraPose, GoesStraightAndTurnsEvenly) {
    const Camera camera = turning();
    for (const double t : {0.0, 0.25, 0.5, 1.0}) {
        const Pose pose = camera.pose_at(t);
        EXPECT_NEAR(pose.translation.x, 2 * t, 1e-12);
        EXPECT_NEAR(pose.translation.z, 1 + 2 * t, 1e-12);
        // Half angles of 0.3 make turns of 0.6.
        EXPECT_NEAR(pose.rotation.m[0][2], std::sin(0.6 * t), 1e-12);
        EXPECT_NEAR(pose.rotation.m[0][0], std::cos(0.6 * t), 1e-12);
    }
}

TEST(CameraPose, OfAGlobalShutterIsItsOne) {
    Camera camera = turning();
    camera.shutter = Shutter::global;
    camera.last.translation.x = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(camera.valid()) << "what is not used does not count";
    EXPECT_EQ(camera.pose_at(0.7).translation.z, camera.translation.z);
    camera.shutter = Shutter::left_to_right;
    EXPECT_FALSE(camera.valid());
}

TEST(CameraPose, SlerpTakesTheShorterArc) {
    const Quatd a{1, 0, 0, 0}, b{-std::cos(0.2), -std::sin(0.2), 0, 0};
    const Quatd middle = slerp(a, b, 0.5);
    EXPECT_NEAR(std::abs(middle.w), std::cos(0.1), 1e-12);
    EXPECT_NEAR(std::abs(middle.x), std::sin(0.1), 1e-12);
    EXPECT_NEAR(slerp(a, a, 0.3).w, 1, 1e-12) << "the same twice divides by nothing";
}

}  // namespace
}  // namespace gs
