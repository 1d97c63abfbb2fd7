#include "trainer/run/time_lapse.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/json_text.h"
#include "base/json_write.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"
#include "renderer/io/paths/camera_json.h"
#include "renderer/scene/lost_views.h"

namespace gs {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kCamerasFile = "views.json";
constexpr std::uint64_t kLargestCamerasFile = 16 << 20;
constexpr std::uint64_t kChosenGrid = 10;  // steps between two that the program may choose
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 53;
constexpr int kQuality = 88;

/// A folder's name that no file system minds.
std::string plain(const std::string& name) {
    std::string out;
    for (const char c : name)
        out += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ? c : '-';
    return out.empty() ? "view" : out;
}

std::optional<std::uint64_t> step_of(const fs::path& picture) {
    const std::string stem = picture.stem().string();
    std::uint64_t step = 0;
    const auto read = std::from_chars(stem.data(), stem.data() + stem.size(), step);
    const bool number = read.ec == std::errc() && read.ptr == stem.data() + stem.size();
    return number && picture.extension() == ".jpg" ? std::optional(step) : std::nullopt;
}

std::vector<std::uint64_t> steps_in(const fs::path& folder) {
    std::vector<std::uint64_t> out;
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
        if (const auto step = step_of(entry.path())) out.push_back(*step);
    std::sort(out.begin(), out.end());
    return out;
}

Json json_of(const LapseCamera& view, const std::string& folder) {
    Json out{{"name", view.name}, {"folder", folder}};
    out.update(camera_json(view.camera));
    return out;
}

/// Pictures from both are one row of pictures.
bool same_place(const Camera& a, const Camera& b) {
    return json_of({{}, a}, {}) == json_of({{}, b}, {});
}

/// nullopt: it is none that could be drawn from.
std::optional<LapseCamera> camera_of(const nlohmann::json& json) {
    const nlohmann::json& name = member(json, "name");
    const auto camera = camera_from_json(json);
    if (!name.is_string() || !camera) return std::nullopt;
    return LapseCamera{name.get<std::string>(), *camera};
}

struct Stored {
    LapsePace pace;
    std::vector<LapseCamera> cameras;
    std::vector<LapseView> views;
};
/// nullopt: there is no time lapse, or its file is damaged.
std::optional<Stored> read_stored(const fs::path& run_folder) {
    const fs::path folder = run_folder / kTimeLapseFolder;
    const auto text = read_text_file(folder / kCamerasFile, kLargestCamerasFile);
    if (!text) return std::nullopt;
    const auto json = parse_json_object(std::as_bytes(std::span(*text)), folder.string());
    if (!json || member(*json, "format") != "gausscope time lapse 1") return std::nullopt;
    Stored out;
    const nlohmann::json& pace = member(*json, "every");
    if (pace.is_string())
        if (const auto parsed = parse_lapse_pace(pace.get<std::string>())) out.pace = *parsed;
    for (const nlohmann::json& view : member(*json, "views")) {
        auto camera = camera_of(view);
        const nlohmann::json& name = member(view, "folder");
        if (!camera || !name.is_string()) continue;
        const fs::path own = folder / fs::path(name.get<std::string>()).filename();
        out.views.push_back({camera->name, camera->camera, own, steps_in(own)});
        if (member(view, "looks") != false) out.cameras.push_back(std::move(*camera));
    }
    return out;
}

/// What a link leads to is not the run's.
bool is_folder(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(fs::symlink_status(path, ignored));
}
std::vector<fs::path> folders_in(const fs::path& folder) {
    std::vector<fs::path> out;
    std::error_code ignored;
    if (!is_folder(folder)) return out;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
        if (is_folder(entry.path())) out.push_back(entry.path());
    return out;
}
/// And the folder, when nothing else is in it.
void remove_pictures(const fs::path& folder) {
    std::error_code ignored;
    for (const std::uint64_t step : steps_in(folder))
        fs::remove(lapse_picture(folder, step), ignored);
    fs::remove(folder, ignored);
}

/// For pictures of steps after this one, that nothing has yet.
fs::path free_left(const fs::path& folder, std::uint64_t step) {
    fs::path out = folder / fmt::format("left-{}", step);
    for (int n = 2; path_exists(out); ++n) out = folder / fmt::format("left-{}-{}", step, n);
    return out;
}

}  // namespace

