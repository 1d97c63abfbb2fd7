// The unscented transform: against stored numbers, the moments of many samples, finite differences
// and EWA where a Gaussian is small; what happens to points that a lens does not see.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "renderer/math/unscented.h"
#include "renderer/reference/project.h"
#include "renderer/reference/unscented.h"
#include "renderer/scene/camera_lens.h"
#include "tests/kernels/lens_cameras.h"
#include "tests/kernels/projected_gradient.h"
#include "tests/kernels/stored_lenses.h"
#include "tests/support/compare.h"
#include "tests/support/data.h"
#include "tests/support/npz.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

constexpr const char* kUnscentedFile = "reference/sensors/unscented.npz";

struct Gaussian {
    Vec3d mean, scale;
    Quatd quat;
};
double apart(const Sym2<double>& a, const Sym2<double>& b) {
    return relative_l2(std::vector<double>{a.xx, a.xy, a.yy},
                       std::vector<double>{b.xx, b.xy, b.yy});
}
math::SigmaWeights<double> weights_of(const reference::SigmaConstants& c) {
    return {c.alpha * std::sqrt(3 + c.kappa), c.beta - c.alpha * c.alpha};
}
math::Projection<double> projected(const math::LensCamera<double>& camera, const Gaussian& g,
                                   const reference::SigmaConstants& constants = {}) {
    return math::trace_unscented<false, double>(camera, weights_of(constants), g.mean, g.scale,
                                                g.quat)
        .projection;
}
math::ProjectionGradients<double> gradients_of(const math::LensCamera<double>& camera,
                                               const Gaussian& g, Vec2<double> v_mean,
                                               Sym2<double> v_cov, double v_depth) {
    const math::UnscentedCamera<double> through{camera};
    return math::trace_vjp(through, math::trace(through, g.mean, g.scale, g.quat), g.mean, g.scale,
                           g.quat, v_mean, v_cov, v_depth);
}
Camera at_origin(Camera camera) {
    camera.rotation = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    camera.translation = {0, 0, 0};
    return camera;
}

TEST(Unscented, MomentsAreTheStoredOnes) {
    GS_NEED_DATA(kUnscentedFile);
    const Arrays data = load_npz(data_path(kUnscentedFile)),
                 lenses = load_npz(data_path("reference/sensors/lenses.npz"));
    for (const std::string name : kStoredLenses) {
        if (name == "ortho") continue;  // drawn by EWA, which is the same there
        const Camera camera = at_origin(stored_lens(lenses, name));
        const auto cam = math::make_lens_camera<double>(camera);
        const auto jets = math::make_lens_camera<reference::Jet>(camera);
        const Array &means = data[name + "_means"], &quats = data[name + "_quats"],
                    &scales = data[name + "_scales"];
        for (const std::string state : {"a01", "a1"}) {
            SCOPED_TRACE(name + " " + state);
            const reference::SigmaConstants constants{state == "a1" ? 1.0 : 0.1, 2, 0};
            const std::string key = name + "_" + state + "_";
            const Array &valid = data[key + "point_valid"], &mean = data[key + "mean"],
                        &cov = data[key + "cov"];
            int compared = 0;
            for (std::size_t i = 0; i < means.dim(0); ++i) {
                bool all = true;
                for (std::size_t k = 0; k < 7; ++k) all = all && valid[7 * i + k] != 0;
                if (!all) continue;
                ++compared;
                const Gaussian g{
                    {means[3 * i], means[3 * i + 1], means[3 * i + 2]},
                    {scales[3 * i], scales[3 * i + 1], scales[3 * i + 2]},
                    {quats[4 * i], quats[4 * i + 1], quats[4 * i + 2], quats[4 * i + 3]}};
                const Sym2<double> stored{cov[4 * i], cov[4 * i + 1], cov[4 * i + 3]};
                const auto p = projected(cam, g, constants);
                ASSERT_GT(p.depth, 0) << i;
                const auto own = reference::sigma_place(jets, g.mean, g.scale,
                                                        rotation_from_quat(g.quat), constants);
                ASSERT_TRUE(own.middle.valid);
                // A panorama's stored mean may lie beyond the seam.
                const double width = cam.lens.wrap_width;
                const auto off = [&](double x) {
                    return width > 0 ? std::remainder(x - mean[2 * i], width) : x - mean[2 * i];
                };
                // Weights of 100 cost the plain sums four digits.
                const double digits = state == "a1" ? 1e-9 : 1e-6;
                ASSERT_NEAR(off(p.mean.x), 0, 100 * digits) << i;
                ASSERT_NEAR(p.mean.y, mean[2 * i + 1], 100 * digits) << i;
                ASSERT_LE(apart(p.cov, stored), digits) << i;
                ASSERT_NEAR(off(own.mean.x), 0, 100 * digits) << i;
                ASSERT_NEAR(own.mean.y, mean[2 * i + 1], 100 * digits) << i;
                ASSERT_LE(apart(own.cov, stored), digits) << i;
                ASSERT_NEAR(p.det, p.cov.xx * p.cov.yy - p.cov.xy * p.cov.xy,
                            1e-6 * p.cov.xx * p.cov.yy);
            }
            EXPECT_GT(compared, 60);
        }
    }
}

