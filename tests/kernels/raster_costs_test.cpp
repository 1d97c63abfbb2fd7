// What blending costs, on every backend: the sums agree with the frame's counters, and measuring
// changes no bit of the picture or of its gradients.
#include <numeric>

#include "tests/kernels/raster_backend.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

class RasterCosts : public RasterSuite {
  protected:
    const Camera camera_ = random_camera(41, 0, backend().pick(150, 50), backend().pick(110, 40));
    GaussianModel scene() const {
        return random_model({.count = backend().pick<std::size_t>(3000, 300)});
    }
};
INSTANTIATE_TEST_SUITE_P(, RasterCosts, ::testing::ValuesIn(kRasterBackends), name_of_backend);

RenderOptions measuring(bool costs, bool counters = true) {
    return {.background = {0.2f, 0.1f, 0.3f}, .depth = false, .counters = counters, .costs = costs};
}
/// Costs are of pictures without depth.
reference::PictureGradient upstream(const Camera& camera) {
    reference::PictureGradient v = case_upstream(camera.width, camera.height);
    v.depth.clear();
    return v;
}
template <class T>
std::uint64_t sum_of(const Buffer<T>& values) {
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

TEST_P(RasterCosts, AddUpToTheCounters) {
    const GaussianModel model = scene();
    RasterRun run(backend().make());
    const Drawn drawn = run.draw(model, camera_, measuring(true));
    const BlendCosts& costs = drawn.result.costs;
    const RenderCounters& counters = drawn.result.counters;
    ASSERT_FALSE(costs.empty());
    ASSERT_EQ(costs.evaluated.size(), model.count);
    EXPECT_EQ(sum_of(costs.tile_evaluated), counters.evaluated_pairs);
    EXPECT_EQ(sum_of(costs.evaluated), counters.evaluated_pairs);
    EXPECT_EQ(sum_of(costs.tile_blended), counters.blended_pairs);
    EXPECT_EQ(sum_of(costs.blended), counters.blended_pairs);
    for (std::size_t tile = 0; tile < costs.tile_ns.size(); ++tile) {
        EXPECT_LE(costs.tile_blended[tile], costs.tile_evaluated[tile]);
        EXPECT_GE(costs.tile_ns[tile], 0.0f);
        if (drawn.result.isects_per_tile[tile] > 0) {
            EXPECT_GT(costs.tile_ns[tile], 0.0f);
        }
    }
    for (std::size_t row = 0; row < model.count; ++row)
        EXPECT_LE(costs.blended[row], costs.evaluated[row]);

    const DrawnGradients gradients = run.backward(upstream(camera_));
    const BlendCosts& backward = run.backward_costs();
    ASSERT_EQ(backward.tile_ns.size(), costs.tile_ns.size());
    EXPECT_EQ(sum_of(backward.tile_evaluated), sum_of(backward.evaluated));
    EXPECT_GE(sum_of(backward.evaluated), counters.blended_pairs) << "it goes over all of these";
    EXPECT_LE(sum_of(backward.evaluated), counters.evaluated_pairs)
        << "and none that forward did not";
    for (std::size_t row = 0; row < model.count; ++row)
        if (gradients.visible[row] == 0) {
            EXPECT_EQ(backward.evaluated[row], 0u);
        }
}

TEST_P(RasterCosts, MeasuringChangesNoBit) {
    const GaussianModel model = scene();
    const auto v = upstream(camera_);
    RasterRun run(backend().make());
    const Drawn plain = run.draw(model, camera_, measuring(false, false));
    const DrawnGradients plain_gradients = run.backward(v);
    EXPECT_TRUE(plain.result.costs.empty());
    const Drawn measured = run.draw(model, camera_, measuring(true));
    const DrawnGradients gradients = run.backward(v);
    EXPECT_EQ(measured.color, plain.color);
    EXPECT_EQ(measured.alpha, plain.alpha);
    EXPECT_EQ(gradients.parameters.values, plain_gradients.parameters.values);
    EXPECT_EQ(gradients.mean2d, plain_gradients.mean2d);
    // Nothing is left of it where it is not asked for.
    const Drawn after = run.draw(model, camera_, measuring(false));
    EXPECT_TRUE(after.result.costs.empty());
    EXPECT_EQ(after.contributors, measured.contributors);
    run.backward(v);
    EXPECT_TRUE(run.backward_costs().empty());
}

TEST_P(RasterCosts, OfNothingAreNothing) {
    RasterRun run(backend().make());
    const Drawn drawn = run.draw(GaussianModel(0, 0), camera_, measuring(true));
    EXPECT_EQ(sum_of(drawn.result.costs.tile_evaluated), 0u);
    EXPECT_EQ(drawn.result.costs.evaluated.size(), 0u);
    run.backward(upstream(camera_));
    EXPECT_EQ(sum_of(run.backward_costs().tile_evaluated), 0u);
}

}  // namespace
}  // namespace gs::test
