// The CPU backend against stored numbers: gsplat's reference implementation in float64, and Brush's cases from gsplat's
// CUDA code.
#include <gtest/gtest.h>

#include "renderer/raster/rasterizer.h"
#include "tests/support/compare.h"
#include "tests/support/data.h"
#include "tests/support/raster_run.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

constexpr double kPixelTolerance = 2e-5, kGradientTolerance = 1e-4;

void report(const std::string& what, double value) {
    if (std::getenv("GAUSSCOPE_TEST_VERBOSE") != nullptr) fmt::print("    {:<40} {:.3g}\n", what, value);
}

RenderOptions options_of(const RenderCase& c) {
    RenderOptions o;
    o.background = {static_cast<float>(c.options.background.x), static_cast<float>(c.options.background.y),
                    static_cast<float>(c.options.background.z)};
    o.sh_degree = c.options.sh_degree;
    o.antialiased = c.options.antialiased;
    o.blur = static_cast<float>(c.options.blur);
    o.near_plane = static_cast<float>(c.options.near_plane);
    o.counters = true;
    return o;
}

void expect_gradients(const reference::Parameters& actual, const reference::Parameters& expected) {
    for (const PlaneGroup& group : plane_groups(expected)) {
        const auto a = planes_of(actual, group.first, group.last), b = planes_of(expected, group.first, group.last);
        const double error = relative_l2(a, b);
        report(fmt::format("gradient of {}", group.name), error);
        EXPECT_LE(error, kGradientTolerance) << group.name;
        double largest = 0;
        for (const double x : b) largest = std::max(largest, std::abs(x));
        EXPECT_LE(silent_zero_share(a, b, 1e-6 * largest), 0.001) << group.name;
    }
}

class CpuRenderFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(CpuRenderFiles, PicturesAndGradients) {
    GS_NEED_DATA(std::string("reference/render/") + GetParam() + ".npz");
    const RenderCase c = load_render_case(GetParam());
    const GaussianModel model = c.scene.to_model();
    RasterRun run(make_cpu_rasterizer());
    reference::Parameters gradients(c.scene.count, c.scene.sh_degree);
    for (std::size_t i = 0; i < c.cameras.size(); ++i) {
        const Drawn drawn = run.draw(model, c.cameras[i], options_of(c), true);
        const Array fragile = c.file["out_fragile"].slice(i);
        const double color = max_abs_difference(drawn.color, c.file["out_rgb"].slice(i), fragile);
        const double alpha = max_abs_difference(drawn.alpha, c.file["out_alpha"].slice(i), fragile);
        report(fmt::format("camera {} colour", i), color);
        report(fmt::format("camera {} alpha", i), alpha);
        EXPECT_LE(color, kPixelTolerance) << "camera " << i;
        EXPECT_LE(alpha, kPixelTolerance) << "camera " << i;
        EXPECT_LE(relative_l2(drawn.depth, c.file["out_depth"].slice(i)), 1e-4) << "camera " << i;
        const BandReport band = compare_with_band(drawn.color, c.file["out_rgb"].slice(i), fragile, kPixelTolerance);
        BandLimits limits;
        limits.band_share = 0.1;  // as the files mark them
        EXPECT_EQ(violation(band, limits), "") << "camera " << i;
        if (c.file.has("out_n_contrib")) {
            EXPECT_EQ(max_abs_difference(drawn.contributors, c.file["out_n_contrib"].slice(i), fragile), 0);
        }
        const DrawnGradients g = run.backward(case_upstream(c.cameras[i].width, c.cameras[i].height));
        for (std::size_t k = 0; k < gradients.values.size(); ++k) gradients.values[k] += g.parameters.values[k];
        if (c.file.has("out_v_means2d")) {
            const double mean2d = relative_l2(g.mean2d, c.file["out_v_means2d"].slice(i));
            report(fmt::format("camera {} gradient of 2d means", i), mean2d);
            EXPECT_LE(mean2d, kGradientTolerance);
        }
    }
    expect_gradients(gradients, expected_gradients(c));
}

INSTANTIATE_TEST_SUITE_P(Cpu, CpuRenderFiles,
                         ::testing::Values("pinhole_sh3", "pinhole_antialiased", "dense_overlap", "garden_subset"),
                         [](const auto& test) { return std::string(test.param); });

class CpuBrushFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(CpuBrushFiles, PicturesAndGradients) {
    GS_NEED_DATA(std::string("reference/brush/") + GetParam() + ".safetensors");
    RenderCase c = load_brush_case(GetParam());
    RasterRun run(make_cpu_rasterizer());
    const Drawn drawn = run.draw(c.scene.to_model(), c.cameras[0], options_of(c));
    std::vector<double> own;
    for (std::size_t i = 0; i < drawn.alpha.size(); ++i)
        own.insert(own.end(), {drawn.color[3 * i], drawn.color[3 * i + 1], drawn.color[3 * i + 2], drawn.alpha[i]});
    const auto oracle = reference::render(c.scene, c.cameras[0], c.options);
    const double pixels = max_abs_difference(own, c.file["out_img"], oracle.fragile);
    report("picture", pixels);
    EXPECT_LE(pixels, kPixelTolerance);
    if (!c.file.has("v_out_img")) return;
    const auto actual = run.backward(brush_upstream(c)).parameters;
    reference::Parameters expected = expected_brush_gradients(c);
    // The stored mean gradient lacks the path through the view direction; the oracle supplies it.
    const auto detached = reference::render_backward(c.scene, c.cameras[0], c.options, oracle, brush_upstream(c));
    c.options.detach_direction = false;
    const auto full = reference::render_backward(c.scene, c.cameras[0], c.options, oracle, brush_upstream(c));
    for (std::size_t k = 0; k < 3 * c.scene.count; ++k)
        expected.values[k] += full.parameters.values[k] - detached.parameters.values[k];
    expect_gradients(actual, expected);
}

INSTANTIATE_TEST_SUITE_P(Cpu, CpuBrushFiles,
                         ::testing::Values("tiny_case", "basic_case", "tiny_case_with_gradients",
                                           "basic_case_with_gradients"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace gs::test
