// The 3D filter: its sizes by their definition, pictures and gradients by their formulas, and runs
// with it: the same bits when resumed, reverted and on any number of threads, rows that come and
// go, a captured step that runs again, a model saved as it was drawn.
#include <cmath>
#include <cstring>

#include "base/comparison.h"
#include "base/parallel.h"
#include "renderer/scene/camera_lens.h"
#include "small_run.h"
#include "tests/support/numbered_rows.h"
#include "tests/unit/io_files.h"
#include "trainer/adam/mip_filter.h"
#include "trainer/checkpoint.h"
#include "trainer/density/run_edit.h"
#include "trainer/replay/step_capture.h"
#include "trainer/run/step_file.h"
#include "trainer/trainer.h"
#include "trainer/training_backend.h"

namespace gs::test {
namespace {

using gs::testing::busy_settings;
using gs::testing::small_capture;

TrainingSettings filter_settings() {
    TrainingSettings settings = busy_settings();
    settings.filter_3d = true;
    return settings;
}
std::unique_ptr<Trainer> train_filtered(const std::shared_ptr<Capture>& capture, int steps,
                                        const TrainingSettings& settings = filter_settings()) {
    auto trainer = Trainer::create(capture, settings, make_cpu_training());
    EXPECT_TRUE(trainer) << (trainer ? "" : trainer.error().text());
    for (int i = 0; i < steps; ++i) (*trainer)->step();
    return std::move(*trainer);
}
bool same_runs(const Trainer& a, const Trainer& b) {
    return same_arrays(a.snapshot()->arrays, b.snapshot()->arrays);
}

Camera straight_camera(double z, double focal) {
    Camera camera = look_at({0, 0, -z}, {0, 0, 0}, {0, -1, 0}, 100, 80, 1.0);
    camera.fx = camera.fy = focal;
    return camera;
}

TEST(MipFilter, SizeIsAPixelOfTheNearestCameraThatSees) {
    const Camera cameras[] = {straight_camera(4, 100), straight_camera(2, 40),
                              straight_camera(9, 300)};
    // In the middle; 60 px beside it, which is within 15 % of the first picture alone; nowhere.
    const Vec3f places[] = {{0, 0, 0}, {2.4f, 0, 0}, {0, 0, -50}};
    std::vector<float> means(3 * kBlock, 0.0f);
    for (std::size_t i = 0; i < 3; ++i) {
        means[i] = places[i].x;
        means[kBlock + i] = places[i].y;
        means[2 * kBlock + i] = places[i].z;
    }
    Buffer<float> filter;
    size_filter(means, 3, cameras, 0.01f, FilterRows::all, filter);
    ASSERT_EQ(filter.size(), kBlock);
    const float root = std::sqrt(0.2f);
    EXPECT_FLOAT_EQ(filter[0], root * 9 / 300);
    EXPECT_FLOAT_EQ(filter[1], root * 4 / 100);
    EXPECT_FLOAT_EQ(filter[2], filter[1]) << "what nobody sees has the largest";
    EXPECT_EQ(filter[3], 0);
    // Rows that have theirs keep it.
    filter[0] = 7;
    filter[1] = 0;
    size_filter(means, 3, cameras, 0.01f, FilterRows::fresh, filter);
    EXPECT_EQ(filter[0], 7);
    EXPECT_FLOAT_EQ(filter[1], root * 4 / 100);
}

TEST(MipFilter, ThroughALensAPixelIsWhatItCovers) {
    Camera camera = straight_camera(4, 100);
    camera.model = CameraModel::opencv_fisheye;
    std::vector<float> means(3 * kBlock, 0.0f);
    means[1] = 1;  // atan(1 / 4) off the axis
    Buffer<float> filter;
    size_filter(means, 2, {&camera, 1}, 0.01f, FilterRows::all, filter);
    EXPECT_NEAR(filter[0], std::sqrt(0.2) * 4 / 100, 1e-6);
    // Equidistant: along the radius a pixel is d / f, across it d sin(t) / (f t).
    const double t = std::atan2(1.0, 4.0), d = std::sqrt(17.0);
    EXPECT_NEAR(filter[1], std::sqrt(0.2 * std::sin(t) / t) * d / 100, 1e-6);
}

struct Drawn {
    double scale[3], logit;
};
Drawn drawn_of(const double (&log_scale)[3], double logit, double f) {
    Drawn out{};
    double kept = 1;
    for (int i = 0; i < 3; ++i) {
        const double s = std::exp(log_scale[i]), wide = std::sqrt(s * s + f * f);
        kept *= s / wide;
        out.scale[i] = std::log(wide);
    }
    const double o = kept / (1 + std::exp(-logit));
    out.logit = std::log(o / (1 - o));
    return out;
}

TEST(MipFilter, WhatIsDrawnAndItsGradientsAreTheFormulas) {
    alignas(64) float planes[kGeometryPlanes * kBlock] = {}, stored[kGeometryPlanes * kBlock],
                                               filter[kBlock];
    const auto at = [](float* p, int plane, std::size_t lane) -> float& {
        return p[static_cast<std::size_t>(plane) * kBlock + lane];
    };
    for (std::size_t lane = 0; lane < kBlock; ++lane) {
        for (int i = 0; i < 3; ++i)
            at(planes, kLogScales + i, lane) =
                -5 + 3 * random_uniform(4, static_cast<std::uint64_t>(i), lane);
        at(planes, kOpacityLogits, lane) = -4 + 8 * random_uniform(4, 5, lane);
        filter[lane] = lane == 3 ? 0 : 0.05f * random_uniform(4, 6, lane);
    }
    std::copy_n(planes, std::size(planes), stored);
    filter_block(planes, filter);
    BlockGradients g{};
    g.mask = 0xffffu & ~2u;
    const double weight[4] = {0.7, -1.3, 0.4, 2.1};
    for (std::size_t lane = 0; lane < kBlock; ++lane) {
        for (int i = 0; i < 3; ++i) g.planes[kLogScales + i][lane] = static_cast<float>(weight[i]);
        g.planes[kOpacityLogits][lane] = static_cast<float>(weight[3]);
    }
    filter_block_vjp(stored, filter, g);
    for (std::size_t lane = 0; lane < kBlock; ++lane) {
        double x[4];
        for (int i = 0; i < 3; ++i) x[i] = at(stored, kLogScales + i, lane);
        x[3] = at(stored, kOpacityLogits, lane);
        const auto value = [&](double* moved) {
            const double scales[3] = {moved[0], moved[1], moved[2]};
            const Drawn d = drawn_of(scales, moved[3], filter[lane]);
            return weight[0] * d.scale[0] + weight[1] * d.scale[1] + weight[2] * d.scale[2] +
                   weight[3] * d.logit;
        };
        const double scales[3] = {x[0], x[1], x[2]};
        const Drawn d = drawn_of(scales, x[3], filter[lane]);
        for (int i = 0; i < 3; ++i) EXPECT_NEAR(at(planes, kLogScales + i, lane), d.scale[i], 2e-6);
        EXPECT_NEAR(at(planes, kOpacityLogits, lane), d.logit, 5e-6);
        for (int i = 0; i < 4; ++i) {
            double up[4], down[4];
            std::copy_n(x, 4, up);
            std::copy_n(x, 4, down);
            up[i] += 1e-5;
            down[i] -= 1e-5;
            const double slope = (value(up) - value(down)) / 2e-5;
            const double got =
                i < 3 ? g.planes[kLogScales + i][lane] : g.planes[kOpacityLogits][lane];
            EXPECT_NEAR(got, lane == 1 ? weight[i] : slope, 1e-5) << lane << ' ' << i;
        }
    }
}

TEST(MipFilter, NothingIsInfinite) {
    alignas(64) float planes[kGeometryPlanes * kBlock] = {}, filter[kBlock];
    for (std::size_t lane = 0; lane < kBlock; ++lane) {
        for (int i = 0; i < 3; ++i) planes[(3 + static_cast<std::size_t>(i)) * kBlock + lane] = -80;
        planes[10 * kBlock + lane] = static_cast<float>(lane) * 8 - 60;
        filter[lane] = 0.1f;
    }
    filter_block(planes, filter);
    for (std::size_t lane = 0; lane < kBlock; ++lane) {
        EXPECT_NEAR(planes[3 * kBlock + lane], std::log(0.1f), 1e-6);
        EXPECT_LT(planes[10 * kBlock + lane], -40);
        EXPECT_TRUE(std::isfinite(planes[10 * kBlock + lane])) << lane;
    }
}

/// A step of the filtered run has the gradients of a step of the drawn model, through the filter.
TEST(TrainerFilter, GradientsAreThoseOfTheDrawnModelTakenBack) {
    const auto capture = small_capture();
    const auto trainer = train_filtered(capture, 0);
    RunArrays filtered = trainer->snapshot()->arrays;
    for (std::size_t i = 0; i < filtered.model.count; ++i) filtered.filter[i] *= 2;
    RunArrays drawn = filtered;
    filter_model(drawn.model, drawn.filter.span());
    drawn.filter = {};
    StepPlan plan{.view_index = 1, .view = &capture->views[1]};
    plan.camera = plan.view->camera;
    plan.options = trainer->render_options();
    plan.options.depth = false;
    plan.rates.fill(1e-3);
    plan.lambda_dssim = 0.2;
    const RunArrays start = filtered;
    double loss[2];
    RunArrays after[2];
    for (const int i : {0, 1}) {
        auto backend = make_cpu_training();
        backend->start(capture, i == 0 ? std::move(filtered) : std::move(drawn));
        loss[i] = backend->step(plan).terms.loss;
        after[i] = backend->arrays();
    }
    EXPECT_EQ(loss[0], loss[1]);
    double moved = 0;
    const std::size_t per_block = static_cast<std::size_t>(start.model.planes()) * 2 * kBlock;
    for (std::size_t block = 0; block < start.model.blocks(); ++block) {
        alignas(64) float planes[kGeometryPlanes * kBlock];
        BlockGradients g{};
        g.block = block;
        g.mask = 0xffffu;
        for (int p = 0; p < kGeometryPlanes; ++p) {
            std::copy_n(start.model.plane(p) + block * kBlock, kBlock,
                        planes + static_cast<std::size_t>(p) * kBlock);
            std::copy_n(after[1].adam.moments.data() + block * per_block +
                            static_cast<std::size_t>(p) * 2 * kBlock,
                        kBlock, g.planes[p]);
        }
        const BlockGradients untouched = g;
        filter_block_vjp(planes, start.filter.data() + block * kBlock, g);
        for (int p = 0; p < kGeometryPlanes; ++p)
            for (std::size_t lane = 0; lane < kBlock; ++lane) {
                const float got =
                    after[0].adam.moments[block * per_block +
                                          static_cast<std::size_t>(p) * 2 * kBlock + lane];
                EXPECT_NEAR(got, g.planes[p][lane], 1e-5f * std::abs(g.planes[p][lane]) + 1e-12f);
                moved = std::max(moved, std::abs(static_cast<double>(g.planes[p][lane]) -
                                                 untouched.planes[p][lane]));
            }
    }
    EXPECT_GT(moved, 1e-6) << "the filter would not matter here";
}

TEST(TrainerFilter, ResumesAndComesBackWithTheSameBits) {
    const TempFolder folder;
    const auto capture = small_capture();
    TrainingSettings settings = filter_settings();
    settings.refine_poses = true;
    settings.pose_from = 2;
    const auto straight = train_filtered(capture, 24, settings),
               first = train_filtered(capture, 13, settings);
    const fs::path path = folder / "run.gsc";
    ASSERT_TRUE(first->save_checkpoint(path));
    auto second = required(Trainer::resume(path, capture, make_cpu_training()));
    const auto saved = required(read_checkpoint_model(path));
    EXPECT_TRUE(saved.model.antialiased);
    const GaussianModel drawn = first->model();
    for (std::size_t i = 0; i < drawn.count; ++i)
        EXPECT_EQ(saved.model.at(kLogScales, i), drawn.at(kLogScales, i));
    const auto snapshot = first->snapshot();
    for (int i = 13; i < 24; ++i) {
        second->step();
        first->step();
    }
    EXPECT_TRUE(same_runs(*second, *straight));
    EXPECT_TRUE(same_runs(*first, *straight));
    first->restore(*snapshot);
    for (int i = 13; i < 24; ++i) first->step();
    EXPECT_TRUE(same_runs(*first, *straight));
    EXPECT_GT(straight->gaussian_count(), 300u) << "no round has grown anything";
}

TEST(TrainerFilter, ThreadCountChangesNothing) {
    const auto capture = small_capture();
    std::unique_ptr<Trainer> runs[2];
    for (const unsigned threads : {1u, 2u}) {
        set_thread_count(threads);
        runs[threads - 1] = train_filtered(capture, 16);
    }
    set_thread_count(0);
    EXPECT_TRUE(same_runs(*runs[0], *runs[1]));
}

TEST(TrainerFilter, IsSizedWhileGaussiansComeAndGoAndThenFrozen) {
    const auto capture = small_capture();
    TrainingSettings settings = filter_settings();
    settings.densify_until = 12;
    settings.opacity_reset_every = 0;
    const auto trainer = train_filtered(capture, 12, settings);
    const auto at = [&] { return trainer->snapshot()->arrays.filter; };
    const Buffer<float> frozen = at();
    ASSERT_GT(frozen.size(), 0u);
    for (int i = 12; i < 30; ++i) trainer->step();
    const Buffer<float> later = at();
    ASSERT_EQ(later.size(), frozen.size());
    EXPECT_EQ(std::memcmp(later.data(), frozen.data(), later.size() * sizeof(float)), 0);
    for (std::size_t i = 0; i < trainer->gaussian_count(); ++i) EXPECT_GT(frozen[i], 0);
}

/// What is saved draws what training drew.
TEST(TrainerFilter, TheModelIsAsItIsDrawn) {
    const auto capture = small_capture();
    const auto trainer = train_filtered(capture, 12);
    RenderOptions options = trainer->render_options();
    EXPECT_TRUE(options.antialiased);
    RenderResult shown, saved, raw;
    trainer->render(capture->views[1].camera, options, shown);
    const auto draw = [&](const GaussianModel& model, RenderResult& out) {
        const auto rasterizer = make_cpu_rasterizer();
        const auto state = rasterizer->make_state();
        ModelSource source(model);
        options.gradients = false;
        rasterizer->forward(source, capture->views[1].camera, options, *state, out);
    };
    draw(trainer->model(), saved);
    draw(trainer->backend().model(), raw);
    EXPECT_LE(compare({}, shown.color.values, saved.color.values).worst, 1e-5);
    const double apart = compare({}, shown.color.values, raw.color.values).worst;
    EXPECT_TRUE(std::isfinite(apart) && apart > 1e-2);
}

/// Bounds hold what the filter has widened: nothing is culled that draws.
TEST(TrainerFilter, BoundsHoldWhatIsDrawn) {
    const auto capture = small_capture();
    const auto trainer = train_filtered(capture, 0);
    RunArrays arrays = trainer->snapshot()->arrays;
    for (std::size_t i = 0; i < arrays.model.count; ++i) {
        arrays.filter[i] = 0.4f;
        arrays.model.at(kOpacityLogits, i) = 3;
        for (int p = kLogScales; p < kQuats; ++p) arrays.model.at(p, i) = -1.5f;
    }
    GaussianModel drawn = arrays.model;
    filter_model(drawn, arrays.filter.span());
    arrays.adam = initial_adam_state(arrays.model);
    LazyAdam adam(arrays.model, arrays.adam);
    adam.set_filter(arrays.filter.span());
    adam.begin_step(arrays.model, {}, kShRest);
    const auto spheres = adam.bounds();
    ASSERT_EQ(spheres.size(), drawn.blocks());
    for (std::size_t i = 0; i < drawn.count; ++i) {
        const BlockBounds& b = spheres[i / kBlock];
        const Vec3f m = drawn.mean(i);
        const float off = std::sqrt((m.x - b.x) * (m.x - b.x) + (m.y - b.y) * (m.y - b.y) +
                                    (m.z - b.z) * (m.z - b.z));
        EXPECT_LE(off + 3.4f * std::exp(drawn.at(kLogScales, i)), b.radius);
    }
}

TEST(TrainerFilter, EditsKeepWhatTheyDoNotTouch) {
    const auto trainer = train_filtered(small_capture(), 12);
    const auto before = trainer->snapshot();
    const std::uint32_t rows[] = {3, 20, 21};
    TakenRows taken;
    trainer->edit([&](RunArrays& arrays) { taken = take_rows(arrays, rows); });
    trainer->edit([&](RunArrays& arrays) { put_back(arrays, taken); });
    const auto back = trainer->snapshot();
    EXPECT_EQ(std::memcmp(back->arrays.filter.data(), before->arrays.filter.data(),
                          before->arrays.model.count * sizeof(float)),
              0);
    GaussianModel more(1, before->arrays.model.sh_degree);
    trainer->edit([&](RunArrays& arrays) { append_rows(arrays, more); });
    const auto grown = trainer->snapshot();
    EXPECT_GT(grown->arrays.filter[grown->arrays.model.count - 1], 0);
    trainer->step();
}

TEST(TrainerFilter, ACapturedStepIsMadeAgain) {
    const TempFolder folder;
    const auto trainer = train_filtered(small_capture(), 12);
    StepRecord record;
    trainer->step(&record);
    const auto rasterizer = make_cpu_rasterizer();
    const auto captured = required(capture_of(record, "small", *rasterizer));
    EXPECT_TRUE(captured.origin.same_bits) << captured.origin.agreement;
    EXPECT_FALSE(captured.inputs.filter.empty());
    const fs::path path = folder / "step.gsstep";
    ASSERT_TRUE(write_step(captured, path));
    const auto read = required(read_step(path));
    for (const ComparisonRow& stage :
         compare_steps(read.inputs, read.outputs, run_step(read.inputs, *rasterizer)))
        EXPECT_EQ(stage.differ, 0u) << stage.first;
}

TEST(TrainerFilter, OffIsNothing) {
    const auto trainer = train_filtered(small_capture(), 6, busy_settings());
    EXPECT_TRUE(trainer->snapshot()->arrays.filter.empty());
    EXPECT_FALSE(trainer->render_options().antialiased);
}

}  // namespace
}  // namespace gs::test
