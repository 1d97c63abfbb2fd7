#include "app/session/parts/scene_doctor.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/format.h"
#include "base/log.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/doctor/doctor.h"
#include "renderer/scene/camera.h"
#include "trainer/settings/strategy.h"

namespace gs {

struct FixedScene {
    LoadedScene scene;
    std::vector<std::string> changes;
};

namespace {

// Gaussians of a run to copy (perhaps from a device) for an automatic examination: 0.2 GB.
constexpr std::uint64_t kCopiedUnasked = 1'000'000;

struct CheckupSubject {
    std::shared_ptr<const GaussianModel> model;  // null: not examined
    std::shared_ptr<const Capture> capture;      // null: none
    bool trained = true;  // false: training starts there, and only its memory is of interest
    SplatQuestions questions;
};

/// Gaussians that fit in training memory, which grows in proportion except for the pixels' part.
FreeMemory free_memory(std::uint64_t free_bytes, const MemoryPlan& plan) {
    FreeMemory out{free_bytes, 0};
    if (free_bytes == 0 || plan.gaussians == 0 || plan.to_train() <= free_bytes) return out;
    const double share = static_cast<double>(free_bytes) / static_cast<double>(plan.to_train());
    const std::uint64_t digits = 10'000;  // it is an estimate
    out.fits =
        static_cast<std::uint64_t>(share * static_cast<double>(plan.gaussians)) / digits * digits;
    return out;
}

void examine_model(const CheckupSubject& subject, SplatReport splats, DoctorReport& out) {
    out.planned = true;
    out.now = splats.now;
    out.at_cap = splats.at_cap;
    out.host = free_memory(subject.questions.host_bytes, out.at_cap);
    out.device = free_memory(subject.questions.device_bytes, out.at_cap);
    const auto wanted = [&](const Finding& f) {
        return subject.trained || f.id.starts_with("memory");
    };
    std::copy_if(std::make_move_iterator(splats.findings.begin()),
                 std::make_move_iterator(splats.findings.end()), std::back_inserter(out.findings),
                 wanted);
}

/// Everything except serial, fixes and changes. Errors: cancelled.
Result<DoctorReport> examine_scene(const CheckupSubject& subject, const Progress& progress) {
    const auto begin = std::chrono::steady_clock::now();
    DoctorReport out{.width = subject.questions.width, .height = subject.questions.height};
    if (subject.capture) {
        if (progress && !progress("examining the capture", 0, 1))
            return fail(ErrorKind::cancelled, "", "was cancelled");
        out.findings = examine(*subject.capture);
        out.photo_bytes = photo_bytes(*subject.capture);
    }
    if (subject.model) {
        const Progress told = [&](std::string_view, std::size_t done, std::size_t total) {
            return !progress || progress("examining splats", done, total);
        };
        GS_TRY(auto splats, examine(*subject.model, subject.questions, told));
        examine_model(subject, std::move(splats), out);
    }
    std::ranges::stable_sort(out.findings, std::greater{}, &Finding::severity);
    out.seconds = seconds_since(begin);
    return out;
}

/// Applies the fix called `name` ("": all fixes) to `original`, ready to be drawn as `scene`.
Result<FixedScene> fix_scene(LoadedScene scene, std::shared_ptr<const GaussianModel> original,
                             const std::string& name, const SessionOptions& options,
                             const Progress& progress) {
    const Progress told = [&](std::string_view, std::size_t done, std::size_t total) {
        return !progress || progress("fixing splats", done, total);
    };
    const std::vector<std::string> ids =
        name.empty() ? std::vector<std::string>() : std::vector{name};
    GS_TRY(auto fixed, fix(*original, ids, told));
    FixedScene out{std::move(scene), std::move(fixed.changes)};
    GS_TRY_VOID(show_model(out.scene, std::make_shared<const GaussianModel>(std::move(fixed.model)),
                           options));
    return out;
}

}  // namespace

void SceneDoctor::start(bool asked) {
    ctx_.jobs.drop("doctor");
    if (!ctx_.scene) return;
    CheckupSubject subject{.capture = ctx_.scene->capture};
    SplatQuestions& q = subject.questions;
    if (ctx_.scene->trainer) {
        subject.trained = ctx_.scene->steps_done() > 0;
        if (asked || ctx_.scene->trainer->gaussian_count() <= kCopiedUnasked)
            subject.model = std::make_shared<const GaussianModel>(ctx_.scene->trainer->model());
        q.width = q.height = 1;
        for (const View& view : ctx_.scene->capture->views) {
            q.width = std::max(q.width, view.camera.width);
            q.height = std::max(q.height, view.camera.height);
        }
    } else {
        subject.model = ctx_.scene->model;
        q.notes = ctx_.scene->notes;
    }
    q.cap = peak_gaussians(ctx_.options.settings);
    q.host_bytes = available_host_bytes();
    if (ctx_.options.free_device_bytes) q.device_bytes = ctx_.options.free_device_bytes();
    ctx_.jobs.start<DoctorReport>(
        {"doctor", "examining", 0, true},
        [subject = std::move(subject)](const Progress& progress) {
            return examine_scene(subject, progress);
        },
        [this](DoctorReport report) { adopt_report(std::move(report)); },
        [this](const Error& error) { ctx_.events.failed(error, "examining was cancelled"); });
}

void SceneDoctor::publish() {
    report_.can_fix = why_not_fixable().empty();
    report_.fixes.clear();
    report_.changes.clear();
    for (const Fix& fix : the<Editor>().fixes()) {
        report_.fixes.push_back(fix.name);
        report_.changes.insert(report_.changes.end(), fix.changes.begin(), fix.changes.end());
    }
    report_.unsaved = !report_.fixes.empty() && the<Editor>().unsaved();
    for (Finding& f : report_.findings) f.fixable = f.fixable && report_.can_fix;
    ctx_.events.changed().doctor = std::make_shared<const DoctorReport>(report_);
}

void SceneDoctor::adopt_report(DoctorReport report) {
    const std::uint64_t serial = report_.serial;
    report_ = std::move(report);
    report_.serial = serial + 1;
    publish();
    const auto count = [&](Severity s) {
        const auto n = std::ranges::count(report_.findings, s, &Finding::severity);
        return counted(static_cast<std::uint64_t>(n), name_of(s));
    };
    ctx_.events.done(fmt::format("examined {}: {}, {}, {} ({:.2f} s)", ctx_.scene->name,
                                 count(Severity::error), count(Severity::warning),
                                 count(Severity::note), report_.seconds));
}

void SceneDoctor::examine() {
    if (!ctx_.scene) return ctx_.events.error("nothing to examine: open a scene first");
    start(true);
}

std::string SceneDoctor::why_not_fixable() const {
    if (!ctx_.scene) return "nothing to fix: open a scene first";
    if (ctx_.scene->trainer)
        return "a training run cannot be fixed: export the splats and open them";
    if (ctx_.scene->followed)
        return "a training of another process cannot be fixed: export its splats and open them";
    if (ctx_.scene->levels) return "a streamed set cannot be fixed: convert one level and open it";
    return {};
}

void SceneDoctor::fix(const std::string& name) {
    if (const std::string problem = why_not_fixable(); !problem.empty())
        return ctx_.events.error(problem);
    const auto fixable = [&](const Finding& f) {
        return f.fixable && (name.empty() || f.id == name);
    };
    if (!name.empty() && !report_.findings.empty() &&
        std::ranges::none_of(report_.findings, fixable))
        return ctx_.events.error(fmt::format("the doctor found no \"{}\" to fix", name));
    if (ctx_.jobs.running("mend")) return ctx_.events.error("splats are already being fixed");
    const std::uint64_t command = ctx_.events.command;
    ctx_.jobs.start<FixedScene>(
        {"mend", "fixing", command, true},
        [scene = std::make_shared<LoadedScene>(same_scene(*ctx_.scene)),
         original = ctx_.scene->model, name, options = ctx_.options](const Progress& progress) {
            return fix_scene(std::move(*scene), original, name, options, progress);
        },
        [this, name, command, original = ctx_.scene->model](FixedScene fixes) {
            if (ctx_.scene->model != original)
                return ctx_.events.error("the splats were edited during the fix: run it again",
                                         command);
            adopt(std::move(fixes), name, command);
        },
        ctx_.events.if_failed("fix cancelled; the splats are unchanged"));
}

void SceneDoctor::undo() {
    if (the<Editor>().fixes().empty()) return ctx_.events.error("no fix to undo");
    if (!ctx_.history.newest({EditOf::fix}))
        return ctx_.events.error("the fix can no longer be undone: the history was full");
    const HistoryEntry* newest = ctx_.history.newest({EditOf::gaussians, EditOf::fix});
    if (!newest || newest->of != EditOf::fix)
        return ctx_.events.error(
            "the splats were edited after the fix: undo the newer edits first");
    ctx_.history.undo({EditOf::fix});
}

void SceneDoctor::adopt(FixedScene fixes, const std::string& name, std::uint64_t command) {
    const std::uint64_t before = ctx_.scene->gaussian_count();
    for (const std::string& change : fixes.changes) log_info("fixed: {}", change);
    the<Editor>().adopt_whole(std::move(fixes.scene), Fix{name, std::move(fixes.changes)},
                              "fix " + (name.empty() ? "everything" : name));
    ctx_.events.done(
        fmt::format("fixed: {}, {} before", counted(ctx_.scene->gaussian_count(), "Gaussian"),
                    format_count(static_cast<double>(before))),
        true, {}, command);
}

void SceneDoctor::fixes_changed() {
    publish();
    start(true);
}

void SceneDoctor::exported() {
    if (!the<Editor>().fixes().empty()) publish();
}

void SceneDoctor::scene_changed(SceneChange change) {
    if (is_other_model(change)) forget_rows();
    if (change != SceneChange::closing) return;
    ctx_.jobs.drop("doctor");
    ctx_.jobs.drop("mend");
    report_ = {};
    ctx_.events.changed().doctor = nullptr;
    ctx_.events.changed().marked = nullptr;
}

void SceneDoctor::start_first() {
    if (!report_.planned && !ctx_.jobs.running("doctor")) start(false);
}

void SceneDoctor::forget_rows() {
    unmark();
    for (Finding& f : report_.findings)
        std::erase_if(f.examples,
                      [](const std::string& example) { return example.starts_with('#'); });
    if (report_.planned) publish();
}

void SceneDoctor::mark(std::uint64_t row) {
    if (!ctx_.scene) return ctx_.events.error("no scene is open");
    const GaussianModel& model = the<Viewer>().current_model(*ctx_.scene);
    if (row >= model.count)
        return ctx_.events.error(fmt::format("no Gaussian #{}: the last one is #{}", row,
                                             model.count - std::min<std::size_t>(1, model.count)));
    const auto i = static_cast<std::size_t>(row);
    MarkedGaussian marked{row, model.mean(i), {}, 0};
    if (!std::isfinite(marked.mean.x + marked.mean.y + marked.mean.z))
        return ctx_.events.error(
            fmt::format("cannot look at Gaussian #{}: its position is not a number", row));
    marked.opacity = 1 / (1 + std::exp(-model.at(kOpacityLogits, i)));
    Quatd quat{model.at(kQuats, i), model.at(kQuats + 1, i), model.at(kQuats + 2, i),
               model.at(kQuats + 3, i)};
    const double square = quat.w * quat.w + quat.x * quat.x + quat.y * quat.y + quat.z * quat.z;
    if (!(square > 0) || !std::isfinite(square)) quat = {1, 0, 0, 0};
    const Mat3d rotation = rotation_from_quat(quat);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const double size = std::exp(model.at(kLogScales + static_cast<int>(axis), i));
        const auto along = [&](int coordinate) {
            return static_cast<float>((std::isfinite(size) ? size : 0.0) *
                                      rotation.m[coordinate][axis]);
        };
        marked.axes[axis] = {along(0), along(1), along(2)};
    }
    ctx_.events.changed().marked = std::make_shared<const MarkedGaussian>(marked);
}

}  // namespace gs
