// The engine thread without a window: loading, training on command, pictures meanwhile, saving,
// errors, shutdown.
#include <algorithm>
#include <fstream>

#include "app/session/parts/contact_sheet.h"
#include "studio_harness.h"
#include "trainer/checkpoint.h"

namespace gs {
namespace {

ViewRequest request_for(const SessionHarness& h, ViewMode mode = ViewMode::color,
                        int capture_view = -1) {
    ViewRequest request = view_request_of(h.state, 160, 120);
    request.settings.mode = mode;
    request.settings.capture_view = capture_view;
    request.settings.viewer_budget = 0.9;
    return request;
}

TEST(Session, opens_a_capture_and_publishes_what_is_in_it) {
    SessionHarness h(quiet_options());
    ASSERT_TRUE(h.open(tiny_capture()));
    EXPECT_EQ(h.run_state(), RunState::ready);
    ASSERT_TRUE(
        h.until([&] { return h.state.scene && h.state.cameras && h.state.cameras->size() == 9; }));
    EXPECT_GT(h.state.scene->gaussians, 100u);
    EXPECT_EQ(h.state.scene->train_views + h.state.scene->test_views, 9u);
    EXPECT_EQ(h.state.scene->histograms.size(), 4u);
    EXPECT_FALSE(h.state.settings->empty());
    EXPECT_TRUE(h.errors.empty());
}

TEST(Session, starts_pauses_steps_and_runs_to_a_step) {
    SessionOptions options = quiet_options();
    options.settings.steps = 1e6;  // never finished in the meantime
    SessionHarness h(options);
    ASSERT_TRUE(h.open(tiny_capture()));
    h.session.send(jobs::steps(1));
    ASSERT_TRUE(
        h.until([&] { return h.run_state() == RunState::paused && h.state.training.step == 1; }));
    h.session.send(jobs::run_to(6));
    ASSERT_TRUE(
        h.until([&] { return h.run_state() == RunState::paused && h.state.training.step == 6; }));
    h.session.send(jobs::start());
    ASSERT_TRUE(h.until([&] { return h.state.training.step > 10; }));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::pause())));
    EXPECT_EQ(h.run_state(), RunState::paused);
    const std::uint64_t step = h.state.training.step;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    h.gather();
    EXPECT_EQ(h.state.training.step, step);
    EXPECT_TRUE(h.errors.empty());
    ASSERT_TRUE(h.until([&] { return h.state.curves && !h.state.curves->loss.empty(); }));
}

TEST(Session, a_whole_run_finishes_evaluates_and_saves) {
    SessionOptions options = quiet_options();
    options.settings.steps = 12;
    options.run.evaluate_every = 6;
    SessionHarness h(options);
    ASSERT_TRUE(h.open(tiny_capture(), true));
    ASSERT_TRUE(
        h.until([&] { return h.run_state() == RunState::finished && !h.state.status.evaluating; }));
    EXPECT_EQ(h.state.training.step, 12u);
    ASSERT_TRUE(h.until([&] { return h.state.curves && h.state.curves->test_psnr.size() == 2; }));
    EXPECT_GT(h.state.training.test_psnr, 3.0);
    EXPECT_TRUE(fs::exists(h.state.training.last_checkpoint));
    h.session.send(jobs::start());
    ASSERT_TRUE(h.until([&] { return !h.errors.empty(); }));
    EXPECT_NE(h.errors[0].text.find("finished at step 12"), std::string::npos);
}

TEST(Session, live_edits_take_effect_are_marked_and_checked) {
    SessionHarness h(quiet_options());
    ASSERT_TRUE(h.open(tiny_capture()));
    h.session.send(jobs::steps(1));
    ASSERT_TRUE(h.until([&] { return h.state.training.step == 1; }));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::set("lr_sh0", 1e-3))));
    ASSERT_TRUE(h.until([&] { return h.state.curves && h.state.curves->marks.size() == 1; }));
    EXPECT_EQ(h.state.curves->marks[0].step, 1u);
    EXPECT_NE(h.state.curves->marks[0].text.find("lr_sh0 0.0025 -> 0.001"), std::string::npos);
    const std::uint64_t bad = h.session.send(jobs::set("lr_sh0", -5));
    ASSERT_TRUE(h.until([&] { return !h.errors.empty(); }));
    EXPECT_EQ(h.errors[0].command, bad);
}

