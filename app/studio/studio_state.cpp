#include "app/studio/studio_state.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/session/engine.h"
#include "app/session/history.h"
#include "base/format.h"
#include "base/log.h"
#include "base/shortened.h"
#include "panels/state/drive_state.h"

namespace gs {
namespace {

/// Shows a second scene as soon as it is loaded; after it closes, only the picture.
void follow_other(const StudioState& state, ViewSettings& view) {
    const bool shown = view.with == CompareWith::scene;
    if (state.other && (!shown || view.compare == Compare::off)) view.compare = Compare::split;
    if (!state.other && shown) view.compare = Compare::off;
    view.with = state.other ? CompareWith::scene : CompareWith::photo;
    view.swapped = false;
}

/// Turned to the Gaussian, and as near as lets its surroundings be seen.
NavigationState look_near(const NavigationState& from, const MarkedGaussian& marked) {
    const Vec3d at{marked.mean.x, marked.mean.y, marked.mean.z};
    NavigationState out = gs::focus(from, at);
    double largest = 0;
    for (const Vec3f& axis : marked.axes)
        largest = std::max(largest, std::sqrt(static_cast<double>(dot(axis, axis))));
    out.distance = std::max(8 * largest, 0.1 * from.extent);
    return out;
}

constexpr std::size_t kMostNotices = 3;
constexpr double kShortNotice = 6, kLongNotice = 30;  // seconds

using Measured = std::shared_ptr<const MeasureState>;

Result<void> put_measured(StudioState& state, Measured measured) {
    const auto key = [](const Measured& m) {
        return m && m->up ? std::array{m->up->x, m->up->y, m->up->z} : std::array{0.0, 0.0, 0.0};
    };
    const bool turned = key(measured) != key(state.measured);
    state.measured = std::move(measured);
    if (turned) take_measured_up(state);
    if (state.views_file.empty()) return {};
    return write_measures(measures_file(state.views_file),
                          state.measured ? *state.measured : MeasureState());
}

std::uint64_t bytes_of(const FilmEditor::Version& film) {
    return sizeof(Film) + film->path.keys.size() * sizeof(PathKey);
}
std::uint64_t bytes_of(const Measured& measured) {
    return measured ? measured->points.size() * sizeof(Vec3d) : 0;
}
std::uint64_t bytes_of(const Notes::Version& notes) {
    std::uint64_t sum = 0;
    for (const Note& note : notes) sum += sizeof(Note) + note.text.size() + note.span.size();
    return 2 * sum;  // an edit holds its notes before and after
}

/// Records a change from `before` to `after`; `put` undoes and redoes it.
template <class T, class Put>
void record(StudioState& state, EditOf of, std::string label, const T& before, const T& after,
            Put put) {
    StudioEdit edit{of, std::move(label), bytes_of(before), [=](StudioState& s, bool back) {
                        const auto done = back ? put(s, after, before) : put(s, before, after);
                        if (done) return;
                        s.add_notice(true, done.error().text());
                        if (done.error().kind == ErrorKind::cancelled)
                            (void)send(s, [of](Engine& e) { e.part<History>().forget({of}); });
                    }};
    const auto sent = send(state, [edit = std::move(edit), scene = state.status.scene_serial](
                                      Engine& e) { e.part<History>().record(scene, edit); });
    if (!sent) state.add_notice(true, sent.error().text());
}
template <class Data>
auto recorder(StudioState& state, EditOf of, Data StudioState::*data) {
    return [&state, of, data](std::string label, const auto& before, const auto& after) {
        record(state, of, std::move(label), before, after,
               [data](StudioState& s, const auto& from, const auto& to) {
                   return (s.*data).put(from, to);
               });
    };
}

}  // namespace

StudioState::StudioState(Session& s) : session(s) {
    film.on_change = recorder(*this, EditOf::camera_path, &StudioState::film);
    notes.on_change = recorder(*this, EditOf::notes, &StudioState::notes);
}

void StudioState::add_notice(bool error, const std::string& text, std::vector<std::string> lines,
                             bool warning) {
    if (notices.size() >= kMostNotices) notices.erase(notices.begin());
    for (std::string& line : lines) line = shortened(line);
    notices.push_back({{++notices_told, error, shortened(text), std::move(lines), warning},
                       std::chrono::steady_clock::now()});
}

void complain(StudioState& state, const std::string& text) {
    log_error("{}", text);
    state.add_notice(true, text);
}

void StudioState::end_import() {
    if (import && !import->over()) left_imports.push_back(std::move(import));
    import.reset();
}

std::optional<std::size_t> photo_to_follow(const DriveState& drive,
                                           const std::vector<CameraRow>* photos, int now) {
    if (!photos || drive.chosen >= drive.sweeps.size()) return std::nullopt;
    const auto folder_of = [&](std::size_t photo) {
        return fs::path((*photos)[photo].name).parent_path();
    };
    std::optional<std::size_t> first;
    for (const std::size_t photo : drive.sweeps[drive.chosen].photos) {
        if (photo >= photos->size()) continue;
        if (!first) first = photo;
        const auto seen = static_cast<std::size_t>(now);
        if (now >= 0 && seen < photos->size() && folder_of(photo) == folder_of(seen)) return photo;
    }
    return first;
}

std::vector<std::string> StudioState::being_written(bool quits) const {
    std::vector<std::string> out;
    for (const Activity& a : activities)
        if (a.writes && (quits || a.of_scene)) out.push_back(a.what);
    return out;
}

bool StudioState::drop_old_notices() {
    const auto now = std::chrono::steady_clock::now();
    return std::erase_if(notices, [&](const TimedNotice& n) {
               const bool detailed = n.notice.error || n.notice.warning || !n.notice.lines.empty();
               return std::chrono::duration<double>(now - n.since).count() >
                      (detailed ? kLongNotice : kShortNotice);
           }) > 0;
}

bool StudioState::take_published() {
    bool any = false;
    if (auto newest = session.out().view.take()) {
        const Published before = std::exchange(static_cast<Published&>(*this), std::move(*newest));
        if (other != before.other) follow_other(*this, view);
        if (marked && marked != before.marked) {
            navigation = look_near(navigation, *marked);
            view.capture_view = -1;
        }
        follow_speed();
        any = true;
    }
    if (import && import->update()) any = true;
    std::erase_if(left_imports, [](const auto& left) { return left->over(); });
    if (auto point = session.out().focus.take()) {
        navigation = gs::focus(navigation, *point);
        view.capture_view = -1;
        any = true;
    }
    while (auto job = session.out().studio.try_take()) {
        (*job)(*this);
        any = true;
    }
    while (auto picked = session.out().picked.try_take()) {
        take_picked(std::move(*picked));
        any = true;
    }
    return any;
}

void StudioState::take_picked(PickedPoints picked) {
    Result<void> done;
    if (picked.what == PickedFor::up) {
        done = set_up_from(*this, picked.points);
    } else {
        MeasureState after = measured ? *measured : MeasureState();
        const bool waits = after.points.size() % 2 != 0;
        if (picked.what == PickedFor::distance && waits) after.points.pop_back();
        after.points.insert(after.points.end(), picked.points.begin(), picked.points.end());
        done = set_measured(*this, std::move(after), "measure a distance");
    }
    if (!done) add_notice(true, done.error().text());
}

void StudioState::follow_speed() {
    constexpr std::uint64_t kTelling = 50;  // steps after which a mean means something
    const FrameCost& step = status.step_cost;
    if (training.state != RunState::training || training.step_ms <= 0 || step.width == 0 ||
        training.step < training.first_step + kTelling || !scene)
        return;
    const double megapixels = 1e-6 * static_cast<double>(step.width) * step.height;
    step_speed = {training.step_ms / megapixels,
                  fmt::format("{:.1f} ms a step of {} x {} pixels with {} Gaussians ({})",
                              training.step_ms, step.width, step.height,
                              format_count(static_cast<double>(training.gaussians)), scene->name)};
}

Result<void> set_measured(StudioState& state, MeasureState measured, std::string label) {
    const Measured before = state.measured;
    const Result<void> kept =
        put_measured(state, std::make_shared<const MeasureState>(std::move(measured)));
    record(state, EditOf::measures, std::move(label), before, state.measured,
           [](StudioState& s, const Measured& from, const Measured& to) {
               return s.measured == from ? put_measured(s, to)
                                         : changed_meanwhile("the measurements");
           });
    return kept;
}

void take_measured_up(StudioState& state) {
    if (!state.scene) return;
    const Vec3f usual = state.scene->up;
    const Vec3d up = state.measured && state.measured->up ? *state.measured->up
                                                          : Vec3d{usual.x, usual.y, usual.z};
    // A photo's camera stays where it is, and leaves it upright.
    const bool snapped = state.navigation.snapped;
    if (!snapped) state.navigation = with_up(state.navigation, up);
    state.navigation.up = 1 / std::sqrt(dot(up, up)) * up;
}

Result<void> set_up_from(StudioState& state, const std::vector<Vec3d>& points) {
    constexpr double kLeast = 1e-9;  // of what spans it, squared: less is one point, or one line
    const Vec3d first = points[1] - points[0];
    Vec3d up = first;
    double span = 1;
    if (points.size() == 3) {
        const Vec3d second = points[2] - points[0];
        up = cross(first, second);
        span = dot(first, first) * dot(second, second);
        if (dot(up, state.navigation.eye() - points[0]) < 0) up = -up;
    }
    const double size = dot(up, up);
    if (!(size > kLeast * span) || !(size > 0))
        return fail(
            ErrorKind::usage, "",
            points.size() == 3 ? "the three points are on one line" : "both points are the same",
            "pick points farther apart");
    MeasureState measured = state.measured ? *state.measured : MeasureState();
    measured.up = 1 / std::sqrt(size) * up;
    return set_measured(state, std::move(measured), "set the up direction");
}

Result<void> send(StudioState& state, EngineJob job) {
    const std::uint64_t serial = state.session.send(std::move(job));
    if (serial == 0)
        return fail(ErrorKind::usage, "",
                    "the engine's command queue is full; try again in a moment");
    state.last_sent = serial;
    return {};
}

Result<void> ask(StudioState& state, std::function<Result<void>(Studio&)> run) {
    state.ui_actions.push_back({std::move(run)});
    return {};
}

void look_from(StudioState& state, const std::optional<PathPose>& pose) {
    if (!pose) return;
    state.view.capture_view = -1;
    state.navigation = navigation_at(state.navigation, *pose);
}

Result<void> look_from(StudioState& state, const SavedView& view) {
    const auto photo = static_cast<std::size_t>(view.photo);
    if (view.photo >= 0 && (!state.cameras || photo >= state.cameras->size()))
        return fail(ErrorKind::usage, "",
                    fmt::format("the photo of the view \"{}\" is missing", view.name));
    state.view.capture_view = view.photo;
    if (view.photo >= 0) {
        state.navigation = snap(state.navigation, (*state.cameras)[photo].camera);
        return {};
    }
    const double extent = state.navigation.extent;
    state.navigation = view.place;
    state.navigation.extent = extent;
    return {};
}

ViewRequest view_request_of(const StudioState& state, int width, int height) {
    return {.camera = camera_of(state.navigation, width, height), .settings = state.view};
}

}  // namespace gs
