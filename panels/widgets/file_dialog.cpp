#include "panels/widgets/file_dialog.h"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/format.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

namespace fs = std::filesystem;

struct Served {
    std::string_view command;
    const char* title;
    bool writes;
};
constexpr std::array kServed{
    Served{"open", "Open a capture, splats, a checkpoint or a trace", false},
    Served{"scene.compare", "Compare with splats or a checkpoint", false},
    Served{"export", "Export the splats", true}};

const Served* find(std::string_view command) {
    const auto it = std::find_if(kServed.begin(), kServed.end(),
                                 [&](const Served& s) { return s.command == command; });
    return it == kServed.end() ? nullptr : &*it;
}

/// The longest extension that `name` ends in; null: none of a format.
const WrittenFormat* format_of(const FileTypes& types, const std::string& name) {
    const WrittenFormat* best = nullptr;
    for (const WrittenFormat& format : types.written)
        if (name.ends_with(format.extension) &&
            (!best || format.extension.size() > best->extension.size()))
            best = &format;
    return best;
}

}  // namespace

bool FileDialog::serves(std::string_view command) { return find(command) != nullptr; }

void FileDialog::ask(const std::string& command, const Snapshot& snapshot) {
    const Served& served = *find(command);
    command_ = command;
    title_ = served.title;
    writes_ = served.writes;
    visible_ = opening_ = true;
    browser_.filter.clear();
    browser_.openable_only = true;
    browser_.focus_filter = !writes_;
    browser_.for_writing = writes_;
    // Where something was opened lately; the current folder at first.
    const fs::path lately =
        snapshot.recent.empty() ? fs::path() : fs::path(snapshot.recent.front()).parent_path();
    std::string folder = browser_.folder();
    if (folder.empty()) folder = lately.empty() ? "." : lately.string();
    browser_.enter(folder, snapshot.file_types);
    if (!writes_) return;
    const std::string scene = snapshot.scene ? snapshot.scene->name : "splats";
    const WrittenFormat* format =
        snapshot.file_types ? format_of(*snapshot.file_types, scene) : nullptr;
    name_ = format ? scene : fs::path(scene).stem().string() + ".ply";
}

void FileDialog::answer(const std::string& path, Commands& commands) {
    commands.push(command_, {path});
    visible_ = false;
    ImGui::CloseCurrentPopup();
}

void FileDialog::draw_opening(const Snapshot& snapshot, Commands& commands) {
    const float foot = 1.6F * ImGui::GetFrameHeightWithSpacing();
    if (const auto chosen = browser_.draw(snapshot.file_types, -foot)) answer(*chosen, commands);
    const FileBrowser::Entry* selected = browser_.selected();
    const bool usable =
        selected && selected->kind != FileKind::other && selected->kind != FileKind::folder;
    ImGui::BeginDisabled(!usable);
    if (ImGui::Button("Open", {6 * em(), 0})) answer(browser_.path_of(*selected), commands);
    ImGui::EndDisabled();
    ImGui::SameLine();
    dim_text(selected ? selected->name : "nothing here can be opened");
}

void FileDialog::draw_formats(const FileTypes& types) {
    const WrittenFormat* now = format_of(types, name_);
    ImGui::SetNextItemWidth(16 * em());
    const std::string words =
        now ? now->description + " (" + now->extension + ")" : "choose a format";
    if (!ImGui::BeginCombo("##format", words.c_str())) return;
    for (const WrittenFormat& format : types.written)
        if (ImGui::Selectable((format.description + " (" + format.extension + ")").c_str(),
                              &format == now)) {
            const std::size_t end =
                now ? now->extension.size() : fs::path(name_).extension().string().size();
            name_ = name_.substr(0, name_.size() - end) + format.extension;
        }
    ImGui::EndCombo();
}

void FileDialog::draw_writing(const Snapshot& snapshot, Commands& commands) {
    const float foot = 3.4F * ImGui::GetFrameHeightWithSpacing();
    const FileBrowser::Entry* before = browser_.selected();
    const std::string stood_on = before ? before->name : "";
    const auto chosen = browser_.draw(snapshot.file_types, -foot);
    const FileBrowser::Entry* selected = browser_.selected();
    // A file that is chosen gives its name.
    if (chosen)
        name_ = fs::path(*chosen).filename().string();
    else if (selected && !selected->is_folder && selected->name != stood_on)
        name_ = selected->name;
    if (const fs::path folder = chosen ? fs::path(*chosen).parent_path() : fs::path();
        !folder.empty() && folder != browser_.folder())
        browser_.enter(folder.string(), snapshot.file_types);
    ImGui::SetNextItemWidth(-17 * em());
    if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
    const bool entered = ImGui::InputText("##name", &name_, ImGuiInputTextFlags_EnterReturnsTrue);
    ImGui::SameLine();
    const bool known = snapshot.file_types && format_of(*snapshot.file_types, name_);
    if (snapshot.file_types) draw_formats(*snapshot.file_types);
    ImGui::BeginDisabled(!known || name_.empty());
    const bool pressed = ImGui::Button("Write", {6 * em(), 0});
    ImGui::EndDisabled();
    ImGui::SameLine();
    const auto& entries = browser_.entries();
    const bool there =
        std::any_of(entries.begin(), entries.end(), [&](const auto& e) { return e.name == name_; });
    if (!known)
        dim_text("the end of the name says the format");
    else if (there)
        colored_text(theme().warning, "replaces the file of this name");
    if ((pressed || entered) && known)
        answer((fs::path(browser_.folder()) / name_).string(), commands);
}

void FileDialog::draw(const Snapshot& snapshot, Commands& commands) {
    if (opening_) ImGui::OpenPopup("##file dialog");
    opening_ = false;
    if (!visible_) return;
    const ImVec2 screen = ImGui::GetIO().DisplaySize;
    ImGui::SetNextWindowPos({screen.x / 2, screen.y / 2}, ImGuiCond_Always, {0.5F, 0.5F});
    ImGui::SetNextWindowSize({std::max(std::min(52 * em(), screen.x - 2 * em()), 2 * em()),
                              std::max(std::min(34 * em(), screen.y - 2 * em()), 2 * em())});
    if (!ImGui::BeginPopup("##file dialog", ImGuiWindowFlags_NoMove)) {
        visible_ = false;
        return;
    }
    text(title_);
    ImGui::SameLine(ImGui::GetContentRegionAvail().x - 3.6F * em());
    const bool cancelled = ImGui::SmallButton("Cancel");
    if (writes_)
        draw_writing(snapshot, commands);
    else
        draw_opening(snapshot, commands);
    if (escape_leaves() || cancelled) {
        visible_ = false;
        ImGui::CloseCurrentPopup();
    }
    ImGui::EndPopup();
}

}  // namespace gs
