// Where a model is wrong by its photos: photos are drawn from the model itself, then spoilt in
// known ways, and what was spoilt must be found, and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "renderer/io/images/image_io.h"
#include "renderer/problems/floaters.h"
#include "renderer/problems/problem_search.h"
#include "renderer/problems/same_point.h"
#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "tests/support/random_scene.h"

namespace gs {
namespace {

constexpr int kWidth = 96, kHeight = 64;
constexpr float kC0 = 0.28209479f;

RenderOptions drawn_options() { return {.background = {0.1f, 0.1f, 0.1f}}; }

/// A wall of opaque Gaussians at z = 0, 2 x 1.4 world units.
GaussianModel wall() {
    constexpr int kAcross = 40, kUp = 28;
    GaussianModel m(kAcross * kUp, 0);
    for (int y = 0; y < kUp; ++y)
        for (int x = 0; x < kAcross; ++x) {
            const auto i = static_cast<std::size_t>(y * kAcross + x);
            m.at(kMeans, i) = -1 + 2 * (static_cast<float>(x) + 0.5f) / kAcross;
            m.at(kMeans + 1, i) = -0.7f + 1.4f * (static_cast<float>(y) + 0.5f) / kUp;
            for (int c = 0; c < 3; ++c) {
                m.at(kLogScales + c, i) = std::log(c == 2 ? 0.005f : 0.03f);
                m.at(kSh0 + c, i) = static_cast<float>((x / 5 + y / 5 + c) % 3 - 1);
            }
            m.at(kOpacityLogits, i) = 4;
        }
    return m;
}

GaussianModel with_one_more(const GaussianModel& model, Vec3f mean, float size) {
    GaussianModel out = model.resized(model.count + 1, model.sh_degree);
    const std::size_t i = out.count++;
    out.at(kMeans, i) = mean.x, out.at(kMeans + 1, i) = mean.y, out.at(kMeans + 2, i) = mean.z;
    out.at(kQuats, i) = 1;
    for (int c = 0; c < 3; ++c) {
        out.at(kQuats + 1 + c, i) = 0;
        out.at(kLogScales + c, i) = std::log(size);
        out.at(kSh0 + c, i) = 1;
    }
    out.at(kOpacityLogits, i) = 3;
    return out;
}

/// Cameras in a row before the wall, and what `model` looks like from there.
std::shared_ptr<Capture> photographed(const GaussianModel& model, Rasterizer& rasterizer,
                                      int photos = 6) {
    auto out = std::make_shared<Capture>();
    PhotoDrawer drawer(std::make_shared<GaussianModel>(model), rasterizer, drawn_options());
    for (int i = 0; i < photos; ++i) {
        View view;
        view.name = "photo " + std::to_string(i);
        const double x = -0.5 + 1.0 * i / std::max(1, photos - 1);
        view.camera = look_at({x, 0, -3}, {0, 0, 0}, {0, -1, 0}, kWidth, kHeight, 0.6);
        view.photo = to_bytes(drawer.draw(view.camera).color);
        out->views.push_back(std::move(view));
    }
    return out;
}

std::vector<std::size_t> all_of(const Capture& capture) {
    std::vector<std::size_t> out(capture.views.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
    return out;
}

FoundProblems search(const GaussianModel& model, const std::shared_ptr<Capture>& capture,
                     Rasterizer& rasterizer) {
    ProblemSearch out(std::make_shared<GaussianModel>(model), capture, all_of(*capture), rasterizer,
                      drawn_options());
    std::size_t photos = 0;
    do ++photos;
    while (out.next());
    EXPECT_EQ(photos, std::max<std::size_t>(1, out.total()));
    return out.found();
}

void paint(View& view, const PhotoRect& rect, std::uint8_t value) {
    for (int y = rect.y0; y < rect.y1; ++y)
        for (int x = rect.x0; x < rect.x1; ++x)
            for (int c = 0; c < 3; ++c)
                view.photo.bytes[static_cast<std::size_t>(3 * (y * kWidth + x) + c)] = value;
}

/// On the CPU. Tests that need the rasterizer's own functions also run on the emulated GPU.
struct Problems : ::testing::Test {
    std::unique_ptr<Rasterizer> rasterizer = make_cpu_rasterizer();
};
struct Backends : ::testing::TestWithParam<const char*> {
    Backends() {
        if (std::string(GetParam()) == "cpu") {
            rasterizer = make_cpu_rasterizer();
        } else {
            auto made = make_cuda_rasterizer(0);
            EXPECT_TRUE(made);
            rasterizer = std::move(*made);
        }
    }
    std::unique_ptr<Rasterizer> rasterizer;
};
INSTANTIATE_TEST_SUITE_P(Problems, Backends, ::testing::Values("cpu", "cuda"),
                         [](const auto& one) { return std::string(one.param); });

// The slow twin: what a Gaussian alone contributes when it alone is white is its weight.
TEST_P(Backends, blame_is_the_sum_of_weight_times_error) {
    const GaussianModel model = test::random_model({.count = 24, .sh_degree = 1});
    View view;
    view.camera = test::random_camera(3, 1, kWidth, kHeight);
    view.photo = {kWidth, kHeight, 3, std::vector<std::uint8_t>(3 * kWidth * kHeight, 90)};
    view.mask = {kWidth, kHeight, 1, std::vector<std::uint8_t>(kWidth * kHeight, 255)};
    std::fill_n(view.mask.bytes.begin(), kWidth * 20, std::uint8_t{0});
    PhotoDrawer drawer(std::make_shared<GaussianModel>(model), *rasterizer, drawn_options());
    const RenderResult& drawn = drawer.draw(view.camera);
    const ImageF error = photo_error(drawn, view);
    EXPECT_EQ(error.at(0, 5, 5), 0) << "it is masked";
    GaussianBlame blame(model, *rasterizer, drawn_options());
    blame.add(view, 7, drawn, error, 1);

    double seen = 0;
    for (std::size_t i = 0; i < model.count; ++i) {
        auto one = std::make_shared<GaussianModel>(model.resized(model.count, 0));
        for (std::size_t k = 0; k < one->count; ++k)
            for (int c = 0; c < 3; ++c) one->at(kSh0 + c, k) = (k == i ? 0.5f : -0.5f) / kC0;
        RenderOptions options = drawn_options();
        options.background = {0, 0, 0};
        PhotoDrawer alone(one, *rasterizer, options);
        const RenderResult& white = alone.draw(view.camera);
        double of_error = 0, weight = 0;
        for (std::size_t p = 0; p < error.pixels(); ++p) {
            if (view.mask.bytes[p] == 0) continue;
            weight += static_cast<double>(white.color.plane(0)[p]);
            of_error += static_cast<double>(white.color.plane(0)[p] * error.plane(0)[p]);
        }
        const GaussianBlame::Sums& sums = blame.sums()[i];
        EXPECT_NEAR(static_cast<double>(sums.weight), weight, 1e-3 + 1e-4 * weight) << i;
        EXPECT_NEAR(static_cast<double>(sums.error), of_error, 1e-3 + 1e-4 * of_error) << i;
        EXPECT_EQ(sums.photos, weight >= 0.5 ? 1u : 0u);
        EXPECT_LE(std::abs(sums.excess), sums.error + 1e-3f);
        if (sums.error > 0) {
            EXPECT_EQ(sums.view, 7u);
        }
        seen += weight;
    }
    EXPECT_GT(seen, 100) << "or nothing was compared";
}

TEST_F(Problems, nothing_is_wrong_with_photos_of_the_model_itself) {
    const GaussianModel model = wall();
    const FoundProblems found = search(model, photographed(model, *rasterizer), *rasterizer);
    EXPECT_TRUE(found.regions.empty());
    EXPECT_TRUE(found.holes.empty());
    EXPECT_TRUE(found.floaters.empty());
    EXPECT_EQ(found.photos, 6u);
    EXPECT_LT(found.mean_error, 0.002) << "bytes are rounded";
    EXPECT_GT(found.gaussians_seen, 1000u);
}

TEST_F(Problems, a_spoilt_place_is_the_worst_region_and_its_gaussians_are_blamed) {
    const GaussianModel model = wall();
    const auto capture = photographed(model, *rasterizer);
    const PhotoRect spoilt{32, 24, 48, 40};
    paint(capture->views[4], spoilt, 255);
    paint(capture->views[1], {0, 0, 8, 8}, 0);
    const FoundProblems found = search(model, capture, *rasterizer);
    ASSERT_GE(found.regions.size(), 1u);
    const PhotoRegion& worst = found.regions[0];
    EXPECT_EQ(worst.view, 4u);
    EXPECT_EQ(worst.rect.x0, 32);
    EXPECT_EQ(worst.rect.y0, 24);
    EXPECT_EQ(worst.rect.x1, 48);
    EXPECT_EQ(worst.rect.y1, 40);
    EXPECT_EQ(worst.pixels, 256);
    EXPECT_NEAR(worst.mean_error, worst.error_sum / 256, 1e-9);
    EXPECT_GT(worst.mean_error, 0.1);
    EXPECT_LT(worst.psnr, 20);
    for (std::size_t i = 1; i < found.regions.size(); ++i)
        EXPECT_LE(found.regions[i].error_sum, found.regions[i - 1].error_sum);
    ASSERT_TRUE(worst.crops);
    EXPECT_EQ(worst.crops->width % 3, 0);
    EXPECT_LE(worst.crops->width, 3 * kCropSide);

    ASSERT_GE(found.gaussians.size(), 10u);
    for (std::size_t i = 0; i < 10; ++i) {
        const BlamedGaussian& g = found.gaussians[i];
        EXPECT_EQ(g.view, 4u);
        const Camera& camera = capture->views[4].camera;
        const auto at = camera.pixel_of(camera.rotation * Vec3d{static_cast<double>(g.mean.x),
                                                                static_cast<double>(g.mean.y),
                                                                static_cast<double>(g.mean.z)} +
                                        camera.translation);
        EXPECT_TRUE(at.x > 30 && at.x < 50 && at.y > 22 && at.y < 42) << at.x << " " << at.y;
        EXPECT_NEAR(g.excess, -g.error, 0.2 * g.error) << "the photo is brighter";
        EXPECT_EQ(g.photos, 6u);
    }
}

TEST_F(Problems, what_is_masked_is_nowhere_wrong) {
    const GaussianModel model = wall();
    const auto capture = photographed(model, *rasterizer, 2);
    View& view = capture->views[0];
    paint(view, {32, 24, 48, 40}, 255);
    view.mask = {kWidth, kHeight, 1, std::vector<std::uint8_t>(kWidth * kHeight, 255)};
    for (int y = 24; y < 40; ++y)
        std::fill_n(view.mask.bytes.begin() + y * kWidth + 32, 16, std::uint8_t{0});
    EXPECT_TRUE(search(model, capture, *rasterizer).regions.empty());
}

TEST_F(Problems, a_hole_is_where_the_photo_shows_something_and_the_model_nothing) {
    GaussianModel model = wall();
    const auto capture = photographed(model, *rasterizer, 3);
    // Of the wall a square is missing, and its surroundings were never there.
    for (std::size_t i = 0; i < model.count; ++i)
        if (std::abs(model.at(kMeans, i)) < 0.35f && std::abs(model.at(kMeans + 1, i)) < 0.35f)
            model.at(kOpacityLogits, i) = -20;
    const FoundProblems found = search(model, capture, *rasterizer);
    ASSERT_EQ(found.holes.size(), 3u) << "one in each photo";
    for (const PhotoRegion& hole : found.holes) {
        EXPECT_LT(hole.mean_alpha, 0.5);
        EXPECT_TRUE(hole.rect.x0 < 50 && hole.rect.x1 > 46 && hole.rect.y0 < 34 &&
                    hole.rect.y1 > 30);
        EXPECT_LT(hole.rect.width(), 40) << "outside of the wall the photos show the background";
        EXPECT_TRUE(hole.crops);
    }
}

TEST_F(Problems, a_sky_is_a_hole_only_where_the_photo_shows_something_else) {
    GaussianModel model = test::under_sky(wall(), 1);
    const auto capture = photographed(model, *rasterizer, 3);
    EXPECT_TRUE(search(model, capture, *rasterizer).holes.empty());
    for (std::size_t i = 0; i < model.count; ++i)
        if (std::abs(model.at(kMeans, i)) < 0.35f && std::abs(model.at(kMeans + 1, i)) < 0.35f)
            model.at(kOpacityLogits, i) = -20;
    EXPECT_EQ(search(model, capture, *rasterizer).holes.size(), 3u) << "one in each photo";
}

TEST_F(Problems, floaters_are_near_a_camera_or_apart_and_seen_by_few) {
    const GaussianModel clean = wall();
    const auto capture = photographed(clean, *rasterizer);
    const Vec3d eye = capture->views[0].camera.position(), way = capture->views[0].camera.forward();
    const Vec3d at = eye + 0.3 * way;
    const GaussianModel model = with_one_more(
        clean, {static_cast<float>(at.x), static_cast<float>(at.y), static_cast<float>(at.z)},
        0.01f);
    const FoundProblems found = search(model, capture, *rasterizer);
    ASSERT_EQ(found.floaters.size(), 1u);
    const Floater& floater = found.floaters[0];
    EXPECT_EQ(floater.rows, std::vector<std::uint32_t>{static_cast<std::uint32_t>(clean.count)});
    EXPECT_EQ(floater.row, clean.count);
    EXPECT_EQ(floater.view, 0u);
    EXPECT_LE(floater.photos, found.few_photos);
    EXPECT_TRUE(floater.near);
    EXPECT_NEAR(floater.nearness, 0.1, 0.02);
    EXPECT_NEAR(static_cast<double>(floater.centre.z), at.z, 1e-4);
    EXPECT_GT(floater.weight, 1);
}

TEST_P(Backends, a_place_is_found_in_every_photo_that_sees_it) {
    const GaussianModel clean = wall();
    const auto capture = photographed(clean, *rasterizer, 5);
    // A plate hides the middle of the wall from the first camera only.
    const Vec3d eye = capture->views[0].camera.position();
    const GaussianModel model = with_one_more(
        clean, {static_cast<float>(0.5 * eye.x), 0, static_cast<float>(0.5 * eye.z)}, 0.06f);
    capture->views[4].camera = look_at({0, 0, -3}, {0, 0, -6}, {0, -1, 0}, kWidth, kHeight, 0.6);
    paint(capture->views[3], {36, 20, 60, 44}, 255);
    const auto shared = std::make_shared<GaussianModel>(model);
    PhotoDrawer drawer(shared, *rasterizer, drawn_options());
    const auto point = point_of_pixel(drawer, capture->views[2].camera, 48, 32);
    ASSERT_TRUE(point);
    EXPECT_NEAR(point->x, 0, 0.05);
    EXPECT_NEAR(point->z, 0, 0.05);
    EXPECT_FALSE(point_of_pixel(drawer, capture->views[2].camera, 0, 0)) << "nothing is there";
    EXPECT_FALSE(point_of_pixel(drawer, capture->views[2].camera, kWidth, 0)) << "outside";

    PointSearch search(std::move(drawer), capture, *point);
    while (search.next()) {
    }
    const PointInPhotos& found = search.found();
    EXPECT_EQ(found.looked_at, 5u);
    EXPECT_EQ(found.hidden, 1u);
    EXPECT_EQ(found.outside, 1u);
    ASSERT_EQ(found.photos.size(), 3u);
    EXPECT_EQ(found.photos[0].view, 3u) << "that is where it is wrong";
    EXPECT_GT(found.photos[0].error, 0.1);
    EXPECT_LT(found.photos[1].error, 0.05) << "the plate has moved nothing else";
    for (const PointInPhoto& one : found.photos) {
        EXPECT_NE(one.view, 0u) << "the plate is before it";
        EXPECT_NEAR(one.x, 48, 2);
        EXPECT_NEAR(one.y, 32, 2);
        EXPECT_TRUE(one.crops);
        EXPECT_TRUE(one.rect.x0 <= one.x && one.x < one.rect.x1);
    }
}

struct GonePhoto final : PhotoSource {
    std::shared_ptr<const PhotoPixels> read(std::size_t number) override {
        throw PhotoError(fmt::format("photo {} cannot be read", number));
    }
    void expect(std::vector<std::size_t>) override {}
    void pass(std::size_t) override {}
    std::uint64_t bytes() const override { return 0; }
};

TEST_F(Problems, photos_that_have_gone_are_counted_and_the_first_is_named) {
    const auto model = std::make_shared<GaussianModel>(wall());
    const auto capture = photographed(*model, *rasterizer, 5);
    PhotoDrawer drawer(model, *rasterizer, drawn_options());
    const auto point = point_of_pixel(drawer, capture->views[2].camera, 48, 32);
    ASSERT_TRUE(point);
    for (const std::size_t gone : {1u, 3u}) {
        View& view = capture->views[gone];
        view.photo.bytes.clear();
        view.source = std::make_shared<GonePhoto>();
        view.number = gone;
    }
    const FoundProblems found = search(*model, capture, *rasterizer);
    EXPECT_EQ(found.photos, 3u);
    EXPECT_EQ(found.unread.words(), "2 photos were left out; photo 1 cannot be read");
    PointSearch places(std::move(drawer), capture, *point);
    while (places.next()) {
    }
    EXPECT_EQ(places.found().photos.size(), 3u);
    EXPECT_EQ(places.found().outside, 0u) << "they see it";
    EXPECT_EQ(places.found().unread.count, 2u);
    UnreadPhotos all = found.unread, none;
    all.add(places.found().unread);
    none.add(all);
    EXPECT_EQ(none.count, 4u);
    EXPECT_EQ(none.first, "photo 1 cannot be read");
}

TEST_F(Problems, captures_without_photos_and_models_of_nothing_give_nothing) {
    const GaussianModel model = wall();
    const auto capture = photographed(model, *rasterizer, 2);
    const FoundProblems empty = search(GaussianModel(0, 0), capture, *rasterizer);
    EXPECT_TRUE(empty.gaussians.empty() && empty.floaters.empty());
    EXPECT_FALSE(empty.holes.empty()) << "all of it is missing";
    for (View& view : capture->views) view.photo = {};
    const FoundProblems none = search(model, capture, *rasterizer);
    EXPECT_EQ(none.photos, 0u);
    EXPECT_TRUE(none.regions.empty() && none.holes.empty() && none.gaussians.empty());
    GaussianModel poison = model;
    poison.at(kMeans, 3) = std::numeric_limits<float>::quiet_NaN();
    poison.at(kLogScales, 4) = std::numeric_limits<float>::infinity();
    poison.at(kMeans + 1, 5) = 1e30f;
    const auto again = photographed(poison, *rasterizer, 2);
    EXPECT_TRUE(search(poison, again, *rasterizer).regions.empty());
}

}  // namespace
}  // namespace gs
