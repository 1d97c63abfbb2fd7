// The derivatives of every lens against dual numbers: Jacobian of the pixel, vjp of pixel and
// Jacobian, and of a Gaussian's whole projection.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "renderer/math/lens_intrinsics.h"
#include "renderer/scene/camera_lens.h"
#include "tests/kernels/stored_lenses.h"
#include "tests/support/compare.h"
#include "tests/support/data.h"
#include "tests/support/dual.h"
#include "tests/support/npz.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

using Values = std::vector<double>;

class Numbers {
  public:
    explicit Numbers(std::uint64_t seed) : seed_(seed) {}
    double in(double lo, double hi) { return random_in(seed_, 0, counter_++, lo, hi); }

  private:
    std::uint64_t seed_, counter_ = 0;
};

Vec3<Dual> dual(Vec3d p, int axis) {
    Vec3<Dual> d{p.x, p.y, p.z};
    (axis == 0 ? d.x : axis == 1 ? d.y : d.z).slope = 1;
    return d;
}

struct NamedCamera {
    std::string name;
    Camera camera;
};
/// The stored lenses, and what they lack.
std::vector<NamedCamera> lenses(const Arrays& data) {
    std::vector<NamedCamera> out;
    for (const std::string name : kStoredLenses) out.push_back({name, stored_lens(data, name)});
    Camera c = out[2].camera;
    c.model = CameraModel::thin_prism_fisheye;
    c.distortion = {0.02, -0.004, 0.0008, -0.0005, 0.001, -0.0002, 0.0006, -0.0004};
    out.push_back({"thin_prism_fisheye", c});
    c = out[1].camera;
    c.model = CameraModel::opencv;
    c.distortion = {-0.25, 0.08, 0.001, -0.002};
    out.push_back({"opencv of four", c});
    return out;
}

/// Points of the file that the lens sees not too far outside its picture, and some on the axis.
std::vector<Vec3d> seen_points(const Arrays& data, const NamedCamera& c, std::size_t every) {
    const std::string name = data.has(c.name + "_points") ? c.name : "kb4";
    const Array& points = data[name + "_points"];
    const auto lens = math::make_lens(c.camera);
    std::vector<Vec3d> out{{0, 0, 2}, {0.02, -0.03, 1.5}, {0.2, 0.1, 1.0}};
    // A polynomial with even powers has no second derivative on the axis itself.
    if (c.camera.model != CameraModel::ftheta) out.push_back({1e-6, -2e-6, 3});
    for (std::size_t i = 0; i < points.dim(0); i += every) {
        const Vec3d p{points[3 * i], points[3 * i + 1], points[3 * i + 2]};
        const auto on = math::lens_project(lens, p);
        if (on.valid && std::abs(on.uv.x) < 3.0 * c.camera.width &&
            std::abs(on.uv.y) < 3.0 * c.camera.height)
            out.push_back(p);
    }
    return out;
}

TEST(LensVjp, IsWhatDualNumbersSay) {
    GS_NEED_DATA("reference/sensors/lenses.npz");
    const Arrays data = load_npz(data_path("reference/sensors/lenses.npz"));
    Numbers random(31);
    for (const NamedCamera& c : lenses(data)) {
        SCOPED_TRACE(c.name);
        const auto lens = math::make_lens(c.camera);
        const auto duals = math::lens_cast<Dual>(lens);
        for (const Vec3d& p : seen_points(data, c, 3)) {
            const Vec2<double> v_uv{random.in(-1, 1), random.in(-1, 1)};
            double v_j[2][3];
            for (auto& row : v_j)
                for (double& x : row) x = random.in(-1, 1);
            const auto j = math::lens_jacobian(lens, p);
            const Vec3d g = math::lens_vjp(lens, p, v_uv, v_j);
            std::vector<double> slopes, jacobian, expected;
            for (int axis = 0; axis < 3; ++axis) {
                const auto at = dual(p, axis);
                const auto on = math::lens_project(duals, at);
                slopes.insert(slopes.end(), {on.uv.x.slope, on.uv.y.slope});
                jacobian.insert(jacobian.end(), {j.j[0][axis], j.j[1][axis]});
                double sum = v_uv.x * on.uv.x.slope + v_uv.y * on.uv.y.slope;
                const auto bent = math::lens_jacobian(duals, at);
                for (int r = 0; r < 2; ++r)
                    for (int k = 0; k < 3; ++k) sum += v_j[r][k] * bent.j[r][k].slope;
                expected.push_back(sum);
            }
            // Through a series at the axis, and roots found by Newton's method.
            ASSERT_LE(relative_l2(jacobian, slopes), 1e-9) << p.x << ' ' << p.y << ' ' << p.z;
            ASSERT_LE(relative_l2(Values{g.x, g.y, g.z}, expected), 1e-8)
                << p.x << ' ' << p.y << ' ' << p.z;
        }
    }
}

