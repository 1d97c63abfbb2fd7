// Corrections of poses: what one does to a camera, the gauge, steps, and whole runs: the same bits
// resumed, and disturbed poses that come back.
#include "trainer/poses/pose_refinement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "painted_capture.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"
#include "trainer/replay/step_capture.h"
#include "trainer/run/pose_file.h"
#include "trainer/step_record.h"
#include "trainer/trainer.h"

namespace gs::test {
namespace {

Capture ring(std::size_t views) {
    Capture out;
    for (std::size_t v = 0; v < views; ++v) {
        View view;
        view.camera = random_camera(8, v, 40, 30);
        out.views.push_back(std::move(view));
    }
    return out;
}

TEST(PoseRefinement, ACorrectionTurnsAndMovesTheCamera) {
    Camera camera = random_camera(1, 0, 40, 30);
    const PoseCorrection c{{std::cos(0.1), 0, std::sin(0.1), 0}, {0.5, 0, -1}};
    EXPECT_NEAR(c.angle(), 0.2, 1e-12);
    const Camera moved = corrected(camera, c);
    const Vec3d went = moved.position() - camera.position();
    EXPECT_NEAR(went.x, 0.5, 1e-12);
    EXPECT_NEAR(went.z, -1, 1e-12);
    const Vec3d turned = rotation_from_quat(c.turn) * camera.forward();
    EXPECT_NEAR(dot(turned, moved.forward()), 1, 1e-12);
    // Rows of a rolling shutter keep their places among each other.
    camera.shutter = Shutter::top_to_bottom;
    camera.first = camera.last = {camera.rotation, camera.translation};
    camera.last.translation += Vec3d{0.1, 0.2, 0.3};
    const Camera rolled = corrected(camera, c);
    EXPECT_NEAR(rolled.first.translation.x, moved.translation.x, 1e-12);
    const auto gap = [](const Camera& of) {
        const Vec3d a = -(transpose(of.first.rotation) * of.first.translation),
                    b = -(transpose(of.last.rotation) * of.last.translation);
        return dot(a - b, a - b);
    };
    EXPECT_NEAR(gap(rolled), gap(camera), 1e-12);
}

TEST(PoseRefinement, WhatAllHaveInCommonIsTakenOut) {
    const Capture capture = ring(6);
    const std::vector<std::size_t> all{0, 1, 2, 3, 4, 5};
    PoseRefinement poses(capture, all);
    std::vector<PoseRefinement::Row> rows(6);
    Vec3d centre{};
    for (const std::size_t v : all) centre += (1.0 / 6) * capture.views[v].camera.position();
    const double turn = 1e-3;
    for (const std::size_t v : all) {
        const Vec3d arm = capture.views[v].camera.position() - centre;
        rows[v].steps = 1;
        rows[v].correction.turn = {std::cos(turn / 2), 0, 0, std::sin(turn / 2)};
        rows[v].correction.move =
            Vec3d{0.1, -0.2, 0.3} + cross(Vec3d{0, 0, turn}, arm) + 0.02 * arm;
    }
    rows[2].correction.move.x += 0.06;  // its own
    ASSERT_TRUE(poses.restore(rows));
    poses.hold_gauge();
    // Nothing common is left, and what was one camera's own still is, but for its share in the
    // rest.
    Vec3d move{};
    double along = 0;
    for (const std::size_t v : all) {
        const PoseCorrection& c = poses.rows()[v].correction;
        EXPECT_NEAR(c.angle(), 0, 1e-9);
        move += c.move;
        along += dot(c.move, capture.views[v].camera.position() - centre);
    }
    EXPECT_NEAR(dot(move, move), 0, 1e-18);
    EXPECT_NEAR(along, 0, 1e-12);
    EXPECT_GT(poses.rows()[2].correction.move.x, 0.04);
}

const PosePrior kWide{0.1, 0.3};

/// Two cameras that see points; what their photos show changes to the right, and down, too, unless
/// it is `stripes` that stand upright.
Capture textured(bool stripes) {
    Capture out = ring(2);
    for (View& view : out.views) {
        view.photo = Image8{40, 30, 3, {}};
        for (int y = 0; y < 30; ++y)
            for (int x = 0; x < 40; ++x)
                for (int c = 0; c < 3; ++c)
                    view.photo.bytes.push_back(static_cast<std::uint8_t>(
                        128 + 100 * std::sin(0.5 * x) * (stripes ? 1 : std::cos(0.6 * y + c))));
    }
    for (std::uint64_t i = 0; i < 400; ++i) {  // what the cameras see
        const auto at = [&](std::uint64_t axis) {
            return static_cast<float>(random_in(5, axis, i, -1, 1));
        };
        out.points.push_back({{at(0), at(1), at(2)}});
    }
    return out;
}
/// A motion of the camera as six numbers.
using Six = math::Row<6>;
Six now(const PoseRefinement& poses, std::size_t view) {
    const PoseCorrection& c = poses.rows()[view].correction;
    return {2 * c.turn.x, 2 * c.turn.y, 2 * c.turn.z, c.move.x, c.move.y, c.move.z};
}
/// The gradient of the camera's motion as a backward pass returns it: that of the scene's motion.
SceneMotion told(const Six& g) { return {{-g[0], -g[1], -g[2]}, {-g[3], -g[4], -g[5]}}; }

TEST(PoseRefinement, ALossAsCurvedAsThePhotoPromisesIsLowestWhereStepsLead) {
    const Capture capture = textured(false);
    const std::vector<std::size_t> both{0, 1};
    PoseRefinement poses(capture, both);
    const PoseInformation photo = pose_information(capture, capture.views[1]);
    ASSERT_TRUE(photo.any);
    const Six truth = {0.004, -0.003, 0.002, 0.01, -0.008, 0.012};
    const double residual = 0.02;
    const auto apart = [&] {
        Six out = now(poses, 1);
        for (std::size_t i = 0; i < 6; ++i) out[i] -= truth[i];
        return out;
    };
    const auto pixels = [&] {
        const Six x = apart(), y = math::times(photo.way, x);
        double sum = 0;
        for (std::size_t i = 0; i < 6; ++i) sum += x[i] * y[i];
        return std::sqrt(sum);
    };
    const double before = pixels();
    ASSERT_GT(before, 0.05);
    for (int i = 0; i < 30; ++i) {
        Six g = math::times(photo.change, apart());
        for (double& x : g) x /= residual;
        ASSERT_TRUE(poses.step(1, told(g), residual, kWide, i == 0 ? 1.0 : 0.3));
    }
    EXPECT_LT(pixels(), 0.05 * before);
    EXPECT_EQ(poses.rows()[0].steps, 0u);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(poses.step(1, {{nan, 0, 0}, {0, 0, 0}}, 0.02, kWide, 0.5));
    EXPECT_FALSE(poses.step(1, {{0, 0, 0}, {0, 0, 0}}, nan, kWide, 0.5));
    EXPECT_EQ(poses.rows()[1].steps, 30u);
    std::vector<PoseRefinement::Row> broken(2);
    broken[0].correction.turn.w = 0.5;
    EXPECT_FALSE(poses.restore(broken));
    broken[0].correction.turn.w = 1;
    broken[0].known = -1;
    EXPECT_FALSE(poses.restore(broken));
}

TEST(PoseRefinement, WhatAPhotoDoesNotShowStays) {
    const Capture capture = textured(true);
    const std::vector<std::size_t> both{0, 1};
    const PoseInformation photo = pose_information(capture, capture.views[1]);
    const Camera& camera = capture.views[1].camera;
    const auto change = [&](Vec3d turn) {
        const Six x = {turn.x, turn.y, turn.z, 0, 0, 0}, y = math::times(photo.change, x);
        return turn.x * y[0] + turn.y * y[1] + turn.z * y[2];
    };
    const auto axis = [&](std::size_t i) {
        const auto& m = camera.rotation.m;
        return Vec3d{m[i][0], m[i][1], m[i][2]};
    };
    // Nodding moves stripes along themselves, shaking the head across.
    EXPECT_LT(change(axis(0)), 1e-3 * change(axis(1)));
    // Chance pulls all six numbers alike, a hundred times. What stripes show is averaged, and
    // the rest does not walk away from the prior.
    PoseRefinement poses(capture, both);
    const PosePrior prior{0.01, 0.03};
    for (std::uint64_t i = 0; i < 100; ++i) {
        Six g{};
        for (std::size_t k = 0; k < 6; ++k) g[k] = random_in(9, i, k, -1e-3, 1e-3);
        ASSERT_TRUE(poses.step(1, told(g), 0.05, prior, 0.1));
    }
    const Six x = now(poses, 1);
    for (std::size_t k = 0; k < 6; ++k)
        EXPECT_LT(std::abs(x[k]), 2 * (k < 3 ? prior.turn : prior.move)) << k;
    // Nothing new, and what was known is forgotten: the prior has it back.
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(poses.step(1, {}, 1e6, prior, 0.5));
    for (const double left : now(poses, 1)) EXPECT_NEAR(left, 0, 1e-6);
    // A photo of one colour says nothing at all.
    Capture blank = textured(true);
    std::fill(blank.views[0].photo.bytes.begin(), blank.views[0].photo.bytes.end(), 90);
    EXPECT_FALSE(pose_information(blank, blank.views[0]).any);
    PoseRefinement none(blank, both);
    EXPECT_TRUE(none.step(0, {{1, 0, 0}, {0, 1, 0}}, 0.02, kWide, 0.5));
    EXPECT_EQ(none.rows()[0].correction.angle(), 0);
}

/// Photos drawn from a model, and cameras that are not quite where they were taken from.
struct Disturbed {
    std::shared_ptr<Capture> capture = painted_capture();
    std::vector<Camera> true_cameras;

