// Exact evaluation along rays in float, with tiles over angle, against stored numbers and the
// oracle, which tries every Gaussian on every ray.
#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.h"
#include "renderer/rays/rays.h"
#include "renderer/rays/sweep_score.h"
#include "renderer/reference/rays.h"
#include "renderer/scene/beam_angles.h"
#include "tests/kernels/ray_scenes.h"
#include "tests/kernels/stored_rays.h"
#include "tests/support/compare.h"
#include "tests/support/data.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

constexpr double kColors = 5e-5, kRanges = 1e-4;  // absolute; of the value

double farthest_apart(const std::vector<float>& ours, const std::vector<double>& theirs,
                      const std::vector<std::uint8_t>& fragile, double share) {
    double worst = 0;
    for (std::size_t i = 0; i < theirs.size(); ++i)
        if (fragile[i] == 0)
            worst = std::max(worst, std::abs(static_cast<double>(ours[i]) - theirs[i]) /
                                        (1 + share * std::abs(theirs[i])));
    return worst;
}
std::vector<std::uint8_t> flags_of(const Array& stored) {
    std::vector<std::uint8_t> out;
    for (const double v : stored.values) out.push_back(v != 0 ? 1 : 0);
    return out;
}
void compare_with_stored(const RayImage& image, const Arrays& data, const std::string& key,
                         const char* hit, const char* median) {
    const auto fragile = flags_of(data[key + "fragile"]);
    EXPECT_LT(farthest_apart(image.alpha, data[key + "alpha"].values, fragile, 0), kColors);
    EXPECT_LT(farthest_apart(image.hit, data[key + hit].values, fragile, 1), kRanges);
    EXPECT_LT(farthest_apart(image.median, data[key + median].values, fragile, 1), kRanges);
}

TEST(RaysFast, PicturesAsStored) {
    GS_NEED_DATA(kPictures);
    const Arrays data = load_npz(data_path(kPictures));
    for (const Mode& mode : kModes) {
        SCOPED_TRACE(fmt::format("{} {}", mode.lens, mode.name));
        const std::string in = std::string(mode.lens) + "_in_",
                          key = fmt::format("{}_{}_", mode.lens, mode.name);
        const GaussianModel model = model_of(scene_of(data, in));
        const Camera camera = stored_camera(data, mode);
        const std::vector<Vec3f> colors = stored_colors(data, in, model.count);
        const RayTiles tiles(reference::rays_of(camera), ray_frame(camera));
        const RayImage image =
            trace_rays(model, colors, tiles, {camera.position(), camera.forward()},
                       rules_of(Compatibility::tight));
        compare_with_stored(image, data, key, "hit", "median");
        const auto fragile = flags_of(data[key + "fragile"]);
        for (std::size_t c = 0; c < 3; ++c) {
            std::vector<float> ours;
            std::vector<double> theirs;
            for (std::size_t i = 0; i < image.signal.size(); ++i) {
                const Vec3f s = image.signal[i];
                ours.push_back(c == 0 ? s.x : c == 1 ? s.y : s.z);
                theirs.push_back(data[key + "rgb"][3 * i + c]);
            }
            EXPECT_LT(farthest_apart(ours, theirs, fragile, 0), kColors);
        }
    }
}

TEST(RaysFast, SweepsAsStored) {
    GS_NEED_DATA(kSweeps);
    const Arrays data = load_npz(data_path(kSweeps));
    for (const std::string sensor : {"waymo", "pandar64", "at128"}) {
        SCOPED_TRACE(sensor);
        const std::string key = sensor + "_render_", in = key + "in_";
        const GaussianModel model = model_of(scene_of(data, in));
        std::vector<Vec3f> signals;
        for (std::size_t i = 0; i < model.count; ++i)
            signals.push_back({static_cast<float>(data[in + "intensity"][i]),
                               static_cast<float>(data[in + "raydrop"][i]), 0});
        const Pose first = pose_of_seven(data[key + "pose_start"]),
                   last = pose_of_seven(data[key + "pose_end"]);
        const std::size_t columns = data[key + "columns"].size(), n = data[key + "alpha"].size();
        std::vector<CameraRay> rays;
        for (std::size_t i = 0; i < n; ++i) {
            const Array& times = data[key + "time"];
            const Pose pose =
                pose_between(first, last, times.size() == columns ? times[i % columns] : times[i]);
            const Mat3d back = transpose(pose.rotation);
            rays.push_back(
                {back * -pose.translation, back * at3(data[key + "dir_sensor"], i), true});
        }
        const Pose middle = pose_between(first, last, 0.5);
        const Vec3d place = transpose(middle.rotation) * -middle.translation;
        const RayTiles tiles(rays, middle);
        const RayImage image =
            trace_rays(model, signals, tiles, {place, {}}, rules_of(Compatibility::tight));
        compare_with_stored(image, data, key, "range_sum", "range_median");
        const auto fragile = flags_of(data[key + "fragile"]);
        std::vector<float> intensity;
        for (const Vec3f s : image.signal) intensity.push_back(s.x);
        EXPECT_LT(farthest_apart(intensity, data[key + "intensity"].values, fragile, 0), kColors);
    }
}

