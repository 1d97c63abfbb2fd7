#include "panels/widgets/file_browser.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "base/format.h"
#include "panels/widgets/fuzzy.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostEntries = 20000, kMostRecent = 6;
constexpr std::chrono::milliseconds kPatience{20};  // of a frame
constexpr const char* kNoneSupported =
    "Nothing here can be opened. Clear \"Supported files only\" to list all files.";
constexpr float kPlacesWidth = 9, kRoomForPlaces = 38;  // em

/// A path of /proc/mounts, where a blank is "\040".
std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::string digits(text.substr(i + 1, 3));
        const bool octal = text[i] == '\\' && digits.size() == 3 &&
                           digits.find_first_not_of("01234567") == std::string::npos;
        out += octal ? static_cast<char>(std::stoi(digits, nullptr, 8)) : text[i];
        if (octal) i += digits.size();
    }
    return out;
}

FileBrowser::Entry entry_of(const fs::directory_entry& item, const FileTypes* types) {
    FileBrowser::Entry entry;
    entry.name = item.path().filename().string();
    struct stat found {};
    if (::stat(item.path().c_str(), &found) != 0) return entry;
    entry.is_folder = S_ISDIR(found.st_mode);
    entry.modified = found.st_mtime;
    if (!entry.is_folder) entry.bytes = static_cast<std::uint64_t>(found.st_size);
    if (!entry.is_folder && !S_ISREG(found.st_mode)) return entry;  // a pipe would wait for ever
    entry.kind = types && types->kind_of ? types->kind_of(item.path().string()) : FileKind::other;
    if (entry.is_folder && entry.kind == FileKind::other) entry.kind = FileKind::folder;
    return entry;
}

/// The folder above, or the same at the root.
std::string parent_of(const std::string& folder) { return fs::path(folder).parent_path().string(); }

}  // namespace

bool is_path(std::string_view typed) {
    return typed.starts_with('~') || typed == "." || typed == ".." ||
           typed.find('/') != std::string_view::npos;
}

std::string format_date(std::int64_t seconds) {
    if (seconds <= 0) return "-";
    const std::time_t time = seconds;
    std::tm local{};
    char words[32] = "";
    if (!localtime_r(&time, &local) ||
        std::strftime(words, sizeof words, "%d %b %Y %H:%M", &local) == 0)
        return "-";
    return words;
}

const char* name_of(FileKind kind) {
    constexpr const char* kNames[] = {"folder", "capture", "splats", "checkpoint",
                                      "bundle", "step",    "trace",  ""};
    return kNames[static_cast<std::size_t>(kind)];
}

std::vector<FileBrowser::Place> places_of(const std::vector<std::string>& recent) {
    std::vector<FileBrowser::Place> out;
    std::error_code ignored;
    const auto add = [&](const char* heading, const std::string& name, const fs::path& path) {
        const bool has = std::any_of(out.begin(), out.end(),
                                     [&](const auto& place) { return place.path == path; });
        if (!has && fs::is_directory(path, ignored)) out.push_back({heading, name, path.string()});
    };
    for (const std::string& path : recent) {
        const fs::path folder = fs::path(path).parent_path();
        if (out.size() < kMostRecent && !folder.empty())
            add("Recent", folder.filename().string(), folder);
    }
    if (const char* home = std::getenv("HOME")) add("Places", "Home", home);
    add("Places", "Current folder", fs::current_path(ignored));
    add("Drives", "File system", "/");
    std::ifstream mounts("/proc/mounts");
    for (std::string device, path, rest; mounts >> device >> path && std::getline(mounts, rest);)
        for (const char* parent : {"/media/", "/mnt/", "/run/media/"})
            if (path.starts_with(parent)) {
                const std::string there = unescaped(path);
                out.push_back({"Drives", fs::path(there).filename().string(), there});
            }
    return out;
}

FileBrowser::Tasks::~Tasks() {
    const auto leave = [](auto& task) {
        if (!task) return;
        task->cancel();
        if (!task->take_within(kPatience)) std::thread([hangs = std::move(task)] {}).detach();
    };
    leave(reading);
    leave(placing);
    for (auto& task : left) leave(task);
}

