// The workspace under the hand: a region over all others, tabs dragged to others, the picture
// alone.
#include "panels/workspace.h"

#include <gtest/gtest.h>
#include <imgui_internal.h>

#include "panels/scene/images_panel.h"
#include "panels/state/inspection.h"
#include "panels/state/selection_state.h"
#include "panels/viewport/viewport.h"
#include "panels/widgets/keys.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

class TheWorkspace : public testing::Test {
  protected:
    TheWorkspace() : table(fake_table()), commands(table) {
        fill_store(store, 30, 5'000'000'000'000);
        snapshot = fake_snapshot(store, ViewMode::color);
        workspace.reset_layout();
        for (int i = 0; i < 4; ++i) ui.frame(draw);
    }
    static ImGuiWindow& window(const char* region) {
        return *ImGui::FindWindowByName((std::string(region) + "##region").c_str());
    }
    /// The middle of a region's first tab.
    static ImVec2 first_tab(const char* region) {
        return {window(region).Pos.x + 2.5F * em(), window(region).Pos.y + em()};
    }
    static ImVec2 middle(const char* region) {
        const ImGuiWindow& w = window(region);
        return {w.Pos.x + w.Size.x / 2, w.Pos.y + w.Size.y / 2};
    }
    void double_click(ImVec2 at) {
        for (int i = 0; i < 2; ++i) ui.click(at, draw);
        for (int i = 0; i < 40; ++i) ui.frame(draw);  // the next click is no part of it
    }

    Headless ui;
    TraceStore store;
    std::vector<CommandInfo> table;
    Commands commands;
    Snapshot snapshot;
    Workspace workspace;
    const std::function<void()> draw = [this] { workspace.draw(snapshot, commands); };
};

TEST_F(TheWorkspace, ADoubleClickOnATabPutsItsRegionOverAllOthersAndBack) {
    const int width = workspace.panel<Viewport>().width();
    const ImVec2 small = window("bottom").Size;
    double_click(first_tab("bottom"));
    ASSERT_EQ(workspace.maximised, Region::bottom);
    EXPECT_GE(window("bottom").Size.x, 1599);
    EXPECT_FALSE(workspace.panel<Viewport>().drawn());
    double_click(first_tab("bottom"));
    EXPECT_FALSE(workspace.maximised);
    EXPECT_EQ(window("bottom").Size.x, small.x);
    EXPECT_EQ(workspace.panel<Viewport>().width(), width);
}

TEST_F(TheWorkspace, WhatIsShownIsSeen) {
    workspace.maximised = Region::bottom;
    ui.frame(draw);
    EXPECT_TRUE(workspace.show_panel("Log"));
    EXPECT_EQ(workspace.maximised, Region::bottom) << "it lies there";
    EXPECT_TRUE(workspace.show_panel("Scene"));
    EXPECT_FALSE(workspace.maximised);
    workspace.picture_only = true;
    EXPECT_TRUE(workspace.show_panel("Viewport"));
    EXPECT_TRUE(workspace.picture_only);
    EXPECT_TRUE(workspace.show_panel("Scene"));
    EXPECT_FALSE(workspace.picture_only);
    workspace.maximised = Region::bottom_right;
    for (const char* other : {"Time lapse", "Film"}) EXPECT_TRUE(workspace.show_panel(other, true));
    EXPECT_TRUE(workspace.move_panel("Plots", Region::left));
    ui.frame(draw);
    EXPECT_FALSE(workspace.maximised) << "nothing is left in it";
}

TEST_F(TheWorkspace, HelpIsClosedOnWhatItLiesOnAndIsNeverKeptInFront) {
    ASSERT_TRUE(workspace.in_front("Viewport"));
    EXPECT_TRUE(workspace.show_panel("Help"));
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    EXPECT_TRUE(workspace.in_front("Help"));
    const std::string kept = workspace.save_layout();
    EXPECT_TRUE(workspace.show_panel("Help", true));
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    EXPECT_TRUE(workspace.in_front("Viewport"));
    Workspace next;
    next.load_layout(kept);
    for (int i = 0; i < 4; ++i) ui.frame([&] { next.draw(snapshot, commands); });
    EXPECT_TRUE(next.in_front("Viewport"));
    EXPECT_FALSE(next.in_front("Help"));
}

TEST_F(TheWorkspace, ATabIsDraggedToAnotherRegion) {
    ASSERT_EQ(workspace.region_of("Plots"), Region::bottom_right);
    for (const char* other : {"Time lapse", "Film"}) EXPECT_TRUE(workspace.show_panel(other, true));
    ui.frame(draw);
    ui.drag(first_tab("bottom right"), middle("left"), draw);
    ui.frame(draw);
    EXPECT_EQ(workspace.region_of("Plots"), Region::left);
    // That left an empty region, whose place takes another one.
    const ImGuiWindow& bottom = window("bottom");
    ui.drag(first_tab("left"), {bottom.Pos.x + 0.9F * bottom.Size.x, middle("bottom").y}, draw);
    ui.frame(draw);
    EXPECT_EQ(workspace.region_of("Scene"), Region::bottom_right);
}