TEST(Session, edits_are_taken_back_and_the_run_goes_back_and_branches) {
    SessionOptions options = quiet_options();
    options.run.snapshot_budget = [] { return std::uint64_t{64} << 20; };
    SessionHarness h(options);
    ASSERT_TRUE(h.open(tiny_capture()));
    const auto give = [&](const std::string& name, const Arguments& arguments) {
        EXPECT_TRUE(all_commands().run(h.state, name, arguments)) << name;
        ASSERT_TRUE(h.until_done(h.state.last_sent)) << name;
    };
    const auto value_of = [&](const std::string& name) {
        for (const SettingRow& row : *h.state.settings)
            if (row.name == name) return row.value;
        return kNotMeasured;
    };
    const auto train_to = [&](std::uint64_t step) {
        h.session.send(jobs::run_to(step));
        ASSERT_TRUE(h.until([&] {
            return h.state.training.step == step && h.state.training.state == RunState::paused;
        }));
    };
    train_to(4);
    give("train.set", {"lr_means", "0.01"});
    give("train.set", {"lr_sh0", "0.02"});
    EXPECT_EQ(h.state.history->to_undo()->label, "lr_sh0 0.0025 -> 0.02");
    give("undo", {});
    EXPECT_EQ(value_of("lr_sh0"), 2.5e-3);
    EXPECT_EQ(value_of("lr_means"), 0.01);
    give("redo", {});
    EXPECT_EQ(value_of("lr_sh0"), 0.02);
    train_to(8);
    ASSERT_EQ(h.state.training.snapshots.size(), 1u);
    const std::string folder = h.state.status.run_folder;
    give("train.revert", {});
    EXPECT_EQ(h.state.training.step, 4u);
    EXPECT_EQ(value_of("lr_means"), 1.6e-4);
    EXPECT_FALSE(h.state.history->to_undo());
    ASSERT_TRUE(h.until([&] { return h.state.curves->marks.empty(); }));
    ASSERT_EQ(h.state.training.snapshots.size(), 2u);
    give("train.revert", {"8"});
    EXPECT_EQ(h.state.training.step, 8u) << "forward again";
    EXPECT_EQ(value_of("lr_means"), 0.01);
    give("train.branch", {"#1"});
    EXPECT_EQ(h.state.training.step, 4u);
    EXPECT_NE(h.state.status.run_folder, folder);
    EXPECT_EQ(checkpoint_steps(fs::path(folder) / "checkpoint.gsc"), 8u);
    ASSERT_TRUE(h.state.other_curves && h.state.other_curves->size() == 1);
    EXPECT_EQ((*h.state.other_curves)[0].folder, folder);
    EXPECT_EQ((*h.state.other_curves)[0].differences.size(), 2u);
    give("curves.hide", {});
    EXPECT_TRUE(h.state.other_curves->empty());
    give("curves.show", {folder});
    ASSERT_EQ(h.state.other_curves->size(), 1u);
    EXPECT_EQ((*h.state.other_curves)[0].curves.loss.size(), 8u);
    EXPECT_TRUE(h.errors.empty()) << h.errors[0].text;
}

