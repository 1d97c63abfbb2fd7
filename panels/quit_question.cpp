#include "panels/quit_question.h"

#include <imgui.h>

#include "panels/activity.h"
#include "panels/state/history_state.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/theme.h"
#include "panels/widgets/widgets.h"

namespace gs {

namespace {

constexpr int kExportBegins = 10;  // frames until an export begins

}  // namespace

void QuitQuestion::draw(const Snapshot& snapshot, Commands& commands, bool dialog) {
    constexpr const char* kTitle = "Not saved##quit";
    if (!snapshot.asks_to_quit) exporting_ = 0;
    if (exporting_ > 0 && snapshot.selection && !snapshot.selection->unsaved) {
        exporting_ = 0;
        return commands.push("quit", {"now"});
    }
    if (exporting_ > 0)
        exporting_ = dialog || find_activity(snapshot, "export") ? kExportBegins : exporting_ - 1;
    const bool asks = snapshot.asks_to_quit && exporting_ == 0;
    if (asks && !ImGui::IsPopupOpen(kTitle)) ImGui::OpenPopup(kTitle);
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    ImGui::SetNextWindowPos({display.x / 2, display.y / 2}, ImGuiCond_Always, {0.5F, 0.5F});
    if (!ImGui::BeginPopupModal(kTitle, nullptr,
                                ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoMove))
        return;
    if (!asks) ImGui::CloseCurrentPopup();
    text("You have unsaved edits:");
    if (snapshot.doctor)
        for (const std::string& change : snapshot.doctor->changes) dim_text("  " + change);
    if (const auto* newest =
            snapshot.history ? snapshot.history->to_undo(EditOf::gaussians) : nullptr)
        dim_text("  newest edit: " + newest->label);
    ImGui::Dummy({0, 0.4F * em()});
    if (ImGui::Button("Export…")) {
        exporting_ = kExportBegins;
        ImGui::CloseCurrentPopup();
        commands.push("browse", {"export"});
    }
    ImGui::SameLine();
    if (ImGui::Button("Discard")) commands.push("quit", {"now"});
    ImGui::SameLine();
    if (ImGui::Button("Cancel") || escape_leaves()) commands.push("quit", {"stay"});
    ImGui::EndPopup();
}

}  // namespace gs