void compare_with_oracle(const GaussianModel& model, const std::vector<CameraRay>& rays,
                         std::size_t least_visible) {
    const RayTiles tiles(rays, Pose{});
    const RayImage image = trace_rays(model, {}, tiles, {{}, {}}, rules_of(Compatibility::tight));
    const reference::Parameters scene = parameters_of(model);
    const std::vector<Vec3d> nothing(model.count);
    const auto picture = reference::render_rays(scene, nothing, reference::order_around(scene, {}),
                                                rays, reference::Options{});
    EXPECT_LT(farthest_apart(image.alpha, picture.alpha, picture.fragile, 0), kColors);
    EXPECT_LT(farthest_apart(image.hit, picture.hit, picture.fragile, 1), kRanges);
    EXPECT_LT(farthest_apart(image.median, picture.median, picture.fragile, 1), kRanges);
    EXPECT_LT(farthest_apart(image.transmittance, picture.transmittance, picture.fragile, 0),
              kColors);
    EXPECT_GT(image.visible, least_visible);
    std::size_t fragile = 0;
    for (const std::uint8_t f : picture.fragile) fragile += f;
    EXPECT_LT(fragile, rays.size() / 4);
}

TEST(RaysFast, NoGaussianIsMissedByItsTiles) {
    for (const std::uint64_t seed : {1u, 2u}) {
        SCOPED_TRACE(seed);
        const GaussianModel model = around(800, seed);
        compare_with_oracle(model, beams_around(16, 160, {}, 0.4), 300);           // at rest
        compare_with_oracle(model, beams_around(16, 160, {2, 1, 0.2}, 0.4), 300);  // 2 m a turn
        compare_with_oracle(model, beams_around(24, 60, {0.3, 0, 0}, 1.55), 300);  // to the poles
    }
    // Few rays, all one way, and the place within Gaussians.
    compare_with_oracle(around(300, 3), beams_around(4, 8, {}, 0.01), 20);
}

TEST(RaysFast, BinsHoldNoEmptyAngles) {
    // Five groups of three columns, as a training step takes them, and Gaussians all around.
    std::vector<CameraRay> rays;
    const auto all = beams_around(16, 160, {1, 0.5, 0}, 0.4);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (i % 160 % 32 < 3) rays.push_back(all[i]);
    const RayTiles tiles(rays, Pose{});
    double covered = 0;
    for (const RayBin& bin : tiles.bins()) covered += static_cast<double>(bin.high - bin.low);
    EXPECT_LT(covered, 5 * 3 * 4.0 / 160);  // quarter turns
    compare_with_oracle(around(800, 4), rays, 20);
}

