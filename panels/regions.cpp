#include "panels/regions.h"

#include <algorithm>
#include <cmath>

#include "panels/widgets/theme.h"

namespace gs {
namespace {

float gap_size() { return 0.25F * em(); }
float part(float whole, double share) { return std::floor(whole * static_cast<float>(share)); }

/// Drop places of regions without a panel: at an edge of the window, or of their neighbour.
constexpr float kEdge = 0.07F, kThird = 0.34F;

constexpr double kMostOfSmall = 0.3;                // of the window: a column at its least width
constexpr float kLeftWords = 13, kRightWords = 20;  // em

}  // namespace

void Regions::lay_column(RegionBox whole, Region upper, Region lower, double split) {
    const bool both = used(upper) && used(lower);
    const float upper_h = both ? part(whole.h, split) : used(upper) ? whole.h : 0;
    const float taken = upper_h + (both ? gap_size() : 0);
    place(upper) = {whole.x, whole.y, whole.w, upper_h};
    place(lower) = {whole.x, whole.y + taken, whole.w, whole.h - taken};
}

void Regions::lay_out(RegionBox room, const UsedRegions& used_now, std::optional<Region> alone) {
    room_ = room;
    used_ = used_now;
    if (alone) {
        boxes_ = {};
        place(*alone) = room;
        return;
    }
    const float gap = gap_size();
    const bool left = used(Region::left) || used(Region::left_lower);
    const bool right = used(Region::right) || used(Region::right_lower);
    const bool bottom = used(Region::bottom), bottom_right = used(Region::bottom_right);
    // In a small window columns keep the width of their words, within a share of the window.
    const auto column_w = [&](double share, float words) {
        return std::max(part(room.w, share), std::min(words * em(), part(room.w, kMostOfSmall)));
    };
    const float left_w = left ? column_w(sizes.left, kLeftWords) : 0;
    const float right_w = right ? column_w(sizes.right, kRightWords) : 0;
    const float bottom_h = bottom || bottom_right ? part(room.h, sizes.bottom) : 0;
    const float body_h = room.h - bottom_h - (bottom_h > 0 ? gap : 0);
    // The right column reaches down to the status bar: its tables are tall. The bottom runs under
    // left and centre.
    lay_column({room.x + room.w - right_w, room.y, right_w, room.h}, Region::right,
               Region::right_lower, sizes.right_split);
    lay_column({room.x, room.y, left_w, body_h}, Region::left, Region::left_lower,
               sizes.left_split);
    const float centre_x = room.x + left_w + (left_w > 0 ? gap : 0);
    const float inner_w = room.w - right_w - (right_w > 0 ? gap : 0);
    place(Region::centre) = {centre_x, room.y, room.x + inner_w - centre_x, body_h};
    const float bottom_w = bottom && bottom_right ? part(inner_w, sizes.bottom_split)
                           : bottom               ? inner_w
                                                  : 0;
    const float bottom_y = room.y + room.h - bottom_h;
    place(Region::bottom) = {room.x, bottom_y, bottom_w, bottom_h};
    const float after = bottom_w + (bottom && bottom_right ? gap : 0);
    place(Region::bottom_right) = {room.x + after, bottom_y, inner_w - after, bottom_h};
}

std::optional<Region> Regions::at(ImVec2 point) const {
    for (std::size_t i = 0; i < boxes_.size(); ++i)
        if (used_[i] && boxes_[i].contains(point)) return static_cast<Region>(i);
    return std::nullopt;
}

RegionBox Regions::drop_box(Region region) const {
    if (used(region) || region == Region::centre) return box(region);
    const auto lower = [](RegionBox b) {
        return RegionBox{b.x, b.y + (1 - kThird) * b.h, b.w, kThird * b.h};
    };
    const RegionBox& centre = box(Region::centre);
    const float edge = kEdge * room_.w;
    switch (region) {
        case Region::left:
            return used(Region::left_lower)
                       ? RegionBox{box(Region::left_lower).x, box(Region::left_lower).y,
                                   box(Region::left_lower).w, kThird * box(Region::left_lower).h}
                       : RegionBox{room_.x, room_.y, edge, centre.h};
        case Region::left_lower:
            return used(Region::left) ? lower(box(Region::left)) : RegionBox{};
        case Region::right:
            return used(Region::right_lower)
                       ? RegionBox{box(Region::right_lower).x, box(Region::right_lower).y,
                                   box(Region::right_lower).w, kThird * box(Region::right_lower).h}
                       : RegionBox{room_.x + room_.w - edge, room_.y, edge, room_.h};
        case Region::right_lower:
            return used(Region::right) ? lower(box(Region::right)) : RegionBox{};
        case Region::bottom:
            return used(Region::bottom_right)
                       ? RegionBox{box(Region::bottom_right).x, box(Region::bottom_right).y,
                                   kThird * box(Region::bottom_right).w,
                                   box(Region::bottom_right).h}
                       : RegionBox{centre.x, centre.y + (1 - kThird / 2) * centre.h, centre.w,
                                   kThird / 2 * centre.h};
        case Region::bottom_right: {
            const RegionBox& bottom = box(Region::bottom);
            return used(Region::bottom) ? RegionBox{bottom.x + (1 - kThird) * bottom.w, bottom.y,
                                                    kThird * bottom.w, bottom.h}
                                        : RegionBox{};
        }
        default:
            return {};
    }
}

std::optional<Region> Regions::drop_at(ImVec2 point) const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(Region::hidden); ++i)
        if (!used_[i] && drop_box(static_cast<Region>(i)).contains(point))
            return static_cast<Region>(i);
    return at(point);
}

