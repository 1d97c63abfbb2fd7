// Beams of a lidar on the emulated device: their gradients beside the CPU's and the oracle's, and
// runs that learn from them.
#include <gtest/gtest.h>

#include <cmath>

#include "base/comparison.h"
#include "renderer/device/device_error.h"
#include "renderer/rays/rays.h"
#include "renderer/reference/rays.h"
#include "tests/kernels/cuda_training_scene.h"
#include "tests/kernels/ray_scenes.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/wall_drive.h"
#include "trainer/cuda/step_engine.h"
#include "trainer/density/snapshot.h"

namespace gs {
namespace {

using test::cuda_training;
using test::trainer_on;

struct CudaLidar : test::ScheduledTest {};

/// Beams of a sensor that moves by `moved`, each with a return near the first Gaussians it meets.
std::shared_ptr<BeamPlan> beams_through(const GaussianModel& model, Vec3d moved,
                                        std::size_t columns) {
    auto out = std::make_shared<BeamPlan>();
    out->rays = test::beams_around(24, columns, moved, 0.5);
    out->weight = 0.3;
    const RayTiles tiles(out->rays, Pose{});
    const RayImage image = trace_rays(model, {}, tiles, {{}, {}}, rules_of(Compatibility::tight));
    for (std::size_t i = 0; i < out->rays.size(); ++i)
        out->ranges.push_back((image.median[i] > 0 ? image.median[i] : 10.0f) *
                              static_cast<float>(1 + 0.1 * std::sin(0.7 * static_cast<double>(i))));
    return out;
}
/// A step that learns from beams alone: its camera looks at nothing.
StepPlan blind_plan(const Capture& capture, std::shared_ptr<const BeamPlan> beams) {
    StepPlan plan{.view_index = 1, .view = &capture.views[1]};
    plan.camera = plan.view->camera;
    plan.camera.translation = {0, 0, -1e6};
    plan.options.depth = false;
    plan.options.sh_degree = 0;
    plan.rates = {2e-3, 5e-3, 1e-3, 2.5e-2, 2.5e-3, 1.25e-4};
    plan.beams = std::move(beams);
    return plan;
}
RunArrays run_of(const GaussianModel& model) {
    return new_run(model.resized(padded_capacity(model.count), model.sh_degree));
}

/// What one step leaves.
struct Stepped {
    StepOutcome outcome;
    RunArrays arrays;
};
Stepped stepped(std::unique_ptr<TrainingBackend> backend, const std::shared_ptr<Capture>& capture,
                const RunArrays& arrays, const StepPlan& plan) {
    backend->start(capture, arrays);
    Stepped out{backend->step(plan), {}};
    const auto pending = backend->pending_outcomes();
    if (!pending.empty()) out.outcome = pending.front();
    out.arrays = backend->arrays();
    return out;
}
/// First moments of planes first .. end - 1: a tenth of the gradients.
std::vector<float> moments(const RunArrays& of, int first, int end) {
    const auto planes = static_cast<std::size_t>(of.model.planes());
    std::vector<float> out;
    for (std::size_t i = 0; i < of.model.count; ++i)
        for (int p = first; p < end; ++p)
            out.push_back(
                of.adam.moments[(i / kBlock * planes + static_cast<std::size_t>(p)) * 2 * kBlock +
                                i % kBlock]);
    return out;
}
constexpr std::pair<int, int> kKinds[] = {
    {kMeans, kLogScales}, {kLogScales, kQuats}, {kQuats, kOpacityLogits}, {kOpacityLogits, kSh0}};
void compare_steps(const Stepped& cpu, const Stepped& device, double limit) {
    EXPECT_EQ(device.outcome.step, 1u);
    EXPECT_EQ(device.outcome.poisoned, cpu.outcome.poisoned);
    EXPECT_EQ(device.outcome.lidar.beams, cpu.outcome.lidar.beams);
    EXPECT_NEAR(device.outcome.lidar.range, cpu.outcome.lidar.range,
                1e-5 * cpu.outcome.lidar.range);
    EXPECT_NEAR(device.outcome.lidar.dark, cpu.outcome.lidar.dark, 1e-5 * cpu.outcome.lidar.dark);
    for (const auto& [first, end] : kKinds) {
        ComparisonRow row{"", limit, Measure::l2};
        const auto a = moments(cpu.arrays, first, end), b = moments(device.arrays, first, end);
        for (std::size_t i = 0; i < a.size(); ++i)
            row.add(static_cast<double>(a[i]), static_cast<double>(b[i]));
        EXPECT_GT(row.size, 0) << first;
        EXPECT_LT(row.figure(), limit) << first;
    }
    // Rows that no ray met sleep; the CPU wakes them by blocks.
    const auto met = moments(cpu.arrays, kOpacityLogits, kSh0);
    for (std::size_t i = 0; i < met.size(); ++i)
        EXPECT_EQ(device.arrays.adam.last_step[i], met[i] != 0 ? 1u : 0u) << i;
}

TEST_F(CudaLidar, GradientsAreTheCpus) {
    const auto capture = test::small_capture(8, 8, 20);
    for (const Vec3d moved : {Vec3d{}, Vec3d{1, 0.4, 0.1}}) {
        const GaussianModel model = test::around(4000, 41);
        // The first guess of how many pairs there are is too low: the step is carried out twice.
        const auto beams = beams_through(model, moved, 80);
        const RayImage image = trace_rays(model, {}, RayTiles(beams->rays, Pose{}), {{}, {}},
                                          rules_of(Compatibility::tight));
        EXPECT_GT(image.pairs, 4096u);
        const StepPlan plan = blind_plan(*capture, beams);
        const RunArrays start = run_of(model);
        compare_steps(stepped(make_cpu_training(), capture, start, plan),
                      stepped(cuda_training(), capture, start, plan), 1e-4);
    }
}

/// Everything within 1.5 m, where the loss is weight x (1.5 m - distance) - ln alpha: both slopes
/// are ones that the oracle knows.
TEST_F(CudaLidar, GradientsAreTheOracles) {
    GaussianModel model = test::around(900, 53);
    for (std::size_t i = 0; i < model.count; ++i)
        for (int k = 0; k < 3; ++k) {
            model.at(kMeans + k, i) *= 0.02f;
            model.at(kLogScales + k, i) -= std::log(50.0f);
        }
    const reference::Parameters scene = test::parameters_of(model);
    const std::vector<Vec3d> nothing(model.count);
    const auto order = reference::order_around(scene, {});
    const auto all = test::beams_around(20, 60, {0.02, 0.01, 0}, 0.5);
    const auto seen = reference::render_rays(scene, nothing, order, all, reference::Options{});
    auto beams = std::make_shared<BeamPlan>();
    for (std::size_t i = 0; i < all.size(); ++i)  // but those that rounding may decide
        if (seen.fragile[i] == 0) beams->rays.push_back(all[i]);
    const std::size_t n = beams->rays.size();
    ASSERT_GT(n, 1000u);
    beams->ranges.assign(n, 1.5f);
    beams->weight = 0.3;
    const auto picture =
        reference::render_rays(scene, nothing, order, beams->rays, reference::Options{});
    reference::RayPictureGradient v;
    const double each = beams->weight / static_cast<double>(n);
    for (const double alpha : picture.alpha) {
        v.alpha.push_back(each * (1.5 - 1 / std::max(alpha, kLeastAlpha)));
        v.hit.push_back(-each);
    }
    const auto want = reference::render_rays_backward(scene, nothing, order, beams->rays,
                                                      reference::Options{}, picture, v);
    const auto capture = test::small_capture(8, 8, 20);
    const Stepped got =
        stepped(cuda_training(), capture, run_of(model), blind_plan(*capture, beams));
    for (const auto& [first, end] : kKinds) {
        ComparisonRow row{"", 1e-4, Measure::l2};
        const auto tenths = moments(got.arrays, first, end);
        for (std::size_t i = 0; i < model.count; ++i)
            for (int p = first; p < end; ++p)
                row.add(want.parameters.at(p, i),
                        10 * static_cast<double>(tenths[i * static_cast<std::size_t>(end - first) +
                                                        static_cast<std::size_t>(p - first)]));
        EXPECT_GT(row.size, 0) << first;
        EXPECT_LT(row.figure(), 1e-4) << first;
    }
}

TEST_F(CudaLidar, LocksFilterAndBrokenRowsAreAsOnTheCpu) {
    const auto capture = test::small_capture(8, 8, 20);
    GaussianModel model = test::around(300, 43);
    const auto beams = beams_through(model, {0.5, 0, 0}, 30);
    for (std::size_t i = 0; i < model.count; i += 11)
        model.at(i % 22 == 0 ? kMeans : kLogScales + 1, i) = i % 3 == 0 ? 1e38f : std::nanf("");
    RunArrays start = run_of(model);
    for (std::size_t i = 0; i < model.count; i += 5) start.identity.tags[i] |= kLockedTag;
    start.filter.resize(start.model.capacity, 0.0f);
    for (std::size_t i = 0; i < model.count; ++i)
        start.filter[i] = i % 4 == 0 ? 0.0f : 0.02f * static_cast<float>(i % 7);
    StepPlan plan = blind_plan(*capture, beams);
    plan.options.antialiased = true;
    const Stepped cpu = stepped(make_cpu_training(), capture, start, plan),
                  device = stepped(cuda_training(), capture, start, plan);
    compare_steps(cpu, device, 1e-4);
    for (std::size_t i = 0; i < model.count; i += 5)
        EXPECT_EQ(device.arrays.adam.last_step[i], start.adam.last_step[i]);
}

TEST_F(CudaLidar, LearnsWhatTheCpuLearns) {
    const test::WallDrive drive;
    const auto capture = drive.capture(0.3f);
    for (const double batch : {1.0, 2.0}) {
        TrainingSettings settings = test::wall_settings();
        settings.batch = batch;
        settings.lidar_beams = 300;
        const auto cpu = trainer_on(make_cpu_training(), capture, settings),
                   device = trainer_on(cuda_training(), capture, settings);
        double last = 0;
        int compared = 0;
        // Until the first density round they differ by rounding alone.
        for (int step = 0; step < 7; ++step) {
            const StepReport expected = cpu->step(), got = device->step();
            if (got.measured_step == expected.measured_step) {
                EXPECT_NEAR(got.lidar_m, expected.lidar_m, 2e-3 * expected.lidar_m);
                ++compared;
            }
            last = expected.lidar_m;
        }
        EXPECT_GT(compared, 2);
        EXPECT_LT(last, 0.3);
        EXPECT_LT(test::worst_difference(cpu->model(), device->model()), 2e-2);
    }
}

TEST_F(CudaLidar, SameBitsInAnyScheduleAndSwitchedOnInARun) {
    const test::WallDrive drive;
    const auto capture = drive.capture(0.3f);
    TrainingSettings settings = test::wall_settings();
    settings.lidar_beams = 200;
    const auto run = [&](std::uint64_t seed, bool deferred) {
        test::schedule(seed, deferred);
        settings.lidar_weight = 0;
        const auto trainer = trainer_on(cuda_training(), capture, settings);
        for (int step = 0; step < 4; ++step) EXPECT_TRUE(std::isnan(trainer->step().lidar_m));
        settings.lidar_weight = 0.1;
        EXPECT_TRUE(trainer->set_settings(settings));
        StepReport last;
        for (int step = 0; step < 12; ++step) last = trainer->step();
        EXPECT_GT(last.measured_step, 4u);
        EXPECT_GT(last.lidar_m, 0);
        return trainer->snapshot();
    };
    EXPECT_TRUE(test::same_arrays(run(1, false)->arrays, run(2, true)->arrays));
}

TEST_F(CudaLidar, ARunContinuesOnEitherBackend) {
    const test::WallDrive drive;
    const auto capture = drive.capture(0.1f);
    const fs::path file = drive.folder / "half.gsckpt";
    const auto device = trainer_on(cuda_training(), capture, test::wall_settings());
    for (int step = 0; step < 5; ++step) device->step();
    ASSERT_TRUE(device->save_checkpoint(file));
    const auto again = required(Trainer::resume(file, capture, cuda_training()));
    const auto cpu = required(Trainer::resume(file, capture, make_cpu_training()));
    for (int step = 0; step < 2; ++step) {
        device->step();
        again->step();
        cpu->step();
    }
    EXPECT_TRUE(test::same_arrays(device->snapshot()->arrays, again->snapshot()->arrays));
    EXPECT_LT(test::worst_difference(device->model(), cpu->model()), 2e-2);
    bool listed = false;
    for (const MemoryUse& use : device->memory())
        listed |= use.category == "rays" && use.device && use.bytes > 0;
    EXPECT_TRUE(listed);
}

TEST_F(CudaLidar, ASteadyStepNeitherAllocatesNorWaits) {
    const auto capture = test::small_capture(24, 20, 20);
    const GaussianModel model = test::around(200, 47);
    auto backend = cuda_training();
    backend->start(capture, run_of(model));
    emulator::set_execution(emulator::Execution::deferred);
    emulator::set_event_lag(2);
    StepPlan plan = blind_plan(*capture, beams_through(model, {0.2, 0, 0}, 12));
    emulator::Calls before;
    for (; plan.step < 24; ++plan.step) {
        if (plan.step == 12) before = emulator::calls();
        backend->step(plan);
    }
    const emulator::Calls more = emulator::difference(before, emulator::calls());
    EXPECT_EQ(emulator::allocations(more), 0u);
    EXPECT_EQ(emulator::synchronizations(more), 0u);
    EXPECT_EQ(backend->steps(), 24u);
}

/// Sweeps take turns: one recording serves them all, as what differs is read from device memory.
TEST_F(CudaLidar, RecordedStepsOfChangingSweepsGiveTheSameBits) {
    const auto capture = test::small_capture(24, 20, 20);
    const GaussianModel model = test::around(200, 47);
    const std::shared_ptr<BeamPlan> sweeps[] = {beams_through(model, {0.2, 0, 0}, 12),
                                                beams_through(model, {-0.3, 0.1, 0.1}, 9),
                                                beams_through(model, {}, 14)};
    const auto run = [&](bool graphs) {
        const emulator::Calls before = emulator::calls();
        const cuda::Stream stream("test");
        cuda::StepEngine engine(stream);
        engine.start(*capture, run_of(model));
        engine.graphs().enable(graphs);
        StepPlan plan = blind_plan(*capture, nullptr);
        plan.camera = plan.view->camera;
        for (; plan.step < 30; ++plan.step) {
            plan.beams = sweeps[plan.step % 3];
            engine.run(plan);
        }
        engine.drain();
        emulator::Calls calls = emulator::difference(before, emulator::calls());
        EXPECT_EQ(engine.graphs().size() > 0, graphs);
        EXPECT_EQ(calls["cudaGraphLaunch"] > 15, graphs) << calls["cudaGraphLaunch"];
        RunArrays out = engine.arrays().download();
        static_cast<AdamClock&>(out.adam) = engine.clock();
        return out;
    };
    EXPECT_TRUE(test::same_arrays(run(false), run(true)));
}

/// With lidar_every, steps with beams and without alternate. Both kinds are recorded, and lists
/// that grow need no new recording of steps that have none.
TEST_F(CudaLidar, StepsWithAndWithoutBeamsAreBothReplayed) {
    const auto capture = test::small_capture(24, 20, 20);
    const GaussianModel model = test::around(400, 47);
    const std::shared_ptr<BeamPlan> few = beams_through(model, {0.2, 0, 0}, 6),
                                    many = beams_through(model, {0.2, 0, 0}, 40);
    const cuda::Stream stream("test");
    cuda::StepEngine engine(stream);
    engine.start(*capture, run_of(model));
    StepPlan plan = blind_plan(*capture, nullptr);
    plan.camera = plan.view->camera;
    const auto replayed = [&](std::uint64_t steps, const std::shared_ptr<BeamPlan>& beams) {
        const emulator::Calls before = emulator::calls();
        for (const std::uint64_t end = plan.step + steps; plan.step < end; ++plan.step) {
            plan.beams = plan.step % 4 == 0 ? beams : nullptr;
            engine.run(plan);
        }
        engine.drain();
        return emulator::difference(before, emulator::calls());
    };
    emulator::Calls first = replayed(20, few);
    EXPECT_EQ(first["cudaGraphInstantiate"], 2u);
    EXPECT_EQ(engine.graphs().size(), 2u);
    emulator::Calls steady = replayed(20, few);
    EXPECT_EQ(steady["cudaGraphInstantiate"], 0u);
    EXPECT_GE(steady["cudaGraphLaunch"], 18u) << "but for those that are timed";
    emulator::Calls grown = replayed(20, many);
    EXPECT_EQ(grown["cudaGraphInstantiate"], 1u) << "of steps with beams";
    EXPECT_GE(grown["cudaGraphLaunch"], 15u);
}

TEST_F(CudaLidar, AnotherRunDoesNotKeepTheListsOfTheOneBefore) {
    const auto capture = test::small_capture(24, 20, 20);
    const auto listed = [](const TrainingBackend& backend) {
        std::uint64_t bytes = 0;
        for (const MemoryUse& use : backend.memory())
            if (use.category == "rays") bytes += use.bytes;
        return bytes;
    };
    const GaussianModel large = test::around(4000, 41), small = test::around(200, 47);
    const StepPlan many = blind_plan(*capture, beams_through(large, {}, 80)),
                   few = blind_plan(*capture, beams_through(small, {0.2, 0, 0}, 12));
    auto backend = cuda_training(), fresh = cuda_training();
    backend->start(capture, run_of(large));
    backend->step(many);
    const std::uint64_t before = listed(*backend);
    backend->start(capture, run_of(small));
    EXPECT_EQ(listed(*backend), 0u);
    fresh->start(capture, run_of(small));
    for (TrainingBackend* each : {backend.get(), fresh.get()}) each->step(few);
    EXPECT_EQ(listed(*backend), listed(*fresh));
    EXPECT_LT(listed(*backend), before * 2 / 3);
    EXPECT_TRUE(test::same_arrays(backend->arrays(), fresh->arrays()));
}

TEST_F(CudaLidar, ExhaustedMemoryKeepsTheModel) {
    const auto capture = test::small_capture(24, 20, 20);
    const GaussianModel model = test::around(200, 47);
    StepPlan plan = blind_plan(*capture, beams_through(model, {0.2, 0, 0}, 12));
    const auto beams = plan.beams;
    bool failed = false;
    const auto run = [&](std::uint64_t failing) {
        auto backend = cuda_training();
        backend->start(capture, run_of(model));
        plan.beams = nullptr;  // they come in the third step
        for (plan.step = 0; plan.step < 2; ++plan.step) backend->step(plan);
        plan.beams = beams;
        emulator::fail_device_allocation(failing);
        failed = false;
        try {
            backend->step(plan);
        } catch (const DeviceError&) {
            failed = true;
            EXPECT_EQ(backend->steps(), 2u);
        }
        emulator::fail_device_allocation(0);
        (void)backend->arrays();  // as whoever saves the run at once
        for (plan.step = failed ? 2 : 3; plan.step < 5; ++plan.step) backend->step(plan);
        return backend->arrays();
    };
    const RunArrays undisturbed = run(0);
    std::uint64_t failing = 0;
    do EXPECT_TRUE(test::same_arrays(undisturbed, run(++failing))) << failing;
    while (failed);
    EXPECT_GT(failing, 5u);  // those of the beams
}

}  // namespace
}  // namespace gs
