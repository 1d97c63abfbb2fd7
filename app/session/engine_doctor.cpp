// The engine's doctoring half: examining what is open, mending splats and taking that back, each as
// a task beside pictures and training. The model as it was opened is kept while a mended one is
// shown.
#include <algorithm>
#include <cmath>

#include "app/session/engine.h"
#include "base/format.h"
#include "base/log.h"

namespace gs {
namespace {

// Gaussians of a run that are copied (from a device, perhaps) to be examined without being asked:
// 0.2 GB.
constexpr std::uint64_t kCopiedUnasked = 1'000'000;

}  // namespace

void Engine::start_checkup(bool asked) {
    jobs_.drop("doctor");
    if (!scene_) return;
    CheckupSubject subject;
    subject.capture = scene_->capture;
    SplatQuestions& q = subject.questions;
    if (scene_->trainer) {
        subject.trained = steps_done() > 0;
        if (asked || scene_->trainer->gaussian_count() <= kCopiedUnasked)
            subject.model = std::make_shared<const GaussianModel>(scene_->trainer->model());
        q.width = q.height = 1;
        for (const View& view : scene_->capture->views) {
            q.width = std::max(q.width, view.camera.width);
            q.height = std::max(q.height, view.camera.height);
        }
    } else {
        subject.model = scene_->model;
        q.notes = scene_->notes;
    }
    q.cap = static_cast<std::uint64_t>(std::max(0.0, options_.settings.max_gaussians));
    q.host_bytes = available_host_bytes();
    if (options_.free_device_bytes) q.device_bytes = options_.free_device_bytes();
    jobs_.start<DoctorReport>(
        {"doctor", "examining"},
        [subject = std::move(subject)](const Progress& progress) {
            return examine_scene(subject, progress);
        },
        [this](DoctorReport report) { adopt_report(std::move(report)); },
        [this](const Error& error) {
            if (error.kind == ErrorKind::cancelled)
                report_done("examining was cancelled");
            else
                report_error(error.text());
        });
    status_changed_ = true;
}

void Engine::publish_report() {
    report_.can_mend = may_mend().empty();
    report_.mended = mending_done_.fixes;
    report_.changes = mending_done_.changes;
    for (Finding& f : report_.findings) f.fixable = f.fixable && report_.can_mend;
    changed().doctor = std::make_shared<const DoctorReport>(report_);
}

void Engine::adopt_report(DoctorReport report) {
    const std::uint64_t serial = report_.serial;
    report_ = std::move(report);
    report_.serial = serial + 1;
    publish_report();
    const auto count = [&](Severity s) {
        return std::count_if(report_.findings.begin(), report_.findings.end(),
                             [&](const Finding& f) { return f.severity == s; });
    };
    report_done(fmt::format("examined {}: {} errors, {} warnings, {} notes ({:.2f} s)",
                            scene_->name, count(Severity::error), count(Severity::warning),
                            count(Severity::note), report_.seconds));
}

void Engine::examine() {
    if (!scene_) return report_error("nothing is open that could be examined");
    start_checkup(true);
}

std::string Engine::may_mend() const {
    if (!scene_) return "nothing is open that could be mended";
    if (scene_->trainer) return "a training run is not mended: export the splats and open those";
    if (scene_->levels) return "a streamed set is not mended: convert one level, and open that";
    return {};
}

void Engine::fix(const std::string& name) {
    if (const std::string problem = may_mend(); !problem.empty()) return report_error(problem);
    const auto fixable = [&](const Finding& f) {
        return f.fixable && (name.empty() || f.id == name);
    };
    if (!name.empty() && !report_.findings.empty() &&
        std::none_of(report_.findings.begin(), report_.findings.end(), fixable))
        return report_error(
            fmt::format("the doctor has found no \"{}\" that could be mended", name));
    std::vector<std::string> fixes = mending_done_.fixes;
    fixes.push_back(name);
    start_mending(std::move(fixes), "mended");
}

void Engine::undo_fix() {
    if (mending_done_.fixes.empty())
        return report_error("nothing was mended that could be taken back");
    std::vector<std::string> fixes = mending_done_.fixes;
    fixes.pop_back();
    start_mending(std::move(fixes), "taken back");
}

void Engine::start_mending(std::vector<std::string> fixes, const char* verb) {
    if (jobs_.running("mend")) return report_error("splats are being mended already");
    if (!mending_done_.original) mending_done_.original = scene_->model;
    const std::uint64_t command = current_command_;
    jobs_.start<Mended>(
        {"mend", "mending", command},
        [scene = std::make_shared<LoadedScene>(same_scene(*scene_)),
         original = mending_done_.original, fixes, options = options_](const Progress& progress) {
            return mend_scene(std::move(*scene), original, fixes, options, progress);
        },
        [this, fixes, verb, command](Mended mended) {
            adopt_mended(std::move(mended), fixes, verb, command);
        },
        [this, command](const Error& error) {
            if (error.kind == ErrorKind::cancelled)
                report_done("mending was cancelled, the splats are as before");
            else
                report_error(error.text(), command);
        });
    status_changed_ = true;
}

void Engine::adopt_mended(Mended mended, std::vector<std::string> fixes, const char* verb,
                          std::uint64_t command) {
    const std::uint64_t before = scene_->gaussian_count();
    replace_model(std::move(mended.scene));
    if (fixes.empty()) mending_done_.original.reset();
    mending_done_.fixes = std::move(fixes);
    mending_done_.changes = mended.changes;
    const auto words = [](std::uint64_t n) { return format_count(static_cast<double>(n)); };
    for (const std::string& change : mended.changes) log_info("{}: {}", verb, change);
    report_done(fmt::format("{}: {} Gaussians, {} before", verb, words(scene_->gaussian_count()),
                            words(before)),
                true, {}, command);
    publish_report();
    start_checkup(true);
    last_status_ = {};
}

void Engine::replace_model(LoadedScene scene) {
    scene_.reset();  // as a whole: its parts refer to each other
    scene_.emplace(std::move(scene));
    changed().marked = nullptr;
    viewer_.forget_model();
    publish_scene();
}

void Engine::forget_checkup() {
    jobs_.drop("doctor");
    jobs_.drop("mend");
    mending_done_ = {};
    report_ = {};
    changed().doctor = nullptr;
    changed().marked = nullptr;
}

void Engine::mark(std::uint64_t row) {
    if (!scene_) return report_error("nothing is open");
    const GaussianModel& model = viewer_.current_model(*scene_);
    if (row >= model.count)
        return report_error(fmt::format("there is no Gaussian #{}: the last one is #{}", row,
                                        model.count - std::min<std::size_t>(1, model.count)));
    const auto i = static_cast<std::size_t>(row);
    MarkedGaussian marked{row, model.mean(i), {}, 0};
    if (!std::isfinite(marked.mean.x + marked.mean.y + marked.mean.z))
        return report_error(fmt::format(
            "Gaussian #{} has a position that is no number: there is nothing to look at", row));
    marked.opacity = 1 / (1 + std::exp(-model.at(kOpacityLogits, i)));
    float q[4], length = 0;
    for (int c = 0; c < 4; ++c) q[c] = model.at(kQuats + c, i), length += q[c] * q[c];
    if (!(length > 0) || !std::isfinite(length)) q[0] = 1, q[1] = q[2] = q[3] = 0, length = 1;
    const float w = q[0], x = q[1], y = q[2], z = q[3], s = 2 / length;
    const Vec3f columns[3] = {{1 - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y)},
                              {s * (x * y - w * z), 1 - s * (x * x + z * z), s * (y * z + w * x)},
                              {s * (x * z + w * y), s * (y * z - w * x), 1 - s * (x * x + y * y)}};
    for (int axis = 0; axis < 3; ++axis) {
        const float size = std::exp(model.at(kLogScales + axis, i));
        marked.axes[static_cast<std::size_t>(axis)] =
            (std::isfinite(size) ? size : 0.0f) * columns[axis];
    }
    changed().marked = std::make_shared<const MarkedGaussian>(marked);
}

}  // namespace gs
