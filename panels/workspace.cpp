#include "panels/workspace.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "base/assets.h"
#include "panels/notices.h"
#include "panels/quit_question.h"
#include "panels/viewport/viewport.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr float kGap = 0.25F;  // between regions, em
constexpr ImGuiWindowFlags kFixed =
    ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
    ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoSavedSettings |
    ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoScrollbar |
    ImGuiWindowFlags_NoScrollWithMouse;

bool same_name(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

Workspace::Workspace() {
    for (const PanelRow& row : panel_rows()) slots_.push_back({&row, row.make(trace_view)});
}

Workspace::Slot* Workspace::find(std::string_view name) {
    for (Slot& slot : slots_)
        if (same_name(slot.row->name, name)) return &slot;
    return nullptr;
}
const Workspace::Slot* Workspace::find(std::string_view name) const {
    return const_cast<Workspace*>(this)->find(name);
}

bool Workspace::any_in(Region region) const {
    return std::any_of(slots_.begin(), slots_.end(),
                       [&](const Slot& slot) { return slot.region == region; });
}

bool Workspace::show_panel(std::string_view name, bool hide) {
    Slot* slot = find(name);
    if (!slot) return false;
    if (hide) return move_panel(name, Region::hidden);
    if (slot->region == Region::hidden)
        slot->region = slot->row->home == Region::hidden ? Region::centre : slot->row->home;
    slot->raise = true;
    return true;
}

bool Workspace::shown(std::string_view name) const {
    const Slot* slot = find(name);
    return slot && slot->region != Region::hidden;
}

bool Workspace::move_panel(std::string_view name, Region region) {
    Slot* slot = find(name);
    if (!slot) return false;
    slot->region = region;
    slot->raise = region != Region::hidden;
    return true;
}

Result<void> Workspace::show_layout(std::string_view name) {
    const std::string path = fmt::format("layouts/{}.layout", name);
    const std::vector<std::string> there = assets_in("layouts");
    if (std::find(there.begin(), there.end(), path) == there.end()) {
        std::string names;
        for (const std::string& other : there)
            names += (names.empty() ? "" : ", ") + fs::path(other).stem().string();
        return fail(ErrorKind::usage, "", fmt::format("there is no layout \"{}\"", name),
                    "there are: " + names);
    }
    sizes_ = {};
    for (Slot& slot : slots_) {
        slot.region = slot.row->home;
        slot.raise = false;
    }
    load_layout(asset(path).text);
    return {};
}

void Workspace::reset_layout() {
    const auto shown = show_layout("studio");
    CHECK(shown.has_value(), "the studio's layout is built in");
}

bool Workspace::busy() const {
    return file_dialog.busy() || std::any_of(slots_.begin(), slots_.end(),
                                             [](const Slot& slot) { return slot.panel->busy(); });
}

bool Workspace::draw_panel(std::string_view name, const Snapshot& snapshot, Commands& commands) {
    Slot* slot = find(name);
    if (slot) slot->panel->draw(snapshot, commands);
    return slot != nullptr;
}

std::vector<std::string> Workspace::panel_names() const {
    std::vector<std::string> names;
    for (const Slot& slot : slots_) names.emplace_back(slot.row->name);
    return names;
}

void Workspace::lay_out(Box room) {
    const float gap = kGap * em();
    const bool left = any_in(Region::left), left_lower = any_in(Region::left_lower);
    const bool right = any_in(Region::right), right_lower = any_in(Region::right_lower);
    const bool bottom = any_in(Region::bottom), bottom_right = any_in(Region::bottom_right);
    const auto share = [](float whole, double part) {
        return std::floor(whole * static_cast<float>(part));
    };
    const float left_w = left || left_lower ? share(room.w, sizes_.left) : 0;
    const float right_w = right || right_lower ? share(room.w, sizes_.right) : 0;
    const float bottom_h = bottom || bottom_right ? share(room.h, sizes_.bottom) : 0;
    const auto column = [&](Box whole, Region upper_region, Region lower_region, bool upper,
                            bool lower, double split) {
        const float upper_h = upper && lower ? share(whole.h, split) : upper ? whole.h : 0;
        box(upper_region) = {whole.x, whole.y, whole.w, upper_h};
        box(lower_region) = {whole.x, whole.y + upper_h + (upper && lower ? gap : 0), whole.w,
                             whole.h - upper_h - (upper && lower ? gap : 0)};
    };
    const float body_h = room.h - bottom_h - (bottom_h > 0 ? gap : 0);
    // The right column reaches down to the status bar: its tables are tall. The bottom runs under
    // left and centre.
    column({room.x + room.w - right_w, room.y, right_w, room.h}, Region::right, Region::right_lower,
           right, right_lower, sizes_.right_split);
    column({room.x, room.y, left_w, body_h}, Region::left, Region::left_lower, left, left_lower,
           sizes_.left_split);
    const float centre_x = room.x + left_w + (left_w > 0 ? gap : 0);
    const float inner_w = room.w - right_w - (right_w > 0 ? gap : 0);
    box(Region::centre) = {centre_x, room.y, room.x + inner_w - centre_x, body_h};
    const float bottom_w = bottom && bottom_right ? share(inner_w, sizes_.bottom_split)
                           : bottom               ? inner_w
                                                  : 0;
    const float bottom_y = room.y + room.h - bottom_h;
    box(Region::bottom) = {room.x, bottom_y, bottom_w, bottom_h};
    const float after = bottom_w + (bottom && bottom_right ? gap : 0);
    box(Region::bottom_right) = {room.x + after, bottom_y, inner_w - after, bottom_h};
}

void Workspace::tab_menu(Slot& slot) {
    if (!ImGui::BeginPopupContextItem()) return;
    dim_text(slot.row->name);
    for (std::size_t i = 0; i < static_cast<std::size_t>(Region::hidden); ++i) {
        const auto region = static_cast<Region>(i);
        const std::string label = std::string("Move to ") + kRegionNames[i];
        if (ImGui::MenuItem(label.c_str(), nullptr, slot.region == region, slot.region != region)) {
            slot.region = region;
            slot.raise = true;
        }
    }
    ImGui::Separator();
    if (ImGui::MenuItem("Hide")) slot.region = Region::hidden;
    if (ImGui::MenuItem("Reset the layout")) reset_layout();
    ImGui::EndPopup();
}

void Workspace::draw_tab(Slot& slot, bool closable, const Snapshot& snapshot, Commands& commands) {
    bool open = true;
    const ImGuiTabItemFlags flags = slot.raise ? ImGuiTabItemFlags_SetSelected : 0;
    slot.raise = false;
    const bool front = ImGui::BeginTabItem(slot.row->name, closable ? &open : nullptr, flags);
    const Region before = slot.region;
    tab_menu(slot);
    slot.front = front;
    if (front) {
        ImGui::PushID(slot.row->name);
        ImGui::BeginChild("##body", {0, 0}, false,
                          slot.row->scrolls ? 0 : ImGuiWindowFlags_NoScrollWithMouse);
        if (ImGui::GetContentRegionAvail().x > 1 && ImGui::GetContentRegionAvail().y > 1)
            slot.panel->draw(snapshot, commands);
        ImGui::EndChild();
        ImGui::PopID();
        ImGui::EndTabItem();
    }
    if (!open && before == slot.region) slot.region = Region::hidden;
}

void Workspace::draw_region(Region region, const Snapshot& snapshot, Commands& commands) {
    const Box& where = box(region);
    if (!any_in(region) || where.w < 2 || where.h < 2) {
        // An empty centre still shows where things can go.
        if (region != Region::centre) return;
    }
    ImGui::SetNextWindowPos({where.x, where.y});
    ImGui::SetNextWindowSize({std::max(where.w, 2.0F), std::max(where.h, 2.0F)});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0.35F * em(), 0.2F * em()});
    // Ctrl+Tab, which goes from region to region, shows what stands before the ##.
    const std::string id = std::string(kRegionNames[static_cast<std::size_t>(region)]) + "##region";
    ImGui::Begin(id.c_str(), nullptr, kFixed);
    if (!any_in(region)) {
        empty_note("Open a panel from the Panels menu, or reset the layout there");
    } else if (ImGui::BeginTabBar(
                   "##tabs", ImGuiTabBarFlags_FittingPolicyScroll | ImGuiTabBarFlags_NoTooltip)) {
        // Slots may change their region while they are drawn; each is drawn once.
        for (Slot& slot : slots_)
            if (slot.region == region)
                draw_tab(slot, region != Region::centre || same_name(slot.row->name, "Help"),
                         snapshot, commands);
        ImGui::EndTabBar();
    }
    ImGui::End();
    ImGui::PopStyleVar();
}