Result<LapsePace> parse_lapse_pace(std::string_view text) {
    if (text == "off" || text == "0") return LapsePace();
    if (text == "auto") return LapsePace{0, true};
    std::uint64_t every = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), every);
    if (read.ec == std::errc() && read.ptr == text.data() + text.size() && every > 0 &&
        every <= kMostSteps)
        return LapsePace{every, false};
    return fail(ErrorKind::usage, "", fmt::format("\"{}\" is not a time-lapse interval", text),
                "give a number of steps, auto or off");
}

std::string text_of(const LapsePace& pace) {
    return pace.chosen ? "auto" : pace.every == 0 ? "off" : std::to_string(pace.every);
}

Result<std::vector<LapseCamera>> choose_lapse_cameras(std::string_view names,
                                                      const std::vector<LapseCamera>& saved,
                                                      const Capture& capture) {
    std::vector<LapseCamera> out;
    if (names.empty()) {
        const View& first = capture.views[scored_views(capture).front()];
        out.push_back({first.name, first.camera});
        out.insert(out.end(), saved.begin(), saved.end());
        return out;
    }
    const auto find = [&](std::string_view name) -> const Camera* {
        for (const LapseCamera& view : saved)
            if (view.name == name) return &view.camera;
        for (const View& view : capture.views)
            if (view.name == name || fs::path(view.name).stem() == name) return &view.camera;
        return nullptr;
    };
    while (!names.empty()) {
        const std::string_view name = names.substr(0, names.find(','));
        names.remove_prefix(std::min(names.size(), name.size() + 1));
        const Camera* camera = find(name);
        if (!camera)
            return fail(ErrorKind::usage, "",
                        fmt::format("\"{}\" is neither a saved view nor a photo", name),
                        "view.save NAME saves the studio's current view");
        out.push_back({std::string(name), *camera});
    }
    return out;
}

fs::path lapse_picture(const fs::path& view_folder, std::uint64_t step) {
    return view_folder / fmt::format("{:07}.jpg", step);
}

std::vector<LapseView> time_lapse_in(const fs::path& run_folder) {
    auto stored = read_stored(run_folder);
    return stored ? std::move(stored->views) : std::vector<LapseView>();
}

void TimeLapse::take_up(const fs::path& run_folder, std::uint64_t step) {
    auto stored = read_stored(run_folder);
    if (!stored) return;
    pace_ = stored->pace;
    cameras_ = std::move(stored->cameras);
    views_ = std::move(stored->views);
    written_ = true;
    home_ = run_folder;
    go_back(step);
}

void TimeLapse::move_in(const fs::path& run_folder) {
    std::error_code ignored;
    const bool same = home_.empty() || fs::equivalent(home_, run_folder, ignored);
    home_ = run_folder;
    if (!same) return restart();
    set_left_aside();
    // If the folder was removed during the run, it is recreated.
    written_ = written_ && fs::exists(home_ / kTimeLapseFolder / kCamerasFile, ignored);
}

void TimeLapse::set_cameras(std::vector<LapseCamera> cameras) {
    for (std::size_t i = 0; i < cameras.size(); ++i) {
        const std::string name = cameras[i].name;
        const auto taken = [&](const LapseCamera& before) {
            return before.name == cameras[i].name;
        };
        const auto here = cameras.begin() + static_cast<std::ptrdiff_t>(i);
        for (int n = 2; std::any_of(cameras.begin(), here, taken); ++n)
            cameras[i].name = fmt::format("{} ({})", name, n);
    }
    cameras_ = std::move(cameras);
    written_ = false;
}

/// A name that no view has.
std::string TimeLapse::free_name(const std::string& wanted) const {
    const auto is_taken = [&](const std::string& name) {
        return std::any_of(views_.begin(), views_.end(),
                           [&](const LapseView& view) { return view.name == name; });
    };
    std::string out = wanted;
    for (int n = 2; is_taken(out); ++n) out = fmt::format("{} {}", wanted, n);
    return out;
}

LapseView& TimeLapse::view_of(const LapseCamera& camera) {
    for (LapseView& view : views_) {
        if (view.name != camera.name) continue;
        if (same_place(view.camera, camera.camera)) return view;
        view.name = free_name(view.name + " (before)");
    }
    return views_.emplace_back(LapseView{camera.name, camera.camera, {}, {}});
}