TEST(RaysFast, SmallGaussiansFarAway) {
    // Centimetres at a hundred metres: what float alone would lose.
    GaussianModel model(400, 0);
    std::vector<CameraRay> rays;
    for (std::size_t i = 0; i < model.count; ++i) {
        const BeamAngles a{-3 + 0.001 * static_cast<double>(i),
                           0.05 * std::sin(0.7 * static_cast<double>(i))};
        const Vec3d d = direction_of(a), p = 100.0 * d;
        model.at(kMeans, i) = static_cast<float>(p.x + 1000);
        model.at(kMeans + 1, i) = static_cast<float>(p.y);
        model.at(kMeans + 2, i) = static_cast<float>(p.z);
        for (int k = 0; k < 3; ++k) model.at(kLogScales + k, i) = std::log(0.02f);
        model.at(kOpacityLogits, i) = 2;
        // Aimed a standard deviation beside the mean that float can hold.
        const Vec3d mean{model.at(kMeans, i), model.at(kMeans + 1, i), model.at(kMeans + 2, i)};
        const Vec3d off = mean - Vec3d{1000, 0, 0} + Vec3d{0, 0, 0.02};
        rays.push_back({{1000, 0, 0}, (1 / std::sqrt(dot(off, off))) * off, true});
    }
    const RayTiles tiles(rays, Pose{{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, {-1000, 0, 0}});
    const RayImage image =
        trace_rays(model, {}, tiles, {{1000, 0, 0}, {}}, rules_of(Compatibility::tight));
    const reference::Parameters scene = parameters_of(model);
    const auto picture = reference::render_rays(scene, std::vector<Vec3d>(model.count),
                                                reference::order_around(scene, {1000, 0, 0}), rays,
                                                reference::Options{});
    EXPECT_LT(farthest_apart(image.alpha, picture.alpha, picture.fragile, 0), kColors);
    EXPECT_LT(farthest_apart(image.hit, picture.hit, picture.fragile, 1), kRanges);
}

TEST(RaysFast, ThreadsDoNotMatterAndNothingIsNothing) {
    const GaussianModel model = around(3000, 5);
    const auto rays = beams_around(16, 300, {0.5, 0, 0}, 0.3);
    const RayTiles tiles(rays, Pose{});
    const RasterRules rules = rules_of(Compatibility::tight);
    const RayImage two = trace_rays(model, {}, tiles, {{}, {}}, rules);
    set_thread_count(1);
    const RayTiles made_by_one(rays, Pose{});
    const RayImage one = trace_rays(model, {}, made_by_one, {{}, {}}, rules);
    set_thread_count(0);
    EXPECT_EQ(made_by_one.ray_of(), tiles.ray_of());
    EXPECT_EQ(one.hit, two.hit);
    EXPECT_EQ(one.alpha, two.alpha);
    EXPECT_EQ(one.pairs, two.pairs);

    const RayTiles none(std::vector<CameraRay>{}, Pose{});
    EXPECT_TRUE(trace_rays(model, {}, none, {{}, {}}, rules).alpha.empty());
    std::vector<CameraRay> bad = rays;
    bad[0].valid = false;
    bad[1].direction = {};
    bad[2].origin.x = std::nan("");
    const RayImage left =
        trace_rays(GaussianModel(0, 0), {}, RayTiles(bad, Pose{}), {{}, {}}, rules);
    EXPECT_EQ(left.transmittance, std::vector<float>(rays.size(), 1.0f));

    GaussianModel poisoned = around(64, 5);
    const float nan = std::nanf(""), big = 3e38f;
    poisoned.at(kMeans, 0) = nan;
    poisoned.at(kLogScales, 1) = nan;
    poisoned.at(kLogScales, 2) = big;
    for (int k = 0; k < 4; ++k) poisoned.at(kQuats + k, 3) = 0;
    poisoned.at(kOpacityLogits, 4) = nan;
    poisoned.at(kMeans + 1, 5) = big;
    poisoned.at(kLogScales, 6) = -200;
    const RayImage image = trace_rays(poisoned, {}, tiles, {{}, {}}, rules);
    for (std::size_t i = 0; i < rays.size(); ++i)
        ASSERT_TRUE(std::isfinite(image.hit[i] + image.alpha[i] + image.median[i])) << i;
}

TEST(RaysFast, ASweepIsDrawnAgainFromItsTiles) {
    LidarSweep sweep{.time = 10};
    for (const CameraRay& ray : beams_around(8, 40, {}, 0.3)) {
        sweep.beams.push_back(
            {.direction = {static_cast<float>(ray.direction.x), static_cast<float>(ray.direction.y),
                           static_cast<float>(ray.direction.z)}});
    }
    const Trajectory still({{10, Pose{}}});
    const RasterRules rules = rules_of(Compatibility::tight);
    const GaussianModel model = around(500, 6), other = around(500, 7);
    const DrawnSweep first = draw_sweep(other, sweep, still, rules),
                     again = draw_sweep(model, sweep, still, rules, first.tiles);
    EXPECT_EQ(again.tiles, first.tiles);
    EXPECT_EQ(again.image.hit, draw_sweep(model, sweep, still, rules).image.hit);
    EXPECT_NE(again.image.hit, first.image.hit);
}

TEST(RaysFast, SweepsAreScoredByTheColumnsHeldOut) {
    LidarSweep sweep{.rows = 1, .columns = 16};
    RayImage drawn;
    for (std::uint16_t c = 0; c < 16; ++c) {
        LidarBeam beam{.direction = {1, 0, 0}, .column = c};
        beam.range = c == 15 ? 0.0f : 10.0f;  // 3, 7, 11 are held out and have a return
        sweep.beams.push_back(beam);
        drawn.median.push_back(c == 3 ? 10.02f : c == 7 ? 10.5f : c == 11 ? 0.0f : 20.0f);
    }
    const SweepScore score = score_sweep(sweep, drawn, false);
    EXPECT_EQ(score.returns, 3u);
    EXPECT_EQ(score.met, 2u);
    EXPECT_NEAR(score.median_m, 0.5, 1e-5);  // of 0.02, 0.5 and what meets nothing
    EXPECT_NEAR(score.within_10cm, 1.0 / 3, 1e-9);
    EXPECT_NEAR(score.chamfer_m, 0.5 * (0.26 + 0.02), 1e-5);
    EXPECT_EQ(score_sweep(sweep, drawn, true).returns, 15u);
    drawn.median.assign(16, 0);
    EXPECT_TRUE(std::isnan(score_sweep(sweep, drawn, false).median_m));
}

}  // namespace
}  // namespace gs::test
