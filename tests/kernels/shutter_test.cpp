// Rolling shutter: where points fall and where rays come from, against the stored numbers; what it
// does to a Gaussian, against finite differences; equal poses, the same bits as one.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "renderer/scene/camera_lens.h"
#include "tests/kernels/stored_lenses.h"
#include "tests/support/compare.h"
#include "tests/support/data.h"
#include "tests/support/npz.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

constexpr const char* kFile = "reference/sensors/rolling_shutter.npz";

struct Direction {
    const char* name;
    Shutter shutter;
};
constexpr Direction kDirections[] = {{"top_to_bottom", Shutter::top_to_bottom},
                                     {"left_to_right", Shutter::left_to_right},
                                     {"bottom_to_top", Shutter::bottom_to_top},
                                     {"right_to_left", Shutter::right_to_left}};

Pose pose_of(const Array& seven) {
    return {rotation_from_quat({seven[3], seven[4], seven[5], seven[6]}),
            {seven[0], seven[1], seven[2]}};
}
Camera rolling_camera(const Arrays& data, const std::string& lens, Shutter shutter) {
    Camera c = stored_lens(data, lens);
    c.shutter = shutter;
    c.first = pose_of(data["pose_start"]);
    c.last = pose_of(data["pose_end"]);
    const Pose middle = c.pose_at(0.5);
    c.rotation = middle.rotation;
    c.translation = middle.translation;
    return c;
}

TEST(RollingShutter, PointsFallWhereStored) {
    GS_NEED_DATA(kFile);
    const Arrays data = load_npz(data_path(kFile));
    for (const std::string lens : {"pinhole", "kb4"})
        for (const Direction& direction : kDirections) {
            SCOPED_TRACE(lens + " " + direction.name);
            const std::string key = lens + "_" + direction.name + "_";
            const Camera camera = rolling_camera(data, lens, direction.shutter);
            const auto cam = math::make_lens_camera<double>(camera);
            const auto single = math::make_lens_camera<float>(camera);
            const Array &points = data[lens + "_points"], &uv = data[key + "uv_continuous"],
                        &time = data[key + "time_continuous"], &valid = data[key + "valid"],
                        &settled = data[key + "settled"], &rounded = data[key + "uv"];
            int compared = 0;
            for (std::size_t i = 0; i < points.dim(0); ++i) {
                if (valid[i] == 0 || settled[i] == 0) continue;
                ++compared;
                const Vec3d world{points[3 * i], points[3 * i + 1], points[3 * i + 2]};
                const Vec3d c = camera.rotation * world + camera.translation;
                const double moment =
                    math::moment_of_point(cam.shutter, cam.lens, c, cam.translation);
                ASSERT_NEAR(0.5 + moment, time[i], 1e-7) << i;
                const auto own = camera.pixel_of(c);
                ASSERT_NEAR(own.x, uv[2 * i], 1e-5);
                ASSERT_NEAR(own.y, uv[2 * i + 1], 1e-5);
                const auto p = math::project(cam, world, {0.1, 0.1, 0.1}, {1, 0, 0, 0});
                ASSERT_NEAR(p.mean.x, uv[2 * i], 1e-5) << i;
                ASSERT_NEAR(p.mean.y, uv[2 * i + 1], 1e-5) << i;
                EXPECT_GT(p.depth, 0);
                const auto f =
                    math::project(single,
                                  {static_cast<float>(world.x), static_cast<float>(world.y),
                                   static_cast<float>(world.z)},
                                  {0.1f, 0.1f, 0.1f}, {1, 0, 0, 0});
                ASSERT_NEAR(static_cast<double>(f.mean.x), uv[2 * i], 1e-2);
                ASSERT_NEAR(static_cast<double>(f.mean.y), uv[2 * i + 1], 1e-2);
                // Whole rows move a point by no more than one row's motion, in the picture.
                if (p.mean.x < 0 || p.mean.x > camera.width || p.mean.y < 0 ||
                    p.mean.y > camera.height)
                    continue;
                ASSERT_NEAR(p.mean.x, rounded[2 * i], 0.5);
                ASSERT_NEAR(p.mean.y, rounded[2 * i + 1], 0.5);
            }
            EXPECT_GT(compared, 150);
        }
}

