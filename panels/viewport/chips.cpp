#include "panels/viewport/chips.h"

#include <algorithm>

#include "panels/widgets/theme.h"

namespace gs {
namespace {

float pad() { return 0.35F * em(); }

}  // namespace

ImVec2 chip_size(const std::string& words) {
    const ImVec2 size = ImGui::CalcTextSize(words.c_str());
    return {size.x + 2 * pad(), size.y + pad()};
}

void draw_chip(ImDrawList& list, ImVec2 corner, const std::string& words, ImU32 color) {
    const ImVec2 size = chip_size(words);
    list.AddRectFilled(corner, {corner.x + size.x, corner.y + size.y},
                       with_alpha(theme().window, 205), 3);
    list.AddText({corner.x + pad(), corner.y + pad() / 2}, color, words.c_str());
}

PictureRect Chips::put(ImVec2 at, Side side, Way way, const std::string& words, ImU32 color) {
    if (words.empty()) return {at, at};
    const ImVec2 size = chip_size(words);
    const float gap = 0.2F * em();
    const float x = at.x - (side == Side::left ? 0 : side == Side::right ? size.x : size.x / 2);
    PictureRect rect{{x, at.y}, {x + size.x, at.y + size.y}};
    const auto in_the_way = [&] {
        return std::find_if(taken_.begin(), taken_.end(),
                            [&](const PictureRect& r) { return rect.touches(r); });
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
