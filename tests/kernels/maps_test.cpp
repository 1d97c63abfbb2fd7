// The maps of a drawn frame: one body for the viewport and for `gausscope render --maps`.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "renderer/maps/draw_styles.h"
#include "renderer/maps/normals.h"
#include "renderer/maps/picture_error.h"
#include "renderer/maps/scalar_map.h"
#include "renderer/math/sh.h"

namespace gs::test {
namespace {

RenderResult four_pixels() {
    RenderResult r{.width = 2, .height = 2, .tiles_x = 1, .tiles_y = 1};
    r.color.resize(2, 2, 3);
    r.color.values.fill(0.5f);
    r.alpha.resize(2, 2, 1);
    r.depth.resize(2, 2, 1);
    const float alpha[] = {1.0f, 0.5f, 0.004f, 0.0f}, depth[] = {3.0f, 2.0f, 0.02f, 0.0f};
    for (std::size_t i = 0; i < 4; ++i) {
        r.alpha.values[i] = alpha[i];
        r.depth.values[i] = depth[i];
    }
    r.contributors.resize_discard(4);
    for (std::size_t i = 0; i < 4; ++i) r.contributors[i] = static_cast<std::uint16_t>(i);
    r.isects_per_tile.resize_discard(1);
    r.isects_per_tile[0] = 7;
    r.pairs_per_tile.resize_discard(1);
    r.pairs_per_tile[0] = 1000;
    return r;
}

/// However faint a pixel is, what was drawn there has a depth; where nothing was, there is none.
TEST(Maps, DepthIsWhereAnythingWasDrawn) {
    const ScalarMap map = scalar_map(four_pixels(), ViewMode::depth);
    EXPECT_EQ(map.cell, 1);
    EXPECT_STREQ(map.unit, "world units");
    EXPECT_FLOAT_EQ(map.values.values[0], 3);
    EXPECT_FLOAT_EQ(map.values.values[1], 4);
    EXPECT_FLOAT_EQ(map.values.values[2], 5);
    EXPECT_TRUE(std::isnan(map.values.values[3]));
}

TEST(Maps, CountsAreOfPixelsOrTiles) {
    const RenderResult r = four_pixels();
    EXPECT_EQ(scalar_map(r, ViewMode::alpha).values.values[1], 0.5f);
    const ScalarMap contributors = scalar_map(r, ViewMode::contributors);
    EXPECT_EQ(contributors.values.values[3], 3.0f);
    EXPECT_EQ(contributors.cell, 1);
    for (const auto& [mode, value] :
         {std::pair{ViewMode::isects, 7.0f}, {ViewMode::pairs, 1000.0f}}) {
        const ScalarMap map = scalar_map(r, mode);
        ASSERT_EQ(map.values.pixels(), 1u);
        EXPECT_EQ(map.values.values[0], value);
        EXPECT_EQ(map.cell, kTileSize);
    }
    for (const ViewMode picture :
         {ViewMode::color, ViewMode::photo, ViewMode::error, ViewMode::normals})
        EXPECT_EQ(scalar_map(r, picture).values.pixels(), 0u);
}

TEST(Maps, AskForNoMoreThanTheyShow) {
    const auto wants = [](ViewMode mode) {
        RenderOptions o{.depth = false};
        want_maps(mode, o);
        return std::array{o.counters, o.depth, o.median_depth};
    };
    using Wants = std::array<bool, 3>;
    EXPECT_EQ(wants(ViewMode::color), (Wants{false, false, false}));
    EXPECT_EQ(wants(ViewMode::isects), (Wants{false, false, false}));
    EXPECT_EQ(wants(ViewMode::contributors), (Wants{true, false, false}));
    EXPECT_EQ(wants(ViewMode::pairs), (Wants{true, false, false}));
    EXPECT_EQ(wants(ViewMode::depth), (Wants{false, true, false}));
    EXPECT_EQ(wants(ViewMode::normals), (Wants{false, true, true}));
    EXPECT_EQ(wants(ViewMode::median), (Wants{false, true, true}));
}

TEST(Maps, MedianIsWhereHalfOfTheLightIsStopped) {
    RenderResult r = four_pixels();
    r.median_depth.resize(2, 2, 1);
    const float median[] = {3.0f, 0.0f, 0.0f, 0.0f};
    std::copy_n(median, 4, r.median_depth.plane(0));
    const ScalarMap map = scalar_map(r, ViewMode::median);
    EXPECT_STREQ(map.unit, "world units");
    EXPECT_EQ(map.values.values[0], 3);
    EXPECT_TRUE(std::isnan(map.values.values[1]));
}

/// A tilted plane of flat, overlapping Gaussians, drawn, has one normal.
class MapsByRays : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Rays, MapsByRays, testing::Bool(),
                         [](const auto& p) { return p.param ? "parallel" : "from_a_point"; });

TEST_P(MapsByRays, NormalsOfAPlaneOfFlatGaussians) {
    const Vec3d normal = math::normalize(Vec3d{0.3, -0.5, -0.81});
    const Vec3d u = math::normalize(cross(normal, Vec3d{0, 1, 0})), v = cross(normal, u);
    constexpr int kSide = 90;
    GaussianModel model(kSide * kSide, 0);
    const Mat3d axes{{{u.x, v.x, normal.x}, {u.y, v.y, normal.y}, {u.z, v.z, normal.z}}};
    const Quatd turn = quat_from_rotation(axes);
    for (std::size_t i = 0; i < model.count; ++i) {
        const double a = (static_cast<double>(i % kSide) / (kSide - 1) - 0.5) * 6,
                     b = (static_cast<double>(i / kSide) / (kSide - 1) - 0.5) * 6;
        const Vec3d at = a * u + b * v;
        const double quat[4] = {turn.w, turn.x, turn.y, turn.z}, mean[3] = {at.x, at.y, at.z};
        for (int k = 0; k < 4; ++k) model.at(kQuats + k, i) = static_cast<float>(quat[k]);
        for (int k = 0; k < 3; ++k) model.at(kMeans + k, i) = static_cast<float>(mean[k]);
        for (int k = 0; k < 3; ++k) model.at(kLogScales + k, i) = std::log(k < 2 ? 0.08f : 1e-4f);
        model.at(kOpacityLogits, i) = 0;
    }
    // From above one side of it and turned, so that no axis of the world is one of the camera.
    Camera camera = look_at({1, -2, -6}, {0, 0, 0}, {0.2, -1, 0}, 320, 240, 0.5);
    if (GetParam()) {
        camera.model = CameraModel::orthographic;
        camera.fx = camera.fy = camera.fx / 6.4;
    }
    RenderOptions options{.gradients = false};
    want_maps(ViewMode::normals, options);
    const auto rasterizer = make_cpu_rasterizer();
    const auto state = rasterizer->make_state();
    ModelSource source(model);
    RenderResult result;
    rasterizer->forward(source, camera, options, *state, result);
    const ImageF normals = normals_of(result, camera);
    constexpr double kDegree = 3.14159265358979 / 180;
    std::size_t found = 0, within = 0;
    double mean = 0;
    for (int y = 40; y < 200; ++y)
        for (int x = 40; x < 280; ++x) {
            const Vec3d n{static_cast<double>(normals.at(0, x, y)),
                          static_cast<double>(normals.at(1, x, y)),
                          static_cast<double>(normals.at(2, x, y))};
            if (std::isnan(n.x)) continue;
            const double angle = std::acos(std::min(1.0, dot(n, normal)));
            ++found;
            within += angle < kDegree ? 1 : 0;
            mean += angle;
        }
    const auto count = static_cast<double>(found);
    EXPECT_EQ(found, 160u * 240u);
    EXPECT_LT(mean / count, 0.5 * kDegree);
    EXPECT_GT(static_cast<double>(within), 0.99 * count);
}

/// Two walls, one behind the other: nothing is made up between them, nor where there is none.
TEST(Maps, NormalsEndWhereTheSurfaceDoes) {
    const Camera camera = look_at({0, 0, -5}, {0, 0, 0}, {0, -1, 0}, 40, 30, 0.8);
    RenderResult r{.width = 40, .height = 30};
    r.median_depth.resize(40, 30, 1);
    for (int y = 0; y < 30; ++y)
        for (int x = 0; x < 40; ++x) {
            const float depth = x == 20 ? 30.0f : x < 20 ? 4.0f : 60.0f;
            r.median_depth.at(0, x, y) = x < 5 ? 0.0f : depth;
        }
    const ImageF n = normals_of(r, camera);
    EXPECT_TRUE(std::isnan(n.at(0, 2, 10))) << "half of the light gets through";
    EXPECT_TRUE(std::isnan(n.at(0, 20, 10))) << "far from both sides";
    for (const int x : {5, 19, 21, 39}) {
        EXPECT_NEAR(n.at(2, x, 10), -1, 1e-3) << x << ": one side is enough, facing the camera";
    }
    EXPECT_NEAR(n.at(2, 10, 0), -1, 1e-3);
    const Image8 rgb = normals_picture(n, {1, 2, 3});
    EXPECT_EQ(rgb.at(2, 10)[1], 2);
    EXPECT_EQ(rgb.at(10, 10)[2], 0);
    EXPECT_EQ(rgb.at(10, 10)[3], 255);
}

GaussianModel one_gaussian() {
    GaussianModel model(1, 0);
    model.at(kQuats, 0) = 1;
    for (int k = 0; k < 3; ++k) model.at(kLogScales + k, 0) = std::log(k == 0 ? 1.0f : 0.5f);
    model.at(kOpacityLogits, 0) = 3;
    for (int k = 0; k < 3; ++k) model.at(kSh0 + k, 0) = 1;
    return model;
}

RenderResult gray_picture(const Camera& camera) {
    RenderResult r{.width = camera.width, .height = camera.height};
    r.color.resize(camera.width, camera.height, 3);
    r.color.values.fill(0.5f);
    return r;
}

/// The ring lies where the Gaussian is `scale_modifier` standard deviations wide, and nowhere else.
TEST(DrawStyles, RingsOutlineTheGaussian) {
    const Camera camera = look_at({0, 0, -10}, {0, 0, 0}, {0, -1, 0}, 201, 201, 0.5);
    const float unit = static_cast<float>(camera.fx) / 10;  // px
    for (const float scale : {1.0f, 2.0f}) {
        RenderResult r = gray_picture(camera);
        const RenderOptions options{.scale_modifier = scale};
        draw_over_splats(DrawStyle::rings, one_gaussian(), camera, options, 2, r);
        const auto red = [&](float dx, float dy) {
            return r.color.at(0, static_cast<int>(100.5f + dx * unit),
                              static_cast<int>(100.5f + dy * unit));
        };
        EXPECT_FLOAT_EQ(red(0, 0), 0.15f) << "what lies within has faded only";
        EXPECT_FLOAT_EQ(red(1.1f * scale, 0), 0.15f);
        EXPECT_GT(red(scale, 0) + red(-scale, 0), 0.8f);
        EXPECT_GT(red(0, 0.5f * scale) + red(0, -0.5f * scale), 0.8f);
        std::size_t painted = 0;
        for (std::size_t i = 0; i < r.color.pixels(); ++i)
            painted += r.color.plane(0)[i] > 0.2f ? 1 : 0;
        const double around = 3.14159 * (3 * 1.5 - std::sqrt(3.5 * 2.5)) *
                              static_cast<double>(unit * scale);  // Ramanujan
        EXPECT_NEAR(static_cast<double>(painted) / around, 1.7, 0.5) << "a line, not an area";
    }
}

/// Gaussians fade, the sky behind them does not.
TEST(DrawStyles, RingsKeepTheSky) {
    const Camera camera = look_at({0, 0, -10}, {0, 0, 0}, {0, -1, 0}, 201, 201, 0.5);
    GaussianModel model = one_gaussian();
    model.sky.degree = 1;
    for (std::size_t i = 0; i < 12; ++i) model.sky.sh[i] = 0.1f * static_cast<float>(i);
    GaussianModel none;
    none.sky = model.sky;
    const auto after_rings = [&](const RenderOptions& options) {
        RenderResult sky, drawn;
        for (RenderResult* each : {&sky, &drawn})
            draw_model_as(DrawStyle::points, none, camera, options, 1, *each);
        drawn.color.at(1, 3, 100) += 0.5f;
        draw_over_splats(DrawStyle::rings, model, camera, options, 2, drawn);
        EXPECT_FLOAT_EQ(drawn.color.at(0, 3, 3), sky.color.at(0, 3, 3));
        EXPECT_FLOAT_EQ(drawn.color.at(2, 198, 100), sky.color.at(2, 198, 100));
        EXPECT_NEAR(drawn.color.at(1, 3, 100) - sky.color.at(1, 3, 100), 0.15, 1e-6);
        return sky.color.at(2, 198, 100);
    };
    EXPECT_GT(after_rings({}), 0.2f);
    RenderOptions off;
    off.sky = false;
    EXPECT_EQ(after_rings(off), 0.0f);
}

TEST(DrawStyles, CentresAreDotsOfTheGivenSizeOverThePicture) {
    const Camera camera = look_at({0, 0, -10}, {0, 0, 0}, {0, -1, 0}, 64, 48, 0.5);
    for (const int side : {1, 3, 8}) {
        RenderResult r = gray_picture(camera);
        draw_over_splats(DrawStyle::centres, one_gaussian(), camera, {}, static_cast<float>(side),
                         r);
        int painted = 0;
        for (std::size_t i = 0; i < r.color.pixels(); ++i)
            painted += r.color.plane(0)[i] != 0.5f ? 1 : 0;
        EXPECT_EQ(painted, side * side);
        RenderResult points;
        draw_model_as(DrawStyle::points, one_gaussian(), camera, {}, static_cast<float>(side),
                      points);
        painted = 0;
        for (std::size_t i = 0; i < points.color.pixels(); ++i)
            painted += points.alpha.plane(0)[i] > 0 ? 1 : 0;
        EXPECT_EQ(painted, side * side);
    }
    // A Gaussian that is hardly there has neither.
    GaussianModel faint = one_gaussian();
    faint.at(kOpacityLogits, 0) = -6;
    RenderResult r = gray_picture(camera);
    draw_over_splats(DrawStyle::centres, faint, camera, {}, 5, r);
    EXPECT_EQ(r.color.at(0, 32, 24), 0.5f);
}

TEST(Maps, ErrorIsTheMeanOverTheChannels) {
    const RenderResult r = four_pixels();
    Image8 photo{2, 2, 3, {}};
    for (int i = 0; i < 4; ++i) photo.bytes.insert(photo.bytes.end(), {255, 0, 0});
    const PictureReference reference(photo);
    EXPECT_FLOAT_EQ(error_map(r, reference, false).values[2], 0.5f);
    EXPECT_NEAR(error_map(r, reference, true).values[2], 0.5 / 3, 1e-6);
    EXPECT_DOUBLE_EQ(mean_squared_error(r, reference), 0.25);
    EXPECT_EQ(mean_squared_error(r, PictureReference(r)), 0);
    EXPECT_TRUE(PictureReference(Image8{}).empty());
}

}  // namespace
}  // namespace gs::test