bool TimeLapse::due(std::uint64_t step, double training_seconds) const {
    if (!pace_.chosen) return pace_.every > 0 && step % pace_.every == 0;
    const double room = kTimeLapseShare * training_seconds - seconds_;
    return step % kChosenGrid == 0 && (pictures_ == 0 || room >= last_seconds_);
}

/// No pictures lie there but its own.
bool TimeLapse::is_free(const LapseView& view) const {
    std::error_code ignored;
    const auto is_there = [&](const LapseView& other) {
        return &other != &view && other.folder == view.folder;
    };
    return std::none_of(views_.begin(), views_.end(), is_there) &&
           (!view.steps.empty() || !fs::exists(view.folder, ignored) ||
            fs::is_empty(view.folder, ignored));
}

/// Makes the folders of the cameras, and says in views.json which is whose.
Result<void> TimeLapse::save(const fs::path& run_folder) {
    if (written_ || (!pace_.on() && views_.empty())) return {};
    const fs::path folder = run_folder / kTimeLapseFolder;
    std::set<std::string> looking;
    for (const LapseCamera& camera : cameras_) {
        looking.insert(camera.name);
        LapseView& view = view_of(camera);
        for (int n = 1; view.folder.empty() || !is_free(view); ++n)
            view.folder = folder / (plain(camera.name) + (n > 1 ? "-" + std::to_string(n) : ""));
        GS_TRY_VOID(make_folder(view.folder));
    }
    Json views = Json::array();
    for (const LapseView& view : views_) {
        views.push_back(json_of({view.name, view.camera}, view.folder.filename().string()));
        if (!looking.contains(view.name)) views.back()["looks"] = false;  // it did once
    }
    const Json all{{"format", "gausscope time lapse 1"},
                   {"every", text_of(pace_)},
                   {"views", std::move(views)}};
    GS_TRY_VOID(write_text_file(folder / kCamerasFile, json_text(all, 1) + "\n"));
    written_ = true;
    return {};
}

Result<void> TimeLapse::take(const fs::path& run_folder, std::uint64_t step, const Draw& draw) {
    const auto begin = std::chrono::steady_clock::now();
    const auto take_all = [&]() -> Result<void> {
        GS_TRY_VOID(save(run_folder));
        for (const LapseCamera& camera : cameras_) {
            LapseView& view = view_of(camera);
            if (!view.steps.empty() && view.steps.back() >= step) continue;
            GS_TRY_VOID(write_jpeg(lapse_picture(view.folder, step),
                                   draw(camera.camera, kTimeLapseSide), kQuality));
            view.steps.push_back(step);
            ++pictures_;
        }
        return {};
    };
    auto done = take_all();
    if (!done) pace_ = {};
    last_seconds_ = seconds_since(begin);
    seconds_ += last_seconds_;
    return done;
}

void TimeLapse::go_back(std::uint64_t step) {
    for (LapseView& view : views_) {
        const auto later = std::upper_bound(view.steps.begin(), view.steps.end(), step);
        if (later == view.steps.end()) continue;
        left_.push_back({view.name, view.camera, view.folder, {later, view.steps.end()}});
        view.steps.erase(later, view.steps.end());
    }
}

void TimeLapse::set_left_aside() {
    if (left_.empty()) return;
    std::error_code ignored;
    const fs::path aside = free_left(home_ / kTimeLapseFolder, left_.front().steps.back());
    for (const LapseView& view : std::exchange(left_, {})) {
        const fs::path folder = aside / view.folder.filename();
        fs::create_directories(folder, ignored);
        for (const std::uint64_t step : view.steps)
            fs::rename(lapse_picture(view.folder, step), lapse_picture(folder, step), ignored);
    }
}

/// In another folder, from its first picture on, by the same cameras.
void TimeLapse::restart() {
    views_.clear();
    left_.clear();
    written_ = false;
    pictures_ = 0;
    seconds_ = last_seconds_ = 0;
}

void remove_time_lapse(const fs::path& run_folder) {
    std::error_code ignored;
    const fs::path all = run_folder / kTimeLapseFolder;
    fs::remove(all / kCamerasFile, ignored);
    for (const fs::path& folder : folders_in(all)) {
        for (const fs::path& left : folders_in(folder)) remove_pictures(left);
        remove_pictures(folder);
    }
    if (is_folder(all)) fs::remove(all, ignored);  // stays if something is in it
}

}  // namespace gs
