// The oracle through every lens and shutter: its extents against gsplat's fisheye and against the
// mathematics that backends use, its gradients against finite differences, and the seam of pictures
// that repeat.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "renderer/reference/rasterize.h"
#include "renderer/scene/camera_lens.h"
#include "tests/kernels/lens_cameras.h"
#include "tests/kernels/projected_gradient.h"
#include "tests/support/compare.h"
#include "tests/support/data.h"
#include "tests/support/random_scene.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

/// Around the camera, so that wide lenses have something to see beside and behind them.
reference::Parameters scene_around(std::size_t count, std::uint64_t seed) {
    return reference::Parameters(random_model({.count = count,
                                               .sh_degree = 1,
                                               .seed = seed,
                                               .extent = 3,
                                               .scale_lo = 0.05f,
                                               .opacity_hi = 0.6f}));
}

struct NamedView {
    std::string name;
    Camera camera;
};
/// Every lens, small, from within the scene; each also with a rolling shutter.
std::vector<NamedView> views() {
    std::vector<NamedView> out;
    for (Camera c : every_lens()) {
        c = c.scaled_to(64, 48);
        c.rotation = rotation_from_quat({0.9, 0.2, -0.3, 0.1});
        c.translation = {0.3, -0.4, 0.8};
        out.push_back({"model " + std::to_string(static_cast<int>(c.model)), c});
        if (c.orthographic()) continue;  // the viewer's: has no shutter
        c.shutter = out.size() % 4 < 2 ? Shutter::top_to_bottom : Shutter::right_to_left;
        const Pose middle{c.rotation, c.translation};
        const auto turned = [&](double s) {
            return Pose{rotation_from_quat({1, 0.01 * s, -0.02 * s, 0.015 * s}) * middle.rotation,
                        middle.translation + s * Vec3d{0.04, -0.03, 0.05}};
        };
        c.first = turned(-1);
        c.last = turned(1);
        const Pose half = c.pose_at(0.5);
        c.rotation = half.rotation;
        c.translation = half.translation;
        out.push_back({out.back().name + " rolling", c});
    }
    return out;
}

TEST(LensReference, ExtentsOfAFisheyeAreGsplats) {
    GS_NEED_DATA("reference/render/fisheye.npz");
    const RenderCase c = load_render_case("fisheye");
    for (std::size_t i = 0; i < c.cameras.size(); ++i) {
        Camera camera = c.cameras[i];
        camera.model = CameraModel::opencv_fisheye;
        const Array radii = c.file["out_radii"].slice(i), conics = c.file["out_conics"].slice(i),
                    means = c.file["out_means2d"].slice(i);
        std::vector<double> own, stored;
        std::size_t seen = 0;
        for (std::size_t g = 0; g < c.scene.count; ++g) {
            if (radii[2 * g] == 0) continue;  // dropped there, also where z is not positive
            const auto p = reference::project(c.scene, g, camera, c.options);
            ASSERT_TRUE(p.visible) << g;
            ++seen;
            own.insert(own.end(), {p.mean.x, p.mean.y, p.conic.xx, p.conic.xy, p.conic.yy});
            stored.insert(stored.end(), {means[2 * g], means[2 * g + 1], conics[3 * g],
                                         conics[3 * g + 1], conics[3 * g + 2]});
            ASSERT_NEAR(p.conic.xx, conics[3 * g], 1e-5 * std::abs(conics[3 * g]) + 1e-7);
        }
        EXPECT_GT(seen, 100u);
        EXPECT_LE(relative_l2(own, stored), 1e-6);
    }
}

TEST(LensReference, AgreesWithTheMathematicsOfBackends) {
    const reference::Parameters scene = scene_around(60, 3);
    for (const NamedView& v : views()) {
        if (is_pinhole(v.camera) && !v.camera.rolling()) continue;
        SCOPED_TRACE(v.name);
        const auto cam = math::make_lens_camera<double>(v.camera);
        int seen = 0;
        for (std::size_t i = 0; i < scene.count; ++i) {
            const auto at = [&](int plane) { return scene.at(plane, i); };
            const auto p =
                math::project(cam, {at(kMeans), at(kMeans + 1), at(kMeans + 2)},
                              {std::exp(at(kLogScales)), std::exp(at(kLogScales + 1)),
                               std::exp(at(kLogScales + 2))},
                              {at(kQuats), at(kQuats + 1), at(kQuats + 2), at(kQuats + 3)});
            const auto own = reference::project(scene, i, v.camera, {});
            if (!own.visible) continue;
            ++seen;
            const auto conic = math::conic_of(p.cov, p.det, 0.3);
            const std::vector<double> expected{p.mean.x, p.mean.y, p.depth},
                actual{own.mean.x, own.mean.y, own.depth};
            ASSERT_LE(relative_l2(actual, expected), 1e-9) << i;
            ASSERT_LE(relative_l2(std::vector<double>{own.conic.xx, own.conic.xy, own.conic.yy},
                                  std::vector<double>{conic.inverse.xx, conic.inverse.xy,
                                                      conic.inverse.yy}),
                      1e-6)
                << i;
        }
        EXPECT_GT(seen, 5);
    }
}

