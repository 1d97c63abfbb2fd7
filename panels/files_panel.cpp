#include "panels/files_panel.h"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "panels/format.h"
#include "panels/widgets.h"

namespace gs {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostEntries = 5000;

bool looks_like_capture(const fs::path& path) {
    std::error_code error;
    for (const char* sign : {"sparse", "transforms.json", "transforms_train.json", "colmap"})
        if (fs::exists(path / sign, error)) return true;
    return false;
}

// The ends that renderer/io reads (splat_registry.cpp), and checkpoints.
bool looks_like_splats(const fs::path& path) {
    std::string name = path.filename().string();
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const char* end : {".ply", ".splat", ".spz", ".ksplat", ".sog", ".glb", ".gltf", ".gsc"})
        if (name.ends_with(end)) return true;
    return name == "meta.json" || name == "lod-meta.json";
}

FilesPanel::Entry entry_of(const fs::directory_entry& item) {
    std::error_code error;
    FilesPanel::Entry entry;
    entry.name = item.path().filename().string();
    if (item.is_directory(error)) {
        entry.kind = looks_like_capture(item.path()) ? FilesPanel::Kind::capture : FilesPanel::Kind::folder;
        return entry;
    }
    const std::string extension = item.path().extension().string();
    if (looks_like_splats(item.path()))
        entry.kind = FilesPanel::Kind::splats;
    else if (entry.name.starts_with("transforms") && extension == ".json")
        entry.kind = FilesPanel::Kind::capture;
    if (item.is_regular_file(error)) entry.bytes = item.file_size(error);
    return entry;
}

const char* kind_name(FilesPanel::Kind kind) {
    switch (kind) {
        case FilesPanel::Kind::folder:
            return "folder";
        case FilesPanel::Kind::capture:
            return "capture";
        case FilesPanel::Kind::splats:
            return "splats";
        case FilesPanel::Kind::other:
            break;
    }
    return "";
}

/// On the entry just drawn: a right click asks what to do with it.
void entry_menu(Commands& commands, const std::string& path, bool can_compare) {
    if (!ImGui::BeginPopupContextItem("##entry menu")) return;
    if (ImGui::MenuItem("Open")) commands.push("open", {path});
    if (ImGui::MenuItem("Compare with the open scene", nullptr, false, can_compare))
        commands.push("scene.compare", {path});
    ImGui::EndPopup();
}

}  // namespace

void FilesPanel::enter(const std::string& path) {
    std::error_code error;
    const fs::path wanted = fs::weakly_canonical(fs::absolute(path, error), error);
    fs::directory_iterator items(wanted, fs::directory_options::skip_permission_denied, error);
    if (error) {
        problem = path + ": " + error.message();
        return;
    }
    problem.clear();
    folder = typed = wanted.string();
    entries.clear();
    left_out = 0;
    for (; items != fs::directory_iterator(); items.increment(error)) {
        if (error) break;
        if (items->path().filename().string().starts_with('.')) continue;
        if (entries.size() < kMostEntries)
            entries.push_back(entry_of(*items));
        else
            ++left_out;
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        const bool af = a.kind == Kind::folder || (a.kind == Kind::capture && a.bytes == 0),
                   bf = b.kind == Kind::folder || (b.kind == Kind::capture && b.bytes == 0);
        return af != bf ? af : a.name < b.name;
    });
}

void FilesPanel::draw_recent(const Snapshot& snapshot, Commands& commands) {
    if (snapshot.recent.empty() || !section("Recent")) return;
    for (std::size_t i = 0; i < snapshot.recent.size(); ++i) {
        const fs::path path(snapshot.recent[i]);
        ImGui::PushID(static_cast<int>(i));
        if (ImGui::Selectable("##recent")) commands.push("open", {snapshot.recent[i]});
        tooltip(snapshot.recent[i]);
        entry_menu(commands, snapshot.recent[i], snapshot.scene != nullptr);
        ImGui::SameLine(0.4F * em());
        const std::string name =
            path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
        text(fitted(name, ImGui::GetContentRegionAvail().x));
        ImGui::PopID();
    }
}

void FilesPanel::draw_entries(const Snapshot& snapshot, Commands& commands) {
    if (!ImGui::BeginTable("##entries", 2,
                           ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp))
        return;
    ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("what", ImGuiTableColumnFlags_WidthFixed, 4.6F * em());
    std::string go_to;
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(entries.size()));
    while (clipper.Step())
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            const Entry& entry = entries[static_cast<std::size_t>(i)];
            const bool is_folder = entry.kind == Kind::folder || (entry.kind == Kind::capture && entry.bytes == 0);
            ImGui::TableNextRow();
            ImGui::TableNextColumn();
            ImGui::PushID(i);
            const std::string full = (fs::path(folder) / entry.name).string();
            const bool clicked = ImGui::Selectable("##entry", false, ImGuiSelectableFlags_SpanAllColumns);
            if (entry.kind == Kind::capture) tooltip("Opens as a capture");
            if (entry.kind != Kind::other) entry_menu(commands, full, snapshot.scene != nullptr);
            if (clicked && entry.kind == Kind::folder)
                go_to = full;
            else if (clicked && entry.kind != Kind::other)
                commands.push("open", {full});
            ImGui::SameLine(0.3F * em());
            const ImU32 color = entry.kind == Kind::other    ? kFaintColor
                                : entry.kind == Kind::folder ? kTextColor
                                                             : kAccentColor;
            colored_text(color, fitted(entry.name + (is_folder ? "/" : ""), ImGui::GetContentRegionAvail().x));
            ImGui::TableNextColumn();
            cell_right(is_folder ? kind_name(entry.kind) : format_bytes(static_cast<double>(entry.bytes)), kDimColor);
            ImGui::PopID();
        }
    ImGui::EndTable();
    if (!go_to.empty()) enter(go_to);
}

void FilesPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (folder.empty() && problem.empty()) enter(".");
    draw_recent(snapshot, commands);
    if (ImGui::Button("Up")) enter(fs::path(folder).parent_path().string());
    tooltip("The folder above");
    ImGui::SameLine();
    if (ImGui::Button("Refresh")) enter(folder);
    ImGui::SameLine();
    if (ImGui::Button("Open this")) commands.push("open", {folder});
    tooltip("Opens this folder as a capture");
    ImGui::SetNextItemWidth(-1);
    if (ImGui::InputText("##folder", &typed, ImGuiInputTextFlags_EnterReturnsTrue)) {
        std::error_code error;
        if (fs::is_directory(typed, error))
            enter(typed);
        else
            commands.push("open", {typed});
    }
    if (!problem.empty()) {
        ImGui::PushTextWrapPos(0);
        colored_text(kWarningColor, problem);
        ImGui::PopTextWrapPos();
    }
    if (left_out > 0) dim_text(format_count(static_cast<double>(left_out)) + " more are not listed");
    draw_entries(snapshot, commands);
}

}  // namespace gs
