// Every lens against the stored numbers of reference/sensors and of OpenCV, in double, float and
// packs of lanes; there and back; where it ends.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "renderer/raster/cpu/pack.h"
#include "renderer/scene/camera_lens.h"
#include "tests/kernels/lens_cameras.h"
#include "tests/kernels/stored_lenses.h"
#include "tests/support/data.h"
#include "tests/support/npz.h"

namespace gs::test {
namespace {

Vec3d vec3_at(const Array& a, std::size_t i) { return {a[3 * i], a[3 * i + 1], a[3 * i + 2]}; }
template <class T>
Vec3<T> as(Vec3d v) {
    return {static_cast<T>(v.x), static_cast<T>(v.y), static_cast<T>(v.z)};
}

/// Whether a pixel is where it may be compared by px: within three pictures.
bool nearby(const Camera& camera, double u, double v) {
    return std::abs(u - 0.5 * camera.width) < 1.5 * camera.width &&
           std::abs(v - 0.5 * camera.height) < 1.5 * camera.height;
}

template <class T>
void expect_stored(double px, double relative, double ray_error) {
    GS_NEED_DATA("reference/sensors/lenses.npz");
    const Arrays data = load_npz(data_path("reference/sensors/lenses.npz"));
    for (const std::string name : kStoredLenses) {
        SCOPED_TRACE(name);
        const Camera camera = stored_lens(data, name);
        const auto lens = math::make_lens<T>(camera);
        const auto& points = data[name + "_points"];
        const auto &uv = data[name + "_uv"], &j = data[name + "_jacobian"],
                   &valid = data[name + "_valid"];
        for (std::size_t i = 0; i < points.dim(0); ++i) {
            const Vec3d p = vec3_at(points, i);
            const auto on = math::lens_project(lens, as<T>(p));
            ASSERT_EQ(on.valid, valid[i] != 0) << i;
            if (!on.valid) continue;
            // Far outside the picture by what a float holds.
            const double slack =
                nearby(camera, uv[2 * i], uv[2 * i + 1])
                    ? px
                    : px * std::max({1.0, std::abs(uv[2 * i]), std::abs(uv[2 * i + 1])});
            ASSERT_NEAR(static_cast<double>(on.uv.x), uv[2 * i], slack) << i;
            ASSERT_NEAR(static_cast<double>(on.uv.y), uv[2 * i + 1], slack) << i;
            const auto jacobian = math::lens_jacobian(lens, as<T>(p));
            double largest = 0;
            for (std::size_t k = 0; k < 6; ++k) largest = std::max(largest, std::abs(j[6 * i + k]));
            for (std::size_t k = 0; k < 6; ++k)
                ASSERT_NEAR(static_cast<double>(jacobian.j[k / 3][k % 3]), j[6 * i + k],
                            relative * largest)
                    << i << ", " << k;
        }
        const auto &grid = data[name + "_grid"], &rays = data[name + "_grid_ray"],
                   &origins = data[name + "_grid_origin"], &seen = data[name + "_grid_valid"];
        for (std::size_t i = 0; i < grid.dim(0); ++i) {
            const auto ray = math::lens_ray(
                lens, Vec2<T>{static_cast<T>(grid[2 * i]), static_cast<T>(grid[2 * i + 1])});
            ASSERT_EQ(ray.valid, seen[i] != 0) << i;
            if (!ray.valid) continue;
            const Vec3d d = as<double>({static_cast<double>(ray.direction.x),
                                        static_cast<double>(ray.direction.y),
                                        static_cast<double>(ray.direction.z)}) -
                            vec3_at(rays, i);
            ASSERT_LT(std::sqrt(dot(d, d)), ray_error) << i;
            ASSERT_NEAR(static_cast<double>(ray.origin.x), origins[3 * i], 10 * ray_error);
            ASSERT_NEAR(static_cast<double>(ray.origin.y), origins[3 * i + 1], 10 * ray_error);
        }
    }
}

TEST(LensModels, AgreeWithStoredNumbersInDouble) { expect_stored<double>(1e-9, 1e-8, 1e-9); }
TEST(LensModels, AgreeWithStoredNumbersInFloat) { expect_stored<float>(1e-3, 1e-4, 1e-5); }

// What the kernels have in place of the mathematical library's.
TEST(Angles, HaveSinesAndCosinesInFloat) {
    for (const double most : {1.6, 3.2, 100.0, 1000.0})
        for (int i = -20000; i <= 20000; ++i) {
            const auto x = static_cast<float>(most * i / 20000);
            const double exact = x;
            ASSERT_NEAR(static_cast<double>(math::sin(x)), std::sin(exact), 1.3e-7) << x;
            ASSERT_NEAR(static_cast<double>(math::cos(x)), std::cos(exact), 1.3e-7) << x;
            if (most > 2) continue;  // small angles keep their digits
            ASSERT_NEAR(static_cast<double>(math::sin(x)), std::sin(exact),
                        1.2e-7 * std::abs(std::sin(exact)))
                << x;
        }
    EXPECT_TRUE(std::isnan(math::sin(std::numeric_limits<float>::infinity())));
    EXPECT_TRUE(std::isnan(math::cos(std::numeric_limits<float>::quiet_NaN())));
}

TEST(LensModels, PacksAreFloats) {
    GS_NEED_DATA("reference/sensors/lenses.npz");
    const Arrays data = load_npz(data_path("reference/sensors/lenses.npz"));
    using namespace cpu::HWY_NAMESPACE;
    for (const std::string name : kStoredLenses) {
        SCOPED_TRACE(name);
        const Camera camera = stored_lens(data, name);
        const auto lens = math::make_lens<Pack>(camera);
        const auto single = math::make_lens<double>(camera);
        const auto& points = data[name + "_points"];
        for (std::size_t i = 0; i + kPack <= points.dim(0); i += kPack) {
            float x[kPack], y[kPack], z[kPack];
            for (std::size_t k = 0; k < kPack; ++k) {
                const Vec3f p = as<float>(vec3_at(points, i + k));
                x[k] = p.x, y[k] = p.y, z[k] = p.z;
            }
            const Vec3<Pack> p{load(x), load(y), load(z)};
            const auto on = math::lens_project(lens, p);
            const auto jacobian = math::lens_jacobian(lens, p);
            const std::uint32_t valid = bits_of(on.valid);
            for (int k = 0; k < kPack; ++k) {
                const Vec3d q{x[k], y[k], z[k]};
                const auto expected = math::lens_project(single, q);
                ASSERT_EQ((valid >> k & 1) != 0, expected.valid);
                if (!expected.valid || !nearby(camera, expected.uv.x, expected.uv.y)) continue;
                ASSERT_NEAR(static_cast<double>(on.uv.x.v[k]), expected.uv.x, 1.5e-3);
                ASSERT_NEAR(static_cast<double>(on.uv.y.v[k]), expected.uv.y, 1.5e-3);
                const auto expected_j = math::lens_jacobian(single, q);
                double largest = 0;
                for (const auto& row : expected_j.j)
                    for (const double e : row) largest = std::max(largest, std::abs(e));
                for (int r = 0; r < 2; ++r)
                    for (int c = 0; c < 3; ++c)
                        ASSERT_NEAR(static_cast<double>(jacobian.j[r][c].v[k]), expected_j.j[r][c],
                                    1e-4 * largest);
            }
        }
    }
}

TEST(LensModels, AgreeWithOpenCv) {
    GS_NEED_DATA("reference/camera/camera_models.npz");
    const Arrays data = load_npz(data_path("reference/camera/camera_models.npz"));
    struct Case {
        const char* name;
        CameraModel model;
    };
    for (const Case& c : {Case{"pinhole", CameraModel::pinhole},
                          {"simple_radial", CameraModel::simple_radial},
                          {"radial", CameraModel::radial},
                          {"opencv", CameraModel::opencv},
                          {"full_opencv", CameraModel::full_opencv},
                          {"thin_prism_rational", CameraModel::full_opencv},
                          {"opencv_fisheye", CameraModel::opencv_fisheye}}) {
        SCOPED_TRACE(c.name);
        const bool fisheye = c.model == CameraModel::opencv_fisheye;
        const Array &points = data[fisheye ? "fisheye_points_cam" : "points_cam"],
                    &k = data[fisheye ? "fisheye_K" : "K"], &uv = data[std::string(c.name) + "_uv"],
                    &params = data[std::string(c.name) + "_params"];
        Camera camera{.model = c.model,
                      .width = 320,
                      .height = 240,
                      .fx = k[0],
                      .fy = k[4],
                      .cx = k[2],
                      .cy = k[5]};
        for (std::size_t i = 0; i < params.size(); ++i) camera.distortion[i] = params[i];
        const auto lens = math::make_lens(camera);
        for (std::size_t i = 0; i < points.dim(0); ++i) {
            const auto on = math::lens_project(lens, vec3_at(points, i));
            ASSERT_NEAR(on.uv.x, uv[2 * i], 1e-9 * std::max(1.0, std::abs(uv[2 * i])));
            ASSERT_NEAR(on.uv.y, uv[2 * i + 1], 1e-9 * std::max(1.0, std::abs(uv[2 * i + 1])));
        }
    }
}

TEST(LensModels, PixelToRayToPixel) {
    for (const Camera& camera : every_lens()) {
        SCOPED_TRACE(static_cast<int>(camera.model));
        const auto lens = math::make_lens(camera);
        const auto single = math::make_lens<float>(camera);
        int seen = 0;
        for (double v = 0.5; v < camera.height; v += 13.1)
            for (double u = 0.5; u < camera.width; u += 13.3) {
                const auto ray = math::lens_ray(lens, {u, v});
                if (!ray.valid) continue;
                ++seen;
                ASSERT_NEAR(dot(ray.direction, ray.direction), 1, 1e-12);
                const Vec3d p = ray.origin + 3.7 * ray.direction;
                const auto on = math::lens_project(lens, p);
                ASSERT_TRUE(on.valid);
                ASSERT_NEAR(on.uv.x, u, 1e-7) << v;
                ASSERT_NEAR(on.uv.y, v, 1e-7) << u;
                const auto ray_f =
                    math::lens_ray(single, Vec2f{static_cast<float>(u), static_cast<float>(v)});
                const auto on_f = math::lens_project(single, ray_f.origin + 3.7f * ray_f.direction);
                ASSERT_NEAR(on_f.uv.x, u, 1e-3);
                ASSERT_NEAR(on_f.uv.y, v, 1e-3);
            }
        EXPECT_GT(seen, 1200);
    }
}

TEST(LensModels, FoldingLensesEndWhereTheyFold) {
    Camera camera = every_lens()[1];
    camera.distortion = {-0.3};  // r (1 - 0.3 r^2) peaks at 1 / sqrt(0.9)
    const auto lens = math::make_lens(camera);
    const double fold = 1 / std::sqrt(0.9);
    EXPECT_NEAR(std::sqrt(lens.limit_squared), fold, 1e-9);
    EXPECT_TRUE(math::lens_project(lens, {0, 0.999 * fold, 1}).valid);
    EXPECT_FALSE(math::lens_project(lens, {0, 1.001 * fold, 1}).valid);
    const double rim = camera.cy + camera.fy * fold * (1 - 0.3 * fold * fold);
    EXPECT_TRUE(math::lens_ray(lens, {camera.cx, rim - 0.1}).valid);
    EXPECT_FALSE(math::lens_ray(lens, {camera.cx, rim + 0.1}).valid);

    camera = every_lens()[5];
    camera.distortion = {
        -0.1};  // theta (1 - 0.1 theta^2) peaks at sqrt(1 / 0.3), beyond 90 degrees
    const double widest = std::sqrt(1 / 0.3);
    const auto fisheye = math::make_lens(camera);
    EXPECT_NEAR(std::sqrt(fisheye.limit_squared), widest, 1e-9);
    EXPECT_TRUE(math::lens_project(fisheye, {std::sin(1.8), 0, std::cos(1.8)}).valid);
    EXPECT_FALSE(math::lens_project(fisheye, {std::sin(1.85), 0, std::cos(1.85)}).valid);

    // A polynomial of angles that turns back before the largest angle the file names.
    camera = every_lens()[8];
    camera.distortion = {0, 1, 0, -0.1, 0, 0, 1, 0, 0, 2, 1};  // d - 0.1 d^3 peaks at 1.2172
    EXPECT_NEAR(std::sqrt(math::make_lens(camera).limit_squared), 1.21716, 1e-4);
    // Behind a pole of the rational factor nothing is seen, though it grows there.
    camera = every_lens()[4];
    camera.distortion = {0, 0, 0, 0, 0, -1};  // 1 / (1 - r^2)
    const auto pole = math::make_lens(camera);
    EXPECT_TRUE(math::lens_project(pole, {0.5, 0, 1}).valid);
    EXPECT_FALSE(math::lens_project(pole, {1.5, 0, 1}).valid);
}

TEST(LensModels, WhatIsNotSeenSaysSo) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const Camera& camera : every_lens()) {
        SCOPED_TRACE(static_cast<int>(camera.model));
        const auto lens = math::make_lens(camera);
        const bool anywhere = camera.model == CameraModel::equirectangular;
        EXPECT_TRUE(math::lens_project(lens, {0, 0, 2}).valid) << "on the axis";
        EXPECT_EQ(math::lens_project(lens, {0, 0, -2}).valid, anywhere) << "behind";
        for (const Vec3d& poison : {Vec3d{nan, 0, 1}, Vec3d{0, nan, 1}, Vec3d{0, 0, nan}})
            EXPECT_FALSE(math::lens_project(lens, poison).valid);
        EXPECT_FALSE(math::lens_project(lens, {0, 0, 0}).valid);
        // The axis falls on the principal point and moves there as beside it.
        const auto on = math::lens_project(lens, {0, 0, 2});
        EXPECT_NEAR(on.uv.x, camera.cx, 1e-9);
        const auto j = math::lens_jacobian(lens, {0, 0, 2}),
                   beside = math::lens_jacobian(lens, {1e-9, -1e-9, 2});
        for (int k = 0; k < 6; ++k)
            EXPECT_NEAR(j.j[k / 3][k % 3], beside.j[k / 3][k % 3], 1e-4 * camera.fx);
    }
}

TEST(LensModels, PolesAndSeamOfAnEquirectangularPictureAreFinite) {
    const auto lens = math::make_lens<float>(every_lens().back());
    EXPECT_EQ(lens.wrap_width, 640.0f);
    const auto left = math::lens_project(lens, Vec3f{-1e-6f, 0, -1}),
               right = math::lens_project(lens, Vec3f{1e-6f, 0, -1});
    EXPECT_NEAR(right.uv.x - left.uv.x, 640, 1e-2);
    for (const Vec3f& pole : {Vec3f{0, 1, 0}, Vec3f{0, -1, 0}, Vec3f{1e-20f, 1, 1e-20f}}) {
        EXPECT_TRUE(math::lens_project(lens, pole).valid);
        const auto j = math::lens_jacobian(lens, pole);
        const float v_j[2][3] = {{1, 1, 1}, {1, 1, 1}};
        const Vec3f g = math::lens_vjp(lens, pole, Vec2f{1, 1}, v_j);
        float sum = g.x + g.y + g.z;
        for (const auto& row : j.j)
            for (const float x : row) sum += x;
        EXPECT_TRUE(std::isfinite(sum));
    }
}

}  // namespace
}  // namespace gs::test
