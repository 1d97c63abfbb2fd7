#include "panels/menus.h"

#include <imgui.h>

#include <algorithm>
#include <vector>

#include "panels/state/drive_state.h"
#include "panels/state/film_state.h"
#include "panels/state/history_state.h"
#include "panels/state/inspection.h"
#include "panels/state/photo_looks.h"
#include "panels/widgets/activity.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

struct MenuRow {
    MenuPlace place;
    const CommandInfo* info;
};

template <class E, std::size_t n>
std::optional<bool> chosen(std::string_view command, std::string_view prefix,
                           const std::array<const char*, n>& names, E now) {
    if (!command.starts_with(prefix)) return std::nullopt;
    return command.substr(prefix.size()) == names[static_cast<std::size_t>(now)];
}

struct Switch {
    std::string_view command;
    bool ViewSettings::*field;
};
constexpr Switch kSwitches[] = {{"view.log", &ViewSettings::logarithmic},
                                {"view.frusta", &ViewSettings::frusta},
                                {"view.overlays", &ViewSettings::overlays},
                                {"view.grid", &ViewSettings::grid},
                                {"view.fast", &ViewSettings::fast},
                                {"view.exact", &ViewSettings::exact},
                                {"view.appearance", &ViewSettings::photo_look},
                                {"view.shutter", &ViewSettings::shutter},
                                {"view.shutter.arrows", &ViewSettings::shutter_arrows},
                                {"view.tile-grid", &ViewSettings::tile_grid},
                                {"view.show-photo", &ViewSettings::show_photo},
                                {"view.signed", &ViewSettings::signed_error},
                                {"view.level-colors", &ViewSettings::level_colors},
                                {"view.sky", &ViewSettings::sky}};

// ---- what commands need
bool has_scene(const Snapshot& s) { return s.scene != nullptr; }
bool has_other(const Snapshot& s) { return s.other != nullptr; }
bool has_frame(const Snapshot& s) { return s.frame != nullptr; }
bool has_inspected(const Snapshot& s) { return s.inspection && s.inspection->pixel; }
bool has_costs(const Snapshot& s) { return s.cost_report != nullptr; }
bool has_verified(const Snapshot& s) { return s.verified != nullptr; }
bool has_problems(const Snapshot& s) { return s.problems != nullptr; }
bool has_looks(const Snapshot& s) { return s.looks && !s.looks->photos.empty(); }
bool has_corrections(const Snapshot& s) { return s.looks && !s.looks->poses.empty(); }
bool has_values(const Snapshot& s) { return s.view.color_by.value != GaussianValue::none; }
bool has_cameras(const Snapshot& s) { return s.cameras && !s.cameras->empty(); }
bool has_levels(const Snapshot& s) { return s.levels != nullptr; }
bool is_open(const Snapshot& s) { return s.scene || s.training.state == RunState::loading; }
bool runs(const Snapshot& s) { return s.training.state == RunState::training; }
bool stands(const Snapshot& s) {
    const RunState state = s.training.state;
    return s.scene && !s.nothing_to_train() &&
           (state == RunState::ready || state == RunState::paused || state == RunState::failed);
}
bool can_run(const Snapshot& s) { return runs(s) || stands(s); }
bool has_run(const Snapshot& s) {
    return can_run(s) || (!s.nothing_to_train() && s.training.state == RunState::finished);
}
bool can_fix(const Snapshot& s) { return s.doctor && s.doctor->can_fix; }
bool was_fixed(const Snapshot& s) { return s.doctor && !s.doctor->fixes.empty(); }
bool was_changed(const Snapshot& s) { return s.history && s.history->to_undo(); }
bool was_undone(const Snapshot& s) { return s.history && s.history->to_redo(); }
bool can_edit(const Snapshot& s) { return s.selection && s.selection->why_not.empty(); }
bool has_selected(const Snapshot& s) { return can_edit(s) && s.selection->selected > 0; }
bool has_hidden(const Snapshot& s) { return can_edit(s) && s.selection->hidden > 0; }
bool has_locked(const Snapshot& s) { return can_edit(s) && s.selection->locked > 0; }
bool can_crop(const Snapshot& s) { return can_edit(s) && s.view.clip; }
bool has_snapshots(const Snapshot& s) { return !s.training.snapshots.empty(); }
bool has_path(const Snapshot& s) { return s.film && !s.film->film.path.keys.empty(); }
bool has_way(const Snapshot& s) { return s.film && s.film->film.path.keys.size() > 1; }
bool has_drive(const Snapshot& s) { return s.drive != nullptr; }
bool has_moments(const Snapshot& s) { return s.drive && s.drive->sweeps.size() > 1; }
bool has_lapse(const Snapshot& s) {
    return s.time_lapse && std::ranges::any_of(s.time_lapse->views,
                                               [](const auto& v) { return !v.pictures.empty(); });
}
bool runs_suite(const Snapshot& s) { return find_activity(s, "lab") != nullptr; }
bool works(const Snapshot& s) { return !s.activities.empty(); }
bool is_snapped(const Snapshot& s) { return s.view.capture_view >= 0; }
bool is_marked(const Snapshot& s) { return s.marked != nullptr; }
bool shows_error(const Snapshot& s) { return s.view.mode == ViewMode::error; }
bool toggles(const Snapshot& s) { return s.view.compare == Compare::toggle; }
bool shows_map(const Snapshot& s) { return has_colormap(s.view.mode); }

