// Runs with a 3D filter on the emulated device: filters and gradients as the CPU's, the same bits
// in any schedule and resumed, rows that come and go, and what is drawn is what is saved.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/comparison.h"
#include "tests/kernels/cuda_training_scene.h"
#include "tests/support/temporary_folder.h"
#include "trainer/density/run_edit.h"

namespace gs {
namespace {

using test::cuda_training;
using test::small_capture;
using test::trainer_on;

TrainingSettings mip_settings() {
    TrainingSettings settings = test::busy_settings();
    settings.filter_3d = true;
    return settings;
}
std::unique_ptr<Trainer> mip_run(bool device, const std::shared_ptr<Capture>& capture, int steps,
                                 const TrainingSettings& settings = mip_settings()) {
    auto trainer = trainer_on(device ? cuda_training() : make_cpu_training(), capture, settings);
    for (int i = 0; i < steps; ++i) trainer->step();
    return trainer;
}
RunArrays arrays_now(const Trainer& trainer) { return trainer.snapshot()->arrays; }

class CudaTrainingFilter : public test::ScheduledTest {};

TEST_F(CudaTrainingFilter, FollowsTheCpu) {
    const auto capture = small_capture(28, 24, 150);
    TrainingSettings settings = mip_settings(), without = test::busy_settings();
    settings.densify_gradient = without.densify_gradient = 1e9;  // rows stay
    without.antialiased = true;
    const auto cpu = mip_run(false, capture, 0, settings),
               device = mip_run(true, capture, 0, settings),
               other = mip_run(false, capture, 0, without);
    const RunArrays a = arrays_now(*cpu), b = arrays_now(*device);
    ASSERT_GT(b.filter.size(), 0u);
    ASSERT_EQ(a.filter.size(), b.filter.size());
    EXPECT_EQ(std::memcmp(a.filter.data(), b.filter.data(), a.filter.size() * sizeof(float)), 0);
    for (int i = 0; i < 10; ++i)
        for (Trainer* trainer : {cpu.get(), device.get(), other.get()}) trainer->step();
    // Filters were sized once more, after step 7.
    const RunArrays c = arrays_now(*cpu), d = arrays_now(*device);
    std::size_t anew = 0;
    for (std::size_t i = 0; i < d.model.count; ++i) {
        EXPECT_NEAR(d.filter[i], c.filter[i], 2e-3f * c.filter[i]);
        anew += d.filter[i] != b.filter[i];
    }
    EXPECT_GT(anew, d.model.count / 2);
    EXPECT_LT(test::worst_difference(c.model, d.model), 0.02);
    EXPECT_GT(test::worst_difference(arrays_now(*other).model, d.model), 0.05)
        << "the filter would not matter here";
}

TEST_F(CudaTrainingFilter, SameBitsInAnySchedule) {
    const auto capture = small_capture(24, 20, 100);
    const auto run = [&](std::uint64_t seed, bool deferred) {
        test::schedule(seed, deferred);
        return arrays_now(*mip_run(true, capture, 9));
    };
    const RunArrays first = run(1, false);
    EXPECT_TRUE(test::same_arrays(first, run(3, true)));
}

TEST_F(CudaTrainingFilter, CheckpointsMoveBetweenBackends) {
    const auto capture = small_capture(24, 20, 100);
    const test::TemporaryFolder folder;
    const fs::path path = folder / "run.gsc";
    for (const bool from_device : {false, true}) {
        const auto straight = mip_run(from_device, capture, 9);
        ASSERT_TRUE(straight->save_checkpoint(path));
        const auto resumed = required(Trainer::resume(path, capture, cuda_training()));
        EXPECT_TRUE(test::same_arrays(arrays_now(*straight), arrays_now(*resumed)));
        for (int i = 9; i < 16; ++i) {  // a round on the way
            straight->step();
            resumed->step();
        }
        const RunArrays a = arrays_now(*straight), b = arrays_now(*resumed);
        if (from_device)
            EXPECT_TRUE(test::same_arrays(a, b));
        else
            EXPECT_LT(test::share_without_twin(a.model, b.model, 0.02), 0.05);
        EXPECT_NE(b.model.count, 100u) << "no round has changed anything";
    }
}

TEST_F(CudaTrainingFilter, RowsThatComeAndGoHaveTheirs) {
    const auto capture = small_capture(24, 20, 100);
    TrainingSettings settings = mip_settings();
    settings.densify_gradient = 0;  // every seen Gaussian grows: more than fit at the start
    const auto trainer = mip_run(true, capture, 15, settings);
    const RunArrays grown = arrays_now(*trainer);
    EXPECT_GT(grown.model.count, 200u);
    for (std::size_t i = 0; i < grown.filter.size(); ++i)
        EXPECT_EQ(grown.filter[i] > 0, i < grown.model.count) << i;

    const std::uint32_t rows[] = {3, 20, 21};
    TakenRows taken;
    trainer->edit([&](RunArrays& arrays) { taken = take_rows(arrays, rows); });
    const RunArrays without = arrays_now(*trainer);
    EXPECT_EQ(without.filter[3], grown.filter[4]);
    EXPECT_EQ(without.filter[19], grown.filter[22]);
    GaussianModel more(1, grown.model.sh_degree);
    trainer->edit([&](RunArrays& arrays) { append_rows(arrays, more); });
    const RunArrays added = arrays_now(*trainer);
    EXPECT_EQ(added.model.count, grown.model.count - 2);
    EXPECT_GT(added.filter[added.model.count - 1], 0);
    trainer->step();
}

/// Bounds hold what the filter has widened, and what is saved draws what training drew.
TEST_F(CudaTrainingFilter, TheModelIsAsItIsDrawn) {
    const auto capture = small_capture(24, 20, 100);
    const auto trainer = mip_run(true, capture, 0);
    trainer->edit([](RunArrays& arrays) {
        for (std::size_t i = 0; i < arrays.model.count; ++i) {
            arrays.filter[i] = i % 4 == 3 ? 0.02f : 0.3f;
            for (int p = kLogScales; p < kQuats; ++p) arrays.model.at(p, i) = -3.5f;
            arrays.model.at(kOpacityLogits, i) = 4;
        }
    });
    trainer->step();  // makes bounds
    const Camera camera = capture->views[0].camera;
    RenderOptions options = trainer->render_options();
    EXPECT_TRUE(options.antialiased);
    RenderResult shown, saved, raw;
    trainer->render(camera, options, shown);
    const auto draw = [&](const GaussianModel& model, RenderResult& out) {
        const auto rasterizer = make_cpu_rasterizer();
        const auto state = rasterizer->make_state();
        ModelSource source(model);
        rasterizer->forward(source, camera, options, *state, out);
    };
    draw(trainer->model(), saved);
    draw(trainer->backend().model(), raw);
    EXPECT_LE(compare({}, shown.color.values, saved.color.values).worst, 1e-4);
    const double apart = compare({}, shown.color.values, raw.color.values).worst;
    EXPECT_TRUE(std::isfinite(apart) && apart > 1e-2);
}

}  // namespace
}  // namespace gs
