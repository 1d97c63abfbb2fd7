// The sky behind the Gaussians, learned on the emulated device: beside the CPU's, alone and in
// batches, through lenses, in any schedule, resumed on the other backend.
#include <gtest/gtest.h>

#include "base/comparison.h"
#include "tests/kernels/cuda_training_scene.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

using test::cuda_training;
using test::trainer_on;

TrainingSettings settings_of(SkyKind kind, double batch = 1) {
    TrainingSettings settings = test::busy_settings();
    settings.sky = kind;
    settings.batch = batch;
    settings.lr_sky = 0.01;
    return settings;
}
std::shared_ptr<Capture> mixed_capture() {
    const auto capture = test::small_capture(30, 26, 120);
    Camera& bent = capture->views[3].camera;
    bent.model = CameraModel::opencv_fisheye;
    bent.distortion[0] = 0.03;
    return capture;
}
double apart(const Sky& a, const Sky& b) {
    EXPECT_EQ(a.degree, b.degree);
    const ComparisonRow row = compare({"", 0, Measure::of_largest}, std::span<const float>(a.sh),
                                      std::span<const float>(b.sh));
    EXPECT_GT(row.size, 0);
    return row.figure();
}

TEST(CudaSky, LearnsWhatTheCpuLearns) {
    const auto capture = mixed_capture();
    for (const auto& [kind, batch] :
         {std::pair{SkyKind::constant, 1.0}, {SkyKind::sh3, 1.0}, {SkyKind::sh2, 3.0}}) {
        SCOPED_TRACE(static_cast<int>(kind));
        const auto cpu = trainer_on(make_cpu_training(), capture, settings_of(kind, batch)),
                   device = trainer_on(cuda_training(), capture, settings_of(kind, batch));
        // Until the first density round they differ by rounding alone.
        for (int step = 0; step < 5; ++step) {
            cpu->step();
            device->step();
        }
        EXPECT_LT(apart(cpu->model().sky, device->model().sky), 1e-3);
        RenderResult a, b;
        cpu->render(capture->views[0].camera, cpu->render_options(), a);
        device->render(capture->views[0].camera, device->render_options(), b);
        const ComparisonRow color =
            compare({"", 0, Measure::of_largest}, std::as_const(a.color.values).span(),
                    std::as_const(b.color.values).span());
        EXPECT_LT(color.figure(), 1e-2);
        EXPECT_NEAR(cpu->evaluate({0}).psnr, device->evaluate({0}).psnr, 0.05);
    }
}

TEST(CudaSky, SameBitsInAnySchedule) {
    const auto capture = mixed_capture();
    const auto run = [&](std::uint64_t seed, bool deferred) {
        test::schedule(seed, deferred);
        const auto trainer = trainer_on(cuda_training(), capture, settings_of(SkyKind::sh3, 2));
        for (int step = 0; step < 12; ++step) trainer->step();
        return trainer->snapshot();
    };
    const auto first = run(1, false), second = run(2, true);
    test::schedule(0, false);
    EXPECT_TRUE(test::same_arrays(first->arrays, second->arrays));
    EXPECT_FALSE(first->arrays.model.sky.empty());
}

TEST(CudaSky, ACheckpointGoesOnOnTheOtherBackend) {
    const test::TemporaryFolder folder;
    const auto capture = mixed_capture();
    const auto device = trainer_on(cuda_training(), capture, settings_of(SkyKind::sh1));
    for (int step = 0; step < 5; ++step) device->step();
    ASSERT_TRUE(device->save_checkpoint(folder / "device.gsc"));
    auto cpu = required(Trainer::resume(folder / "device.gsc", capture, make_cpu_training()));
    EXPECT_TRUE(test::same_arrays(device->snapshot()->arrays, cpu->snapshot()->arrays));
    device->step();
    cpu->step();
    EXPECT_LT(apart(device->model().sky, cpu->model().sky), 2e-3);
    EXPECT_NE(device->model().sky, Sky());
}

}  // namespace
}  // namespace gs