FileBrowser::Listing FileBrowser::Asked::read(const FileTypes* types,
                                              const Progress& progress) const {
    Listing out{typed, {}, {}, {}, {}};
    std::error_code error;
    if (typed && (fs::is_regular_file(path, error) ||
                  (chooses && types && types->kind_of && fs::is_directory(path, error) &&
                   types->kind_of(path) != FileKind::other))) {
        out.chosen = path;
        return out;
    }
    const fs::path wanted = fs::weakly_canonical(fs::absolute(path, error), error);
    fs::directory_iterator items(wanted, fs::directory_options::skip_permission_denied, error);
    if (error) {
        out.problem = path + ": " + error.message();
        return out;
    }
    out.folder = wanted.string();
    for (; items != fs::directory_iterator() && progress(path, out.entries.size(), 0);
         items.increment(error)) {
        if (error) break;
        if (items->path().filename().string().starts_with('.')) continue;
        if (out.entries.size() < kMostEntries)
            out.entries.push_back(entry_of(*items, types));
        else
            ++out.left_out;
    }
    return out;
}

void FileBrowser::enter(const std::string& path, std::shared_ptr<const FileTypes> types) {
    types_ = std::move(types);
    start({path});
}

void FileBrowser::begin(const std::string& path, std::shared_ptr<const FileTypes> types) {
    for (std::string* text : {&folder_, &typed_, &came_from_, &filter}) text->clear();
    entries_.clear();
    shown_.clear();
    left_out_ = 0;
    chosen_.reset();
    fell_back_ = false;
    enter(path, std::move(types));
}

void FileBrowser::start(Asked asked) {
    if (tasks_.reading) tasks_.reading->cancel(), tasks_.left.push_back(std::move(tasks_.reading));
    tasks_.reading = std::make_unique<Task<Listing>>(
        "folder", asked.path, [asked, types = types_](const Progress& progress) {
            return asked.read(types.get(), progress);
        });
    // Most folders are read before the next frame.
    if (auto listing = tasks_.reading->take_within(kPatience))
        tasks_.reading.reset(), show(std::move(*listing));
}

void FileBrowser::find_places(std::vector<std::string> recent) {
    if (tasks_.placing) return;  // one that waits for a dead mount
    tasks_.placing = std::make_unique<Task<std::vector<Place>>>(
        "places", "looking for folders",
        [recent = std::move(recent)](const Progress&) { return places_of(recent); });
}

void FileBrowser::update() {
    std::erase_if(tasks_.left, [](auto& task) { return task->take().has_value(); });
    if (auto found = tasks_.placing ? tasks_.placing->take() : std::nullopt) {
        if (*found) places = std::move(**found);
        tasks_.placing.reset();
    }
    auto listing = tasks_.reading ? tasks_.reading->take() : std::nullopt;
    if (listing) tasks_.reading.reset(), show(std::move(*listing));
}

