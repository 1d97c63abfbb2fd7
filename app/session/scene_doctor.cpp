#include "app/session/scene_doctor.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/log.h"

namespace gs {
namespace {

// Gaussians of a run that are copied (from a device, perhaps) to be examined without being asked:
// 0.2 GB.
constexpr std::uint64_t kCopiedUnasked = 1'000'000;

}  // namespace

void SceneDoctor::start(bool asked) {
    lent_.jobs.drop("doctor");
    if (!lent_.scene) return;
    CheckupSubject subject;
    subject.capture = lent_.scene->capture;
    SplatQuestions& q = subject.questions;
    if (lent_.scene->trainer) {
        subject.trained = lent_.scene->steps_done() > 0;
        if (asked || lent_.scene->trainer->gaussian_count() <= kCopiedUnasked)
            subject.model = std::make_shared<const GaussianModel>(lent_.scene->trainer->model());
        q.width = q.height = 1;
        for (const View& view : lent_.scene->capture->views) {
            q.width = std::max(q.width, view.camera.width);
            q.height = std::max(q.height, view.camera.height);
        }
    } else {
        subject.model = lent_.scene->model;
        q.notes = lent_.scene->notes;
    }
    q.cap = static_cast<std::uint64_t>(std::max(0.0, lent_.options.settings.max_gaussians));
    q.host_bytes = available_host_bytes();
    if (lent_.options.free_device_bytes) q.device_bytes = lent_.options.free_device_bytes();
    lent_.jobs.start<DoctorReport>(
        {"doctor", "examining"},
        [subject = std::move(subject)](const Progress& progress) {
            return examine_scene(subject, progress);
        },
        [this](DoctorReport report) { adopt_report(std::move(report)); },
        [this](const Error& error) {
            if (error.kind == ErrorKind::cancelled)
                lent_.tell.done("examining was cancelled");
            else
                lent_.tell.error(error.text());
        });
}

void SceneDoctor::publish() {
    report_.can_mend = may_mend().empty();
    report_.mended = mended_.fixes;
    report_.changes = mended_.changes;
    for (Finding& f : report_.findings) f.fixable = f.fixable && report_.can_mend;
    lent_.tell.changed().doctor = std::make_shared<const DoctorReport>(report_);
}

void SceneDoctor::adopt_report(DoctorReport report) {
    const std::uint64_t serial = report_.serial;
    report_ = std::move(report);
    report_.serial = serial + 1;
    publish();
    const auto count = [&](Severity s) {
        return std::count_if(report_.findings.begin(), report_.findings.end(),
                             [&](const Finding& f) { return f.severity == s; });
    };
    lent_.tell.done(fmt::format("examined {}: {} errors, {} warnings, {} notes ({:.2f} s)",
                                lent_.scene->name, count(Severity::error), count(Severity::warning),
                                count(Severity::note), report_.seconds));
}

void SceneDoctor::examine() {
    if (!lent_.scene) return lent_.tell.error("nothing is open that could be examined");
    start(true);
}

std::string SceneDoctor::may_mend() const {
    if (!lent_.scene) return "nothing is open that could be mended";
    if (lent_.scene->trainer)
        return "a training run is not mended: export the splats and open those";
    if (lent_.scene->levels)
        return "a streamed set is not mended: convert one level, and open that";
    return {};
}

void SceneDoctor::fix(const std::string& name) {
    if (const std::string problem = may_mend(); !problem.empty()) return lent_.tell.error(problem);
    const auto fixable = [&](const Finding& f) {
        return f.fixable && (name.empty() || f.id == name);
    };
    if (!name.empty() && !report_.findings.empty() &&
        std::none_of(report_.findings.begin(), report_.findings.end(), fixable))
        return lent_.tell.error(
            fmt::format("the doctor has found no \"{}\" that could be mended", name));
    std::vector<std::string> fixes = mended_.fixes;
    fixes.push_back(name);
    start_mending(std::move(fixes), "mended");
}

void SceneDoctor::undo() {
    if (mended_.fixes.empty())
        return lent_.tell.error("nothing was mended that could be taken back");
    std::vector<std::string> fixes = mended_.fixes;
    fixes.pop_back();
    start_mending(std::move(fixes), "taken back");
}

void SceneDoctor::start_mending(std::vector<std::string> fixes, const char* verb) {
    if (lent_.jobs.running("mend")) return lent_.tell.error("splats are being mended already");
    if (!mended_.original) mended_.original = lent_.scene->model;
    const std::uint64_t command = lent_.tell.command;
    lent_.jobs.start<Mended>(
        {"mend", "mending", command},
        [scene = std::make_shared<LoadedScene>(same_scene(*lent_.scene)),
         original = mended_.original, fixes, options = lent_.options](const Progress& progress) {
            return mend_scene(std::move(*scene), original, fixes, options, progress);
        },
        [this, fixes, verb, command](Mended mended) {
            adopt(std::move(mended), fixes, verb, command);
        },
        [this, command](const Error& error) {
            if (error.kind == ErrorKind::cancelled)
                lent_.tell.done("mending was cancelled, the splats are as before");
            else
                lent_.tell.error(error.text(), command);
        });
}

void SceneDoctor::adopt(Mended mended, std::vector<std::string> fixes, const char* verb,
                        std::uint64_t command) {
    const std::uint64_t before = lent_.scene->gaussian_count();
    lent_.replace_model(std::move(mended.scene));
    if (fixes.empty()) mended_.original.reset();
    mended_.fixes = std::move(fixes);
    mended_.changes = mended.changes;
    const auto words = [](std::uint64_t n) { return format_count(static_cast<double>(n)); };
    for (const std::string& change : mended.changes) log_info("{}: {}", verb, change);
    lent_.tell.done(fmt::format("{}: {} Gaussians, {} before", verb,
                                words(lent_.scene->gaussian_count()), words(before)),
                    true, {}, command);
    publish();
    start(true);
}

void SceneDoctor::forget() {
    lent_.jobs.drop("doctor");
    lent_.jobs.drop("mend");
    mended_ = {};
    report_ = {};
    lent_.tell.changed().doctor = nullptr;
    lent_.tell.changed().marked = nullptr;
}

void SceneDoctor::start_first() {
    if (!report_.planned && !lent_.jobs.running("doctor")) start(false);
}

void SceneDoctor::forget_rows() {
    for (Finding& f : report_.findings)
        std::erase_if(f.examples,
                      [](const std::string& example) { return example.starts_with('#'); });
    if (report_.planned) publish();
}

void SceneDoctor::mark(std::uint64_t row) {
    if (!lent_.scene) return lent_.tell.error("nothing is open");
    const GaussianModel& model = viewer_.current_model(*lent_.scene);
    if (row >= model.count)
        return lent_.tell.error(fmt::format("there is no Gaussian #{}: the last one is #{}", row,
                                            model.count - std::min<std::size_t>(1, model.count)));
    const auto i = static_cast<std::size_t>(row);
    MarkedGaussian marked{row, model.mean(i), {}, 0};
    if (!std::isfinite(marked.mean.x + marked.mean.y + marked.mean.z))
        return lent_.tell.error(fmt::format(
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
    lent_.tell.changed().marked = std::make_shared<const MarkedGaussian>(marked);
}

}  // namespace gs
