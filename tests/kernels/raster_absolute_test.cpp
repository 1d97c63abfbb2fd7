// Gradients of projected means without signs, on every backend: by their definition, a pixel after
// the other.
#include <cmath>

#include "tests/kernels/raster_backend.h"
#include "tests/support/compare.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

class RasterAbsolute : public RasterSuite {};
INSTANTIATE_TEST_SUITE_P(, RasterAbsolute, ::testing::ValuesIn(kRasterBackends), name_of_backend);

constexpr int kWidth = 21, kHeight = 9;  // two tiles, neither whole

/// `v` at one pixel alone.
reference::PictureGradient only_at(const reference::PictureGradient& v, std::size_t pixel) {
    reference::PictureGradient out{std::vector<double>(v.color.size()),
                                   std::vector<double>(v.alpha.size()),
                                   std::vector<double>(v.depth.size())};
    for (std::size_t c = 0; c < 3; ++c) out.color[3 * pixel + c] = v.color[3 * pixel + c];
    if (!v.alpha.empty()) out.alpha[pixel] = v.alpha[pixel];
    if (!v.depth.empty()) out.depth[pixel] = v.depth[pixel];
    return out;
}

void expect_sums_of_pixels(const RasterBackend& backend, bool depth) {
    const GaussianModel model = random_model({.count = 25});
    const Camera camera = random_camera(3, 0, kWidth, kHeight);
    reference::PictureGradient v = case_upstream(kWidth, kHeight);
    if (!depth) {
        v.alpha.clear();
        v.depth.clear();
    }
    RenderOptions options{.depth = depth};
    RasterRun run(backend.make());
    (void)run.draw(model, camera, options);
    const DrawnGradients with_signs = run.backward(v);
    std::vector<double> expected(2 * model.count);
    for (std::size_t pixel = 0; pixel < std::size_t{kWidth} * kHeight; ++pixel) {
        const DrawnGradients one = run.backward(only_at(v, pixel));
        for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += std::abs(one.mean2d[i]);
    }
    options.absolute = true;
    (void)run.draw(model, camera, options);
    const DrawnGradients got = run.backward(v);
    EXPECT_LE(relative_l2(got.mean2d, expected), 1e-4);
    EXPECT_GT(relative_l2(with_signs.mean2d, expected), 0.1) << "signs would not matter here";
    EXPECT_LE(relative_l2(got.parameters.values, with_signs.parameters.values), 1e-6);
}

TEST_P(RasterAbsolute, IsTheSumOfWhatPixelsGive) { expect_sums_of_pixels(backend(), false); }
TEST_P(RasterAbsolute, AlsoWithDepth) { expect_sums_of_pixels(backend(), true); }

}  // namespace
}  // namespace gs::test