void Regions::splitter(const char* id, RegionBox where, bool vertical, float span, double& share,
                       bool grows_back, float shown) {
    if (where.w < 1 || where.h < 1 || span < 1) return;
    ImGui::SetNextWindowPos({where.x, where.y});
    ImGui::SetNextWindowSize({where.w, where.h});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::Begin(id, nullptr,
                 kFixedWindow | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav);
    ImGui::InvisibleButton("##grip", {where.w, where.h});
    const bool active = ImGui::IsItemActive();
    if (active || ImGui::IsItemHovered()) {
        ImGui::SetMouseCursor(vertical ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
        ImGui::GetWindowDrawList()->AddRectFilled({where.x, where.y},
                                                  {where.x + where.w, where.y + where.h},
                                                  with_alpha(theme().accent, active ? 220 : 120));
    }
    if (active) {
        const float by = vertical ? ImGui::GetIO().MouseDelta.x : ImGui::GetIO().MouseDelta.y;
        // A column at its least width is wider than its share: it moves from where it is.
        if (by != 0) share = std::max(share, static_cast<double>(shown / span));
        share = std::clamp(share + static_cast<double>((grows_back ? -by : by) / span), 0.06, 0.9);
    }
    ImGui::End();
    ImGui::PopStyleVar();
}

void Regions::draw_splitters() {
    const float gap = gap_size();
    const RegionBox &left = box(Region::left), &left_lower = box(Region::left_lower),
                    &centre = box(Region::centre), &right = box(Region::right),
                    &right_lower = box(Region::right_lower), &bottom = box(Region::bottom),
                    &bottom_right = box(Region::bottom_right);
    if (left.w > 0)
        splitter("##split left", {centre.x - gap, centre.y, gap, centre.h}, true, room_.w,
                 sizes.left, false, left.w);
    if (right.w > 0)
        splitter("##split right", {right.x - gap, room_.y, gap, room_.h}, true, room_.w,
                 sizes.right, true, right.w);
    const float bottom_h = std::max(bottom.h, bottom_right.h);
    const float inner_w = room_.w - (right.w > 0 ? right.w + gap : 0);
    if (bottom_h > 0)
        splitter("##split bottom", {room_.x, room_.y + room_.h - bottom_h - gap, inner_w, gap},
                 false, room_.h, sizes.bottom, true);
    if (used(Region::left) && used(Region::left_lower))
        splitter("##split left column", {left.x, left_lower.y - gap, left.w, gap}, false, centre.h,
                 sizes.left_split, false);
    if (used(Region::right) && used(Region::right_lower))
        splitter("##split right column", {right.x, right_lower.y - gap, right.w, gap}, false,
                 room_.h, sizes.right_split, false);
    if (used(Region::bottom) && used(Region::bottom_right))
        splitter("##split bottom row", {bottom_right.x - gap, bottom.y, gap, bottom.h}, true,
                 inner_w, sizes.bottom_split, false);
    // Shares of both sides leave space for the centre.
    if (sizes.left + sizes.right > 0.85) sizes.right = std::max(0.06, 0.85 - sizes.left);
}

}  // namespace gs
