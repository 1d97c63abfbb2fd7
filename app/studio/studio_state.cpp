#include "app/studio/studio_state.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"

namespace gs {
namespace {

/// A second scene is shown as soon as it is there; what it leaves behind is the picture alone.
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

}  // namespace

void StudioState::add_notice(bool error, std::string text, std::vector<std::string> lines,
                             bool warning) {
    if (notices.size() >= kMostNotices) notices.erase(notices.begin());
    notices.push_back({{++notices_told, error, std::move(text), std::move(lines), warning},
                       std::chrono::steady_clock::now()});
}

void StudioState::end_import() {
    if (import && !import->over()) left_imports.push_back(std::move(import));
    import.reset();
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
    return any;
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

Result<void> send(StudioState& state, EngineJob job) {
    const std::uint64_t serial = state.session.send(std::move(job));
    if (serial == 0)
        return fail(ErrorKind::usage, "",
                    "the engine has more commands waiting than it can hold; try again in a moment");
    state.last_sent = serial;
    return {};
}

Result<void> ask(StudioState& state, std::function<Result<void>(Studio&)> run) {
    state.ui_actions.push_back({std::move(run)});
    return {};
}

Result<void> look_from(StudioState& state, const SavedView& view) {
    const auto photo = static_cast<std::size_t>(view.photo);
    if (view.photo >= 0 && (!state.cameras || photo >= state.cameras->size()))
        return fail(ErrorKind::usage, "",
                    fmt::format("the photo of the view \"{}\" is not there", view.name));
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
    ViewRequest request;
    request.camera = camera_of(state.navigation, width, height);
    request.settings = state.view;
    return request;
}

}  // namespace gs