TEST(LensReference, ProjectionGradientsAreFiniteDifferences) {
    reference::Parameters scene = scene_around(30, 4);
    const reference::Options options;
    for (const NamedView& v : views()) {
        if (v.camera.orthographic()) continue;  // nothing is trained through it
        SCOPED_TRACE(v.name);
        const reference::DrawnCamera camera(v.camera);
        for (std::size_t i = 0; i < scene.count; ++i) {
            if (!reference::project(scene, i, camera, options).visible) continue;
            ASSERT_LE(projected_gradient_error(scene, i, camera, options, 8), 1e-5) << i;
        }
    }
}

TEST(LensReference, PicturesGradientsAreFiniteDifferences) {
    reference::Parameters scene = scene_around(25, 5);
    reference::Options options;
    options.alpha_min = 1e-13;  // no step where a footprint ends
    for (const NamedView& v : views()) {
        if (v.camera.model != CameraModel::equirectangular &&
            v.camera.model != CameraModel::thin_prism_fisheye)
            continue;
        SCOPED_TRACE(v.name);
        const auto upstream = case_upstream(v.camera.width, v.camera.height);
        const auto picture = reference::render(scene, v.camera, options);
        EXPECT_GT(picture.order.size(), 10u);
        const auto g = reference::render_backward(scene, v.camera, options, picture, upstream);
        // Along one random direction of all parameters at once.
        double own = 0;
        reference::Parameters direction(scene.count, scene.sh_degree);
        for (std::size_t k = 0; k < direction.values.size(); ++k) {
            direction.values[k] = random_in(9, 1, k, -1, 1);
            own += direction.values[k] * g.parameters.values[k];
        }
        const auto loss_at = [&](double h) {
            reference::Parameters moved = scene;
            for (std::size_t k = 0; k < moved.values.size(); ++k)
                moved.values[k] += h * direction.values[k];
            return case_loss(reference::render(moved, v.camera, options));
        };
        const double expected = (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6;
        EXPECT_NEAR(own, expected, 1e-5 * std::abs(expected));
    }
}

/// PSNR, dB.
double alike(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return -10 * std::log10(sum / static_cast<double>(a.size()));
}

TEST(LensReference, ARollingPictureIsMadeOfTheRowsOfStillOnes) {
    // From within a scene: also of Gaussians that stand near beside the picture, whose middles move
    // over thousands of pixels while it is read.
    const reference::Parameters scene = scene_around(400, 11);
    const reference::Options options;
    for (const CameraModel model : {CameraModel::pinhole, CameraModel::opencv}) {
        Camera camera = look_at({0.3, -0.2, -0.5}, {0, 0, 1}, {0, -1, 0}, 64, 48, 0.9);
        camera.model = model;
        if (model == CameraModel::opencv) camera.distortion = {-0.08, 0.01, 0.002, -0.001};
        Camera still = camera;
        const auto at = [&](double s) {
            return Pose{rotation_from_quat({1, 0.015 * s, -0.03 * s, 0.01 * s}) * camera.rotation,
                        camera.translation + s * Vec3d{0.06, -0.02, 0.05}};
        };
        camera.shutter = Shutter::top_to_bottom;
        camera.first = at(-1);
        camera.last = at(1);
        const Pose half = camera.pose_at(0.5);
        still.rotation = camera.rotation = half.rotation;
        still.translation = camera.translation = half.translation;
        const auto drawn = reference::render(scene, camera, options).color;
        const auto without = reference::render(scene, still, options).color;
        std::vector<double> rows = drawn;
        const auto width = static_cast<std::size_t>(3 * camera.width);
        for (int y = 0; y < camera.height; ++y) {
            Camera row = still;
            const Pose pose = camera.pose_at(y / (camera.height - 1.0));
            row.rotation = pose.rotation;
            row.translation = pose.translation;
            const auto picture = reference::render(scene, row, options).color;
            const auto from = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(y) * width);
            std::copy_n(picture.begin() + from, width, rows.begin() + from);
        }
        EXPECT_GT(alike(drawn, rows), 40) << static_cast<int>(model);
        EXPECT_LT(alike(without, rows), 30) << "one pose would not do";
    }
}

TEST(LensReference, APictureAroundHasNoSeam) {
    // Turned by half a turn about the vertical, the picture moves by half its width.
    const reference::Parameters scene = scene_around(80, 6);
    Camera camera = every_lens().back();
    camera = camera.scaled_to(64, 32);
    Camera turned = camera;
    turned.rotation = {{{-1, 0, 0}, {0, 1, 0}, {0, 0, -1}}};
    const reference::Options options;
    const auto a = reference::render(scene, camera, options),
               b = reference::render(scene, turned, options);
    double most = 0, apart = 0;
    for (int y = 0; y < a.height; ++y)
        for (int x = 0; x < a.width; ++x)
            for (int c = 0; c < 3; ++c) {
                const auto at = [&](int column) {
                    return static_cast<std::size_t>(3 * (y * a.width + column) + c);
                };
                most = std::max(most, a.color[at(x)]);
                apart = std::max(apart, std::abs(a.color[at(x)] - b.color[at((x + 32) % 64)]));
            }
    EXPECT_GT(most, 0.1);
    EXPECT_LT(apart, 1e-9);
}

}  // namespace
}  // namespace gs::test
