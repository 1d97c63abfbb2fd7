// Clicks become the commands they should, and every command that panels give is in the table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "panels/files_panel.h"
#include "panels/notices.h"
#include "panels/scene/cameras_panel.h"
#include "panels/scene/doctor_panel.h"
#include "panels/scene/images_panel.h"
#include "panels/timeline/timeline_panel.h"
#include "panels/trace/stages_panel.h"
#include "panels/training/time_lapse_panel.h"
#include "panels/training/training_panel.h"
#include "panels/viewport/viewport.h"
#include "panels/viewport/welcome.h"
#include "panels/widgets/keys.h"
#include "panels/workspace.h"
#include "tests/panels/click.h"
#include "tests/panels/fake_pictures.h"

namespace gs::test {
namespace {

TEST_F(Click, TrainingButtons) {
    TrainingPanel panel;
    const auto running = click_all_over(alone(panel), 330, 150, 11);
    for (const char* name :
         {"train.pause", "train.step", "train.stop", "train.run-to", "train.checkpoint"})
        EXPECT_TRUE(has(running, name)) << name;
    EXPECT_FALSE(has(running, "train.start"));
    snapshot.training.state = RunState::paused;
    const auto paused = click_all_over(alone(panel), 120, 110, 11);
    EXPECT_TRUE(has(paused, "train.start"));
    EXPECT_FALSE(has(paused, "train.pause"));
    snapshot.training.state = RunState::finished;
    EXPECT_FALSE(has(click_all_over(alone(panel), 120, 90, 11), "train.start"));
}

TEST_F(Click, ASettingIsChangedOnceWhenTheSliderIsLetGo) {
    TrainingPanel panel;
    const auto draw = alone(panel);
    ui.frame(draw);
    std::vector<Given> each;
    for (float y = 290; y < 400; y += 8) {  // below the headings, which clicks fold
        ui.drag({300, y}, {420, y}, draw);
        if (auto given = commands.take(); !given.empty()) each.push_back(std::move(given));
    }
    ASSERT_FALSE(each.empty());
    for (const Given& given : each) {
        if (given[0].first != "train.set") continue;
        EXPECT_EQ(given.size(), 1u);
        ASSERT_EQ(given[0].second.size(), 2u);
        EXPECT_TRUE(std::isfinite(std::stod(given[0].second[1])));
    }
    EXPECT_TRUE(std::any_of(each.begin(), each.end(),
                            [](const Given& g) { return g[0].first == "train.set"; }));
}

TEST_F(Click, NothingInTheTrainingPanelMovesTheSettings) {
    TrainingPanel panel;
    const auto draw = alone(panel);
    snapshot.training.snapshots.clear();
    snapshot.training.last_checkpoint.clear();
    snapshot.training.state = RunState::paused;
    const auto first_setting = [&] {
        for (int i = 0; i < 3; ++i) ui.frame(draw);
        for (float y = 100; y < 690; y += 2) {
            ui.move_mouse({440, y});
            ui.frame(draw);
            ImGui::GetIO().MouseDown[0] = true;
            ui.frame(draw);
            const bool held = !panel.edited.empty() || ImGui::IsAnyItemActive();
            const bool below = y > 180;
            ImGui::GetIO().MouseDown[0] = false;
            for (int i = 0; i < 2; ++i) ui.frame(draw);
            if (held && below) return y;
        }
        return 0.0F;
    };
    const float before = first_setting();
    snapshot = fake_snapshot(store, ViewMode::color);  // snapshots, rounds, a checkpoint
    snapshot.training.state = RunState::finished;
    snapshot.training.files = {{"splats", "/data/runs/1/point_cloud.ply"}};
    EXPECT_EQ(first_setting(), before);
}

TEST_F(Click, DoctorMendsTakesBackAndLooksAtExamples) {
    DoctorPanel doctor;
    const auto draw = alone(doctor);
    const Given closed = click_all_over(draw, 480, 330, 13);  // also opens the folded parts
    const Given open = click_all_over(draw, 480, 690, 13);
    Given all = closed;
    all.insert(all.end(), open.begin(), open.end());
    for (const char* name : {"doctor.examine", "doctor.fix", "doctor.undo", "select.finding",
                             "view.gaussian", "view.capture"})
        EXPECT_TRUE(has(all, name)) << name;
    const auto gave = [&](const std::string& name, const std::vector<std::string>& arguments) {
        return std::any_of(all.begin(), all.end(),
                           [&](const auto& g) { return g.first == name && g.second == arguments; });
    };
    EXPECT_TRUE(gave("doctor.fix", {})) << "all";
    EXPECT_TRUE(gave("doctor.fix", {"not-finite-positions"}) || gave("doctor.fix", {"invisible"}));
    EXPECT_TRUE(gave("train.set", {"max_gaussians", "3190000"})) << "what to change to fit";
    EXPECT_FALSE(
        command_of_example(snapshot, "images/frame_00101.jpg: truncated JPEG at byte 40960"));
    EXPECT_FALSE(command_of_example(snapshot, "#12x"));
    EXPECT_EQ(command_of_example(snapshot, "images/frame_00010.jpg")->second, "1");
}

TEST_F(Click, NoticesAreDismissedAndWorkIsCancelled) {
    const auto draw = [&] { draw_notices(snapshot, commands, 0, 690, 500); };
    const Given given = click_all_over(draw, 500, 700, 9);
    EXPECT_TRUE(has(given, "cancel"));
    EXPECT_TRUE(has(given, "notice.dismiss"));
    snapshot.activities[0].seconds = 0.1;
    snapshot.notices.clear();
    EXPECT_TRUE(click_all_over(draw, 500, 700, 23).empty())
        << "what is over in a moment is not shown";
}

TEST_F(Click, CamerasAndImagesSnap) {
    CamerasPanel cameras;
    EXPECT_TRUE(has(click_all_over(alone(cameras), 200, 200, 21), "view.capture"));
    ImagesPanel images;
    EXPECT_TRUE(has(click_all_over(alone(images), 100, 200, 21), "view.capture"));
}

TEST_F(Click, WelcomeOffersTheSample) {
    WelcomePanel welcome;
    const auto given = click_all_over(alone(welcome), 500, 420, 13);
    EXPECT_TRUE(has(given, "open.sample"));
    EXPECT_TRUE(has(given, "open"));
}

TEST_F(Click, ToolbarGivesViewCommands) {
    ui.restart(1400, 700);
    Viewport viewport;
    const auto given = click_all_over(alone(viewport), 1390, 60, 11, {2, 698});
    for (const char* name :
         {"view.frame-all", "view.frusta", "view.overlays", "view.next", "view.previous"})
        EXPECT_TRUE(has(given, name)) << name;
}

TEST_F(Click, TheCameraButtonGivesWhatTheLensIs) {
    // Wide enough for the whole row; the popup opens where the mouse is.
    ui.restart(1400, 700);
    Viewport viewport;
    const auto draw = alone(viewport);
    ui.frame(draw);
    const auto given_from = [&](float button) {
        Given given;
        for (float y = 20; y < 365; y += 9)
            for (float x = button - 20; x < button + 300; x += 25) {
                if (!popup_above()) ui.click({button, 15}, draw);
                ui.drag({x, y}, {x + 8, y}, draw);  // also presses buttons
                for (auto& one : commands.take()) given.push_back(std::move(one));
            }
        for (int i = 0; i < 2; ++i) ui.click({2, 698}, draw);
        return given;
    };
    float button = 0;  // found by what it opens
    for (float x = 600; x < 1390 && button == 0; x += 10) {
        ui.click({x, 15}, draw);
        if (popup_above()) {
            for (float y = 20; y < 330; y += 6) ui.click({x + 30, y}, draw);
            if (has(commands.take(), "view.from.front")) button = x;
        }
        for (int i = 0; i < 2; ++i) ui.click({2, 698}, draw);
        commands.take();
    }
    ASSERT_GT(button, 0);
    const auto given = given_from(button);
    for (const char* name :
         {"view.fov", "view.near", "view.orthographic", "view.from.front", "view.from.bottom",
          "view.grid", "view.fast", "view.exact", "view.clip.fit"})
        EXPECT_TRUE(has(given, name)) << name;
    snapshot.view.clip = ClipBox{{-1, -1, -1}, {1, 1, 1}};
    const auto clipped = given_from(button);
    EXPECT_TRUE(has(clipped, "view.clip"));
    for (const auto& [name, arguments] : clipped)
        if (name == "view.clip") {
            EXPECT_TRUE(arguments.size() == 6 || arguments == std::vector<std::string>{"off"});
        }
}

TEST_F(Click, WhatTheToolbarHasNoRoomForStandsInItsMenu) {
    Viewport viewport;
    const auto draw = alone(viewport);
    ui.frame(draw);
    Given given;
    for (float y = 20; y < 400; y += 9)
        for (float x = 200; x < 495; x += 25) {
            ui.click({480, 15}, draw);  // More
            ui.click({x, y}, draw);
            for (int i = 0; i < 2; ++i) ui.click({2, 698}, draw);
            for (auto& one : commands.take()) given.push_back(std::move(one));
        }
    for (const char* name : {"view.frame-all", "view.frusta", "view.overlays"})
        EXPECT_TRUE(has(given, name)) << name;
}

TEST_F(Click, ThePictureKeepsItsPlaceWhateverTheToolbarShows) {
    put_beside(snapshot);
    for (const double scale : {1.0, 2.0})
        for (const float width : {300.0F, 500.0F, 900.0F, 1400.0F}) {
            ui.restart(width, 700, scale);
            Viewport viewport;
            const auto draw = alone(viewport);
            ui.frame(draw);
            const int height = viewport.height();
            EXPECT_GT(height, 700 - static_cast<int>(40 * scale)) << "one row";
            for (std::size_t mode = 0; mode < kViewModeNames.size(); ++mode)
                for (std::size_t range = 0; range < kRangeModeNames.size(); ++range) {
                    snapshot.view.mode = static_cast<ViewMode>(mode);
                    snapshot.view.range = static_cast<RangeMode>(range);
                    snapshot.view.compare = static_cast<Compare>(mode % kCompareNames.size());
                    ui.frame(draw);
                    EXPECT_EQ(viewport.height(), height) << width << " " << mode << " " << range;
                }
        }
}

TEST_F(Click, DraggingThePictureTurnsAndPans) {
    Viewport viewport;
    const auto draw = alone(viewport);
    ui.frame(draw);
    double turned = 0, panned = 0;
    const auto drawn = [&] {
        draw();
        turned += viewport.input().turn_x;
        panned += viewport.input().pan_x;
    };
    ui.drag({200, 400}, {260, 400}, drawn);
    EXPECT_GT(turned, 40);
    EXPECT_EQ(panned, 0);
    ui.drag({200, 400}, {260, 400}, drawn, 2);
    EXPECT_GT(panned, 40);
    EXPECT_TRUE(commands.take().empty());
    ui.move_mouse({200, 400});
    ImGui::GetIO().MouseWheel = 2;
    ui.frame(draw);
    EXPECT_EQ(viewport.input().zoom, 2);
    ui.hold('W');
    ui.hold('A');
    ui.frame(draw);
    EXPECT_EQ(viewport.input().move.z, 1);
    EXPECT_EQ(viewport.input().move.x, -1);
    EXPECT_TRUE(viewport.steering());
    ui.move_mouse({200, 5});
    ui.frame(draw);
    ui.frame(draw);
    EXPECT_FALSE(viewport.input().any()) << "keys away from the picture";
}

TEST_F(Click, AFrustumIsPicked) {
    snapshot.view.frusta = true;
    Viewport viewport;
    const auto given = click_all_over(alone(viewport), 490, 690, 17);
    EXPECT_TRUE(has(given, "view.capture"));
}

TEST_F(Click, DoubleClickFocuses) {
    Viewport viewport;
    const auto draw = alone(viewport);
    ui.frame(draw);
    for (int i = 0; i < 2; ++i) ui.click({250, 400}, draw);
    const auto given = commands.take();
    ASSERT_TRUE(has(given, "view.focus"));
}

TEST_F(Click, SplitIsDragged) {
    snapshot.view.compare = Compare::split;
    snapshot.second_texture = 2;
    Viewport viewport;
    const auto draw = alone(viewport);
    ui.frame(draw);
    ui.drag({250, 400}, {300, 400}, draw);
    const auto given = commands.take();
    ASSERT_TRUE(has(given, "view.split"));
    EXPECT_GT(std::stod(given.back().second.at(0)), 0.5);
}

TEST_F(Click, TimelineSelectsWhatIsClickedAndZooms) {
    TraceView view;
    TimelinePanel timeline(view);
    const auto draw = alone(timeline);
    ui.frame(draw);
    const double before = timeline.axis.span_ns;
    EXPECT_TRUE(timeline.axis.follow);
    // A click selects, two zoom in.
    for (float y = 90; y < 240 && !timeline.selected(); y += 9) ui.click({300, y}, draw);
    ASSERT_TRUE(timeline.selected());
    EXPECT_FALSE(timeline.axis.follow);
    EXPECT_EQ(timeline.axis.span_ns, before);
    ui.press('F', draw);
    EXPECT_LT(timeline.axis.span_ns, before);
    EXPECT_NEAR(timeline.axis.span_ns,
                1.3 * static_cast<double>(timeline.selected()->span.length_ns()), 1);
    const double zoomed = timeline.axis.span_ns;
    ui.move_mouse({300, 200});
    ImGui::GetIO().MouseWheel = -3;
    ui.frame(draw);
    EXPECT_GT(timeline.axis.span_ns, zoomed);
    const std::int64_t at = timeline.axis.begin_ns;
    ui.drag({300, 300}, {340, 300}, draw);
    EXPECT_LT(timeline.axis.begin_ns, at);
    ui.hold('D');
    const std::int64_t moved = timeline.axis.begin_ns;
    for (int i = 0; i < 5; ++i) ui.frame(draw);
    EXPECT_GT(timeline.axis.begin_ns, moved);
}

TEST_F(Click, FilesOpenFolders) {
    FilesPanel files;
    files.browser.enter("/usr", nullptr);
    files.browser.settle();
    EXPECT_EQ(files.browser.folder(), "/usr");
    EXPECT_FALSE(files.browser.entries().empty());
    files.browser.enter("/no such folder", nullptr);
    files.browser.settle();
    EXPECT_FALSE(files.browser.problem().empty());
    EXPECT_EQ(files.browser.folder(), "/usr");
    const auto given = click_all_over(alone(files), 300, 90, 13);
    EXPECT_TRUE(has(given, "open")) << "what was opened lately";
}

TEST_F(Click, TheFiveOpenedLastLeaveRoomForTheBrowser) {
    snapshot.recent.clear();
    for (int i = 0; i < 12; ++i)
        snapshot.recent.push_back("/data/scene_" + std::to_string(i) + "/dense");
    FilesPanel files;
    files.browser.enter("/usr", nullptr);
    files.browser.settle();
    std::set<std::string> opened;
    for (const auto& [name, arguments] : click_all_over(alone(files), 200, 250, 11))
        if (name == "open" && arguments[0].ends_with("dense")) opened.insert(arguments[0]);
    EXPECT_EQ(opened.size(), 5u);
}

TEST_F(Click, WhatCannotBeOpenedLeavesTheFirstPage) {
    snapshot.scene.reset();
    snapshot.frame.reset();
    snapshot.training.state = RunState::failed;
    snapshot.training.message = "/no/such: there is no such file or folder";
    Viewport viewport;
    EXPECT_TRUE(has(click_all_over(alone(viewport), 500, 420, 13), "open.sample"));
    EXPECT_FALSE(viewport.drawn());
}

TEST_F(Click, TakeBackDoesNotComeToWhereMendAllWas) {
    DoctorPanel doctor;
    const auto draw = alone(doctor);
    auto report = *snapshot.doctor;
    report.fixes.clear();
    snapshot.doctor = std::make_shared<const DoctorReport>(report);
    auto fixed = report;
    fixed.fixes = {""};
    for (Finding& f : fixed.findings) f.fixable = false;
    const auto after = std::make_shared<const DoctorReport>(fixed);
    int mends = 0;
    for (float y = 5; y < 60; y += 5)
        for (float x = 5; x < 490; x += 7) {
            const auto before = snapshot.doctor;
            ui.click({x, y}, draw);
            if (!has(commands.take(), "doctor.fix")) continue;
            ++mends;
            snapshot.doctor = after;
            ui.click({x, y}, draw);
            EXPECT_FALSE(has(commands.take(), "doctor.undo")) << x << ' ' << y;
            snapshot.doctor = before;
        }
    EXPECT_GT(mends, 3);
}

TEST_F(Click, CsvIsCopied) {
    StagesPanel stages;
    ImGui::SetClipboardText("");
    const auto draw = alone(stages);
    for (float x = 200; x < 495 && ImGui::GetClipboardText()[0] == 0; x += 11)
        ui.click({x, 20}, draw);
    EXPECT_NE(std::string(ImGui::GetClipboardText()).find("blend backward"), std::string::npos);
    const std::string csv = images_csv(*snapshot.cameras);
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 49);
    EXPECT_NE(csv.find("images/frame_00038.jpg,train,,,"), std::string::npos)
        << "unmeasured is empty, not zero";
}

TEST_F(Click, AChangedSettingGoesBackByItsName) {
    TrainingPanel panel;
    const auto draw = alone(panel);
    ui.frame(draw);
    Given given;
    for (float y = 150; y < 690; y += 7) {
        ui.click({40, y}, draw, 1);
        for (auto& one : commands.take()) given.push_back(std::move(one));
    }
    ASSERT_FALSE(given.empty()) << "the one that is not as usual";
    for (const auto& one : given)
        EXPECT_EQ(one, (Given::value_type{"train.set", {"lr_means", "0.0002"}}));
}

TEST_F(Click, AChoiceIsMadeByItsName) {
    TrainingPanel panel;
    panel.filter = "strategy";
    snapshot.training = {};
    snapshot.training.state = RunState::ready;
    const auto draw = alone(panel);
    std::set<Given::value_type> given;
    for (float y = 150; y < 690; y += 14)
        for (float below = 14; below < 140; below += 14) {
            ui.click({400, y}, draw);  // opens the list
            ui.click({400, y + below}, draw);
            ui.click({499, 699}, draw);
            for (auto& one : commands.take())
                if (one.first == "train.set") given.insert(std::move(one));
        }
    EXPECT_EQ(given, (std::set<Given::value_type>{{"train.set", {"strategy", "mcmc"}}}));
}

TEST_F(Click, ATimeLapseIsScrubbedWalkedAndPlayed) {
    FakePictures pictures;
    snapshot.pictures = &pictures;
    TimeLapsePanel panel;
    const auto draw = alone(panel);
    ui.frame(draw);
    EXPECT_EQ(panel.step, 12'400U) << "the newest";
    EXPECT_EQ(pictures.textures.size(), 1U) << "only what is shown is read";
    const float strip = 680;
    ui.click({40, strip}, draw);
    EXPECT_LT(panel.step, 1'000U);
    EXPECT_FALSE(panel.newest);
    const std::uint64_t before = panel.step;
    ui.press(ImGuiKey_RightArrow, draw);
    EXPECT_EQ(panel.step, before + 100);
    ui.press(ImGuiKey_Home, draw);
    EXPECT_EQ(panel.step, 0U);
    ui.click({16, strip}, draw);
    EXPECT_TRUE(panel.busy()) << "it plays";
    for (int i = 0; i < 60; ++i) ui.frame(draw);
    EXPECT_GT(panel.step, 800U);
    ui.press(ImGuiKey_End, draw);
    EXPECT_TRUE(panel.newest);
    TimeLapseState longer = *snapshot.time_lapse;
    longer.views[0].pictures.push_back({12'500, "next.jpg"});
    snapshot.time_lapse = std::make_shared<TimeLapseState>(longer);
    ui.frame(draw);
    EXPECT_EQ(panel.step, 12'500U) << "as it comes";
}

TEST_F(Click, ATimeLapseSaysWhenAPictureIsMissing) {
    FakePictures pictures;
    snapshot.pictures = &pictures;
    TimeLapsePanel panel;
    const auto draw = alone(panel);
    const auto& shown = snapshot.time_lapse->views[0];
    ui.frame(draw);
    const auto drawn = [&] { return pictures.asked.back(); };
    panel.newest = false;
    panel.step = shown.pictures[3].step;
    pictures.missing.insert(shown.pictures[3].file);
    ui.frame(draw);
    EXPECT_EQ(drawn(), shown.pictures.back().file) << "the one before stays while it is read";
    for (int i = 0; i < 90; ++i) ui.frame(draw);
    EXPECT_EQ(drawn(), shown.pictures[3].file) << "and no longer";
    EXPECT_FALSE(panel.busy());
    // Of another camera none stays.
    panel.step = shown.pictures[4].step;
    ui.frame(draw);
    panel.view = snapshot.time_lapse->views[1].name;
    const std::string other = snapshot.time_lapse->views[1].pictures[4].file;
    pictures.missing.insert(other);
    ui.frame(draw);
    EXPECT_EQ(drawn(), other);
}

}  // namespace
}  // namespace gs::test
