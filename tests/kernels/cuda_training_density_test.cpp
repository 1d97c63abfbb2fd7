// Rounds of density control on the emulated device against the CPU's, row for row.
#include <gtest/gtest.h>

#include <cmath>

#include "app/cli/cases/runs.h"
#include "tests/kernels/cuda_training_scene.h"
#include "tests/support/emulator/emulator.h"

namespace gs {
namespace {

using test::cuda_training;

struct After {
    DensityReport report;
    RunArrays arrays;
};
After round(std::unique_ptr<TrainingBackend> backend, RunArrays arrays,
            const TrainingSettings& settings, bool prune_large) {
    // Those that busy_run() knows nothing of.
    test::number_rows(arrays, [](const RowArray& array) {
        return array.section != kModelSection && array.layout != RowArray::moments &&
               array.round != RowArray::cleared;
    });
    backend->start(test::small_capture(20, 20, 20), std::move(arrays));
    return {.report = backend->densify_and_prune(settings, 1.0, prune_large),
            .arrays = backend->arrays()};
}

float moment(const RunArrays& a, std::size_t row, int plane) {
    const std::size_t per_block = static_cast<std::size_t>(a.model.planes()) * 2 * kBlock;
    return a.adam.moments[row / kBlock * per_block + static_cast<std::size_t>(plane) * kBlock +
                          row % kBlock];
}

void compare(const After& cpu, const After& device) {
    EXPECT_EQ(device.report.cloned, cpu.report.cloned);
    EXPECT_EQ(device.report.split, cpu.report.split);
    EXPECT_EQ(device.report.pruned, cpu.report.pruned);
    EXPECT_EQ(device.report.wanted, cpu.report.wanted);
    const GaussianModel &a = cpu.arrays.model, &b = device.arrays.model;
    ASSERT_EQ(b.count, a.count);
    EXPECT_EQ(b.capacity, a.capacity);
    EXPECT_EQ(device.arrays.adam.base, cpu.arrays.adam.base);
    EXPECT_EQ(device.arrays.adam.pending, cpu.arrays.adam.pending);
    const auto near = [&](const RowArray& array, std::size_t, const auto& x, const auto& y) {
        const bool model = array.section == kModelSection;
        const double moment = array.layout == RowArray::moments ? 1e-7 : 0;
        for (std::size_t i = 0; i < a.capacity; ++i) {
            const auto truth = static_cast<double>(x[i]), got = static_cast<double>(y[i]);
            if (std::isnan(truth) && std::isnan(got)) continue;
            ASSERT_NEAR(got, truth, model ? 2e-5 * (1 + std::abs(truth)) : moment) << "row " << i;
        }
    };
    test::each_column(near, cpu.arrays, device.arrays);
}

TrainingSettings settings_of(double limit) {
    TrainingSettings s;
    s.max_gaussians = limit;
    s.densify_extent = 0.02;
    s.prune_extent = 0.2;
    s.prune_screen_px = 25;
    return s;
}

TEST(CudaDensity, RowForRowAsOnTheCpu) {
    for (const std::size_t count : {1u, 15u, 330u, 900u})
        for (const double limit : {5000.0, 340.0})
            for (const bool large : {false, true}) {
                SCOPED_TRACE(fmt::format("{} rows, limit {}, {}", count, limit, large));
                const After cpu =
                    round(make_cpu_training(), cli::busy_run(count, 3), settings_of(limit), large);
                compare(cpu,
                        round(cuda_training(), cli::busy_run(count, 3), settings_of(limit), large));
            }
}

TEST(CudaDensity, AnEmptyRoundKeepsTheModel) {
    RunArrays faint = cli::busy_run(50, 1);
    for (std::size_t i = 0; i < 50; ++i) faint.model.at(kOpacityLogits, i) = -9.0f;
    compare(round(make_cpu_training(), faint, settings_of(1000), false),
            round(cuda_training(), faint, settings_of(1000), false));
}

TEST(CudaDensity, SameBitsInAnySchedule) {
    const After first = round(cuda_training(), cli::busy_run(300, 5), settings_of(400), true);
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
        emulator::set_seed(seed);
        EXPECT_TRUE(test::same_arrays(
            first.arrays,
            round(cuda_training(), cli::busy_run(300, 5), settings_of(400), true).arrays));
    }
}

TEST(CudaDensity, ExhaustedMemoryKeepsTheRun) {
    // Every allocation of a round in turn.
    const RunArrays arrays = cli::busy_run(330, 3);
    bool succeeded = false;
    int refused = 0;
    for (std::uint64_t n = 1; n < 60 && !succeeded; ++n) {
        auto backend = cuda_training();
        backend->start(test::small_capture(20, 20, 20), arrays);
        emulator::fail_device_allocation(n);
        const DensityReport report = backend->densify_and_prune(settings_of(5000), 1.0, false);
        emulator::fail_device_allocation(0);
        const RunArrays after = backend->arrays();
        succeeded = !report.out_of_memory;
        refused += report.out_of_memory;
        EXPECT_LE(after.model.count, after.model.capacity);
        EXPECT_GE(after.model.count, 200u);
        if (report.out_of_memory) {
            EXPECT_NE(report.why.find("last good step kept"), std::string::npos) << report.why;
            EXPECT_NE(report.why.find("out of device memory"), std::string::npos) << report.why;
            EXPECT_EQ(after.model.capacity, arrays.model.capacity) << "nothing fails once it grew";
        }
        // The run continues as if no growth had been requested, or with the Gaussians that fit.
        const GaussianModel model = backend->model();
        EXPECT_EQ(model.count, after.model.count);
    }
    EXPECT_TRUE(succeeded);
    EXPECT_GT(refused, 5);
}

TEST(CudaDensity, OpacityResetAsOnTheCpu) {
    const auto reset = [](std::unique_ptr<TrainingBackend> backend) {
        backend->start(test::small_capture(20, 20, 20), cli::busy_run(200, 2));
        backend->reset_opacity();
        return backend->arrays();
    };
    const RunArrays cpu = reset(make_cpu_training()), device = reset(cuda_training());
    for (std::size_t i = 0; i < 200; ++i) {
        EXPECT_NEAR(device.model.at(kOpacityLogits, i), cpu.model.at(kOpacityLogits, i), 1e-5f);
        EXPECT_EQ(moment(device, i, 2 * kOpacityLogits), 0.0f);
        EXPECT_EQ(moment(device, i, 2 * kOpacityLogits + 1), 0.0f);
        EXPECT_NEAR(moment(device, i, 2 * kSh0), moment(cpu, i, 2 * kSh0), 1e-8f);
    }
}

}  // namespace
}  // namespace gs
