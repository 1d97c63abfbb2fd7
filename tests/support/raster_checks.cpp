#include "tests/support/raster_checks.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "renderer/raster/sky.h"
#include "tests/support/data.h"
#include "tests/support/random_scene.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

void report(const std::string& what, double value) {
    if (std::getenv("GAUSSCOPE_TEST_VERBOSE") != nullptr)
        fmt::print("    {:<40} {:.3g}\n", what, value);
}

RenderOptions options_of(const RenderCase& c) {
    return {.background = {static_cast<float>(c.options.background.x),
                           static_cast<float>(c.options.background.y),
                           static_cast<float>(c.options.background.z)},
            .sh_degree = c.options.sh_degree,
            .antialiased = c.options.antialiased,
            .blur = static_cast<float>(c.options.blur),
            .near_plane = static_cast<float>(c.options.near_plane),
            .counters = true};
}

void expect_gradients(const reference::Parameters& actual, const reference::Parameters& expected,
                      double tolerance) {
    for (const PlaneGroup& group : plane_groups(expected)) {
        const auto a = planes_of(actual, group.first, group.last),
                   b = planes_of(expected, group.first, group.last);
        const double error = relative_l2(a, b);
        report(fmt::format("gradient of {}", group.name), error);
        EXPECT_LE(error, tolerance) << group.name;
        double largest = 0;
        for (const double x : b) largest = std::max(largest, std::abs(x));
        EXPECT_LE(silent_zero_share(a, b, 1e-6 * largest), 0.001) << group.name;
    }
}

/// 1 where the oracle's Gaussian `i` can reach the pixel, in either scene.
std::vector<int> reach_of(const reference::Projected& p, const Camera& camera) {
    std::vector<int> reach(static_cast<std::size_t>(camera.width * camera.height), 0);
    for (int y = p.y0; y < p.y1; ++y)
        for (int x = p.x0; x < p.x1; ++x) reach[static_cast<std::size_t>(y * camera.width + x)] = 1;
    return reach;
}

std::vector<std::uint8_t> either(std::vector<std::uint8_t> a, const std::vector<std::uint8_t>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] |= b[i];
    return a;
}

constexpr float kInf = std::numeric_limits<float>::infinity();

}  // namespace

void check_render_file(const RasterizerFactory& make, const std::string& name, std::size_t cameras,
                       const FileTolerances& tolerances) {
    GS_NEED_DATA("reference/render/" + name + ".npz");
    const RenderCase c = load_render_case(name);
    const GaussianModel model = c.scene.to_model();
    RasterRun run(make());
    const std::size_t drawn_cameras = std::min(cameras, c.cameras.size());
    reference::Parameters gradients(c.scene.count, c.scene.sh_degree);
    for (std::size_t i = 0; i < drawn_cameras; ++i) {
        const Drawn drawn = run.draw(model, c.cameras[i], options_of(c), true);
        const Array fragile = c.file["out_fragile"].slice(i);
        const double color = max_abs_difference(drawn.color, c.file["out_rgb"].slice(i), fragile);
        const double alpha = max_abs_difference(drawn.alpha, c.file["out_alpha"].slice(i), fragile);
        report(fmt::format("camera {} colour", i), color);
        report(fmt::format("camera {} alpha", i), alpha);
        EXPECT_LE(color, tolerances.pixel) << "camera " << i;
        EXPECT_LE(alpha, tolerances.pixel) << "camera " << i;
        EXPECT_LE(relative_l2(drawn.depth, c.file["out_depth"].slice(i)), 1e-4) << "camera " << i;
        const BandReport band =
            compare_with_band(drawn.color, c.file["out_rgb"].slice(i), fragile, tolerances.pixel);
        BandLimits limits;
        limits.band_share = 0.1;  // as the files mark them
        EXPECT_EQ(violation(band, limits), "") << "camera " << i;
        if (c.file.has("out_n_contrib")) {
            EXPECT_EQ(
                max_abs_difference(drawn.contributors, c.file["out_n_contrib"].slice(i), fragile),
                0);
        }
        const DrawnGradients g =
            run.backward(case_upstream(c.cameras[i].width, c.cameras[i].height));
        for (std::size_t k = 0; k < gradients.values.size(); ++k)
            gradients.values[k] += g.parameters.values[k];
        if (c.file.has("out_v_means2d")) {
            const double mean2d = relative_l2(g.mean2d, c.file["out_v_means2d"].slice(i));
            report(fmt::format("camera {} gradient of 2d means", i), mean2d);
            EXPECT_LE(mean2d, tolerances.gradient);
        }
    }
    if (drawn_cameras == c.cameras.size())
        expect_gradients(gradients, expected_gradients(c), tolerances.gradient);
}

