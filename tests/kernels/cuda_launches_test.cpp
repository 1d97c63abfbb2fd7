// The performance model's launches are those that the backend enqueues: every kernel belongs to a
// stage, and stages add up to the model's table (profiler/predict/demand.h).
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "profiler/predict/world_demands.h"
#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "tests/kernels/cuda_training_scene.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/random_scene.h"
#include "tests/unit/wall_drive.h"

namespace gs::test {
namespace {

namespace emu = emulator;

/// Kernels of ours, by the names they are launched with.
const std::map<std::string, Stage> kStageOfKernel = {{"step_intake", Stage::project},
                                                     {"project", Stage::project},
                                                     {"compact", Stage::sort},
                                                     {"sort by depth", Stage::sort},
                                                     {"sort by tile", Stage::sort},
                                                     {"count", Stage::emit},
                                                     {"emit", Stage::emit},
                                                     {"ranges", Stage::ranges},
                                                     {"items", Stage::ranges},
                                                     {"slots", Stage::ranges},
                                                     {"blend", Stage::blend},
                                                     {"composite", Stage::blend},
                                                     {"photo_loss", Stage::loss},
                                                     {"finish_loss", Stage::loss},
                                                     {"blend backward", Stage::blend_backward},
                                                     {"adam_step", Stage::project_backward},
                                                     {"add_view", Stage::project_backward},
                                                     {"step_batch", Stage::project_backward},
                                                     {"refresh_bounds", Stage::project_backward},
                                                     {"pack", Stage::pack}};

void expect_enqueued(emu::Calls calls, std::span<const StageLaunches> table, int tiles) {
    std::map<Stage, std::uint64_t> kernels;
    for (const auto& [name, count] : calls) {
        constexpr std::string_view kLaunch = "launch:";
        if (!name.starts_with(kLaunch) || count == 0) continue;
        const std::string kernel = name.substr(kLaunch.size());
        const auto stage = kStageOfKernel.find(kernel);
        ASSERT_NE(stage, kStageOfKernel.end()) << "kernel " << kernel << " is of no stage";
        kernels[stage->second] += count;
    }
    std::uint64_t all = 0;
    for (const StageLaunches& one : table) {
        const auto of_stage = static_cast<std::uint64_t>(
            one.launches + (one.stage == Stage::sort ? tile_passes(tiles) : 0));
        EXPECT_LE(kernels[one.stage], of_stage) << name_of(one.stage);
        kernels.erase(one.stage);
        all += of_stage;
    }
    EXPECT_TRUE(kernels.empty()) << name_of(kernels.begin()->first) << " is not in the table";
    EXPECT_EQ(calls["launch"] + calls["cudaMemsetAsync"] + calls["cudaMemcpyAsync"], all);
}

TEST(CudaLaunches, OfAFrameAreTheModels) {
    const GaussianModel model = random_model({});
    const auto rasterizer = std::move(*make_cuda_rasterizer(0));
    const auto source = rasterizer->source_of(model);
    const auto state = rasterizer->make_state();
    const RenderOptions options{.depth = false, .gradients = false};
    RenderResult result;
    emu::Calls before;
    for (int i = 0; i < 3; ++i) {
        before = emu::calls();
        (void)rasterizer->forward_for_display(*source, random_camera(8, 0, 40, 30), options, *state,
                                              result);
    }
    expect_enqueued(emu::difference(before, emu::calls()), stage_launches(false), 3 * 2);
}

TEST(CudaLaunches, OfAStepAreTheModels) {
    TrainingSettings settings = busy_settings();
    settings.densify_from = settings.steps;
    settings.opacity_reset_every = 0;
    const auto trainer = trainer_on(cuda_training(), small_capture(24, 20, 60), settings);
    emu::Calls before;
    for (int n = 0; n < 7; ++n) {
        before = emu::calls();
        trainer->step();
    }
    expect_enqueued(emu::difference(before, emu::calls()), stage_launches(true), 2 * 2);
}

/// Everything enqueued by the second step, kernels, fills and copies; CUB's calls are one each. The
/// first may be carried out twice, later ones may be recorded.
std::uint64_t enqueued_by_a_step(TrainingSettings settings,
                                 const std::shared_ptr<Capture>& capture) {
    settings.densify_from = settings.steps;
    settings.opacity_reset_every = 0;
    const auto trainer = trainer_on(cuda_training(), capture, settings);
    emu::Calls before;
    for (int n = 0; n < 2; ++n) {
        before = emu::calls();
        trainer->step();
    }
    emu::Calls calls = emu::difference(before, emu::calls());
    return calls["launch"] + calls["cudaMemsetAsync"] + calls["cudaMemcpyAsync"];
}

// A photo of a batch is drawn for itself, but bounds and Adam come once, after the last.
TEST(CudaLaunches, OfABatchAreTheModels) {
    const auto enqueued = [capture = small_capture(24, 20, 60)](double batch) {
        TrainingSettings settings = busy_settings();
        settings.batch = batch;
        return enqueued_by_a_step(settings, capture);
    };
    const std::uint64_t one = enqueued(1);
    for (const std::uint64_t batch : {2u, 4u})
        EXPECT_EQ(enqueued(static_cast<double>(batch)), batch * one + 2 - batch);
}

TEST(CudaLaunches, OfSkyAndBeamsAreTheModels) {
    const WallDrive drive;
    const auto capture = drive.capture(0.3f);
    TrainingSettings settings = wall_settings();
    settings.lidar_beams = 200;
    const std::uint64_t beams = enqueued_by_a_step(settings, capture);
    settings.lidar_weight = 0;
    const std::uint64_t neither = enqueued_by_a_step(settings, capture);
    EXPECT_EQ(beams - neither, kBeamLaunches + 2u + 1u) << "with CUB's two, and Adam by itself";
    settings.sky = SkyKind::sh1;
    PredictedWork work;
    work.frame.gaussians = work.frame.pixels = work.frame.tiles = 100;
    work.frame.training = true;
    const auto launches = [&] {
        double sum = 0;
        for (const StageDemand& d :
             frame_demands(work, KernelCosts::built_in(), gpu_devices().front()))
            sum += d.launches;
        return sum;
    };
    const double without = launches();
    work.sky = true;
    const std::uint64_t with_sky = enqueued_by_a_step(settings, capture);
    EXPECT_EQ(with_sky - neither, launches() - without);
    const double before = launches();
    work.intrinsics = true;
    settings.refine_intrinsics = true;
    EXPECT_EQ(enqueued_by_a_step(settings, capture) - with_sky, launches() - before);
}

}  // namespace
}  // namespace gs::test