TEST(Session, every_mode_and_style_gives_a_picture) {
    SessionHarness h(quiet_options());
    ASSERT_TRUE(h.open(tiny_capture()));
    h.session.send(jobs::steps(5));
    ASSERT_TRUE(h.until([&] { return h.state.training.step == 5; }));
    std::uint64_t serial = 0;
    for (int mode = 0; mode < static_cast<int>(kViewModeNames.size()); ++mode) {
        for (std::size_t style = 0; style < kDrawStyleNames.size(); ++style) {
            ViewRequest request = request_for(h, static_cast<ViewMode>(mode), 2);
            request.settings.style = static_cast<DrawStyle>(style);
            request.serial = ++serial;
            h.session.request_view(request);
            ASSERT_TRUE(h.until([&] { return h.state.frame && h.state.frame->request == serial; }))
                << kViewModeNames[static_cast<std::size_t>(mode)];
            const ViewFrame& frame = *h.state.frame;
            EXPECT_EQ(frame.rgba.width, 80);
            EXPECT_EQ(frame.rgba.height, 60);
            EXPECT_EQ(frame.rgba.bytes.size(), frame.rgba.pixels() * 4);
            EXPECT_EQ(frame.photo.width, 80);
            const auto drawn = static_cast<DrawStyle>(style);
            if (drawn != DrawStyle::splats && style_applies(drawn, static_cast<ViewMode>(mode))) {
                EXPECT_EQ(frame.psnr, 0) << "of a drawing it says nothing of the model";
            } else {
                EXPECT_GT(frame.psnr, 3.0);
            }
            EXPECT_LE(frame.map_min, frame.map_max);
            EXPECT_TRUE(std::adjacent_find(frame.rgba.bytes.begin(), frame.rgba.bytes.end(),
                                           std::not_equal_to<>()) != frame.rgba.bytes.end());
        }
    }
    EXPECT_TRUE(h.errors.empty());
}

TEST(Session, a_clip_box_counts_in_every_style_under_both_projections) {
    SessionHarness h(quiet_options());
    ASSERT_TRUE(h.open(tiny_capture()));
    h.state.navigation = first_view(*h.state.scene);
    const ClipBox core = h.state.scene->core;
    EXPECT_LT(core.lo.x, core.hi.x);
    ClipBox half = core;
    half.hi.x = 0.5F * (core.lo.x + core.hi.x);
    std::uint64_t serial = 0;
    const auto draw = [&](ViewRequest request) {
        request.serial = ++serial;
        h.session.request_view(request);
        EXPECT_TRUE(h.until([&] { return h.state.frame && h.state.frame->request == serial; }));
        return h.state.frame;
    };
    for (const bool parallel : {false, true})
        for (const DrawStyle style :
             {DrawStyle::splats, DrawStyle::points, DrawStyle::ellipsoids}) {
            h.state.navigation.through.model =
                parallel ? CameraModel::orthographic : CameraModel::pinhole;
            ViewRequest request = request_for(h);
            request.settings.style = style;
            const auto whole = draw(request);
            EXPECT_EQ(whole->camera.orthographic(), parallel);
            EXPECT_GT(whole->visible, 100u);
            request.settings.clip = half;
            const auto clipped = draw(request);
            ASSERT_TRUE(clipped->clip);
            EXPECT_LT(clipped->visible, whole->visible);
            EXPECT_GT(clipped->visible, 0u);
            request.settings.clip.reset();
            request.settings.near_plane = 1e6;
            EXPECT_EQ(draw(request)->visible, 0u);
        }
    // A score of a part would be taken for the model's.
    EXPECT_GT(draw(request_for(h, ViewMode::color, 2))->psnr, 3.0);
    ViewRequest request = request_for(h, ViewMode::color, 2);
    request.settings.clip = half;
    EXPECT_EQ(draw(request)->psnr, 0);
    EXPECT_TRUE(h.errors.empty());
}

TEST(Session, a_point_is_found_with_parallel_rays) {
    SessionHarness h(quiet_options());
    ASSERT_TRUE(h.open(tiny_capture()));
    h.state.navigation = first_view(*h.state.scene);
    h.state.navigation.through.model = CameraModel::orthographic;
    const NavigationState before = h.state.navigation;
    h.session.send(jobs::focus(request_for(h), 0.5, 0.55));
    ASSERT_TRUE(h.until([&] {
        const Vec3d moved = h.state.navigation.target - before.target;
        return dot(moved, moved) > 0;
    }));
    const auto at = camera_of(before, 160, 120)
                        .pixel_of(camera_of(before, 160, 120).rotation * h.state.navigation.target +
                                  camera_of(before, 160, 120).translation);
    EXPECT_NEAR(at.x, 80, 2);
    EXPECT_NEAR(at.y, 66, 2);
    EXPECT_TRUE(h.state.navigation.parallel());
}

