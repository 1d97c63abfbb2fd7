// Exposure and colour of photos on the emulated device: beside the CPU's, in any schedule, resumed
// on the other backend. Single steps of more shapes are among the directed cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/kernels/cuda_training_scene.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/spoilt_photos.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

using test::cpu_training;
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
    settings.appearance = static_cast<double>(mode);
    settings.lr_appearance = 0.02;
    settings.appearance_from = 2;
    return settings;
}
/// The largest difference of what two backends learned: of values, relative to the largest value,
/// and of first moments, relative to the largest moment. A value whose gradients stay below a
/// thousandth of the largest of its kind (photos', cameras') is compared by its moments only:
/// Adam's steps are as long where a gradient's sign is rounding as anywhere else. Rounding is a
/// share of the largest gradient, so up to a hundredth of it what a step is off by shrinks as the
/// gradient grows, and counts for less the smaller that is.
double apart(const AppearanceState& a, const AppearanceState& b, const Capture& capture) {
    const std::size_t n = b.values.size(), cameras = AppearanceRows(capture).camera_at(0);
    if (cameras > n || a.values.size() != n || a.moments.size() != 2 * n ||
        b.moments.size() != 2 * n)
        return HUGE_VAL;
    const auto gradient = [&](std::size_t i) {
        return std::sqrt(std::max<double>(a.moments[n + i], b.moments[n + i]));
    };
    struct Share {
        double worst = 0, largest = 0;
        void add(double x, double y, double weight = 1) {
            worst = std::max(worst, weight * std::abs(x - y));
            largest = std::max(largest, std::abs(y));
        }
        double value() const { return worst == 0 ? 0 : worst / largest; }
    };
    Share values;
    double moments = 0;
    std::size_t learned = 0, compared = 0;
    for (const auto& [begin, end] : {std::pair(std::size_t{0}, cameras), std::pair(cameras, n)}) {
        Share of_kind;
        double largest = 0;
        for (std::size_t i = begin; i < end; ++i) {
            largest = std::max(largest, gradient(i));
            of_kind.add(a.moments[i], b.moments[i]);
        }
        moments = std::max(moments, of_kind.value());
        for (std::size_t i = begin; i < end; ++i) {
            const bool clear = gradient(i) > 1e-3 * largest;
            learned += gradient(i) > 0;
            compared += clear;
            if (clear || gradient(i) == 0)
                values.add(a.values[i], b.values[i],
                           clear ? std::min(1.0, gradient(i) / (1e-2 * largest)) : 1);
        }
    }
    EXPECT_GT(values.largest, 0);
    EXPECT_GT(compared, learned / 2);
    return std::max(values.value(), moments);
}
bool same_bits(const AppearanceState& a, const AppearanceState& b) {
    return std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end()) &&
           std::equal(a.moments.begin(), a.moments.end(), b.moments.begin(), b.moments.end());
}

TEST(CudaAppearance, LearnsWhatTheCpuLearns) {
    const auto capture = spoilt_capture();
    for (const AppearanceMode mode : {AppearanceMode::exposure, AppearanceMode::ppisp}) {
        const auto cpu = trainer_on(cpu_training(), capture, settings_of(mode)),
                   device = trainer_on(cuda_training(), capture, settings_of(mode));
        for (int step = 0; step < 8; ++step) {
            cpu->step();
            device->step();
        }
        EXPECT_LT(apart(device->appearance(), cpu->appearance(), *capture), 2e-3);
        EXPECT_LT(test::share_without_twin(cpu->model(), device->model(), 0.03), 0.05);
        const Evaluation a = cpu->evaluate({0}), b = device->evaluate({0});
        EXPECT_NEAR(a.psnr, b.psnr, 0.05);
        EXPECT_NEAR(a.psnr_fitted, b.psnr_fitted, 0.05);
    }
}

TEST(CudaAppearance, SameBitsInAnySchedule) {
    const auto capture = spoilt_capture();
    const auto run = [&](std::uint64_t seed, bool deferred) {
        emulator::set_seed(seed);
        emulator::set_execution(deferred ? emulator::Execution::deferred
                                         : emulator::Execution::eager);
        emulator::set_event_lag(deferred ? 3 : 0);
        const auto trainer =
            trainer_on(cuda_training(), capture, settings_of(AppearanceMode::ppisp));
        for (int step = 0; step < 12; ++step) trainer->step();
        return trainer->appearance();
    };
    const AppearanceState first = run(1, false), second = run(2, true);
    emulator::set_execution(emulator::Execution::eager);
    emulator::set_event_lag(0);
    emulator::set_seed(0);
    EXPECT_TRUE(same_bits(first, second));
}

TEST(CudaAppearance, ACheckpointGoesOnOnTheOtherBackend) {
    const test::TemporaryFolder folder;
    const auto capture = spoilt_capture();
    const auto device = trainer_on(cuda_training(), capture, settings_of(AppearanceMode::ppisp));
    for (int step = 0; step < 5; ++step) device->step();
    ASSERT_TRUE(device->save_checkpoint(folder / "device.gsc"));
    auto cpu = Trainer::resume(folder / "device.gsc", capture, cpu_training());
    ASSERT_TRUE(cpu) << cpu.error().text();
    EXPECT_TRUE(same_bits(device->appearance(), (*cpu)->appearance()));
    device->step();
    (*cpu)->step();
    EXPECT_LT(apart(device->appearance(), (*cpu)->appearance(), *capture), 2e-3);
}

}  // namespace
}  // namespace gs
