#include "trainer/time_lapse.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/format.h"
#include "base/json_text.h"
#include "base/json_write.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"

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
    const Camera& c = view.camera;
    Json rotation = Json::array();
    for (const auto& row : c.rotation.m)
        for (const double value : row) rotation.push_back(value);
    return {{"name", view.name},
            {"folder", folder},
            {"width", c.width},
            {"height", c.height},
            {"fx", c.fx},
            {"fy", c.fy},
            {"cx", c.cx},
            {"cy", c.cy},
            {"rotation", std::move(rotation)},
            {"translation", {c.translation.x, c.translation.y, c.translation.z}}};
}

double number_of(const nlohmann::json& json) { return json.is_number() ? json.get<double>() : 0; }

/// nullopt: it is none that could be drawn from.
std::optional<LapseCamera> camera_of(const nlohmann::json& json) {
    LapseCamera out;
    Camera& c = out.camera;
    const nlohmann::json &name = member(json, "name"), &rotation = member(json, "rotation"),
                         &translation = member(json, "translation");
    if (!name.is_string() || rotation.size() != 9 || translation.size() != 3) return std::nullopt;
    out.name = name.get<std::string>();
    c.width = static_cast<int>(whole_number(member(json, "width"), 1 << 16).value_or(0));
    c.height = static_cast<int>(whole_number(member(json, "height"), 1 << 16).value_or(0));
    c.fx = number_of(member(json, "fx"));
    c.fy = number_of(member(json, "fy"));
    c.cx = number_of(member(json, "cx"));
    c.cy = number_of(member(json, "cy"));
    for (std::size_t i = 0; i < 9; ++i) c.rotation.m[i / 3][i % 3] = number_of(rotation[i]);
    c.translation = {number_of(translation[0]), number_of(translation[1]),
                     number_of(translation[2])};
    return c.valid() ? std::optional(out) : std::nullopt;
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
        out.views.push_back({camera->name, own, steps_in(own)});
        out.cameras.push_back(std::move(*camera));
    }
    return out;
}

/// For pictures of steps after this one, that nothing has yet.
fs::path free_left(const fs::path& folder, std::uint64_t step) {
    std::error_code ignored;
    fs::path out = folder / fmt::format("left-{}", step);
    for (int n = 2; fs::exists(out, ignored); ++n)
        out = folder / fmt::format("left-{}-{}", step, n);
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
    return fail(ErrorKind::usage, "", fmt::format("\"{}\" is no pace of a time lapse", text),
                "a number of steps, auto or off");
}

std::string text_of(const LapsePace& pace) {
    return pace.chosen ? "auto" : pace.every == 0 ? "off" : std::to_string(pace.every);
}

Result<std::vector<LapseCamera>> choose_lapse_cameras(std::string_view names,
                                                      const std::vector<LapseCamera>& saved,
                                                      const Capture& capture) {
    std::vector<LapseCamera> out;
    if (names.empty()) {
        auto photos = capture.view_indices(true);
        if (photos.empty()) photos = capture.view_indices(false);
        const View& first = capture.views[photos.front()];
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
                        "the command view.save NAME saves where the studio looks from");
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
    go_back(run_folder, step);
}

void TimeLapse::set_cameras(std::vector<LapseCamera> cameras) {
    for (const LapseCamera& before : cameras_)
        for (const LapseCamera& now : cameras)
            if (now.name == before.name && json_of(now, {}) != json_of(before, {}))
                view_of(before.name).name += " (before)";
    cameras_ = std::move(cameras);
    written_ = false;
}

LapseView& TimeLapse::view_of(const std::string& name) {
    for (LapseView& view : views_)
        if (view.name == name) return view;
    return views_.emplace_back(LapseView{name, {}, {}});
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
    std::error_code ignored;  // writing says what is wrong
    Json views = Json::array();
    for (const LapseCamera& camera : cameras_) {
        LapseView& view = view_of(camera.name);
        for (int n = 1; view.folder.empty() || !is_free(view); ++n)
            view.folder = folder / (plain(camera.name) + (n > 1 ? "-" + std::to_string(n) : ""));
        fs::create_directories(view.folder, ignored);
        views.push_back(json_of(camera, view.folder.filename().string()));
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
            LapseView& view = view_of(camera.name);
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

void TimeLapse::go_back(const fs::path& run_folder, std::uint64_t step) {
    fs::path left;
    std::error_code ignored;
    for (LapseView& view : views_) {
        const auto later = std::upper_bound(view.steps.begin(), view.steps.end(), step);
        if (later == view.steps.end()) continue;
        if (left.empty()) left = free_left(run_folder / kTimeLapseFolder, view.steps.back());
        fs::create_directories(left / view.folder.filename(), ignored);
        for (auto it = later; it != view.steps.end(); ++it)
            fs::rename(lapse_picture(view.folder, *it),
                       lapse_picture(left / view.folder.filename(), *it), ignored);
        view.steps.erase(later, view.steps.end());
    }
}

void TimeLapse::begin_anew() {
    views_.clear();
    written_ = false;
    pictures_ = 0;
    seconds_ = last_seconds_ = 0;
}

}  // namespace gs