struct Need {
    std::string_view command;
    bool (*met)(const Snapshot&);
};
constexpr Need kNeeds[] = {
    {"close", is_open},
    {"export", has_scene},
    {"bundle.save", has_scene},
    {"note.here", has_frame},
    {"note.gaussian", has_scene},
    {"note.span", has_scene},
    {"screenshot", has_frame},
    {"scene.compare", has_scene},
    {"scene.end-compare", has_other},
    {"scene.swap", has_other},
    {"train.start", stands},
    {"train.pause", runs},
    {"train.toggle", has_run},
    {"train.step", can_run},
    {"train.run-to", can_run},
    {"train.evaluate", has_run},
    {"train.checkpoint", has_run},
    {"train.stop", can_run},
    {"timelapse.every", can_run},
    {"timelapse.export", has_lapse},
    {"film.key", has_scene},
    {"film.open", has_scene},
    {"film.play", has_way},
    {"film.save", has_path},
    {"film.render", has_path},
    {"drive.next", has_moments},
    {"drive.previous", has_moments},
    {"drive.play", has_moments},
    {"drive.follow", has_drive},
    {"drive.score", has_drive},
    {"view.sweep", has_drive},
    {"undo", was_changed},
    {"redo", was_undone},
    {"select.all", can_edit},
    {"select.none", has_selected},
    {"select.invert", can_edit},
    {"select.grow", has_selected},
    {"select.shrink", has_selected},
    {"select.connected", has_selected},
    {"select.solo", has_selected},
    {"edit.hide", has_selected},
    {"edit.show-all", has_hidden},
    {"edit.lock", has_selected},
    {"edit.unlock", has_selected},
    {"edit.unlock-all", has_locked},
    {"edit.delete", has_selected},
    {"edit.duplicate", has_selected},
    {"edit.move", has_selected},
    {"edit.rotate", has_selected},
    {"edit.scale", has_selected},
    {"edit.recolor", has_selected},
    {"edit.crop", can_crop},
    {"export.selection", has_selected},
    {"train.revert", has_snapshots},
    {"train.branch", has_snapshots},
    {"doctor.examine", has_scene},
    {"doctor.fix", can_fix},
    {"doctor.undo", was_fixed},
    {"cancel", works},
    {"inspect.pixel", has_inspected},
    {"inspect.tiles", has_frame},
    {"inspect.clear", has_inspected},
    {"cost.measure", has_scene},
    {"cost.without", has_scene},
    {"cost.clear", has_costs},
    {"predict.measure", has_scene},
    {"color.by", has_scene},
    {"color.range", has_values},
    {"color.filter", has_values},
    {"color.map", has_values},
    {"verify.frame", has_frame},
    {"verify.clear", has_verified},
    {"problems.clear", has_problems},
    {"appearance.copy", has_looks},
    {"view.poses.arrows", has_corrections},
    {"problems.find", has_cameras},
    {"problems.point", has_cameras},
    {"problems.cancel", works},
    {"lab.stop", runs_suite},
    {"view.log", shows_map},
    {"view.level-colors", has_levels},
    {"view.signed", shows_error},
    {"view.show-photo", toggles},
    {"view.frusta", has_cameras},
    {"view.next", has_cameras},
    {"view.previous", has_cameras},
    {"view.free", is_snapped},
    {"view.frame-all", has_scene},
    {"view.clip.fit", has_scene},
    {"view.save", has_scene},
    {"view.unmark", is_marked},
};

