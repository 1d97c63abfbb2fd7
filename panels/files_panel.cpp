#include "panels/files_panel.h"

#include <imgui.h>

#include <algorithm>

#include "panels/widgets/recent_row.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

void menu_items(Commands& commands, const std::string& path, bool can_compare) {
    if (ImGui::MenuItem("Open")) commands.push("open", {path});
    if (ImGui::MenuItem("Compare with the open scene", nullptr, false, can_compare))
        commands.push("scene.compare", {path});
}

}  // namespace

void FilesPanel::draw_recent(const Snapshot& snapshot, Commands& commands) {
    if (snapshot.recent.empty() || !section("Recent")) return;
    // The browser below stays in sight; File > Open recent has all of them.
    constexpr std::size_t kMost = 5;
    const auto names = short_names(snapshot.recent);
    for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
        ImGui::PushID(static_cast<int>(i));
        if (recent_row(snapshot, snapshot.recent[i], names[i], false))
            commands.push("open", {snapshot.recent[i]});
        if (ImGui::BeginPopupContextItem("##entry menu")) {
            menu_items(commands, snapshot.recent[i], snapshot.scene != nullptr);
            ImGui::EndPopup();
        }
        ImGui::PopID();
    }
}

void FilesPanel::draw(const Snapshot& snapshot, Commands& commands) {
    draw_recent(snapshot, commands);
    const auto menu = [&](const std::string& path, const FileBrowser::Entry& entry) {
        if (entry.kind != FileKind::other)
            menu_items(commands, path, snapshot.scene && entry.kind != FileKind::trace);
    };
    if (const auto chosen = browser.draw(snapshot.file_types, 0, menu))
        commands.push("open", {*chosen});
}

}  // namespace gs
