// Whole runs on the emulated device: against the CPU, in any schedule, with too little capacity,
// resumed on either backend; and the calls that a steady step makes.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "renderer/math/sh.h"
#include "renderer/raster/view_setup.h"
#include "tests/kernels/cuda_training_scene.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/temporary_folder.h"
#include "trainer/cuda/step_engine.h"

namespace gs {
namespace {

using test::busy_settings;
using test::cuda_training;
using test::small_capture;
using test::trainer_on;

class CudaTrainingRun : public test::ScheduledTest {};

/// Losses by step; index 0 is unused, NaN where none was reported.
std::vector<double> losses_of(Trainer& trainer, int steps) {
    std::vector<double> losses(static_cast<std::size_t>(steps) + 1, std::nan(""));
    for (int i = 0; i < steps; ++i) {
        const StepReport report = trainer.step();
        EXPECT_EQ(report.step, static_cast<std::uint64_t>(i + 1));
        EXPECT_LE(report.measured_step, report.step);
        if (report.measured_step != 0)
            losses[static_cast<std::size_t>(report.measured_step)] = report.loss;
        else
            EXPECT_TRUE(std::isnan(report.loss));
    }
    return losses;
}

/// Step by step without a Trainer. The fifth step raises the rates: everybody who sleeps is settled
/// before it.
StepPlan plan_of(const Capture& capture, std::uint64_t step) {
    StepPlan plan{.step = step, .view_index = 1 + static_cast<std::size_t>(step % 5)};
    plan.view = &capture.views[plan.view_index];
    plan.camera = plan.view->camera;
    plan.options.depth = false;
    plan.options.sh_degree = 1;
    plan.rates = {2e-3, 5e-3, 1e-3, 2.5e-2, 2.5e-3, 1.25e-4};
    for (double& rate : plan.rates) rate *= step < 4 ? 1 : 1.5;
    plan.gathers_statistics = true;
    plan.lambda_dssim = 0.2;
    return plan;
}
RunArrays arrays_of(const std::shared_ptr<Capture>& capture) {
    return [&] {
        auto backend = make_cpu_training();
        TrainingBackend* kept = backend.get();
        const auto trainer = trainer_on(std::move(backend), capture, busy_settings());
        return kept->arrays();
    }();
}

/// Largest difference of two runs' losses over the steps [first, last], where both are known.
double worst_loss(const std::vector<double>& a, const std::vector<double>& b, std::size_t first,
                  std::size_t last) {
    double worst = 0;
    for (std::size_t i = first; i <= last; ++i)
        if (!std::isnan(a[i]) && !std::isnan(b[i])) worst = std::max(worst, std::abs(a[i] - b[i]));
    return worst;
}

TEST_F(CudaTrainingRun, FollowsTheCpu) {
    const auto capture = small_capture();
    const TrainingSettings settings = busy_settings();
    const auto cpu = trainer_on(make_cpu_training(), capture, settings);
    const auto device = trainer_on(cuda_training(), capture, settings);
    const std::size_t at_first = device->gaussian_count();
    const std::vector<double> expected = losses_of(*cpu, 22), got = losses_of(*device, 22);
    EXPECT_GE(std::ranges::count_if(got, [](double loss) { return !std::isnan(loss); }), 20);
    EXPECT_LE(worst_loss(expected, got, 1, 7), 1e-5);
    // Adam makes steps of gradients that are rounding alone (those of the rotations of spheres), so
    // two runs drift apart. How far is a matter of chance: CPU runs from points moved by one float
    // each show the order of magnitude.
    double drift = 0, strangers = 0;
    for (const float towards : {1e9f, -1e9f, 0.0f}) {
        const auto other =
            trainer_on(make_cpu_training(), test::nudged(*capture, towards), settings);
        drift = std::max(drift, worst_loss(expected, losses_of(*other, 22), 8, 22));
        strangers =
            std::max(strangers, test::share_without_twin(cpu->model(), other->model(), 0.02));
    }
    EXPECT_LE(worst_loss(expected, got, 8, 22), 1e-4 + 4 * drift);
    EXPECT_NE(device->gaussian_count(), at_first);
    EXPECT_EQ(device->gaussian_count(), cpu->gaussian_count());
    // Rounding may make two rows change places, or turn the sign of a gradient that is nearly zero.
    EXPECT_LE(test::share_without_twin(cpu->model(), device->model(), 0.02), 0.02 + 2 * strangers);
    if (std::getenv("GAUSSCOPE_TEST_VERBOSE") != nullptr)
        fmt::print(
            "losses: {:.2g} from the CPU, which is {:.2g} from itself; rows without a twin: {:.3f} "
            "and {:.3f}\n",
            worst_loss(expected, got, 8, 22), drift,
            test::share_without_twin(cpu->model(), device->model(), 0.02), strangers);
}

TEST_F(CudaTrainingRun, ManyStepsWithSleepersFollowTheCpu) {
    // No density control: rows stay. Quaternions of spheres have gradients of rounding alone, which
    // Adam makes steps of.
    const auto capture = small_capture(28, 24, 150);
    TrainingSettings settings = busy_settings();
    settings.densify_until = 0;
    settings.sh_interval = 5;
    const auto cpu = trainer_on(make_cpu_training(), capture, settings);
    const auto device = trainer_on(cuda_training(), capture, settings);
    losses_of(*cpu, 12);
    losses_of(*device, 12);
    EXPECT_LT(test::worst_difference(cpu->model(), device->model()), 0.02);
}

TEST_F(CudaTrainingRun, StepByStepAsTheCpu) {
    // Each view sees about half of the ball, so some sleep; rates are raised on the way.
    const auto capture = small_capture(28, 24, 150);
    for (std::size_t v = 1; v < 6; ++v) {
        Camera& camera = capture->views[v].camera;
        camera.cx += v % 2 == 0 ? 14 : -14;
    }
    const RunArrays arrays = arrays_of(capture);
    auto cpu = make_cpu_training(), device = cuda_training();
    cpu->start(capture, arrays);
    device->start(capture, arrays);
    for (std::uint64_t step = 0; step < 12; ++step) {
        cpu->step(plan_of(*capture, step));
        device->step(plan_of(*capture, step));
    }
    const RunArrays a = cpu->arrays(), b = device->arrays();
    EXPECT_EQ(a.adam.base, 4u);
    EXPECT_EQ(b.adam.base, 4u);
    EXPECT_EQ(a.adam.pending, b.adam.pending);
    std::size_t sleepers = 0;
    for (std::size_t i = 0; i < a.model.count; ++i) {
        // The CPU steps whole blocks: each row was last stepped when any of its block was seen.
        const auto block = b.adam.last_step.begin() + i / kBlock * kBlock;
        EXPECT_EQ(a.adam.last_step[i], *std::max_element(block, block + kBlock)) << i;
        EXPECT_EQ(a.statistics.views[i], b.statistics.views[i]) << i;
        EXPECT_NEAR(a.statistics.gradient_sum[i], b.statistics.gradient_sum[i],
                    1e-3f * a.statistics.gradient_sum[i] + 1e-7f);
        EXPECT_NEAR(a.statistics.radius_px[i], b.statistics.radius_px[i], 1e-2f);
        sleepers += b.adam.last_step[i] != 12;
    }
    EXPECT_GT(sleepers, 10u);
    EXPECT_LT(test::worst_difference(cpu->model(), device->model()), 0.03);
}

TEST_F(CudaTrainingRun, SameBitsInAnySchedule) {
    const auto capture = small_capture(24, 20, 100);
    TrainingSettings settings = busy_settings();
    const auto run = [&](std::uint64_t seed, bool deferred) {
        test::schedule(seed, deferred);
        auto backend = cuda_training();
        TrainingBackend* kept = backend.get();
        const auto trainer = trainer_on(std::move(backend), capture, settings);
        losses_of(*trainer, 9);
        return kept->arrays();
    };
    for (const bool compact : {false, true}) {
        settings.compact_moments = compact;
        const RunArrays first = run(1, false);
        EXPECT_EQ(first.adam.codes.empty(), !compact);
        EXPECT_TRUE(test::same_arrays(first, run(2, false)));
        EXPECT_TRUE(test::same_arrays(first, run(3, true)));
    }
}

TEST_F(CudaTrainingRun, WatchingChangesNothing) {
    const auto capture = small_capture(24, 20, 100);
    auto plain_backend = cuda_training(), watched_backend = cuda_training();
    TrainingBackend *plain = plain_backend.get(), *watched = watched_backend.get();
    const auto a = trainer_on(std::move(plain_backend), capture, busy_settings());
    const auto b = trainer_on(std::move(watched_backend), capture, busy_settings());
    RenderResult picture;
    for (int i = 0; i < 9; ++i) {
        a->step();
        b->step();
        b->render(capture->views[0].camera, b->render_options(), picture);
        EXPECT_EQ(b->evaluate({0}).images.size(), 1u);
        (void)b->model();
        (void)b->memory();
    }
    EXPECT_TRUE(test::same_arrays(plain->arrays(), watched->arrays()));
    // What is drawn is the model with its pending steps.
    const GaussianModel model = b->model();
    ModelSource source(model);
    const auto rasterizer = make_cpu_rasterizer();
    const auto state = rasterizer->make_state();
    RenderResult expected;
    rasterizer->forward(source, capture->views[0].camera, b->render_options(), *state, expected);
    b->render(capture->views[0].camera, b->render_options(), picture);
    for (std::size_t i = 0; i < expected.color.values.size(); ++i)
        ASSERT_NEAR(picture.color.values[i], expected.color.values[i], 1e-4f);
}

TEST_F(CudaTrainingRun, CheckpointsMoveBetweenBackends) {
    const auto capture = small_capture(24, 20, 100);
    const test::TemporaryFolder folder;
    const fs::path path = folder / "run.gsc";
    const auto make = [](bool device) { return device ? cuda_training() : make_cpu_training(); };
    TrainingSettings settings = busy_settings();
    for (int kind = 0; kind < 8; ++kind) {
        const bool from_device = (kind & 1) != 0, to_device = (kind & 2) != 0;
        settings.compact_moments = (kind & 4) != 0;
        SCOPED_TRACE(fmt::format("{} to {}, {}", from_device, to_device, kind / 4));
        auto backend = make(from_device);
        TrainingBackend* kept = backend.get();
        const auto straight = trainer_on(std::move(backend), capture, settings);
        losses_of(*straight, 5);
        ASSERT_TRUE(straight->save_checkpoint(path));
        auto second = make(to_device);
        TrainingBackend* resumed = second.get();
        const auto trainer = required(Trainer::resume(path, capture, std::move(second)));
        EXPECT_TRUE(test::same_arrays(kept->arrays(), resumed->arrays()));
        for (int i = 0; i < 4; ++i) {
            straight->step();
            trainer->step();
        }
        if (from_device == to_device)
            EXPECT_TRUE(test::same_arrays(kept->arrays(), resumed->arrays()));
        else
            EXPECT_LT(test::share_without_twin(straight->model(), trainer->model(), 0.02), 0.05);
    }
}

TEST_F(CudaTrainingRun, ASteadyStepNeitherAllocatesNorWaits) {
    const auto capture = small_capture(24, 20, 100);
    auto backend = cuda_training();
    backend->start(capture, arrays_of(capture));
    emulator::set_execution(emulator::Execution::deferred);
    emulator::set_event_lag(2);
    for (std::uint64_t step = 0; step < 14; ++step) backend->step(plan_of(*capture, step));
    const emulator::Calls before = emulator::calls();
    for (std::uint64_t step = 14; step < 34; ++step) backend->step(plan_of(*capture, step));
    const emulator::Calls more = emulator::difference(before, emulator::calls());
    for (const auto& [name, count] : more) SCOPED_TRACE(fmt::format("{}: {}", name, count));
    EXPECT_EQ(emulator::allocations(more), 0u);
    EXPECT_EQ(emulator::synchronizations(more), 0u);
    EXPECT_EQ(backend->steps(), 34u);
}

TEST_F(CudaTrainingRun, RoundsOfDensityControlTakeTheMemoryOfFrames) {
    const auto capture = small_capture(24, 20, 300);
    auto backend = cuda_training();
    backend->start(capture, arrays_of(capture));
    TrainingSettings settings;
    settings.max_gaussians = 320;
    settings.densify_gradient = 0;  // every seen Gaussian grows, up to the capacity
    std::uint64_t step = 0;
    const auto steps_and_round = [&] {
        for (const std::uint64_t end = step + 6; step < end; ++step)
            backend->step(plan_of(*capture, step));
        const emulator::Calls before = emulator::calls();
        const DensityReport report = backend->densify_and_prune(settings, 1.0, false);
        EXPECT_FALSE(report.out_of_memory);
        return emulator::allocations(emulator::difference(before, emulator::calls()));
    };
    (void)steps_and_round();  // the scratch of sorting 64 bits, at most
    EXPECT_GT(backend->count(), 300u);
    for (int round = 0; round < 3; ++round) EXPECT_EQ(steps_and_round(), 0u) << round;
}

TEST_F(CudaTrainingRun, OutcomesComeInOrderAndLate) {
    const auto capture = small_capture(24, 20, 60);
    auto backend = cuda_training();
    backend->start(capture, arrays_of(capture));
    emulator::set_execution(emulator::Execution::deferred);
    emulator::set_event_lag(4);
    std::uint64_t last = 0;
    for (std::uint64_t step = 0; step < 10; ++step) {
        const StepOutcome outcome = backend->step(plan_of(*capture, step));
        if (outcome.step == 0) continue;
        EXPECT_EQ(outcome.step, last + 1);
        EXPECT_LE(step + 1 - outcome.step, 3u);
        EXPECT_EQ(outcome.view_index, 1 + (outcome.step - 1) % 5);
        last = outcome.step;
    }
    EXPECT_GE(last, 7u);
}

/// The arrays after `steps` steps of an engine, each with capacity for `isects` at first; how often
/// steps were repeated. `batch`: views of each step, whose numbers are then those of its first.
RunArrays engine_run(const Capture& capture, const RunArrays& arrays, std::uint64_t steps,
                     std::uint32_t isects, bool graphs, std::uint64_t* repeated = nullptr,
                     std::size_t* recorded = nullptr, std::uint32_t batch = 1) {
    const cuda::Stream stream("test");
    cuda::StepEngine engine(stream);
    engine.start(capture, arrays);
    cuda::FrameCounts needed{};
    needed.visible = static_cast<std::uint32_t>(arrays.model.count);
    needed.isects = isects;
    for (std::size_t v = 0; v < capture.views.size(); ++v) engine.capacities().learn(v, needed);
    engine.graphs().enable(graphs);
    std::uint64_t reported = 0;
    const auto take = [&] {
        for (const StepOutcome& outcome : engine.outcomes())
            EXPECT_EQ(outcome.step, 1 + reported++ / batch);
        engine.outcomes().clear();
    };
    for (std::uint64_t view = 0; view < steps * batch; ++view) {
        StepPlan plan = plan_of(capture, view);
        plan.step = view / batch;
        plan.part = {static_cast<std::uint32_t>(view % batch), batch};
        engine.run(plan);
        take();
    }
    engine.drain();
    take();
    EXPECT_EQ(reported, steps * batch);
    if (repeated != nullptr) *repeated = engine.repeated();
    if (recorded != nullptr) *recorded = engine.graphs().size();
    RunArrays out = engine.arrays().download();
    static_cast<AdamClock&>(out.adam) = engine.clock();
    return out;
}

TEST_F(CudaTrainingRun, AStepThatDoesNotFitIsCarriedOutAgain) {
    // Seen from afar the ball takes a tile or two; the fifth view is so near that every Gaussian
    // covers all.
    const auto capture = small_capture(64, 48, 360);
    RunArrays arrays = arrays_of(capture);
    for (std::size_t i = 0; i < arrays.model.count; ++i)
        for (int axis = 0; axis < 3; ++axis) arrays.model.at(kLogScales + axis, i) = std::log(0.9f);
    for (std::size_t v = 1; v < 5; ++v) {
        View& view = capture->views[v];
        const Camera near = view.camera;
        view.camera = look_at({40, 0, static_cast<double>(v)}, {0, 0, 0}, {0, -1, 0}, near.width,
                              near.height, 0.9);
    }
    std::uint64_t never = 0, some = 0, behind = 0;
    const RunArrays expected = engine_run(*capture, arrays, 7, 20000, true, &never);
    EXPECT_EQ(never, 0u);
    EXPECT_TRUE(test::same_arrays(expected, engine_run(*capture, arrays, 7, 1, true, &some)));
    EXPECT_GE(some, 1u);
    // Events lag: steps behind the one that does not fit are under way when it is noticed.
    emulator::set_execution(emulator::Execution::deferred);
    emulator::set_event_lag(5);
    EXPECT_TRUE(test::same_arrays(expected, engine_run(*capture, arrays, 7, 1, true, &behind)));
    EXPECT_GE(behind, 2u);
}

TEST_F(CudaTrainingRun, RecordedStepsGiveTheSameBits) {
    const auto capture = small_capture(24, 20, 80);
    const RunArrays arrays = arrays_of(capture);
    std::size_t recorded = 0, none = 0;
    const RunArrays plain = engine_run(*capture, arrays, 26, 1000, false, nullptr, &none);
    EXPECT_EQ(none, 0u);
    const emulator::Calls before = emulator::calls();
    EXPECT_TRUE(
        test::same_arrays(plain, engine_run(*capture, arrays, 26, 1000, true, nullptr, &recorded)));
    EXPECT_GE(recorded, 1u);
    EXPECT_GE(emulator::difference(before, emulator::calls()).at("cudaGraphLaunch"), 10u);
    EXPECT_EQ(emulator::live_objects().graphs, 0u);
    EXPECT_EQ(emulator::live_objects().executables, 0u);
}

/// Of a batch's views only the last is recorded apart: the others do the same, whichever they are.
TEST_F(CudaTrainingRun, RecordedBatchesGiveTheSameBits) {
    const auto capture = small_capture(24, 20, 80);
    RunArrays arrays = arrays_of(capture);
    arrays.adam.batch = 4;
    std::size_t recorded = 0;
    const RunArrays plain =
        engine_run(*capture, arrays, 8, 1000, false, nullptr, nullptr, /*batch=*/4);
    const emulator::Calls before = emulator::calls();
    EXPECT_TRUE(test::same_arrays(
        plain, engine_run(*capture, arrays, 8, 1000, true, nullptr, &recorded, /*batch=*/4)));
    EXPECT_EQ(recorded, 2u);
    EXPECT_GE(emulator::difference(before, emulator::calls()).at("cudaGraphLaunch"), 22u);
}

TEST_F(CudaTrainingRun, ExhaustedMemoryInAStepKeepsTheModel) {
    const auto capture = small_capture(24, 20, 100);
    auto backend = cuda_training();
    backend->start(capture, arrays_of(capture));
    emulator::fail_device_allocation(1);
    EXPECT_ANY_THROW(backend->step(plan_of(*capture, 0)));
    emulator::fail_device_allocation(0);
    EXPECT_EQ(backend->steps(), 0u);
    for (std::uint64_t step = 0; step < 3; ++step) backend->step(plan_of(*capture, step));
    auto second = cuda_training();
    second->start(capture, arrays_of(capture));
    for (std::uint64_t step = 0; step < 3; ++step) second->step(plan_of(*capture, step));
    EXPECT_TRUE(test::same_arrays(backend->arrays(), second->arrays()));
}

TEST_F(CudaTrainingRun, PoisonIsCountedAndLeftOut) {
    const auto capture = small_capture(24, 20, 100);
    RunArrays poisoned = arrays_of(capture);
    poisoned.model.at(kSh0, 3) = std::nanf("");
    const auto run = [&](std::unique_ptr<TrainingBackend> backend, std::size_t& told) {
        backend->start(capture, poisoned);
        for (std::uint64_t step = 0; step < 8; ++step) {
            const StepOutcome outcome = backend->step(plan_of(*capture, step));
            if (outcome.step <= 5) told += outcome.poisoned;
        }
        return backend->model();
    };
    std::size_t told_cpu = 0, told = 0;
    const GaussianModel expected = run(make_cpu_training(), told_cpu),
                        model = run(cuda_training(), told);
    EXPECT_EQ(told, told_cpu);
    std::size_t broken = 0;
    for (std::size_t i = 0; i < model.count; ++i)
        for (int p = 0; p < model.planes(); ++p) {
            EXPECT_EQ(std::isfinite(model.at(p, i)), std::isfinite(expected.at(p, i)))
                << p << ' ' << i;
            broken += !std::isfinite(model.at(p, i));
        }
    EXPECT_EQ(broken, 1u);
}

/// Only what reaches the mean through the colour's direction is absurd: known when the harmonics
/// have been stepped already.
TEST_F(CudaTrainingRun, AMeanWhoseGradientIsAbsurdStaysWhereItIs) {
    const auto capture = small_capture(24, 20, 40);
    StepPlan plan = plan_of(*capture, 0);
    plan.lambda_dssim = -1e11;  // gradients of 1e8 and more
    RunArrays arrays = arrays_of(capture);
    constexpr std::size_t kRow = 3;
    const Vec3f direction = math::normalize(arrays.model.mean(kRow) - ray_origin(plan.camera));
    // A coefficient of 1e10 in a colour of some 6,000.
    const double slope = 0.4886025119029199 * static_cast<double>(direction.z), steep = 1e10;
    arrays.model.at(kSh0 + 3 * 2, kRow) = static_cast<float>(steep);
    arrays.model.at(kSh0, kRow) = static_cast<float>((6000 - slope * steep) / 0.28209479177387814);
    auto backend = cuda_training();
    backend->start(capture, arrays);
    EXPECT_EQ(backend->step(plan).poisoned, 1u);
    const GaussianModel model = backend->model();
    for (int p = kMeans; p < kMeans + 3; ++p)
        EXPECT_EQ(model.at(p, kRow), arrays.model.at(p, kRow));
    EXPECT_NE(model.at(kOpacityLogits, kRow), arrays.model.at(kOpacityLogits, kRow));
    for (std::size_t i = 0; i < model.count; ++i)
        for (int p = 0; p < model.planes(); ++p) EXPECT_TRUE(std::isfinite(model.at(p, i)));
}

TEST_F(CudaTrainingRun, RefinesIntrinsicsAsTheCpuDoes) {
    TrainingSettings settings = busy_settings();
    settings.refine_intrinsics = true;
    settings.pose_from = 2;
    const auto capture = small_capture();
    const auto moved = [&](std::unique_ptr<TrainingBackend> backend) {
        const auto trainer = trainer_on(std::move(backend), capture, settings);
        (void)losses_of(*trainer, 7);
        return trainer->camera_of(1).fx / capture->views[1].camera.fx - 1;
    };
    const double cpu = moved(make_cpu_training()), device = moved(cuda_training());
    EXPECT_GT(std::abs(cpu), 1e-5);
    EXPECT_NEAR(device, cpu, 1e-2 * std::abs(cpu));
}

/// What the first step's photo says about its camera; every second row locked or none.
std::vector<double> camera_gradient(std::unique_ptr<TrainingBackend> backend, bool locks,
                                    BatchPart part) {
    const auto capture = small_capture(24, 20, 60);
    RunArrays arrays = arrays_of(capture);
    for (std::size_t row = 0; locks && row < arrays.model.count; row += 2)
        arrays.identity.tags[row] |= kLockedTag;
    StepPlan plan = plan_of(*capture, 0);
    plan.options.motion = plan.options.intrinsics = true;
    plan.part = part;
    backend->start(capture, std::move(arrays));
    StepOutcome outcome = backend->step(plan);
    for (const StepOutcome& known : backend->pending_outcomes()) outcome = known;
    const auto least = 6 * sizeof(float) * backend->count() + math::kLensNumbers * sizeof(double);
    std::uint64_t listed = 0, on_device = 0;
    for (const MemoryUse& use : backend->memory())
        (use.category == "gradients of cameras" ? listed : on_device) += use.device ? use.bytes : 0;
    EXPECT_GE(listed, on_device == 0 ? 0 : least);
    const auto [turn, move] = *outcome.motion;
    std::vector<double> all{turn.x, turn.y, turn.z, move.x, move.y, move.z};
    all.insert(all.end(), outcome.intrinsics->begin(), outcome.intrinsics->end());
    return all;
}

TEST_F(CudaTrainingRun, LockedRowsMoveTheCameraAsOnTheCpu) {
    for (const BatchPart part : {BatchPart{}, BatchPart{0, 2}}) {
        SCOPED_TRACE(part.count);
        const std::vector<double> cpu = camera_gradient(make_cpu_training(), true, part),
                                  device = camera_gradient(cuda_training(), true, part);
        EXPECT_EQ(cpu, camera_gradient(make_cpu_training(), false, part));
        EXPECT_EQ(device, camera_gradient(cuda_training(), false, part));
        double size[2] = {};  // of the motion, of the intrinsics
        for (std::size_t i = 0; i < cpu.size(); ++i)
            size[i >= 6] = std::max(size[i >= 6], std::abs(cpu[i]));
        for (std::size_t i = 0; i < cpu.size(); ++i)
            EXPECT_NEAR(device[i], cpu[i], 1e-4 * size[i >= 6]) << i;
        EXPECT_GT(std::min(size[0], size[1]), 0);
    }
}

}  // namespace
}  // namespace gs