TEST(LensVjp, OfTheLenssOwnNumbers) {
    GS_NEED_DATA("reference/sensors/lenses.npz");
    const Arrays data = load_npz(data_path("reference/sensors/lenses.npz"));
    Numbers random(35);
    for (const NamedCamera& c : lenses(data)) {
        const auto lens = math::make_lens(c.camera);
        const bool rational = lens.radial == math::LensRadial::rational;
        if (!rational) continue;
        SCOPED_TRACE(c.name);
        for (const Vec3d& p : seen_points(data, c, 9)) {
            const Vec2<double> v_uv{random.in(-1, 1), random.in(-1, 1)};
            double v_j[2][3];
            for (auto& row : v_j)
                for (double& x : row) x = random.in(-1, 1);
            const auto at = math::bounded_place(lens, math::base_place(lens.base, p));
            const auto g = math::lens_intrinsics_vjp(lens, p, at, v_uv, v_j);
            auto duals = math::lens_cast<Dual>(lens);
            duals.decentred = true;
            Dual* const numbers[] = {nullptr,     &duals.n[0], &duals.n[1], &duals.n[2],
                                     &duals.n[3], &duals.m[0], &duals.m[1], &duals.m[2],
                                     &duals.p1,   &duals.p2,   &duals.s1,   &duals.s2,
                                     &duals.s3,   &duals.s4};
            // Of the logarithm of both focal lengths the slopes are they themselves.
            const auto tilt = [&](int number, double slope) {
                if (number != math::kFocal) return void(numbers[number]->slope = slope);
                duals.fx.slope = slope * lens.fx;
                duals.fy.slope = slope * lens.fy;
            };
            const Vec3<Dual> point{p.x, p.y, p.z};
            const Vec2<Dual> place{at.x, at.y};
            for (int number = 0; number < math::kLensNumbers; ++number) {
                tilt(number, 1);
                const auto on = math::lens_project(duals, point);
                const auto j = math::lens_jacobian_at(duals, point, place);
                tilt(number, 0);
                double expected = v_uv.x * on.uv.x.slope + v_uv.y * on.uv.y.slope, size = 0;
                for (int k = 0; k < 6; ++k) {
                    const double part = v_j[k / 3][k % 3] * j.j[k / 3][k % 3].slope;
                    expected += part;
                    size += std::abs(part);
                }
                ASSERT_NEAR(g.v[number], expected, 1e-9 * (1 + size + std::abs(expected)))
                    << number;
            }
        }
    }
}

TEST(LensVjp, InFloatStaysClose) {
    GS_NEED_DATA("reference/sensors/lenses.npz");
    const Arrays data = load_npz(data_path("reference/sensors/lenses.npz"));
    Numbers random(32);
    for (const NamedCamera& c : lenses(data)) {
        SCOPED_TRACE(c.name);
        const auto lens = math::make_lens(c.camera);
        const auto single = math::lens_cast<float>(lens);
        for (const Vec3d& p : seen_points(data, c, 5)) {
            const Vec3f pf{static_cast<float>(p.x), static_cast<float>(p.y),
                           static_cast<float>(p.z)};
            const Vec3d exact{pf.x, pf.y, pf.z};
            double v_j[2][3];
            float v_jf[2][3];
            for (int k = 0; k < 6; ++k) {
                v_jf[k / 3][k % 3] = static_cast<float>(random.in(-1, 1));
                v_j[k / 3][k % 3] = static_cast<double>(v_jf[k / 3][k % 3]);
            }
            const Vec3d g = math::lens_vjp(lens, exact, {0.3, -0.7}, v_j);
            const Vec3f f = math::lens_vjp(single, pf, {0.3f, -0.7f}, v_jf);
            const Vec3d off = g - Vec3d{f.x, f.y, f.z};
            ASSERT_LE(std::sqrt(dot(off, off) / dot(g, g)), 2e-3)
                << p.x << ' ' << p.y << ' ' << p.z;
        }
    }
}