TEST_F(TheWorkspace, EscapeEndsADragAndTheTabStays) {
    const ImVec2 from = first_tab("bottom right"), to = middle("left");
    ui.move_mouse(from);
    ui.frame(draw);
    ImGui::GetIO().MouseDown[0] = true;
    ui.frame(draw);
    ui.move_mouse(to);
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    ui.press(ImGuiKey_Escape, draw);
    ImGui::GetIO().MouseDown[0] = false;
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    EXPECT_EQ(workspace.region_of("Plots"), Region::bottom_right);
}

TEST_F(TheWorkspace, TheDefaultLayoutShowsSevenPanels) {
    std::vector<std::string> shown;
    for (const std::string& name : workspace.panel_names())
        if (workspace.shown(name)) shown.push_back(name);
    EXPECT_EQ(shown, (std::vector<std::string>{"Scene", "Cameras", "Viewport", "Training", "Stages",
                                               "Timeline", "Plots"}));
}

TEST_F(TheWorkspace, TheFirstAnswerComesToTheFront) {
    const auto front = [&](const char* name) {
        const std::string layout = workspace.save_layout();
        return layout.find(std::string(name) + "=right lower front") != std::string::npos;
    };
    Snapshot before = snapshot;
    before.inspection.reset();
    Workspace other;
    other.reset_layout();
    const auto show = [&](const Snapshot& s) {
        for (int i = 0; i < 3; ++i) ui.frame([&] { other.draw(s, commands); });
    };
    show(before);
    EXPECT_FALSE(other.shown("Pixel"));
    EXPECT_FALSE(other.shown("Selection")) << "it had a selection from the beginning";
    ui.frame([&] { other.draw(snapshot, commands); });
    EXPECT_TRUE(other.busy()) << "the tab is drawn with the next frame";
    show(snapshot);
    EXPECT_EQ(other.region_of("Pixel"), Region::right_lower);
    EXPECT_NE(other.save_layout().find("Pixel=right lower front"), std::string::npos);
    EXPECT_TRUE(other.show_panel("Pixel", true));
    show(before);
    show(snapshot);
    EXPECT_FALSE(other.shown("Pixel")) << "only once: the user has put it away";
    EXPECT_FALSE(front("Pixel")) << "this one showed the answer from the beginning";
}

TEST_F(TheWorkspace, TheListOfAStripShowsItsHiddenPanels) {
    ASSERT_FALSE(workspace.shown("Log"));
    const ImGuiWindow& bottom = window("bottom");
    const auto popup = [] { return ImGui::GetCurrentContext()->OpenPopupStack.Size > 0; };
    for (float x = bottom.Pos.x + 20; x < bottom.Pos.x + 400 && !popup(); x += 8) {
        ui.click({x, bottom.Pos.y + em()}, draw);
    }
    ASSERT_TRUE(popup());
    ui.frame(draw);
    const ImGuiWindow& list = *ImGui::GetCurrentContext()->OpenPopupStack[0].Window;
    for (float y = list.Pos.y + list.Size.y - 12; y > list.Pos.y && !workspace.shown("Log"); y -= 8)
        if (popup()) ui.click({list.Pos.x + 30, y}, draw);
    EXPECT_EQ(workspace.region_of("Log"), Region::bottom);
}

TEST_F(TheWorkspace, ClosingATabNeedsAim) {
    EXPECT_TRUE(workspace.show_panel("Log"));
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    const ImGuiWindow& bottom = window("bottom");
    // The cross is at the right end of a tab: a click on each place of the strip closes none.
    for (float x = bottom.Pos.x + 10; x < bottom.Pos.x + 200; x += 3)
        ui.click({x, bottom.Pos.y + em()}, draw);
    EXPECT_TRUE(workspace.shown("Timeline") && workspace.shown("Log"));
    for (float x = bottom.Pos.x + 10; x < bottom.Pos.x + 200 && workspace.shown("Timeline");
         x += 3) {
        ui.move_mouse({x, bottom.Pos.y + em()});
        for (int i = 0; i < 30; ++i) ui.frame(draw);
        ui.click({x, bottom.Pos.y + em()}, draw);
    }
    EXPECT_FALSE(workspace.shown("Timeline"));
}

TEST_F(TheWorkspace, TheStatusBarCountsTheSelection) {
    StatusBar bar;
    const std::string words = ui.words([&] { bar.draw(snapshot, commands); });
    EXPECT_NE(words.find("1,284 of 398,214 selected"), std::string::npos) << words;
    EXPECT_NE(words.find("pixel: "), std::string::npos);
    snapshot.training.gaussians = 500'000;  // density control has grown it
    EXPECT_NE(answers_in_words(snapshot).find("1,284 of 500,000 selected"), std::string::npos);
    snapshot.selection = std::make_shared<const SelectionState>();
    EXPECT_EQ(answers_in_words(snapshot).find("selected"), std::string::npos);
}

