#include "panels/widgets/widgets.h"

#include <algorithm>
#include <utility>

#include "base/shortened.h"
#include "panels/widgets/keys.h"

namespace gs {
namespace {

/// Bytes of one text: ImGui gives up on 16,384 characters and more in one call.
constexpr std::size_t kMostDrawn = 8000;

/// The value of the bar that the mouse drags. Its owner may round what it shows.
struct Dragged {
    ImGuiID bar = 0;
    double value = 0;
};
Dragged dragged;

double share_of(double value, double least, double most, bool logarithmic) {
    const double share = logarithmic && least > 0 ? std::log(value / least) / std::log(most / least)
                                                  : (value - least) / (most - least);
    return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0;
}

}  // namespace

void draw_icon(ImDrawList& list, Icon icon, ImVec2 corner, float size, ImU32 color) {
    const auto at = [&](float x, float y) {
        return ImVec2(corner.x + x * size, corner.y + y * size);
    };
    const auto bar = [&](float x0, float x1) {
        list.AddRectFilled(at(x0, 0.2F), at(x1, 0.8F), color, 1);
    };
    const auto right = [&](float x0, float x1) {
        list.AddTriangleFilled(at(x0, 0.18F), at(x1, 0.5F), at(x0, 0.82F), color);
    };
    switch (icon) {
        case Icon::play:
            right(0.24F, 0.84F);
            break;
        case Icon::pause:
            bar(0.22F, 0.42F);
            bar(0.58F, 0.78F);
            break;
        case Icon::step:
            bar(0.2F, 0.34F);
            right(0.44F, 0.88F);
            break;
        case Icon::run_to:
            right(0.14F, 0.62F);
            bar(0.68F, 0.82F);
            break;
        case Icon::stop:
            list.AddRectFilled(at(0.22F, 0.22F), at(0.78F, 0.78F), color, 1);
            break;
        case Icon::previous:
            list.AddTriangleFilled(at(0.68F, 0.2F), at(0.28F, 0.5F), at(0.68F, 0.8F), color);
            break;
        case Icon::next:
            list.AddTriangleFilled(at(0.32F, 0.2F), at(0.72F, 0.5F), at(0.32F, 0.8F), color);
            break;
        case Icon::save:
            list.AddTriangleFilled(at(0.26F, 0.42F), at(0.74F, 0.42F), at(0.5F, 0.68F), color);
            list.AddRectFilled(at(0.43F, 0.14F), at(0.57F, 0.46F), color);
            list.AddRectFilled(at(0.2F, 0.76F), at(0.8F, 0.86F), color);
            break;
        case Icon::search:
            list.AddCircle(at(0.42F, 0.42F), 0.24F * size, color, 0, 0.1F * size);
            list.AddLine(at(0.6F, 0.6F), at(0.84F, 0.84F), color, 0.12F * size);
            break;
    }
}

bool icon_button(const char* id, Icon icon, const char* hint, bool enabled, ImU32 color) {
    const float side = ImGui::GetFrameHeight();
    ImGui::PushID(id);
    ImGui::BeginDisabled(!enabled);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const bool clicked = ImGui::Button("##icon", {side, side});
    const float inset = 0.14F * side;
    draw_icon(*ImGui::GetWindowDrawList(), icon, {corner.x + inset, corner.y + inset},
              side - 2 * inset, enabled ? color : theme().faint);
    ImGui::EndDisabled();
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) ImGui::SetTooltip("%s", hint);
    ImGui::PopID();
    return clicked && enabled;
}

bool default_button(const char* label, ImVec2 size) {
    ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetStyleColorVec4(ImGuiCol_Header));
    const bool pressed = ImGui::Button(label, size);
    ImGui::PopStyleColor();
    return enter_presses() || pressed;
}
bool lit_button(const char* label, bool on, std::string_view hint, bool small) {
    if (on) ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetStyleColorVec4(ImGuiCol_Header));
    const bool pressed = small ? ImGui::SmallButton(label) : ImGui::Button(label);
    if (on) ImGui::PopStyleColor();
    tooltip(hint);
    return pressed;
}
bool other_button(const char* label, ImVec2 size) {
    const bool pressed = ImGui::Button(label, size);
    const bool focused = ImGui::GetIO().NavVisible && ImGui::IsItemFocused();
    return pressed || (focused && keys_are_free() && named_key_pressed(ImGuiKey_Enter, false));
}

bool icon_text_button(Icon icon, const char* label, const char* hint, bool enabled) {
    const float side = ImGui::GetFrameHeight(), pad = ImGui::GetStyle().FramePadding.x;
    const ImVec2 corner = ImGui::GetCursorScreenPos(), size = ImGui::CalcTextSize(label);
    ImGui::PushID(label);
    ImGui::BeginDisabled(!enabled);
    const bool clicked = ImGui::Button("##b", {side + size.x + 1.5F * pad, side});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImU32 color = enabled ? theme().text : theme().faint;
    const float inset = 0.2F * side;
    draw_icon(list, icon, {corner.x + inset, corner.y + inset}, side - 2 * inset, color);
    list.AddText({corner.x + side, corner.y + ImGui::GetStyle().FramePadding.y}, color, label);
    ImGui::EndDisabled();
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) ImGui::SetTooltip("%s", hint);
    ImGui::PopID();
    return clicked && enabled;
}

