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
constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

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
    link_.reset();
    scene_changed(SceneChange::closing);
    link_ = std::move(*link);
    pid_ = pid;
    name_ = fmt::format("process {}", pid);
    ask();
    ctx_.events.status.at_once();
}

void FollowedTraining::scene_changed(SceneChange change) {
    if (change != SceneChange::closing || opening_) return;
    ctx_.jobs.drop(kSnapshotJob);
    link_.reset();
    name_.clear();
    capture_.clear();
    parameters_.clear();
    early_.clear();
    step_ = total_ = gaussians_ = 0;
    run_to_ = TrainerRecord::kNever;
    loss_ = psnr_ = kNotKnown;
    share_ = 0;
    waiting_ = can_wait_ = asked_ = told_end_ = false;
}

void FollowedTraining::ask() {
    link_->send(TrainerRecord::want);
    asked_ = true;
}

void FollowedTraining::run_to(std::uint64_t step) {
    if (!link_->ended().empty())
        return ctx_.events.error(fmt::format("{}: {}", name_, link_->ended()));
    if (!can_wait_ && step != TrainerRecord::kNever)
        return ctx_.events.error(
            fmt::format("cannot pause {}: it does not call viewer.wait() in its loop", name_));
    link_->send(TrainerRecord::run_to, step);
    run_to_ = step;
    if (step != 0) waiting_ = false;
    ctx_.events.status.at_once();
}

void FollowedTraining::set(const std::string& name, double value) {
    const auto row = std::ranges::find(parameters_, name, &SettingRow::name);
    if (row == parameters_.end())
        return ctx_.events.error(fmt::format("{} declares no parameter \"{}\"", name_, name));
    if (!(value >= row->min && value <= row->max))
        return ctx_.events.error(
            fmt::format("{} is from {:g} to {:g}, not {:g}", name, row->min, row->max, value));
    link_->send(TrainerRecord::set, 0, name, value);
}

void FollowedTraining::before_picture(const Shown*) {
    if (!link_) return;
    for (TrainerLink::Message& message : link_->take(kMostMessages)) {
        take(std::move(message));
        ctx_.events.status.changed = true;
    }
    if (!link_->ended().empty()) {
        if (!std::exchange(told_end_, true)) {
            waiting_ = false;
            ctx_.events.status.at_once();
            ctx_.events.done(fmt::format("{}: {}", name_, link_->ended()), true);
        }
        if (!follows()) link_.reset();  // the scene from before stays open
        return;
    }
    // Scores of photos are of one snapshot.
    if (!asked_ && !ctx_.jobs.running(kSnapshotJob) && !ctx_.jobs.running("evaluation") &&
        seconds_since(shown_at_) > kSnapshotInterval)
        ask();
}

void FollowedTraining::take(TrainerLink::Message message) {
    const TrainerRecord& record = message.record;
    switch (record.kind) {
        case TrainerRecord::hello:
            name_ = fmt::format("{} ({})", record.text, pid_);
            total_ = record.a;
            budget_ = record.values[0];
            step_ = record.number;
            break;
        case TrainerRecord::capture:
            capture_ = record.text;
            break;
        case TrainerRecord::parameter:
            return take_parameter(record);
        case TrainerRecord::step:
            return take_step(record);
        case TrainerRecord::value:
            if (std::string_view(record.text) == "psnr") psnr_ = record.values[0];
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
    share_ = values[TrainerRecord::share];
    can_wait_ = values[TrainerRecord::can_wait] > 0;
    waiting_ = values[TrainerRecord::waiting] > 0;
    step_ = record.number;
    if (record.a == 0 && std::isnan(values[TrainerRecord::milliseconds])) return;  // it waits
    gaussians_ = record.a;
    if (!std::isnan(values[TrainerRecord::loss])) loss_ = values[TrainerRecord::loss];
    plot(record);
}

/// A step, or a number that was logged in it.
void FollowedTraining::plot(const TrainerRecord& record) {
    constexpr std::size_t kMostEarly = 4096, kNone = std::numeric_limits<std::size_t>::max();
    if (!ctx_.scene || !ctx_.scene->followed) {
        if (early_.size() < kMostEarly) early_.push_back(record);
        return;
    }
    RunPlots& plots = the<RunProgress>().followed_plots();
    const auto& values = record.values;
    if (record.kind == TrainerRecord::value)
        return plots.add_logged(record.number, record.text, values[0]);
    StepReport report;
    report.step = record.number;
    report.view = report.measured_view = kNone;
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
    const auto at = std::ranges::find(parameters_, row.name, &SettingRow::name);
    if (at == parameters_.end()) {
        if (parameters_.size() < kMost) parameters_.push_back(row);
    } else {
        if (at->value != row.value)
            the<RunProgress>().followed_plots().add_mark(
                record.number, fmt::format("{} {:g} -> {:g}", row.name, at->value, row.value));
        *at = row;
    }
    if (follows())
        ctx_.events.changed().settings =
            std::make_shared<const std::vector<SettingRow>>(parameters_);
}

/// On a thread of its own. The memory is the trainer's again once it has been copied.
void FollowedTraining::read(TrainerLink::Message message) {
    LoadedScene base;
    if (ctx_.scene && ctx_.scene->followed) base = same_scene(*ctx_.scene);
    base.name = name_;
    base.format = "training of another process";
    const auto shared = std::make_shared<std::pair<TrainerLink::Message, LoadedScene>>(
        std::move(message), std::move(base));
    const bool first = !(ctx_.scene && ctx_.scene->followed);
    ctx_.jobs.start<LoadedScene>(
        {kSnapshotJob, first ? "opening " + name_ : std::string()},
        [shared, first, capture = capture_,
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
            asked_ = true;  // not again
            if (link_) link_->send(TrainerRecord::release);
            ctx_.events.error(error.text());
        });
}

void FollowedTraining::show(LoadedScene scene) {
    if (!link_) return;
    link_->send(TrainerRecord::release);
    asked_ = false;
    shown_at_ = std::chrono::steady_clock::now();
    if (ctx_.scene && ctx_.scene->followed) return ctx_.replace_model(std::move(scene));
    const std::vector<std::string> notes = scene.notes;
    opening_ = true;
    ctx_.open_scene(std::move(scene));
    opening_ = false;
    for (const TrainerRecord& record : std::exchange(early_, {})) plot(record);
    for (const std::string& note : notes) ctx_.events.warning(note);
    ctx_.events.changed().settings = std::make_shared<const std::vector<SettingRow>>(parameters_);
}

void FollowedTraining::describe(TrainingStatus& training) const {
    if (!follows()) return;
    const bool ended = !link_->ended().empty(), open = ctx_.scene && ctx_.scene->followed;
    training.followed = true;
    training.state = ended      ? (open ? RunState::finished : RunState::failed)
                     : waiting_ ? RunState::paused
                     : open     ? RunState::training
                                : RunState::loading;
    if (ended)
        training.message = fmt::format("{}: {}", name_, link_->ended());
    else if (!open)
        training.message = fmt::format("waiting for the next step of {}", name_);
    training.step = step_;
    training.total_steps = total_;
    training.run_to = run_to_ == TrainerRecord::kNever ? 0 : run_to_;
    training.loss = loss_;
    training.train_psnr = psnr_;
    training.viewer_share = share_;
    training.copy_budget = budget_;
    training.gaussians = gaussians_;
    training.eta_seconds =
        total_ > step_ ? static_cast<double>(total_ - step_) * training.step_ms / 1000 : 0;
}

}  // namespace gs
