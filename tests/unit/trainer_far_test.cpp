// Runs of captures that have an origin, and of captures with a lost pose.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_write.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/scene/lost_views.h"
#include "renderer/scene/origin.h"
#include "small_run.h"
#include "tests/support/data.h"
#include "tests/support/temporary_folder.h"
#include "trainer/checkpoint.h"
#include "trainer/density/appearance.h"
#include "trainer/density/init.h"
#include "trainer/density/snapshot.h"
#include "trainer/loss/metrics.h"
#include "trainer/run/pose_file.h"
#include "trainer/run/run_folder.h"
#include "trainer/trainer.h"

namespace gs {
namespace {

using testing::busy_settings;
using testing::small_capture;

constexpr Vec3d kUtm{500123.5, 4500678.25, 321.125};

std::unique_ptr<Trainer> make_far(const std::shared_ptr<Capture>& capture) {
    TrainingSettings settings = busy_settings();
    settings.refine_poses = true;
    auto trainer = Trainer::create(capture, settings, make_cpu_training());
    EXPECT_TRUE(trainer) << (trainer ? "" : trainer.error().text());
    return std::move(*trainer);
}

TEST(FarRuns, KeepTheOriginInEveryFile) {
    const test::TemporaryFolder folder;
    const auto capture = small_capture();
    capture->origin = kUtm;
    const auto trainer = make_far(capture);
    for (int i = 0; i < 4; ++i) trainer->step();
    EXPECT_TRUE(same_place(trainer->model().origin, kUtm));

    const fs::path path = folder / "checkpoint.gsc";
    ASSERT_TRUE(trainer->save_checkpoint(path));
    const auto head = read_checkpoint_head(path);
    ASSERT_TRUE(head);
    EXPECT_TRUE(same_place(head->origin, kUtm));
    const auto model = required(read_checkpoint_model(path));
    EXPECT_TRUE(same_place(model.model.origin, kUtm));
    EXPECT_TRUE(Trainer::resume(path, capture, make_cpu_training()));
    const auto moved = small_capture();
    moved->origin = Vec3d{500000, 4500000, 0};
    const auto refused = Trainer::resume(path, moved, make_cpu_training());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find("(500123.5, 4500678.25, 321.125)"), std::string::npos);

