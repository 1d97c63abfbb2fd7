// A sky that is learned behind the Gaussians: it becomes what the photos show, steps as Adam says,
// and is part of a run like everything else that is learned.
#include <cmath>

#include "base/parallel.h"
#include "painted_capture.h"
#include "renderer/reference/sh.h"
#include "tests/support/numbered_rows.h"
#include "tests/unit/io_files.h"
#include "trainer/adam/sky_step.h"
#include "trainer/checkpoint.h"
#include "trainer/replay/step_capture.h"
#include "trainer/run/step_file.h"
#include "trainer/step_record.h"
#include "trainer/trainer.h"

namespace gs::test {
namespace {

using gs::testing::busy_settings;
using gs::testing::small_capture;

TrainingSettings sky_settings(SkyKind kind, double batch = 1) {
    TrainingSettings settings = busy_settings();
    settings.sky = kind;
    settings.batch = batch;
    return settings;
}
std::unique_ptr<Trainer> train_under_sky(const std::shared_ptr<Capture>& capture,
                                         const TrainingSettings& settings, int steps) {
    auto trainer = Trainer::create(capture, settings, make_cpu_training());
    EXPECT_TRUE(trainer) << (trainer ? "" : trainer.error().text());
    for (int i = 0; i < steps; ++i) (*trainer)->step();
    return std::move(*trainer);
}
/// The largest difference of two skies' colours over the pixels of a capture's photos.
double colors_apart(const Sky& a, const Sky& b, const Capture& capture) {
    reference::Options of_a, of_b;
    of_a.sky = a;
    of_b.sky = b;
    double worst = 0;
    for (const View& view : capture.views)
        for (int y = 0; y < view.camera.height; y += 5)
            for (int x = 0; x < view.camera.width; x += 5) {
                const CameraRay ray = view.camera.ray_of(x + 0.5, y + 0.5);
                const Vec3d d =
                    reference::color_behind(ray, of_a) - reference::color_behind(ray, of_b);
                worst = std::max({worst, std::abs(d.x), std::abs(d.y), std::abs(d.z)});
            }
    return worst;
}

TEST(TrainerSky, BecomesWhatThePhotosShow) {
    GaussianModel truth = under_sky(painted_model(), 1);
    for (float& number : truth.sky.sh) number *= 0.4f;  // within what a photo can show
    const auto capture = painted_capture([](Camera&) {}, truth);
    TrainingSettings settings;
    settings.steps = 400;
    settings.sh_degree = 0;
    settings.densify_until = 0;
    settings.sky = SkyKind::sh1;
    settings.lr_sky = 0.02;
    const auto before_sky = train_under_sky(capture, settings, 400);
    EXPECT_LT(colors_apart(before_sky->model().sky, truth.sky, *capture), 0.04);
    settings.sky = SkyKind::none;
    const auto without = train_under_sky(capture, settings, 400);
    EXPECT_TRUE(without->model().sky.empty());
    EXPECT_GT(before_sky->evaluate({0}).psnr, without->evaluate({0}).psnr + 3);
}

TEST(TrainerSky, StepsAsAdamSays) {
    const TrainingSettings settings = sky_settings(SkyKind::sh1, 2);
    Sky sky = initial_sky(settings, {});
    EXPECT_EQ(sky.degree, 1);
    std::vector<float> moments(kSkyMoments, 0.0f);
    SkyGradient gradient{};
    gradient[0] = 0.5;
    gradient[5] = -1e-3;
    gradient[12] = 7;  // of no basis that it has
    const SkyPlan plan = sky_plan(settings, 0);
    step_sky(sky, moments, plan, gradient);
    // The first step of each number goes against its gradient's sign, by the rate of two photos.
    const float rate = static_cast<float>(settings.lr_sky * std::sqrt(2.0));
    EXPECT_NEAR(sky.sh[0], -rate, 1e-3f * rate);
    EXPECT_NEAR(sky.sh[5], rate, 1e-3f * rate);
    EXPECT_EQ(sky.sh[1], 0);
    EXPECT_EQ(sky.sh[12], 0);
    const Sky before = sky;
    gradient[0] = std::numeric_limits<double>::quiet_NaN();
    step_sky(sky, moments, sky_plan(settings, 1), gradient);
    EXPECT_EQ(sky, before);
    EXPECT_FALSE(sky_plan(sky_settings(SkyKind::none), 3).on());
}

TEST(TrainerSky, StartsFromTheOneThatIsGiven) {
    const Sky given = under_sky({}, 2).sky;
    EXPECT_EQ(initial_sky(sky_settings(SkyKind::none), given), given);
    EXPECT_EQ(initial_sky(sky_settings(SkyKind::sh2), given), given);
    const Sky more = initial_sky(sky_settings(SkyKind::sh3), given),
              fewer = initial_sky(sky_settings(SkyKind::constant), given);
    EXPECT_EQ(more.degree, 3);
    EXPECT_TRUE(std::equal(given.sh.begin(), given.sh.begin() + 27, more.sh.begin()));
    EXPECT_EQ(fewer.degree, 0);
    EXPECT_EQ(fewer.sh[2], given.sh[2]);
    EXPECT_EQ(fewer.sh[3], 0);
}

TEST(TrainerSky, ResumedRevertedAndOnAnyNumberOfThreadsItIsTheSame) {
    const auto capture = small_capture();
    for (const double batch : {1.0, 3.0}) {
        SCOPED_TRACE(batch);
        const TrainingSettings settings = sky_settings(SkyKind::sh3, batch);
        const auto straight = train_under_sky(capture, settings, 24);
        EXPECT_NE(straight->model().sky, initial_sky(settings, {}));
        set_thread_count(1);
        const auto first = train_under_sky(capture, settings, 14);
        set_thread_count(0);
        const TempFolder folder;
        const fs::path path = folder / "run.gsc";
        ASSERT_TRUE(first->save_checkpoint(path));
        EXPECT_EQ(read_checkpoint_model(path)->model.sky, first->model().sky);
        auto second = required(Trainer::resume(path, capture, make_cpu_training()));
        const auto snapshot = first->snapshot();
        for (int i = 14; i < 24; ++i) {
            second->step();
            first->step();
        }
        const RunArrays wanted = straight->snapshot()->arrays;
        EXPECT_TRUE(same_arrays(second->snapshot()->arrays, wanted));
        EXPECT_TRUE(same_arrays(first->snapshot()->arrays, wanted));
        first->restore(*snapshot);
        for (int i = 14; i < 24; ++i) first->step();
        EXPECT_TRUE(same_arrays(first->snapshot()->arrays, wanted));
    }
}

TEST(TrainerSky, ACapturedStepHasIt) {
    for (const SkyKind kind : {SkyKind::constant, SkyKind::sh3}) {
        const auto trainer = train_under_sky(small_capture(), sky_settings(kind), 2);
        const Sky sky = trainer->model().sky;
        StepRecord record;
        trainer->step(&record);
        const CapturedStep step = required(capture_of(record, "small", trainer->rasterizer()));
        EXPECT_TRUE(step.origin.same_bits) << step.origin.agreement;
        const TempFolder folder;
        ASSERT_TRUE(write_step(step, folder / "a.gsstep"));
        CapturedStep back = required(read_step(folder / "a.gsstep"));
        EXPECT_EQ(back.inputs.model.sky, sky);
        EXPECT_NE(trainer->model().sky, sky) << "it took its step";
        const auto failed = [&] {
            bool any = false;
            for (const ComparisonRow& row : compare_steps(
                     back.inputs, back.outputs, run_step(back.inputs, trainer->rasterizer())))
                any |= row.differ != 0;
            return any;
        };
        EXPECT_FALSE(failed());
        back.inputs.model.sky.sh[1] += 0.1f;
        EXPECT_TRUE(failed());
        back.inputs.model.sky.sh[1] = std::numeric_limits<float>::infinity();
        ASSERT_TRUE(write_step(back, folder / "b.gsstep"));
        const auto damaged = read_step(folder / "b.gsstep");
        ASSERT_FALSE(damaged);
        EXPECT_THAT(damaged.error().text(), ::testing::HasSubstr("\"sh\""));
    }
}

TEST(TrainerSky, DamagedOnesAreRefused) {
    const auto trainer = train_under_sky(small_capture(), sky_settings(SkyKind::constant), 2);
    const TempFolder folder;
    const fs::path path = folder / "run.gsc";
    trainer->edit(
        [](RunArrays& run) { run.model.sky.sh[0] = std::numeric_limits<float>::infinity(); });
    ASSERT_TRUE(trainer->save_checkpoint(path));
    const auto read = read_checkpoint_model(path);
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().text(), ::testing::HasSubstr("sky"));
}

}  // namespace
}  // namespace gs::test
