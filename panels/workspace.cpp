#include "panels/workspace.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <utility>

#include "base/assets.h"
#include "panels/notices.h"
#include "panels/state/inspection.h"
#include "panels/state/selection_state.h"
#include "panels/viewport/viewport.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr double kHintSeconds = 5;
constexpr float kAim = 0.3F;  // seconds that the mouse rests on a tab's cross before it closes

bool same_name(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return std::tolower(x) == std::tolower(y); });
}

/// What the picture answers, whatever training makes of the numbers.
std::string answered_alone(const Snapshot& s) {
    std::string out = s.selection && s.selection->selected > 0 ? "selection" : "";
    if (s.inspection && s.inspection->pixel)
        out += fmt::format(" {},{}", s.inspection->pixel->report.x, s.inspection->pixel->report.y);
    return out;
}

}  // namespace

Workspace::Workspace() {
    for (const PanelRow& row : panel_rows()) slots_.push_back({&row, row.make(trace_view)});
}

Workspace::Slot* Workspace::find(std::string_view name) const {
    const auto slot =
        std::ranges::find_if(slots_, [&](const Slot& s) { return same_name(s.row->name, name); });
    return slot == slots_.end() ? nullptr : const_cast<Slot*>(&*slot);
}

UsedRegions Workspace::used() const {
    UsedRegions out{};
    for (const Slot& slot : slots_) out[static_cast<std::size_t>(slot.region)] = true;
    return out;
}

std::optional<Region> Workspace::region_of(std::string_view name) const {
    if (name.empty()) return regions_.at(ImGui::GetMousePos());
    const Slot* slot = find(name);
    return slot && slot->region != Region::hidden ? std::optional(slot->region) : std::nullopt;
}

bool Workspace::show_panel(std::string_view name, bool hide) {
    Slot* slot = find(name);
    if (!slot) return false;
    if (hide) {
        if (Slot* below = std::exchange(slot->covers, nullptr); below && slot->front)
            below->raise = below->region == slot->region;
        return move_panel(name, Region::hidden);
    }
    if (slot->region == Region::hidden) slot->region = slot->row->place();
    for (Slot& other : slots_)
        if (&other != slot && other.front && other.region == slot->region) slot->covers = &other;
    slot->raise = true;
    if (maximised != slot->region) maximised.reset();
    picture_only = picture_only && same_name(name, "Viewport");
    return true;
}

bool Workspace::shown(std::string_view name) const {
    const Slot* slot = find(name);
    return slot && slot->region != Region::hidden;
}

bool Workspace::in_front(std::string_view name) const {
    const Slot* slot = find(name);
    return slot && slot->region != Region::hidden && slot->front && !picture_only &&
           (!maximised || *maximised == slot->region);
}

bool asks(const Workspace& w, const Snapshot& snapshot) {
    return w.palette.visible() || w.file_dialog.visible() || snapshot.import ||
           snapshot.asks_to_leave;
}

bool uncover(Workspace& w) {
    if (std::exchange(w.picture_only, false)) return true;
    return std::exchange(w.maximised, std::nullopt).has_value();
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
    if (std::ranges::find(there, path) == there.end()) {
        std::string names;
        for (const std::string& other : there)
            names += (names.empty() ? "" : ", ") + fs::path(other).stem().string();
        return fail(ErrorKind::usage, "", fmt::format("there is no layout \"{}\"", name),
                    "layouts: " + names);
    }
    regions_.sizes = {};
    maximised.reset();
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
    return settle_ > 0 || file_dialog.waits() ||
           std::ranges::any_of(slots_, [](const Slot& slot) { return slot.panel->busy(); });
}

bool Workspace::working() const {
    return file_dialog.busy() || std::ranges::any_of(slots_, [](const Slot& slot) {
               return slot.front && slot.region != Region::hidden && slot.panel->working();
           });
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
    if (ImGui::MenuItem("Maximise", "double click", maximised.has_value()))
        maximised = maximised ? std::nullopt : std::optional(slot.region);
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
    slot.aim();
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left))
        maximised = maximised ? std::nullopt : std::optional(slot.region);
    if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left, em()))
        dragged_ = &slot;
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
    const bool meant = slot.aimed >= kAim || ImGui::IsMouseClicked(ImGuiMouseButton_Middle);
    if (!open && meant && before == slot.region) slot.region = Region::hidden;
    if (!open && !meant) slot.raise = front;  // ImGui would show another one now
}

