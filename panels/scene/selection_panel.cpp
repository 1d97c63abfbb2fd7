#include "panels/scene/selection_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <array>

#include "base/format.h"
#include "panels/state/history_state.h"
#include "panels/widgets/activity.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr std::array kSelectionValues{"opacity", "size", "anisotropy", "energy",
                                      "depth",   "x",    "y",          "z"};
constexpr std::array kAxisWords{"x", "y", "z"};

std::string count_of(std::uint64_t n) { return format_count(static_cast<double>(n)); }
std::string number_word(float value) { return argument(static_cast<double>(value)); }

/// A button beside the last one if it fits; gives a command without arguments.
void action(Commands& commands, const char* label, const char* command, const std::string& hint,
            bool enabled, bool first = false) {
    if (!first) beside_if_fits(label);
    ImGui::BeginDisabled(!enabled);
    if (ImGui::Button(label)) commands.push(command);
    ImGui::EndDisabled();
    tooltip(with_key(commands, command, hint));
}

}  // namespace

/// Every row is always there, so that what is below stays where it is.
void SelectionPanel::draw_counts(const Snapshot& snapshot, Commands& commands) const {
    const SelectionState& s = *snapshot.selection;
    text(fmt::format("{} of {} selected", count_of(s.selected), count_of(snapshot.gaussians())));
    const Vec3f size = s.hi - s.lo, centre = s.centre();
    const auto three = [&](Vec3f v) {
        return s.bounded ? fmt::format("{}  {}  {}", format_number(static_cast<double>(v.x), 4),
                                       format_number(static_cast<double>(v.y), 4),
                                       format_number(static_cast<double>(v.z), 4))
                         : "-";
    };
    dim_text("centre " + three(centre));
    dim_text("size " + three(size));
    tooltip("Size of the box around the selected centres, world units");
    const auto flagged = [&](std::uint64_t count, const char* what, const char* label,
                             const char* command, const char* hint) {
        dim_text(count_of(count) + what);
        ImGui::SameLine();
        ImGui::BeginDisabled(count == 0);
        if (ImGui::SmallButton(label)) commands.push(command);
        ImGui::EndDisabled();
        tooltip(hint);
    };
    flagged(s.hidden, " hidden", "Show all", "edit.show-all", "Show the hidden Gaussians again");
    flagged(s.locked, " locked", "Unlock all", "edit.unlock-all",
            "Allow edits of all Gaussians again");
    if (const Activity* search = find_activity(snapshot, "select")) {
        dim_text(search->what);
        ImGui::SameLine();
        if (ImGui::SmallButton("Cancel")) commands.push("cancel", {"select"});
    } else if (s.unsaved || snapshot.training.unsaved_edits) {
        colored_text(theme().warning, s.unsaved ? "Unsaved edits. Export to keep them."
                                                : "Unsaved edits. Save the run to keep them.");
    } else {
        dim_text("No unsaved edits");
    }
}

void SelectionPanel::draw_select(const Snapshot& snapshot, Commands& commands) {
    if (!section("Select")) return;
    const bool any = snapshot.selection->selected > 0;
    choice_command(
        commands, "Tool", "tool", kToolNames, static_cast<std::size_t>(snapshot.tools.tool), 7,
        "The left mouse button's action in the picture: Shift adds, Ctrl removes; Escape "
        "steers again");
    toggle_command(commands, "Visible only", "select.only-seen", snapshot.tools.only_seen,
                   "Ignore Gaussians behind visible surfaces");
    action(commands, "All", "select.all", "Select every Gaussian that is not hidden", true, true);
    action(commands, "None", "select.none", "Clear the selection", any);
    action(commands, "Invert", "select.invert", "Invert the selection", true);
    for (const auto& [label, command, hint] :
         {std::array{"Grow", "select.grow", "Add the neighbours within reach (Ctrl+Up)"},
          std::array{"Shrink", "select.shrink",
                     "Remove Gaussians with an unselected neighbour within reach (Ctrl+Down)"},
          std::array{"Connected", "select.connected",
                     "Grow until no more neighbours are within reach"}}) {
        if (command[7] != 'g') beside_if_fits(label);
        ImGui::BeginDisabled(!any);
        if (ImGui::Button(label)) commands.push(command, {number_word(reach_)});
        ImGui::EndDisabled();
        tooltip(hint);
    }
    ImGui::SetNextItemWidth(7 * em());
    drag_bar("Reach", reach_, 0.5F, 20.0F, "%.1f x size", ImGuiSliderFlags_Logarithmic);
    tooltip("Largest distance to a neighbour, as a multiple of a Gaussian's size");
    ImGui::SetNextItemWidth(6 * em());
    ImGui::Combo("##value", &value_, kSelectionValues.data(),
                 static_cast<int>(kSelectionValues.size()));
    ImGui::SameLine();
    ImGui::SetNextItemWidth(-4.5F * em());
    float ends[2] = {lo_, hi_};
    if (ImGui::InputFloat2("##ends", ends, "%.4g")) lo_ = ends[0], hi_ = ends[1];
    tooltip("From and to, in the value's own unit");
    ImGui::SameLine();
    ImGui::BeginDisabled(!(lo_ <= hi_));
    if (ImGui::Button("Select##range"))
        commands.push("select.range", {kSelectionValues[static_cast<std::size_t>(value_)],
                                       number_word(lo_), number_word(hi_)});
    ImGui::EndDisabled();
    tooltip("Select Gaussians with a value in this range (select.range)");
}

