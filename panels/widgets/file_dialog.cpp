#include "panels/widgets/file_dialog.h"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

namespace fs = std::filesystem;

struct Served {
    std::string_view command;
    const char* title;
    bool writes;
    const char* purpose;
    const char* ending;                 ///< of written files; empty: there are several formats
    std::optional<FileKind> only = {};  ///< of opened files
    const char* box = nullptr;          ///< a box that adds `ticked` to the command
    const char* ticked = nullptr;
};
constexpr const char* kRunFolder = "import.output";
const std::array kServed{
    Served{"open", "Open a capture, splats, a checkpoint or a trace", false, "open", ""},
    Served{"scene.compare", "Compare with a run, a checkpoint or splats", false, "compare", ""},
    Served{"trace.open", "Open a trace", false, "traces", "", FileKind::trace},
    Served{"export", "Export the splats", true, "splats", "", {}, "Clip box only", "clip"},
    Served{"train.checkpoint", "Save a checkpoint", true, "runs", ".gsc"},
    Served{kRunFolder, "A new folder for the run", true, "runs", ""},
    Served{"screenshot", "Save the viewport's picture", true, "pictures", ".png"},
    Served{"screenshot.window", "Save a picture of the window", true, "pictures", ".png"},
    Served{"bundle.save",
           "Save a bundle: the scene with its notes, views and report",
           true,
           "bundles",
           ".gsb",
           {},
           "With photos",
           "photos"},
    Served{"trace.save", "Save a Perfetto trace", true, "traces", ".pftrace"},
    Served{"film.open", "Open a camera path", false, "paths", ""},
    Served{"film.save", "Save the camera path", true, "paths", ".json"},
    Served{"film.render", "Film along the camera path", true, "films", ".mp4"},
    Served{"timelapse.export", "Save the time lapse as a film", true, "films", ".mp4"},
    Served{"statistics.save", "Save the statistics as a table", true, "tables", ".csv"}};

/// Common sizes of a picture; the first is the shown size.
struct PictureSize {
    const char* name;
    int width, height;
};
constexpr std::array kSizes{PictureSize{"as shown", 0, 0}, PictureSize{"1920 x 1080", 1920, 1080},
                            PictureSize{"2560 x 1440", 2560, 1440},
                            PictureSize{"3840 x 2160", 3840, 2160},
                            PictureSize{"2048 x 2048", 2048, 2048}};

const Served* find(std::string_view command) {
    const auto it = std::ranges::find(kServed, command, &Served::command);
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

/// "stem.png", or the first of "stem-2.png", ... that nothing is called yet.
std::string free_name(const fs::path& folder, const std::string& stem, const std::string& ending) {
    std::string name = stem + ending;
    for (int i = 2; i < 1000 && path_exists(folder / name); ++i)
        name = stem + "-" + std::to_string(i) + ending;
    return name;
}

}  // namespace

bool FileDialog::serves(std::string_view command) { return find(command) != nullptr; }

void FileDialog::ask(const std::string& command, const Snapshot& snapshot) {
    const Served& served = *find(command);
    command_ = command;
    title_ = served.title;
    writes_ = served.writes;
    purpose_ = served.purpose;
    ending_ = served.ending;
    visible_ = opening_ = true;
    ticked_ = false;
    browser_.find_places(snapshot.recent);
    browser_.openable_only = ending_.empty();
    browser_.only = served.only;
    browser_.focus_filter = !writes_;
    browser_.for_writing = writes_;
    browser_.begin(first_folder(snapshot), snapshot.file_types);
    name_.clear();
    unnamed_ = writes_;
}

/// The last folder for the purpose; else that of a recent file or of the run.
std::string FileDialog::first_folder(const Snapshot& snapshot) const {
    const auto last = folders.find(purpose_);
    if (last != folders.end()) return last->second;
    const std::string near = writes_                   ? snapshot.training.last_checkpoint
                             : snapshot.recent.empty() ? std::string()
                                                       : snapshot.recent.front();
    const fs::path folder = fs::path(near).parent_path();
    return folder.empty() ? "." : folder.string();
}

void FileDialog::name_file(const Snapshot& snapshot) {
    if (command_ == kRunFolder) {
        const fs::path capture = snapshot.import ? fs::path(snapshot.import->path) : fs::path();
        name_ = free_name(browser_.folder(), capture.stem().string() + "-run", "");
        return;
    }
    const std::string scene = snapshot.scene ? snapshot.scene->name : "gausscope";
    const WrittenFormat* format =
        snapshot.file_types ? format_of(*snapshot.file_types, scene) : nullptr;
    std::string stem = format ? scene.substr(0, scene.size() - format->extension.size())
                              : fs::path(scene).stem().string();
    if (ending_.empty()) {
        const std::string ending = format ? std::string(format->extension) : ".ply";
        name_ = free_name(browser_.folder(), stem, ending);
        return;
    }
    if (command_ == "screenshot" && snapshot.view.mode != ViewMode::color)
        stem += std::string("-") + kViewModeNames[static_cast<std::size_t>(snapshot.view.mode)];
    name_ = free_name(browser_.folder(), stem, ending_);
}

void FileDialog::answer(const std::string& path, Commands& commands) {
    std::vector<std::string> arguments{path};
    for (std::string& more : more_arguments()) arguments.push_back(std::move(more));
    folders[purpose_] = fs::path(path).parent_path().string();
    commands.push(command_, std::move(arguments));
    visible_ = false;
    ImGui::CloseCurrentPopup();
}

