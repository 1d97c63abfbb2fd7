// Steps of several photos: their gradients are the mean of the photos' own, rates and moments
// follow, and everything that holds of a run holds of theirs: the same bits resumed, on any number
// of threads, with poses and looks learned beside.
#include <cmath>
#include <map>

#include "base/parallel.h"
#include "small_run.h"
#include "tests/unit/io_files.h"
#include "trainer/run/run_files.h"
#include "trainer/settings/schedule.h"
#include "trainer/step_hashes.h"
#include "trainer/step_record.h"
#include "trainer/trainer.h"

namespace gs::test {
namespace {

using gs::testing::busy_settings;
using gs::testing::same_bits;
using gs::testing::small_capture;

TrainingSettings batch_settings(double batch) {
    TrainingSettings settings = busy_settings();
    settings.batch = batch;
    return settings;
}
std::unique_ptr<Trainer> train(const std::shared_ptr<Capture>& capture,
                               const TrainingSettings& settings, int steps = 0) {
    auto trainer = Trainer::create(capture, settings, make_cpu_training());
    EXPECT_TRUE(trainer) << (trainer ? "" : trainer.error().text());
    for (int i = 0; i < steps; ++i) (*trainer)->step();
    return std::move(*trainer);
}
/// Photos of other sizes, one of them through a lens: the kinds of sensors of one rig.
std::shared_ptr<Capture> mixed_capture() {
    auto capture = small_capture();
    for (const auto& [view, width, height] : {std::tuple{2, 31, 23}, {4, 64, 20}}) {
        const auto other = small_capture(width, height);
        capture->views[static_cast<std::size_t>(view)] =
            other->views[static_cast<std::size_t>(view)];
    }
    Camera& bent = capture->views[3].camera;
    bent.model = CameraModel::opencv_fisheye;
    bent.distortion[0] = 0.03;
    return capture;
}

StepPlan plan_of(const Capture& capture, std::size_t view, BatchPart part) {
    StepPlan plan{.part = part, .view_index = view, .view = &capture.views[view]};
    plan.camera = plan.view->camera;
    plan.options.depth = false;
    plan.options.sh_degree = 1;
    plan.rates = learning_rates(TrainingSettings(), 1.0, 0);
    plan.lambda_dssim = 0.2;
    plan.gathers_statistics = true;
    return plan;
}
/// The arrays of `trainer` at its first step, for steps of `batch` views.
RunArrays start_of(const Trainer& trainer, std::uint32_t batch) {
    RunArrays out = trainer.snapshot()->arrays;
    out.adam = initial_adam_state(out.model, batch);
    return out;
}

TEST(TrainerBatch, GradientsAreTheMeanOfTheViews) {
    const auto capture = mixed_capture();
    const auto trainer = train(capture, busy_settings());
    const std::size_t views[] = {1, 2, 3};
    std::vector<double> means(trainer->snapshot()->arrays.adam.moments.size());
    RunArrays together = start_of(*trainer, 3);
    auto backend = make_cpu_training();
    backend->start(capture, std::move(together));
    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(backend->steps(), 0u);
        const StepOutcome outcome = backend->step(plan_of(*capture, views[i], {i, 3}));
        EXPECT_EQ(outcome.step, 1u);
        EXPECT_EQ(outcome.part.index, i);
        auto alone = make_cpu_training();
        alone->start(capture, start_of(*trainer, 1));
        const StepOutcome single = alone->step(plan_of(*capture, views[i], {}));
        EXPECT_EQ(outcome.terms.loss, single.terms.loss);
        // After a first step the first moment is the gradient times what a step adds.
        const RunArrays arrays = alone->arrays();
        for (std::size_t m = 0; m < means.size(); ++m)
            means[m] += static_cast<double>(arrays.adam.moments[m]) / 0.1 / 3;
    }
    EXPECT_EQ(backend->steps(), 1u);
    const RunArrays batch = backend->arrays();
    const double rest = 1 - std::pow(0.9, 3);
    double largest = 0, worst = 0;
    for (std::size_t m = 0; m < means.size(); ++m) {
        if (m / kBlock % 2 != 0) continue;  // second moments
        worst = std::max(worst, std::abs(batch.adam.moments[m] / rest - means[m]));
        largest = std::max(largest, std::abs(means[m]));
    }
    EXPECT_GT(largest, 0);
    EXPECT_LE(worst, 2e-7 * largest);
    double seen = 0;
    for (const float views_seen : batch.statistics.views)
        seen = std::max(seen, static_cast<double>(views_seen));
    EXPECT_EQ(seen, 3);
}

TEST(TrainerBatch, RatesAndMomentsFollow) {
    const LearningRates one = learning_rates(batch_settings(1), 2.0, 5),
                        four = learning_rates(batch_settings(4), 2.0, 5);
    for (std::size_t g = 0; g < one.size(); ++g) EXPECT_DOUBLE_EQ(four[g], 2 * one[g]);
    const auto betas = math::adam_betas(3);
    EXPECT_DOUBLE_EQ(betas.beta1, 0.9 * 0.9 * 0.9);
    EXPECT_DOUBLE_EQ(betas.rest2, 1 - 0.999 * 0.999 * 0.999);
    AdamClock clock{.batch = 4, .highest = one};
    for (auto& table : clock.pending) table = {0.0};
    AdamTables tables;
    tables.begin_step(clock, one, kShRest, kShRest);
    EXPECT_FLOAT_EQ(tables.step().epsilon,
                    0.5e-15f * static_cast<float>(std::sqrt(1 - std::pow(0.999, 4))));
    EXPECT_FLOAT_EQ(AdamTables::decay1(5, 4), static_cast<float>(std::pow(0.9, 20)));
}

TEST(TrainerBatch, ResumesWithTheSameBits) {
    const TempFolder folder;
    const auto capture = mixed_capture();
    TrainingSettings settings = batch_settings(3);
    settings.random_background = true;
    settings.refine_poses = true;
    settings.pose_from = 2;
    settings.appearance = AppearanceMode::exposure;
    const auto straight = train(capture, settings, 24), first = train(capture, settings, 14);
    const fs::path path = folder / "run.gsc";
    ASSERT_TRUE(first->save_checkpoint(path));
    auto second = required(Trainer::resume(path, capture, make_cpu_training()));
    EXPECT_EQ(second->settings().batch, 3);
    const auto snapshot = first->snapshot();
    for (int i = 14; i < 24; ++i) {
        second->step();
        first->step();
    }
    EXPECT_TRUE(same_bits(second->model(), straight->model()));
    EXPECT_TRUE(same_bits(first->model(), straight->model()));
    first->restore(*snapshot);
    for (int i = 14; i < 24; ++i) first->step();
    EXPECT_TRUE(same_bits(first->model(), straight->model()));
    for (std::size_t v = 0; v < capture->views.size(); ++v)
        EXPECT_EQ(second->camera_of(v).translation.x, straight->camera_of(v).translation.x);
    EXPECT_NE(straight->camera_of(1).translation.x, capture->views[1].camera.translation.x);
}

TEST(TrainerBatch, ThreadCountChangesNothing) {
    const auto capture = small_capture();
    std::vector<StepHashes> hashes[2];
    for (const unsigned threads : {1u, 2u}) {
        set_thread_count(threads);
        const auto trainer = train(capture, batch_settings(4));
        trainer->hash_steps(true);
        for (int i = 0; i < 12; ++i) trainer->step();
        hashes[threads - 1] = trainer->take_hashes(false);
    }
    set_thread_count(0);
    ASSERT_EQ(hashes[0].size(), 12u);
    EXPECT_EQ(hashes[0], hashes[1]);
    // Every photo of the step is in what is hashed.
    const auto other = small_capture();
    for (std::uint8_t& byte : other->views[2].photo.bytes) byte ^= 1;
    const auto trainer = train(other, batch_settings(5));
    const auto same = train(capture, batch_settings(5));
    for (Trainer* one : {trainer.get(), same.get()}) {
        one->hash_steps(true);
        one->step();
    }
    const StepHashes a = trainer->take_hashes(false).at(0), b = same->take_hashes(false).at(0);
    EXPECT_EQ(a[HashStage::picture], b[HashStage::picture]);
    EXPECT_NE(a[HashStage::loss], b[HashStage::loss]);
    EXPECT_NE(a[HashStage::gradients], b[HashStage::gradients]);
}

TEST(TrainerBatch, EpochsNeedNotDivide) {
    const auto capture = small_capture();  // five photos to train on
    const auto trainer = train(capture, batch_settings(3));
    std::map<std::size_t, int> shown;
    for (int i = 0; i < 5; ++i) {
        const StepReport report = trainer->step();
        EXPECT_EQ(report.batch, 3u);
        ASSERT_EQ(report.photos.size(), 3u);
        double loss = 0;
        for (const MeasuredPhoto& photo : report.photos) {
            ++shown[photo.view];
            loss += photo.loss / 3;
        }
        EXPECT_NEAR(report.loss, loss, 1e-12);
        EXPECT_EQ(report.measured_view, report.photos.back().view);
    }
    EXPECT_EQ(shown.size(), 5u);
    for (const auto& [view, times] : shown) EXPECT_EQ(times, 3) << view;
}

TEST(TrainerBatch, NeedsAsManyPhotos) {
    const auto capture = small_capture();
    auto trainer = Trainer::create(capture, batch_settings(6), make_cpu_training());
    ASSERT_FALSE(trainer);
    EXPECT_EQ(trainer.error().kind, ErrorKind::usage);
    EXPECT_NE(trainer.error().text().find("6 photos"), std::string::npos);
    EXPECT_NE(trainer.error().text().find("5"), std::string::npos);
    // Before the first step it may be chosen; not after.
    const auto running = train(capture, batch_settings(1));
    EXPECT_FALSE(running->set_settings(batch_settings(6)));
    EXPECT_EQ(running->settings().batch, 1);
    ASSERT_TRUE(running->set_settings(batch_settings(2)));
    EXPECT_EQ(running->step().batch, 2u);
    ASSERT_TRUE(running->set_settings(batch_settings(4)));
    EXPECT_EQ(running->step().batch, 2u);
}

TEST(TrainerBatch, AViewWithoutALossIsLeftOut) {
    const auto capture = small_capture();
    const auto trainer = train(capture, batch_settings(1));
    auto backend = make_cpu_training();
    backend->start(capture, start_of(*trainer, 2));
    StepPlan broken = plan_of(*capture, 2, {1, 2});
    broken.options.background.x = std::nanf("");
    backend->step(plan_of(*capture, 1, {0, 2}));
    EXPECT_FALSE(std::isfinite(backend->step(broken).terms.loss));
    EXPECT_EQ(backend->steps(), 1u);
    const GaussianModel after = backend->model();
    std::size_t moved = 0;
    for (std::size_t i = 0; i < after.count; ++i) {
        moved += after.at(kMeans, i) != trainer->model().at(kMeans, i);
        EXPECT_TRUE(std::isfinite(after.at(kMeans, i)));
    }
    EXPECT_GT(moved, 100u);
}

TEST(TrainerBatch, MetricsNameEveryPhoto) {
    const TempFolder folder;
    StepLog log;
    StepReport report{.step = 1,
                      .view = 7,
                      .batch = 2,
                      .measured_step = 1,
                      .measured_view = 7,
                      .loss = 0.25,
                      .l1 = 0.25,
                      .ssim = 0.5,
                      .psnr = 20,
                      .photos = {{3, 0.125, 0.1, 0.4, 21}, {7, 0.375, 0.4, 0.6, kNotMeasured}}};
    log.add(report);
    const fs::path path = folder / "metrics.csv";
    ASSERT_TRUE(log.write(path));
    const auto text = required(read_text_file(path));
    EXPECT_NE(text.find(",3:0.125:21;7:0.375:,"), std::string::npos) << text;
    StepLog again;
    again.take_earlier(path, 1);
    ASSERT_EQ(again.rows().size(), 1u);
    const StepReport& row = again.rows()[0];
    EXPECT_EQ(row.batch, 2u);
    EXPECT_EQ(row.view, 7u);
    ASSERT_EQ(row.photos.size(), 2u);
    EXPECT_EQ(row.photos[0].view, 3u);
    EXPECT_EQ(row.photos[0].loss, 0.125);
    EXPECT_EQ(row.photos[0].psnr, 21);
    EXPECT_TRUE(std::isnan(row.photos[1].psnr));
    EXPECT_EQ(row.loss, 0.25);
}

}  // namespace
}  // namespace gs::test
