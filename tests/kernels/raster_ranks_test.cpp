// A frame of Gaussians that several ranks hold: the picture, the counts and the gradients of one
// process, to the bit, however it is cut and listed.
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <numbers>

#include "tests/kernels/same_frame.h"
#include "tests/support/lens_scene.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"
#include "tests/support/render_case.h"
#include "tests/support/thread_exchange.h"

namespace gs::test {
namespace {

using gs::testing::ThreadHub;
using gs::testing::with_ranks;

/// Gradients by row of the whole model; of a rank's blocks, `first` on.
class RowSink final : public GradientSink {
  public:
    RowSink(std::vector<float>& rows, std::size_t first) : rows_(rows), first_(first) {}
    void take(const BlockGradients& g) override {
        const std::lock_guard lock(mutex_);
        float* const to = rows_.data() + (first_ + g.block) * kRow;
        std::memcpy(to, g.planes, sizeof g.planes);
        std::memcpy(to + sizeof g.planes / sizeof(float), g.mean2d, sizeof g.mean2d);
    }
    static constexpr std::size_t kRow = (kMaxPlanes + 2) * kBlock;

  private:
    std::vector<float>& rows_;
    const std::size_t first_;
    std::mutex mutex_;
};

struct Frame {
    RenderResult picture;
    std::vector<float> gradients;
};

GaussianModel rows_of(const GaussianModel& model, std::size_t first, std::size_t end) {
    GaussianModel out(end - first, model.sh_degree);
    out.set_about(model);
    for (int p = 0; p < model.planes(); ++p)
        std::copy(model.plane(p) + first, model.plane(p) + end, out.plane(p));
    return out;
}

PixelGradients upstream(const Camera& camera, const RenderOptions& options) {
    PixelGradients out;
    const auto fill = [&](ImageF& image, int planes, int seed) {
        image.resize(camera.width, camera.height, planes);
        for (std::size_t i = 0; i < image.values.size(); ++i)
            image.values[i] =
                static_cast<float>(random_in(11, static_cast<std::uint64_t>(seed), i, -1.0, 1.0));
    };
    fill(out.color, 3, 0);
    fill(out.alpha, 1, 1);
    if (options.depth) fill(out.depth, 1, 2);
    return out;
}

/// With `ranks` of them, or without for 0.
Frame draw(const GaussianModel& model, const Camera& camera, const RenderOptions& options,
           int ranks) {
    Frame out;
    out.gradients.resize(model.blocks() * RowSink::kRow, 0.0f);
    const PixelGradients v = upstream(camera, options);
    const auto one_rank = [&](Exchange* exchange, const GaussianModel& own, std::size_t first_block,
                              RenderResult& picture, const PixelGradients& of_picture) {
        const auto rasterizer =
            exchange == nullptr ? make_cpu_rasterizer() : make_rank_rasterizer(*exchange);
        const auto state = rasterizer->make_state();
        Buffer<BlockBounds> bounds;
        compute_bounds(own, bounds);
        ModelSource source(own, bounds.span());
        RowSink sink(out.gradients, first_block);
        for (int twice = 0; twice < 2; ++twice) {  // memory is reused
            rasterizer->forward(source, camera, options, *state, picture);
            if (options.gradients)
                rasterizer->backward(source, camera, options, *state, picture, of_picture, sink);
        }
    };
    if (ranks == 0) {
        one_rank(nullptr, model, 0, out.picture, v);
        return out;
    }
    ThreadHub hub(ranks);
    const auto part = [&](Exchange& exchange, RenderResult& picture, const PixelGradients& of) {
        const std::size_t blocks = model.blocks(), n = static_cast<std::size_t>(ranks),
                          rank = static_cast<std::size_t>(exchange.rank());
        const std::size_t first = blocks * rank / n, end = blocks * (rank + 1) / n;
        one_rank(&exchange, rows_of(model, first * kBlock, std::min(model.count, end * kBlock)),
                 first, picture, of);
    };
    with_ranks(
        hub, [&](Exchange& exchange) { part(exchange, out.picture, v); },
        [&](Exchange& exchange) {
            RenderResult picture;
            part(exchange, picture, {});
        });
    return out;
}

void expect_one_frame(const GaussianModel& model, const Camera& camera,
                      const RenderOptions& options) {
    const Frame one = draw(model, camera, options, 0);
    for (const int ranks : {1, 2, 3, 5}) {
        SCOPED_TRACE(ranks);
        const Frame several = draw(model, camera, options, ranks);
        expect_same_frame(one.picture, several.picture);
        EXPECT_TRUE(same_bits(one.gradients, several.gradients));
    }
}

GaussianModel scene(std::size_t count, float least, float most) {
    SceneRecipe recipe;
    recipe.count = count;
    recipe.scale_lo = least;
    recipe.scale_hi = most;
    return random_model(recipe);
}

TEST(RasterRanks, ScenesOfEverySize) {
    expect_one_frame(scene(2000, 0.01f, 0.05f), random_camera(3, 0, 150, 90), {});
    expect_one_frame(scene(150, 0.3f, 3.0f), random_camera(5, 0, 130, 170), {});  // across ranks
    expect_one_frame(scene(40, 0.05f, 0.5f), random_camera(3, 0, 16, 13), {});
    expect_one_frame(scene(0, 0.05f, 0.5f), random_camera(3, 0, 64, 48), {});
}

TEST(RasterRanks, EveryWayOfDrawing) {
    const GaussianModel model = scene(400, 0.02f, 1.0f);
    std::vector<RenderOptions> ways(5);
    ways[0].antialiased = true;
    ways[1].absolute = ways[1].motion = true;
    ways[2].counters = ways[2].median_depth = true;
    ways[3].gradients = ways[3].depth = false;
    ways[4].compatibility = Compatibility::inria;
    for (const RenderOptions& way : ways) {
        SCOPED_TRACE(&way - ways.data());
        expect_one_frame(model, random_camera(7, 0, 120, 100), way);
    }
}

TEST(RasterRanks, EachRankListsItsTilesInGroups) {
    const GaussianModel model = scene(300, 0.02f, 1.0f);
    for (const std::uint64_t most : {1u, 40u, 500u}) {
        SCOPED_TRACE(most);
        RenderOptions few;
        few.most_pairs = most;
        expect_one_frame(model, random_camera(7, 0, 120, 100), few);
    }
}

TEST(RasterRanks, EveryLens) {
    const GaussianModel model = scene(300, 0.02f, 0.4f);
    for (const LensCase& lens : lens_cases(random_camera(9, 0, 100, 80))) {
        SCOPED_TRACE(lens.name);
        expect_one_frame(model, lens.camera, {});
        expect_one_frame(under_sky(model), lens.camera, {});
    }
    Camera panorama = random_camera(24, 0, 128, 64, 2.0);  // goes around
    panorama.model = CameraModel::equirectangular;
    panorama.fx = panorama.fy = 128 / (2 * std::numbers::pi);
    panorama.cx = 64;
    panorama.cy = 32;
    expect_one_frame(model, panorama, {});
}

}  // namespace
}  // namespace gs::test