void text(std::string_view words) {
    std::string cut;
    if (words.size() > kMostDrawn) words = cut = shortened(words, kMostDrawn);
    ImGui::TextUnformatted(words.data(), words.data() + words.size());
}

void colored_text(ImU32 color, std::string_view words) {
    ImGui::PushStyleColor(ImGuiCol_Text, color);
    text(words);
    ImGui::PopStyleColor();
}

void wrapped_text(ImU32 color, std::string_view words) {
    ImGui::PushTextWrapPos(0);
    colored_text(color, words);
    ImGui::PopTextWrapPos();
}

void dim_text(std::string_view words) { colored_text(theme().dim, words); }

void stage_label(Stage stage, std::string_view name) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + 0.2F * em()},
                                              {at.x + 0.55F * em(), at.y + 0.85F * em()},
                                              stage_color(stage), 2);
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + 0.8F * em());
    text(fitted(name.empty() ? name_of(stage) : name, ImGui::GetContentRegionAvail().x));
}

void cell_right(std::string_view words, ImU32 color) {
    const float width = ImGui::CalcTextSize(words.data(), words.data() + words.size()).x;
    const float room = ImGui::GetContentRegionAvail().x;
    if (room > width) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room - width);
    colored_text(color, words);
}

void table_heading(const char* name, bool right) {
    if (!ImGui::TableNextColumn()) return;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float spare = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(name).x;
    ImGui::TableHeader((std::string("##") + name).c_str());
    ImGui::GetWindowDrawList()->AddText({at.x + (right ? std::max(spare, 0.0F) : 0), at.y},
                                        theme().text, name);
}

bool section(const char* label) {
    ImGui::PushStyleColor(ImGuiCol_Header, color_rgb(0x20262f));
    const bool open = ImGui::CollapsingHeader(label, ImGuiTreeNodeFlags_DefaultOpen);
    ImGui::PopStyleColor();
    return open;
}

void fact(std::string_view label, std::string_view value) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    dim_text(label);
    ImGui::TableNextColumn();
    const std::string shown = fitted(value, ImGui::GetContentRegionAvail().x);
    text(shown);
    if (shown.size() != value.size()) tooltip(value);
}

namespace {

struct ShownTooltip {
    std::string text;
    bool changed = false;
};
ShownTooltip& shown_tooltip() {
    static ShownTooltip shown;  // there is one mouse
    return shown;
}

}  // namespace

bool tooltip_changed() { return std::exchange(shown_tooltip().changed, false); }

void tooltip(std::string_view words) {
    if (!words.empty() && ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled))
        show_tooltip(words);
}

void show_tooltip(std::string_view words) {
    if (ShownTooltip& shown = shown_tooltip(); shown.text != words)
        shown = {std::string(words), true};
    ImGui::BeginTooltip();
    ImGui::PushTextWrapPos(24 * em());
    text(words);
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
}

void beside_if_fits(const char* label) {
    const ImGuiStyle& style = ImGui::GetStyle();
    const float width = ImGui::CalcTextSize(label).x + 2 * style.FramePadding.x;
    const float end = ImGui::GetItemRectMax().x + style.ItemSpacing.x + width;
    if (end < ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x) ImGui::SameLine();
}

void empty_note(std::string_view words) {
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const float wrap = std::max(room.x - 2 * em(), 4 * em());
    const ImVec2 size = ImGui::CalcTextSize(words.data(), words.data() + words.size(), false, wrap);
    const ImVec2 cursor = ImGui::GetCursorPos();
    ImGui::SetCursorPos({cursor.x + std::max(0.0F, (room.x - size.x) / 2),
                         cursor.y + std::max(0.0F, (room.y - size.y) / 2)});
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + wrap);
    dim_text(words);
    ImGui::PopTextWrapPos();
}

std::string sentence(std::string_view words) {
    if (words == "psnr") return "PSNR";
    if (words == "ssim") return "SSIM";
    if (words == "isects") return "List length";
    if (words == "color") return "Colour";
    std::string out(words);
    if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 32);
    return out;
}

std::vector<std::string> short_names(std::span<const std::string> paths) {
    // The end of a path after its last `slashes` slashes; one at its end does not count.
    const auto end_of = [](std::string_view path, std::size_t slashes) {
        while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
        std::size_t from = path.size();
        for (std::size_t i = 0; i < slashes && from != 0 && from != std::string_view::npos; ++i)
            from = path.rfind('/', from - 1);
        return std::string(from == std::string_view::npos || from == 0 ? path
                                                                       : path.substr(from + 1));
    };
    std::vector<std::string> names;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        // A file name shared by all runs needs its folder.
        std::size_t slashes = end_of(paths[i], 1) == "checkpoint.gsc" ? 2 : 1;
        const auto unlike_others = [&] {
            for (std::size_t k = 0; k < paths.size(); ++k)
                if (k != i && paths[k] != paths[i] &&
                    end_of(paths[k], slashes) == end_of(paths[i], slashes))
                    return false;
            return true;
        };
        while (!unlike_others() && end_of(paths[i], slashes).size() < paths[i].size()) ++slashes;
        names.push_back(end_of(paths[i], slashes));
    }
    return names;
}