TEST(Session, heatmaps_arrive_while_training_from_a_free_camera) {
    SessionOptions options = quiet_options();
    options.settings.steps = 100000;
    SessionHarness h(options);
    ASSERT_TRUE(h.open(tiny_capture(), true));
    ASSERT_TRUE(h.until([&] { return h.state.training.step > 3; }));
    std::uint64_t serial = 0;
    for (const ViewMode mode :
         {ViewMode::contributors, ViewMode::isects, ViewMode::pairs, ViewMode::depth}) {
        ViewRequest request = request_for(h, mode);
        request.serial = ++serial;
        h.session.request_view(request);
        ASSERT_TRUE(h.until([&] { return h.state.frame && h.state.frame->request == serial; }));
        EXPECT_EQ(h.run_state(), RunState::training);
        EXPECT_EQ(h.state.frame->mode, mode);
    }
    EXPECT_TRUE(h.until([&] { return h.state.training.viewer_share > 0.0; }));
}

std::string checkpoint_after(std::uint64_t steps, bool move_camera) {
    SessionHarness h(quiet_options());
    EXPECT_TRUE(h.open(tiny_capture()));
    h.session.send(jobs::run_to(steps));
    int moves = 0;
    EXPECT_TRUE(h.until([&] {
        if (move_camera) {
            h.state.navigation.target.x = 0.1 * (moves % 30);
            ViewRequest request = request_for(h, moves % 2 ? ViewMode::pairs : ViewMode::color);
            request.moving = true;
            request.serial = static_cast<std::uint64_t>(++moves);
            h.session.request_view(request);
        }
        return h.run_state() == RunState::paused && h.state.training.step == steps;
    }));
    const fs::path file = h.folder.path() / "run.gsc";
    EXPECT_TRUE(h.until_done(h.session.send(jobs::save_checkpoint(file.string()))));
    EXPECT_TRUE(h.errors.empty());
    const auto bytes = read_text_file(file);
    EXPECT_TRUE(bytes);
    return bytes ? *bytes : "";
}

TEST(Session, moving_the_camera_changes_no_bit_of_the_training) {
    const std::string still = checkpoint_after(25, false), moving = checkpoint_after(25, true);
    ASSERT_FALSE(still.empty());
    EXPECT_TRUE(still == moving);
}

TEST(Session, saved_runs_go_on_and_exported_splats_open) {
    SessionHarness h(quiet_options());
    ASSERT_TRUE(h.open(tiny_capture()));
    h.session.send(jobs::steps(4));
    ASSERT_TRUE(h.until([&] { return h.state.training.step == 4; }));
    const std::string checkpoint = (h.folder.path() / "four.gsc").string(),
                      splats = (h.folder.path() / "four.ply").string();
    h.session.send(jobs::save_checkpoint(checkpoint));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::export_splats(splats))));
    ASSERT_TRUE(h.errors.empty()) << h.errors[0].text;
    h.session.send(jobs::steps(3));
    ASSERT_TRUE(h.until([&] { return h.state.training.step == 7; }));
    ASSERT_TRUE(h.open(checkpoint));
    EXPECT_EQ(h.state.training.step, 4u);
    EXPECT_EQ(h.run_state(), RunState::paused);
    ASSERT_TRUE(h.open(splats));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::evaluate())));
    ASSERT_TRUE(
        h.until([&] { return !h.state.status.evaluating && h.state.training.test_psnr > 0; }));
}

