#include "trainer/refined_cameras.h"

#include <algorithm>

#include "trainer/settings/schedule.h"

namespace gs {
namespace {

/// What an outcome says of its view's camera, behind what others said before.
void add_gradients(const StepOutcome& outcome, auto& poses, auto& intrinsics) {
    if (outcome.divisor != 1) return;  // they wait for photos of full size
    const double residual = residual_of(outcome.terms);
    if (outcome.motion)
        poses.push_back({outcome.step, outcome.view_index, *outcome.motion, residual});
    if (outcome.intrinsics)
        intrinsics.push_back({outcome.step, outcome.view_index, *outcome.intrinsics, residual});
}

}  // namespace

Result<void> may_refine(const TrainingSettings& settings, const Capture& capture,
                        std::span<const std::size_t> views) {
    if (!settings.refine_intrinsics) return {};
    const auto refused = [&](const std::string& why, const char* advice) {
        return fail(ErrorKind::usage, capture.path, "refine_intrinsics: " + why, advice);
    };
    if (settings.projection == ProjectionMethod::ut)
        return refused("the unscented transform has no gradients of intrinsics",
                       "train with --projection ewa, or without --refine-intrinsics");
    for (const std::size_t v : views)
        if (const std::string why = why_not_refined(capture.views[v]); !why.empty())
            return refused(fmt::format("{} {}", capture.views[v].name, why),
                           "train without --refine-intrinsics, or leave these photos out");
    return {};
}

RefinedCameras::RefinedCameras(const TrainingSettings& settings, const Capture& capture,
                               std::span<const std::size_t> views)
    : views_(capture.views.size()) {
    if (settings.refine_poses) poses_ = PoseRefinement(capture, views);
    if (settings.refine_intrinsics) intrinsics_ = IntrinsicsRefinement(capture, views);
}

Camera RefinedCameras::camera(const Capture& of, std::size_t view) const {
    return intrinsics_.applied(poses_.camera(of.views[view].camera, view), view);
}

void RefinedCameras::ask(RenderOptions& options) const {
    options.motion = !poses_.empty();
    options.intrinsics = !intrinsics_.empty();
}

void RefinedCameras::add(const StepOutcome& outcome) {
    add_gradients(outcome, pose_gradients_, intrinsics_gradients_);
}

/// A device reports a step's results one to three steps later, and not always equally late. So
/// every gradient is taken when three more steps have been planned, on every backend.
void RefinedCameras::refine(const TrainingSettings& settings, std::uint64_t steps, double extent) {
    const auto take = [&](auto& gradients, const auto& step) {
        constexpr std::uint64_t kDelay = 3;
        for (; !gradients.empty() && gradients.front().step + kDelay <= steps;
             gradients.pop_front())
            if (static_cast<double>(gradients.front().step) > settings.pose_from)
                step(gradients.front(), pose_forgets(settings, gradients.front().step));
    };
    const PosePrior prior = pose_prior(settings.pose_sigma, extent);
    take(pose_gradients_, [&](const PoseGradient& g, double forgets) {
        (void)poses_.step(g.view, g.motion, g.residual, prior, forgets);
    });
    take(intrinsics_gradients_, [&](const IntrinsicsGradient& g, double forgets) {
        (void)intrinsics_.step(g, settings.intrinsics_sigma, forgets);
    });
}

void RefinedCameras::end_epoch(const TrainingSettings& settings) {
    if (settings.pose_smoothness > 0) poses_.smooth(settings.pose_smoothness);
    poses_.hold_gauge();
}

LearnedCameras RefinedCameras::learned(const TrainingBackend& backend) const {
    if (poses_.empty() && intrinsics_.empty()) return {};
    LearnedCameras out{
        {poses_.rows(), {pose_gradients_.begin(), pose_gradients_.end()}},
        {intrinsics_.rows(), {intrinsics_gradients_.begin(), intrinsics_gradients_.end()}}};
    for (const StepOutcome& outcome : backend.pending_outcomes())
        add_gradients(outcome, out.poses.gradients, out.intrinsics.gradients);
    return out;
}

bool RefinedCameras::restore(const LearnedCameras& from) {
    const auto known = [&](const auto& gradient) { return gradient.view < views_; };
    const auto& [poses, intrinsics] = from;
    if (!std::ranges::all_of(poses.gradients, known) ||
        !std::ranges::all_of(intrinsics.gradients, known))
        return false;
    pose_gradients_.assign(poses.gradients.begin(), poses.gradients.end());
    intrinsics_gradients_.assign(intrinsics.gradients.begin(), intrinsics.gradients.end());
    return (poses_.empty() || poses_.restore(poses.rows)) &&
           (intrinsics_.empty() || intrinsics_.restore(intrinsics.rows));
}

}  // namespace gs