void draw_recent_list(const Snapshot& snapshot, Commands& commands) {
    if (!ImGui::BeginMenu("Open recent", !snapshot.recent.empty())) return;
    const auto names = short_names(snapshot.recent);
    for (std::size_t i = 0; i < names.size(); ++i) {
        ImGui::PushID(static_cast<int>(i));
        if (ImGui::MenuItem(names[i].c_str())) commands.push("open", {snapshot.recent[i]});
        tooltip(snapshot.recent[i]);
        ImGui::PopID();
    }
    ImGui::EndMenu();
}

void draw_saved_views(const Snapshot& snapshot, Commands& commands) {
    if (!ImGui::BeginMenu("Saved views", !snapshot.saved_views.empty())) return;
    for (const std::string& name : snapshot.saved_views)
        if (ImGui::MenuItem(name.c_str())) commands.push("view.go", {name});
    ImGui::EndMenu();
}

void draw_menu_row(const MenuRow& row, const Snapshot& snapshot, Commands& commands,
                   Palette& palette) {
    const CommandInfo& info = *row.info;
    const bool on = switched_on(info.name, snapshot).value_or(false);
    // In the list Show, "Show: depth" is depth.
    const std::size_t colon = row.place.list.empty() ? std::string::npos : info.title.find(": ");
    std::string title = info.title.substr(colon == std::string::npos ? 0 : colon + 2);
    const HistoryState::Row* edit = nullptr;  // that it acts on: "Undo delete 12 Gaussians"
    if (snapshot.history && info.name == "undo") edit = snapshot.history->to_undo();
    if (snapshot.history && info.name == "redo") edit = snapshot.history->to_redo();
    title = edit_title(title, edit);
    const std::string shown = edit ? fitted(title, 24 * em()) : title;
    if (ImGui::MenuItem(shown.c_str(), info.key.empty() ? nullptr : info.key.c_str(), on,
                        applies(info.name, snapshot))) {
        if (info.needs_arguments())
            palette.show(info.name);
        else
            commands.push(info.name);
    }
    tooltip(edit ? title + "\n" + info.help : info.help);
    if (info.name == "open") draw_recent_list(snapshot, commands);
    if (info.name == "view.save") draw_saved_views(snapshot, commands);
}

void draw_menu_rows(std::span<const MenuRow> items, const Snapshot& snapshot, Commands& commands,
                    Palette& palette) {
    std::vector<std::string_view> lists;  // already drawn at their first item
    for (const MenuRow& item : items) {
        if (&item != &items.front() && item.place.group != (&item - 1)->place.group)
            ImGui::Separator();
        const std::string_view list = item.place.list;
        if (list.empty()) {
            draw_menu_row(item, snapshot, commands, palette);
        } else if (std::ranges::find(lists, list) == lists.end()) {
            lists.push_back(list);
            if (!ImGui::BeginMenu(std::string(list).c_str())) continue;
            for (const MenuRow& other : items)
                if (other.place.list == list) draw_menu_row(other, snapshot, commands, palette);
            ImGui::EndMenu();
        }
    }
}

