#include "panels/viewport/chips.h"

#include <algorithm>
#include <cmath>

#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr std::size_t kMostLines = 6;

float pad() { return 0.35F * em(); }

/// A chip between the sides of the list's clip rectangle: what is longer is broken into lines, and
/// what takes many has no middle.
struct Fitted {
    Fitted(const ImDrawList& list, const std::string& words)
        : left(list.GetClipRectMin().x),
          right(list.GetClipRectMax().x),
          wrap(std::floor(right - left - 2 * pad())),
          shown(fitted_lines(words, wrap, kMostLines)),
          size(ImGui::CalcTextSize(shown.c_str(), nullptr, false, wrap)) {
        size = {size.x + 2 * pad(), size.y + pad()};
    }
    /// One that is in sight at all is so as a whole.
    float moved(float x) const {
        return x < right && x + size.x > left ? std::max(left, std::min(x, right - size.x)) : x;
    }
    float left, right, wrap;
    std::string shown;
    ImVec2 size;
};

}  // namespace

ImVec2 chip_size(const std::string& words) {
    const ImVec2 size = ImGui::CalcTextSize(words.c_str());
    return {size.x + 2 * pad(), size.y + pad()};
}

void draw_chip(ImDrawList& list, ImVec2 corner, const std::string& words, ImU32 color) {
    const Fitted chip(list, words);
    corner.x = chip.moved(corner.x);
    const ImVec2 end{corner.x + chip.size.x, corner.y + chip.size.y};
    list.AddRectFilled(corner, end, with_alpha(theme().window, 205), 3);
    list.AddText(ImGui::GetFont(), ImGui::GetFontSize(), {corner.x + pad(), corner.y + pad() / 2},
                 color, chip.shown.c_str(), nullptr, chip.wrap);
    if (chip.shown != words && ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(corner, end))
        show_tooltip(words);
}

PictureRect Chips::put(ImVec2 at, Side side, Way way, const std::string& words, ImU32 color) {
    if (words.empty()) return {at, at};
    const Fitted chip(list_, words);
    const ImVec2 size = chip.size;
    const float gap = 0.2F * em();
    const float x = chip.moved(at.x - (side == Side::left    ? 0
                                       : side == Side::right ? size.x
                                                             : size.x / 2));
    PictureRect rect{{x, at.y}, {x + size.x, at.y + size.y}};
    const auto in_the_way = [&] {
        return std::ranges::find_if(taken_, [&](const PictureRect& r) { return rect.touches(r); });
    };
    // Each step leaves one of them behind.
    for (std::size_t i = 0; i < taken_.size(); ++i) {
        const auto other = in_the_way();
        if (other == taken_.end()) break;
        rect.a.y = way == Way::up ? other->a.y - gap - size.y : other->b.y + gap;
        rect.b.y = rect.a.y + size.y;
    }
    draw_chip(list_, rect.a, words, color);
    taken_.push_back(rect);
    return rect;
}

std::vector<std::string> wrapped(std::span<const std::string> words, float width) {
    std::vector<std::string> lines;
    for (const std::string& word : words) {
        const std::string longer = lines.empty() ? word : lines.back() + "  " + word;
        if (lines.empty() || chip_size(longer).x > width)
            lines.push_back(word);
        else
            lines.back() = longer;
    }
    return lines;
}

}  // namespace gs
