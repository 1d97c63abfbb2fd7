#include "app/studio/film.h"

#include <algorithm>
#include <cmath>

#include "app/session/history.h"
#include "base/try.h"
#include "renderer/io/paths/path_io.h"

namespace gs {
namespace {

constexpr std::size_t kLinePieces = 400;  // of the path in the viewport
constexpr double kSameTime = 1e-3;        // seconds: two keys are not nearer

Result<void> no_key(std::size_t key, std::size_t count) {
    return fail(ErrorKind::usage, "",
                count == 0 ? "the camera path has no keys"
                           : fmt::format("there is no key {}: the path has {}", key + 1, count),
                "add one at the camera with film.key");
}

}  // namespace

Result<void> FilmEditor::open(fs::path file, Vec3d origin) {
    FilmEditor closed;
    closed.on_change = std::move(on_change);
    *this = std::move(closed);
    origin_ = origin;
    file_ = std::move(file);
    const std::string stem = file_.stem().string();
    std::optional<Error> unread;
    for (int number = 2; path_exists(file_); ++number) {
        auto kept = read_path_file(file_, origin_);
        if (kept) {
            film_ = std::make_shared<const Film>(std::move(kept->film));
            break;
        }
        if (!unread) unread = kept.error();
        file_.replace_filename(fmt::format("{}.{}.json", stem, number));
    }
    if (!unread) return {};
    unread->advice =
        "it is left unchanged; the path is saved next to it in " + file_.filename().string();
    return tl::unexpected<Error>(std::move(*unread));
}

Result<void> FilmEditor::keep_in(fs::path file) {
    FilmEditor there;
    const Result<void> read = there.open(std::move(file), origin_);
    file_ = std::move(there.file_);
    if (film_->path.keys.empty()) return {};
    GS_TRY_VOID(keep());
    return read;
}

Result<void> FilmEditor::set(Film film, std::string label) {
    if (!valid(film.path))
        return fail(ErrorKind::usage, "", "these keys are not a valid path",
                    "times must ascend, and a path lasts at most a day");
    const Version before = film_;
    const Result<void> kept = change_to(std::make_shared<const Film>(std::move(film)));
    if (on_change) on_change(std::move(label), before, film_);
    return kept;
}

Result<void> FilmEditor::put(const Version& from, const Version& to) {
    return film_ == from ? change_to(to) : changed_meanwhile("the camera path");
}

Result<void> FilmEditor::change_to(Version film) {
    film_ = std::move(film);
    curve_.reset();
    state_.reset();
    if (selected_ && *selected_ >= film_->path.keys.size()) selected_.reset();
    at_ = std::clamp(at_, 0.0, film_->path.seconds());
    if (film_->path.keys.size() < 2) playing_ = false;
    return keep();
}

Result<void> FilmEditor::keep() const {
    if (file_.empty()) return {};
    if (film_->path.keys.empty()) {
        std::error_code ignored;
        fs::remove(file_, ignored);
        return {};
    }
    GS_TRY_VOID(make_folder(file_.parent_path()));
    return write_path_file(file_, *film_, origin_);
}

Result<void> FilmEditor::add_key(const PathPose& pose, double seconds) {
    Film film = *film_;
    auto& keys = film.path.keys;
    const double time = keys.empty() ? seconds : keys.front().time + seconds;
    if (keys.size() >= kMostPathKeys)
        return fail(ErrorKind::usage, "",
                    fmt::format("a camera path has at most {} keys", kMostPathKeys));
    const double since_last = keys.empty() ? 0 : time - keys.back().time;
    if (film.path.closed && since_last > kSameTime && since_last < film.path.closing - kSameTime)
        film.path.closing -= since_last;
    auto at = std::lower_bound(keys.begin(), keys.end(), time - kSameTime,
                               [](const PathKey& key, double t) { return key.time < t; });
    if (at != keys.end() && at->time <= time + kSameTime)
        *at = {pose, at->time};
    else
        at = keys.insert(at, {pose, time});
    const auto index = static_cast<std::size_t>(at - keys.begin());
    GS_TRY_VOID(set(std::move(film), fmt::format("add key {}", index + 1)));
    selected_ = index;
    at_ = state()->passes[index];
    state_.reset();
    return {};
}

double FilmEditor::key_time_here() {
    const std::vector<double> passes = state()->passes;
    const auto& keys = film_->path.keys;
    if (keys.empty() || (film_->path.closed && at_ >= film_->path.seconds())) return 0;
    const auto after = std::upper_bound(passes.begin(), passes.end(), at_);
    const auto i =
        static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - passes.begin(), 1) - 1);
    const bool last = i + 1 == keys.size();
    const double begin = keys[i].time - keys.front().time,
                 end = last ? film_->path.seconds() : keys[i + 1].time - keys.front().time,
                 to = last ? film_->path.seconds() : passes[i + 1];
    return to > passes[i] ? begin + (end - begin) * (at_ - passes[i]) / (to - passes[i]) : begin;
}