void draw_panel_list(Commands& commands, std::span<const PanelItem> panels) {
    if (!ImGui::BeginMenu("Panels")) return;
    for (const PanelItem& item : panels)
        if (ImGui::MenuItem(item.name, nullptr, item.shown))
            commands.push("panel", item.shown ? std::vector<std::string>{item.name, "hide"}
                                              : std::vector<std::string>{item.name});
    ImGui::Separator();
    if (ImGui::MenuItem("Reset the layout")) commands.push("layout.reset");
    ImGui::EndMenu();
}

}  // namespace

MenuPlace menu_place(std::string_view text) {
    MenuPlace place;
    if (const std::size_t blank = text.rfind(' '); blank != std::string_view::npos) {
        for (const char c : text.substr(blank + 1)) place.group = 10 * place.group + (c - '0');
        text = text.substr(0, blank);
    }
    const std::size_t slash = text.find('/');
    place.menu = text.substr(0, slash);
    if (slash != std::string_view::npos) place.list = text.substr(slash + 1);
    return place;
}

std::optional<bool> switched_on(std::string_view command, const Snapshot& snapshot) {
    const ViewSettings& view = snapshot.view;
    if (auto on = chosen(command, "view.mode.", kViewModeNames, view.mode)) return on;
    if (auto on = chosen(command, "view.style.", kDrawStyleNames, view.style)) return on;
    if (auto on = chosen(command, "view.navigation.", kNavigationNames, view.navigation)) return on;
    if (command == "window.full-screen") return snapshot.full_screen;
    if (command == "view.orthographic") return snapshot.camera.orthographic();
    if (command == "view.only") return snapshot.picture_only;
    if (command == "color.filter") return view.color_by.filter;
    if (command == "view.poses.arrows")
        return has_corrections(snapshot) && snapshot.looks->pose_arrows;
    if (command == "drive.play") return has_drive(snapshot) && snapshot.drive->playing;
    if (command == "drive.follow") return has_drive(snapshot) && snapshot.drive->following;
    if (command == "view.sweep") return has_drive(snapshot) && snapshot.drive->in_picture;
    if (command == "film.play") return snapshot.film && snapshot.film->playing;
    if (command == "film.show") return snapshot.film && snapshot.film->shown;
    for (const Switch& one : kSwitches)
        if (one.command == command) return view.*one.field;
    return std::nullopt;
}

bool applies(std::string_view command, const Snapshot& snapshot) {
    for (const Need& need : kNeeds)
        if (need.command == command) return need.met(snapshot);
    return true;
}

void draw_menus(const Snapshot& snapshot, Commands& commands, Palette& palette,
                std::span<const PanelItem> panels) {
    std::vector<std::string_view> menus;
    std::vector<MenuRow> all;
    for (const CommandInfo& info : commands.table()) {
        if (info.menu.empty()) continue;
        all.push_back({menu_place(info.menu), &info});
        if (std::ranges::find(menus, all.back().place.menu) == menus.end())
            menus.push_back(all.back().place.menu);
    }
    std::ranges::stable_sort(
        all, [](const MenuRow& a, const MenuRow& b) { return a.place.group < b.place.group; });
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0.5F * em(), 0.4F * em()});
    for (const std::string_view menu : menus) {
        if (menu == "Help") draw_panel_list(commands, panels);
        if (!ImGui::BeginMenu(std::string(menu).c_str())) continue;
        std::vector<MenuRow> items;
        std::copy_if(all.begin(), all.end(), std::back_inserter(items),
                     [&](const MenuRow& item) { return item.place.menu == menu; });
        draw_menu_rows(items, snapshot, commands, palette);
        ImGui::EndMenu();
    }
    ImGui::PopStyleVar();
}

}  // namespace gs
