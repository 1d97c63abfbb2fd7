// The engine thread on the CUDA backend, emulated: the same commands, the same pictures as on the
// CPU, frames that stay in device memory until the UI shows them. Small pictures: the emulator runs
// every GPU thread on the CPU.
#include "app/session/parts/frame_verifier.h"
#include "renderer/device/device_picture.h"
#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "studio_harness.h"
#include "tests/support/emulator/emulator.h"
#include "trainer/cuda/cuda_training.h"

namespace gs {
namespace {

SessionOptions cpu_options() {
    SessionOptions options;
    options.settings.steps = 200;
    options.run.evaluate_every = 0;
    options.run.save_every = 0;
    return options;
}
SessionOptions cuda_options() {
    SessionOptions options = cpu_options();
    options.backend = "CUDA (emulated)";
    options.on_device = true;
    options.make_rasterizer = [] { return make_cuda_rasterizer(0); };
    options.make_training = [] { return make_cuda_training(0); };
    return options;
}

/// The frame that answers to a view of the scene in `mode`, waited for.
std::shared_ptr<const ViewFrame> frame_of(SessionHarness& h, ViewMode mode, int capture_view = -1,
                                          DrawStyle style = DrawStyle::splats) {
    ViewRequest request =
        view_request_of(h.state, 72, 50);  // with the comparison, where one is open
    request.settings.mode = mode;
    request.settings.style = style;
    request.settings.capture_view = capture_view;
    request.settings.viewer_budget = 0.9;
    request.serial = ++h.state.request_serial;
    h.session.request_view(request);
    EXPECT_TRUE(h.until([&] { return h.state.frame && h.state.frame->request == request.serial; }))
        << kViewModeNames[static_cast<std::size_t>(mode)];
    return h.state.frame;
}

std::vector<std::uint8_t> colors_of(const ViewFrame& frame) {
    if (!frame.picture) return frame.rgba.bytes;
    std::vector<std::uint8_t> out;
    frame.picture->download(
        [&](std::span<const std::uint8_t> bytes) { out.assign(bytes.begin(), bytes.end()); });
    return out;
}
int largest_difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
    EXPECT_EQ(a.size(), b.size());
    int most = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        most = std::max(most, std::abs(int{a[i]} - int{b[i]}));
    return most;
}
/// Pairs and times: each backend's own, for each has its own way to the same picture.
bool is_work(ViewMode mode) {
    return mode == ViewMode::pairs || mode == ViewMode::wasted || mode == ViewMode::time ||
           mode == ViewMode::backward_time || mode == ViewMode::backward_pairs;
}
bool shows_something(const std::vector<std::uint8_t>& rgba) {
    return std::adjacent_find(rgba.begin(), rgba.end(), std::not_equal_to<>()) != rgba.end();
}

TEST(CudaSession, frames_equal_the_cpu_s_and_colours_stay_on_the_device) {
    SessionHarness cpu(cpu_options()), cuda(cuda_options());
    ASSERT_TRUE(cpu.open(tiny_capture()));
    ASSERT_TRUE(cuda.open(tiny_capture()));
    EXPECT_EQ(cuda.state.backend, "CUDA (emulated)");
    for (int mode = 0; mode < static_cast<int>(kViewModeNames.size()); ++mode) {
        const auto a = frame_of(cpu, static_cast<ViewMode>(mode)),
                   b = frame_of(cuda, static_cast<ViewMode>(mode));
        ASSERT_TRUE(a && b);
        EXPECT_FALSE(a->picture);
        // Photo and error without a photo show the colours, too, from the host.
        EXPECT_EQ(b->picture != nullptr, static_cast<ViewMode>(mode) == ViewMode::color);
        EXPECT_EQ(b->picture != nullptr, b->rgba.empty());
        EXPECT_EQ(a->visible, b->visible);
        EXPECT_EQ(a->isects, b->isects);
        EXPECT_EQ(a->unit, b->unit);
        EXPECT_TRUE(shows_something(colors_of(*b)));
        if (a->map.values.size() == 0) {
            EXPECT_LE(largest_difference(colors_of(*a), colors_of(*b)), 1)
                << kViewModeNames[static_cast<std::size_t>(mode)];
        } else if (is_work(static_cast<ViewMode>(mode))) {
            EXPECT_GT(b->map_max, 0) << "what a backend had to compute is its own";
        } else {
            EXPECT_NEAR(a->map_max, b->map_max, 1e-3 * std::abs(a->map_max) + 1e-3);
            EXPECT_NEAR(a->map_mean, b->map_mean, 1e-3 * std::abs(a->map_mean) + 1e-3);
        }
    }
    for (const DrawStyle style : {DrawStyle::points, DrawStyle::ellipsoids}) {
        const auto a = frame_of(cpu, ViewMode::color, -1, style),
                   b = frame_of(cuda, ViewMode::color, -1, style);
        EXPECT_EQ(largest_difference(colors_of(*a), colors_of(*b)), 0)
            << "drawn from the model itself";
    }
    for (const DrawStyle style : {DrawStyle::rings, DrawStyle::centres}) {
        const auto a = frame_of(cpu, ViewMode::color, -1, style),
                   b = frame_of(cuda, ViewMode::color, -1, style);
        EXPECT_LE(largest_difference(colors_of(*a), colors_of(*b)), 1) << "over the splats";
        EXPECT_GT(largest_difference(colors_of(*a), colors_of(*frame_of(cpu, ViewMode::color))),
                  30);
    }
    // Beside a photo the numbers are wanted on the host: PSNR is of the floats.
    const auto a = frame_of(cpu, ViewMode::color, 2), b = frame_of(cuda, ViewMode::color, 2);
    EXPECT_FALSE(b->picture);
    EXPECT_EQ(b->photo.width, b->camera.width);
    EXPECT_NEAR(a->psnr, b->psnr, 1e-3);
    EXPECT_TRUE(cuda.errors.empty());
}

TEST(CudaSession, two_scenes_compare_as_on_the_cpu) {
    SessionHarness cpu(cpu_options()), cuda(cuda_options());
    ASSERT_TRUE(cpu.open(tiny_capture()));
    ASSERT_TRUE(cuda.open(tiny_capture()));
    cpu.session.send(jobs::run_to(5));
    ASSERT_TRUE(cpu.until([&] { return cpu.state.training.step == 5; }));
    const std::string splats = (cpu.folder.path() / "five.ply").string();
    ASSERT_TRUE(cpu.until_done(cpu.session.send(jobs::export_splats(splats))));
    ASSERT_TRUE(cpu.open(tiny_capture()));
    for (SessionHarness* h : {&cpu, &cuda}) {
        h->session.send(jobs::open_beside(splats));
        ASSERT_TRUE(h->until([&] { return h->state.other != nullptr; }));
        EXPECT_EQ(h->state.view.with, CompareWith::scene);
    }
    for (const ViewMode mode : {ViewMode::color, ViewMode::error}) {
        const auto a = frame_of(cpu, mode), b = frame_of(cuda, mode);
        ASSERT_TRUE(a->other && b->other);
        EXPECT_FALSE(b->picture) << "numbers between the two are wanted on the host";
        EXPECT_NEAR(a->psnr_between, b->psnr_between, 1e-2);
        EXPECT_NEAR(a->ssim_between, b->ssim_between, 1e-4);
        EXPECT_LE(largest_difference(a->other->rgba.bytes, b->other->rgba.bytes), 1);
        EXPECT_NEAR(a->map_max, b->map_max, 1e-3);
    }
    EXPECT_TRUE(cuda.errors.empty());
}

TEST(CudaSession, trains_on_command_and_losses_that_come_late_are_unknown_not_zero) {
    SessionHarness cpu(cpu_options()), cuda(cuda_options());
    for (SessionHarness* h : {&cpu, &cuda}) {
        ASSERT_TRUE(h->open(tiny_capture()));
        EXPECT_TRUE(std::isnan(h->state.training.loss));
        h->session.send(jobs::run_to(6));
        ASSERT_TRUE(h->until([&] {
            const TrainingStatus& t = h->state.training;
            EXPECT_TRUE(std::isnan(t.loss) || t.loss > 0) << "at step " << t.step;
            return t.state == RunState::paused && t.step == 6;
        }));
    }
    ASSERT_TRUE(cuda.until([&] { return cuda.state.curves && !cuda.state.curves->loss.empty(); }));
    for (const CurvePoint& point : cuda.state.curves->loss) EXPECT_GT(point.value, 0) << point.step;
    EXPECT_GT(cuda.state.training.loss, 0);
    EXPECT_GT(cuda.state.status.step_cost.width, 0);
    EXPECT_GT(cuda.state.status.step_cost.counters.isects, 0u);
    // The same steps were taken: pictures of the trained models agree.
    const auto a = frame_of(cpu, ViewMode::color), b = frame_of(cuda, ViewMode::color);
    ASSERT_TRUE(b->picture);
    EXPECT_LE(largest_difference(colors_of(*a), colors_of(*b)), 3);
    EXPECT_TRUE(cuda.errors.empty());
}

TEST(CudaSession, pictures_focus_and_evaluation_work_as_on_the_cpu) {
    SessionHarness cpu(cpu_options()), cuda(cuda_options());
    std::vector<double> scores;
    std::vector<Vec3d> points;
    for (SessionHarness* h : {&cpu, &cuda}) {
        ASSERT_TRUE(h->open(tiny_capture()));
        h->session.send(jobs::picture({view_request_of(h->state, 61, 43), "x.png", false}));
        ViewRequest from_camera_1 = view_request_of(h->state, 64, 48);
        from_camera_1.settings.capture_view = 1;
        h->session.send(jobs::focus(from_camera_1, 0.5, 0.5));
        h->session.send(jobs::evaluate());
        const NavigationState before = h->state.navigation;
        ASSERT_TRUE(
            h->until([&] { return h->pictures.size() == 1 && h->state.training.test_psnr > 0; }));
        EXPECT_EQ(h->pictures[0]->frame->rgba.width, 61) << "what goes to a file is on the host";
        scores.push_back(h->state.training.test_psnr);
        points.push_back(h->state.navigation.target);
        EXPECT_NE(std::make_tuple(before.target.x, before.target.y),
                  std::make_tuple(points.back().x, points.back().y));
    }
    EXPECT_NEAR(scores[0], scores[1], 1e-2);
    EXPECT_NEAR(points[0].x, points[1].x, 1e-2);
    EXPECT_NEAR(points[0].z, points[1].z, 1e-2);
    EXPECT_LE(
        largest_difference(cpu.pictures[0]->frame->rgba.bytes, cuda.pictures[0]->frame->rgba.bytes),
        1);
}

TEST(CudaSession, splat_files_stay_on_the_device_and_frames_kept_do_not_hold_the_engine_up) {
    SessionHarness h(cuda_options());
    ASSERT_TRUE(h.open(tiny_capture()));
    const std::string splats = (h.folder.path() / "start.ply").string();
    ASSERT_TRUE(h.until_done(h.session.send(jobs::export_splats(splats))));
    const auto trained = frame_of(h, ViewMode::color);
    ASSERT_TRUE(h.open(splats));
    ASSERT_TRUE(h.state.scene);
    ASSERT_TRUE(h.until([&] { return h.state.scene->name == "start.ply"; }));
    EXPECT_TRUE(std::any_of(h.state.scene->memory.begin(), h.state.scene->memory.end(),
                            [](const MemoryUse& row) { return row.device && row.bytes > 0; }));
    const auto first = frame_of(h, ViewMode::color);
    ASSERT_TRUE(first->picture);
    EXPECT_LE(largest_difference(colors_of(*trained), colors_of(*first)), 1);
    const auto calls = emulator::calls();
    // Somebody who keeps frames gets the later ones through the host; nothing waits.
    std::vector<std::shared_ptr<const ViewFrame>> kept{first};
    for (int i = 0; i < 6; ++i) kept.push_back(frame_of(h, ViewMode::color));
    EXPECT_FALSE(kept.back()->picture);
    for (const auto& frame : kept)
        EXPECT_LE(largest_difference(colors_of(*first), colors_of(*frame)), 1);
    kept.resize(1);
    h.state.frame.reset();
    EXPECT_TRUE(frame_of(h, ViewMode::color)->picture);
    const auto used = emulator::difference(calls, emulator::calls());
    EXPECT_LE(used.count("cudaMalloc") ? used.at("cudaMalloc") : 0, 3u)
        << "the pool's own pictures, at most";
    ASSERT_TRUE(h.until_done(h.session.send(jobs::close())));
    EXPECT_EQ(h.run_state(), RunState::empty);
    kept.clear();
}

TEST(CudaSession, fast_pictures_say_what_they_lose) {
    SessionHarness h(cuda_options());
    const auto told = [&] {
        h.notes.clear();
        const auto request = view_request_of(h.state, 72, 50);
        h.session.send([request](Engine& engine) {
            engine.part<FrameVerifier>().check_fast(*engine.open_scene(), request);
        });
        std::string said;
        EXPECT_TRUE(h.until([&] {
            for (const EngineEvent& note : h.notes)
                if (note.text.starts_with("fast pictures")) said = note.text;
            return !said.empty();
        }));
        return said;
    };
    ASSERT_TRUE(h.open(tiny_capture()));
    EXPECT_NE(told().find("a run's model is drawn exactly"), std::string::npos);
    const std::string splats = (h.folder.path() / "start.ply").string();
    ASSERT_TRUE(h.until_done(h.session.send(jobs::export_splats(splats))));
    ASSERT_TRUE(h.open(splats));
    ASSERT_TRUE(h.until([&] { return h.state.scene->name == "start.ply"; }));
    EXPECT_NE(told().find("the exact picture"), std::string::npos) << told();
    const auto exact = frame_of(h, ViewMode::color);
    h.state.view.fast = true;
    EXPECT_LE(largest_difference(colors_of(*exact), colors_of(*frame_of(h, ViewMode::color))), 1);
    EXPECT_TRUE(h.errors.empty());
}

TEST(CudaSession, checkpoints_go_from_one_backend_to_the_other) {
    SessionHarness cuda(cuda_options()), cpu(cpu_options());
    ASSERT_TRUE(cuda.open(tiny_capture()));
    cuda.session.send(jobs::steps(3));
    ASSERT_TRUE(cuda.until([&] { return cuda.state.training.step == 3; }));
    const std::string checkpoint = (cuda.folder.path() / "three.gsc").string();
    ASSERT_TRUE(cuda.until_done(cuda.session.send(jobs::save_checkpoint(checkpoint))));
    ASSERT_TRUE(cuda.errors.empty());
    ASSERT_TRUE(cpu.open(tiny_capture()));
    ASSERT_TRUE(cpu.open(checkpoint));
    EXPECT_EQ(cpu.state.training.step, 3u);
    const auto a = frame_of(cpu, ViewMode::color), b = frame_of(cuda, ViewMode::color);
    EXPECT_LE(largest_difference(colors_of(*a), colors_of(*b)), 1);
}

TEST(CudaSession, a_device_without_memory_left_keeps_the_scene_that_is_open) {
    SessionHarness h(cuda_options());
    ASSERT_TRUE(h.open(tiny_capture()));
    emulator::fail_device_allocation(3);
    h.session.send(jobs::open(tiny_capture()));
    // What is said and the state come one after the other.
    ASSERT_TRUE(h.until([&] { return !h.errors.empty() && h.run_state() == RunState::ready; }));
    emulator::fail_device_allocation(0);
    EXPECT_NE(h.errors[0].text.find("memory"), std::string::npos) << h.errors[0].text;
    EXPECT_TRUE(frame_of(h, ViewMode::color)->picture);
}

}  // namespace
}  // namespace gs