TEST(RollingShutter, RaysStartFromTheRowsPose) {
    GS_NEED_DATA(kFile);
    const Arrays data = load_npz(data_path(kFile));
    for (const std::string lens : {"pinhole", "kb4"})
        for (const Direction& direction : kDirections) {
            SCOPED_TRACE(lens + " " + direction.name);
            const Camera camera = rolling_camera(data, lens, direction.shutter).scaled_to(48, 32);
            const std::string key = lens + "_" + direction.name + "_ray_";
            const Array &origin = data[key + "origin"], &dir = data[key + "dir"],
                        &valid = data[lens + "_ray_valid"];
            for (std::size_t i = 0; i < 32 * 48; ++i) {
                const double x = static_cast<double>(i % 48) + 0.5,
                             y = static_cast<double>(i / 48) + 0.5;
                const CameraRay ray = camera.ray_of(x, y);
                ASSERT_EQ(ray.valid, valid[i] != 0);
                const Vec3d o = ray.origin -
                                Vec3d{origin[3 * i], origin[3 * i + 1], origin[3 * i + 2]},
                            d = ray.direction - Vec3d{dir[3 * i], dir[3 * i + 1], dir[3 * i + 2]};
                ASSERT_LT(std::sqrt(dot(o, o) + dot(d, d)), 1e-9) << i;
                const Vec3d point = camera.point_at(x, y, 4.0);
                const Vec3d in_camera = camera.rotation * point + camera.translation;
                ASSERT_NEAR(camera.depth_of(in_camera), 4.0, 1e-9);
                const auto on = camera.pixel_of(in_camera);
                ASSERT_NEAR(on.x, x, 1e-4);
                ASSERT_NEAR(on.y, y, 1e-4);
            }
        }
}

TEST(RollingShutter, EqualPosesAreOnePoseToTheBit) {
    for (std::uint64_t i = 0; i < 40; ++i) {
        Camera camera = random_camera(9, i, 320, 200);
        camera.model = i % 2 ? CameraModel::opencv : CameraModel::opencv_fisheye;
        camera.distortion = {-0.1, 0.01};
        const auto global = math::make_lens_camera<float>(camera);
        camera.shutter = kDirections[i % 4].shutter;
        camera.first = camera.last = {camera.rotation, camera.translation};
        EXPECT_FALSE(math::make_rolling(camera).on);
        auto rolling = math::make_lens_camera<float>(camera);
        rolling.shutter.on = true;  // through all its arithmetic
        const auto f = [&](std::uint64_t k) {
            return static_cast<float>(random_in(77, i, k, -1, 1));
        };
        const Vec3f mean{f(0), f(1), f(2)}, scale{0.1f, 0.2f, 0.05f};
        const Quatf quat{f(3), f(4), f(5), f(6)};
        const auto a = math::project(global, mean, scale, quat),
                   b = math::project(rolling, mean, scale, quat);
        ASSERT_EQ(a.depth, b.depth);
        if (a.depth <= 0) continue;
        EXPECT_FLOAT_EQ(a.mean.x, b.mean.x);
        EXPECT_FLOAT_EQ(a.mean.y, b.mean.y);
        EXPECT_NEAR(a.cov.xx, b.cov.xx, 1e-5f * a.cov.xx);
    }
    Camera pinhole = random_camera(9, 1, 320, 200);
    pinhole.shutter = Shutter::top_to_bottom;
    pinhole.first = pinhole.last = {pinhole.rotation, pinhole.translation};
    EXPECT_TRUE(draws_as_pinhole(pinhole)) << "the same path, so the same bits";
    pinhole.last.translation.x += 0.1;
    EXPECT_FALSE(draws_as_pinhole(pinhole));
}

/// A scene of a moving, turning camera: shifts of tens of pixels.
Camera moving(CameraModel model, Shutter shutter) {
    Camera c = look_at({0, 0, -4}, {0, 0, 0}, {0, -1, 0}, 640, 480, 1.0);
    c.model = model;
    if (model != CameraModel::pinhole) c.distortion = {-0.05, 0.01};
    c.shutter = shutter;
    const Quatd q = quat_from_rotation(c.rotation);
    const auto turn = [&](double s) {
        return rotation_from_quat({1, 0.01 * s, 0.02 * s, -0.01 * s}) * rotation_from_quat(q);
    };
    c.first = {turn(-1), c.translation - Vec3d{0.05, 0.02, -0.06}};
    c.last = {turn(1), c.translation + Vec3d{0.05, 0.02, -0.06}};
    const Pose middle = c.pose_at(0.5);
    c.rotation = middle.rotation;
    c.translation = middle.translation;
    return c;
}