TEST_F(TheWorkspace, ThePictureAloneAnswersAClick) {
    workspace.picture_only = true;
    const auto hints = [&](int frames) {
        for (int i = 0; i < frames; ++i) ui.frame(draw);
        return ui.words(draw).find("Press Escape to show the panels") != std::string::npos;
    };
    EXPECT_TRUE(hints(2));
    EXPECT_FALSE(hints(400));
    SelectionState more = *snapshot.selection;
    more.selected = 4321;  // as training makes more of them
    snapshot.selection = std::make_shared<const SelectionState>(more);
    EXPECT_FALSE(hints(2));
    EXPECT_NE(ui.words(draw).find("4,321 of "), std::string::npos);
    PixelAnswer pixel = *snapshot.inspection->pixel;
    ++pixel.report.x;
    PixelInspection clicked = *snapshot.inspection;
    clicked.pixel = std::make_shared<const PixelAnswer>(pixel);
    snapshot.inspection = std::make_shared<const PixelInspection>(clicked);
    EXPECT_TRUE(hints(2)) << "another answer, and how to show its panel";
    EXPECT_FALSE(hints(400));
    snapshot.selection.reset();
    EXPECT_FALSE(hints(400));
    snapshot.selection = std::make_shared<const SelectionState>(more);
    EXPECT_TRUE(hints(2));
}

TEST_F(TheWorkspace, AColumnAtItsLeastWidthFollowsTheMouseAtOnce) {
    ui.restart(1024, 700);
    for (int i = 0; i < 4; ++i) ui.frame(draw);
    const ImGuiWindow& left = window("left");
    const float before = left.Size.x;
    const ImVec2 grip{left.Pos.x + left.Size.x + 0.12F * em(), left.Pos.y + 200};
    ui.drag(grip, {grip.x + 40, grip.y}, draw);
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    EXPECT_NEAR(window("left").Size.x, before + 40, 2);
}

TEST_F(TheWorkspace, ImagesListTheWorstFirst) {
    ImagesPanel images;
    const auto alone = [&] { draw_alone(images, snapshot, commands); };
    for (int i = 0; i < 2; ++i) ui.frame(alone);
    Given given;
    for (float y = 30; y < 120 && given.empty(); y += 5) {
        ui.click({1500, y}, alone);  // the heading there sorts nothing
        for (auto& g : commands.take())
            if (g.first == "view.capture") given.push_back(std::move(g));
    }
    const CameraRow* worst = nullptr;
    for (const CameraRow& row : *snapshot.cameras)
        if (std::isfinite(row.psnr) && (!worst || row.psnr < worst->psnr)) worst = &row;
    ASSERT_TRUE(worst);
    EXPECT_EQ(given, (Given{{"view.capture", {std::to_string(worst->view)}}}));
}

TEST_F(TheWorkspace, ImagesStaySortedInANarrowerPanel) {
    ImagesPanel images;
    const auto alone = [&] { draw_alone(images, snapshot, commands); };
    for (int i = 0; i < 2; ++i) ui.frame(alone);
    const ImGuiID id = ImGui::FindWindowByName("alone")->GetID("##images");
    const ImGuiTable& listed = *ImGui::TableFindByID(id);
    const auto column = [&](std::string_view title) {
        for (int i = 0; i < listed.ColumnsCount; ++i)
            if (title == ImGui::TableGetColumnName(&listed, i)) return i;
        return -1;
    };
    const int loss = column("loss"), used = column("used");
    ASSERT_TRUE(loss > 0 && used > 0);
    ui.click({listed.Columns[loss].WorkMinX + 4, listed.OuterRect.Min.y + 0.5F * em()}, alone);
    ASSERT_EQ(listed.Columns[loss].SortOrder, 0);
    ImGui::GetIO().DisplaySize.x = 30 * em();
    for (int i = 0; i < 3; ++i) ui.frame(alone);
    EXPECT_FALSE(listed.Columns[used].IsEnabled);
    EXPECT_EQ(listed.Columns[loss].SortOrder, 0);
    EXPECT_TRUE(listed.Columns[loss].IsEnabled) << "its order stays to be seen";
    ImGui::GetIO().DisplaySize.x = 60 * em();
    for (int i = 0; i < 3; ++i) ui.frame(alone);
    EXPECT_TRUE(listed.Columns[used].IsEnabled);
}

TEST_F(TheWorkspace, ThePictureAloneLeavesEscapeToTheStudio) {
    ui.click(middle("right"), draw);
    for (int i = 0; i < 3; ++i) ui.press(ImGuiKey_DownArrow, draw);
    ASSERT_TRUE(keyboard_takes("Escape")) << "the keyboard stands on something";
    workspace.picture_only = true;
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    EXPECT_FALSE(keyboard_takes("Escape"));
}

TEST_F(TheWorkspace, ThePictureAloneFillsTheWindow) {
    workspace.picture_only = true;
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    EXPECT_TRUE(workspace.panel<Viewport>().drawn());
    EXPECT_EQ(workspace.panel<Viewport>().width(), 1600);
    EXPECT_EQ(workspace.panel<Viewport>().height(), 1000);
    workspace.palette.show();
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    EXPECT_TRUE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel));
}

}  // namespace
}  // namespace gs::test
