// Learning from a lidar's beams beside the photos: which beams, what their loss is, and that
// everything that holds of a run holds of such a one.
#include <cmath>

#include "base/parallel.h"
#include "renderer/raster/rasterizer.h"
#include "tests/unit/small_run.h"
#include "tests/unit/wall_drive.h"
#include "trainer/lidar/beam_step.h"
#include "trainer/lidar/lidar_beams.h"
#include "trainer/lidar/lidar_loss.h"
#include "trainer/lidar/lidar_score.h"
#include "trainer/replay/step_capture.h"
#include "trainer/run/run_files.h"
#include "trainer/step_record.h"
#include "trainer/trainer.h"

namespace gs::test {
namespace {

using gs::testing::same_bits;

std::unique_ptr<Trainer> trainer_of(const std::shared_ptr<Capture>& capture,
                                    const TrainingSettings& settings) {
    auto out = Trainer::create(capture, settings, make_cpu_training());
    CHECK(out, "{}", out.error().text());
    return std::move(*out);
}

TEST(TrainerLidar, BeamsFollowFromSeedAndStepAndAreNeverHeldOut) {
    const WallDrive drive;
    TrainingSettings settings = wall_settings();
    const std::vector<std::string> paths{drive.folder.path().string()};
    LidarBeams beams(paths), again(paths);
    ASSERT_FALSE(beams.empty());
    ASSERT_TRUE(beams.open() && again.open() && beams.open());
    std::size_t all = 0, most = 0;
    for (std::uint64_t step = 0; step < 20; ++step) {
        const auto plan = beams.plan(settings, step);
        ASSERT_TRUE(plan);
        ASSERT_EQ(plan->rays.size(), plan->ranges.size());
        EXPECT_EQ(plan->weight, settings.lidar_weight);
        for (std::size_t i = 0; i < plan->rays.size(); ++i) {
            const Vec3d end = plan->rays[i].origin +
                              static_cast<double>(plan->ranges[i]) * plan->rays[i].direction;
            ASSERT_NEAR(end.z, 10, 0.2);  // the sensor moves on within a sweep
        }
        all += plan->rays.size();
        most = std::max(most, plan->rays.size());
    }
    EXPECT_GT(all, 20u * 500);  // 1,000 a step are asked for
    EXPECT_LT(all, 20u * 1500);
    const auto late = again.plan(settings, 19), same = beams.plan(settings, 19);
    EXPECT_EQ(late->ranges, same->ranges);
    EXPECT_GT(beams.bytes(), 0u);

    settings.lidar_beams = 1e6;  // all that there are
    auto log = open_lidar_log(drive.folder.path());
    ASSERT_TRUE(log);
    const auto sweep = log->read(0);
    std::size_t learned = 0;
    for (const LidarBeam& beam : sweep->beams) learned += held_out(beam) ? 0 : 1;
    EXPECT_LT(learned, sweep->beams.size());
    EXPECT_GT(learned, most);
    std::size_t largest = 0;
    for (std::uint64_t step = 0; step < 8; ++step)
        largest = std::max(largest, beams.plan(settings, step)->rays.size());
    EXPECT_NEAR(static_cast<double>(largest), static_cast<double>(learned),
                0.02 * static_cast<double>(learned));  // other sweeps see other columns
    settings.crop = true;
    settings.crop_x0 = -1, settings.crop_y0 = -9, settings.crop_z0 = 0;
    settings.crop_x1 = 1, settings.crop_y1 = 9, settings.crop_z1 = 20;
    const auto cropped = beams.plan(settings, 0);
    ASSERT_TRUE(cropped);
    EXPECT_LT(cropped->rays.size(), learned / 2);

    const LidarBeams none(std::vector<std::string>{});
    EXPECT_TRUE(none.empty());
    EXPECT_FALSE(LidarBeams({(drive.folder / "poses").string()}).open());
    for (int i = 0; i < 3; ++i)
        drive.folder.write("sequences/00/velodyne/00000" + std::to_string(i) + ".bin", "short");
    LidarBeams broken(paths);
    ASSERT_TRUE(broken.open());
    EXPECT_EQ(broken.plan(wall_settings(), 3), nullptr);
    fs::remove_all(drive.folder / "sequences/00/velodyne");
    EXPECT_FALSE(LidarBeams(paths).open());
}

TEST(TrainerLidar, TheLossesGradientIsItsSlope) {
    constexpr std::size_t kBeams = 40;
    RayImage image;
    for (std::size_t i = 0; i < kBeams; ++i)
        image.alpha.push_back(i == 7 ? 0.01f : 0.3f + 0.015f * static_cast<float>(i));
    const std::vector<float> ranges(kBeams, 10.0f);
    RayImageGradient v;
    const LidarTerms terms = lidar_loss(image, ranges, 0.5, v);
    EXPECT_EQ(terms.beams, kBeams);
    EXPECT_EQ(v.measured, ranges);
    EXPECT_FLOAT_EQ(v.pull, 0.5f / kBeams);
    EXPECT_EQ(v.far, kFarOff);
    EXPECT_TRUE(v.hit.empty());
    EXPECT_LT(v.alpha[7], 0);  // what is dark wants light stopped
    const auto loss = [&](const RayImage& of) {
        RayImageGradient ignored;
        return 0.5 * lidar_loss(of, ranges, 0.5, ignored).dark;
    };
    for (std::size_t i = 0; i < kBeams; ++i) {
        if (i == 7) continue;  // held at the least alpha there
        constexpr float kStep = 1.0f / 8192;
        RayImage up = image, down = image;
        up.alpha[i] += kStep;
        down.alpha[i] -= kStep;
        const double slope = (loss(up) - loss(down)) / (2 * static_cast<double>(kStep));
        EXPECT_NEAR(slope, v.alpha[i], 2e-3 * std::abs(v.alpha[i]) + 1e-5) << i;
    }
    EXPECT_EQ(lidar_loss(RayImage{}, {}, 1, v).beams, 0u);
    EXPECT_TRUE(v.measured.empty());
}

TEST(TrainerLidar, BeamsWidenNothingThatIsWide) {
    // Two faint balls, met beside their middles: more of them would stop more light.
    struct Slopes final : GradientSink {
        float scales[2][3] = {};
        void take(const BlockGradients& g) override {
            for (int i = 0; i < 2; ++i)
                for (int k = 0; k < 3; ++k) scales[i][k] = g.planes[kLogScales + k][i];
        }
    };
    GaussianModel model(2, 0);
    BeamPlan plan{.weight = 1};
    for (std::size_t i = 0; i < 2; ++i) {
        const float size = kWidestByBeams * (i == 0 ? 0.9f : 1.1f), side = i == 0 ? 5.0f : -5.0f;
        model.at(kMeans, i) = 10;
        model.at(kMeans + 1, i) = side;
        for (int k = 0; k < 3; ++k) model.at(kLogScales + k, i) = std::log(size);
        model.at(kQuats, i) = 1;
        model.at(kOpacityLogits, i) = -1;
        for (const double off : {-0.5, 0.0, 0.5}) {
            const Vec3d to{10, static_cast<double>(side), off};
            const double range = std::sqrt(dot(to, to));
            plan.rays.push_back({{}, (1 / range) * to, true});
            plan.ranges.push_back(static_cast<float>(range));
        }
    }
    Buffer<BlockBounds> bounds;
    compute_bounds(model, bounds);
    ModelSource source(model, bounds.span());
    Slopes got;
    const LidarTerms terms = BeamStep().run(source, plan, 1, Compatibility::tight, got);
    EXPECT_EQ(terms.beams, 6u);
    EXPECT_LT(terms.range, 0.1);
    EXPECT_GT(terms.dark, 0.5);
    EXPECT_LT(got.scales[0][2], -1e-3f);
    for (const float slope : got.scales[1]) EXPECT_GE(slope, 0);
}

TEST(TrainerLidar, AWallThatStandsTooNearGoesBack) {
    const WallDrive drive;
    const auto capture = drive.capture(0.3f);
    const auto with = trainer_of(capture, wall_settings());
    StepReport first = with->step(), last = first;
    while (!with->finished()) last = with->step();
    EXPECT_NEAR(first.lidar_m, 0.3, 0.1);
    EXPECT_LT(last.lidar_m, 0.3 * first.lidar_m);

    TrainingSettings off = wall_settings();
    off.lidar_weight = 0;
    const auto without = trainer_of(capture, off);
    const auto elsewhere = std::make_shared<Capture>(*capture);
    elsewhere->lidars.clear();  // a capture that has no lidar
    const auto plain = trainer_of(elsewhere, wall_settings());
    for (int i = 0; i < 12; ++i) {
        EXPECT_TRUE(std::isnan(without->step().lidar_m));
        plain->step();
    }
    EXPECT_TRUE(same_bits(without->model(), plain->model()));
    EXPECT_FALSE(same_bits(without->model(), with->model()));
}

TEST(TrainerLidar, BeamsOfEveryThirdStepWeighThreeTimesAsMuch) {
    const WallDrive drive;
    const auto capture = drive.capture(0.3f);
    TrainingSettings settings = wall_settings();
    settings.lidar_every = 3;
    LidarBeams beams(capture->lidars);
    ASSERT_TRUE(beams.open());
    EXPECT_EQ(beams.plan(settings, 3)->weight, 3 * settings.lidar_weight);
    const auto trainer = trainer_of(capture, settings);
    StepReport first = trainer->step(), last = first;
    EXPECT_NEAR(first.lidar_m, 0.3, 0.1);
    for (int step = 1; !trainer->finished(); ++step) {
        const StepReport report = trainer->step();
        EXPECT_EQ(std::isfinite(report.lidar_m), step % 3 == 0) << step;
        if (step % 3 == 0) last = report;
    }
    EXPECT_LT(last.lidar_m, 0.7 * first.lidar_m);
}

TEST(TrainerLidar, ResumedAndOnOneThreadItIsTheSame) {
    const WallDrive drive;
    const auto capture = drive.capture(0.1f);
    for (const double batch : {1.0, 2.0}) {
        TrainingSettings settings = wall_settings();
        settings.batch = batch;
        const auto whole = trainer_of(capture, settings);
        const fs::path file = drive.folder / "half.gsckpt";
        StepReport report;
        for (int i = 0; i < 24; ++i) {
            if (i == 12) {
                ASSERT_TRUE(whole->save_checkpoint(file));
            }
            report = whole->step();
        }
        set_thread_count(1);
        auto half = required(Trainer::resume(file, capture, make_cpu_training()));
        StepReport resumed;
        for (int i = 12; i < 24; ++i) resumed = half->step();
        set_thread_count(0);
        EXPECT_TRUE(same_bits(whole->model(), half->model())) << batch;
        EXPECT_EQ(report.lidar_m, resumed.lidar_m);
    }
}

TEST(TrainerLidar, MetricsHaveItAndCapturedStepsSayWhyNot) {
    const WallDrive drive;
    const auto trainer = trainer_of(drive.capture(0.1f), wall_settings());
    StepLog log;
    StepRecord record;
    const StepReport report = trainer->step(&record);
    log.add(report);
    const fs::path csv = drive.folder / "metrics.csv";
    ASSERT_TRUE(log.write(csv));
    StepLog read;
    read.take_earlier(csv, 10);
    ASSERT_EQ(read.rows().size(), 1u);
    EXPECT_NEAR(read.rows()[0].lidar_m, report.lidar_m, 1e-4 * report.lidar_m);
    const auto captured = capture_of(record, "wall", trainer->rasterizer());
    ASSERT_FALSE(captured);
    EXPECT_NE(captured.error().text().find("--lidar-weight 0"), std::string::npos);
    bool told = false;
    for (const MemoryUse& use : trainer->memory())
        told |= use.category == "sweeps" && use.bytes > 0;
    EXPECT_TRUE(told);
}

/// Photos without a lidar of their own, and two recordings beside them.
TEST(TrainerLidar, RecordingsBesideACaptureAreLearnedFrom) {
    const WallDrive photos, first, second;
    fs::remove_all(photos.folder / "sequences/00/velodyne");
    CaptureOptions options;
    const auto load = [&] { return load_capture(photos.folder.path(), options); };
    const auto error = [&] {
        const auto loaded = load();
        return loaded ? std::string() : loaded.error().text();
    };
    EXPECT_TRUE(load()->lidars.empty());
    options.lidars = {first.folder.path().string(), second.folder.path().string()};
    auto capture = required(load());
    EXPECT_EQ(capture.lidars, options.lidars);
    // A drive's own is not there twice.
    const auto own = required(load_capture(first.folder.path(), options));
    EXPECT_EQ(own.lidars, (std::vector<std::string>{own.path, options.lidars[1]}));
    // Six sweeps take turns.
    LidarBeams beams(capture.lidars);
    ASSERT_TRUE(beams.open());
    for (std::uint64_t step = 0; step < 30; ++step) EXPECT_TRUE(beams.plan(wall_settings(), step));
    LidarBeams one(std::vector<std::string>{options.lidars[0]});
    ASSERT_TRUE(one.open());
    for (std::uint64_t step = 0; step < 30; ++step) (void)one.plan(wall_settings(), step);
    EXPECT_NEAR(static_cast<double>(beams.bytes()), 2 * static_cast<double>(one.bytes()),
                0.1 * static_cast<double>(one.bytes()));
    // A run learns from them, and remembers them.
    const auto trainer = trainer_of(std::make_shared<Capture>(std::move(capture)), wall_settings());
    EXPECT_GT(trainer->step().lidar_m, 0);
    EXPECT_TRUE(score_lidars(trainer->model(), options.lidars));

    options.lidars = {(photos.folder / "nowhere").string()};
    EXPECT_NE(error().find("does not exist"), std::string::npos) << error();
    options.lidars_of_run = true;
    ASSERT_TRUE(load());
    EXPECT_TRUE(load()->lidars.empty());
    ASSERT_EQ(load()->skipped.size(), 1u);
    options.lidars_of_run = false;
    // Of another world: a kilometre aside.
    first.folder.write("poses/00.txt",
                       "1 0 0 1000 0 1 0 0 0 0 1 0\n1 0 0 1000 0 1 0 0 0 0 1 1\n"
                       "1 0 0 1000 0 1 0 0 0 0 1 2\n");
    options.lidars = {first.folder.path().string()};
    EXPECT_NE(error().find("another world"), std::string::npos) << error();
    EXPECT_NE(error().find("sweep 000001"), std::string::npos) << error();
}

}  // namespace
}  // namespace gs::test
