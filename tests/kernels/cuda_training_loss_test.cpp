// The device's loss kernel against the CPU's, and Adam's scalar formulas against the CPU's blocks.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/comparison.h"
#include "base/rng.h"
#include "renderer/math/adam.h"
#include "tests/support/emulator/emulator.h"
#include "trainer/adam/adam_tables.h"
#include "trainer/cuda/loss.h"
#include "trainer/loss/loss.h"

namespace gs {
namespace {

struct DeviceLoss {
    cuda::StepResult result;
    ImageF gradient;
    cuda::RunFlags flags;
};

DeviceLoss device_loss(const ImageF& picture, const Image8& photo, const Image8& mask,
                       double lambda, bool overflow = false) {
    const cuda::Stream stream("loss");
    cuda::DeviceBuffer<float> pixels("picture"), gradient("gradient");
    cuda::DeviceBuffer<std::uint8_t> photo_bytes("photo"), mask_bytes("mask");
    pixels.upload(picture.values.span(), stream);
    gradient.resize_discard(picture.values.size(), stream);
    photo_bytes.upload(photo.bytes, stream);
    mask_bytes.upload(mask.bytes, stream);
    double counted = static_cast<double>(photo.pixels());
    for (const std::uint8_t m : mask.bytes) counted -= m == 0 ? 1 : 0;
    cuda::LossInputs in{};
    in.photo = photo_bytes.data();
    in.mask = mask.empty() ? nullptr : mask_bytes.data();
    in.width = picture.width;
    in.height = picture.height;
    in.samples = std::max(1.0, 3 * counted);
    in.lambda_dssim = lambda;
    in.l1_scale = static_cast<float>((1 - lambda) / in.samples);
    in.ssim_scale = static_cast<float>(-lambda / in.samples);
    cuda::DeviceBuffer<cuda::LossInputs> inputs("inputs");
    inputs.upload({&in, 1}, stream);
    cuda::FrameCounts count{};
    count.overflow = overflow ? 1 : 0;
    cuda::DeviceBuffer<cuda::FrameCounts> counts("counts");
    counts.upload({&count, 1}, stream);
    DeviceLoss out{{}, ImageF(picture.width, picture.height, 3), {}};
    cuda::DeviceBuffer<cuda::RunFlags> flags("flags");
    flags.upload({&out.flags, 1}, stream);
    cuda::DeviceBuffer<cuda::LossPartial> partials("partials");
    partials.resize_discard(cuda::loss_blocks(picture.width, picture.height), stream);
    cuda::DeviceBuffer<cuda::StepResult> result("result");
    result.resize_discard(1, stream);
    cuda::launch_loss(stream, picture.width, picture.height,
                      {inputs.data(), pixels.data(), gradient.data(), partials.data(),
                       counts.data(), flags.data(), result.data()});
    result.download({&out.result, 1}, stream);
    flags.download({&out.flags, 1}, stream);
    gradient.download({out.gradient.values.data(), out.gradient.values.size()}, stream);
    stream.synchronize();
    return out;
}

ImageF random_picture(int width, int height, std::uint64_t seed) {
    ImageF picture(width, height, 3);
    for (std::size_t i = 0; i < picture.values.size(); ++i)
        picture.values[i] = 1.2f * random_uniform(seed, 1, i) - 0.1f;
    return picture;
}
/// Near the picture, so that SSIM is not close to zero everywhere.
Image8 photo_of(const ImageF& picture, std::uint64_t seed) {
    Image8 photo{picture.width, picture.height, 3, {}};
    for (std::size_t i = 0; i < picture.pixels(); ++i)
        for (int c = 0; c < 3; ++c)
            photo.bytes.push_back(static_cast<std::uint8_t>(std::clamp(
                255.0f * picture.plane(c)[i] + 40.0f * random_uniform(seed, 2, i) - 20.0f, 0.0f,
                255.0f)));
    return photo;
}
Image8 random_mask(int width, int height, std::uint64_t seed) {
    Image8 mask{width, height, 1, {}};
    for (std::size_t i = 0; i < mask.pixels(); ++i)
        mask.bytes.push_back(random_uniform(seed, 3, i / 7) < 0.3f ? 0 : 255);
    return mask;
}

void compare(int width, int height, bool masked, double lambda) {
    SCOPED_TRACE(
        fmt::format("{} x {}, {}, lambda {}", width, height, masked ? "masked" : "whole", lambda));
    const ImageF picture = random_picture(width, height, 7);
    const Image8 photo = photo_of(picture, 8),
                 mask = masked ? random_mask(width, height, 9) : Image8{};
    ImageF expected;
    const LossTerms terms = photo_loss(picture, photo, mask, lambda, &expected);
    const DeviceLoss got = device_loss(picture, photo, mask, lambda);
    EXPECT_NEAR(got.result.loss, terms.loss, 2e-6);
    EXPECT_NEAR(got.result.l1, terms.l1, 2e-6);
    EXPECT_NEAR(got.result.mse, terms.mse, 2e-6);
    EXPECT_NEAR(got.result.ssim, terms.ssim, 2e-6);
    EXPECT_EQ(got.flags.go, 1u);
    EXPECT_EQ(got.result.halted, 0u);
    const ComparisonRow gradient = compare({}, expected.values, got.gradient.values);
    EXPECT_LE(gradient.worst, 3e-5 * gradient.size + 1e-12);
}

TEST(CudaLoss, EqualsTheCpu) {
    for (const auto& [width, height] :
         {std::pair{1, 1}, {3, 2}, {7, 50}, {33, 17}, {65, 40}, {100, 9}})
        for (const bool masked : {false, true}) compare(width, height, masked, 0.2);
    compare(40, 21, false, 0.0);
    compare(40, 21, true, 1.0);
}

TEST(CudaLoss, SameBitsInAnySchedule) {
    const ImageF picture = random_picture(70, 37, 3);
    const Image8 photo = photo_of(picture, 4), mask = random_mask(70, 37, 5);
    const DeviceLoss first = device_loss(picture, photo, mask, 0.2);
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
        emulator::set_seed(seed);
        const DeviceLoss again = device_loss(picture, photo, mask, 0.2);
        EXPECT_EQ(first.result.loss, again.result.loss);
        EXPECT_EQ(0, std::memcmp(first.gradient.values.data(), again.gradient.values.data(),
                                 first.gradient.values.size() * sizeof(float)));
    }
}

TEST(CudaLoss, AllMaskedIsNothing) {
    const ImageF picture = random_picture(20, 20, 1);
    Image8 mask{20, 20, 1, std::vector<std::uint8_t>(400, 0)};
    const DeviceLoss got = device_loss(picture, photo_of(picture, 2), mask, 0.2);
    EXPECT_EQ(got.result.l1, 0);
    EXPECT_EQ(got.result.ssim, 0);
    for (const float g : got.gradient.values) EXPECT_EQ(g, 0.0f);
}

TEST(CudaLoss, PoisonStopsTheUpdateOverflowTheRun) {
    ImageF picture = random_picture(24, 20, 1);
    const Image8 photo = photo_of(picture, 2);
    picture.values[50] = std::nanf("");
    const DeviceLoss poisoned = device_loss(picture, photo, {}, 0.2);
    EXPECT_FALSE(std::isfinite(poisoned.result.loss));
    EXPECT_EQ(poisoned.flags.go, 0u);
    EXPECT_EQ(poisoned.flags.halted, 0u);
    const DeviceLoss full = device_loss(random_picture(24, 20, 1), photo, {}, 0.2, true);
    EXPECT_EQ(full.flags.go, 0u);
    EXPECT_EQ(full.flags.halted, 1u);
    EXPECT_EQ(full.result.halted, 1u);
}

TEST(AdamScalars, InverseRootsAreThoseOfDouble) {
    for (const float epsilon : {math::kAdamEpsilon, 3e-17f, 0.0f})
        for (double v = 2e-28; v < 1e37; v *= 1.37) {
            const auto stored = static_cast<float>(v);
            const double exact = math::inverse_root(static_cast<double>(stored), double{epsilon});
            // What the series leaves out, where epsilon counts at all.
            const double cut = std::pow(static_cast<double>(epsilon) * exact, 2);
            EXPECT_NEAR(math::inverse_root(stored, epsilon), exact, (5e-7 + 1.3 * cut) * exact)
                << v << ' ' << epsilon;
        }
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(math::adam_direction(1.0f, infinity), 0.0f);
    for (const float v : {0.0f, 1e-45f, 1e-38f, 1e-28f}) {
        EXPECT_EQ(math::adam_direction(0.0f, v), 0.0f);  // what never moved does not
        // Moments of gradients too small for their squares: a step as if they were a little larger.
        EXPECT_LE(math::adam_direction(1e-14f, v), 1.0f);
        EXPECT_GT(math::adam_direction(1e-14f, v), 0.5f);
    }
}

TEST(AdamScalars, EqualTheBlocks) {
    constexpr int kPlanes = kShRest;
    std::vector<float> values(kPlanes * kBlock);
    Buffer<float> moments;  // aligned for whole vectors
    moments.resize(kPlanes * 2 * kBlock, 0.0f);
    std::vector<std::uint32_t> last(kBlock, 0);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = random_uniform(1, 1, i) - 0.5f;
    std::vector<math::AdamCell<float>> cells;
    for (const float v : values) cells.push_back({v, 0, 0});
    std::vector<std::uint32_t> slept_since(kBlock, 0);
    AdamClock clock;
    for (auto& table : clock.pending) table = {0.0};
    AdamTables tables;
    tables.refresh(clock);
    const auto group_of = [](int p) { return p < 3 ? 0 : p < 6 ? 1 : p < 10 ? 2 : p < 11 ? 3 : 4; };
    for (std::uint32_t step = 0; step < 120; ++step) {
        const LearningRates rates{1e-2, 5e-3, 1e-3, 2.5e-2, 2.5e-3, 1e-4};
        clock.highest = rates;
        tables.begin_step(clock, rates, kPlanes, kPlanes);
        adam::Block block{values.data(), kBlock, moments.data(), last.data(), clock.base,
                          clock.steps,   {},     nullptr,        nullptr};
        for (std::size_t g = 0; g < kLearningGroups; ++g)
            block.pending[g] = tables.pending(g).data();
        block.decay1 = tables.decay1().data();
        block.decay2 = tables.decay2().data();
        BlockGradients gradients{};
        // Some lanes sleep; of the others some are seen, and the rest step along without gradient.
        std::uint32_t asleep = 0;
        for (std::size_t lane = 0; lane < kBlock; ++lane) {
            const float draw = random_uniform(2, step, lane);
            if (draw < 0.4f) {
                asleep |= 1u << lane;
                continue;
            }
            const bool seen = draw > 0.7f;
            if (seen) gradients.mask |= 1u << lane;
            const std::uint32_t slot = slept_since[lane] - clock.base,
                                age = clock.steps - slept_since[lane];
            for (int p = 0; p < kPlanes; ++p) {
                const float g =
                    seen ? random_uniform(3, step, lane * 64 + static_cast<std::size_t>(p)) - 0.4f
                         : 0.0f;
                gradients.planes[p][lane] = g;
                const auto group = static_cast<std::size_t>(group_of(p));
                auto& cell = cells[static_cast<std::size_t>(p) * kBlock + lane];
                cell = math::adam_step(
                    math::adam_settled(cell, tables.pending(group)[slot],
                                       AdamTables::decay1(age, 1), AdamTables::decay2(age, 1)),
                    g, tables.step().rate[group], tables.step().epsilon);
            }
            slept_since[lane] = clock.steps + 1;
        }
        EXPECT_EQ(adam::apply(block, tables.step(), gradients, asleep), 0u);
        const adam::Drift drift{0.3f, 0.2f};
        const BlockBounds bounds = adam::bounds(block, drift, kBlock);
        for (std::size_t lane = 0; lane < kBlock; ++lane) {
            const auto at = [&](int p) -> const math::AdamCell<float>& {
                return cells[static_cast<std::size_t>(p) * kBlock + lane];
            };
            const auto drifts = [&](int p, float by) {
                return math::adam_direction(at(p).m, at(p).v) * by;
            };
            float largest = -1e30f, square = 0;
            const float centre[3] = {bounds.x, bounds.y, bounds.z};
            for (int i = 0; i < 3; ++i) {
                largest = std::max(largest, at(kLogScales + i).value +
                                                std::abs(drifts(kLogScales + i, drift.scales)));
                square += (at(i).value - centre[i]) * (at(i).value - centre[i]);
            }
            const float reach = math::adam_reach(drifts(0, drift.means), drifts(1, drift.means),
                                                 drifts(2, drift.means), largest);
            EXPECT_LE(std::sqrt(square) + reach, bounds.radius * 1.0001f);
        }
        tables.end_step(clock);
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
        EXPECT_NEAR(cells[i].value, values[i], 2e-5f);
        const std::size_t at = i / kBlock * 2 * kBlock + i % kBlock;
        EXPECT_NEAR(cells[i].m, moments[at], 1e-6f);
        EXPECT_NEAR(cells[i].v, moments[at + kBlock], 1e-6f);
    }
}

}  // namespace
}  // namespace gs