std::size_t fitting(std::string_view words, float width, std::string_view end) {
    const auto fits = [&](std::size_t bytes) {
        const std::string begin = std::string(words.substr(0, bytes)) + std::string(end);
        return ImGui::CalcTextSize(begin.data(), begin.data() + begin.size()).x <= width;
    };
    std::size_t most = 0, over = words.size() + 1;
    while (over - most > 1) {
        const std::size_t middle = most + (over - most) / 2;
        (fits(middle) ? most : over) = middle;
    }
    return whole_characters(words, most).size();
}

std::string fitted(std::string_view words, float width) {
    words = whole_characters(words, kMostDrawn);
    const std::string_view whole = words.substr(0, fitting(words, width));
    if (whole.size() == words.size()) return std::string(words);
    return std::string(words.substr(0, fitting(words, width, ".."))) + "..";
}

std::string fitted_lines(std::string_view words, float width, std::size_t lines) {
    const std::size_t most = fitting(words, width * static_cast<float>(lines));
    return most < words.size() ? shortened(words, most) : std::string(words);
}

std::string fitted_path(std::string_view path, float width) {
    if (path.size() > kMostDrawn) path.remove_prefix(path.size() - kMostDrawn);
    const auto wide = [&](std::string_view words) {
        return ImGui::CalcTextSize(words.data(), words.data() + words.size()).x;
    };
    if (wide(path) <= width) return std::string(path);
    std::string_view rest = path;
    for (std::size_t cut = rest.find('/');
         cut != std::string_view::npos && cut + 1 < rest.size() && wide(rest) + wide("../") > width;
         cut = rest.find('/'))
        rest.remove_prefix(cut + 1);
    const std::string name = "../" + std::string(rest);
    if (wide(name) <= width) return name;
    while (rest.size() > 1 && wide("..") + wide(rest) > width) {
        do rest.remove_prefix(1);
        while (rest.size() > 1 && (static_cast<unsigned char>(rest.front()) & 0xc0) == 0x80);
    }
    return ".." + std::string(rest);
}

bool drag_bar(const char* label, double& value, double least, double most, const char* format,
              ImGuiSliderFlags flags, bool beyond) {
    const ImGuiID bar = ImGui::GetID(label);
    const float width = ImGui::CalcItemWidth();
    if (dragged.bar == bar) value = dragged.value;
    const auto speed = static_cast<float>((most - least) / std::max(width, 1.0F));
    if (!beyond) flags |= ImGuiSliderFlags_AlwaysClamp;
    const bool changed =
        ImGui::DragScalar(label, ImGuiDataType_Double, &value, speed, &least, &most, format, flags);
    dragged = ImGui::IsItemActive() ? Dragged{bar, value}
              : dragged.bar == bar  ? Dragged()
                                    : dragged;
    const ImVec2 a = ImGui::GetItemRectMin(), b = ImGui::GetItemRectMax();
    const double share = share_of(value, least, most, (flags & ImGuiSliderFlags_Logarithmic) != 0);
    ImGui::GetWindowDrawList()->AddRectFilled({a.x, b.y - 2 * hairline()},
                                              {a.x + static_cast<float>(share) * width, b.y},
                                              ImGui::GetColorU32(ImGuiCol_SliderGrab));
    return changed;
}

void choice_command(Commands& commands, const char* id, std::string_view command,
                    std::span<const char* const> names, std::size_t current, float width,
                    const char* hint) {
    ImGui::SetNextItemWidth(width * em());
    if (ImGui::BeginCombo(id, current < names.size() ? sentence(names[current]).c_str() : "?",
                          ImGuiComboFlags_HeightLarge)) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (ImGui::Selectable(sentence(names[i]).c_str(), i == current))
                commands.push(std::string(command), {names[i]});
            // Most choices are commands of their own, too, which say what they are.
            const CommandInfo* own = commands.find(std::string(command) + "." + names[i]);
            if (own) tooltip(own->key.empty() ? own->help : own->help + " (" + own->key + ")");
        }
        ImGui::EndCombo();
    } else {
        tooltip(hint);
    }
}

void toggle_command(Commands& commands, const char* label, std::string_view command, bool on,
                    const char* hint) {
    if (on) {
        ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetStyleColorVec4(ImGuiCol_Header));
        ImGui::PushStyleColor(ImGuiCol_ButtonHovered,
                              ImGui::GetStyleColorVec4(ImGuiCol_HeaderActive));
    }
    if (ImGui::Button(label)) commands.push(std::string(command), {on ? "off" : "on"});
    if (on) ImGui::PopStyleColor(2);
    tooltip(with_key(commands, command, hint));
}

std::string with_key(const Commands& commands, std::string_view command, std::string hint) {
    const CommandInfo* info = commands.find(command);
    return info && !info->key.empty() ? hint + " (" + info->key + ")" : hint;
}

}  // namespace gs
