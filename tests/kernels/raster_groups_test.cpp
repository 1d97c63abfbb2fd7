// Frames in groups of tiles, on every backend: the same bits as in one pass, whatever fits.
#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <numbers>

#include "renderer/device/cuda/device.h"
#include "renderer/raster/frame_probe.h"
#include "renderer/raster/frame_size.h"
#include "renderer/raster/tile_groups.h"
#include "tests/kernels/raster_backend.h"
#include "tests/kernels/same_frame.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"
#include "tests/support/render_case.h"
#include "tests/support/required.h"

namespace gs::test {
namespace {

class RasterGroups : public RasterSuite {};
INSTANTIATE_TEST_SUITE_P(, RasterGroups, ::testing::ValuesIn(kRasterBackends), name_of_backend);

void expect_same_gradients(const DrawnGradients& a, const DrawnGradients& b) {
    EXPECT_TRUE(same_bits(a.parameters.values, b.parameters.values));
    EXPECT_TRUE(same_bits(a.mean2d, b.mean2d));
    EXPECT_EQ(a.taken, b.taken);
    EXPECT_EQ(a.visible, b.visible);
}

/// A frame in one pass, and what its groups are compared with.
class Comparison {
  public:
    Comparison(const RasterBackend& backend, GaussianModel model, const Camera& camera,
               const RenderOptions& options = {})
        : backend_(backend),
          model_(std::move(model)),
          camera_(camera),
          options_(options),
          one_(backend.make()),
          drawn_(one_.draw(model_, camera, options)) {
        if (!options.gradients) return;
        upstream_ = case_upstream(camera.width, camera.height);
        if (!options.depth) upstream_.depth.clear();
        gradients_ = one_.backward(upstream_);
    }
    std::uint64_t isects() const { return drawn_.result.counters.isects; }
    /// The same frame in groups of `most`. `times`: backward, as often as wanted.
    void run(std::uint64_t most, int times = 1) const {
        SCOPED_TRACE(fmt::format("{} x {}, groups of {}", camera_.width, camera_.height, most));
        RasterRun grouped(backend_.make());
        RenderOptions few = options_;
        few.most_pairs = most;
        expect_same_frame(drawn_.result, grouped.draw(model_, camera_, few).result);
        if (!options_.gradients) return;
        for (int i = 0; i < times; ++i)
            expect_same_gradients(gradients_, grouped.backward(upstream_));
        EXPECT_TRUE(same_bits(one_.backward_costs().evaluated, grouped.backward_costs().evaluated));
    }