TEST(Session, bad_paths_and_outputs_are_reported_and_nothing_is_lost) {
    SessionHarness h(quiet_options());
    h.session.send(jobs::open((h.folder.path() / "nothing").string()));
    ASSERT_TRUE(h.until([&] { return !h.errors.empty(); }));
    EXPECT_TRUE(h.until_state(RunState::failed));
    h.errors.clear();
    ASSERT_TRUE(h.open(tiny_capture()));
    const std::string junk = (h.folder.path() / "junk.ply").string();
    std::ofstream(junk) << "ply\nformat ascii 1.0\nelement vertex 99999999999\nend_header\n";
    h.session.send(jobs::open(junk));
    ASSERT_TRUE(h.until([&] { return !h.errors.empty(); }));
    EXPECT_TRUE(h.until_state(RunState::ready));
    h.errors.clear();
    h.session.send(jobs::export_splats("/proc/nowhere/out.ply"));
    h.session.send(jobs::save_checkpoint("/proc/nowhere/out.gsc"));
    ASSERT_TRUE(h.until([&] { return h.errors.size() == 2; }));
    h.session.send(jobs::steps(1));
    ASSERT_TRUE(h.until([&] { return h.state.training.step == 1; }));
}

TEST(Session, pictures_come_at_the_size_asked_for) {
    SessionHarness h(quiet_options());
    ASSERT_TRUE(h.open(tiny_capture()));
    PictureRequest picture{view_request_of(h.state, 333, 222), "x.png", false};
    h.session.send(jobs::picture(picture));
    picture.request.camera.width = 0;
    h.session.send(jobs::picture(picture));
    ASSERT_TRUE(h.until([&] { return h.pictures.size() == 1 && h.errors.size() == 1; }));
    EXPECT_EQ(h.pictures[0]->frame->rgba.width, 333);
    EXPECT_EQ(h.pictures[0]->frame->rgba.height, 222);
}

TEST(Session, the_contact_sheet_shows_photos_renders_and_errors_of_the_newest_step) {
    SessionHarness h(quiet_options());
    ASSERT_TRUE(h.open(tiny_capture()));
    const std::vector<std::size_t> every{0, 1, 2, 3, 4, 5, 6, 7, 8};
    const auto want = [&](SheetRequest request) {
        h.session.send([request](Engine& e) { e.part<ContactSheet>().want(request); });
    };
    const auto all = [&](const std::function<bool(const SheetPicture&)>& are) {
        return h.until([&] {
            return h.state.sheet && h.state.sheet->size() == 9 &&
                   std::all_of(h.state.sheet->begin(), h.state.sheet->end(),
                               [&](const auto& cell) { return cell && are(*cell); });
        });
    };
    want({.width = 40, .views = every});
    ASSERT_TRUE(all([](const SheetPicture& p) { return p.parts == 1 && p.strip.width == 40; }));
    want({.width = 40, .renders = true, .views = every});
    ASSERT_TRUE(all([](const SheetPicture& p) { return p.parts == 3 && p.strip.width == 120; }));
    const Image8 before = (*h.state.sheet)[3]->strip;
    EXPECT_EQ(before.height, 30);
    const auto mean_of = [](const Image8& strip, int part) {
        double sum = 0;
        for (int y = 0; y < strip.height; ++y)
            for (int x = 0; x < strip.width / 3; ++x)
                sum += strip.at(x + part * strip.width / 3, y)[0];
        return sum / strip.width / strip.height * 3;
    };
    EXPECT_GT(mean_of(before, 0), 5) << "a photo";
    h.session.send(jobs::steps(30));
    ASSERT_TRUE(all([](const SheetPicture& p) { return p.step == 30; }));
    const Image8 after = (*h.state.sheet)[3]->strip;
    EXPECT_LT(mean_of(after, 2), mean_of(before, 2)) << "errors fall";
    EXPECT_NE(mean_of(after, 1), mean_of(before, 1));
    EXPECT_EQ(mean_of(after, 0), mean_of(before, 0)) << "the photo stays";
    want(
        {.width = 37, .renders = true, .views = every});  // 37 x 27.75: all parts are rounded alike
    ASSERT_TRUE(all([](const SheetPicture& p) { return p.strip.width == 111; }));
    for (int part = 0; part < 2; ++part) EXPECT_GT(mean_of((*h.state.sheet)[3]->strip, part), 5);
    want({.width = 37, .renders = true, .views = {2, 5}});
    h.session.send(jobs::steps(1));
    ASSERT_TRUE(h.until(
        [&] { return (*h.state.sheet)[2]->step == 31 && (*h.state.sheet)[5]->step == 31; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    h.gather();
    EXPECT_EQ((*h.state.sheet)[0]->step, 30u) << "nobody looks, and it is kept";
    const std::uint64_t serial = (*h.state.sheet)[5]->serial;
    want({.width = 37, .renders = true, .views = every});
    ASSERT_TRUE(all([](const SheetPicture& p) { return p.step == 31; }));
    EXPECT_EQ((*h.state.sheet)[5]->serial, serial) << "a current picture is not drawn again";
    h.session.send(jobs::close());
    ASSERT_TRUE(h.until([&] { return !h.state.scene && h.state.sheet->empty(); }));
    EXPECT_TRUE(h.errors.empty());
}

TEST(Session, shuts_down_while_loading_and_while_training) {
    for (int i = 0; i < 3; ++i) {
        SessionHarness h(quiet_options());
        h.session.send(jobs::open(tiny_capture(), "", true));
        if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(15 * i));
    }
    SessionHarness h(quiet_options());
    ASSERT_TRUE(h.open(tiny_capture(), true));
    ASSERT_TRUE(h.until([&] { return h.state.training.step > 1; }));
}

TEST(Session, closing_saves_what_was_not_saved) {
    SessionHarness h(quiet_options());
    ASSERT_TRUE(h.open(tiny_capture()));
    h.session.send(jobs::steps(2));
    ASSERT_TRUE(h.until([&] { return h.state.training.step == 2; }));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::close())));
    EXPECT_EQ(h.run_state(), RunState::empty);
    EXPECT_TRUE(fs::exists(h.state.training.last_checkpoint));
}