    Disturbed() {
        for (const View& view : capture->views) true_cameras.push_back(view.camera);
        std::uint64_t v = 0;
        for (View& view : capture->views) {
            const auto random = [&](std::uint64_t what) { return random_in(11, v, what, -1, 1); };
            const double a = 0.012 * random(0), b = 0.012 * random(1), c = 0.012 * random(2);
            const double w = std::sqrt(1 - a * a - b * b - c * c);
            if (!view.test)
                view.camera = corrected(
                    view.camera, {{w, a, b, c}, 0.04 * Vec3d{random(3), random(4), random(5)}});
            ++v;
        }
    }
    /// How far points of the scene fall from where they should, px, root mean square.
    double error(const Trainer& trainer) const {
        double sum = 0, n = 0;
        for (std::size_t v = 0; v < capture->views.size(); ++v) {
            if (capture->views[v].test) continue;
            const Camera camera = trainer.camera_of(v);
            for (std::size_t i = 0; i < capture->points.size(); i += 10) {
                const Vec3f at = capture->points[i].position;
                const Vec3d p{at.x, at.y, at.z};
                const auto pixel = [&](const Camera& c) {
                    return c.pixel_of(c.rotation * p + c.translation);
                };
                const Vec2<double> a = pixel(camera), b = pixel(true_cameras[v]);
                sum += (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
                ++n;
            }
        }
        return std::sqrt(sum / n);
    }
    std::unique_ptr<Trainer> train(double steps, double refine) const {
        const auto settings = make_settings({{"steps", steps},
                                             {"refine_poses", refine},
                                             {"pose_sigma", 2},
                                             {"pose_from", 0},
                                             {"densify_until", 0},
                                             {"opacity_reset_every", 0},
                                             {"sh_degree", 0}});
        auto trainer = Trainer::create(capture, *settings, make_cpu_training());
        EXPECT_TRUE(trainer);
        return std::move(*trainer);
    }
};

TEST(PoseRefinement, DisturbedPosesComeBack) {
    const Disturbed disturbed;
    const auto trainer = disturbed.train(400, 1), plain = disturbed.train(400, 0);
    const double before = disturbed.error(*trainer);
    ASSERT_GT(before, 1.0);
    double corrected_loss = 0, plain_loss = 0;
    for (int i = 0; i < 400; ++i) {
        const double a = trainer->step().loss, b = plain->step().loss;
        if (i < 350) continue;
        corrected_loss += a;
        plain_loss += b;
    }
    EXPECT_LT(disturbed.error(*trainer), 0.4 * before);
    EXPECT_LT(corrected_loss, 0.6 * plain_loss);
    EXPECT_EQ(disturbed.error(*plain), before);
    EXPECT_EQ(trainer->camera_of(0).translation.x, disturbed.true_cameras[0].translation.x)
        << "test photos stay where they are";
}

TEST(PoseRefinement, CamerasOfARigsFrameMoveTogether) {
    Disturbed disturbed;
    std::vector<View>& views = disturbed.capture->views;
    for (std::size_t v = 0; v < views.size(); ++v) views[v].camera = disturbed.true_cameras[v];
    // Three in one frame, of which one is held out, and two in another, each frame moved as one.
    const auto move = [&](std::vector<std::size_t> frame, const PoseCorrection& by) {
        const Vec3d pivot = views[frame.front()].camera.position();
        for (const std::size_t v : frame) {
            views[v].camera = corrected(views[v].camera, by, pivot);
            views[v].rig_frame = static_cast<std::uint32_t>(frame.front());
        }
    };
    const double c = std::cos(0.01), s = std::sin(0.01);
    move({0, 1, 2}, {{c, 0, s, 0}, {0.09, 0.06, -0.06}});
    move({3, 4}, {{c, s, 0, 0}, {-0.09, -0.06, 0.03}});
    const auto trainer = disturbed.train(400, 1);
    const double before = disturbed.error(*trainer);
    ASSERT_GT(before, 1.0);
    for (int i = 0; i < 400; ++i) trainer->step();
    EXPECT_LT(disturbed.error(*trainer), 0.5 * before);
    const auto between = [](const Camera& a, const Camera& b) {
        return a.rotation * (b.position() - a.position());
    };
    for (const auto& [a, b] : {std::pair(1, 2), std::pair(0, 1), std::pair(3, 4)}) {
        const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
        const Camera now = trainer->camera_of(i);
        EXPECT_NE(now.translation.x, views[i].camera.translation.x);
        const Vec3d off =
            between(now, trainer->camera_of(j)) - between(views[i].camera, views[j].camera);
        EXPECT_LT(dot(off, off), 1e-20) << a;
    }
}

TEST(PoseRefinement, PosesAreWrittenAsTheyAreNow) {
    const Disturbed disturbed;
    const auto trainer = disturbed.train(20, 1);
    for (int i = 0; i < 20; ++i) trainer->step();
    const TemporaryFolder folder;
    ASSERT_TRUE(write_poses(folder / "poses.json", *trainer));
    std::ifstream file(folder / "poses.json");
    const auto json = nlohmann::json::parse(file);
    ASSERT_EQ(json["frames"].size(), disturbed.capture->views.size());
    for (std::size_t v = 0; v < disturbed.capture->views.size(); ++v) {
        const auto& frame = json["frames"][v];
        const Camera now = trainer->camera_of(v);
        EXPECT_EQ(frame["file_path"], disturbed.capture->views[v].name);
        EXPECT_NEAR(frame["transform_matrix"][0][3].get<double>(), now.position().x, 1e-12);
        // OpenGL's axes: the third column points backwards.
        EXPECT_NEAR(frame["transform_matrix"][2][2].get<double>(), -now.forward().z, 1e-12);
        EXPECT_EQ(frame.contains("correction_degrees"), !disturbed.capture->views[v].test);
        if (v == 1) {
            EXPECT_GT(frame["correction_degrees"].get<double>(), 0.01);
        }
    }
}

TEST(PoseRefinement, ACapturedStepHasTheCorrectedCamera) {
    const Disturbed disturbed;
    const auto trainer = disturbed.train(40, 1);
    for (int i = 0; i < 30; ++i) trainer->step();
    StepRecord record;
    trainer->step(&record);
    const auto rasterizer = make_cpu_rasterizer();
    const auto captured = required(capture_of(record, "made up", *rasterizer));
    const Vec3d at = captured.inputs.camera.position(), trained = record.plan.camera.position(),
                given = record.plan.view->camera.position();
    EXPECT_EQ(dot(at - trained, at - trained), 0);
    EXPECT_GT(dot(at - given, at - given), 0);
}

TEST(PoseRefinement, ResumesWithTheSameBits) {
    const Disturbed disturbed;
    const auto straight = disturbed.train(30, 1), first = disturbed.train(30, 1);
    for (int i = 0; i < 30; ++i) straight->step();
    for (int i = 0; i < 13; ++i) first->step();
    const TemporaryFolder folder;
    ASSERT_TRUE(first->save_checkpoint(folder / "run.gsc"));
    auto second =
        required(Trainer::resume(folder / "run.gsc", disturbed.capture, make_cpu_training()));
    const auto snapshot = first->snapshot();
    for (int i = 13; i < 30; ++i) second->step();
    for (int i = 0; i < 5; ++i) first->step();
    first->restore(*snapshot);
    for (int i = 13; i < 30; ++i) first->step();
    for (const Trainer* other : {second.get(), first.get()}) {
        const GaussianModel a = straight->model(), b = other->model();
        EXPECT_TRUE(std::equal(a.values.begin(), a.values.end(), b.values.begin()));
        for (std::size_t v = 0; v < disturbed.capture->views.size(); ++v)
            EXPECT_EQ(straight->camera_of(v).translation.x, other->camera_of(v).translation.x) << v;
    }
}

}  // namespace
}  // namespace gs::test