TEST(LensVjp, OfAGaussiansProjection) {
    GS_NEED_DATA("reference/sensors/lenses.npz");
    const Arrays data = load_npz(data_path("reference/sensors/lenses.npz"));
    Numbers random(33);
    for (const NamedCamera& c : lenses(data)) {
        SCOPED_TRACE(c.name);
        Camera camera = c.camera;
        camera.rotation = rotation_from_quat({0.9, 0.1, -0.3, 0.2});
        camera.translation = {0.3, -0.2, 0.1};
        const auto cam = math::make_lens_camera<double>(camera);
        const auto duals = math::lens_camera_cast<Dual>(cam);
        for (const Vec3d& p : seen_points(data, c, 9)) {
            const Vec3d world = transpose(camera.rotation) * (p - camera.translation);
            double x[10] = {world.x, world.y, world.z};
            for (int k = 3; k < 6; ++k) x[k] = random.in(0.01, 0.4);
            for (int k = 6; k < 10; ++k) x[k] = random.in(-1, 1);
            double v[6];
            for (double& k : v) k = random.in(-1, 1);
            const auto g =
                math::project_vjp(cam, {x[0], x[1], x[2]}, {x[3], x[4], x[5]},
                                  {x[6], x[7], x[8], x[9]}, {v[0], v[1]}, {v[2], v[3], v[4]}, v[5]);
            std::vector<double> expected;
            for (int i = 0; i < 10; ++i) {
                Dual d[10];
                for (int k = 0; k < 10; ++k) d[k] = x[k];
                d[i].slope = 1;
                const auto q = math::project(duals, {d[0], d[1], d[2]}, {d[3], d[4], d[5]},
                                             {d[6], d[7], d[8], d[9]});
                expected.push_back(v[0] * q.mean.x.slope + v[1] * q.mean.y.slope +
                                   v[2] * q.cov.xx.slope + v[3] * q.cov.xy.slope +
                                   v[4] * q.cov.yy.slope + v[5] * q.depth.slope);
            }
            const std::vector<double> actual{g.mean.x,  g.mean.y, g.mean.z, g.scale.x, g.scale.y,
                                             g.scale.z, g.quat.w, g.quat.x, g.quat.y,  g.quat.z};
            ASSERT_LE(relative_l2(actual, expected), 1e-8) << p.x << ' ' << p.y << ' ' << p.z;
        }
    }
}

TEST(LensVjp, ALensWithoutDistortionIsAPinhole) {
    Numbers random(34);
    for (std::uint64_t i = 0; i < 60; ++i) {
        Camera camera = random_camera(9, i, 320, 200);
        const auto pinhole =
            math::make_pinhole<float>(camera.rotation, camera.translation, camera.fx, camera.fy,
                                      camera.cx, camera.cy, camera.width, camera.height);
        camera.model = CameraModel::full_opencv;
        const auto lens = math::make_lens_camera<float>(camera);
        EXPECT_FLOAT_EQ(lens.lens.a_lo, pinhole.x_lo);
        EXPECT_FLOAT_EQ(lens.lens.b_hi, pinhole.y_hi);
        const auto f = [&](double lo, double hi) { return static_cast<float>(random.in(lo, hi)); };
        const Vec3f mean{f(-1, 1), f(-1, 1), f(-1, 1)}, scale{f(.01, .5), f(.01, .5), f(.01, .5)};
        const Quatf quat{f(-1, 1), f(-1, 1), f(-1, 1), f(-1, 1)};
        const auto a = math::project(pinhole, mean, scale, quat),
                   b = math::project(lens, mean, scale, quat);
        if (a.depth < 0.01f) continue;
        EXPECT_EQ(a.depth, b.depth);
        const auto v = [](const auto& p) {
            return Values{p.mean.x, p.mean.y, p.cov.xx, p.cov.xy, p.cov.yy};
        };
        EXPECT_LE(relative_l2(v(b), v(a)), 1e-5);
        const Vec2f v_mean{f(-1, 1), f(-1, 1)};
        const Sym2<float> v_cov{f(-1, 1), f(-1, 1), f(-1, 1)};
        const auto ga = math::project_vjp(pinhole, mean, scale, quat, v_mean, v_cov, 0.5f),
                   gb = math::project_vjp(lens, mean, scale, quat, v_mean, v_cov, 0.5f);
        EXPECT_LE(relative_l2(Values{gb.mean.x, gb.mean.y, gb.mean.z, gb.scale.x, gb.quat.w},
                              Values{ga.mean.x, ga.mean.y, ga.mean.z, ga.scale.x, ga.quat.w}),
                  2e-4);
    }
}

}  // namespace
}  // namespace gs::test