Result<void> FilmEditor::remove_key(std::size_t key) {
    if (key >= film_->path.keys.size()) return no_key(key, film_->path.keys.size());
    Film film = *film_;
    film.path.keys.erase(film.path.keys.begin() + static_cast<std::ptrdiff_t>(key));
    if (film.path.keys.size() < 2) film.path.closed = false;
    selected_.reset();
    return set(std::move(film), fmt::format("delete key {}", key + 1));
}

Result<void> FilmEditor::change_key(std::size_t key, const char* verb, const PathPose* pose,
                                    std::optional<double> seconds) {
    if (key >= film_->path.keys.size()) return no_key(key, film_->path.keys.size());
    Film film = *film_;
    auto& keys = film.path.keys;
    PathKey changed = keys[key];
    if (pose) changed.pose = *pose;
    if (seconds) changed.time = film_->path.keys.front().time + *seconds;
    keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(key));
    const auto at = std::upper_bound(keys.begin(), keys.end(), changed.time,
                                     [](double t, const PathKey& k) { return t < k.time; });
    const auto index = static_cast<std::size_t>(at - keys.begin());
    keys.insert(at, changed);
    GS_TRY_VOID(set(std::move(film), fmt::format("{} key {}", verb, key + 1)));
    selected_ = index;
    state_.reset();
    return {};
}

Result<void> FilmEditor::move_key(std::size_t key, double seconds) {
    return change_key(key, "move", nullptr, seconds);
}
Result<void> FilmEditor::replace_pose(std::size_t key, const PathPose& pose) {
    return change_key(key, "update", &pose, {});
}

Result<void> FilmEditor::set_seconds(double seconds) {
    const double now = film_->path.seconds();
    if (!(now > 0)) return fail(ErrorKind::usage, "", "a path with one key has no duration");
    Film film = *film_;
    for (PathKey& key : film.path.keys) key.time *= seconds / now;
    film.path.closing *= seconds / now;
    return set(std::move(film), "change the path's duration");
}

std::optional<PathPose> FilmEditor::pose_at(double seconds) {
    if (film_->path.keys.empty()) return std::nullopt;
    if (!curve_) curve_ = std::make_unique<PathCurve>(film_->path);
    state_.reset();
    at_ = std::clamp(seconds, 0.0, film_->path.seconds());
    return curve_->at(at_);
}

std::optional<PathPose> FilmEditor::look_at(double seconds) {
    playing_ = false;
    return pose_at(seconds);
}

std::optional<PathPose> FilmEditor::select(std::size_t key) {
    if (key >= film_->path.keys.size()) return std::nullopt;
    selected_ = key;
    playing_ = false;
    at_ = state()->passes[key];
    state_.reset();
    return film_->path.keys[key].pose;
}

void FilmEditor::play(bool on) {
    playing_ = on && film_->path.keys.size() > 1;
    if (playing_ && at_ >= film_->path.seconds() - kSameTime) at_ = 0;
    state_.reset();
}

std::optional<PathPose> FilmEditor::advance(double seconds) {
    if (!playing_) return std::nullopt;
    double next = at_ + seconds;
    const double end = film_->path.seconds();
    if (film_->path.closed)
        next -= end * std::floor(next / end);
    else if (next >= end)
        playing_ = false;
    return pose_at(next);
}

std::shared_ptr<const FilmState> FilmEditor::state() {
    if (state_ && state_->codec == codec && state_->quality == quality && state_->shown == shown)
        return state_;
    auto out = std::make_shared<FilmState>();
    const CameraPath& path = film_->path;
    out->film = *film_;
    out->codec = codec;
    out->quality = quality;
    out->shown = shown;
    out->seconds = path.seconds();
    out->selected = selected_;
    out->at = at_;
    out->playing = playing_;
    if (!path.keys.empty()) {
        if (!curve_) curve_ = std::make_unique<PathCurve>(path);
        out->length = curve_->length();
        for (std::size_t i = 0; i < path.keys.size(); ++i) out->passes.push_back(curve_->passes(i));
        for (std::size_t i = 0; path.keys.size() > 1 && i <= kLinePieces; ++i) {
            // The end of a closed path is its beginning.
            const std::size_t piece = path.closed ? i % kLinePieces : i;
            const double t = curve_->seconds() * static_cast<double>(piece) / kLinePieces;
            out->line.push_back(curve_->at(t).position);
        }
    }
    state_ = out;
    return state_;
}

fs::path film_file(const fs::path& views_file) {
    if (views_file.filename() == "views.txt") return views_file.parent_path() / "film.json";
    fs::path out = views_file;
    return out.replace_extension(".film.json");
}

PathPose pose_of(const NavigationState& navigation) {
    return {navigation.eye(), navigation.rotation, navigation.fov_y};
}

NavigationState navigation_at(NavigationState state, const PathPose& pose) {
    const auto& m = pose.rotation.m;
    state.rotation = pose.rotation;
    state.target = pose.position + state.distance * Vec3d{m[2][0], m[2][1], m[2][2]};
    state.fov_y = pose.fov_y;
    if (state.parallel()) state.through = {};
    state.snapped = false;
    return state;
}

}  // namespace gs