/// Counts how long the mouse has rested on the cross of a tab that stays where it is: a click that
/// scrolls the strip can bring a cross under the mouse.
void Workspace::Slot::aim() {
    const ImVec2 a = ImGui::GetItemRectMin(), b = ImGui::GetItemRectMax();
    const float cross = ImGui::GetFontSize() + 2 * ImGui::GetStyle().FramePadding.x;
    const bool rests =
        end.x == b.x && end.y == b.y && ImGui::IsMouseHoveringRect({b.x - cross, a.y}, b);
    aimed = rests ? aimed + ImGui::GetIO().DeltaTime : 0;
    end = b;
}

/// The list behind the button at the end of a strip: the panels of the region, then the hidden ones
/// that would appear there.
void Workspace::list_panels(Region region, bool opens) {
    if (opens) ImGui::OpenPopup("##panels");
    if (!ImGui::BeginPopup("##panels")) return;
    const auto entry = [&](const Slot& slot) {
        if (ImGui::MenuItem(slot.row->name, nullptr, slot.region == region && slot.front))
            show_panel(slot.row->name);
    };
    for (const Slot& slot : slots_)
        if (slot.region == region) entry(slot);
    dim_text("Hidden");
    for (const Slot& slot : slots_)
        if (slot.region == Region::hidden && slot.row->place() == region) entry(slot);
    ImGui::EndPopup();
}

/// Brings panels to the front that have just got their first answer of the session.
void Workspace::bring_answers(const Snapshot& snapshot) {
    for (Slot& slot : slots_) {
        const bool has = slot.row->answers && slot.row->answers(snapshot);
        if (!drawn_) slot.answered = has;
        if (!has || slot.answered || picture_only || maximised) continue;
        slot.answered = show_panel(slot.row->name);
        settle_ = 3;
    }
    settle_ = std::max(settle_ - 1, 0);
    drawn_ = true;
}

void Workspace::draw_region(Region region, const Snapshot& snapshot, Commands& commands) {
    const RegionBox& where = regions_.box(region);
    const bool any = regions_.used(region);
    if (!any || where.w < 2 || where.h < 2) {
        // An empty centre still shows where things can go.
        if (region != Region::centre || maximised) return;
    }
    ImGui::SetNextWindowPos({where.x, where.y});
    ImGui::SetNextWindowSize({std::max(where.w, 2.0F), std::max(where.h, 2.0F)});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0.35F * em(), 0.2F * em()});
    // Ctrl+Tab, which switches regions, shows the text before the ##.
    const std::string id = std::string(kRegionNames[static_cast<std::size_t>(region)]) + "##region";
    ImGui::Begin(id.c_str(), nullptr, kFixedWindow);
    if (!any) {
        empty_note("Open a panel from the Panels menu, or reset the layout there");
    } else if (ImGui::BeginTabBar(
                   "##tabs", ImGuiTabBarFlags_FittingPolicyScroll | ImGuiTabBarFlags_NoTooltip)) {
        // Slots may change their region while they are drawn; each is drawn once.
        for (Slot& slot : slots_)
            if (slot.region == region)
                draw_tab(slot, region != Region::centre || same_name(slot.row->name, "Help"),
                         snapshot, commands);
        const bool opens = ImGui::TabItemButton("   ##list", ImGuiTabItemFlags_Trailing);
        const ImVec2 a = ImGui::GetItemRectMin(), b = ImGui::GetItemRectMax();
        const float x = (a.x + b.x) / 2, y = (a.y + b.y) / 2, arm = 0.22F * em();
        ImGui::GetWindowDrawList()->AddTriangleFilled(
            {x - arm, y - arm / 2}, {x + arm, y - arm / 2}, {x, y + arm}, theme().dim);
        tooltip("All panels of this region");
        ImGui::EndTabBar();
        list_panels(region, opens);
    }
    ImGui::End();
    ImGui::PopStyleVar();
}

