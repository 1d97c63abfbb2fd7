// The way through a path's keys: it passes them, without jumps of place, speed or turning, as
// evenly as it says, and never the long way round.
#include "renderer/scene/camera_path.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gs {
namespace {

double length(Vec3d v) { return std::sqrt(dot(v, v)); }

/// How far apart two rotations are, radians.
double angle_between(const Mat3d& a, const Mat3d& b) {
    const Mat3d r = a * transpose(b);
    const Vec3d sine{r.m[2][1] - r.m[1][2], r.m[0][2] - r.m[2][0], r.m[1][0] - r.m[0][1]};
    return std::atan2(length(sine) / 2, (r.m[0][0] + r.m[1][1] + r.m[2][2] - 1) / 2);
}

/// Uneven distances and times, a turn of the view, a change of lens.
CameraPath uneven() {
    const Vec3d eyes[] = {{0, 0, -5}, {0.3, 0.1, -4.8}, {4, 1, -3}, {5, -1, 2}, {-2, 0.5, 4}};
    const double times[] = {1, 1.4, 3, 4.5, 8}, fovs[] = {0.8, 0.8, 1.2, 0.5, 0.9};
    CameraPath path;
    for (std::size_t i = 0; i < 5; ++i)
        path.keys.push_back(
            {pose_of(look_at(eyes[i], {0, 0, 0}, {0, -1, 0}, 64, 48, fovs[i])), times[i]});
    return path;
}

TEST(CameraPath, PassesThroughItsKeys) {
    for (const bool closed : {false, true}) {
        CameraPath path = uneven();
        path.closed = closed;
        path.speed = PathSpeed::keys;
        ASSERT_TRUE(valid(path));
        const PathCurve curve(path);
        EXPECT_DOUBLE_EQ(curve.seconds(), closed ? 8 : 7);
        for (const PathKey& key : path.keys) {
            const PathPose at = curve.at(key.time - 1);
            EXPECT_LT(length(at.position - key.pose.position), 1e-6);
            EXPECT_LT(angle_between(at.rotation, key.pose.rotation), 1e-6);
            EXPECT_NEAR(at.fov_y, key.pose.fov_y, 1e-9);
        }
    }
}

TEST(CameraPath, PlaceTurningAndLensHaveContinuousDerivatives) {
    for (const PathSpeed speed : {PathSpeed::keys, PathSpeed::even})
        for (const bool closed : {false, true})
            for (const bool ease : {false, true}) {
                CameraPath path = uneven();
                path.speed = speed;
                path.closed = closed;
                path.ease = ease;
                const PathCurve curve(path);
                // The largest change of a velocity from one short step to the next, over the
                // largest velocity: a jump would stay as large with shorter steps.
                const auto jump = [&](int steps) {
                    const double dt = curve.seconds() / steps;
                    double most = 0, fastest = 0;
                    Vec3d before{};
                    double turn_before = 0, lens_before = 0;
                    for (int i = 0; i < steps; ++i) {
                        const PathPose a = curve.at(i * dt), b = curve.at((i + 1) * dt);
                        const Vec3d v = (1 / dt) * (b.position - a.position);
                        const double turn = angle_between(a.rotation, b.rotation) / dt,
                                     lens = (b.fov_y - a.fov_y) / dt;
                        fastest = std::max({fastest, length(v), turn});
                        if (i > 0)
                            most = std::max({most, length(v - before), std::abs(turn - turn_before),
                                             std::abs(lens - lens_before)});
                        before = v;
                        turn_before = turn;
                        lens_before = lens;
                    }
                    return most / fastest;
                };
                EXPECT_LT(jump(20000), 0.02) << static_cast<int>(speed) << closed << ease;
            }
}

TEST(CameraPath, EvenSpeedIsEvenToAHundredth) {
    for (const bool closed : {false, true}) {
        CameraPath path = uneven();
        path.closed = closed;
        const PathCurve curve(path);
        const double speed = curve.length() / curve.seconds(), dt = 1e-3;
        for (double t = 0.01; t < curve.seconds() - 0.02; t += 0.013) {
            const double now = length(curve.at(t + dt).position - curve.at(t).position) / dt;
            EXPECT_NEAR(now / speed, 1, 0.01) << "at " << t;
        }
    }
}

TEST(CameraPath, SaysWhenItPassesItsKeys) {
    for (const PathSpeed speed : {PathSpeed::keys, PathSpeed::even})
        for (const bool ease : {false, true}) {
            CameraPath path = uneven();
            path.speed = speed;
            path.ease = ease;
            path.closed = true;
            const PathCurve curve(path);
            for (std::size_t i = 0; i < path.keys.size(); ++i)
                EXPECT_LT(length(curve.at(curve.passes(i)).position - path.keys[i].pose.position),
                          1e-6);
        }
}

TEST(CameraPath, TurnsTheShortWay) {
    // Quaternions of either sign, and nearly half a turn each time.
    CameraPath path;
    for (int i = 0; i < 8; ++i) {
        const double a = 3.0 * i;
        PathPose pose{
            .position = {0.2 * i, 0, 0},
            .rotation = {
                {{std::cos(a), 0, -std::sin(a)}, {0, 1, 0}, {std::sin(a), 0, std::cos(a)}}}};
        path.keys.push_back({pose, static_cast<double>(i)});
    }
    path.speed = PathSpeed::keys;
    const PathCurve curve(path);
    for (int i = 0; i + 1 < 8; ++i) {
        double turned = 0;
        for (int part = 0; part < 100; ++part)
            turned += angle_between(curve.at(i + part / 100.0).rotation,
                                    curve.at(i + (part + 1) / 100.0).rotation);
        EXPECT_LE(turned, std::numbers::pi);
        EXPECT_NEAR(turned, 3.0, 0.05);
    }
}

TEST(CameraPath, NeverGoesBackBetweenKeysAndLensesDoNotOvershoot) {
    CameraPath path = uneven();
    path.speed = PathSpeed::keys;
    path.keys[1].time = 1.01;  // a dash, then hardly any way for long
    path.keys[2].time = 7.9;
    path.keys[3].time = 7.95;
    const PathCurve curve(path);
    for (double t = 0; t <= 7; t += 0.01) {
        EXPECT_GE(curve.at(t).fov_y, 0.5 - 1e-9);
        EXPECT_LE(curve.at(t).fov_y, 1.2 + 1e-9);
    }
    // Towards the third key the distance to the second grows all the time.
    double last = 0;
    for (double t = 0.011; t < 6.9; t += 0.05) {
        const double now = length(curve.at(t).position - path.keys[1].pose.position);
        EXPECT_GE(now, last - 1e-9);
        last = now;
    }
}

TEST(CameraPath, LooksAroundOnOneSpot) {
    CameraPath path;
    for (int i = 0; i < 4; ++i) {
        const double a = 0.8 * i;
        path.keys.push_back({pose_of(look_at({1, 2, 3}, {1 + std::sin(a), 2, 3 + std::cos(a)},
                                             {0, -1, 0}, 64, 48, 1)),
                             static_cast<double>(i)});
    }
    const PathCurve curve(path);
    EXPECT_LT(curve.length(), 1e-12);
    double last = 0;
    for (double t = 0.1; t <= 3; t += 0.1) {
        const double turned = angle_between(curve.at(t).rotation, path.keys[0].pose.rotation);
        EXPECT_GT(turned, last);
        last = turned;
    }
    EXPECT_NEAR(angle_between(curve.at(3).rotation, path.keys[0].pose.rotation), 2.4, 1e-6);
}

TEST(CameraPath, OneKeyIsAPictureAndNonsenseIsRefused) {
    CameraPath path = uneven();
    path.keys.resize(1);
    EXPECT_EQ(pictures_of(path, 30), 1u);
    EXPECT_LT(length(poses_along(path, 3)[2].position - path.keys[0].pose.position), 1e-12);
    path = uneven();
    path.keys[2].time = path.keys[1].time;
    EXPECT_FALSE(valid(path));
    path = uneven();
    path.keys[2].pose.position.x = std::nan("");
    EXPECT_FALSE(valid(path));
    path = uneven();
    path.keys[0].pose.rotation.m[0][0] *= 2;
    EXPECT_FALSE(valid(path));
    path = uneven();
    path.keys[0].pose.fov_y = 4;
    EXPECT_FALSE(valid(path));
    path = uneven();
    path.closed = true;
    path.closing = 0;
    EXPECT_FALSE(valid(path));
}

TEST(CameraPath, KeysOneAfterTheOtherAtOnceAreRefused) {
    CameraPath path = uneven();
    path.speed = PathSpeed::keys;
    path.keys[1].time = path.keys[0].time + 1e-308;  // a speed that is no number
    EXPECT_FALSE(valid(path));
    path.keys[1].time = path.keys[0].time + 2 * kLeastBetweenKeys;
    ASSERT_TRUE(valid(path));
    for (const PathPose& pose : poses_along(path, 50)) EXPECT_TRUE(camera_of(pose, 32, 24).valid());
    // Places that differ by less than a number can tell are one place.
    for (PathKey& key : path.keys) key.pose.position = {};
    path.keys[1].pose.position.x = 5e-324;
    EXPECT_TRUE(camera_of(PathCurve(path).at(1), 32, 24).valid());
}

TEST(CameraPath, PresetsGoAroundWhatTheyAreGiven) {
    const PathPlace place{{1, 2, 3}, {0, 0, 1}, 4, 0.3, 0.9, {}};
    const CameraPath orbit = preset_path(PathPreset::orbit, place, 12);
    ASSERT_TRUE(valid(orbit));
    EXPECT_DOUBLE_EQ(orbit.seconds(), 12);
    EXPECT_EQ(pictures_of(orbit, 10), 120u);
    for (const PathPose& pose : poses_along(orbit, 100)) {
        EXPECT_NEAR(length(pose.position - place.center), 4, 0.004);
        EXPECT_NEAR(pose.position.z, 3 + 4 * std::sin(0.3), 0.004);
    }
    for (const PathPreset preset : {PathPreset::orbit, PathPreset::spiral, PathPreset::dolly}) {
        const CameraPath path = preset_path(preset, place, 5);
        ASSERT_TRUE(valid(path));
        EXPECT_NEAR(path.seconds(), 5, 1e-12);
        for (const PathPose& pose : poses_along(path, 50)) {
            const Vec3d to = place.center - pose.position;
            const Vec3d forward{pose.rotation.m[2][0], pose.rotation.m[2][1],
                                pose.rotation.m[2][2]};
            EXPECT_GT(dot(to, forward), 0.99 * length(to));
        }
    }
    const PathPlace found =
        place_around(preset_pose(PathPreset::orbit, place, 0.2), {1, 2, 3}, {0, 0, 1});
    EXPECT_NEAR(found.radius, 4, 1e-9);
    EXPECT_NEAR(found.elevation, 0.3, 1e-9);
    EXPECT_NEAR(length(preset_pose(PathPreset::orbit, found, 0).position -
                       preset_pose(PathPreset::orbit, place, 0.2).position),
                0, 1e-9);
}

}  // namespace
}  // namespace gs