void FileBrowser::settle() {
    while (tasks_.reading) {
        update();
        if (tasks_.reading) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void FileBrowser::show(Result<Listing> read) {
    problem_ = read ? read->problem : read.error().text();
    const bool first = folder_.empty() && !std::exchange(fell_back_, true);
    if (!problem_.empty()) {
        if (first) enter(".", types_);
        return;
    }
    Listing& listing = *read;
    const bool another = listing.folder != folder_;
    // What is typed while the first folder is read stays.
    if (listing.typed || (another && !folder_.empty())) filter.clear();
    if (!listing.chosen.empty()) {
        chosen_ = std::move(listing.chosen);
        return;
    }
    came_from_ = another      ? fs::path(folder_).filename().string()
                 : selected() ? selected()->name
                              : std::string();
    folder_ = typed_ = listing.folder;
    entries_ = std::move(listing.entries);
    left_out_ = listing.left_out;
    arranged_ = false;
    arrange();
}

/// Filters and sorts the rows; selects the folder just left, else the first row.
void FileBrowser::arrange() {
    if (arranged_ && arranged_filter_ == filter && arranged_openable_ == openable_only &&
        arranged_only_ == only)
        return;
    const std::string stood_on = came_from_.empty() && selected() ? selected()->name : came_from_;
    const std::string_view wanted = is_path(filter) ? "" : std::string_view(filter);
    shown_.clear();
    for (std::size_t i = 0; i < entries_.size(); ++i)
        if ((!openable_only || entries_[i].is_folder ||
             (only ? entries_[i].kind == *only : entries_[i].kind != FileKind::other)) &&
            contains_text(entries_[i].name, wanted))
            shown_.push_back(i);
    std::stable_sort(shown_.begin(), shown_.end(), [&](std::size_t i, std::size_t j) {
        const Entry &a = entries_[i], &b = entries_[j];
        if (a.is_folder != b.is_folder) return a.is_folder;
        const int order =
            column_ == Column::size   ? (a.bytes < b.bytes ? -1 : a.bytes > b.bytes)
            : column_ == Column::date ? (a.modified < b.modified ? -1 : a.modified > b.modified)
            : column_ == Column::kind ? static_cast<int>(a.kind) - static_cast<int>(b.kind)
                                      : 0;
        if (order != 0) return descending_ ? order > 0 : order < 0;
        return descending_ && column_ == Column::name ? b.name < a.name : a.name < b.name;
    });
    selected_ = shown_.empty() ? -1 : 0;
    for (std::size_t row = 0; row < shown_.size(); ++row)
        if (entries_[shown_[row]].name == stood_on) selected_ = static_cast<int>(row);
    came_from_.clear();
    scroll_ = true;
    arranged_ = true;
    arranged_filter_ = filter;
    arranged_openable_ = openable_only;
    arranged_only_ = only;
}

const FileBrowser::Entry* FileBrowser::selected() const {
    const bool any = selected_ >= 0 && static_cast<std::size_t>(selected_) < shown_.size();
    return any && shown_[static_cast<std::size_t>(selected_)] < entries_.size()
               ? &entries_[shown_[static_cast<std::size_t>(selected_)]]
               : nullptr;
}

std::string FileBrowser::path_of(const Entry& entry) const {
    return (fs::path(folder_) / entry.name).string();
}

std::optional<std::string> FileBrowser::go_to(std::string typed) {
    const char* home = std::getenv("HOME");
    const bool in_home = home && (typed == "~" || typed.starts_with("~/"));
    const fs::path named = in_home ? home + typed.substr(1) : typed;
    const std::string path = (fs::path(folder_) / named).lexically_normal().string();
    focus_filter = filtering_;  // a slip is corrected by typing on
    start({path, true, !for_writing && !only});
    return std::exchange(chosen_, std::nullopt);
}

std::optional<std::string> FileBrowser::draw_path() {
    if (ImGui::Button("Up")) enter(parent_of(folder_), types_);
    tooltip("Parent folder (Backspace)");
    ImGui::SameLine();
    const char* home = std::getenv("HOME");
    if (home && ImGui::Button("Home")) enter(home, types_);
    if (home) ImGui::SameLine();
    if (ImGui::Button("Refresh")) enter(folder_, types_);
    ImGui::SetNextItemWidth(-1);
    path_entered_ = ImGui::InputText("##folder", &typed_, ImGuiInputTextFlags_EnterReturnsTrue);
    tooltip("Type a folder to go to, or a file to open");
    return path_entered_ ? go_to(typed_) : std::nullopt;
}

std::optional<std::string> FileBrowser::draw_filter() {
    const char* label = "Supported files only";
    const float check = ImGui::GetFrameHeight() + ImGui::CalcTextSize(label).x + em();
    if (focus_filter) ImGui::SetKeyboardFocusHere();
    focus_filter = false;
    const bool beside = ImGui::GetContentRegionAvail().x > check + 12 * em();
    ImGui::SetNextItemWidth(beside ? -check : -1);
    ImGui::InputTextWithHint("##filter", "Filter by name, or type a path", &filter);
    filtering_ = ImGui::IsItemActive() || ImGui::IsItemDeactivated();
    if (beside) ImGui::SameLine();
    ImGui::Checkbox(label, &openable_only);
    tooltip("Show only folders and files that can be opened, detected from the content");
    if (!filtering_ || !is_path(filter) || !named_key_pressed(ImGuiKey_Enter)) return std::nullopt;
    path_entered_ = true;
    auto chosen = go_to(filter);
    filtering_ = false;
    return chosen;
}

void FileBrowser::draw_places(float height) {
    ImGui::BeginChild("##places", {kPlacesWidth * em(), height});
    std::string_view heading;
    for (const Place& place : places) {
        if (heading != place.heading) dim_text(heading = place.heading);
        ImGui::PushID(place.path.c_str());
        const std::string name = fitted(place.name, ImGui::GetContentRegionAvail().x);
        if (ImGui::Selectable(name.c_str(), place.path == folder_)) enter(place.path, types_);
        tooltip(place.path);
        ImGui::PopID();
    }
    ImGui::EndChild();
    ImGui::SameLine();
}

/// Moves the row stood on; the row to activate, -1: none.
int FileBrowser::keyboard() {
    if (!ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows) || shown_.empty() || popup_above())
        return -1;
    keep_arrows();
    const int last = static_cast<int>(shown_.size()) - 1, before = selected_;
    if (named_key_pressed(ImGuiKey_DownArrow)) ++selected_;
    if (named_key_pressed(ImGuiKey_UpArrow)) --selected_;
    if (named_key_pressed(ImGuiKey_PageDown)) selected_ += 10;
    if (named_key_pressed(ImGuiKey_PageUp)) selected_ -= 10;
    selected_ = std::clamp(selected_, 0, last);
    scroll_ = scroll_ || selected_ != before;
    // Enter in another field than the filter is that field's.
    const bool typing = (ImGui::GetIO().WantTextInput || path_entered_) && !filtering_;
    return named_key_pressed(ImGuiKey_Enter) && !ImGui::GetIO().KeyCtrl && !typing ? selected_ : -1;
}

void FileBrowser::sort_as_asked() {
    ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
    if (!specs || !specs->SpecsDirty || specs->SpecsCount < 1) return;
    column_ = static_cast<Column>(specs->Specs->ColumnIndex);
    descending_ = specs->Specs->SortDirection == ImGuiSortDirection_Descending;
    specs->SpecsDirty = false;
    arranged_ = false;
    arrange();
}

void FileBrowser::draw_row(int row,
                           const std::function<void(const std::string&, const Entry&)>& menu,
                           int& activated) {
    const Entry& entry = entries_[shown_[static_cast<std::size_t>(row)]];
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(row);
    const ImGuiSelectableFlags flags =
        ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowDoubleClick;
    if (ImGui::Selectable("##entry", row == selected_, flags)) {
        selected_ = row;
        if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) activated = row;
    }
    if (row == selected_ && scroll_) ImGui::SetScrollHereY(), scroll_ = false;
    if (menu && ImGui::BeginPopupContextItem("##entry menu")) {
        selected_ = row;
        if (entry.is_folder && ImGui::MenuItem("Go into this folder"))
            enter(path_of(entry), types_);
        menu(path_of(entry), entry);
        ImGui::EndPopup();
    }
    ImGui::SameLine(0.3F * em());
    const ImU32 color = entry.kind == FileKind::other    ? theme().faint
                        : entry.kind == FileKind::folder ? theme().text
                                                         : theme().accent;
    const std::string name = entry.name + (entry.is_folder ? "/" : "");
    const std::string words = fitted(name, ImGui::GetContentRegionAvail().x);
    colored_text(color, words);
    if (words.size() != name.size()) tooltip(name);
    ImGui::TableNextColumn();
    dim_text(entry.is_folder && entry.kind == FileKind::checkpoint ? "run" : name_of(entry.kind));
    ImGui::TableNextColumn();
    if (!entry.is_folder) cell_right(format_bytes(static_cast<double>(entry.bytes)), theme().dim);
    ImGui::TableNextColumn();
    cell_right(fitted(format_date(entry.modified), ImGui::GetContentRegionAvail().x), theme().dim);
    ImGui::PopID();
}

