// Where projection reads parameters: a model that stays on the device, one in training whose
// Gaussians slept through steps, and what the rasterizer says of itself.
#include <gtest/gtest.h>

#include <limits>

#include "renderer/math/adam.h"
#include "tests/kernels/cuda_forward.h"
#include "tests/kernels/cuda_forward_frame.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

TEST(CudaForwardModel, StaysOnTheDevice) {
    const GaussianModel model = random_model({.count = 600});
    Buffer<BlockBounds> bounds;
    compute_bounds(model, bounds);
    const Camera camera = random_camera(70, 0, 60, 44);
    RasterRun foreign(emulated_cuda());
    const Drawn expected = foreign.draw(model, camera, {}, true);
    const std::unique_ptr<Rasterizer> cuda = emulated_cuda();
    const auto source = cuda->source_of(model, bounds.span());
    EXPECT_EQ(source->count(), model.count);
    EXPECT_EQ(source->sh_degree(), model.sh_degree);
    EXPECT_EQ(source->bounds().size(), bounds.size());
    const auto state = cuda->make_state();
    RenderResult result;
    cuda->forward(*source, camera, {}, *state, result);
    EXPECT_EQ(max_abs_difference(result.color.values, expected.result.color.values), 0);
    EXPECT_EQ(result.counters.candidates, expected.result.counters.candidates);
    EXPECT_GT(state->bytes(), 0u);
}

/// Unknown bounds are drawn, empty ones are not: radius NaN and infinity, and below zero.
TEST(CudaForwardModel, BoundsThatAreNoSpheres) {
    const GaussianModel model = random_model({.count = 300});
    const Camera camera = random_camera(72, 0, 60, 44);
    Buffer<BlockBounds> bounds;
    compute_bounds(model, bounds);
    const std::unique_ptr<Rasterizer> cuda = emulated_cuda(), cpu = make_cpu_rasterizer();
    for (const float radius :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1.0f}) {
        SCOPED_TRACE(radius);
        for (const std::size_t block : {0u, 7u, 18u}) bounds[block].radius = radius;
        RenderResult drawn, expected;
        const auto state = cuda->make_state(), cpu_state = cpu->make_state();
        cuda->forward(*cuda->source_of(model, bounds.span()), camera, {}, *state, drawn);
        cpu->forward(*cpu->source_of(model, bounds.span()), camera, {}, *cpu_state, expected);
        EXPECT_EQ(drawn.counters.candidates, expected.counters.candidates);
        EXPECT_EQ(drawn.counters.visible, expected.counters.visible);
        EXPECT_EQ(drawn.counters.isects, expected.counters.isects);
    }
}

TEST(CudaForwardModel, TheRasterizerNamesItsDevice) {
    const std::string name = emulated_cuda()->name();
    EXPECT_EQ(name.rfind("CUDA (", 0), 0u) << name;
    EXPECT_NE(name.find(", sm_"), std::string::npos) << name;
    const auto no_such_device = make_cuda_rasterizer(7);
    EXPECT_FALSE(no_such_device.has_value());
}

/// Optimizer state in device memory, random, and the model as it reads through it.
struct SleepingModel {
    explicit SleepingModel(const GaussianModel& model, int moving_planes,
                           const cuda::Stream& stream)
        : settled(model) {
        constexpr std::uint32_t kBase = 40, kSteps = 57;
        const std::size_t planes = static_cast<std::size_t>(model.planes());
        std::vector<float> moments(model.capacity / kBlock * planes * 2 * kBlock),
            pending((kSteps - kBase + 1) * 8);
        std::vector<std::uint32_t> last_step(model.capacity);
        for (std::size_t i = 0; i < pending.size(); ++i)
            pending[i] =
                i / 8 == kSteps - kBase ? 0.0f : static_cast<float>(random_in(3, 1, i, 0.0, 0.05));
        for (std::size_t row = 0; row < model.capacity; ++row)
            last_step[row] =
                kBase + static_cast<std::uint32_t>(random_in(3, 2, row, 0.0, kSteps - kBase + 1));
        for (std::size_t row = 0; row < model.capacity; ++row)
            for (int p = 0; p < moving_planes; ++p) {  // the others' moments are 0
                const std::size_t at =
                    (row / kBlock * planes + static_cast<std::size_t>(p)) * 2 * kBlock +
                    row % kBlock;
                moments[at] = static_cast<float>(
                    random_in(3, 10 + static_cast<std::uint64_t>(p), row, -0.1, 0.1));
                moments[at + kBlock] = static_cast<float>(
                    random_in(3, 100 + static_cast<std::uint64_t>(p), row, 0, 0.02));
                const int group = p < kLogScales       ? 0
                                  : p < kQuats         ? 1
                                  : p < kOpacityLogits ? 2
                                  : p < kSh0           ? 3
                                  : p < kShRest        ? 4
                                                       : 5;
                settled.at(p, row) = math::lazy_value(
                    model.at(p, row), moments[at], moments[at + kBlock],
                    pending[(last_step[row] - kBase) * 8 + static_cast<std::size_t>(group)]);
            }
        values.upload(model.values.span(), stream);
        moments_.upload(moments, stream);
        pending_.upload(pending, stream);
        last_step_.upload(last_step, stream);
        const cuda::LazyClock clock{kBase, kSteps, moving_planes, 0};
        clock_.upload({&clock, 1}, stream);
        view.values = values.data();
        view.stride = model.capacity;
        view.count = static_cast<std::uint32_t>(model.count);
        view.sh_degree = model.sh_degree;
        view.lazy = {moments_.data(), last_step_.data(), pending_.data(),
                     nullptr,         clock_.data(),     model.planes()};
        stream.synchronize();
    }
    GaussianModel settled;
    cuda::ModelView view;

  private:
    cuda::DeviceBuffer<float> values{"values"}, moments_{"moments"}, pending_{"pending"};
    cuda::DeviceBuffer<std::uint32_t> last_step_{"last step"};
    cuda::DeviceBuffer<cuda::LazyClock> clock_{"clock"};
};

TEST(CudaForwardModel, SleepersReadAsIfSettled) {
    const GaussianModel model = random_model({.count = 500});
    const Camera camera = random_camera(71, 0, 60, 44);
    const auto limits = ForwardFrame::roomy(model, camera, {});
    for (const int moving_planes : {int(kShRest), plane_count(1), plane_count(3)}) {
        SCOPED_TRACE(moving_planes);
        ForwardFrame lazy(model, camera, {}, limits);
        const SleepingModel sleeping(model, moving_planes, lazy.stream);
        lazy.bin(sleeping.view);
        lazy.blend();
        ForwardFrame settled(sleeping.settled, camera, {}, limits);
        settled.draw();
        EXPECT_EQ(lazy.color(), settled.color());
        ForwardFrame asleep(model, camera, {}, limits);
        asleep.draw();
        EXPECT_NE(lazy.color(), asleep.color());
    }
}

}  // namespace
}  // namespace gs::test
