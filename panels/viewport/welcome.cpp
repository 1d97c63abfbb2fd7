#include "panels/viewport/welcome.h"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>

#include "panels/widgets/recent_row.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

void open_row(std::string& path, Commands& commands) {
    wrapped_text(
        theme().dim,
        "A capture folder (COLMAP or transforms.json), a splat file (.ply, .spz, .sog, ...) or a "
        "checkpoint:");
    ImGui::SetNextItemWidth(std::max(ImGui::GetContentRegionAvail().x - 4.5F * em(), 4 * em()));
    const bool entered = ImGui::InputTextWithHint("##path", "/path/to/capture", &path,
                                                  ImGuiInputTextFlags_EnterReturnsTrue);
    ImGui::SameLine();
    if ((ImGui::Button("Open", {4 * em(), 0}) || entered) && !path.empty())
        commands.push("open", {path});
    if (ImGui::Button("Browse…")) commands.push("browse", {"open"});
    ImGui::SameLine();
    dim_text("or drop it anywhere on this window.");
}

void recent_rows(const Snapshot& snapshot, Commands& commands) {
    if (snapshot.recent.empty()) return;
    ImGui::Dummy({0, 0.6F * em()});
    text("Recent");
    const auto names = short_names(snapshot.recent);
    for (std::size_t i = 0; i < std::min<std::size_t>(snapshot.recent.size(), 6); ++i) {
        const std::string& path = snapshot.recent[i];
        ImGui::PushID(static_cast<int>(i));
        if (recent_row(snapshot, path, names[i], true)) commands.push("open", {path});
        ImGui::PopID();
    }
}

void key_row(const char* key, const char* what) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    colored_text(theme().accent, key);
    ImGui::TableNextColumn();
    dim_text(what);
}

}  // namespace

void WelcomePanel::draw(const Snapshot& snapshot, Commands& commands) {
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const float width = std::min(34 * em(), std::max(room.x - 2 * em(), 4 * em()));
    const ImVec2 begin = ImGui::GetCursorPos();
    ImGui::SetCursorPos({begin.x + std::max(0.0F, (room.x - width) / 2),
                         begin.y + std::max(0.0F, std::min(room.y / 8, (room.y - 30 * em()) / 2))});
    ImGui::BeginChild("##welcome", {width, 0});
    ImGui::PushFont(title_font());
    text("gausscope");
    ImGui::PopFont();
    dim_text("Train, inspect and profile 3D Gaussian Splatting.");
    ImGui::Dummy({0, 0.6F * em()});
    open_row(path, commands);
    ImGui::Dummy({0, 0.6F * em()});
    text("No capture at hand?");
    if (ImGui::Button("Make and open the sample capture")) commands.push("open.sample");
    dim_text("Posed images of a built-in scene, rendered here without a download.");
    recent_rows(snapshot, commands);
    ImGui::Dummy({0, 0.6F * em()});
    ImGui::Separator();
    if (ImGui::BeginTable("##keys", 2)) {
        ImGui::TableSetupColumn("key", ImGuiTableColumnFlags_WidthFixed, 9 * em());
        ImGui::TableSetupColumn("what", ImGuiTableColumnFlags_WidthStretch);
        key_row("Ctrl+P", "Find any command by name");
        key_row("F1", "List all commands and keys");
        key_row("Left drag, wheel", "Turn and zoom");
        key_row(snapshot.flying_keys.c_str(), "Fly");
        ImGui::EndTable();
    }
    ImGui::EndChild();
}

}  // namespace gs
