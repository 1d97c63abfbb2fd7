// Photos that are sent with their steps: the bits of a run whose photos all lie on the device, also
// where steps are carried out again.
#include <gtest/gtest.h>

#include "renderer/io/captures/photo_stream.h"
#include "tests/kernels/cuda_training_scene.h"
#include "tests/support/emulator/emulator.h"

namespace gs {
namespace {

/// The same capture with streamed photos; memory for one and a half of them remains.
std::shared_ptr<Capture> without_its_photos(const std::shared_ptr<Capture>& whole) {
    std::vector<PhotoStream::Known> known;
    for (const View& view : whole->views)
        known.push_back({view.name, view.photo.width, view.photo.height,
                         view.photo.bytes.size() + view.mask.bytes.size()});
    const std::uint64_t room = known[0].bytes * 3 / 2;
    auto out = std::make_shared<Capture>(*whole);
    out->source = std::make_shared<PhotoStream>(
        std::move(known),
        [whole](std::size_t i) -> Result<PhotoPixels> {
            return PhotoPixels{whole->views[i].photo, whole->views[i].mask};
        },
        room, 1);
    for (std::size_t i = 0; i < out->views.size(); ++i) {
        out->views[i].photo.bytes = std::vector<std::uint8_t>();
        out->views[i].mask = Image8();
        out->views[i].source = out->source;
        out->views[i].number = i;
    }
    return out;
}

TEST(CudaTrainingPhotos, SentWithTheirStepsGiveTheSameBits) {
    const auto here = test::small_capture();
    here->views[3].mask = Image8{40, 36, 1, std::vector<std::uint8_t>(40 * 36, 255)};
    std::fill_n(here->views[3].mask.bytes.begin(), 500, std::uint8_t{0});
    const auto elsewhere = without_its_photos(here);
    for (const double batch : {1.0, 2.0}) {
        TrainingSettings settings = test::busy_settings();
        settings.batch = batch;
        auto of_a = test::cuda_training(), of_b = test::cuda_training();
        const TrainingBackend &a_runs = *of_a, &b_runs = *of_b;
        const auto a = test::trainer_on(std::move(of_a), here, settings),
                   b = test::trainer_on(std::move(of_b), elsewhere, settings);
        std::uint64_t told_a = 0, told_b = 0;
        for (int step = 0; step < 12; ++step) {
            told_a += a->step().measured_step;
            told_b += b->step().measured_step;
        }
        EXPECT_EQ(told_a, told_b);
        EXPECT_TRUE(test::same_arrays(a_runs.arrays(), b_runs.arrays()));
        EXPECT_EQ(a->evaluate({0}).psnr, b->evaluate({0}).psnr);
        const auto photos = [](const Trainer& of, bool device) {
            for (const MemoryUse& use : of.memory())
                if (use.category == "photos" && use.device == device) return use.bytes;
            return std::uint64_t{0};
        };
        EXPECT_LT(photos(*b, true), photos(*a, true) / 2);
        EXPECT_LT(photos(*b, false), photos(*a, false) / 2);
    }
}

// Their size changes while steps are under way.
TEST(CudaTrainingPhotos, GrowOnTheWayAsOnTheCpu) {
    const auto here = test::small_capture(512, 516);
    const auto elsewhere = without_its_photos(here);
    TrainingSettings settings = test::busy_settings();
    settings.densify_every = 3;
    settings.densify_until = 0;  // rounds differ where a gradient is at its limit
    settings.coarse_until = 6;
    auto of_a = test::cuda_training(), of_b = test::cuda_training();
    const TrainingBackend &a_runs = *of_a, &b_runs = *of_b;
    const auto a = test::trainer_on(std::move(of_a), here, settings),
               b = test::trainer_on(std::move(of_b), elsewhere, settings),
               cpu = test::trainer_on(make_cpu_training(), here, settings);
    std::vector<double> losses, on_device(12, kNotMeasured);
    for (int step = 0; step < 12; ++step) {
        const StepReport report = a->step();
        if (report.measured_step > 0) on_device.at(report.measured_step - 1) = report.loss;
        b->step();
        losses.push_back(cpu->step().loss);
    }
    EXPECT_TRUE(test::same_arrays(a_runs.arrays(), b_runs.arrays()));
    for (std::size_t i = 0; i < 8; ++i)
        EXPECT_NEAR(on_device[i], losses[i], 1e-4) << "step " << i + 1;
}

}  // namespace
}  // namespace gs
