// What a patient emulator of one device would let pass and a GPU would not: lists that fall short
// of what was counted, memory given back under work, contexts on devices nobody asked for, waiting
// that keeps a core at work, steps that are hardly ever replayed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <thread>

#include "renderer/device/cuda/device.h"
#include "renderer/device/cuda/primitives_check.h"
#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "renderer/raster/cuda/lists_check.h"
#include "renderer/raster/cuda/project_backward.h"
#include "tests/kernels/cuda_forward_frame.h"
#include "tests/kernels/cuda_training_scene.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/random_scene.h"
#include "trainer/cuda/cuda_training.h"
#include "trainer/cuda/step_engine.h"

namespace gs::test {
namespace {

namespace emu = emulator;
using namespace gs::cuda;

class CudaSilicon : public testing::Test {
  protected:
    void TearDown() override {
        emu::set_execution(emu::Execution::eager);
        emu::set_event_lag(0);
        emu::set_device_count(1);
        emu::forget_contexts();
        (void)choose_device(0);
    }
};

// ---- emissions that are not found

/// A few large Gaussians before a crowd of small ones: some of each way to list.
GaussianModel floaters_before_a_crowd() {
    GaussianModel model = random_model({.count = 60, .sh_degree = 0, .opacity_hi = 0.4f});
    for (std::size_t i = 0; i < 4; ++i)
        for (int axis = 0; axis < 3; ++axis) model.at(kLogScales + axis, i) = std::log(2.0f);
    for (std::size_t i = 4; i < 8; ++i)
        for (int axis = 0; axis < 3; ++axis) model.at(kLogScales + axis, i) = std::log(0.45f);
    return model;
}

/// Gradients of all Gaussians when projection has counted `more` tiles too many for one slot of
/// each way to list, and no row of blend backward holds what an earlier frame left.
std::vector<float> gradients_with(const GaussianModel& model, const Camera& camera,
                                  std::uint32_t more) {
    const RenderOptions options{.depth = false};
    ForwardFrame frame(model, camera, options, ForwardFrame::roomy(model, camera, options, 256));
    DeviceModel device;
    device.upload(model.values.span(), model.capacity, model.count, model.sh_degree, {},
                  frame.stream);
    frame.pipeline.prepare(frame.limits);
    copy_to_device(frame.pipeline.arrays().constants, &frame.constants, sizeof(FrameConstants),
                   frame.stream);
    frame.pipeline.project(device.view());
    const FrameArrays& a = frame.pipeline.arrays();
    fill_bytes(a.isect_gradients, 0xff, frame.limits.isects * sizeof(IsectGradient), frame.stream);
    auto isects = frame.fetched(a.isects_of_slot, frame.fetched(a.chunk_slots, 1)[0]);
    unsigned long long total = frame.fetched(a.isect_total, 1)[0];
    const auto miscount = [&](std::uint32_t least, std::uint32_t most) {
        for (std::uint32_t& n : isects)
            if (n >= least && n <= most) {
                n += more;
                total += more;
                return;
            }
        ADD_FAILURE() << "no Gaussian in " << least << " to " << most << " tiles";
    };
    miscount(1, 20);
    miscount(25, 120);
    miscount(129, 400);
    copy_to_device(a.isects_of_slot, isects.data(), isects.size() * sizeof(std::uint32_t),
                   frame.stream);
    copy_to_device(a.isect_total, &total, sizeof(total), frame.stream);
    frame.pipeline.list_tiles();
    frame.blend();
    DeviceBuffer<float> upstream("gradients of a picture"), out("gradients of Gaussians");
    upstream.upload(std::vector<float>(3 * frame.pixels(), 0.01f), frame.stream);
    frame.pipeline.blend_backward(frame.picture, {upstream.data(), nullptr, nullptr});
    const StoredGradients stored{nullptr, model.count, model.planes()};
    out.resize_discard(stored.bytes() / sizeof(float), frame.stream);
    launch_store_gradients(frame.stream, frame.limits, frame.pipeline.arrays(), device.view(),
                           {out.data(), stored.stride, stored.planes});
    return frame.fetched(out.data(), out.size());
}

TEST_F(CudaSilicon, EmissionsThatAreNotFoundAreLeftOut) {
    const GaussianModel model = floaters_before_a_crowd();
    const Camera camera = random_camera(3, 0, 272, 208);
    const std::vector<float> expected = gradients_with(model, camera, 0);
    for (const std::uint32_t more : {1u, 3u}) {
        const std::vector<float> found = gradients_with(model, camera, more);
        ASSERT_EQ(found.size(), expected.size());
        EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0)
            << more << " tiles too many";
    }
}

// ---- training

StepPlan plan_of(const Capture& capture, std::uint64_t step) {
    StepPlan plan{.step = step, .view_index = 1 + static_cast<std::size_t>(step % 5)};
    plan.view = &capture.views[plan.view_index];
    plan.camera = plan.view->camera;
    plan.options.depth = false;
    plan.options.sh_degree = 1;
    plan.rates = {2e-3, 5e-3, 1e-3, 2.5e-2, 2.5e-3, 1.25e-4};
    plan.gathers_statistics = true;
    plan.lambda_dssim = 0.2;
    return plan;
}
RunArrays first_arrays(const std::shared_ptr<Capture>& capture) {
    auto backend = make_cpu_training();
    TrainingBackend* kept = backend.get();
    const auto trainer = trainer_on(std::move(backend), capture, busy_settings());
    return kept->arrays();
}

TEST_F(CudaSilicon, NothingIsGivenBackUnderWork) {
    const auto capture = small_capture(24, 20, 60);
    const RunArrays arrays = first_arrays(capture);
    const char* const kFreed = "page-locked memory freed under way";
    const std::uint64_t before = emu::calls(kFreed);
    emu::set_execution(emu::Execution::deferred);
    emu::set_event_lag(1'000'000);
    {
        const Stream stream("test");
        StepEngine engine(stream);
        engine.start(*capture, arrays);
        for (std::uint64_t step = 0; step < 3; ++step) engine.run(plan_of(*capture, step));
        engine.drain();
        engine.settle();  // sends a record nobody waits for
        engine.start(*capture, arrays);
        EXPECT_EQ(emu::calls(kFreed), before) << "by another start";
        for (std::uint64_t step = 0; step < 3; ++step) engine.run(plan_of(*capture, step));
    }
    EXPECT_EQ(emu::calls(kFreed), before) << "by the end of the engine";
}

TEST_F(CudaSilicon, WhoWaitsSleeps) {
    const auto capture = small_capture(24, 20, 60);
    auto backend = cuda_training();
    emu::set_execution(emu::Execution::deferred);
    emu::set_event_lag(1'000'000'000);
    const emu::Calls before = emu::calls();
    backend->start(capture, first_arrays(capture));
    RenderResult picture;
    for (std::uint64_t step = 0; step < 6; ++step) backend->step(plan_of(*capture, step));
    backend->render(capture->views[0].camera, {}, picture);
    (void)backend->model();
    emu::Calls more = emu::difference(before, emu::calls());
    EXPECT_EQ(more["busy wait"], 0u);
    EXPECT_GE(more["cudaEventSynchronize"], 4u);
    EXPECT_LT(more["cudaEventQuery"], 1'000'000u);  // looks for some microseconds a wait
}

TEST_F(CudaSilicon, StepsOfASmallSceneAreReplayed) {
    // Each view needs another capacity, and density control runs every seven steps.
    const auto capture = small_capture(40, 36, 120);
    for (std::size_t v = 1; v < 6; ++v) {
        Camera& camera = capture->views[v].camera;
        camera.fx *= 0.6 + 0.3 * static_cast<double>(v);
        camera.fy *= 0.6 + 0.3 * static_cast<double>(v);
    }
    TrainingSettings settings = busy_settings();
    settings.densify_every = 10;
    const emu::Calls before = emu::calls();
    const auto trainer = trainer_on(cuda_training(), capture, settings);
    for (int i = 0; i < 30; ++i) trainer->step();
    // Of ten steps between rounds: the first makes bounds, two come before recording.
    EXPECT_GE(emu::difference(before, emu::calls())["cudaGraphLaunch"], 14u);
}

// ---- what is enqueued

/// Kernels, fills and copies. Sorts and scans of a library would count for one here and be up to
/// twelve.
std::uint64_t enqueued(emu::Calls calls) {
    EXPECT_EQ(calls["launch:sort"] + calls["launch:scan"], 0u);
    return calls["launch"] + calls["cudaMemsetAsync"] + calls["cudaMemcpyAsync"];
}

/// Of pictures of 256 to 65,535 tiles; these here sort by tile in a pass less.
constexpr std::uint64_t kFrame = 18, kStep = 24;

TEST_F(CudaSilicon, AFrameAndAStepEnqueueNoMoreThanThis) {
    const GaussianModel model = random_model({});
    const auto rasterizer = std::move(*make_cuda_rasterizer(0));
    const auto source = rasterizer->source_of(model);
    const auto state = rasterizer->make_state();
    const RenderOptions options{.depth = false, .gradients = false};
    RenderResult result;
    const auto draw = [&] {
        (void)rasterizer->forward_for_display(*source, random_camera(8, 0, 40, 30), options, *state,
                                              result);
    };
    draw();  // allocates
    emu::Calls before = emu::calls();
    draw();
    EXPECT_LE(enqueued(emu::difference(before, emu::calls())), kFrame - 1);

    const auto capture = small_capture(24, 20, 60);
    auto training = cuda_training();
    training->start(capture, first_arrays(capture));
    const auto step = [&](std::uint64_t n) { training->step(plan_of(*capture, n)); };
    for (std::uint64_t n = 0; n < 6; ++n) step(n);
    before = emu::calls();
    step(6);
    EXPECT_LE(enqueued(emu::difference(before, emu::calls())), kStep - 1);
}

// ---- several devices

/// On a thread that has never called CUDA.
void elsewhere(const std::function<void()>& f) {
    std::thread thread(f);
    thread.join();
}

TEST_F(CudaSilicon, NoContextIsMadeOnAnotherDevice) {
    const auto capture = small_capture(24, 20, 60);
    const RunArrays arrays = first_arrays(capture);
    const GaussianModel model = random_model({});
    const Camera camera = random_camera(8, 0, 40, 30);
    emu::set_device_count(3);
    emu::forget_contexts();
    ASSERT_EQ(cuda_devices()->size(), 3u);
    EXPECT_TRUE(emu::contexts().empty()) << "listing devices";

    std::unique_ptr<Rasterizer> rasterizer;
    std::unique_ptr<TrainingBackend> training;
    std::unique_ptr<ParameterSource> source;
    std::unique_ptr<ForwardState> state;
    std::shared_ptr<const gs::DevicePicture> shown;
    RenderResult result;
    elsewhere([&] { EXPECT_TRUE(cuda_device_info(2)) << "asked by one that computes nothing"; });
    elsewhere([&] {
        rasterizer = std::move(*make_cuda_rasterizer(2));
        training = std::move(*make_cuda_training(2));
    });
    elsewhere([&] {
        source = rasterizer->source_of(model);
        state = rasterizer->make_state();
        rasterizer->forward(*source, camera, {}, *state, result);
        const RenderOptions options{.gradients = false};
        shown = rasterizer->forward_for_display(*source, camera, options, *state, result);
        training->start(capture, arrays);
        for (std::uint64_t step = 0; step < 3; ++step) training->step(plan_of(*capture, step));
    });
    elsewhere([&] {  // the thread of the window
        std::size_t bytes = 0;
        shown->download([&](std::span<const std::uint8_t> pixels) { bytes = pixels.size(); });
        EXPECT_EQ(bytes, 40u * 30 * 4);
        EXPECT_TRUE(cuda_memory(2));
        cuda_profiler_start(2);
        cuda_profiler_stop(2);
        shown.reset();
    });
    elsewhere([&] {
        const auto lists = check_cuda_lists(model, camera, 2);
        EXPECT_TRUE(lists && lists->wrong == 0);
        EXPECT_TRUE(check_cuda_primitives(100, 1, 2));
    });
    elsewhere([&] { state.reset(); });
    elsewhere([&] { source.reset(); });
    elsewhere([&] { rasterizer.reset(); });
    elsewhere([&] { training.reset(); });
    EXPECT_EQ(emu::contexts(), std::vector<int>{2});
}

}  // namespace
}  // namespace gs::test
