// Corrections of focal lengths and distortion: whose they are, disturbed ones that come back, right
// ones that stay, the same bits resumed, and what is refused.
#include "trainer/poses/intrinsics_refinement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "painted_capture.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"
#include "trainer/run/pose_file.h"
#include "trainer/trainer.h"

namespace gs::test {
namespace {

using ::testing::HasSubstr;

/// From near, at two distances: photos tell the focal length.
void bend(Camera& camera) {
    camera.translation = (camera.position().x > 0 ? 0.4 : 0.6) * camera.translation;
    camera.model = CameraModel::radial;
    camera.distortion = {-0.16, 0.05};
}
/// 2 % too long, and with half of its distortion.
void disturb(Camera& camera) {
    camera.fx *= 1.02;
    camera.fy *= 1.02;
    camera.distortion[0] *= 0.5;
}
std::shared_ptr<Capture> disturbed_capture() {
    auto capture = painted_capture(bend);
    for (View& view : capture->views) disturb(view.camera);
    return capture;
}

NamedValues settings_of(double steps) {
    return {{"steps", steps}, {"refine_intrinsics", 1}, {"intrinsics_sigma", 3},
            {"pose_from", 0}, {"densify_until", 0},     {"opacity_reset_every", 0},
            {"sh_degree", 0}};
}
Result<std::unique_ptr<Trainer>> training(std::shared_ptr<const Capture> capture, double steps,
                                          const NamedValues& more = {}) {
    NamedValues values = settings_of(steps);
    values.insert(values.end(), more.begin(), more.end());
    // From the Gaussians that the photos show: only the cameras are wrong.
    return Trainer::create(std::move(capture), *make_settings(values), make_cpu_training(),
                           std::make_shared<GaussianModel>(painted_model()));
}
/// Where points of the scene fall against where they should, px, root mean square.
double error(const Camera& found, const Camera& truth) {
    double sum = 0, n = 0;
    for (double x = -0.5; x <= 0.5; x += 0.1)
        for (double y = -0.4; y <= 0.4; y += 0.1, ++n) {
            const Vec2<double> a = found.pixel_of({x, y, 1}), b = truth.pixel_of({x, y, 1});
            sum += (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
        }
    return std::sqrt(sum / n);
}

TEST(IntrinsicsRefinement, CorrectionsAreOfTheirCamera) {
    auto capture = painted_capture(bend);
    capture->views[2].camera_number = 7;
    capture->views[3].camera.fx += 1;
    const std::vector<std::size_t> training{1, 2, 3, 4};
    IntrinsicsRefinement lenses(*capture, training);
    ASSERT_EQ(lenses.rows().size(), 3u);  // of 1 and 4, of 2, of 3
    std::vector<IntrinsicsRow> rows(3);
    rows[0].steps = rows[1].steps = 1;
    rows[0].change[0] = std::log(1.1);
    rows[1].change[2] = 0.25;
    ASSERT_TRUE(lenses.restore(rows));
    const auto now = [&](std::size_t v) { return lenses.applied(capture->views[v].camera, v); };
    const Camera given = capture->views[1].camera;
    for (const std::size_t v : {0u, 1u, 4u, 5u}) {  // held out or not
        EXPECT_NEAR(now(v).fx, 1.1 * given.fx, 1e-12);
        EXPECT_NEAR(now(v).fy, 1.1 * given.fy, 1e-12);
        EXPECT_EQ(now(v).distortion, given.distortion);
    }
    EXPECT_EQ(now(2).fx, given.fx);
    EXPECT_NEAR(now(2).distortion[1], given.distortion[1] + 0.25, 1e-12);
    EXPECT_EQ(now(3).fx, given.fx + 1);
    // Also of a smaller photo of the same camera.
    EXPECT_NEAR(lenses.applied(given.scaled_to(32, 24), 1).fx, 0.55 * given.fx, 1e-12);

    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(lenses.step({1, 1, {nan}, 0.02}, 2, 0.5));
    EXPECT_FALSE(lenses.step({1, 1, {}, nan}, 2, 0.5));
    EXPECT_EQ(lenses.rows()[0].steps, 1u);
    rows[2].known = -1;
    EXPECT_FALSE(lenses.restore(rows));
    rows[2].known = 0;
    rows[2].change[3] = nan;
    EXPECT_FALSE(lenses.restore(rows));
}

TEST(IntrinsicsRefinement, ALossAsCurvedAsPhotosPromiseIsLowestWhereStepsLead) {
    const auto capture = painted_capture(bend);
    const std::vector<std::size_t> all{1, 2, 3, 4, 5};
    IntrinsicsRefinement lenses(*capture, all);
    const auto photo = intrinsics_information(*capture, all);
    ASSERT_TRUE(photo.any);
    const Intrinsics truth{0.01, -0.05};
    for (int i = 0; i < 3000; ++i) {
        Intrinsics apart = lenses.rows()[0].change;
        for (std::size_t k = 0; k < kIntrinsics; ++k) apart[k] -= truth[k];
        const Intrinsics g = math::times(photo.change, apart);
        IntrinsicsGradient said{1, all[static_cast<std::size_t>(i) % 5], {}, 0.02};
        said.slopes[math::kFocal] = g[0] / 0.02;
        said.slopes[math::kN1] = g[1] / 0.02;
        said.slopes[math::kN2] = g[2] / 0.02;
        ASSERT_TRUE(lenses.step(said, 50, i == 0 ? 1.0 : 0.1));
    }
    const Intrinsics& found = lenses.rows()[0].change;
    EXPECT_NEAR(found[0], truth[0], 0.05 * 0.01);
    EXPECT_NEAR(found[1], truth[1], 0.05 * 0.05);
    for (std::size_t k = 3; k < kIntrinsics; ++k) EXPECT_EQ(found[k], 0) << k;  // of other models
}

TEST(IntrinsicsRefinement, DisturbedIntrinsicsComeBackAndRightOnesStay) {
    const auto right = painted_capture(bend), wrong = disturbed_capture();
    const Camera truth = right->views[0].camera;
    const double before = error(wrong->views[0].camera, truth);
    ASSERT_GT(before, 0.4);
    auto from_right = training(right, 500), from_wrong = training(wrong, 500),
         plain = training(wrong, 500, {{"refine_intrinsics", 0}});
    ASSERT_TRUE(from_right && from_wrong && plain);
    double corrected_loss = 0, plain_loss = 0;
    for (int i = 0; i < 500; ++i) {
        (*from_right)->step();
        const double a = (*from_wrong)->step().loss, b = (*plain)->step().loss;
        if (i < 450) continue;
        corrected_loss += a;
        plain_loss += b;
    }
    EXPECT_LT(error((*from_wrong)->camera_of(0), truth), 0.2 * before);
    EXPECT_LT(error((*from_right)->camera_of(0), truth), 0.2 * before);
    EXPECT_LT(corrected_loss, 0.8 * plain_loss);
    EXPECT_EQ(error((*plain)->camera_of(0), truth), before);

    const TemporaryFolder folder;
    ASSERT_TRUE(write_poses(folder / "poses.json", **from_wrong));
    const auto frame =
        nlohmann::json::parse(*read_text_file(folder / "poses.json", 1 << 20))["frames"][1];
    const Camera now = (*from_wrong)->camera_of(1);
    EXPECT_NEAR(frame["fl_x"].get<double>(), now.fx, 1e-9);
    EXPECT_NEAR(frame["k1"].get<double>(), now.distortion[0], 1e-9);
    EXPECT_NEAR(frame["correction_focal"].get<double>(),
                100 * (now.fx / wrong->views[1].camera.fx - 1), 1e-9);
    EXPECT_FALSE(frame.contains("correction_degrees"));
}

TEST(IntrinsicsRefinement, ResumesWithTheSameBits) {
    const auto capture = disturbed_capture();
    const NamedValues both{{"refine_poses", 1}, {"pose_sigma", 0.1}};
    auto straight = training(capture, 30, both), first = training(capture, 30, both);
    ASSERT_TRUE(straight && first);
    for (int i = 0; i < 30; ++i) (*straight)->step();
    for (int i = 0; i < 13; ++i) (*first)->step();
    const TemporaryFolder folder;
    ASSERT_TRUE((*first)->save_checkpoint(folder / "run.gsc"));
    auto second = required(Trainer::resume(folder / "run.gsc", capture, make_cpu_training()));
    const auto snapshot = (*first)->snapshot();
    for (int i = 13; i < 30; ++i) second->step();
    for (int i = 0; i < 5; ++i) (*first)->step();
    (*first)->restore(*snapshot);
    for (int i = 13; i < 30; ++i) (*first)->step();
    ASSERT_NE((*straight)->camera_of(1).fx, capture->views[1].camera.fx);
    for (const Trainer* other : {second.get(), first->get()}) {
        EXPECT_TRUE(testing::same_bits((*straight)->model(), other->model()));
        for (std::size_t v = 0; v < capture->views.size(); ++v) {
            const Camera a = (*straight)->camera_of(v), b = other->camera_of(v);
            EXPECT_TRUE(same_lens(a, b)) << v;
            EXPECT_EQ(a.translation.x, b.translation.x) << v;
        }
    }
}

TEST(IntrinsicsRefinement, WhatCannotBeRefinedIsRefusedByName) {
    const auto why = [](const std::shared_ptr<Capture>& capture, const NamedValues& more = {}) {
        const auto refused = training(capture, 30, more);
        return refused ? "not refused" : refused.error().text();
    };
    EXPECT_THAT(
        why(painted_capture(bend), {{"projection", static_cast<double>(ProjectionMethod::ut)}}),
        HasSubstr("unscented"));
    auto rolling = painted_capture(bend);
    rolling->views[1].camera.shutter = Shutter::top_to_bottom;
    EXPECT_THAT(why(rolling), HasSubstr("view1.png has a rolling shutter"));
    auto around = painted_capture();
    around->views[2].camera.model = CameraModel::equirectangular;
    EXPECT_THAT(why(around), HasSubstr("view2.png is seen through a lens of the model equirect"));
}

}  // namespace
}  // namespace gs::test