    ASSERT_TRUE(write_poses(folder / "poses.json", *trainer));
    const auto json = nlohmann::json::parse(*read_text_file(folder / "poses.json"));
    const Vec3d eye = kUtm + trainer->camera_of(1).position();
    const auto& matrix = json["frames"][1]["transform_matrix"];
    EXPECT_NEAR(matrix[0][3].get<double>(), eye.x, 1e-6);
    EXPECT_NEAR(matrix[1][3].get<double>(), eye.y, 1e-6);
}

TEST(FarRuns, DescriptionsSayTheOrigin) {
    const test::TemporaryFolder folder;
    RunDescription description;
    description.loading.origin = kUtm;
    ASSERT_TRUE(write_text_file(folder / "run.json", json_text(to_json(description), 1)));
    const auto read = required(read_run_description(folder / ""));
    ASSERT_TRUE(read.loading.origin);
    EXPECT_TRUE(same_place(*read.loading.origin, kUtm));
    // One that does not say it has none: its Gaussians are where the capture's files are.
    description.loading.origin.reset();
    EXPECT_FALSE(to_json(description)["loading"].contains("origin"));
    ASSERT_TRUE(write_text_file(folder / "run.json", json_text(to_json(description), 1)));
    const auto old = read_run_description(folder / "");
    ASSERT_TRUE(old && old->loading.origin);
    EXPECT_TRUE(is_zero(*old->loading.origin));
}

double psnr_after(const std::shared_ptr<const Capture>& capture, double steps,
                  const TrainingSettings& settings = {}) {
    auto trainer = Trainer::create(capture, scaled_to_steps(settings, steps), make_cpu_training());
    EXPECT_TRUE(trainer) << (trainer ? "" : trainer.error().text());
    while (!(*trainer)->finished()) (*trainer)->step();
    return (*trainer)->evaluate(capture->view_indices(true)).psnr;
}
std::shared_ptr<Capture> utm_capture() {
    auto capture = load_capture(test::data_path("bugs/c12_utm"), {});
    EXPECT_TRUE(capture) << (capture ? "" : capture.error().text());
    return std::make_shared<Capture>(std::move(*capture));
}

TEST(FarRuns, LearnAsAtZero) {
    GS_NEED_DATA("bugs/c12_utm");
    EXPECT_GT(psnr_after(utm_capture(), 300), 35.5);  // 25.6 dB in single precision, 36.4 at zero
}

TEST(LostPoses, ChangeNothing) {
    GS_NEED_DATA("bugs/c12_utm");
    const auto lost = utm_capture(), without = utm_capture();
    Camera& camera = lost->views[3].camera;
    camera.translation = -(camera.rotation * Vec3d{1e4, 0, 0});
    without->views.erase(without->views.begin() + 3);
    const auto lines = log_lines_after(0).size();
    EXPECT_DOUBLE_EQ(psnr_after(lost, 300), psnr_after(without, 300));
    const auto said = log_lines_after(0);
    EXPECT_EQ(std::count_if(said.begin() + static_cast<std::ptrdiff_t>(lines), said.end(),
                            [](const LogLine& line) {
                                return line.text.find("not training on view_03.png") !=
                                       std::string::npos;
                            }),
              1);
    // The only test photo is scored, and the log says what that is worth.
    const auto alone = utm_capture();
    Camera& held_out = alone->views[0].camera;
    held_out.translation = -(held_out.rotation * Vec3d{1e5, 0, 0});
    ASSERT_EQ(blind_lost_views(*alone)[0], 1);
    ASSERT_EQ(scored_views(*alone), std::vector<std::size_t>{0});
    const std::uint64_t before = log_lines_after(0).back().serial;
    ASSERT_TRUE(Trainer::create(alone, {}, make_cpu_training()));
    EXPECT_TRUE(std::ranges::any_of(log_lines_after(before), [](const LogLine& line) {
        return line.text.find("scoring view_00.png only because") != std::string::npos;
    }));
    // The good poses keep their gauge.
    TrainingSettings refined;
    refined.refine_poses = true;
    EXPECT_NEAR(psnr_after(lost, 300, refined), psnr_after(without, 300, refined), 0.05);
    // One that sees the scene may be of use.
    camera.translation = -(camera.rotation * Vec3d{0, 0, -1e4});
    EXPECT_GT(psnr_after(lost, 300), 35.5);
}

TEST(LostPoses, DoNotChangeTheExtent) {
    const auto capture = small_capture();
    const float whole = scene_extent_of(*capture);
    for (const double far : {200.0, 1e4, 1e8}) {
        const auto lost = small_capture();
        Camera& camera = lost->views[3].camera;
        camera.translation = -(camera.rotation * Vec3d{far, 0, far});
        const float extent = scene_extent_of(*lost);
        EXPECT_NEAR(extent, whole, 0.35f * whole) << far;
        // As if the photo were not there.
        lost->views.erase(lost->views.begin() + 3);
        EXPECT_EQ(extent, scene_extent_of(*lost)) << far;
    }
}

// Photos that are skipped have no part in the means of what is learned, nor in scores.
TEST(LostPoses, CountInNoMean) {
    for (const std::size_t v : {std::size_t{0}, std::size_t{3}}) {
        const auto lost = small_capture(), without = small_capture();
        lost->views[1].test = without->views[1].test = true;
        Camera& camera = lost->views[v].camera;  // it looks away from the scene
        camera.translation = -(camera.rotation * Vec3d{v == 0 ? -1e4 : 1e4, 0, 0});
        ASSERT_EQ(blind_lost_views(*lost)[v], 1);
        without->views.erase(without->views.begin() + static_cast<std::ptrdiff_t>(v));
        EXPECT_EQ(AppearanceRows(*lost).photos(), AppearanceRows(*without).photos());
        double psnr[2] = {};
        for (const auto& capture : {lost, without}) {
            TrainingSettings settings = busy_settings();
            settings.appearance = AppearanceMode::exposure;
            settings.appearance_from = 4;
            auto trainer = required(Trainer::create(capture, settings, make_cpu_training()));
            while (!trainer->finished()) trainer->step();
            const Evaluation of = trainer->evaluate(scored_views(*capture));
            EXPECT_EQ(of.images.size(), v == 0 ? 1u : 2u);
            psnr[capture == lost ? 0 : 1] = of.psnr;
        }
        EXPECT_EQ(psnr[0], psnr[1]) << v;
    }
}

TEST(LostPoses, SetNoDistanceBetweenPhotos) {
    const auto capture = small_capture();
    const auto stands = [&](std::size_t v, Vec3d at, Vec3d looks) {
        capture->views[v].camera = look_at(at, at + looks, {0, -1, 0}, 48, 40, 0.9);
    };
    stands(1, {0, 0, -3}, {0, 0, 1});
    stands(2, {0, 0, -3}, {1, 0, 0});
    stands(3, {10, 0, -3}, {0, 0, 1});
    stands(4, {10, 0, -3}, {1, 0, 0});
    stands(5, {0, 0, -1e4}, {0, 0, 1});  // it sees the scene, and is trained on
    const AppearanceRows rows(*capture);
    ASSERT_EQ(rows.photos(), 5u);
    EXPECT_EQ(photo_neighbours(*capture, rows)[0].photo[0], 1u);
}

// Older versions learned an exposure of photos that are skipped now.
TEST(LostPoses, LeaveAResumedRunItsExposures) {
    const test::TemporaryFolder folder;
    for (const auto mode : {AppearanceMode::exposure, AppearanceMode::ppisp}) {
        const auto lost = small_capture();
        Camera& camera = lost->views[1].camera;  // it looks away from the scene, with its own lens
        camera.translation = -(camera.rotation * Vec3d{-1e4, 0, 0});
        camera.fx += 1;
        TrainingSettings settings = busy_settings();
        settings.appearance = mode;
        settings.appearance_from = 4;
        auto trainer = required(Trainer::create(lost, settings, make_cpu_training()));
        for (int i = 0; i < 12; ++i) trainer->step();
        TrainingSnapshot older = *trainer->snapshot();
        const AppearanceState now = older.arrays.appearance;
        const AppearanceRows with(*lost, trainable_or_blind_views(*lost)), without(*lost);
        ASSERT_EQ(with.photos(), without.photos() + 1);
        ASSERT_EQ(with.cameras, without.cameras + 1);
        // The photo and its camera are the first; 0.5 stands for what was learned of them.
        const auto widened = [&](const Buffer<float>& from, Buffer<float>& to, std::size_t parts) {
            to.resize_discard(parts * with.values());
            float* out = to.data();
            for (std::size_t part = 0; part < parts; ++part) {
                const float* in = from.data() + part * without.values();
                out = std::fill_n(out, math::kPhotoValues, 0.5f);
                out = std::copy_n(in, without.camera_at(0), out);
                out = std::fill_n(out, math::kCameraValues, 0.5f);
                out = std::copy_n(in + without.camera_at(0),
                                  without.values() - without.camera_at(0), out);
            }
        };
        widened(now.values, older.arrays.appearance.values, 1);
        widened(now.moments, older.arrays.appearance.moments, 2);
        trainer->restore(older);
        const fs::path path = folder / "checkpoint.gsc";
        ASSERT_TRUE(trainer->save_checkpoint(path));
        auto resumed = required(Trainer::resume(path, lost, make_cpu_training()));
        const AppearanceState read = resumed->snapshot()->arrays.appearance;
        EXPECT_TRUE(std::ranges::equal(read.values, now.values));
        EXPECT_TRUE(std::ranges::equal(read.moments, now.moments));
        resumed->step();

        lost->views[2].test = true;  // photos that are really others
        EXPECT_FALSE(Trainer::resume(path, lost, make_cpu_training()));
    }
}

// As where an older version's extent counted lost poses.
TEST(LostPoses, LeaveAResumedRunItsExtent) {
    const test::TemporaryFolder folder;
    const auto capture = small_capture();
    const auto trainer = make_far(capture);
    TrainingSnapshot older = *trainer->snapshot();
    older.extent = 20000;
    trainer->restore(older);
    const fs::path path = folder / "checkpoint.gsc";
    ASSERT_TRUE(trainer->save_checkpoint(path));
    const auto lines = log_lines_after(0).size();
    const auto resumed = required(Trainer::resume(path, capture, make_cpu_training()));
    EXPECT_EQ(resumed->snapshot()->extent, 20000);
    const auto said = log_lines_after(0);
    EXPECT_TRUE(std::any_of(said.begin() + static_cast<std::ptrdiff_t>(lines), said.end(),
                            [](const LogLine& line) {
                                return line.text.find("scene extent of 2e+04") != std::string::npos;
                            }));
}

}  // namespace
}  // namespace gs