void SelectionPanel::draw_edit(const Snapshot& snapshot, Commands& commands) {
    if (!section("Edit")) return;
    const bool any = snapshot.selection->selected > 0;
    action(commands, "Solo", "select.solo", "Show only the selection", any, true);
    action(commands, "Hide", "edit.hide", "Hide the selection", any);
    action(commands, "Lock", "edit.lock", "Protect the selection from edits", any);
    action(commands, "Unlock", "edit.unlock", "Allow edits of the selection again", any);
    action(commands, "Delete", "edit.delete", "Delete the selection", any);
    action(commands, "Duplicate", "edit.duplicate", "Copy each in place and select the copies",
           any);
    action(commands, "Crop", "edit.crop", "Delete Gaussians outside the clip box",
           snapshot.view.clip.has_value());
    ImGui::BeginDisabled(!any);
    draw_change(commands);
    ImGui::EndDisabled();
}

/// Numbers that move, turn, scale and recolour.
void SelectionPanel::draw_change(Commands& commands) {
    const float field = -5.5F * em();
    const auto row = [&](const char* label, const char* hint) {
        ImGui::SameLine();
        const bool pressed = ImGui::Button(label, {-1, 0});
        tooltip(hint);
        return pressed;
    };
    ImGui::SetNextItemWidth(field);
    ImGui::InputFloat3("##shift", shift_, "%.4g");
    if (row("Move", "Move along the world's axes, world units"))
        commands.push("edit.move",
                      {number_word(shift_[0]), number_word(shift_[1]), number_word(shift_[2])});
    ImGui::SetNextItemWidth(3.5F * em());
    ImGui::Combo("##axis", &axis_, kAxisWords.data(), static_cast<int>(kAxisWords.size()));
    ImGui::SameLine();
    ImGui::SetNextItemWidth(field);
    ImGui::InputFloat("##degrees", &degrees_, 0, 0, "%.4g deg");
    if (row("Turn", "Rotate about the centre of the selection"))
        commands.push("edit.rotate",
                      {kAxisWords[static_cast<std::size_t>(axis_)], number_word(degrees_)});
    ImGui::SetNextItemWidth(field);
    ImGui::InputFloat("##factor", &factor_, 0, 0, "%.4g x");
    if (row("Scale", "Scale about the centre of the selection"))
        commands.push("edit.scale", {number_word(factor_)});
    ImGui::SetNextItemWidth(6 * em());
    int way = set_color_ ? 1 : 0;
    if (ImGui::Combo("##way", &way, "multiply\0set\0")) set_color_ = way == 1;
    ImGui::SameLine();
    ImGui::SetNextItemWidth(field);
    ImGui::ColorEdit3("##color", color_, ImGuiColorEditFlags_Float | ImGuiColorEditFlags_NoInputs);
    if (row("Recolour", "Multiply each colour by this one, or set it for every direction"))
        commands.push("edit.recolor", {set_color_ ? "set" : "multiply", number_word(color_[0]),
                                       number_word(color_[1]), number_word(color_[2])});
}

void SelectionPanel::draw_history(const Snapshot& snapshot, Commands& commands) const {
    if (!snapshot.history || !section("History")) return;
    const HistoryState& s = *snapshot.history;
    const auto *undo = s.to_undo(), *redo = s.to_redo();
    action(commands, "Undo", "undo", edit_title("Undo", undo), undo, true);
    action(commands, "Redo", "redo", edit_title("Redo", redo), redo);
    if (s.dropped > 0)
        dim_text(fmt::format("{} older steps were discarded: the history holds {}",
                             count_of(s.dropped), format_bytes(static_cast<double>(s.most))));
    const auto step = [&](std::size_t done, const std::string& name, std::uint64_t bytes) {
        ImGui::PushID(static_cast<int>(done));
        if (done > s.done) ImGui::PushStyleColor(ImGuiCol_Text, theme().faint);
        if (ImGui::Selectable(fitted(name, ImGui::GetContentRegionAvail().x).c_str(),
                              done == s.done))
            commands.push("edit.go-to", {std::to_string(done)});
        if (done > s.done) ImGui::PopStyleColor();
        const std::string cost =
            bytes > 0 ? ", " + format_bytes(static_cast<double>(bytes)) : std::string();
        tooltip(name + cost + (done > s.done ? " (undone: click to redo)" : ""));
        ImGui::PopID();
    };
    step(0, s.dropped > 0 ? "oldest kept state" : "original", 0);
    for (std::size_t i = 0; i < s.rows.size(); ++i) step(i + 1, s.rows[i].label, s.rows[i].bytes);
    if (s.bytes > 0) dim_text(format_bytes(static_cast<double>(s.bytes)) + " of memory");
}

void SelectionPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.scene || !snapshot.selection) {
        empty_note("Open a scene to see the selection here");
        return;
    }
    if (!snapshot.selection->why_not.empty()) {
        empty_note(snapshot.selection->why_not);
        draw_history(snapshot, commands);
        return;
    }
    draw_counts(snapshot, commands);
    draw_select(snapshot, commands);
    draw_edit(snapshot, commands);
    draw_history(snapshot, commands);
}

}  // namespace gs
