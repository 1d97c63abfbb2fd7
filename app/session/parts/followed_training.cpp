#include "app/session/parts/followed_training.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "app/session/trainer_snapshot.h"
#include "base/seconds.h"
#include "base/try.h"

namespace gs {
namespace {

using service::TrainerLink, service::TrainerRecord;

constexpr const char* kSnapshotJob = "snapshot";
constexpr std::size_t kMostMessages = 4096;  // a turn
constexpr double kSnapshotInterval = 0.2;    // seconds; the trainer's budget may make it longer

/// Beside the photos that the trainer names; without them, and a warning, where they cannot be
/// read.
void add_capture(LoadedScene& scene, const std::string& path, const SessionOptions& options,
                 const Progress& progress) {
    CaptureOptions loading = options.capture;
    loading.origin = Vec3d{};  // the trainer's coordinates
    loading.progress = progress;
    auto capture = load_capture(find_capture(path), loading);
    if (!capture) {
        scene.notes.push_back("its photos cannot be shown: " + capture.error().text());
        return;
    }
    scene.capture = std::make_shared<const Capture>(std::move(*capture));
    loading.progress = {};
    scene.loading = std::move(loading);
}

SettingRow row_of(const TrainerRecord& record) {
    SettingRow row{.name = record.text,
                   .group = "Parameters",
                   .help = "Declared editable by the trainer",
                   .value = record.values[0],
                   .min = record.values[1],
                   .max = record.values[2],
                   .live = true,
                   .usual = record.values[3],
                   .source = "the trainer's"};
    constexpr double kFinite = 1e30;
    row.min = std::max(row.min, -kFinite);
    row.max = std::min(row.max, kFinite);
    const double around = std::max(std::abs(row.usual), 1e-9);
    row.logarithmic = row.usual > 0 && row.min >= 0;
    row.slider_min = row.logarithmic ? std::max(row.min, around / 100) : row.min;
    row.slider_max = std::min(row.max, around * 100);
    if (!row.logarithmic) row.slider_min = std::max(row.slider_min, -around * 100);
    return row;
}

}  // namespace

void FollowedTraining::follow(std::uint32_t pid) {
    auto link = TrainerLink::open(pid);
    if (!link) return ctx_.events.error(link.error().text());
    scene_changed(SceneChange::closing);
    now_.link = std::move(*link);
    now_.pid = pid;
    now_.name = fmt::format("process {}", pid);
    ask();
    ctx_.events.status.at_once();
}

void FollowedTraining::scene_changed(SceneChange change) {
    if (change != SceneChange::closing || opening_) return;
    ctx_.jobs.drop(kSnapshotJob);
    now_ = {};
}

void FollowedTraining::ask() {
    now_.link->send(TrainerRecord::want);
    now_.asked = true;
}

void FollowedTraining::run_to(std::uint64_t step) {
    if (!now_.link->ended().empty())
        return ctx_.events.error(fmt::format("{}: {}", now_.name, now_.link->ended()));
    if (!now_.can_wait && step != TrainerRecord::kNever)
        return ctx_.events.error(
            fmt::format("cannot pause {}: it does not call viewer.wait() in its loop", now_.name));
    now_.link->send(TrainerRecord::run_to, step);
    now_.run_to = step;
    if (step != 0) now_.waiting = false;
    ctx_.events.status.at_once();
}

void FollowedTraining::set(const std::string& name, double value) {
    const auto row = std::ranges::find(now_.parameters, name, &SettingRow::name);
    if (row == now_.parameters.end())
        return ctx_.events.error(fmt::format("{} declares no parameter \"{}\"", now_.name, name));
    if (!(value >= row->min && value <= row->max))
        return ctx_.events.error(
            fmt::format("{} is from {:g} to {:g}, not {:g}", name, row->min, row->max, value));
    now_.link->send(TrainerRecord::set, 0, name, value);
}

void FollowedTraining::before_picture(const Shown*) {
    if (!now_.link) return;
    for (TrainerLink::Message& message : now_.link->take(kMostMessages)) {
        take(std::move(message));
        ctx_.events.status.changed = true;
    }
    if (!now_.link->ended().empty()) {
        if (!std::exchange(now_.told_end, true)) {
            now_.waiting = false;
            ctx_.events.status.at_once();
            ctx_.events.done(fmt::format("{}: {}", now_.name, now_.link->ended()), true);
        }
        if (!follows()) now_.link.reset();  // the scene from before stays open
        return;
    }
    // Scores of photos are of one snapshot.
    if (!now_.asked && !ctx_.jobs.running(kSnapshotJob) && !ctx_.jobs.running("evaluation") &&
        seconds_since(now_.shown_at) > kSnapshotInterval)
        ask();
}

void FollowedTraining::take(TrainerLink::Message message) {
    const TrainerRecord& record = message.record;
    switch (record.kind) {
        case TrainerRecord::hello:
            now_.name = fmt::format("{} ({})", record.text, now_.pid);
            now_.total = record.a;
            now_.budget = record.values[0];
            now_.step = record.number;
            break;
        case TrainerRecord::capture:
            now_.capture = record.text;
            break;
        case TrainerRecord::parameter:
            return take_parameter(record);
        case TrainerRecord::step:
            return take_step(record);
        case TrainerRecord::value:
            if (std::string_view(record.text) == "psnr") now_.psnr = record.values[0];
            plot(record);
            break;
        case TrainerRecord::snapshot:
            read(std::move(message));
            break;
        default:
            break;
    }
}

void FollowedTraining::take_step(const TrainerRecord& record) {
    const auto& values = record.values;
    now_.share = values[TrainerRecord::share];
    now_.can_wait = values[TrainerRecord::can_wait] > 0;
    now_.waiting = values[TrainerRecord::waiting] > 0;
    now_.step = record.number;
    if (record.a == 0 && std::isnan(values[TrainerRecord::milliseconds])) return;  // it waits
    now_.gaussians = record.a;
    if (!std::isnan(values[TrainerRecord::loss])) now_.loss = values[TrainerRecord::loss];
    plot(record);
}

/// A step, or a number that was logged in it.
void FollowedTraining::plot(const TrainerRecord& record) {
    constexpr std::size_t kMostEarly = 4096, kNone = std::numeric_limits<std::size_t>::max();
    if (!ctx_.scene || !ctx_.scene->followed) {
        if (now_.early.size() < kMostEarly) now_.early.push_back(record);
        return;
    }
    RunPlots& plots = the<RunProgress>().followed_plots();
    const auto& values = record.values;
    if (record.kind == TrainerRecord::value)
        return plots.add_logged(record.number, record.text, values[0]);
    StepReport report{.step = record.number, .view = kNone, .measured_view = kNone};
    if (std::isfinite(values[TrainerRecord::milliseconds]))
        report.milliseconds = values[TrainerRecord::milliseconds];
    report.gaussians = static_cast<std::size_t>(record.a);
    report.lr_means = kNotKnown;
    report.measured_step = std::max<std::uint64_t>(1, record.number);
    report.loss = values[TrainerRecord::loss];
    plots.add_step(report);
}

void FollowedTraining::take_parameter(const TrainerRecord& record) {
    constexpr std::size_t kMost = 256;
    const SettingRow row = row_of(record);
    const auto at = std::ranges::find(now_.parameters, row.name, &SettingRow::name);
    if (at == now_.parameters.end()) {
        if (now_.parameters.size() < kMost) now_.parameters.push_back(row);
    } else {
        if (at->value != row.value)
            the<RunProgress>().followed_plots().add_mark(
                record.number, fmt::format("{} {:g} -> {:g}", row.name, at->value, row.value));
        *at = row;
    }
    if (follows())
        ctx_.events.changed().settings =
            std::make_shared<const std::vector<SettingRow>>(now_.parameters);
}

/// On a thread of its own. The memory is the trainer's again once it has been copied.
void FollowedTraining::read(TrainerLink::Message message) {
    LoadedScene base;
    if (ctx_.scene && ctx_.scene->followed) base = same_scene(*ctx_.scene);
    base.name = now_.name;
    base.format = "training of another process";
    const auto shared = std::make_shared<std::pair<TrainerLink::Message, LoadedScene>>(
        std::move(message), std::move(base));
    const bool first = !(ctx_.scene && ctx_.scene->followed);
    ctx_.jobs.start<LoadedScene>(
        {kSnapshotJob, first ? "opening " + now_.name : std::string()},
        [shared, first, capture = now_.capture,
         options = ctx_.options](const Progress& progress) -> Result<LoadedScene> {
            auto& [from, scene] = *shared;
            const auto given = std::make_shared<GivenValues>();
            GS_TRY(GaussianModel model, read_snapshot(from.record, from.memory.get(), *given));
            scene.followed = given;
            scene.followed_steps = from.record.number;
            if (first && !capture.empty()) add_capture(scene, capture, options, progress);
            GS_TRY_VOID(show_model(scene, std::make_shared<const GaussianModel>(std::move(model)),
                                   options));
            return std::move(scene);
        },
        [this](LoadedScene scene) { show(std::move(scene)); },
        [this](const Error& error) {
            now_.asked = true;  // not again
            if (now_.link) now_.link->send(TrainerRecord::release);
            ctx_.events.error(error.text());
        });
}

void FollowedTraining::show(LoadedScene scene) {
    if (!now_.link) return;
    now_.link->send(TrainerRecord::release);
    now_.asked = false;
    now_.shown_at = std::chrono::steady_clock::now();
    if (ctx_.scene && ctx_.scene->followed) return ctx_.replace_model(std::move(scene));
    const std::vector<std::string> notes = scene.notes;
    opening_ = true;
    ctx_.open_scene(std::move(scene));
    opening_ = false;
    for (const TrainerRecord& record : std::exchange(now_.early, {})) plot(record);
    for (const std::string& note : notes) ctx_.events.warning(note);
    ctx_.events.changed().settings =
        std::make_shared<const std::vector<SettingRow>>(now_.parameters);
}

void FollowedTraining::describe(TrainingStatus& training) const {
    if (!follows()) return;
    const bool ended = !now_.link->ended().empty(), open = ctx_.scene && ctx_.scene->followed;
    training.followed = true;
    training.state = ended          ? (open ? RunState::finished : RunState::failed)
                     : now_.waiting ? RunState::paused
                     : open         ? RunState::training
                                    : RunState::loading;
    if (ended)
        training.message = fmt::format("{}: {}", now_.name, now_.link->ended());
    else if (!open)
        training.message = fmt::format("waiting for the next step of {}", now_.name);
    training.step = now_.step;
    training.total_steps = now_.total;
    training.run_to = now_.run_to == TrainerRecord::kNever ? 0 : now_.run_to;
    training.loss = now_.loss;
    training.train_psnr = now_.psnr;
    training.viewer_share = now_.share;
    training.copy_budget = now_.budget;
    training.gaussians = now_.gaussians;
    training.eta_seconds = now_.total > now_.step ? static_cast<double>(now_.total - now_.step) *
                                                        training.step_ms / 1000
                                                  : 0;
}

}  // namespace gs
