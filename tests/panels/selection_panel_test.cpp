// Tools over the viewport's picture and the Selection panel: drags and clicks become the commands
// they should, and a tool leaves steering to the other buttons.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "panels/scene/selection_panel.h"
#include "panels/viewport/viewport.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

class Tools : public testing::Test {
  protected:
    Tools() : table(fake_table()), commands(table) {
        fill_store(store, 3, 5'000'000'000);
        snapshot = fake_snapshot(store, ViewMode::color);
        snapshot.view.frusta = false;
        snapshot.frame_texture = 1;
        // The picture is 960 x 640 and the window as large: pixels are pixels.
        draw = [this] {
            ImGui::SetNextWindowPos({0, 0});
            ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
            ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
            ImGui::Begin("alone", nullptr, ImGuiWindowFlags_NoDecoration);
            ImGui::PopStyleVar();
            viewport.begin_frame();
            viewport.draw_alone(snapshot, commands);
            turned += viewport.input().turn_x;
            panned += viewport.input().pan_x;
            ImGui::End();
        };
    }
    /// The commands of a drag, the last of them last; the engine answers each frame.
    Given drag(ImVec2 from, ImVec2 to, int button = 0) {
        const auto answered = [&] {
            snapshot.selection = std::make_shared<SelectionState>(*snapshot.selection);
            draw();
        };
        ui.drag(from, to, answered, button);
        return commands.take();
    }
    static std::vector<double> numbers(const std::vector<std::string>& words, std::size_t count) {
        std::vector<double> out;
        for (std::size_t i = 0; i < count; ++i) out.push_back(std::stod(words[i]));
        return out;
    }

    Headless ui{960, 640};
    TraceStore store;
    std::vector<CommandInfo> table;
    Commands commands;
    Snapshot snapshot;
    Viewport viewport;
    std::function<void()> draw;
    double turned = 0, panned = 0;
};

TEST_F(Tools, ShapesSelectWhileTheyAreDrawnAndOnceAtTheEnd) {
    snapshot.tools.tool = Tool::rectangle;
    Given given = drag({100, 120}, {300, 220});
    ASSERT_GE(given.size(), 2u);
    for (const auto& [name, arguments] : given) EXPECT_EQ(name, "select.rectangle");
    EXPECT_EQ(given.front().second.back(), "live");
    EXPECT_THAT(given.back().second, ElementsAre("100.0", "120.0", "300.0", "220.0", "new"));

    snapshot.tools.tool = Tool::lasso;
    ui.hold_shift();
    given = drag({100, 120}, {300, 220});
    ui.hold_shift(false);
    EXPECT_EQ(given.back().first, "select.lasso");
    EXPECT_THAT(given.back().second[0], StartsWith("100.0,120.0 150.0,145.0"));
    EXPECT_EQ(given.back().second[1], "add");

    snapshot.tools.tool = Tool::brush;
    snapshot.tools.brush = 25;
    given = drag({100, 120}, {300, 220});
    EXPECT_EQ(given.back().first, "select.brush");
    EXPECT_EQ(given.back().second[0], "25.0");
    EXPECT_EQ(turned, 0) << "the left button is the tool's";
    drag({100, 120}, {300, 220}, 1);
    EXPECT_NE(panned, 0) << "the right one steers";
    EXPECT_TRUE(commands.take().empty());
    snapshot.tools.tool = Tool::navigate;
    EXPECT_TRUE(drag({100, 120}, {300, 220}).empty());
    EXPECT_NE(turned, 0);
}

TEST_F(Tools, ADragChoosesARegionWhoseCostIsAskedFor) {
    snapshot.tools.tool = Tool::region;
    const Given given = drag({100, 120}, {-20, 220});
    ASSERT_EQ(given.size(), 1u);
    EXPECT_EQ(given[0].first, "cost.region");
    EXPECT_THAT(given[0].second, ElementsAre("100.0", "120.0", "-20.0", "220.0"));
    ui.click({100, 120}, draw);
    EXPECT_TRUE(commands.take().empty()) << "a click is no region";
}

TEST_F(Tools, ATakenRectangleOutlivesItsTool) {
    snapshot.tools.tool = Tool::rectangle;
    const auto put_away = [&] {
        if (!commands.take().empty()) snapshot.tools.tool = Tool::navigate;
        draw();
    };
    ui.drag({100, 120}, {300, 220}, put_away);
    const Given given = commands.take();
    ASSERT_FALSE(given.empty()) << "what was shown live is decided";
    EXPECT_EQ(given.back().second.back(), "new");
}

TEST_F(Tools, VolumesFollowTheirHandles) {
    const Camera& camera = snapshot.frame->camera;
    const auto screen = [&](Vec3d world) {
        const Vec2<double> p = camera.pixel_of(camera.rotation * world + camera.translation);
        return ImVec2{static_cast<float>(p.x), static_cast<float>(p.y)};
    };
    snapshot.tools.tool = Tool::sphere;
    snapshot.tools.centre = {0.1, 0, 0};
    snapshot.tools.radius = 0.5;
    const ImVec2 middle = screen(snapshot.tools.centre);
    Given given = drag(middle, {middle.x + 60, middle.y});
    ASSERT_FALSE(given.empty());
    EXPECT_EQ(given.front().second.back(), "live");
    EXPECT_EQ(given.back().first, "select.sphere");
    auto n = numbers(given.back().second, 4);
    const ImVec2 there = screen({n[0], n[1], n[2]});
    EXPECT_NEAR(there.x, middle.x + 60, 0.5F) << "its middle is under the mouse";
    EXPECT_NEAR(there.y, middle.y, 0.5F);
    EXPECT_NEAR(n[3], 0.5, 1e-6);
    const Vec3d right{camera.rotation.m[0][0], camera.rotation.m[0][1], camera.rotation.m[0][2]};
    const ImVec2 edge = screen(snapshot.tools.centre + 0.5 * right);
    given = drag(edge, {2 * edge.x - middle.x, 2 * edge.y - middle.y});
    ASSERT_FALSE(given.empty());
    EXPECT_NEAR(numbers(given.back().second, 4)[3], 1.0, 0.01);

    snapshot.tools.tool = Tool::box;
    snapshot.tools.lo = {-0.5, -0.4, -0.3};
    snapshot.tools.hi = {0.5, 0.4, 0.3};
    const ImVec2 face = screen({0.5, 0, 0}), further = screen({0.8, 0, 0});
    given = drag(face, further);
    ASSERT_FALSE(given.empty());
    EXPECT_EQ(given.back().first, "select.box");
    n = numbers(given.back().second, 6);
    EXPECT_NEAR(n[0], -0.5, 1e-6);
    EXPECT_NEAR(n[3], 0.8, 0.05);
    EXPECT_NEAR(n[4], 0.4, 1e-6);
}

TEST_F(Tools, TheSelectionIsMovedTurnedAndScaledOnceTheButtonIsLetGo) {
    SelectionState selection = *snapshot.selection;
    selection.lo = {-0.3F, -0.2F, -0.1F};
    selection.hi = {0.3F, 0.2F, 0.1F};
    snapshot.selection = std::make_shared<SelectionState>(selection);
    snapshot.tools.tool = Tool::move;
    const ImVec2 middle{480, 320};
    const Given moved = drag(middle, {540, 300});
    ASSERT_EQ(moved.size(), 1u);
    EXPECT_EQ(moved[0].first, "edit.move");
    const auto shift = numbers(moved[0].second, 3);
    EXPECT_GT(std::abs(shift[0]) + std::abs(shift[1]) + std::abs(shift[2]), 0.05);

    // Somewhere on the grid are the handles of rings and of scale.
    const auto any = [&](Tool tool, const char* name) {
        snapshot.tools.tool = tool;
        for (float y = 160; y < 480; y += 12)
            for (float x = 320; x < 640; x += 12) {
                const Given given = drag({x, y}, {x + 30, y + 30});
                if (!given.empty()) {
                    EXPECT_EQ(given.size(), 1u);
                    EXPECT_EQ(given[0].first, name);
                    return true;
                }
            }
        return false;
    };
    EXPECT_TRUE(any(Tool::rotate, "edit.rotate"));
    EXPECT_TRUE(any(Tool::scale, "edit.scale"));
    selection.selected = 0;
    selection.bounded = false;
    snapshot.selection = std::make_shared<SelectionState>(selection);
    EXPECT_FALSE(any(Tool::scale, "")) << "nothing is selected: no handle";
}

TEST_F(Tools, TheSelectionPanelGivesCommands) {
    SelectionPanel panel;
    const auto draw_panel = [&] {
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({420, 640});
        ImGui::Begin("alone", nullptr, ImGuiWindowFlags_NoDecoration);
        panel.draw(snapshot, commands);
        ImGui::End();
    };
    snapshot.view.clip = ClipBox{{-1, -1, -1}, {1, 1, 1}};
    std::vector<std::string> names;
    Given gone_to;
    for (float y = 6; y < 636; y += 11)
        for (float x = 6; x < 415; x += 16) {
            ui.click({x, y}, draw_panel);
            ui.click({800, 600}, draw_panel);
            for (auto& [name, arguments] : commands.take()) {
                EXPECT_TRUE(commands.find(name)) << name;
                names.push_back(name);
                if (name == "edit.go-to") gone_to.emplace_back(name, arguments);
            }
        }
    for (const char* name :
         {"select.all",       "select.none",  "select.invert", "select.grow",      "select.shrink",
          "select.connected", "select.range", "select.solo",   "select.only-seen", "edit.hide",
          "edit.show-all",    "edit.lock",    "edit.unlock",   "edit.unlock-all",  "edit.delete",
          "edit.duplicate",   "edit.crop",    "edit.move",     "edit.rotate",      "edit.scale",
          "edit.recolor",     "undo",         "redo"})
        EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
    EXPECT_GE(gone_to.size(), 3u);
}

}  // namespace
}  // namespace gs::test
