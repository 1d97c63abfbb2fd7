// Whole runs on a small synthetic capture: the same bits resumed, on any thread count, and while
// being watched; checkpoints that lie; steps that are poisoned; settings edited while training.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "base/parallel.h"
#include "base/rng.h"
#include "small_run.h"
#include "tests/support/temporary_folder.h"
#include "trainer/checkpoint.h"
#include "trainer/density/init.h"
#include "trainer/step_record.h"
#include "trainer/trainer.h"

namespace gs {
namespace {

using testing::busy_settings;
using testing::kViews;
using testing::same_bits;
using testing::small_capture;

std::unique_ptr<Trainer> make(const std::shared_ptr<Capture>& capture,
                              const TrainingSettings& settings = busy_settings()) {
    auto trainer = Trainer::create(capture, settings, make_cpu_training());
    EXPECT_TRUE(trainer) << (trainer ? "" : trainer.error().text());
    return std::move(*trainer);
}

struct PlainSource : PhotoSource {
    void expect(std::vector<std::size_t>) override {}
    void pass(std::size_t) override {}
    std::uint64_t bytes() const override { return 0; }
};

struct Unreadable : PlainSource {
    std::shared_ptr<const PhotoPixels> read(std::size_t) override {
        if (fails) throw PhotoError("gone");
        return pixels;
    }
    bool fails = true;
    std::shared_ptr<PhotoPixels> pixels = std::make_shared<PhotoPixels>();
};

struct FromAnother : PlainSource {
    std::shared_ptr<const PhotoPixels> read(std::size_t number) override {
        ++reads;
        return std::make_shared<PhotoPixels>(
            PhotoPixels{from->views[number].photo, from->views[number].mask});
    }
    std::shared_ptr<const Capture> from;
    int reads = 0;
};

class TrainerRun : public ::testing::Test {
  protected:
    void TearDown() override { set_thread_count(0); }
    const test::TemporaryFolder folder_;
};

TEST_F(TrainerRun, DensifiesAndLearns) {
    TrainingSettings settings = busy_settings();
    settings.opacity_reset_every = 0;
    const auto trainer = make(small_capture(), settings);
    const std::size_t before = trainer->gaussian_count();
    double first = 0, last = 0;
    bool densified = false;
    for (int i = 0; i < 30; ++i) {
        const StepReport report = trainer->step();
        EXPECT_EQ(report.step, static_cast<std::uint64_t>(i + 1));
        EXPECT_FALSE(trainer->capture().views[report.view].test);
        EXPECT_TRUE(std::isfinite(report.loss));
        (i < 5 ? first : last) += i < 5 || i >= 25 ? report.loss : 0;
        densified |= report.densified;
    }
    EXPECT_TRUE(trainer->finished());
    EXPECT_TRUE(densified);
    EXPECT_NE(trainer->gaussian_count(), before);
    EXPECT_LE(trainer->gaussian_count(), 2000u);
    EXPECT_LT(last, first);
}

TEST_F(TrainerRun, ResumesWithTheSameBits) {
    const auto capture = small_capture();
    // Saved at 14: between a round of density control and an opacity reset, with sleepers.
    for (const int saved_at : {1, 14, 15}) {
        SCOPED_TRACE(saved_at);
        const auto straight = make(capture);
        const auto first = make(capture);
        std::vector<double> losses;
        for (int i = 0; i < 30; ++i) losses.push_back(straight->step().loss);
        for (int i = 0; i < saved_at; ++i) first->step();
        const fs::path path = folder_ / "run.ckpt";
        ASSERT_TRUE(first->save_checkpoint(path));
        auto second = required(Trainer::resume(path, capture, make_cpu_training()));
        EXPECT_EQ(second->steps_done(), static_cast<std::uint64_t>(saved_at));
        EXPECT_EQ(second->settings().densify_every, 5);
        for (int i = saved_at; i < 30; ++i)
            EXPECT_EQ(second->step().loss, losses[static_cast<std::size_t>(i)]) << i;
        EXPECT_TRUE(same_bits(second->model(), straight->model()));
    }
}

// A quarter of their size until step 10, half until 20: resumed or undone across both changes,
// and from photos that are read when they are needed, the run has the same bits.
TEST_F(TrainerRun, PhotosGrowOnTheWay) {
    const auto capture = small_capture(512, 516);
    TrainingSettings settings = busy_settings();
    settings.steps = 60;
    settings.coarse_until = 20;
    const auto straight = make(capture, settings);
    std::vector<double> losses;
    std::vector<std::shared_ptr<const TrainingSnapshot>> snapshots;
    for (int i = 0; i < 24; ++i) {
        snapshots.push_back(straight->snapshot());
        StepRecord record;
        losses.push_back(straight->step(&record).loss);
        const int divisor = i < 10 ? 4 : i < 20 ? 2 : 1;
        EXPECT_EQ(record.plan.camera.width, 512 / divisor) << i;
        EXPECT_EQ(record.plan.view->photo.height, 516 / divisor) << i;
    }
    const GaussianModel model = straight->model();
    for (const std::size_t from : {3u, 9u, 10u, 15u, 21u}) {
        SCOPED_TRACE(from);
        const auto first = make(capture, settings);
        for (std::size_t i = 0; i < from; ++i) first->step();
        const fs::path path = folder_ / "run.ckpt";
        ASSERT_TRUE(first->save_checkpoint(path));
        const auto second = required(Trainer::resume(path, capture, make_cpu_training()));
        for (std::size_t i = from; i < 24; ++i) EXPECT_EQ(second->step().loss, losses[i]) << i;
        EXPECT_TRUE(same_bits(second->model(), model));
        straight->restore(*snapshots[from]);
        for (std::size_t i = from; i < 24; ++i) EXPECT_EQ(straight->step().loss, losses[i]) << i;
        EXPECT_TRUE(same_bits(straight->model(), model));
    }
    const auto read = std::make_shared<Capture>(*capture);
    const auto source = std::make_shared<FromAnother>();
    source->from = capture;
    read->source = source;
    for (std::size_t v = 0; v < read->views.size(); ++v) {
        read->views[v].photo.bytes.clear();
        read->views[v].source = source;
        read->views[v].number = v;
    }
    const auto streamed = make(read, settings);
    for (std::size_t i = 0; i < losses.size(); ++i) {
        EXPECT_EQ(streamed->step().loss, losses[i]) << i;
        if (i == 19) {
            EXPECT_EQ(source->reads, 20) << "each once: one that is held is not read again";
        }
    }
    EXPECT_TRUE(same_bits(streamed->model(), model));
}

TEST_F(TrainerRun, PosesWaitForPhotosOfFullSize) {
    const auto capture = small_capture(256, 258);
    TrainingSettings settings = busy_settings();
    settings.coarse_until = 10;
    settings.refine_poses = true;
    settings.pose_from = 0;
    const auto trainer = make(capture, settings);
    const auto moved = [&] {
        double out = 0;
        for (std::size_t v = 1; v < capture->views.size(); ++v) {
            const Vec3d by = trainer->camera_of(v).position() - capture->views[v].camera.position();
            out += dot(by, by);
        }
        return out;
    };
    for (int i = 0; i < 13; ++i) trainer->step();
    EXPECT_EQ(moved(), 0);
    for (int i = 13; i < 24; ++i) trainer->step();
    EXPECT_GT(moved(), 0);
}

TEST_F(TrainerRun, ThreadCountChangesNothing) {
    const auto capture = small_capture();
    set_thread_count(1);
    const auto one = make(capture);
    for (int i = 0; i < 30; ++i) one->step();
    set_thread_count(2);
    const auto two = make(capture);
    for (int i = 0; i < 30; ++i) two->step();
    EXPECT_TRUE(same_bits(one->model(), two->model()));
}

TEST_F(TrainerRun, WatchingChangesNothing) {
    const auto capture = small_capture();
    const auto alone = make(capture), watched = make(capture);
    RenderResult picture;
    for (int i = 0; i < 30; ++i) {
        alone->step();
        watched->step();
        watched->render(capture->views[1].camera, watched->render_options(), picture);
        if (i % 7 == 0) {
            EXPECT_EQ(watched->evaluate({0, 1}).images.size(), 2u);
        }
        if (i % 9 == 0) {
            ASSERT_TRUE(watched->save_checkpoint(folder_ / "watched.ckpt"));
        }
    }
    EXPECT_TRUE(same_bits(alone->model(), watched->model()));
}

TEST_F(TrainerRun, DrawsTheModelItGives) {
    const auto capture = small_capture();
    const auto trainer = make(capture);
    for (int i = 0; i < 17; ++i) trainer->step();
    const GaussianModel model = trainer->model();
    const auto rasterizer = make_cpu_rasterizer();
    const Evaluation mine = trainer->evaluate({0, 3}),
                     plain = evaluate_model(model, *capture, {0, 3}, *rasterizer,
                                            trainer->render_options(), nullptr);
    ASSERT_EQ(mine.images.size(), plain.images.size());
    for (std::size_t i = 0; i < mine.images.size(); ++i)
        EXPECT_EQ(mine.images[i].psnr, plain.images[i].psnr);
    EXPECT_EQ(mine.images[0].name, "view0.png");
    EXPECT_EQ(evaluate_model(model, *capture, {0, 3}, *rasterizer, trainer->render_options(),
                             nullptr, [](auto, auto, auto) { return false; })
                  .images.size(),
              0u);
}

TEST_F(TrainerRun, DamagedCheckpointsAreRefused) {
    const auto capture = small_capture();
    const auto trainer = make(capture);
    for (int i = 0; i < 7; ++i) trainer->step();
    const fs::path path = folder_ / "run.ckpt";
    ASSERT_TRUE(trainer->save_checkpoint(path));
    std::ifstream file(path, std::ios::binary);
    const std::string good((std::istreambuf_iterator<char>(file)), {});
    const auto resumes = [&](const std::string& bytes) {
        std::ofstream(folder_ / "bad.ckpt", std::ios::binary | std::ios::trunc) << bytes;
        auto r = Trainer::resume(folder_ / "bad.ckpt", capture, make_cpu_training());
        if (!r) {
            EXPECT_FALSE(r.error().message.empty());
        }
        return r.has_value();
    };
    EXPECT_TRUE(resumes(good));
    for (std::size_t cut = 0; cut < good.size(); cut += 1 + good.size() / 97)
        EXPECT_FALSE(resumes(good.substr(0, cut))) << cut;
    EXPECT_FALSE(resumes(good + "x"));
    for (std::uint64_t i = 0; i < 150; ++i) {
        std::string bad = good;
        // The small sections at the front carry the numbers that matter: hit them as often as the
        // arrays.
        const std::size_t range = i % 2 == 0 ? std::min<std::size_t>(bad.size(), 1500) : bad.size();
        const std::size_t at = static_cast<std::size_t>(random_bits(8, 0, i) % range);
        bad[at] = static_cast<char>(bad[at] ^ static_cast<char>(1 + random_bits(8, 1, i) % 255));
        EXPECT_FALSE(resumes(bad)) << "byte " << at;
    }
    EXPECT_FALSE(Trainer::resume(folder_ / "none.ckpt", capture, make_cpu_training()));
    EXPECT_FALSE(Trainer::resume(folder_, capture, make_cpu_training()));
}

TEST_F(TrainerRun, AnotherCaptureIsRefused) {
    const auto capture = small_capture();
    const auto trainer = make(capture);
    trainer->step();
    const fs::path path = folder_ / "run.ckpt";
    ASSERT_TRUE(trainer->save_checkpoint(path));
    EXPECT_FALSE(Trainer::resume(path, small_capture(24, 20), make_cpu_training()));
    auto renamed = small_capture();
    renamed->views[2].name = "other.png";
    EXPECT_FALSE(Trainer::resume(path, renamed, make_cpu_training()));
}

TEST_F(TrainerRun, SplatsOfACheckpointNeedNoCapture) {
    const auto trainer = make(small_capture());
    const fs::path path = folder_ / "run.ckpt";
    for (int i = 0; i < 12; ++i)
        trainer->step();  // not a multiple of anything: there are steps pending
    ASSERT_TRUE(trainer->save_checkpoint(path));
    const auto read = required(read_checkpoint_model(path));
    const GaussianModel model = trainer->model();
    EXPECT_EQ(read.steps, 12u);
    EXPECT_EQ(read.sh_degree, trainer->render_options().sh_degree);
    ASSERT_EQ(read.model.count, model.count);
    for (int p = 0; p < model.planes(); ++p)
        for (std::size_t i = 0; i < model.count; ++i)
            ASSERT_EQ(read.model.at(p, i), model.at(p, i)) << "plane " << p << " row " << i;
    std::ofstream(path, std::ios::binary | std::ios::in) << "GSCKPT99";
    EXPECT_FALSE(read_checkpoint_model(path));
    EXPECT_FALSE(read_checkpoint_model(folder_ / "none.ckpt"));
}

TEST_F(TrainerRun, UnwritableCheckpointIsAnError) {
    const auto trainer = make(small_capture());
    EXPECT_FALSE(trainer->save_checkpoint(folder_ / "no" / "such" / "folder" / "run.ckpt"));
    trainer->step();
}

TEST_F(TrainerRun, NothingToTrainOnIsAnError) {
    auto no_photos = small_capture();
    for (View& v : no_photos->views) v.photo = {};
    EXPECT_FALSE(Trainer::create(no_photos, busy_settings(), make_cpu_training()));
    auto no_points = small_capture();
    no_points->points.clear();
    EXPECT_FALSE(Trainer::create(no_points, busy_settings(), make_cpu_training()));
    auto poisoned = small_capture();
    for (SparsePoint& p : poisoned->points) p.position.x = std::nanf("");
    EXPECT_FALSE(Trainer::create(poisoned, busy_settings(), make_cpu_training()));
}

/// Splats are trained further: they are the first Gaussians, as good as they were, and get better.
TEST_F(TrainerRun, ContinuesFromAModel) {
    const auto before = make(small_capture());
    for (int i = 0; i < 20; ++i) before->step();
    auto model = std::make_shared<GaussianModel>(before->model().resized(0, 1));
    const std::vector<std::size_t> all = before->capture().view_indices(false);
    model->at(kMeans, 0) = std::nanf("");
    model->at(kOpacityLogits, 1) = std::numeric_limits<float>::infinity();  // of an opacity of 1
    auto capture = small_capture();
    capture->points.clear();  // nobody needs them
    const NamedValues given{{"steps", 100}, {"lr_sh0", 0.001}};
    auto settings = make_settings(given);
    ASSERT_TRUE(settings);
    EXPECT_EQ(changed_settings(*settings), (NamedValues{{"lr_sh0", 0.001}}));
    settings = settings_to_continue(*settings, given, *model);
    EXPECT_EQ(settings->opacity_reset_every, 0);
    EXPECT_EQ(settings->sh_interval, 1);
    EXPECT_EQ(settings->densify_until, 0);
    EXPECT_EQ(settings->sh_degree, 3) << "more than the model has";
    EXPECT_FLOAT_EQ(static_cast<float>(settings->lr_means),
                    static_cast<float>(10 * settings->lr_means_final));
    TrainingSettings kept;
    kept.sh_interval = 7;
    EXPECT_EQ(settings_to_continue(kept, changed_settings(kept), *model).sh_interval, 7);
    auto after = std::move(*Trainer::create(capture, *settings, make_cpu_training(), model));
    const GaussianModel begun = after->model();
    ASSERT_EQ(begun.count, model->count - 1) << "the one without a position is left out";
    EXPECT_EQ(begun.sh_degree, 3);
    for (int p = 0; p < begun.planes(); ++p)
        for (std::size_t i = 0; i < begun.count; ++i)
            ASSERT_EQ(begun.at(p, i), p == kOpacityLogits && i == 0 ? 6
                                      : p < model->planes()         ? model->at(p, i + 1)
                                                                    : 0)
                << p << " " << i;
    const double psnr = after->evaluate(all).psnr;
    for (int i = 0; i < 20; ++i) after->step();
    EXPECT_GT(after->evaluate(all).psnr, psnr);
    // A setting that is fixed during a run starts it again, from the same Gaussians.
    after = std::move(*Trainer::create(capture, *settings, make_cpu_training(), model));
    settings->init_opacity = 0.3;
    ASSERT_TRUE(after->set_settings(*settings).value());
    EXPECT_EQ(after->gaussian_count(), begun.count);
    EXPECT_EQ(model.use_count(), 2);
    after->step();
    EXPECT_EQ(model.use_count(), 1) << "training needs no second copy";
    GaussianModel none(2, 0);
    none.at(kMeans, 0) = none.at(kLogScales, 1) = std::nanf("");
    EXPECT_FALSE(gaussians_from_model(none, *capture, 0));
}

TEST_F(TrainerRun, AFirstStepThatFailsIsNone) {
    auto capture = small_capture();
    const auto before = make(capture);
    for (int i = 0; i < 20; ++i) before->step();
    const auto model = std::make_shared<const GaussianModel>(before->model());
    ASSERT_NE(model->at(kSh0 + 3, 0), 0);
    const auto unreadable = std::make_shared<Unreadable>();
    unreadable->pixels->photo = capture->views[1].photo;
    for (View& view : capture->views) view.source = unreadable;
    TrainingSettings settings = busy_settings();
    settings.sh_degree = 0;
    const auto after = std::move(*Trainer::create(capture, settings, make_cpu_training(), model));
    EXPECT_THROW(after->step(), PhotoError);
    settings.sh_degree = 1;
    ASSERT_TRUE(after->set_settings(settings).value());
    for (std::size_t i = 0; i < model->count; ++i)
        ASSERT_EQ(after->model().at(kSh0 + 3, i), model->at(kSh0 + 3, i)) << "not from the points";
    unreadable->fails = false;
    after->step();
    EXPECT_EQ(model.use_count(), 1);
}

TEST_F(TrainerRun, OnePointOneCameraTrains) {
    auto capture = small_capture();
    capture->points.resize(1);
    capture->views.resize(2);
    const auto trainer = make(capture);
    for (int i = 0; i < 12; ++i) EXPECT_TRUE(std::isfinite(trainer->step().loss));
}

TEST_F(TrainerRun, SettingsEditedWhileTraining) {
    const auto trainer = make(small_capture());
    for (int i = 0; i < 6; ++i) trainer->step();
    TrainingSettings s = trainer->settings();
    s.lr_means *= 100;
    s.sh_interval = 1000;  // degrees already reached stay as they are, untrained
    s.sh_degree = 0;       // may not change while training
    s.max_gaussians = 1;   // no growth, and nobody is thrown out for it
    const std::size_t before = trainer->gaussian_count();
    trainer->set_settings(s);
    EXPECT_EQ(trainer->settings().sh_degree, 3);
    for (int i = 6; i < 30; ++i) EXPECT_TRUE(std::isfinite(trainer->step().loss));
    EXPECT_LE(trainer->gaussian_count(), before);
    EXPECT_GT(trainer->gaussian_count(), 0u);
}

TEST_F(TrainerRun, EverythingMaskedOrRandomBackground) {
    auto capture = small_capture();
    for (View& v : capture->views)
        v.mask = Image8{v.photo.width, v.photo.height, 1,
                        std::vector<std::uint8_t>(v.photo.pixels(), 0)};
    const auto masked = make(capture);
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(std::isfinite(masked->step().loss));
    TrainingSettings s = busy_settings();
    s.random_background = true;
    const auto trainer = make(small_capture(), s);
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(std::isfinite(trainer->step().loss));
}

TEST_F(TrainerRun, AStepTellsTheRateItHad) {
    TrainingSettings s = busy_settings();
    const auto trainer = make(small_capture(), s);
    EXPECT_DOUBLE_EQ(trainer->step().lr_means, s.lr_means);
    for (int i = 1; i < 29; ++i) trainer->step();
    EXPECT_NEAR(trainer->step().lr_means, s.lr_means_final, 0.2 * s.lr_means_final);
    s.lr_means = 0;  // stands still, and is no NaN
    EXPECT_EQ(make(small_capture(), s)->step().lr_means, 0);
}

TEST_F(TrainerRun, WhatIsMaskedEntirelyIsNotMeasured) {
    auto capture = small_capture();
    const auto mask_out = [](View& v) {
        v.mask = Image8{v.photo.width, v.photo.height, 1,
                        std::vector<std::uint8_t>(v.photo.pixels(), 0)};
    };
    mask_out(capture->views[3]);
    const auto trainer = make(capture);
    const Evaluation all = trainer->evaluate({0, 3, 4}), others = trainer->evaluate({0, 4}),
                     none = trainer->evaluate({3});
    ASSERT_EQ(all.images.size(), 3u);
    EXPECT_TRUE(std::isnan(all.images[1].psnr) && std::isnan(all.images[1].ssim));
    EXPECT_EQ(all.psnr, others.psnr);
    EXPECT_EQ(all.ssim, others.ssim);
    EXPECT_TRUE(std::isnan(none.psnr));
    for (View& v : capture->views) mask_out(v);
    EXPECT_TRUE(std::isnan(make(capture)->step().psnr));
}

TEST_F(TrainerRun, MemoryIsAccountedFor) {
    const auto trainer = make(small_capture());
    for (int i = 0; i < 3; ++i) trainer->step();
    std::uint64_t parameters = 0, photos = 0;
    for (const MemoryUse& use : trainer->memory()) {
        parameters += use.category == "parameters" ? use.bytes : 0;
        photos += use.category == "photos" ? use.bytes : 0;
    }
    EXPECT_GE(parameters, trainer->gaussian_count() * 59 * 4);
    EXPECT_GE(photos, 48u * 40u * 3u * kViews);
}

}  // namespace
}  // namespace gs
