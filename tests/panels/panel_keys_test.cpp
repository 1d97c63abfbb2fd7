// Whose keys they are: Escape closes the topmost thing alone, fields keep what is typed, arrows
// move the focus.
#include <gtest/gtest.h>

#include "panels/timeline/timeline_panel.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/widgets.h"
#include "panels/workspace.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

class Keys : public testing::Test {
  protected:
    Keys() : table(fake_table()), commands(table) {
        fill_store(store, 30, 5'000'000'000'000);
        snapshot = fake_snapshot(store, ViewMode::color);
    }
    bool popup() const {
        return ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
    }
    void frames(const std::function<void()>& draw, int count = 3) {
        for (int i = 0; i < count; ++i) ui.frame(draw);
    }

    Headless ui;
    TraceStore store;
    std::vector<CommandInfo> table;
    Commands commands;
    Snapshot snapshot;
};

/// A combo, two buttons and a field, as a panel has them.
struct Widgets {
    ImVec2 combo{}, first{}, field{};
    void draw() {
        share_arrows();
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({400, 300});
        ImGui::Begin("widgets", nullptr, ImGuiWindowFlags_NoDecoration);
        const auto middle = [] {
            const ImVec2 a = ImGui::GetItemRectMin(), b = ImGui::GetItemRectMax();
            return ImVec2{(a.x + b.x) / 2, (a.y + b.y) / 2};
        };
        const bool open = ImGui::BeginCombo("##combo", "one");
        if (open) {
            ImGui::Selectable("one");
            ImGui::Selectable("two");
            ImGui::EndCombo();
        } else {
            combo = middle();
        }
        ImGui::Button("first");
        first = middle();
        ImGui::Button("second");
        char text[16] = "";
        ImGui::InputText("##field", text, sizeof text);
        field = middle();
        ImGui::End();
    }
};

TEST_F(Keys, EscapeClosesAComboAndIsNoCommandThen) {
    Widgets widgets;
    const auto draw = [&] { widgets.draw(); };
    frames(draw);
    EXPECT_FALSE(keyboard_takes("Escape"));
    ui.click(widgets.combo, draw);
    ASSERT_TRUE(popup());
    EXPECT_TRUE(keyboard_takes("Escape"));
    EXPECT_TRUE(keyboard_takes("L")) << "letters go to what is open";
    EXPECT_FALSE(keyboard_takes("Ctrl+P"));
    ui.press(ImGuiKey_Escape, draw);
    EXPECT_FALSE(popup());
    ui.click({390, 290}, draw);
    EXPECT_FALSE(keyboard_takes("Escape"));
}

TEST_F(Keys, AFieldKeepsWhatIsTypedAndEdited) {
    Widgets widgets;
    const auto draw = [&] { widgets.draw(); };
    frames(draw);
    ui.click(widgets.field, draw);
    for (const char* chord : {"L", "Shift+E", "Space", "Escape", "1", "[", "Home", "Ctrl+Z",
                              "Ctrl+S", "Ctrl+W", "Ctrl+Shift+T", "Ctrl+Backspace"})
        EXPECT_TRUE(keyboard_takes(chord)) << chord;
    for (const char* chord : {"F12", "Shift+F12", "Ctrl+=", "Ctrl+Space"})
        EXPECT_FALSE(keyboard_takes(chord)) << chord;
}

TEST_F(Keys, ADialogLeavesCommandsNothing) {
    Workspace workspace;
    const auto draw = [&] { workspace.draw(snapshot, commands); };
    frames(draw);
    EXPECT_FALSE(asks(workspace, snapshot));
    workspace.palette.show("open");
    frames(draw);
    EXPECT_TRUE(workspace.file_dialog.visible());
    ASSERT_TRUE(asks(workspace, snapshot));
    for (const char* chord : {"Ctrl+W", "Ctrl+D", "Ctrl+Q", "Ctrl+A", "F12", "Space", "Delete"})
        EXPECT_TRUE(keyboard_takes(chord, asks(workspace, snapshot))) << chord;
    ui.press(ImGuiKey_Escape, draw);
    frames(draw);
    EXPECT_FALSE(asks(workspace, snapshot));
    snapshot.asks_to_leave.emplace();
    EXPECT_TRUE(asks(workspace, snapshot));
    snapshot.asks_to_leave.reset();
    workspace.palette.show();
    EXPECT_TRUE(asks(workspace, snapshot)) << "in the frame in which it is asked for";
}

TEST_F(Keys, ATooltipThatChangesIsMeasuredAgain) {
    const char* words = "Train";
    const auto draw = [&] {
        ImGui::SetNextWindowPos({0, 0});
        ImGui::Begin("tip", nullptr, ImGuiWindowFlags_NoDecoration);
        ImGui::Button("button", {80, 80});
        tooltip(words);
        ImGui::End();
    };
    ui.move_mouse({40, 40});
    frames(draw);
    EXPECT_TRUE(tooltip_changed());
    frames(draw);
    EXPECT_FALSE(tooltip_changed());
    words = "Pause after the current step";
    frames(draw, 1);
    EXPECT_TRUE(tooltip_changed());
}

TEST_F(Keys, ArrowsMoveTheFocusAndItThenHasSpace) {
    Widgets widgets;
    const auto draw = [&] { widgets.draw(); };
    frames(draw);
    ui.click(widgets.first, draw);
    EXPECT_FALSE(keyboard_takes("Space")) << "a click alone gives no button the keyboard";
    ui.press(ImGuiKey_DownArrow, draw);
    ASSERT_TRUE(ImGui::GetIO().NavVisible);
    EXPECT_TRUE(keyboard_takes("Space"));
    EXPECT_FALSE(keyboard_takes("L"));
    ui.press(ImGuiKey_Escape, draw);
    frames(draw);
    EXPECT_FALSE(keyboard_takes("Escape")) << "the first one gave the keyboard back";
}

TEST_F(Keys, OverTheTimelineTheArrowsAreIts) {
    TraceView view;
    TimelinePanel timeline(view);
    const auto draw = [&] {
        share_arrows();
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({800, 600});
        ImGui::Begin("alone", nullptr, ImGuiWindowFlags_NoDecoration);
        timeline.draw(snapshot, commands);
        ImGui::End();
    };
    ui.move_mouse({400, 300});
    frames(draw);
    ui.press(ImGuiKey_DownArrow, draw);
    EXPECT_FALSE(ImGui::GetIO().NavVisible);
    ui.move_mouse({1200, 900});
    frames(draw);
    ui.click({790, 5}, draw);
    ui.press(ImGuiKey_DownArrow, draw);
    EXPECT_TRUE(ImGui::GetIO().NavVisible);
}

TEST_F(Keys, OneEscapeLeavesThePaletteWhateverWasTyped) {
    Workspace workspace;
    const auto draw = [&] { workspace.draw(snapshot, commands); };
    frames(draw);
    workspace.palette.show();
    frames(draw);
    ImGui::GetIO().AddInputCharactersUTF8("frame");
    frames(draw);
    EXPECT_TRUE(keyboard_takes("Escape"));
    ui.press(ImGuiKey_Escape, draw);
    EXPECT_FALSE(workspace.palette.visible());
    EXPECT_FALSE(popup());
}

}  // namespace
}  // namespace gs::test