void Workspace::draw_panels(const Snapshot& snapshot, Commands& commands) {
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    const float top = top_bar_.height(), foot = status_bar_.height();
    std::vector<PanelItem> items;
    for (const Slot& slot : slots_)
        items.push_back({slot.row->name, slot.region != Region::hidden});
    top_bar_.draw(snapshot, commands, palette, items);
    if (maximised && !used()[static_cast<std::size_t>(*maximised)]) maximised.reset();
    regions_.lay_out({0, top, display.x, std::max(display.y - top - foot, 1.0F)}, used(),
                     maximised);
    for (std::size_t i = 0; i < static_cast<std::size_t>(Region::hidden); ++i)
        draw_region(static_cast<Region>(i), snapshot, commands);
    if (!maximised) regions_.draw_splitters();
    drag_tab();
    const RegionBox& below = regions_.box(maximised.value_or(Region::centre));
    draw_notices(snapshot, commands, below.x, below.y + below.h, below.w);
    status_bar_.draw(snapshot, commands);
}

/// Drops a dragged tab into the region under the mouse.
void Workspace::drag_tab() {
    if (!dragged_) return;
    const ImVec2 mouse = ImGui::GetMousePos();
    const auto target = regions_.drop_at(mouse);
    if (target) {
        const RegionBox place = regions_.drop_box(*target);
        ImDrawList& list = *ImGui::GetForegroundDrawList();
        const ImVec2 a{place.x, place.y}, b{place.x + place.w, place.y + place.h};
        list.AddRectFilled(a, b, with_alpha(theme().accent, 50));
        list.AddRect(a, b, theme().accent, 0, 0, 2);
        list.AddText({mouse.x + em(), mouse.y}, theme().text, dragged_->row->name);
    }
    if (named_key_pressed(ImGuiKey_Escape)) dragged_ = nullptr;
    if (!dragged_ || ImGui::IsMouseDown(ImGuiMouseButton_Left)) return;
    if (target && *target != dragged_->region) dragged_->region = *target, dragged_->raise = true;
    dragged_ = nullptr;
}

void Workspace::draw_picture_alone(const Snapshot& snapshot, Commands& commands) {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    // Nothing in it for the keyboard to stand on: the first Escape ends it.
    ImGui::Begin("picture##alone", nullptr, kFixedWindow | ImGuiWindowFlags_NoNav);
    panel<Viewport>().draw_alone(snapshot, commands);
    std::string words = answers_in_words(snapshot);
    std::string answered = answered_alone(snapshot);
    if (answered != alone_answered_ && !answered.empty()) alone_since_ = ImGui::GetTime();
    alone_answered_ = std::move(answered);
    if (ImGui::GetTime() - alone_since_ < kHintSeconds)
        words += (words.empty() ? "" : ". ") + std::string("Press Escape to show the panels");
    if (!words.empty()) {
        const ImVec2 display = ImGui::GetIO().DisplaySize;
        const std::string shown = fitted(words, display.x - 4 * em());
        const ImVec2 size = ImGui::CalcTextSize(shown.c_str());
        const ImVec2 a{(display.x - size.x) / 2, display.y - size.y - 2 * em()};
        ImDrawList& list = *ImGui::GetWindowDrawList();
        list.AddRectFilled({a.x - em(), a.y - 0.5F * em()},
                           {a.x + size.x + em(), a.y + size.y + 0.5F * em()}, theme().window, 4);
        ImGui::SetCursorScreenPos(a);
        text(shown);
        if (shown != words) tooltip(words);
    }
    ImGui::End();
    ImGui::PopStyleVar();
}

void Workspace::draw(const Snapshot& snapshot, Commands& commands) {
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    ImGui::GetBackgroundDrawList()->AddRectFilled({0, 0}, display, theme().window);
    share_arrows();
    panel<Viewport>().begin_frame();
    bring_answers(snapshot);
    if (!picture_only) alone_since_ = -1;
    if (picture_only && alone_since_ < 0) alone_since_ = ImGui::GetTime();
    if (picture_only) {
        draw_picture_alone(snapshot, commands);
        draw_notices(snapshot, commands, 0, display.y, display.x);
    } else {
        draw_panels(snapshot, commands);
    }
    if (FileDialog::serves(palette.command())) {
        file_dialog.ask(palette.command(), snapshot);
        palette.dismiss();
    }
    palette.draw(commands);
    // A file dialog is drawn over the question that it answers.
    import_dialog.draw(snapshot, commands, file_dialog);
    if (!snapshot.import) file_dialog.draw(snapshot, commands);
    quit_question_.draw(snapshot, commands, file_dialog.visible() || palette.visible());
}

}  // namespace gs
