// An ImGui context without window or GPU for panel tests: fonts are built, frames are drawn into
// lists and thrown away, and the mouse and keyboard are what the test says.
#pragma once

#include <gtest/gtest.h>
#include <imgui.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "panels/state/command.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/theme.h"

namespace gs::test {

using Given = std::vector<std::pair<std::string, std::vector<std::string>>>;

class Headless {
  public:
    explicit Headless(float width = 1600, float height = 1000, double scale = 1) {
        begin(width, height, scale);
    }
    ~Headless() { ImGui::DestroyContext(context_); }
    Headless(const Headless&) = delete;
    Headless& operator=(const Headless&) = delete;
    /// Starts from scratch: no window, table or scroll bar keeps state from earlier frames.
    void restart(float width, float height, double scale = 1) {
        ImGui::DestroyContext(context_);
        begin(width, height, scale);
    }

    /// One frame; returns the number of vertices drawn.
    int frame(const std::function<void()>& draw) {
        ImGui::NewFrame();
        draw();
        ImGui::Render();
        return ImGui::GetDrawData()->TotalVtxCount;
    }
    /// The words that a frame draws in its first window.
    std::string words(const std::function<void()>& draw) {
        std::string out;
        frame([&] {
            ImGui::LogToClipboard();
            draw();
            ImGui::LogFinish();
        });
        if (const char* logged = ImGui::GetClipboardText()) out = logged;
        return out;
    }
    void move_mouse(ImVec2 to) { ImGui::GetIO().MousePos = to; }
    /// Moves there, presses and releases, drawing frames between.
    void click(ImVec2 at, const std::function<void()>& draw, int button = 0) {
        move_mouse(at);
        frame(draw);
        ImGui::GetIO().MouseDown[button] = true;
        frame(draw);
        ImGui::GetIO().MouseDown[button] = false;
        frame(draw);
        frame(draw);
    }
    void drag(ImVec2 from, ImVec2 to, const std::function<void()>& draw, int button = 0) {
        move_mouse(from);
        frame(draw);
        ImGui::GetIO().MouseDown[button] = true;
        frame(draw);
        for (int i = 1; i <= 4; ++i) {
            const float t = static_cast<float>(i) / 4;
            move_mouse({from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)});
            frame(draw);
        }
        ImGui::GetIO().MouseDown[button] = false;
        frame(draw);
    }
    /// As a window's backend says it, before ImGui 1.87 and since.
    void hold(ImGuiKey key, bool down = true) {
#if IMGUI_VERSION_NUM < 18700
        ImGui::GetIO().KeysDown[kFirstNamed + key] = down;
#else
        ImGui::GetIO().AddKeyEvent(key, down);
#endif
    }
    void hold(char letter, bool down = true) {
        places_.down[static_cast<std::size_t>(letter - 'A')] = down;
#if IMGUI_VERSION_NUM < 18700
        ImGui::GetIO().KeysDown[static_cast<int>(letter)] = down;
#else
        hold(static_cast<ImGuiKey>(ImGuiKey_A + (letter - 'A')), down);
#endif
    }
#if IMGUI_VERSION_NUM < 18700
    void hold_shift(bool down = true) { ImGui::GetIO().KeyShift = down; }
    void hold_ctrl(bool down = true) { ImGui::GetIO().KeyCtrl = down; }
#else
    void hold_shift(bool down = true) { ImGui::GetIO().AddKeyEvent(ImGuiMod_Shift, down); }
    void hold_ctrl(bool down = true) { ImGui::GetIO().AddKeyEvent(ImGuiMod_Ctrl, down); }
#endif
    /// A letter or a key, for a frame.
    template <class Key>
    void press(Key key, const std::function<void()>& draw) {
        hold(key);
        frame(draw);
        hold(key, false);
        frame(draw);
    }

  private:
    static constexpr int kFirstNamed = 256;  // what keys with a name are numbered from
    void begin(float width, float height, double scale) {
        context_ = ImGui::CreateContext();
        ImGuiIO& io = ImGui::GetIO();
        io.IniFilename = nullptr;
        io.UserData = &places_;
        io.DisplaySize = {width, height};
        io.DeltaTime = 1.0F / 60;
#if IMGUI_VERSION_NUM < 18700
        for (int key = 0; key < ImGuiKey_COUNT; ++key) io.KeyMap[key] = kFirstNamed + key;
#endif
        // As the program's renderer: lists of any length.
        io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
        load_fonts(scale);
        apply_theme(scale);
        unsigned char* pixels = nullptr;
        int w = 0, h = 0;
        io.Fonts->GetTexDataAsRGBA32(&pixels, &w, &h);
    }
    ImGuiContext* context_ = nullptr;
    HeldPlaces places_;
};

/// Draws a panel that has the window to itself, from the beginning of its frame where it has one.
template <class Panel, class Shown>
void draw_alone(Panel& panel, const Shown& snapshot, Commands& commands) {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::Begin("alone", nullptr, ImGuiWindowFlags_NoDecoration);
    if constexpr (requires { panel.begin_frame(); }) panel.begin_frame();
    panel.draw(snapshot, commands);
    ImGui::End();
}

/// What a panel that has the window to itself gives when it is clicked all over between these
/// heights, every 15 px down and `step` across. Each must be a command that there is.
template <class Panel, class Shown>
Given click_all_over(Headless& ui, Panel& panel, const Shown& snapshot, Commands& commands,
                     float y0, float y1, float step) {
    const auto draw = [&] { draw_alone(panel, snapshot, commands); };
    Given all;
    const float width = ImGui::GetIO().DisplaySize.x;
    for (float y = y0; y < y1; y += 15)
        for (float x = 8; x < width - 10; x += step) {
            ui.click({x, y}, draw);
            for (auto& given : commands.take()) all.push_back(std::move(given));
        }
    for (const auto& one : all) EXPECT_TRUE(commands.find(one.first)) << one.first;
    return all;
}

}  // namespace gs::test
