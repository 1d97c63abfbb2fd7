// Pictures of cameras along rays, against the oracle (which tries every Gaussian on every ray),
// against splatting where both should agree, and where they should not.
#include <gtest/gtest.h>

#include <cmath>

#include "renderer/maps/normals.h"
#include "renderer/rays/ray_rasterizer.h"
#include "renderer/reference/rays.h"
#include "renderer/reference/sh.h"
#include "renderer/scene/gaussian_tint.h"
#include "tests/support/compare.h"
#include "tests/support/lens_scene.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"

namespace gs::test {
namespace {

constexpr double kPixels = 5e-5, kDepths = 1e-4;  // absolute; of the value

RenderOptions with_depths() { return {.median_depth = true, .gradients = false}; }

/// The oracle's picture along rays in the layout of Drawn.
struct Oracle {
    reference::RayPicture picture;
    std::vector<double> color, depth, median;
};
Oracle oracle_of(const GaussianModel& model, const Camera& camera, const RenderOptions& options) {
    const reference::Parameters scene(model);
    const reference::Options how = reference_options(options, model.sky);
    std::vector<Vec3d> colors;
    for (std::size_t i = 0; i < model.count; ++i)
        colors.push_back(reference::color_of(scene, i, camera.position(), how));
    const auto rays = reference::rays_of(camera);
    Oracle out{.picture = reference::render_rays(
                   scene, colors, reference::order_along(scene, camera, how), rays, how)};
    for (std::size_t i = 0; i < rays.size(); ++i) {
        const Vec3d c = out.picture.signal[i];
        out.color.insert(out.color.end(), {c.x, c.y, c.z});
        // Of places on the ray; an invalid one meets nothing.
        const auto depth_at = [&](double t) {
            const Vec3d p = rays[i].origin + t * rays[i].direction;
            return camera.depth_of(camera.rotation * p + camera.translation);
        };
        const double alpha = out.picture.alpha[i];
        const bool shows = alpha > 0;
        out.depth.push_back(shows ? alpha * depth_at(out.picture.hit[i] / alpha) : 0);
        out.median.push_back(out.picture.median[i] > 0 ? depth_at(out.picture.median[i]) : 0);
    }
    return out;
}
/// The largest difference, of 1 + the value, where rounding flips nothing.
double depths_apart(const std::vector<double>& ours, const std::vector<double>& theirs,
                    const std::vector<std::uint8_t>& fragile) {
    double worst = 0;
    for (std::size_t i = 0; i < theirs.size(); ++i)
        if (fragile[i] == 0)
            worst = std::max(worst, std::abs(ours[i] - theirs[i]) / (1 + std::abs(theirs[i])));
    return worst;
}
Drawn along_rays(const GaussianModel& model, const Camera& camera, const RenderOptions& options) {
    return RasterRun(make_ray_rasterizer()).draw(model, camera, options);
}
void compare(const GaussianModel& model, const Camera& camera, const RenderOptions& options) {
    const Drawn drawn = along_rays(model, camera, options);
    const Oracle truth = oracle_of(model, camera, options);
    const auto& fragile = truth.picture.fragile;
    EXPECT_LT(max_abs_difference(drawn.color, truth.color, fragile), kPixels);
    EXPECT_LT(max_abs_difference(drawn.alpha, truth.picture.alpha, fragile), kPixels);
    // A panorama's rolling shutter has its rays' origins apart: distances are along them.
    if (!camera.rolling() || camera.model < CameraModel::opencv_fisheye) {
        EXPECT_LT(depths_apart(drawn.depth, truth.depth, fragile), kDepths);
        EXPECT_LT(depths_apart(drawn.median_depth, truth.median, fragile), kDepths);
    }
    std::size_t lost = 0;
    for (const std::uint8_t f : fragile) lost += f;
    EXPECT_LT(lost, fragile.size() / 4);
    EXPECT_GT(drawn.result.counters.visible, 30u);
}

GaussianModel scene(float extent = 1.5f) { return random_model({.count = 400, .extent = extent}); }

TEST(RayRasterizer, EveryLensAndShutterIsTheOracles) {
    const Camera pinhole = random_camera(21, 0, 96, 64);
    {
        SCOPED_TRACE("pinhole");
        compare(scene(), pinhole, with_depths());
    }
    for (const LensCase& c : lens_cases(pinhole)) {
        if (c.camera.orthographic()) continue;
        SCOPED_TRACE(c.name);
        compare(scene(), c.camera, with_depths());
        compare(under_sky(scene()), c.camera, with_depths());
    }
}

/// The camera stands among the Gaussians: they lie beside it, behind it and around it.
TEST(RayRasterizer, FromWithin) {
    const Camera pinhole = random_camera(22, 1, 96, 64, 0.5);
    compare(scene(4), pinhole, with_depths());
    for (const LensCase& c : lens_cases(pinhole)) {
        if (c.camera.orthographic()) continue;
        SCOPED_TRACE(c.name);
        compare(scene(4), c.camera, with_depths());
    }
}

TEST(RayRasterizer, OptionsAreTheOracles) {
    const Camera camera = random_camera(23, 2, 80, 60, 3);
    RenderOptions options = with_depths();
    options.background = {0.2f, 0.5f, 0.9f};
    options.sh_degree = 1;
    options.scale_modifier = 1.7f;
    options.near_plane = 2.5f;
    compare(scene(), camera, options);
    options.compatibility = Compatibility::inria;
    compare(scene(), camera, options);
    Camera panorama = without_distortion(camera, CameraModel::equirectangular);
    compare(scene(), panorama, options);
    // What only splatting takes changes nothing.
    const Drawn plain = along_rays(scene(), camera, options);
    options.antialiased = true;
    options.blur = 3;
    options.projection = ProjectionMethod::ut;
    EXPECT_EQ(along_rays(scene(), camera, options).color, plain.color);
}

TEST(RayRasterizer, ClipsHidesAndTints) {
    const Camera camera = random_camera(24, 0, 64, 48);
    const GaussianModel model = scene();
    RenderOptions options = with_depths();
    options.clip = ClipBox{{-0.5f, -1, -1}, {1, 0.8f, 1}};
    auto tint = std::make_shared<GaussianTint>();
    tint->serial = 1;
    tint->words = Buffer<std::uint32_t>(200);
    for (std::size_t i = 0; i < 200; ++i)
        tint->words[i] = i % 2 == 0 ? GaussianTint::kHidden : GaussianTint::word(255, 0, 0);
    options.tint = tint;
    // The same of a model that holds only what is shown, in those colours.
    GaussianModel shown = model;
    for (std::size_t i = 0; i < model.count; ++i) {
        const Vec3f m = model.mean(i);
        const bool in =
            m.x >= -0.5f && m.x <= 1 && m.y >= -1 && m.y <= 0.8f && m.z >= -1 && m.z <= 1;
        if (!in || (i < 200 && i % 2 == 0)) shown.at(kOpacityLogits, i) = -50;
        if (i >= 200) continue;
        for (int p = kSh0; p < shown.planes(); ++p) shown.at(p, i) = 0;
        for (int c = 0; c < 3; ++c)
            shown.at(kSh0 + c, i) = (c == 0 ? 0.5f : -0.5f) / 0.28209479177387814f;
    }
    const Drawn drawn = along_rays(model, camera, options),
                truth = along_rays(shown, camera, with_depths());
    for (std::size_t i = 0; i < truth.color.size(); ++i)
        ASSERT_NEAR(drawn.color[i], truth.color[i], 1e-6) << i;
    EXPECT_EQ(drawn.depth, truth.depth);
}

TEST(RayRasterizer, SmallGaussiansFarAwayAreAsSplatted) {
    const GaussianModel model =
        random_model({.count = 2000, .scale_lo = 0.008f, .scale_hi = 0.02f});
    const Camera camera = random_camera(25, 0, 160, 120, 6);
    RenderOptions options = with_depths();
    options.blur = 0;
    const Drawn exact = along_rays(model, camera, options),
                splats = RasterRun(make_cpu_rasterizer()).draw(model, camera, options);
    double sum = 0, light = 0;
    for (std::size_t i = 0; i < exact.color.size(); ++i) {
        sum += std::abs(exact.color[i] - splats.color[i]);
        light += splats.color[i];
    }
    EXPECT_LT(sum, 0.005 * light);
    EXPECT_GT(light, 0.01 * static_cast<double>(exact.color.size()));
}

/// A wall that passes close beside the camera: its ellipse is not what a ray meets.
TEST(RayRasterizer, LargeNearGaussiansAreNot) {
    GaussianModel model(1, 0);
    model.at(kMeans, 0) = 0.4f;
    model.at(kMeans + 2, 0) = 0.8f;
    model.at(kLogScales, 0) = std::log(0.02f);
    model.at(kLogScales + 1, 0) = model.at(kLogScales + 2, 0) = std::log(0.6f);
    model.at(kOpacityLogits, 0) = 3;
    for (int c = 0; c < 3; ++c) model.at(kSh0 + c, 0) = 1;
    const Camera camera = look_at({0, 0, 0}, {0, 0, 1}, {0, -1, 0}, 96, 64, 1.2);
    const Drawn exact = along_rays(model, camera, with_depths()),
                splats = RasterRun(make_cpu_rasterizer()).draw(model, camera, with_depths());
    const Oracle truth = oracle_of(model, camera, with_depths());
    EXPECT_LT(max_abs_difference(exact.color, truth.color, truth.picture.fragile), kPixels);
    EXPECT_GT(max_abs_difference(exact.color, splats.color), 0.3);
}

/// Within one Gaussian depths are those of its surface, so they tell its normal; splatting's are
/// level there.
TEST(RayRasterizer, OneDiscHasItsNormal) {
    GaussianModel model(1, 0);
    model.at(kMeans + 2, 0) = 4;
    model.at(kLogScales, 0) = model.at(kLogScales + 1, 0) = std::log(1.0f);
    model.at(kLogScales + 2, 0) = std::log(0.001f);
    const float half = 0.35f;  // turned by 0.7 about y
    model.at(kQuats, 0) = std::cos(half);
    model.at(kQuats + 2, 0) = std::sin(half);
    model.at(kOpacityLogits, 0) = 6;
    const Camera camera = look_at({0, 0, 0}, {0, 0, 1}, {0, -1, 0}, 96, 64, 0.6);
    const Drawn drawn = along_rays(model, camera, with_depths());
    const ImageF normals = normals_of(drawn.result, camera);
    EXPECT_NEAR(normals.at(0, 48, 32), -std::sin(0.7f), 0.01f);
    EXPECT_NEAR(normals.at(1, 48, 32), 0, 0.01f);
    EXPECT_NEAR(normals.at(2, 48, 32), -std::cos(0.7f), 0.01f);
}

TEST(RayRasterizer, NothingIsTheBackground) {
    RenderOptions options = with_depths();
    options.background = {0.25f, 0.5f, 0.75f};
    const Drawn drawn = along_rays(GaussianModel(0, 3), random_camera(1, 0, 20, 10), options);
    EXPECT_EQ(drawn.color[0], 0.25);
    EXPECT_EQ(drawn.color.back(), 0.75);
    EXPECT_EQ(drawn.alpha, std::vector<double>(200, 0));
    EXPECT_EQ(drawn.depth, drawn.alpha);
}

}  // namespace
}  // namespace gs::test