/// Standard normal numbers in pairs (Box and Muller).
double normal(std::uint64_t i, std::uint64_t k) {
    const double u = random_in(31, i, 2 * k, 1e-12, 1), v = random_in(31, i, 2 * k + 1, 0, 1);
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979323846 * v);
}

/// How far mean and covariance are from what 20,000 points of each Gaussian come to, mean of many.
struct Off {
    double mean_px = 0, cov = 0;
};
/// Large Gaussians near the camera: a fifth of their distance wide.
void measure(const Camera& camera, Off& ut, Off& ewa) {
    const auto cam = math::make_lens_camera<double>(camera);
    constexpr int kGaussians = 16, kSamples = 20000;
    for (std::uint64_t i = 0; i < kGaussians; ++i) {
        const auto r = [&](std::uint64_t k, double lo, double hi) {
            return random_in(32, i, k, lo, hi);
        };
        const Gaussian g{{r(0, -1, 1), r(1, -1, 1), r(2, 1, 1.6)},
                         {r(3, 0.1, 0.24), r(4, 0.1, 0.24), r(5, 0.1, 0.24)},
                         {r(6, -1, 1), r(7, -1, 1), r(8, -1, 1), r(9, -1, 1)}};
        const Mat3d turn = rotation_from_quat(g.quat);
        double sum[2] = {}, square[3] = {};
        for (std::uint64_t k = 0; k < kSamples; ++k) {
            const Vec3d by{g.scale.x * normal(i, 3 * k), g.scale.y * normal(i, 3 * k + 1),
                           g.scale.z * normal(i, 3 * k + 2)};
            const auto uv = math::lens_project(cam.lens, g.mean + turn * by).uv;
            sum[0] += uv.x, sum[1] += uv.y;
            square[0] += uv.x * uv.x, square[1] += uv.x * uv.y, square[2] += uv.y * uv.y;
        }
        const double x = sum[0] / kSamples, y = sum[1] / kSamples;
        const Sym2<double> truth{square[0] / kSamples - x * x, square[1] / kSamples - x * y,
                                 square[2] / kSamples - y * y};
        const auto by_points = projected(cam, g),
                   by_slope = math::project(cam, g.mean, g.scale, g.quat);
        ut.cov += apart(by_points.cov, truth) / kGaussians;
        ewa.cov += apart(by_slope.cov, truth) / kGaussians;
        ut.mean_px += std::hypot(by_points.mean.x - x, by_points.mean.y - y) / kGaussians;
        ewa.mean_px += std::hypot(by_slope.mean.x - x, by_slope.mean.y - y) / kGaussians;
    }
}
/// Nearer to the true moments than EWA is: the mean through every lens, the covariance where the
/// picture is flat. Through an equidistant fisheye both covariances are within a few percent, and
/// EWA's is the nearer one: the lens bends little there, and beta = 2 is made for small alpha.
TEST(Unscented, IsNearerToTheTrueMomentsThanTheJacobian) {
    Camera camera = at_origin(Camera{});
    camera.width = camera.height = 1000;
    camera.fx = camera.fy = 260;
    camera.cx = camera.cy = 500;
    Off ut, ewa;
    measure(camera, ut, ewa);
    EXPECT_LT(ut.mean_px, 0.15 * ewa.mean_px) << ut.mean_px << " px, " << ewa.mean_px;
    EXPECT_LT(ut.cov, 0.6 * ewa.cov) << ut.cov << " " << ewa.cov;
    camera.model = CameraModel::opencv_fisheye;
    camera.distortion = {0.03, -0.01, 0.002, -0.0005};
    ut = ewa = {};
    measure(camera, ut, ewa);
    EXPECT_LT(ut.mean_px, 0.4 * ewa.mean_px) << ut.mean_px << " px, " << ewa.mean_px;
    EXPECT_LT(ut.cov, 0.04) << ut.cov << " " << ewa.cov;
}

