// What is read: contrast of the theme's colours, numbers in bars, words of tooltips.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "panels/widgets/plot.h"
#include "panels/widgets/widgets.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

double linear(double channel) {
    return channel <= 0.03928 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}
double luminance(ImU32 color) {
    const ImVec4 c = ImGui::ColorConvertU32ToFloat4(color);
    return 0.2126 * linear(static_cast<double>(c.x)) + 0.7152 * linear(static_cast<double>(c.y)) +
           0.0722 * linear(static_cast<double>(c.z));
}
/// As WCAG 2 has it.
double contrast(ImU32 a, ImU32 b) {
    const auto [dark, light] = std::minmax({luminance(a), luminance(b)});
    return (light + 0.05) / (dark + 0.05);
}

TEST(Contrast, TextIsReadOnEveryGround) {
    const Headless ui;
    const Theme& t = theme();
    const auto interface = [](ImGuiCol which) {
        return ImGui::ColorConvertFloat4ToU32(ImGui::GetStyle().Colors[which]);
    };
    const std::array grounds{t.window, t.panel, t.field, interface(ImGuiCol_PopupBg)};
    for (const ImU32 ground : grounds) {
        for (const ImU32 text : {t.text, t.dim, t.accent, t.good, t.warning, t.error})
            EXPECT_GE(contrast(text, ground), 4.5) << std::hex << text << " on " << ground;
        EXPECT_GE(contrast(t.faint, ground), 3) << std::hex << ground;
        EXPECT_GE(contrast(interface(ImGuiCol_TextDisabled), ground), 4.5) << std::hex << ground;
    }
    for (const ImGuiCol of : {ImGuiCol_Button, ImGuiCol_ButtonHovered, ImGuiCol_ButtonActive,
                              ImGuiCol_Header, ImGuiCol_HeaderHovered, ImGuiCol_HeaderActive,
                              ImGuiCol_FrameBgHovered, ImGuiCol_FrameBgActive, ImGuiCol_Tab,
                              ImGuiCol_TabHovered, ImGuiCol_TabActive, ImGuiCol_TextSelectedBg})
        EXPECT_GE(contrast(t.text, interface(of)), 4.5) << ImGui::GetStyleColorName(of);
}

/// Disabled items are mixed into what is behind them.
TEST(Contrast, WhatIsDisabledCanStillBeRead) {
    const Headless ui;
    const Theme& t = theme();
    const float alpha = ImGui::GetStyle().DisabledAlpha;
    const ImU32 button = ImGui::ColorConvertFloat4ToU32(ImGui::GetStyle().Colors[ImGuiCol_Button]);
    for (const ImU32 ground : {t.panel, t.window})
        for (const ImU32 of : {t.field, button, ground})
            for (const ImU32 text : {t.text, t.dim})
                EXPECT_GE(contrast(mix(ground, text, alpha), mix(ground, of, alpha)), 3)
                    << std::hex << text << " on " << of;
}

TEST(DragBar, AStrayClickChangesNothingADragDoes) {
    Headless ui(300, 100);
    float value = 20;
    int changes = 0;
    const auto draw = [&] {
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({300, 100});
        ImGui::Begin("bar", nullptr, ImGuiWindowFlags_NoDecoration);
        ImGui::SetNextItemWidth(200);
        changes += drag_bar("##bar", value, 0.0F, 95.0F, "%.0f %%") ? 1 : 0;
        value = std::round(value);  // as a command's argument is
        ImGui::End();
    };
    ui.frame(draw);
    ui.click({190, 15}, draw);
    EXPECT_EQ(changes, 0);
    EXPECT_EQ(value, 20);
    ui.drag({50, 15}, {150, 15}, draw);
    EXPECT_NEAR(value, 20 + 100 * 95.0F / 200, 3) << "it follows the mouse";
    for (int i = 0; i < 40; ++i) ui.frame(draw);
    ui.drag({150, 15}, {290, 15}, draw);
    EXPECT_EQ(value, 95);
}

TEST(Plot, ItsTooltipNamesTheStepOfAValueThatIsNotUnderTheMouse) {
    Headless ui(400, 200);
    const std::vector<CurvePoint> test{{1000, 25.8F}};
    std::vector<CurvePoint> train;
    for (float step = 0; step <= 1000; step += 4) train.push_back({step, 23});
    const std::vector<PlotLine> lines{{"train", theme().good, train, false},
                                      {"test", theme().warning, test, true}};
    PlotRange range;
    const auto draw = [&] {
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({400, 200});
        ImGui::Begin("plot", nullptr, ImGuiWindowFlags_NoDecoration);
        range.begin(0, 1000);
        const PlotLook look{.unit = "dB"};
        plot("##plot", lines, look, range);
        ImGui::End();
    };
    ui.move_mouse({120, 100});
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    const std::string words = ui.words(draw);
    EXPECT_NE(words.find("25.8 dB (step 1,000)"), std::string::npos) << words;
    EXPECT_EQ(words.find("23 dB (step"), std::string::npos) << words;
}

}  // namespace
}  // namespace gs::test