void check_brush_file(const RasterizerFactory& make, const std::string& name,
                      const FileTolerances& tolerances) {
    GS_NEED_DATA("reference/brush/" + name + ".safetensors");
    RenderCase c = load_brush_case(name);
    RasterRun run(make());
    const Drawn drawn = run.draw(c.scene.to_model(), c.cameras[0], options_of(c));
    std::vector<double> own;
    for (std::size_t i = 0; i < drawn.alpha.size(); ++i)
        own.insert(own.end(), {drawn.color[3 * i], drawn.color[3 * i + 1], drawn.color[3 * i + 2],
                               drawn.alpha[i]});
    const auto oracle = reference::render(c.scene, c.cameras[0], c.options);
    const double pixels = max_abs_difference(own, c.file["out_img"], oracle.fragile);
    report("picture", pixels);
    EXPECT_LE(pixels, tolerances.pixel);
    if (!c.file.has("v_out_img")) return;
    const auto actual = run.backward(brush_upstream(c)).parameters;
    reference::Parameters expected = expected_brush_gradients(c);
    // The stored mean gradient lacks the path through the view direction; the oracle supplies it.
    const auto detached =
        reference::render_backward(c.scene, c.cameras[0], c.options, oracle, brush_upstream(c));
    c.options.detach_direction = false;
    const auto full =
        reference::render_backward(c.scene, c.cameras[0], c.options, oracle, brush_upstream(c));
    for (std::size_t k = 0; k < 3 * c.scene.count; ++k)
        expected.values[k] += full.parameters.values[k] - detached.parameters.values[k];
    expect_gradients(actual, expected, tolerances.gradient);
}

SceneLimits small_picture() {
    SceneLimits limits;
    limits.band.band_share = 1;
    return limits;
}

namespace {

void compare_sky(const Sky& of, const Camera& camera, const Drawn& drawn,
                 const reference::PictureGradient& v,
                 const std::array<double, Sky::kNumbers>& expected) {
    if (of.empty()) return;
    PixelDirections directions;
    directions.follow(camera);
    const SkyGradient sky = sky_gradient(of, directions, drawn.result.alpha,
                                         planes_from(v.color, camera.width, camera.height, 3));
    EXPECT_LE(relative_l2(std::vector<double>(sky.begin(), sky.end()),
                          std::vector<double>(expected.begin(), expected.end())),
              1e-4);
    const auto numbers = static_cast<std::size_t>(3 * sh_bases(of.degree));
    for (std::size_t i = numbers; i < sky.size(); ++i) EXPECT_EQ(sky[i], 0);
}

}  // namespace

void compare_with_oracle(const RasterizerFactory& make, const GaussianModel& model,
                         const Camera& camera, RenderOptions options, const SceneLimits& limits) {
    options.counters = options.median_depth = true;
    RasterRun run(make());
    const Drawn drawn = run.draw(model, camera, options);
    const reference::Parameters scene(model);
    const auto oracle_options = reference_options(options, model.sky);
    const auto picture = reference::render(scene, camera, oracle_options);
    EXPECT_EQ(
        violation(compare_with_band(drawn.color, picture.color, picture.fragile, limits.band.tight),
                  limits.band),
        "")
        << "colour";
    EXPECT_EQ(
        violation(compare_with_band(drawn.alpha, picture.alpha, picture.fragile, limits.band.tight),
                  limits.band),
        "")
        << "alpha";
    EXPECT_LE(max_abs_difference(drawn.depth, picture.depth, picture.fragile), 1e-3) << "depth";
    EXPECT_EQ(max_abs_difference(drawn.contributors, picture.contributors, picture.fragile), 0)
        << "contributors";
    EXPECT_LE(max_abs_difference(drawn.median_depth, picture.median_depth,
                                 either(picture.fragile, picture.fragile_median)),
              1e-3)
        << "median depth";

    const RenderResult& r = drawn.result;
    std::uint64_t isects = 0;
    std::uint32_t longest = 0;
    for (const std::uint32_t n : r.isects_per_tile) {
        isects += n;
        longest = std::max(longest, n);
    }
    EXPECT_EQ(r.tiles_x, (camera.width + kTileSize - 1) / kTileSize);
    EXPECT_EQ(r.isects_per_tile.size(), static_cast<std::size_t>(r.tiles_x * r.tiles_y));
    EXPECT_EQ(isects, r.counters.isects);
    EXPECT_EQ(static_cast<int>(longest), r.counters.longest_tile);
    EXPECT_EQ(r.counters.gaussians, model.count);
    EXPECT_LE(r.counters.visible, model.count);
    const auto blended =
        std::accumulate(drawn.contributors.begin(), drawn.contributors.end(), std::uint64_t{0});
    EXPECT_EQ(r.counters.blended_pairs, blended);
    EXPECT_GE(r.counters.evaluated_pairs, r.counters.blended_pairs);

    if (!limits.gradients) return;
    const auto v = without_fragile(case_upstream(camera.width, camera.height), picture.fragile);
    const DrawnGradients actual = run.backward(v);
    const auto expected = reference::render_backward(scene, camera, oracle_options, picture, v);
    for (const int n : actual.taken) EXPECT_LE(n, 1);
    for (const PlaneGroup& group : plane_groups(scene)) {
        EXPECT_LE(relative_l2(planes_of(actual.parameters, group.first, group.last),
                              planes_of(expected.parameters, group.first, group.last)),
                  limits.gradient)
            << group.name;
    }
    std::vector<double> mean2d;
    for (const auto& p : expected.projected) mean2d.insert(mean2d.end(), {p.mean.x, p.mean.y});
    EXPECT_LE(relative_l2(actual.mean2d, mean2d), limits.gradient);
    compare_sky(oracle_options.sky, camera, drawn, v, expected.sky);
}