/// Each lens from within a scene, still and with a rolling shutter.
std::vector<Camera> cameras_to_try() {
    std::vector<Camera> out;
    for (Camera c : every_lens()) {
        if (c.orthographic()) continue;
        c = c.scaled_to(64, 48);
        c.rotation = rotation_from_quat({0.9, 0.2, -0.3, 0.1});
        c.translation = {0.3, -0.4, 0.8};
        out.push_back(c);
        c.shutter = out.size() % 4 < 2 ? Shutter::top_to_bottom : Shutter::right_to_left;
        const Mat3d half = rotation_from_quat({1, 0.01, -0.02, 0.015});
        c.first = {transpose(half) * c.rotation, c.translation - Vec3d{0.04, -0.03, 0.05}};
        c.last = {half * c.rotation, c.translation + Vec3d{0.04, -0.03, 0.05}};
        out.push_back(c);
    }
    return out;
}
reference::Parameters scene_around(std::size_t count, std::uint64_t seed, float scale) {
    return reference::Parameters(random_model({.count = count,
                                               .sh_degree = 0,
                                               .seed = seed,
                                               .extent = 3,
                                               .scale_lo = 0.3f * scale,
                                               .scale_hi = scale}));
}
Gaussian gaussian(const reference::Parameters& p, std::size_t i) {
    const auto at = [&](int plane) { return p.at(plane, i); };
    return {{at(kMeans), at(kMeans + 1), at(kMeans + 2)},
            {std::exp(at(kLogScales)), std::exp(at(kLogScales + 1)), std::exp(at(kLogScales + 2))},
            {at(kQuats), at(kQuats + 1), at(kQuats + 2), at(kQuats + 3)}};
}

/// Where it is small the lens is straight within it, and EWA is what it comes to.
TEST(Unscented, SmallGaussiansAreEwas) {
    const reference::Parameters scene = scene_around(40, 11, 1e-4f);
    for (const Camera& camera : cameras_to_try()) {
        const auto cam = math::make_lens_camera<double>(camera);
        int seen = 0;
        for (std::size_t i = 0; i < scene.count; ++i) {
            const Gaussian g = gaussian(scene, i);
            const auto ut = projected(cam, g), ewa = math::project(cam, g.mean, g.scale, g.quat);
            ASSERT_EQ(ut.depth, ewa.depth);
            // Beside the bounds a pixel's slopes are not those of its extent.
            if (ut.depth <= 0 || camera.rolling()) continue;
            ++seen;
            ASSERT_NEAR(ut.mean.x, ewa.mean.x, 1e-4) << i;
            ASSERT_NEAR(ut.mean.y, ewa.mean.y, 1e-4) << i;
            ASSERT_LE(apart(ut.cov, ewa.cov), 1e-5) << i;
        }
        EXPECT_TRUE(seen > 5 || camera.rolling());
    }
}

TEST(Unscented, TheMathematicsOfBackendsIsTheOracles) {
    const reference::Parameters scene = scene_around(40, 12, 0.5f);
    for (const Camera& camera : cameras_to_try()) {
        const auto cam = math::make_lens_camera<double>(camera);
        const auto jets = math::make_lens_camera<reference::Jet>(camera);
        for (std::size_t i = 0; i < scene.count; ++i) {
            SCOPED_TRACE(i);
            const Gaussian g = gaussian(scene, i);
            const auto p = projected(cam, g);
            const auto own =
                reference::sigma_place(jets, g.mean, g.scale, rotation_from_quat(g.quat));
            ASSERT_EQ(p.depth > 0, own.middle.valid && own.middle.depth > 0);
            if (!own.middle.valid) continue;
            ASSERT_NEAR(p.mean.x, own.mean.x, 1e-6 * (1 + std::abs(own.mean.x)));
            ASSERT_NEAR(p.mean.y, own.mean.y, 1e-6 * (1 + std::abs(own.mean.y)));
            ASSERT_LE(apart(p.cov, own.cov), 1e-6);
        }
    }
}

/// The oracle's gradients are its own finite differences.
TEST(Unscented, GradientsAreFiniteDifferences) {
    reference::Parameters scene = scene_around(24, 13, 0.4f);
    reference::Options options;
    options.unscented = true;
    int seen = 0;
    for (const Camera& view : cameras_to_try()) {
        SCOPED_TRACE(static_cast<int>(view.model));
        const reference::DrawnCamera camera(view);
        for (std::size_t i = 0; i < scene.count; ++i) {
            if (!reference::project(scene, i, camera, options).visible) continue;
            ++seen;
            ASSERT_LE(projected_gradient_error(scene, i, camera, options, 14), 1e-5) << i;
        }
    }
    EXPECT_GT(seen, 100);
}