  private:
    const RasterBackend& backend_;
    GaussianModel model_;
    Camera camera_;
    RenderOptions options_;
    RasterRun one_;
    Drawn drawn_;
    reference::PictureGradient upstream_;
    DrawnGradients gradients_;
};

GaussianModel scene(std::size_t count, float least, float most) {
    return random_model({.count = count, .scale_lo = least, .scale_hi = most});
}

TEST_P(RasterGroups, ManyScenesAndSizesOfGroups) {
    struct Scene {
        const char* name;
        GaussianModel model;
        Camera camera;
    };
    const std::size_t n = backend().pick<std::size_t>(2500, 500);
    const Scene scenes[] = {
        {"one tile", scene(200, 0.05f, 0.5f), random_camera(3, 0, 16, 13)},
        {"small ones", scene(n, 0.01f, 0.05f), random_camera(3, 0, 150, 90)},
        {"all over the screen", scene(120, 0.3f, 3.0f),
         random_camera(5, 0, backend().pick(330, 170), backend().pick(270, 140))},
        {"nothing", scene(0, 0.1f, 0.2f), random_camera(3, 0, 64, 48)},
    };
    for (const Scene& s : scenes) {
        SCOPED_TRACE(s.name);
        const Comparison compare(backend(), s.model, s.camera);
        const std::uint64_t isects = compare.isects();
        compare.run(1u << 10, 2);
        for (const std::uint64_t most : {std::uint64_t{1}, isects / 3 + 1, isects})
            if (most > 1 || isects < 20'000) compare.run(most);
    }
}

TEST_P(RasterGroups, EveryWayOfDrawing) {
    const GaussianModel model = scene(300, 0.02f, 1.0f);
    const Camera camera = random_camera(7, 0, backend().pick(120, 72), backend().pick(100, 60));
    std::vector<RenderOptions> ways(6);
    ways[0].antialiased = true;
    ways[1].absolute = ways[1].motion = true;
    ways[2].counters = ways[2].warps = ways[2].median_depth = true;
    ways[3].counters = ways[3].costs = true;
    ways[3].depth = false;
    ways[4].gradients = false;
    ways[5].compatibility = Compatibility::inria;
    for (const RenderOptions& way : ways) {
        SCOPED_TRACE(&way - ways.data());
        const Comparison compare(backend(), model, camera, way);
        const std::uint64_t isects = compare.isects();
        compare.run(isects / 8, 2);
        for (const std::uint64_t most : {std::uint64_t{1}, isects / 2}) compare.run(most);
    }
    Comparison(backend(), under_sky(model), camera).run(300);
}

Camera panorama(int width, int height) {
    Camera camera = random_camera(24, 0, width, height, 2.0);
    camera.model = CameraModel::equirectangular;
    camera.fx = width / (2 * std::numbers::pi);
    camera.fy = height / std::numbers::pi;
    camera.cx = 0.5 * width;
    camera.cy = 0.5 * height;
    return camera;
}

TEST_P(RasterGroups, APanoramaAroundItsSeam) {
    for (const ProjectionMethod method : {ProjectionMethod::ewa, ProjectionMethod::ut}) {
        const GaussianModel model = scene(250, 0.05f, 0.6f);
        RenderOptions options{.projection = method};
        // Whole rows: with gradients.
        const Comparison whole(backend(), model, panorama(150, 75), options);
        whole.run(1u << 20);
        whole.run(whole.isects() / 2, 2);
        // Parts of rows: pictures alone.
        options.gradients = false;
        const Comparison parts(backend(), model, panorama(150, 75), options);
        parts.run(1);
        parts.run(40);
    }
}

TEST_P(RasterGroups, GradientsOfPartsOfAPanoramasRowAreRefused) {
    const Camera camera = panorama(150, 75);
    RasterRun run(backend().make());
    RenderOptions options{.most_pairs = 2};
    const GaussianModel model = scene(250, 0.05f, 0.6f);
    try {
        (void)run.draw(model, camera, options);
        FAIL() << "drawn";
    } catch (const FrameTooLarge& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("a row of tiles of a panorama of 150 x 75"));
    }
    // The next frame is drawn as if nothing had been.
    options.most_pairs = 0;
    RasterRun fresh(backend().make());
    expect_same_frame(run.draw(model, camera, options).result,
                      fresh.draw(model, camera, options).result);
}

/// Sums of gradients as long as a thread, a warp and a block make them.
TEST_P(RasterGroups, GaussiansOfFewAndOfManyTiles) {
    const Camera camera = random_camera(5, 0, 16 * 19, 16 * 16);
    const Comparison compare(backend(), scene(backend().pick<std::size_t>(60, 12), 0.02f, 4.0f),
                             camera);
    for (const std::uint64_t most : {200u, 1u << 10}) compare.run(most);
}

/// Most of the Gaussians between two that are listed have no tile in the group.
TEST_P(RasterGroups, FewOfManyGaussiansAreInAGroup) {
    for (const int width : {320, 640}) {
        const Comparison of(backend(), scene(6000, 0.02f, 0.08f), random_camera(7, 1, width, 240),
                            {.gradients = width == 320});
        of.run(1500);
        EXPECT_GT(of.isects(), 12'000u);
    }
}

/// One state draws frames of all kinds, one after the other.
TEST_P(RasterGroups, AStateGoesFromOnePassToGroupsAndBack) {
    const GaussianModel model = scene(300, 0.02f, 1.0f);
    const Camera camera = random_camera(7, 0, 120, 100);
    RasterRun run(backend().make()), fresh(backend().make());
    RenderOptions whole, few;
    few.most_pairs = 200;
    const Drawn truth = fresh.draw(model, camera, whole);
    const reference::PictureGradient v = case_upstream(camera.width, camera.height);
    const DrawnGradients gradients = fresh.backward(v);
    for (const RenderOptions& options : {few, whole, few, few, whole}) {
        expect_same_frame(run.draw(model, camera, options).result, truth.result);
        expect_same_gradients(run.backward(v), gradients);
    }
}

/// Lists have the memory of a group, not of the frame.
TEST_P(RasterGroups, TakeTheMemoryOfTheirLimit) {
    const GaussianModel model = scene(backend().pick<std::size_t>(400, 100), 1.0f, 4.0f);
    const Camera camera = random_camera(5, 0, 330, 270);
    const auto rasterizer = backend().make();
    const auto source = rasterizer->source_of(model);
    const auto bytes_of = [&](std::uint64_t most) {
        const RenderOptions options{.most_pairs = most};
        const auto state = rasterizer->make_state();
        RenderResult result;
        rasterizer->forward(*source, camera, options, *state, result);
        EXPECT_GT(result.counters.isects, 10'000u);
        FrameProbe probe;
        EXPECT_EQ(rasterizer->probe(*state, probe), most == 0) << "of lists that are there";
        return std::pair{state->bytes(), result.counters.isects};
    };
    const auto [whole, isects] = bytes_of(0);
    const auto [few, same] = bytes_of(1u << 12);
    EXPECT_EQ(isects, same);
    // A record of 48 bytes a pair alone, which the CPU makes in backward.
    const std::uint64_t each = backend().emulated ? 60 : 10;
    EXPECT_LT(few + each / 2 * (isects - (1u << 12)), whole);
}

/// Lists that a device's memory does not hold are made in groups without being asked for.
TEST(RasterGroupsOnADevice, LittleMemoryIsEnough) {
    SceneRecipe recipe{.count = 1300};
    recipe.scale_lo = recipe.scale_hi = 6.0f;  // each in every tile
    recipe.opacity_lo = recipe.opacity_hi = 0.95f;
    recipe.sh_degree = 0;
    const GaussianModel model = random_model(recipe);
    const Camera camera = random_camera(5, 0, 640, 480);
    RenderResult pictures[2];
    for (const bool little : {false, true}) {
        const auto rasterizer = emulated_cuda();
        const auto source = rasterizer->source_of(model);
        const auto state = rasterizer->make_state();
        const auto memory = required(cuda_memory(0));
        constexpr std::uint64_t kLittle = 130 << 20;
        if (little) emulator::set_device_bytes(memory.total_bytes - memory.free_bytes + kLittle);
        rasterizer->forward(*source, camera, {}, *state, pictures[little ? 1 : 0]);
        FrameProbe probe;
        EXPECT_EQ(rasterizer->probe(*state, probe), !little);
        EXPECT_EQ(state->bytes() > kLittle, !little) << state->bytes();
        emulator::set_device_bytes(std::size_t{16} << 30);
    }
    EXPECT_GT(pictures[0].counters.isects, 1'400'000u);
    expect_same_frame(pictures[0], pictures[1]);
}

/// Of changes from tile to tile: [2][3 tiles].
TEST(TileGroups, AreAsLargeAsMayBe) {
    constexpr std::uint32_t kLess = ~0u;
    const std::vector<std::uint32_t> changes = {5, 0, kLess, 0, 1, 0, 9, 0};  // 5 5 4, 1 1 10
    const auto groups = [&](std::uint64_t most, bool around = false) {
        std::vector<std::array<std::uint64_t, 3>> out;
        for (const TileGroup& g : group_tiles(changes, 3, 2, most, around))
            out.push_back({g.first, g.end, g.pairs});
        return out;
    };
    using Groups = std::vector<std::array<std::uint64_t, 3>>;
    EXPECT_EQ(groups(26), (Groups{{0, 6, 26}}));
    EXPECT_EQ(groups(25), (Groups{{0, 3, 14}, {3, 6, 12}}));
    EXPECT_EQ(groups(12), (Groups{{0, 2, 10}, {2, 3, 4}, {3, 6, 12}}));
    EXPECT_EQ(groups(3), (Groups{{0, 1, 5}, {1, 2, 5}, {2, 3, 4}, {3, 5, 2}, {5, 6, 10}}));
    EXPECT_EQ(groups(12, true), (Groups{{0, 1, 5}, {1, 2, 5}, {2, 3, 4}, {3, 6, 12}}));
    EXPECT_EQ(fullest_cut_row(group_tiles(changes, 3, 2, 3, false), 3), 14u);
    EXPECT_EQ(fullest_cut_row(group_tiles(changes, 3, 2, 25, false), 3), 0u);
    EXPECT_EQ(sum_of_pairs(group_tiles(changes, 3, 2, 3, false)), 26u);
    EXPECT_EQ(most_pairs(group_tiles(changes, 3, 2, 3, false)), 10u);
}

}  // namespace
}  // namespace gs::test
