// Held-out photos from where the model has them; corrections that follow their neighbours; and how
// wrong poses are beside others.
#include "trainer/run/pose_alignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "small_run.h"
#include "tests/support/disturbed_poses.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"
#include "trainer/poses/pose_refinement.h"
#include "trainer/trainer.h"

namespace gs::test {
namespace {

/// Photos drawn from a model that is known.
struct KnownScene {
    std::shared_ptr<Capture> capture = testing::small_capture(64, 48);
    GaussianModel model;

    KnownScene() {
        model = random_model({.sh_degree = 0, .extent = 0.5f, .scale_hi = 0.08f});
        capture->points.clear();
        for (std::size_t i = 0; i < model.count; ++i) capture->points.push_back({model.mean(i)});
        RasterRun run(make_cpu_rasterizer());
        for (View& view : capture->views) {
            const Drawn drawn = run.draw(model, view.camera, {});
            for (std::size_t i = 0; i < drawn.color.size(); ++i)
                view.photo.bytes[i] = static_cast<std::uint8_t>(
                    std::lround(255 * std::clamp(drawn.color[i], 0.0, 1.0)));
        }
    }
};

TEST(PoseAlignment, AHeldOutPhotoIsScoredFromWhereTheModelHasIt) {
    KnownScene scene;
    View& test = scene.capture->views[0];
    ASSERT_TRUE(test.test);
    test.camera = corrected(test.camera, {{1, 0.004, -0.006, 0.002}, {0.02, -0.01, 0.015}});
    const Camera given = test.camera;
    const auto rasterizer = make_cpu_rasterizer();
    const Evaluation plain = evaluate_model(scene.model, *scene.capture, {0}, *rasterizer, {}),
                     aligned = evaluate_aligned(scene.model, *scene.capture, {0}, *rasterizer, {});
    ASSERT_EQ(aligned.images.size(), 1u);
    EXPECT_EQ(aligned.images[0].name, test.name);
    EXPECT_LT(plain.psnr, 35);
    EXPECT_GT(aligned.psnr, plain.psnr + 10);
    EXPECT_EQ(test.camera.translation.x, given.translation.x);
    const auto stop = [](std::string_view, std::size_t, std::size_t) { return false; };
    EXPECT_TRUE(
        evaluate_aligned(scene.model, *scene.capture, {0}, *rasterizer, {}, stop).images.empty());
}

TEST(PoseAlignment, CorrectionsFollowTheirNeighbours) {
    const KnownScene scene;
    const std::vector<std::size_t> views{1, 2, 3};
    PoseRefinement poses(*scene.capture, views);
    std::vector<PoseRow> rows(scene.capture->views.size());
    for (const std::size_t v : views) rows[v].steps = 1;
    rows[1].correction.move = {2, 0, 0};
    rows[2].correction.move = {0, 1, 0};
    rows[3].correction.move = {4, 0, 0};
    rows[3].correction.turn = {std::cos(0.1), std::sin(0.1), 0, 0};
    ASSERT_TRUE(poses.restore(rows));
    poses.smooth(0.5);
    const auto of = [&](std::size_t v) { return poses.rows()[v].correction; };
    EXPECT_NEAR(of(2).move.x, 1.5, 1e-12);
    EXPECT_NEAR(of(2).move.y, 0.5, 1e-12);
    EXPECT_NEAR(of(2).angle(), 0.05, 1e-9);  // half way to half of 0.2
    EXPECT_NEAR(of(1).move.x, 1, 1e-12);
    EXPECT_NEAR(of(3).move.x, 2, 1e-12);
    EXPECT_NEAR(of(3).angle(), 0.1, 1e-9);
    EXPECT_EQ(of(0).move.x, 0);
}

TEST(PoseAlignment, ErrorsAreWhatNoSimilarityExplains) {
    std::vector<Camera> truth, found;
    for (std::uint64_t v = 0; v < 8; ++v) truth.push_back(random_camera(3, v, 40, 30));
    const Mat3d turn = rotation_from_quat({0.9, 0.1, -0.3, 0.2});
    for (Camera c : truth) {  // the world turned, grown and moved
        const Vec3d eye = 2.5 * (turn * c.position()) + Vec3d{1, -2, 3};
        c.rotation = c.rotation * transpose(turn);
        c.translation = -(c.rotation * eye);
        found.push_back(c);
    }
    EXPECT_NEAR(pose_errors(found, truth).degrees, 0, 1e-5);
    EXPECT_NEAR(pose_errors(found, truth).move, 0, 1e-9);
    Capture capture;
    for (const Camera& c : truth) {
        capture.views.emplace_back();
        capture.views.back().camera = c;
    }
    disturb_poses(capture, {0.5, 0.005, 7}, 5);
    found.clear();
    for (const View& view : capture.views) found.push_back(view.camera);
    const PoseErrors errors = pose_errors(found, truth);
    EXPECT_GT(errors.degrees, 0.2);
    EXPECT_LT(errors.degrees, 1);
    EXPECT_GT(errors.move, 0.015);
    EXPECT_LT(errors.move, 0.08);
}

}  // namespace
}  // namespace gs::test
