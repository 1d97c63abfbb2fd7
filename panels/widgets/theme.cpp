#include "panels/widgets/theme.h"

#include <cmath>
#include <string_view>

#include "base/assets.h"

namespace gs {
namespace {

constexpr float kTextSize = 15, kTitleSize = 20, kMonoSize = 13.5F;

// Latin, Greek, Cyrillic, punctuation: what file names and units need.
constexpr ImWchar kGlyphs[] = {0x20,   0x24f,  0x370,  0x3ff,  0x400, 0x52f,
                               0x2010, 0x2026, 0x2190, 0x2193, 0};

/// The file stays in the program: the atlas must not free it.
void load_font(const char* name, float pixels) {
    ImFontConfig config;
    config.OversampleH = 2;
    config.OversampleV = 1;
    config.FontDataOwnedByAtlas = false;
    const std::string_view bytes = embedded_asset(name);
    ImGui::GetIO().Fonts->AddFontFromMemoryTTF(const_cast<char*>(bytes.data()),
                                               static_cast<int>(bytes.size()), std::round(pixels),
                                               &config, kGlyphs);
}

ImFont* font(int index) {
    const auto& fonts = ImGui::GetIO().Fonts->Fonts;
    return index < fonts.Size ? fonts[index] : ImGui::GetFont();
}

void set_color(ImGuiCol index, ImU32 color) {
    ImGui::GetStyle().Colors[index] = ImGui::ColorConvertU32ToFloat4(color);
}

void set_colors() {
    ImGui::StyleColorsDark();
    set_color(ImGuiCol_Text, kTextColor);
    set_color(ImGuiCol_TextDisabled, kFaintColor);
    set_color(ImGuiCol_WindowBg, kPanelColor);
    set_color(ImGuiCol_ChildBg, 0);
    set_color(ImGuiCol_PopupBg, color_rgb(0x20252e, 250));
    set_color(ImGuiCol_Border, color_rgb(0x303743));
    set_color(ImGuiCol_FrameBg, kFieldColor);
    set_color(ImGuiCol_FrameBgHovered, color_rgb(0x303845));
    set_color(ImGuiCol_FrameBgActive, color_rgb(0x38424f));
    set_color(ImGuiCol_MenuBarBg, kWindowColor);
    set_color(ImGuiCol_ScrollbarBg, 0);
    set_color(ImGuiCol_ScrollbarGrab, color_rgb(0x39414e));
    set_color(ImGuiCol_ScrollbarGrabHovered, color_rgb(0x4a5463));
    set_color(ImGuiCol_ScrollbarGrabActive, color_rgb(0x5a6678));
    set_color(ImGuiCol_CheckMark, kAccentColor);
    set_color(ImGuiCol_SliderGrab, color_rgb(0x3f7fc0));
    set_color(ImGuiCol_SliderGrabActive, kAccentColor);
    set_color(ImGuiCol_Button, color_rgb(0x2b323d));
    set_color(ImGuiCol_ButtonHovered, color_rgb(0x374150));
    set_color(ImGuiCol_ButtonActive, color_rgb(0x2f6aa8));
    set_color(ImGuiCol_Header, color_rgb(0x2a4763));
    set_color(ImGuiCol_HeaderHovered, color_rgb(0x2c3a4a));
    set_color(ImGuiCol_HeaderActive, color_rgb(0x34597d));
    set_color(ImGuiCol_Separator, color_rgb(0x2b313c));
    set_color(ImGuiCol_Tab, kWindowColor);
    set_color(ImGuiCol_TabHovered, color_rgb(0x303b4a));
    set_color(ImGuiCol_TabActive, color_rgb(0x2a4058));
    set_color(ImGuiCol_TabUnfocused, kWindowColor);
    set_color(ImGuiCol_TabUnfocusedActive, color_rgb(0x2a4058));
    set_color(ImGuiCol_TableHeaderBg, color_rgb(0x20252e));
    set_color(ImGuiCol_TableBorderStrong, color_rgb(0x2b313c));
    set_color(ImGuiCol_TableBorderLight, color_rgb(0x242a33));
    set_color(ImGuiCol_TableRowBgAlt, IM_COL32(255, 255, 255, 6));
    set_color(ImGuiCol_PlotHistogram, color_rgb(0x3f7fc0));
    set_color(ImGuiCol_TextSelectedBg, color_rgb(0x2f6aa8));
    set_color(ImGuiCol_NavHighlight, kAccentColor);
    set_color(ImGuiCol_ModalWindowDimBg, IM_COL32(0, 0, 0, 110));
}

constexpr unsigned kStageColors[] = {
    0x8c8c9c,  // load
    0xb0b0bc,  // decode photo
    0x70707c,  // init
    0x465266,  // iteration
    0x574a78,  // view frame
    0x8fd3f4,  // cull
    0x3b9ddd,  // project
    0xb3c7f7,  // emit
    0x1f6fb4,  // sort
    0x7fb3d5,  // ranges
    0x3558c4,  // blend
    0xe6c84f,  // loss
    0xd55e00,  // blend backward
    0xf2a65e,  // project backward
    0x009e73,  // adam
    0x8fd694,  // density control
    0xcc79a7,  // evaluation
    0xa0785a,  // checkpoint
    0xc9ab86,  // export
    0xb497e7,  // pack
    0x3f565f,  // ui frame
    0x7897a3,  // panels
    0xaac3cc,  // present
    0x808080,  // other
};

}  // namespace

void load_fonts(double scale) {
    const float s = static_cast<float>(scale);
    ImGui::GetIO().Fonts->Clear();
    load_font("fonts/Roboto-Regular.ttf", kTextSize * s);
    load_font("fonts/Roboto-Medium.ttf", kTitleSize * s);
    load_font("fonts/DejaVuSansMono.ttf", kMonoSize * s);
}

void apply_theme(double scale) {
    ImGui::GetStyle() = ImGuiStyle();
    set_colors();
    ImGuiStyle& style = ImGui::GetStyle();
    style.WindowPadding = {8, 6};
    style.FramePadding = {6, 3};
    style.ItemSpacing = {6, 5};
    style.ItemInnerSpacing = {5, 4};
    style.CellPadding = {5, 2};
    style.IndentSpacing = 14;
    style.ScrollbarSize = 11;
    style.GrabMinSize = 9;
    style.WindowRounding = 0;
    style.ChildRounding = 0;
    style.FrameRounding = 3;
    style.PopupRounding = 4;
    style.ScrollbarRounding = 6;
    style.GrabRounding = 3;
    style.TabRounding = 3;
    style.WindowBorderSize = 0;
    style.ChildBorderSize = 0;
    style.PopupBorderSize = 1;
    style.TabBorderSize = 0;
    style.WindowMinSize = {1, 1};
    style.DisabledAlpha = 0.45F;
    style.ScaleAllSizes(static_cast<float>(scale));
}

ImFont* title_font() { return font(1); }
ImFont* mono_font() { return font(2); }

ImU32 mix(ImU32 a, ImU32 b, float share) {
    const ImVec4 x = ImGui::ColorConvertU32ToFloat4(a), y = ImGui::ColorConvertU32ToFloat4(b);
    return ImGui::ColorConvertFloat4ToU32(
        {x.x + share * (y.x - x.x), x.y + share * (y.y - x.y), x.z + share * (y.z - x.z), 1});
}

ImU32 stage_color(Stage stage) {
    static_assert(std::size(kStageColors) == kStageCount);
    const auto index = static_cast<std::size_t>(stage);
    return color_rgb(kStageColors[index < kStageCount ? index : kStageCount - 1]);
}

ImU32 text_on(ImU32 background) {
    const ImVec4 c = ImGui::ColorConvertU32ToFloat4(background);
    return 0.30F * c.x + 0.59F * c.y + 0.11F * c.z > 0.5F ? color_rgb(0x101318)
                                                          : color_rgb(0xf2f4f8);
}

}  // namespace gs