/// What backends go back by is what the oracle goes back by.
TEST(Unscented, GradientsOfBackendsAreTheOracles) {
    const reference::Parameters scene = scene_around(40, 15, 0.5f);
    for (const Camera& camera : cameras_to_try()) {
        SCOPED_TRACE(static_cast<int>(camera.model));
        const auto cam = math::make_lens_camera<double>(camera);
        const auto jets = math::make_lens_camera<reference::Jet>(camera);
        for (std::size_t i = 0; i < scene.count; ++i) {
            const Gaussian g = gaussian(scene, i);
            const Mat3d turn = rotation_from_quat(g.quat);
            const auto place = reference::sigma_place(jets, g.mean, g.scale, turn);
            if (!place.middle.valid) continue;
            // Whether a row is read first or last jumps at a panorama's seam.
            if (camera.rolling() && cam.lens.wrap_width > 0) continue;
            const auto r = [&](std::uint64_t k) { return random_in(16, i, k, -1, 1); };
            const Vec2<double> v_mean{r(0), r(1)};
            const Sym2<double> v_cov{r(2), r(3), r(4)};
            const auto own = reference::sigma_backward(place, g.scale, turn, v_mean,
                                                       {v_cov.xx, 0.5 * v_cov.xy, v_cov.yy});
            const auto v = gradients_of(cam, g, v_mean, v_cov, r(5));
            const Vec3d mean = own.mean + r(5) * place.middle.depth_slope;
            const Quatd quat = math::quat_to_rotation_vjp(g.quat, own.rotation);
            ASSERT_LE(
                relative_l2(std::vector<double>{v.mean.x, v.mean.y, v.mean.z, v.scale.x, v.scale.y,
                                                v.scale.z, v.quat.w, v.quat.x, v.quat.y, v.quat.z},
                            std::vector<double>{mean.x, mean.y, mean.z, own.scale[0], own.scale[1],
                                                own.scale[2], quat.w, quat.x, quat.y, quat.z}),
                1e-6)
                << i;
        }
    }
}

/// Points behind a camera, beyond a fold or far beside the picture: their axes go by the Jacobian,
/// and nothing is without a number.
TEST(Unscented, AxesThatTheLensDoesNotSeeGoByTheJacobian) {
    for (const Camera& view : cameras_to_try()) {
        const Camera camera = at_origin(view);
        if (camera.rolling()) continue;
        SCOPED_TRACE(static_cast<int>(camera.model));
        const auto cam = math::make_lens_camera<double>(camera);
        const bool sideways = camera.model == CameraModel::equirectangular;
        for (const double reach : {2.0, 30.0, 1e4}) {
            const Gaussian g{{0.01, -0.02, 1}, {reach, 1e-3, reach}, {1, 0, 0, 0}};
            const auto ut = projected(cam, g), ewa = math::project(cam, g.mean, g.scale, g.quat);
            ASSERT_TRUE(std::isfinite(ut.mean.x + ut.mean.y + ut.cov.xx + ut.cov.xy + ut.cov.yy));
            ASSERT_GE(ut.det, 0);
            const auto v = gradients_of(cam, g, {1, 1}, {1, 1, 1}, 1);
            ASSERT_TRUE(std::isfinite(dot(v.mean, v.mean) + dot(v.scale, v.scale) + v.quat.w +
                                      v.quat.x + v.quat.y + v.quat.z));
            // Through a flat picture the long axes leave it, or end behind.
            if (cam.lens.base != math::LensBase::perspective || sideways) continue;
            EXPECT_NEAR(ut.mean.x, ewa.mean.x, 1e-6);
            EXPECT_LE(apart(ut.cov, ewa.cov), 1e-6);
        }
    }
}

/// The parts of the form have the names and sizes that its weights say, also for other weights.
TEST(Unscented, NothingIsIndefinite) {
    const reference::Parameters scene = scene_around(60, 17, 1.5f);
    for (const Camera& camera : cameras_to_try()) {
        const auto cam = math::make_lens_camera<double>(camera);
        for (std::size_t i = 0; i < scene.count; ++i)
            for (const reference::SigmaConstants& c :
                 {reference::SigmaConstants{1, 2, 0}, {0.1, 2, 0}, {1, 1, 0}, {0.5, 2, 1}}) {
                const auto p = projected(cam, gaussian(scene, i), c);
                if (p.depth <= 0) continue;
                ASSERT_GE(p.cov.xx, 0);
                ASSERT_GE(p.cov.yy, 0);
                ASSERT_GE(p.det, 0);
            }
    }
}

}  // namespace
}  // namespace gs::test