void FileDialog::draw_opening(const Snapshot& snapshot, Commands& commands) {
    const float foot = 1.6F * ImGui::GetFrameHeightWithSpacing();
    if (const auto chosen = browser_.draw(snapshot.file_types, -foot)) answer(*chosen, commands);
    const FileBrowser::Entry* selected = browser_.selected();
    const bool usable = selected && selected->kind != FileKind::other &&
                        selected->kind != FileKind::folder &&
                        (!browser_.only || selected->kind == *browser_.only);
    const bool typed = is_path(browser_.filter);
    ImGui::BeginDisabled(!usable && !typed);
    if (ImGui::Button("Open", {6 * em(), 0})) {
        const auto chosen = typed ? browser_.go_to(browser_.filter) : browser_.path_of(*selected);
        browser_.focus_filter = typed;
        if (chosen) answer(*chosen, commands);
    }
    ImGui::EndDisabled();
    ImGui::SameLine();
    dim_text(typed ? browser_.filter : selected ? selected->name : "Choose a file to open");
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

void FileDialog::draw_picture_choices() {
    ImGui::SetNextItemWidth(8 * em());
    if (ImGui::BeginCombo("##size", kSizes[size_].name)) {
        for (std::size_t i = 0; i < kSizes.size(); ++i)
            if (ImGui::Selectable(kSizes[i].name, i == size_)) size_ = i;
        ImGui::EndCombo();
    }
    tooltip("Size of the picture, in pixels");
    ImGui::SameLine();
    ImGui::Checkbox("Overlays", &overlays_);
    tooltip("Include legend, figures, cameras and axes");
}

void FileDialog::draw_box(const Snapshot& snapshot) {
    const Served& served = *find(command_);
    if (!served.box) return;
    ImGui::SameLine(8 * em());
    const bool clips = command_ == "export";
    ImGui::BeginDisabled(clips && !snapshot.view.clip);
    ImGui::Checkbox(served.box, &ticked_);
    ImGui::EndDisabled();
    tooltip(clips ? "Write only the Gaussians in the clip box" : "Pack the photos as well");
}

std::vector<std::string> FileDialog::more_arguments() const {
    std::vector<std::string> out;
    if (const Served& served = *find(command_); served.box && ticked_) out = {served.ticked};
    if (command_ != "screenshot") return out;
    if (size_ > 0)
        out = {std::to_string(kSizes[size_].width), std::to_string(kSizes[size_].height)};
    out.emplace_back(overlays_ ? "overlays" : "plain");
    return out;
}

/// The field of the name; true when Enter was pressed in it.
bool FileDialog::draw_name(const Snapshot& snapshot, bool ready) {
    ImGui::SetNextItemWidth(-17 * em());
    if (unnamed_ && ready) {
        name_file(snapshot);
        unnamed_ = false;
        ImGui::SetKeyboardFocusHere();
    }
    ImGui::BeginDisabled(unnamed_);
    const bool entered = ImGui::InputText(
        "##name", &name_, ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
    ImGui::EndDisabled();
    return entered;
}

void FileDialog::draw_writing(const Snapshot& snapshot, Commands& commands) {
    const float foot = 3.4F * ImGui::GetFrameHeightWithSpacing();
    const bool of_format = ending_.empty() && command_ != kRunFolder;
    const FileBrowser::Entry* before = browser_.selected();
    const std::string stood_on = before ? before->name : "", stood_in = browser_.folder();
    const auto chosen = browser_.draw(snapshot.file_types, -foot);
    const FileBrowser::Entry* selected = browser_.selected();
    // A chosen file sets the name.
    if (chosen)
        name_ = fs::path(*chosen).filename().string();
    else if (selected && !selected->is_folder && selected->name != stood_on &&
             browser_.folder() == stood_in)
        name_ = selected->name;
    if (const fs::path folder = chosen ? fs::path(*chosen).parent_path() : fs::path();
        !folder.empty() && folder != browser_.folder())
        browser_.enter(folder.string(), snapshot.file_types);
    const bool ready = !browser_.busy() && !browser_.folder().empty();
    const bool entered = draw_name(snapshot, ready);
    ImGui::SameLine();
    if (command_ == "screenshot")
        draw_picture_choices();
    else if (of_format && snapshot.file_types)
        draw_formats(*snapshot.file_types);
    else
        ImGui::NewLine();
    const std::string name =
        ending_.empty() || name_.empty() || name_.ends_with(ending_) ? name_ : name_ + ending_;
    const bool known =
        !name.empty() &&
        (!of_format || (snapshot.file_types && format_of(*snapshot.file_types, name)));
    ImGui::BeginDisabled(!known || !ready);
    const bool pressed = ImGui::Button(command_ == kRunFolder ? "Choose" : "Write", {6 * em(), 0});
    ImGui::EndDisabled();
    draw_box(snapshot);
    ImGui::SameLine();
    const auto& entries = browser_.entries();
    const bool there = std::ranges::any_of(entries, [&](const auto& e) { return e.name == name; });
    const std::string path = (fs::path(browser_.folder()) / name).string();
    if (!ready)
        dim_text("no folder yet");
    else if (!known)
        dim_text(name.empty() ? "type a name" : "the extension sets the format");
    else if (there)
        colored_text(theme().warning,
                     command_ == kRunFolder ? "already exists" : "replaces the existing file");
    else
        dim_text(fitted_path(path, ImGui::GetContentRegionAvail().x));
    if ((pressed || entered) && known && ready) answer(path, commands);
}

void FileDialog::draw(const Snapshot& snapshot, Commands& commands) {
    if (opening_) ImGui::OpenPopup("##file dialog");
    opening_ = false;
    if (!visible_) return;
    const ImVec2 screen = ImGui::GetIO().DisplaySize;
    ImGui::SetNextWindowPos({screen.x / 2, screen.y / 2}, ImGuiCond_Always, {0.5F, 0.5F});
    ImGui::SetNextWindowSize({std::max(std::min(60 * em(), screen.x - 2 * em()), 2 * em()),
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
