// A short real run: the fox capture, small, from its sparse points to a picture one recognises.
#include <gtest/gtest.h>

#include "renderer/io/captures/capture_io.h"
#include "tests/support/data.h"
#include "tests/support/required.h"
#include "trainer/trainer.h"

namespace gs {
namespace {

TEST(TrainFox, ShortRunLearnsTheScene) {
    GS_NEED_DATA("captures/fox");
    auto capture = required(load_capture(test::data_path("captures/fox"), {.downscale = 6}));
    const auto shared = std::make_shared<const Capture>(std::move(capture));
    const std::vector<std::size_t> held_out = shared->view_indices(true);
    ASSERT_FALSE(held_out.empty());
    const double steps = 150;
    auto trainer = required(
        Trainer::create(shared, scaled_to_steps(TrainingSettings{}, steps), make_cpu_training()));
    const Evaluation before = trainer->evaluate(held_out);
    while (!trainer->finished()) trainer->step();
    const Evaluation after = trainer->evaluate(held_out);
    RecordProperty("psnr", std::to_string(after.psnr));
    std::printf("fox, %.0f steps: PSNR %.2f -> %.2f dB, SSIM %.3f -> %.3f\n", steps, before.psnr,
                after.psnr, before.ssim, after.ssim);
    EXPECT_GT(after.psnr, 18.0);
    EXPECT_GT(after.psnr, before.psnr + 6.0);
    EXPECT_GT(after.ssim, before.ssim + 0.2);
}

}  // namespace
}  // namespace gs
