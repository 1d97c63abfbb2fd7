// Exposure and colour of photos on the emulated device: beside the CPU's, in any schedule, resumed
// on the other backend. Single steps of more shapes are among the directed cases.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/comparison.h"
#include "tests/kernels/cuda_training_scene.h"
#include "tests/support/spoilt_photos.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

using test::cuda_training;
using test::trainer_on;

std::shared_ptr<Capture> spoilt_capture() {
    const auto capture = test::small_capture(30, 26, 120);
    spoil_photos(*capture, {.stops = 0.9, .balance = 0.2, .vignette = 0.3, .gamma = 0.9});
    capture->views[2].mask = Image8{30, 26, 1, std::vector<std::uint8_t>(30 * 26, 255)};
    for (std::size_t i = 0; i < 300; ++i) capture->views[2].mask.bytes[i] = 0;
    return capture;
}
TrainingSettings settings_of(AppearanceMode mode) {
    TrainingSettings settings = test::busy_settings();
    settings.appearance = mode;
    settings.lr_appearance = 0.02;
    settings.appearance_from = 2;
    return settings;
}
double apart(const AppearanceState& a, const AppearanceState& b) {
    const ComparisonRow row = compare({"", 0, Measure::of_largest}, a.values, b.values);
    EXPECT_GT(row.size, 0);
    return row.figure();
}
bool same_bits(const AppearanceState& a, const AppearanceState& b) {
    return std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end()) &&
           std::equal(a.moments.begin(), a.moments.end(), b.moments.begin(), b.moments.end());
}

TEST(CudaAppearance, LearnsWhatTheCpuLearns) {
    const auto capture = spoilt_capture();
    for (const AppearanceMode mode : {AppearanceMode::exposure, AppearanceMode::ppisp}) {
        const auto cpu = trainer_on(make_cpu_training(), capture, settings_of(mode)),
                   device = trainer_on(cuda_training(), capture, settings_of(mode));
        const auto step_both = [&] {
            cpu->step();
            device->step();
        };
        // Until the first density round they differ by rounding alone; that may then decide which
        // Gaussians it grows.
        for (int step = 0; step < 7; ++step) step_both();
        EXPECT_LT(apart(cpu->backend().appearance(), device->backend().appearance()), 2e-4);
        step_both();
        EXPECT_LT(test::share_without_twin(cpu->model(), device->model(), 0.03), 0.05);
        const Evaluation a = cpu->evaluate({0}), b = device->evaluate({0});
        EXPECT_NEAR(a.psnr, b.psnr, 0.05);
        EXPECT_NEAR(a.psnr_fitted, b.psnr_fitted, 0.05);
    }
}

TEST(CudaAppearance, SameBitsInAnySchedule) {
    const auto capture = spoilt_capture();
    const auto run = [&](std::uint64_t seed, bool deferred) {
        test::schedule(seed, deferred);
        const auto trainer =
            trainer_on(cuda_training(), capture, settings_of(AppearanceMode::ppisp));
        for (int step = 0; step < 12; ++step) trainer->step();
        return trainer->backend().appearance();
    };
    const AppearanceState first = run(1, false), second = run(2, true);
    test::schedule(0, false);
    EXPECT_TRUE(same_bits(first, second));
}

TEST(CudaAppearance, ACheckpointGoesOnOnTheOtherBackend) {
    const test::TemporaryFolder folder;
    const auto capture = spoilt_capture();
    const auto device = trainer_on(cuda_training(), capture, settings_of(AppearanceMode::ppisp));
    for (int step = 0; step < 5; ++step) device->step();
    ASSERT_TRUE(device->save_checkpoint(folder / "device.gsc"));
    auto cpu = required(Trainer::resume(folder / "device.gsc", capture, make_cpu_training()));
    EXPECT_TRUE(same_bits(device->backend().appearance(), cpu->backend().appearance()));
    device->step();
    cpu->step();
    EXPECT_LT(apart(device->backend().appearance(), cpu->backend().appearance()), 2e-3);
}

}  // namespace
}  // namespace gs