void Workspace::splitter(const char* id, Box where, bool vertical, float span, double& share,
                         bool grows_back) {
    if (where.w < 1 || where.h < 1 || span < 1) return;
    ImGui::SetNextWindowPos({where.x, where.y});
    ImGui::SetNextWindowSize({where.w, where.h});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::Begin(id, nullptr, kFixed | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav);
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
        share = std::clamp(share + static_cast<double>((grows_back ? -by : by) / span), 0.06, 0.9);
    }
    ImGui::End();
    ImGui::PopStyleVar();
}

void Workspace::draw_splitters(Box room) {
    const float gap = kGap * em();
    const Box &left = box(Region::left), &left_lower = box(Region::left_lower),
              &centre = box(Region::centre), &right = box(Region::right),
              &right_lower = box(Region::right_lower), &bottom = box(Region::bottom),
              &bottom_right = box(Region::bottom_right);
    if (left.w > 0)
        splitter("##split left", {centre.x - gap, centre.y, gap, centre.h}, true, room.w,
                 sizes_.left, false);
    if (right.w > 0)
        splitter("##split right", {right.x - gap, room.y, gap, room.h}, true, room.w, sizes_.right,
                 true);
    const float bottom_h = std::max(bottom.h, bottom_right.h);
    const float inner_w = room.w - (right.w > 0 ? right.w + gap : 0);
    if (bottom_h > 0)
        splitter("##split bottom", {room.x, room.y + room.h - bottom_h - gap, inner_w, gap}, false,
                 room.h, sizes_.bottom, true);
    if (any_in(Region::left) && any_in(Region::left_lower))
        splitter("##split left column", {left.x, left_lower.y - gap, left.w, gap}, false, centre.h,
                 sizes_.left_split, false);
    if (any_in(Region::right) && any_in(Region::right_lower))
        splitter("##split right column", {right.x, right_lower.y - gap, right.w, gap}, false,
                 room.h, sizes_.right_split, false);
    if (any_in(Region::bottom) && any_in(Region::bottom_right))
        splitter("##split bottom row", {bottom_right.x - gap, bottom.y, gap, bottom.h}, true,
                 inner_w, sizes_.bottom_split, false);
    // Shares of both sides leave room for the centre.
    if (sizes_.left + sizes_.right > 0.85) sizes_.right = std::max(0.06, 0.85 - sizes_.left);
}

void Workspace::draw(const Snapshot& snapshot, Commands& commands) {
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    ImGui::GetBackgroundDrawList()->AddRectFilled({0, 0}, display, theme().window);
    share_arrows();
    const float top = top_bar_.height(), foot = status_bar_.height();
    std::vector<PanelItem> items;
    for (const Slot& slot : slots_)
        items.push_back({slot.row->name, slot.region != Region::hidden});
    top_bar_.draw(snapshot, commands, palette, items);
    const Box room{0, top, display.x, std::max(display.y - top - foot, 1.0F)};
    lay_out(room);
    panel<Viewport>().begin_frame();
    for (std::size_t i = 0; i < static_cast<std::size_t>(Region::hidden); ++i)
        draw_region(static_cast<Region>(i), snapshot, commands);
    draw_splitters(room);
    const Box& centre = box(Region::centre);
    draw_notices(snapshot, commands, centre.x, centre.y + centre.h, centre.w);
    status_bar_.draw(snapshot, commands);
    if (FileDialog::serves(palette.command())) {
        file_dialog.ask(palette.command(), snapshot);
        palette.dismiss();
    }
    palette.draw(commands);
    file_dialog.draw(snapshot, commands);
    draw_quit_question(snapshot, commands);
}

}  // namespace gs