TEST(RollingShutter, CovarianceIsOfThePictureAsItIsRead) {
    // Small Gaussians: the picture's covariance is that of their points, each seen at its own
    // moment.
    for (const CameraModel model : {CameraModel::pinhole, CameraModel::opencv_fisheye})
        for (const Direction& direction : kDirections) {
            SCOPED_TRACE(direction.name);
            const auto cam = math::make_lens_camera<double>(moving(model, direction.shutter));
            auto still = cam;
            still.shutter.on = false;
            double worst = 0, without = 0;
            for (std::uint64_t i = 0; i < 40; ++i) {
                const auto r = [&](std::uint64_t k) { return random_in(5, i, k, -1, 1); };
                const Vec3d mean{r(0), r(1), r(2)};
                const double s = 1e-4;
                const auto p = math::project(cam, mean, {s, s, s}, {1, 0, 0, 0});
                double j[2][3];  // by finite differences through the shutter
                for (int k = 0; k < 3; ++k) {
                    const Vec3d step{k == 0 ? 1e-5 : 0, k == 1 ? 1e-5 : 0, k == 2 ? 1e-5 : 0};
                    const auto ahead = math::project(cam, mean + step, {s, s, s}, {1, 0, 0, 0}),
                               behind = math::project(cam, mean - step, {s, s, s}, {1, 0, 0, 0});
                    j[0][k] = (ahead.mean.x - behind.mean.x) / 2e-5;
                    j[1][k] = (ahead.mean.y - behind.mean.y) / 2e-5;
                }
                std::vector<double> expected;
                for (const auto& [a, b] : {std::pair{0, 0}, {0, 1}, {1, 1}})
                    expected.push_back(s * s *
                                       (j[a][0] * j[b][0] + j[a][1] * j[b][1] + j[a][2] * j[b][2]));
                const auto values = [](const Sym2<double>& c) {
                    return std::vector<double>{c.xx, c.xy, c.yy};
                };
                worst = std::max(worst, relative_l2(values(p.cov), expected));
                const auto global = math::project(still, mean, {s, s, s}, {1, 0, 0, 0});
                without = std::max(without, relative_l2(values(global.cov), expected));
            }
            EXPECT_LT(worst, 1e-5);
            EXPECT_GT(without, 0.01) << "leaving the motion out would show";
        }
}

TEST(RollingShutter, GradientsAgreeWithFiniteDifferences) {
    for (const CameraModel model : {CameraModel::pinhole, CameraModel::opencv_fisheye}) {
        const auto cam = math::make_lens_camera<double>(moving(model, Shutter::top_to_bottom));
        double worst_mean = 0, worst_all = 0;
        for (std::uint64_t i = 0; i < 40; ++i) {
            const auto r = [&](std::uint64_t k) { return random_in(6, i, k, -1, 1); };
            std::vector<double> x{r(0), r(1), r(2), 0.1, 0.2, 0.05, r(3), r(4), r(5), r(6)};
            const auto error_of = [&](double extent) {
                const double v[6] = {r(7),           r(8),           extent * r(9),
                                     extent * r(10), extent * r(11), r(12)};
                const auto g = math::project_vjp(cam, {x[0], x[1], x[2]}, {x[3], x[4], x[5]},
                                                 {x[6], x[7], x[8], x[9]}, {v[0], v[1]},
                                                 {v[2], v[3], v[4]}, v[5]);
                const auto value = [&](const std::vector<double>& y) {
                    const auto p = math::project(cam, {y[0], y[1], y[2]}, {y[3], y[4], y[5]},
                                                 {y[6], y[7], y[8], y[9]});
                    return v[0] * p.mean.x + v[1] * p.mean.y + v[2] * p.cov.xx + v[3] * p.cov.xy +
                           v[4] * p.cov.yy + v[5] * p.depth;
                };
                std::vector<double> expected;
                for (std::size_t k = 0; k < x.size(); ++k) {
                    std::vector<double> hi = x, lo = x;
                    hi[k] += 1e-5;
                    lo[k] -= 1e-5;
                    expected.push_back((value(hi) - value(lo)) / 2e-5);
                }
                return relative_l2(
                    std::vector<double>{g.mean.x, g.mean.y, g.mean.z, g.scale.x, g.scale.y,
                                        g.scale.z, g.quat.w, g.quat.x, g.quat.y, g.quat.z},
                    expected);
            };
            worst_mean = std::max(worst_mean, error_of(0));
            worst_all = std::max(worst_all, error_of(0.01));
        }
        EXPECT_LT(worst_mean, 1e-5);
        EXPECT_LT(worst_all, 1e-5) << "what moment, turn and stretch do to the extent";
    }
}

}  // namespace
}  // namespace gs::test
