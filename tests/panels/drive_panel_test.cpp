// The Drive panel: its clicks are commands, its map knows where sweeps lie, and drives without
// poses, returns, a model or a second sweep are drawn, too; the sweep over the viewport's picture.
#include "panels/scene/drive_panel.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "panels/viewport/overlay_parts.h"
#include "tests/panels/fake_drive.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

struct DrivePanels : ::testing::Test {
    DrivePanels() {
        snapshot = fake_snapshot(store, ViewMode::color);
        show(fake_drive());
    }
    void show(const DriveState& drive) {
        snapshot.drive = std::make_shared<const DriveState>(drive);
    }
    Given click_over(float y0, float y1, float step = 19) {
        DrivePanel panel;
        return click_all_over(ui, panel, snapshot, commands, y0, y1, step);
    }
    /// Vertices of the panel, and of the sweep over the picture.
    int vertices() {
        DrivePanel panel;
        const auto draw = [&] { draw_alone(panel, snapshot, commands); };
        for (int i = 0; i < 3; ++i) ui.frame(draw);
        return ui.frame(draw);
    }
    int overlay_vertices(bool photo_instead = false) {
        return ui.frame([&] {
            draw_sweep_overlay(*ImGui::GetForegroundDrawList(), snapshot, *snapshot.frame,
                               {{0, 0}, {600, 400}}, photo_instead);
        });
    }
    static const std::vector<std::string>* arguments_of(const Given& all, const std::string& name) {
        const auto at = std::ranges::find_if(all, [&](const auto& g) { return g.first == name; });
        return at == all.end() ? nullptr : &at->second;
    }
    static long times(const Given& all, const std::string& name) {
        return std::ranges::count_if(all, [&](const auto& g) { return g.first == name; });
    }
    Headless ui{1000, 300};
    TraceStore store;
    std::vector<CommandInfo> table = fake_table();
    Commands commands{table};
    Snapshot snapshot;
};

TEST_F(DrivePanels, every_button_is_a_command) {
    const Given head = click_over(8, 40, 11);
    ASSERT_TRUE(arguments_of(head, "drive.play"));
    EXPECT_EQ(*arguments_of(head, "drive.play"), std::vector<std::string>{"on"});
    EXPECT_EQ(*arguments_of(head, "view.sweep"), std::vector<std::string>{"on"});
    EXPECT_EQ(*arguments_of(head, "drive.follow"), std::vector<std::string>{"on"});
    EXPECT_TRUE(arguments_of(head, "drive.next"));
    EXPECT_TRUE(arguments_of(head, "drive.previous"));
    EXPECT_TRUE(arguments_of(head, "drive.score"));
    ASSERT_TRUE(arguments_of(head, "drive.time"));
    const double seconds = std::stod(arguments_of(head, "drive.time")->front());
    EXPECT_TRUE(seconds >= 0 && seconds <= snapshot.drive->length()) << seconds;
    snapshot.activities = {{"drive score", "drawing sweeps", 0.25, 3}};
    const Given scoring = click_over(8, 40, 11);
    EXPECT_FALSE(arguments_of(scoring, "drive.score"));
    ASSERT_TRUE(arguments_of(scoring, "cancel"));
    EXPECT_EQ(arguments_of(scoring, "cancel")->front(), "drive score");
}

TEST_F(DrivePanels, a_row_and_a_place_choose_a_sweep) {
    const Given given = click_over(70, 290, 61);
    EXPECT_GT(times(given, "drive.sweep"), 10);
    for (const auto& [name, arguments] : given)
        if (name == "drive.sweep") {
            EXPECT_TRUE(std::stoi(arguments[0]) >= 1 && std::stoi(arguments[0]) <= 24);
        }
    const DriveState& drive = *snapshot.drive;
    for (const std::size_t sweep : {0u, 6u, 23u}) {
        MapPlace at = on_map(drive, drive.sweeps[sweep].place);
        at.right += 0.1;
        EXPECT_EQ(nearest_sweep_on_map(drive, at), sweep);
    }
    // Ahead is up on the map; y down and z ahead have x at the right.
    EXPECT_NEAR(on_map(drive, {3, 7, 2}).right, 3, 1e-12);
    EXPECT_NEAR(on_map(drive, {3, 7, 2}).ahead, 2, 1e-12);
}

TEST_F(DrivePanels, what_is_missing_is_said) {
    const int whole = vertices();
    EXPECT_GT(whole, 10'000) << "the map has the sweep's points";
    show(fake_drive(SweepChannel::intensity, false, false));  // no model, no return
    const int without = vertices();
    EXPECT_GT(without, 500);
    EXPECT_LT(without, whole / 2);
    DriveState alone = fake_drive();
    alone.sweeps.resize(1);
    alone.chosen = 0;
    alone.seconds = 0;
    alone.way.clear();
    alone.posed = false;
    alone.shown = nullptr;
    alone.sweeps[0].problem = "gone";
    show(alone);
    const Given head = click_over(8, 40, 11);
    for (const char* dead : {"drive.play", "drive.next", "drive.previous", "drive.time"})
        EXPECT_FALSE(arguments_of(head, dead)) << dead;
    alone.sweeps.clear();
    show(alone);
    EXPECT_GT(vertices(), 0);
    snapshot.drive = nullptr;
    EXPECT_TRUE(click_over(8, 100).empty());
}

TEST_F(DrivePanels, any_width_holds_everything) {
    ui.restart(620, 230);  // the map, or the table in its place
    const Given middling = click_over(30, 220, 31);
    EXPECT_TRUE(arguments_of(middling, "drive.sweep"));
    ui.restart(340, 900);
    const Given given = click_over(8, 890, 41);
    EXPECT_TRUE(arguments_of(given, "drive.sweep"));
    EXPECT_TRUE(arguments_of(given, "drive.score"));
    EXPECT_TRUE(arguments_of(given, "view.sweep"));
}

TEST_F(DrivePanels, the_sweep_lies_over_the_picture_where_it_is_asked_for) {
    EXPECT_EQ(overlay_vertices(), 0);
    EXPECT_TRUE(words_of_sweep(snapshot).empty());
    DriveState drive = fake_drive();
    drive.in_picture = true;
    show(drive);
    const int over_render = overlay_vertices(), over_photo = overlay_vertices(true);
    EXPECT_GT(over_photo, 400);
    EXPECT_GT(over_render, over_photo) << "way and axes are of the render alone";
    EXPECT_EQ(words_of_sweep(snapshot), "sweep 000006 at 0.60 s: range 1 .. 80 m");
    drive.shown = nullptr;  // is being read
    show(drive);
    EXPECT_GT(overlay_vertices(), 0);
    EXPECT_EQ(words_of_sweep(snapshot), "sweep 000006 at 0.60 s");
}

}  // namespace
}  // namespace gs::test
