// The inspector of pixels against the oracle's picture and gradients, the rasterizers' pictures and
// lists, and the loss of the whole picture.
#include "renderer/inspect/inspect.h"

#include <cmath>
#include <memory>

#include "tests/kernels/raster_backend.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"
#include "trainer/loss/loss.h"
#include "trainer/loss/loss_window.h"

namespace gs::test {
namespace {

struct Asked {
    GaussianModel model;
    Camera camera;
    RenderOptions options;
};

std::vector<Asked> questions() {
    std::vector<Asked> out;
    for (const Compatibility profile :
         {Compatibility::tight, Compatibility::gsplat, Compatibility::inria})
        for (const bool dense : {false, true}) {
            SceneRecipe recipe{.count = dense ? 600u : 200u, .seed = 3};
            if (dense) recipe.opacity_hi = 0.999f;
            Asked one{random_model(recipe), random_camera(9, dense ? 1 : 0, 70, 50), {}};
            one.options.compatibility = profile;
            one.options.background = {0.2f, 0.5f, 0.9f};
            one.options.antialiased = dense;
            out.push_back(std::move(one));
        }
    out.push_back(out[0]);
    out.back().options.clip = ClipBox{{-1, -0.5f, -1}, {0.4f, 1, 1}};
    out.back().options.scale_modifier = 1.5f;
    out.back().options.sh_degree = 1;
    return out;
}

template <class F>
void for_some_pixels(const Camera& camera, F&& f) {
    for (int y = 0; y < camera.height; y += 7)
        for (int x = y % 5; x < camera.width; x += 11) f(x, y);
}
std::size_t index_of(const Camera& camera, int x, int y) {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(camera.width) +
           static_cast<std::size_t>(x);
}
Vec3d sum_of(const PixelReport& report) {
    Vec3d sum = report.transmittance * report.background;
    for (const PixelEntry& entry : report.entries) sum += entry.contribution();
    return sum;
}

TEST(Inspect, SumsAreTheReferencesPixel) {
    for (const Asked& q : questions()) {
        const auto truth = reference::render(reference::Parameters(q.model), q.camera,
                                             oracle_options(q.options, q.model.sky));
        for_some_pixels(q.camera, [&](int x, int y) {
            const PixelReport report = PixelWalk(q.model, q.camera, q.options, x, y).report();
            const std::size_t i = index_of(q.camera, x, y);
            const Vec3d sum = sum_of(report);
            EXPECT_NEAR(sum.x, truth.color[3 * i], 1e-6);
            EXPECT_NEAR(sum.y, truth.color[3 * i + 1], 1e-6);
            EXPECT_NEAR(sum.z, truth.color[3 * i + 2], 1e-6);
            EXPECT_NEAR(report.color.x, truth.color[3 * i], 1e-12);
            EXPECT_NEAR(report.depth, truth.depth[i], 1e-9);
            EXPECT_EQ(report.median_depth, truth.median_depth[i]);
            EXPECT_EQ(report.contributors, truth.contributors[i]);
            EXPECT_EQ(report.fragile, truth.fragile[i] != 0);
            double left = 1, depth = 0;
            for (const PixelEntry& entry : report.entries) {
                EXPECT_NEAR(entry.before, left, 1e-12);
                EXPECT_GE(static_cast<float>(entry.depth), static_cast<float>(depth));
                depth = entry.depth;
                left -= entry.weight;
            }
            EXPECT_NEAR(left, report.transmittance, 1e-12);
        });
    }
}

class InspectBackends : public RasterSuite {};
INSTANTIATE_TEST_SUITE_P(, InspectBackends, ::testing::ValuesIn(kRasterBackends), name_of_backend);

TEST_P(InspectBackends, SumsAndListsAreTheRasterizers) {
    std::size_t tiles = 0, other_lists = 0, pixels = 0;
    for (const Asked& q : questions()) {
        RasterRun run(backend().make());
        RenderOptions options = q.options;
        options.counters = true;
        const Drawn drawn = run.draw(q.model, q.camera, options);
        for_some_pixels(q.camera, [&](int x, int y) {
            const PixelReport report = PixelWalk(q.model, q.camera, options, x, y).report();
            if (report.fragile) return;
            ++pixels;
            const std::size_t i = index_of(q.camera, x, y);
            const Vec3d sum = sum_of(report);
            EXPECT_NEAR(sum.x, drawn.color[3 * i], 2e-5);
            EXPECT_NEAR(sum.y, drawn.color[3 * i + 1], 2e-5);
            EXPECT_NEAR(sum.z, drawn.color[3 * i + 2], 2e-5);
            EXPECT_EQ(report.contributors, drawn.contributors[i]);
        });
        const RenderResult& result = drawn.result;
        for (int row = 0; row < result.tiles_y; ++row)
            for (int column = 0; column < result.tiles_x; ++column) {
                const TileReport tile =
                    PixelWalk(q.model, q.camera, options, column * kTileSize, row * kTileSize)
                        .report()
                        .tile;
                const auto own = static_cast<std::int64_t>(tile.listed),
                           theirs = static_cast<std::int64_t>(
                               result.isects_per_tile[static_cast<std::size_t>(
                                   row * result.tiles_x + column)]);
                ++tiles;
                other_lists += own != theirs ? 1 : 0;
                EXPECT_NEAR(static_cast<double>(own), static_cast<double>(theirs), 1);
            }
    }
    EXPECT_GT(pixels, 100u);
    // Rounding at an edge of a tile, now and then.
    EXPECT_LE(other_lists, tiles / 50);
}

/// Gaussians one behind the other on the axis, wide, each with its opacity.
GaussianModel stack_of(const std::vector<double>& opacities) {
    GaussianModel model(opacities.size(), 0);
    for (std::size_t i = 0; i < opacities.size(); ++i) {
        model.at(kMeans + 2, i) = 2.0f + static_cast<float>(i);
        for (int k = 0; k < 3; ++k) model.at(kLogScales + k, i) = std::log(0.3f);
        model.at(kOpacityLogits, i) =
            static_cast<float>(std::log(opacities[i] / (1 - opacities[i])));
        model.at(kSh0 + static_cast<int>(i % 3), i) = 1;
    }
    return model;
}

TEST(Inspect, SaysWhyNotBlended) {
    GaussianModel model = stack_of({0.5, 0.004, 0.98, 0.985, 0.9, 0.9});
    model.at(kMeans, 1) = 0.35f;  // faint at its edge, and still in the list
    Camera camera{.width = 64, .height = 64, .fx = 60, .fy = 60, .cx = 32, .cy = 32};
    auto tint = std::make_shared<GaussianTint>();
    tint->words.resize_discard(1);
    tint->words[0] = GaussianTint::kHidden;
    RenderOptions options;
    const PixelReport report = PixelWalk(model, camera, options, 32, 32).report();
    ASSERT_EQ(report.entries.size(), 6u);
    const auto fate = [&](std::size_t i) { return report.entries[i].fate; };
    EXPECT_EQ(fate(0), PixelFate::blended);
    EXPECT_EQ(fate(1), PixelFate::faint);
    EXPECT_EQ(fate(2), PixelFate::blended);
    EXPECT_EQ(fate(3), PixelFate::blended);
    EXPECT_EQ(fate(4), PixelFate::ends);
    EXPECT_EQ(fate(5), PixelFate::after);
    EXPECT_EQ(report.tile.stops[0], 5u) << "the fifth of the list ends it";
    EXPECT_EQ(report.tile.listed, 6u);

    options.tint = tint;
    const PixelReport without = PixelWalk(model, camera, options, 32, 32).report();
    EXPECT_EQ(without.entries[0].fate, PixelFate::hidden);
    EXPECT_EQ(without.entries[2].before, 1);
    const PixelReport corner = PixelWalk(model, camera, {}, 0, 0).report();
    EXPECT_EQ(corner.color.x + corner.color.y + corner.color.z, 0);
    EXPECT_EQ(corner.transmittance, 1);
}

TEST(Inspect, OfAVeryLongListSomePixelsAreAsked) {
    Camera camera = random_camera(1, 0, 64, 64);
    camera.rotation = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    camera.translation = {};
    camera.cx = camera.cy = 40;
    const GaussianModel model = stack_of(std::vector(PixelWalk::kSampledFrom + 1, 0.02));
    const PixelReport report = PixelWalk(model, camera, {}, 40, 40).report();
    const TileReport& tile = report.tile;
    EXPECT_EQ(tile.listed, model.count);
    EXPECT_EQ(report.entries.size(), model.count);
    EXPECT_EQ(tile.step, 4);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < tile.stops.size(); ++i) {
        sum += tile.stops[i];
        EXPECT_EQ(tile.stops[i], tile.stops[i / 64 * 64 + i % 16 / 4 * 4]);
        EXPECT_GT(tile.stops[i], 0u);
    }
    EXPECT_EQ(tile.evaluated, sum);
}

TEST(Inspect, PoisonIsInNoList) {
    GaussianModel model = stack_of({0.5, 0.5, 0.5, 0.5});
    model.at(kMeans, 0) = NAN;
    model.at(kLogScales, 1) = INFINITY;
    model.at(kSh0, 2) = NAN;
    Camera camera = random_camera(1, 0, 40, 30);
    camera.rotation = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    camera.translation = {};
    const PixelReport report = PixelWalk(model, camera, {}, 20, 15).report();
    ASSERT_EQ(report.entries.size(), 1u);
    EXPECT_EQ(report.entries[0].row, 3u);
    EXPECT_TRUE(PixelWalk(GaussianModel(0, 0), camera, {}, 0, 0).report().entries.empty());
}

TEST(Inspect, GradientsAreTheReferences) {
    const Asked q = questions()[1];
    const Vec3d v{0.3, -0.2, 0.7};
    const reference::Parameters scene(q.model);
    const reference::Options options = oracle_options(q.options, q.model.sky);
    const auto truth = reference::render(scene, q.camera, options);
    for (const auto& [x, y] : {std::pair{30, 20}, {5, 44}, {69, 49}}) {
        const PixelWalk walk(q.model, q.camera, q.options, x, y);
        PixelReport report = walk.report();
        walk.share_out(v, report);
        reference::PictureGradient upstream;
        upstream.color.assign(3 * truth.pixels(), 0);
        const std::size_t at = 3 * index_of(q.camera, x, y);
        upstream.color[at] = v.x, upstream.color[at + 1] = v.y, upstream.color[at + 2] = v.z;
        const auto gradient = reference::render_backward(scene, q.camera, options, truth, upstream);
        double shares = 0;
        for (const PixelEntry& entry : report.entries) {
            const auto& expected = gradient.projected[entry.row];
            EXPECT_NEAR(entry.weight * v.x, expected.color.x, 1e-9);
            EXPECT_NEAR(entry.weight * v.z, expected.color.z, 1e-9);
            // Of the opacity: alpha is opacity x gaussian, unless it is clamped.
            if (entry.fate == PixelFate::blended && entry.alpha < 0.99) {
                const double gaussian = entry.alpha / entry.opacity;
                EXPECT_NEAR(entry.v_alpha * gaussian, expected.opacity, 1e-9);
            }
            shares += entry.share;
        }
        EXPECT_NEAR(shares, report.contributors > 0 ? 1 : 0, 1e-9);
    }
}

TEST(Inspect, TheLossAroundAPixelIsThatOfTheWholePicture) {
    const Asked q = questions()[0];
    const auto truth = reference::render(reference::Parameters(q.model), q.camera,
                                         oracle_options(q.options, q.model.sky));
    ImageF picture(q.camera.width, q.camera.height, 3);
    Image8 photo{q.camera.width, q.camera.height, 3, {}},
        mask{q.camera.width, q.camera.height, 1, {}};
    for (std::size_t i = 0; i < picture.pixels(); ++i) {
        for (std::size_t c = 0; c < 3; ++c) {
            picture.plane(static_cast<int>(c))[i] = static_cast<float>(truth.color[3 * i + c]);
            photo.bytes.push_back(static_cast<std::uint8_t>(random_in(4, c, i, 0, 255)));
        }
        mask.bytes.push_back(i % 9 == 4 ? 0 : 255);
    }
    for (const Image8& masked : {Image8{}, mask}) {
        ImageF whole;
        (void)photo_loss(picture, photo, masked, 0.2, &whole);
        for_some_pixels(q.camera, [&](int x, int y) {
            const PixelWalk walk(q.model, q.camera, q.options, x, y, kLossReach);
            const PixelRect around = walk.around();
            const ImageF window = walk.colors(around);
            EXPECT_EQ(window.at(1, x - around.x0, y - around.y0), picture.at(1, x, y));
            const Vec3d at =
                loss_gradient_at(x, y, window, around.x0, around.y0, photo, masked, 0.2);
            const double v[3] = {at.x, at.y, at.z};
            for (int c = 0; c < 3; ++c) {
                const double expected = static_cast<double>(whole.at(c, x, y));
                EXPECT_NEAR(v[c], expected, 1e-5 * std::abs(expected) + 1e-10) << x << ' ' << y;
            }
        });
    }
}

}  // namespace
}  // namespace gs::test
