// Input in its order, however slow the frames are: everything here happens between two of them.
#include "app/window/input_queue.h"

#include <gtest/gtest.h>
#include <imgui_stdlib.h>

#include "tests/panels/headless.h"

namespace gs::test {
namespace {

class Input : public testing::Test {
  protected:
    /// Frames until everything has been passed on. `take` as the studio does: fields come first.
    void drain(const std::function<void()>& draw) {
        for (int i = 0; i < 200 && (i < 4 || !input.empty()); ++i) {
            input.feed(ImGui::GetIO(), [&](const KeyPress& key) {
                const bool command = !key.chord.empty() && !keyboard_takes(key.chord);
                if (command) commands.push_back(key.chord);
                if (command && on_command) on_command();
                return command;
            });
            ui.frame(draw);
            ++frames;
        }
        for (int i = 0; i < 3; ++i) ui.frame(draw);
    }
    void field_window() {
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({200, 100});
        ImGui::Begin("field", nullptr, ImGuiWindowFlags_NoDecoration);
        if (focus) ImGui::SetKeyboardFocusHere();
        focus = false;
        ImGui::InputText("##text", &text);
        ImGui::End();
    }
    void click(double x, double y, double time = 0) {
        input.move(x, y);
        input.button(0, true, time);
        input.button(0, false, time);
    }

    Headless ui{200, 100};
    InputQueue input;
    std::vector<std::string> commands;
    std::function<void()> on_command;
    std::string text = "before";
    bool focus = false;
    int frames = 0;
};

TEST_F(Input, EveryClickArrivesAndNoneBecomesADrag) {
    int left = 0, right = 0;
    const auto draw = [&] {
        const ImGuiIO& io = ImGui::GetIO();
        if (ImGui::IsMouseDown(0) && ImGui::GetFrameCount() > 2) {
            EXPECT_EQ(io.MouseDelta.x, 0);
            EXPECT_FALSE(ImGui::IsMouseDragging(0));
        }
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({200, 100});
        ImGui::Begin("two", nullptr, ImGuiWindowFlags_NoDecoration);
        left += ImGui::Button("left", {80, 80}) ? 1 : 0;
        ImGui::SameLine(100);
        right += ImGui::Button("right", {80, 80}) ? 1 : 0;
        ImGui::End();
    };
    drain(draw);
    for (const double x : {40.0, 140.0, 40.0, 140.0, 140.0}) {
        input.move(100, 50);
        click(x, 40);
    }
    input.button(7, true);  // a mouse may have more of them
    drain(draw);
    EXPECT_EQ(left, 2);
    EXPECT_EQ(right, 3);
    input.leave();
    drain(draw);
    EXPECT_FALSE(ImGui::IsMousePosValid());
}

TEST_F(Input, WhatIsTypedAfterAClickGoesWhereTheClickWent) {
    const auto draw = [&] { field_window(); };
    drain(draw);
    click(40, 14);
    input.press("Ctrl+A");
    input.type("hello, \xC3\xBC");
    drain(draw);
    EXPECT_EQ(text, "hello, \xC3\xBC");
    EXPECT_TRUE(commands.empty()) << commands.front();
    click(40, 90);
    input.press("R");
    input.press("Ctrl+A");
    drain(draw);
    EXPECT_EQ(text, "hello, \xC3\xBC");
    EXPECT_EQ(commands, (std::vector<std::string>{"R", "Ctrl+A"}));
}

TEST_F(Input, WhatIsTypedAfterACommandGoesWhereTheCommandLeads) {
    const auto draw = [&] { field_window(); };
    drain(draw);
    text.clear();
    on_command = [&] { focus = true; };  // as the palette
    input.press("Ctrl+P");
    input.type("panel");
    input.press("Backspace");
    input.press("Backspace");
    drain(draw);
    EXPECT_EQ(text, "pan");
    EXPECT_EQ(commands, (std::vector<std::string>{"Ctrl+P"}));
}

TEST_F(Input, ALongTextTakesFewFrames) {
    const auto draw = [&] { field_window(); };
    click(40, 14);
    drain(draw);
    const int before = frames;
    input.type("a path that is rather long/and another one");
    drain(draw);
    EXPECT_LT(frames - before, 8);
    EXPECT_NE(text.find("rather long/and another"), std::string::npos);
}

TEST_F(Input, KeysOfTextFieldsFollowTheLayoutAndFlyingFollowsThePlace) {
    const auto draw = [&] { field_window(); };
    click(40, 14);
    drain(draw);
    input.press("Ctrl+A", "Q");  // a French keyboard
    input.type("x");
    drain(draw);
    EXPECT_EQ(text, "x");
    click(40, 90);
    drain(draw);
    input.add({.kind = InputEvent::Kind::key, .key = "Z", .place = "W"});
    drain(draw);
    EXPECT_TRUE(place_held('W'));
    EXPECT_FALSE(place_held('Z'));
    input.add({.kind = InputEvent::Kind::key, .down = false, .key = "Z", .place = "W"});
    drain(draw);
    EXPECT_FALSE(place_held('W'));
}

TEST_F(Input, TheLetterOfAShortcutDoesNotFlyWhenCtrlIsReleasedFirst) {
    const auto draw = [&] { field_window(); };
    click(40, 90);
    const KeyMods ctrl{.ctrl = true};
    input.add({.kind = InputEvent::Kind::key, .key = "E", .place = "E", .mods = ctrl});
    input.add({.kind = InputEvent::Kind::key, .down = false, .key = "Ctrl"});
    input.add({.kind = InputEvent::Kind::key, .repeat = true, .key = "E", .place = "E"});
    drain(draw);
    EXPECT_FALSE(place_held('E'));
    input.add({.kind = InputEvent::Kind::key, .down = false, .key = "E", .place = "E"});
    input.add({.kind = InputEvent::Kind::key, .key = "E", .place = "E"});
    drain(draw);
    EXPECT_TRUE(place_held('E'));
}

TEST_F(Input, ADoubleClickIsJudgedByWhenItWas) {
    int doubles = 0;
    const auto draw = [&] {
        if (ImGui::IsMouseDoubleClicked(0)) ++doubles;
    };
    ImGui::GetIO().DeltaTime = 1;  // a frame a second
    click(50, 50, 10.0);
    click(50, 50, 10.2);
    drain(draw);
    EXPECT_EQ(doubles, 1);
    ImGui::GetIO().DeltaTime = 0.001F;
    click(50, 50, 20.0);
    click(50, 50, 20.9);
    drain(draw);
    EXPECT_EQ(doubles, 1) << "too slow for one, although the frames were fast";
}

TEST_F(Input, AHeldKeyRepeatsAsOftenAsThereAreFrames) {
    input.add({.kind = InputEvent::Kind::key, .key = "[", .place = "["});
    for (int i = 0; i < 50; ++i)
        input.add({.kind = InputEvent::Kind::key, .repeat = true, .key = "[", .place = "["});
    drain([] {});
    EXPECT_EQ(commands.size(), 2U);
}

TEST_F(Input, CtrlAndTheWheelAreAKey) {
    float turned = 0;
    const auto draw = [&] { turned += ImGui::GetIO().MouseWheel; };
    input.add({.kind = InputEvent::Kind::wheel, .at = {0, 1}, .mods = {.ctrl = true}});
    input.add({.kind = InputEvent::Kind::wheel, .at = {0, -1}});
    drain(draw);
    EXPECT_EQ(commands, (std::vector<std::string>{"Ctrl+WheelUp"}));
    EXPECT_EQ(turned, -1);
}

}  // namespace
}  // namespace gs::test
