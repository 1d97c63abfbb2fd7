#include "panels/scene/notes_panel.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include "panels/widgets/widgets.h"

namespace gs {
namespace {

/// The pixel that a note of the viewport is pinned to.
std::pair<int, int> pinned_to(const Snapshot& snapshot,
                              const std::optional<std::pair<int, int>>& pixel) {
    const Camera& camera = snapshot.frame->camera;
    const bool inside = pixel && pixel->first < camera.width && pixel->second < camera.height;
    return inside ? *pixel : std::pair(camera.width / 2, camera.height / 2);
}

}  // namespace

void NotesPanel::draw_new(const Snapshot& snapshot, Commands& commands) {
    if (wants_focus_) ImGui::SetKeyboardFocusHere();
    wants_focus_ = false;
    ImGui::SetNextItemWidth(-1);
    const bool entered = ImGui::InputTextWithHint("##text", "A new note", &typed_,
                                                  ImGuiInputTextFlags_EnterReturnsTrue);
    const bool any = !typed_.empty();
    const auto give = [&](const char* name, std::vector<std::string> arguments) {
        arguments.push_back(std::exchange(typed_, {}));
        commands.push(name, std::move(arguments));
        pixel_.reset();
    };
    ImGui::BeginDisabled(!any || !snapshot.frame);
    const std::string where =
        pixel_ ? fmt::format("At pixel {}, {}", pixel_->first, pixel_->second) : "In the middle";
    const bool pressed = ImGui::Button(where.c_str());
    tooltip("Pin to the point at this pixel. Press N over the picture to choose another.");
    ImGui::EndDisabled();
    if ((pressed || entered) && any && snapshot.frame) {
        const auto [x, y] = pinned_to(snapshot, pixel_);
        give("note.add", {std::to_string(x), std::to_string(y)});
    }
    if (snapshot.marked) {
        ImGui::SameLine();
        ImGui::BeginDisabled(typed_.empty());
        if (ImGui::Button(fmt::format("On #{}", snapshot.marked->row).c_str()))
            give("note.gaussian", {std::to_string(snapshot.marked->row)});
        ImGui::EndDisabled();
    }
    ImGui::SameLine();
    ImGui::BeginDisabled(typed_.empty());
    if (ImGui::Button("On span")) give("note.span", {});
    tooltip("Pin to the span or time range selected in the timeline.");
    ImGui::EndDisabled();
}

void NotesPanel::draw_note(const Note& note, std::size_t number, Commands& commands) {
    const std::string shown = std::to_string(number);
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(static_cast<int>(number));
    colored_text(theme().accent, shown);
    ImGui::TableNextColumn();
    if (editing_ == number) {
        ImGui::SetNextItemWidth(-1);
        if (ImGui::InputText("##edit", &edited_, ImGuiInputTextFlags_EnterReturnsTrue)) {
            commands.push("note.edit", {shown, edited_});
            editing_ = 0;
        } else if (ImGui::IsItemDeactivated()) {
            editing_ = 0;
        }
    } else {
        const std::string line = fitted(note.text, ImGui::GetContentRegionAvail().x);
        if (ImGui::Selectable((line + "##go").c_str())) commands.push("note.go", {shown});
        tooltip(note.text);
    }
    if (ImGui::SmallButton("Edit")) editing_ = number, edited_ = note.text;
    ImGui::SameLine();
    if (ImGui::SmallButton("x")) commands.push("note.remove", {shown});
    tooltip("Delete this note");
    ImGui::SameLine();
    dim_text(fitted(place_of(note), ImGui::GetContentRegionAvail().x));
    ImGui::PopID();
}

void NotesPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.scene) {
        empty_note("Open a scene or a trace to add notes");
        return;
    }
    draw_new(snapshot, commands);
    if (!snapshot.notes || snapshot.notes->notes.empty()) {
        dim_text("No notes yet");
        return;
    }
    const std::vector<Note>& notes = snapshot.notes->notes;
    if (editing_ > notes.size()) editing_ = 0;
    const ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg;
    if (!ImGui::BeginTable("##notes", 2, flags)) return;
    ImGui::TableSetupColumn("n", ImGuiTableColumnFlags_WidthFixed, 1.8F * em());
    ImGui::TableSetupColumn("text", ImGuiTableColumnFlags_WidthStretch);
    for (std::size_t i = 0; i < notes.size(); ++i) draw_note(notes[i], i + 1, commands);
    ImGui::EndTable();
}

}  // namespace gs