bool all_finite(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}
void expect_same(const Drawn& a, const Drawn& b, const std::string& what) {
    EXPECT_EQ(max_abs_difference(a.color, b.color), 0) << what;
    EXPECT_EQ(max_abs_difference(a.alpha, b.alpha), 0) << what;
    EXPECT_EQ(max_abs_difference(a.depth, b.depth), 0) << what;
}

const std::vector<Poison>& poisons() {
    static const std::vector<Poison> all = {
        {"NaN", std::numeric_limits<float>::quiet_NaN()},
        {"signalling NaN", std::numeric_limits<float>::signaling_NaN()},
        {"+Inf", kInf},
        {"-Inf", -kInf},
        {"denormal", std::numeric_limits<float>::denorm_min()},
        {"zero", 0.0f},
        {"largest", std::numeric_limits<float>::max()},
        {"most negative", std::numeric_limits<float>::lowest()},
        {"1e10", 1e10f},
        {"88.7", 88.7f},
        {"-88.7", -88.7f},
        {"-104", -104.0f}};
    return all;
}

void check_poison(const RasterizerFactory& make, int plane, const Camera& camera) {
    constexpr std::size_t kVictim = 18;
    const GaussianModel healthy = random_model({.count = 40});
    GaussianModel removed = healthy;
    removed.at(kOpacityLogits, kVictim) = -100.0f;
    const auto v = case_upstream(camera.width, camera.height);
    RasterRun run(make());
    const Drawn without = run.draw(removed, camera, {});
    const DrawnGradients gradients_without = run.backward(v);
    for (const Poison& poison : poisons()) {
        SCOPED_TRACE(fmt::format("{} in plane {}", poison.name, plane));
        GaussianModel model = healthy;
        model.at(plane, kVictim) = poison.value;
        const Drawn drawn = run.draw(model, camera, {}, true);
        expect_same(run.draw(model, camera, {}, false), drawn, "with and without bounds");
        const DrawnGradients gradients = run.backward(v);
        EXPECT_TRUE(all_finite(drawn.color) && all_finite(drawn.alpha) && all_finite(drawn.depth));
        for (std::size_t i = 0; i < model.count; ++i)
            for (int p = 0; p < model.planes(); ++p)
                ASSERT_TRUE(std::isfinite(gradients.parameters.at(p, i)) || i == kVictim)
                    << "Gaussian " << i << " plane " << p;
        const auto projected =
            reference::project(reference::Parameters(model), kVictim, camera, {});
        if (!std::isfinite(poison.value) && !projected.visible) {
            expect_same(drawn, without, "a Gaussian that is no Gaussian draws nothing");
            for (int p = 0; p < model.planes(); ++p)
                EXPECT_EQ(gradients.parameters.at(p, kVictim), 0);
            EXPECT_EQ(max_abs_difference(gradients.parameters.values,
                                         gradients_without.parameters.values),
                      0);
        }
        const auto reach = reach_of(projected, camera);
        EXPECT_EQ(max_abs_difference(drawn.color, without.color, reach), 0)
            << "pixels it cannot reach";
        EXPECT_EQ(max_abs_difference(drawn.alpha, without.alpha, reach), 0)
            << "pixels it cannot reach";
    }
}

}  // namespace gs::test
