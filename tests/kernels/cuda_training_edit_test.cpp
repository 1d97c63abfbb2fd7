// Edited runs on the emulated device: ids and locks row for row as on the CPU, edits in place.
#include <gtest/gtest.h>

#include <cmath>

#include "renderer/device/device_error.h"
#include "tests/kernels/cuda_training_scene.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/temporary_folder.h"
#include "trainer/density/run_edit.h"

namespace gs {
namespace {

using test::cuda_training;

/// A settled run in which every fourth row is pulled, half of those being large; rows 0, 8, 16, ...
/// are locked.
RunArrays pulled_arrays(std::size_t count) {
    RunArrays arrays = new_run(GaussianModel(count, 1, padded_capacity(count)));
    std::vector<std::uint32_t> locked;
    for (std::size_t row = 0; row < count; ++row) {
        const auto i = static_cast<float>(row);
        arrays.model.at(kMeans, row) = std::cos(i);
        arrays.model.at(kMeans + 1, row) = std::sin(2 * i);
        arrays.model.at(kMeans + 2, row) = 0.01f * i;
        arrays.model.at(kOpacityLogits, row) = row % 7 == 5 ? -9.0f : 2.0f;
        for (int axis = 0; axis < 3; ++axis)
            arrays.model.at(kLogScales + axis, row) = row % 8 == 4 ? -2.0f : -6.0f;
        arrays.statistics.gradient_sum[row] = row % 4 == 0 ? 1.0f + i : 0.0f;
        arrays.statistics.views[row] = 1;
        if (row % 8 == 0) locked.push_back(static_cast<std::uint32_t>(row));
    }
    lock_rows(arrays, locked, true);
    return arrays;
}

RunArrays after_a_round(std::unique_ptr<TrainingBackend> backend, std::size_t count,
                        const TrainingSettings& settings) {
    backend->start(test::small_capture(20, 20, 20), pulled_arrays(count));
    backend->densify_and_prune(settings, 1.0, false);
    backend->reset_opacity();
    return backend->arrays();
}

TEST(CudaTrainingEdit, IdsLocksAndTheCropBoxAsOnTheCpu) {
    for (const std::size_t count : {16u, 330u})
        for (const double limit : {5000.0, 340.0})
            for (const bool crop : {false, true}) {
                SCOPED_TRACE(fmt::format("{} rows, limit {}, {}", count, limit, crop));
                TrainingSettings settings;
                settings.max_gaussians = limit;
                const auto box = ClipBox{{-0.5f, -2, -2}, {2, 2, 2}};
                for (const auto& [name, value] :
                     crop_values(crop ? std::optional(box) : std::nullopt)) {
                    ASSERT_TRUE(set_setting(settings, name, value));
                }
                const RunArrays cpu = after_a_round(make_cpu_training(), count, settings),
                                device = after_a_round(cuda_training(), count, settings);
                ASSERT_EQ(device.model.count, cpu.model.count);
                EXPECT_EQ(device.identity.book, cpu.identity.book);
                if (count > 100) {
                    EXPECT_GT(cpu.identity.book.next, count) << "nobody was born";
                }
                ASSERT_EQ(device.identity.tags.size(), cpu.identity.tags.size());
                for (std::size_t row = 0; row < cpu.identity.tags.size(); ++row)
                    ASSERT_EQ(device.identity.tags[row], cpu.identity.tags[row]) << "row " << row;
                EXPECT_TRUE(device.identity.plausible(device.model.count, 0));
                // Locked ones are all there, as they were.
                std::size_t locked = 0;
                for (std::size_t row = 0; row < device.model.count; ++row) {
                    const std::uint32_t tag = device.identity.tags[row];
                    locked += locked_tag(tag);
                    if (!locked_tag(tag)) {
                        EXPECT_LT(device.model.at(kOpacityLogits, row), -4.0f);
                    } else {
                        const float was = id_of_tag(tag) % 7 == 5 ? -9.0f : 2.0f;
                        EXPECT_EQ(device.model.at(kOpacityLogits, row), was);
                    }
                }
                EXPECT_EQ(locked, (count + 7) / 8);
            }
}

TEST(CudaTrainingEdit, LockedOnesKeepTheirBits) {
    auto backend = cuda_training();
    TrainingBackend* device = backend.get();
    const auto trainer = test::trainer_on(std::move(backend), test::small_capture(24, 20, 100),
                                          test::busy_settings());
    for (int i = 0; i < 6; ++i) trainer->step();
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 1; row < trainer->gaussian_count(); row += 2) rows.push_back(row);
    trainer->edit([&](RunArrays& arrays) { lock_rows(arrays, rows, true); });
    const RunArrays before = device->arrays();
    for (int i = 0; i < 14; ++i) trainer->step();
    const RunArrays after = device->arrays();
    std::size_t found = 0, moved = 0;
    for (std::size_t row = 0; row < after.model.count; ++row)
        for (std::size_t old = 0; old < before.model.count; ++old) {
            if (after.identity.tags[row] != before.identity.tags[old]) continue;
            for (int p = 0; p < after.model.planes(); ++p) {
                const bool same = after.model.at(p, row) == before.model.at(p, old);
                moved += !same;
                if (locked_tag(before.identity.tags[old])) {
                    ASSERT_TRUE(same) << "plane " << p;
                }
            }
            found += locked_tag(before.identity.tags[old]);
        }
    EXPECT_EQ(found, rows.size());
    EXPECT_GT(moved, 0u);
}

TEST(CudaTrainingEdit, RowsTakenAndAddedAsOnTheCpu) {
    const auto change = [](RunArrays& arrays) {
        (void)take_rows(arrays, std::vector<std::uint32_t>{0, 3, 17, 18});
        GaussianModel more(200, arrays.model.sh_degree);  // more than the capacity
        for (std::size_t i = 0; i < 200; ++i) {
            more.at(kMeans, i) = 0.002f * static_cast<float>(i);
            more.at(kOpacityLogits, i) = -1;
            for (int axis = 0; axis < 3; ++axis) more.at(kLogScales + axis, i) = -4;
        }
        append_rows(arrays, more);
    };
    const auto capture = test::small_capture(24, 20, 100);
    auto cpu_backend = make_cpu_training(), device_backend = cuda_training();
    TrainingBackend *cpu = cpu_backend.get(), *device = device_backend.get();
    const auto on_cpu = test::trainer_on(std::move(cpu_backend), capture, test::busy_settings()),
               on_device =
                   test::trainer_on(std::move(device_backend), capture, test::busy_settings());
    for (Trainer* trainer : {on_cpu.get(), on_device.get()}) {
        for (int i = 0; i < 4; ++i) trainer->step();
        trainer->edit(change);
    }
    const RunArrays a = cpu->arrays(), b = device->arrays();
    EXPECT_EQ(b.model.capacity, a.model.capacity);
    EXPECT_EQ(on_device->identity().ids(), on_cpu->identity().ids());
    EXPECT_EQ(b.identity.book, a.identity.book);
    for (int i = 0; i < 4; ++i)
        for (Trainer* trainer : {on_cpu.get(), on_device.get()}) trainer->step();
    EXPECT_EQ(on_device->steps_done(), 8u);
    EXPECT_LT(test::share_without_twin(on_cpu->model(), on_device->model(), 0.02), 0.05);
}

TEST(CudaTrainingEdit, WithoutMemoryForTheEditTheRunIsAsItWas) {
    const auto capture = test::small_capture(20, 20, 60);
    bool done = false;
    for (std::uint64_t n = 1; n < 30 && !done; ++n) {
        auto backend = cuda_training();
        TrainingBackend* device = backend.get();
        const auto trainer = test::trainer_on(std::move(backend), capture, test::busy_settings());
        trainer->step();
        trainer->edit([](RunArrays&) {});
        const RunArrays before = device->arrays();
        emulator::fail_device_allocation(n);
        try {
            trainer->edit([](RunArrays& arrays) {
                append_rows(arrays, GaussianModel(400, arrays.model.sh_degree));
            });
            done = true;
        } catch (const DeviceError& error) {
            EXPECT_TRUE(error.out_of_memory());
        }
        emulator::fail_device_allocation(0);
        if (!done) {
            EXPECT_TRUE(test::same_arrays(before, device->arrays()));
        }
        trainer->step();
    }
    EXPECT_TRUE(done);
}

/// A run that grows to 90 Gaussians and keeps 60 when growth ends after 25 steps.
TrainingSettings overgrown() {
    TrainingSettings settings = test::busy_settings();
    settings.strategy = StrategyKind::budget;
    settings.steps = 35;
    settings.densify_every = 5;
    settings.densify_until = 26;
    settings.opacity_reset_every = 0;
    settings.max_gaussians = 60;
    settings.overgrow = 1.5;
    return settings;
}

TEST(CudaTrainingEdit, ABudgetIsReducedToTheSameGaussiansAsOnTheCpu) {
    const auto capture = test::small_capture(20, 20, 40);
    const auto before = test::trainer_on(make_cpu_training(), capture, overgrown());
    while (before->steps_done() < 24) before->step();
    ASSERT_GT(before->gaussian_count(), 80u);
    const test::TemporaryFolder folder;
    const fs::path file = folder / "reduced.ckpt";
    ASSERT_TRUE(before->save_checkpoint(file));
    const auto cpu = std::move(*Trainer::resume(file, capture, make_cpu_training())),
               device = std::move(*Trainer::resume(file, capture, cuda_training()));
    EXPECT_EQ(cpu->step().round.reduced, device->step().round.reduced);
    EXPECT_EQ(cpu->gaussian_count(), 60u);
    EXPECT_EQ(device->identity().ids(), cpu->identity().ids());
    EXPECT_LT(test::share_without_twin(cpu->model(), device->model(), 1e-3), 0.02);
    while (!device->finished()) device->step();
    EXPECT_EQ(device->gaussian_count(), 60u);
}

TEST(CudaTrainingEdit, WithoutMemoryForTheReductionItIsTriedAgain) {
    const auto capture = test::small_capture(20, 20, 40);
    const test::TemporaryFolder folder;
    const fs::path file = folder / "grown.ckpt";
    {
        const auto grown = test::trainer_on(cuda_training(), capture, overgrown());
        while (grown->steps_done() < 22) grown->step();
        ASSERT_TRUE(grown->save_checkpoint(file));
    }
    std::size_t failed = 0;
    for (std::uint64_t n = 1; n < 20; n += 3) {
        const auto trainer = std::move(*Trainer::resume(file, capture, cuda_training()));
        while (trainer->steps_done() < 24) trainer->step();
        emulator::fail_device_allocation(n);
        const StepReport report = trainer->step();
        emulator::fail_device_allocation(0);
        failed += report.round.reduced == 0;
        EXPECT_EQ(report.gaussians, report.round.reduced == 0 ? 88u : 60u);
        while (!trainer->finished()) trainer->step();
        EXPECT_EQ(trainer->gaussian_count(), 60u) << n;
    }
    EXPECT_GT(failed, 0u);
}

}  // namespace
}  // namespace gs