std::optional<std::string> FileBrowser::draw_list(
    float height, const std::function<void(const std::string&, const Entry&)>& menu) {
    int activated = keyboard();
    const ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                  ImGuiTableFlags_Sortable | ImGuiTableFlags_Resizable |
                                  ImGuiTableFlags_Hideable;
    // Of a height that is left to it, a table takes only that of its rows from a group.
    if (height <= 0) height = std::max(height + ImGui::GetContentRegionAvail().y, 1.0F);
    if (!ImGui::BeginTable("##entries", 4, flags, {0, height})) return std::nullopt;
    const bool narrow = ImGui::GetContentRegionAvail().x < 26 * em();
    const ImGuiTableColumnFlags fixed = ImGuiTableColumnFlags_WidthFixed;
    const ImGuiTableColumnFlags spare = fixed | (narrow ? ImGuiTableColumnFlags_DefaultHide : 0);
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("name",
                            ImGuiTableColumnFlags_WidthStretch | ImGuiTableColumnFlags_DefaultSort);
    ImGui::TableSetupColumn("kind", spare, 5.2F * em());
    ImGui::TableSetupColumn("size", fixed, 4.6F * em());
    ImGui::TableSetupColumn("changed", spare, 8.4F * em());
    ImGui::TableHeadersRow();
    sort_as_asked();
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(shown_.size()));
    while (clipper.Step())
        for (int row = clipper.DisplayStart; row < clipper.DisplayEnd; ++row)
            draw_row(row, menu, activated);
    if (scroll_ && selected_ >= 0) {  // outside the drawn rows
        ImGui::SetScrollY(static_cast<float>(selected_) * ImGui::GetTextLineHeightWithSpacing());
        scroll_ = false;
    }
    ImGui::EndTable();
    if (activated < 0 || static_cast<std::size_t>(activated) >= shown_.size()) return std::nullopt;
    const Entry entry = entries_[shown_[static_cast<std::size_t>(activated)]];
    if (entry.kind == FileKind::other) return std::nullopt;
    // Enter a folder that is a capture or a run if it cannot be the answer.
    const bool enters =
        entry.kind == FileKind::folder || (entry.is_folder && (only || for_writing));
    if (!enters) return path_of(entry);
    enter(path_of(entry), types_);
    return std::nullopt;
}