TEST(Session, limits_are_measured_on_command_and_kept) {
    SessionHarness plain(quiet_options());
    plain.session.send(jobs::measure_limits());
    ASSERT_TRUE(plain.until([&] { return !plain.errors.empty(); }));
    EXPECT_FALSE(plain.state.limits);

    SessionOptions options = quiet_options();
    options.limits = [](bool again) -> Result<Ceilings> {
        return Ceilings{.machine = again ? "measured again" : "as before", .copy_bytes = 1e10};
    };
    SessionHarness h(options);
    h.session.send(jobs::measure_limits());
    ASSERT_TRUE(h.until([&] { return h.state.limits && h.state.limits->machine == "as before"; }));
    h.session.send(jobs::measure_limits(true));
    ASSERT_TRUE(h.until([&] { return h.state.limits->machine == "measured again"; }));
    EXPECT_TRUE(h.errors.empty());
}

TEST(Session, what_the_cost_model_needs_is_told_of_steps_and_frames) {
    SessionHarness h(quiet_options());
    ASSERT_TRUE(h.open(tiny_capture()));
    EXPECT_EQ(h.state.status.step_cost.width, 0) << "no step yet";
    EXPECT_TRUE(std::isnan(h.state.training.loss)) << "not known is not zero";
    h.session.send(jobs::steps(2));
    ASSERT_TRUE(
        h.until([&] { return h.state.training.step == 2 && h.state.status.step_cost.width > 0; }));
    EXPECT_EQ(h.state.status.step_cost.width, 80);
    EXPECT_GT(h.state.status.step_cost.counters.isects, 0u);
    EXPECT_GT(h.state.training.loss, 0);
    h.session.request_view(request_for(h));
    ASSERT_TRUE(h.until([&] { return h.state.status.frame_cost.width == 160; }));
    EXPECT_GT(h.state.status.frame_cost.counters.visible, 0u);
}

}  // namespace
}  // namespace gs
