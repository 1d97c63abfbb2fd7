#include "panels/quit_question.h"

#include <imgui.h>

#include "panels/state/history_state.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/theme.h"
#include "panels/widgets/widgets.h"

namespace gs {

void draw_quit_question(const Snapshot& snapshot, Commands& commands) {
    constexpr const char* kTitle = "Not saved##quit";
    if (snapshot.asks_to_quit && !ImGui::IsPopupOpen(kTitle)) ImGui::OpenPopup(kTitle);
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    ImGui::SetNextWindowPos({display.x / 2, display.y / 2}, ImGuiCond_Always, {0.5F, 0.5F});
    if (!ImGui::BeginPopupModal(kTitle, nullptr,
                                ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoMove))
        return;
    if (!snapshot.asks_to_quit) ImGui::CloseCurrentPopup();
    text("The splats have unsaved changes:");
    if (snapshot.doctor)
        for (const std::string& change : snapshot.doctor->changes) dim_text("  " + change);
    if (const auto* newest =
            snapshot.history ? snapshot.history->to_undo(EditOf::gaussians) : nullptr)
        dim_text("  newest edit: " + newest->label);
    ImGui::Dummy({0, 0.4F * em()});
    if (ImGui::Button("Export...")) {
        commands.push("quit", {"stay"});
        commands.push("browse", {"export"});
    }
    ImGui::SameLine();
    if (ImGui::Button("Quit without saving")) commands.push("quit", {"now"});
    ImGui::SameLine();
    if (ImGui::Button("Stay") || escape_leaves()) commands.push("quit", {"stay"});
    ImGui::EndPopup();
}

}  // namespace gs
