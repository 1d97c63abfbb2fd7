#include "panels/widgets/theme.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/log.h"
#include "base/text.h"

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

/// RRGGBB or RRGGBBAA.
std::optional<ImU32> parse_color(std::string_view text) {
    unsigned value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return {};
    if (text.size() == 6) return color_rgb(value);
    if (text.size() == 8) return color_rgb(value >> 8, value & 255);
    return {};
}

/// Lines of a theme into `out`; a message for each that cannot be understood.
class ThemeReader {
  public:
    explicit ThemeReader(Theme& out) : out_(out) {}
    void read(const Asset& file) {
        section_.clear();
        std::istringstream lines(file.text);
        std::string line;
        for (int number = 1; std::getline(lines, line); ++number) {
            const std::string_view words =
                trimmed(std::string_view(line).substr(0, std::min(line.find('#'), line.size())));
            if (!words.empty() && !take(words))
                log_warning("{}:{}: \"{}\" is not a theme colour", file.origin, number, words);
        }
    }

    /// ImGui's colours, now that those they name are what they stay.
    void finish() {
        for (const auto& [name, value] : interface_)
            out_.interface.emplace_back(name, color_of(value).value_or(0));
    }

  private:
    bool take(std::string_view words) {
        if (words.front() == '[') {
            section_ = words;
            return section_ == "[interface]" || section_ == "[stages]";
        }
        const std::size_t equals = words.find('=');
        if (equals == std::string_view::npos) return false;
        const std::string name(trimmed(words.substr(0, equals)));
        const std::string value(trimmed(words.substr(equals + 1)));
        const std::optional<ImU32> color = color_of(value);
        if (!color) return false;
        if (section_ == "[interface]") {
            interface_.emplace_back(name, value);
            return true;
        }
        if (section_ == "[stages]") {
            const auto stage = std::find(std::begin(kStageNames), std::end(kStageNames), name);
            if (stage == std::end(kStageNames)) return false;
            out_.stages[static_cast<std::size_t>(stage - std::begin(kStageNames))] = *color;
            return true;
        }
        const auto target = named_.find(name);
        if (target == named_.end()) return false;
        *target->second = *color;
        return true;
    }

    std::optional<ImU32> color_of(const std::string& value) const {
        const auto named = named_.find(value);
        return named != named_.end() ? *named->second : parse_color(value);
    }

    Theme& out_;
    std::string section_;
    std::vector<std::pair<std::string, std::string>> interface_;  // values as written
    const std::map<std::string, ImU32*, std::less<>> named_{{"text", &out_.text},
                                                            {"dim", &out_.dim},
                                                            {"faint", &out_.faint},
                                                            {"grid", &out_.grid},
                                                            {"window", &out_.window},
                                                            {"panel", &out_.panel},
                                                            {"field", &out_.field},
                                                            {"accent", &out_.accent},
                                                            {"good", &out_.good},
                                                            {"warning", &out_.warning},
                                                            {"error", &out_.error},
                                                            {"train_camera", &out_.train_camera},
                                                            {"test_camera", &out_.test_camera}};
};

void set_colors() {
    ImGui::StyleColorsDark();
    for (const auto& [name, color] : theme().interface)
        for (int i = 0; i < ImGuiCol_COUNT; ++i)
            if (name == ImGui::GetStyleColorName(i))
                ImGui::GetStyle().Colors[i] = ImGui::ColorConvertU32ToFloat4(color);
}

}  // namespace

Theme read_theme(std::span<const Asset> files) {
    Theme out{};
    ThemeReader reader(out);
    for (const Asset& file : files) reader.read(file);
    reader.finish();
    return out;
}

const Theme& theme() {
    constexpr const char* kPath = "themes/dark.theme";
    static const Theme kTheme =
        read_theme(std::array{Asset{kPath, std::string(embedded_asset(kPath))}, asset(kPath)});
    return kTheme;
}

float hairline() { return std::max(1.0F, std::floor(em() / kTextSize + 0.01F)); }

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
    style.DisabledAlpha = 0.65F;
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
    const auto index = static_cast<std::size_t>(stage);
    return theme().stages[index < kStageCount ? index : kStageCount - 1];
}

ImU32 text_on(ImU32 background) {
    const ImVec4 c = ImGui::ColorConvertU32ToFloat4(background);
    return 0.30F * c.x + 0.59F * c.y + 0.11F * c.z > 0.5F ? color_rgb(0x101318)
                                                          : color_rgb(0xf2f4f8);
}

}  // namespace gs