std::optional<std::string> FileBrowser::draw(
    std::shared_ptr<const FileTypes> types, float height,
    const std::function<void(const std::string&, const Entry&)>& menu) {
    types_ = std::move(types);
    update();
    if (folder_.empty() && problem_.empty() && !busy()) enter(".", types_);
    if (!places.empty() && ImGui::GetContentRegionAvail().x > kRoomForPlaces * em())
        draw_places(height);
    ImGui::BeginGroup();
    std::optional<std::string> typed = std::exchange(chosen_, std::nullopt);
    if (auto path = draw_path()) typed = std::move(path);
    if (auto path = draw_filter()) typed = std::move(path);
    if (!problem_.empty()) {
        wrapped_text(theme().warning, problem_);
    }
    if (busy()) dim_text("Reading the folder…");
    if (left_out_ > 0) dim_text(format_count(static_cast<double>(left_out_)) + " more not listed");
    arrange();
    // Backspace belongs to a text field with focus.
    if (ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows) && !ImGui::GetIO().WantTextInput) {
        keep_key("Backspace");
        if (named_key_pressed(ImGuiKey_Backspace)) enter(parent_of(folder_), types_);
    }
    auto chosen = draw_list(height, menu);
    if (shown_.empty() && !busy() && problem_.empty())
        ImGui::GetWindowDrawList()->AddText(
            {ImGui::GetItemRectMin().x + em(), ImGui::GetItemRectMin().y + 2 * em()}, theme().dim,
            entries_.empty()                    ? "This folder is empty"
            : filter.empty() || is_path(filter) ? kNoneSupported
            : openable_only                     ? "No supported file has this in its name"
                                                : "No name contains this text");
    ImGui::EndGroup();
    return typed ? typed : chosen;
}

}  // namespace gs
