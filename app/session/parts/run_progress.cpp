#include "app/session/parts/run_progress.h"

#include "app/session/parts/lapse_state.h"
#include "app/session/parts/scene_info.h"
#include "app/session/photo_looks.h"
#include "trainer/checkpoint.h"

namespace gs {
namespace {

constexpr std::uint64_t kEveryStep = ~std::uint64_t{0};
constexpr double kCurvesInterval = 0.25, kCamerasInterval = 1.0,
                 kLapseInterval = 1.0;  // seconds

}  // namespace

void RunProgress::scene_changed(SceneChange change) {
    if (change != SceneChange::scene && change != SceneChange::restarted) return;
    const LoadedScene* scene = ctx_.scene ? &*ctx_.scene : nullptr;
    if (change == SceneChange::scene) others_.clear();
    plots_.begin(scene && scene->capture ? camera_rows(*scene->capture) : std::vector<CameraRow>());
    if (Run* run = scene ? scene->run.get() : nullptr) {
        for (const StepReport& step : run->record().steps.rows()) plots_.add_step(step);
        for (const Evaluation& one : run->record().evaluations) plots_.add_evaluation(one);
        follow(*run, nullptr);
    }
    Published& view = ctx_.events.changed();
    view.cameras = plots_.cameras();
    view.curves = plots_.curves();
    publish_others();
    publish_lapse();
    publish_looks();
    curves_.at_once();
    cameras_.at_once();
}

void RunProgress::follow(Run& run, const StepReport* step) {
    if (step) {
        plots_.add_step(*step);
        curves_.changed = cameras_.changed = true;
    }
    for (std::size_t i = plots_.marks(); i < run.record().marks.size(); ++i) {
        const RunMark& mark = run.record().marks[i];
        plots_.add_mark(mark.step, mark.text, mark.alarm);
        curves_.changed = true;
    }
    if (run.keeper().lapse().pictures() != lapse_taken_) lapse_.changed = true;
}

void RunProgress::add_evaluation(const Evaluation& evaluation) {
    plots_.add_evaluation(evaluation);
    cameras_.at_once();
    curves_.at_once();
}

void RunProgress::rest() {
    publish_lapse();
    cameras_.at_once();
    curves_.changed = true;
}

void RunProgress::keep_as_other(const std::string& folder) {
    others_.push_back(
        {{fs::path(folder).filename(), folder, *plots_.curves(), {}}, ctx_.options.settings});
}

void RunProgress::show_other(const std::string& folder) {
    const auto there = run_in(folder);
    StepLog log;
    log.take_earlier(fs::path(folder) / "metrics.csv", kEveryStep);
    const auto description = read_run_description(folder);
    if (!there || (log.rows().empty() && !description))
        return ctx_.events.error(folder +
                                 " is not a run with curves: metrics.csv or run.json is missing");
    RunPlots plots;
    for (const StepReport& step : log.rows()) plots.add_step(step);
    if (description) {
        for (const Evaluation& e : description->evaluations) plots.add_evaluation(e);
        for (const RunMark& mark : description->marks)
            plots.add_mark(mark.step, mark.text, mark.alarm);
    }
    const fs::path named = fs::absolute(folder).lexically_normal();
    OtherCurves other{(named.has_filename() ? named : named.parent_path()).filename(),
                      folder,
                      *plots.curves(),
                      {}};
    const auto head = read_checkpoint_head(there->checkpoint);
    std::erase_if(others_, [&](const Other& o) { return o.shown.folder == folder; });
    others_.push_back({std::move(other), head ? std::optional(head->settings) : std::nullopt});
    publish_others();
}

void RunProgress::hide_other(const std::string& name) {
    if (std::erase_if(others_, [&](const Other& o) {
            return name.empty() || o.shown.name == name || o.shown.folder == name;
        }) == 0)
        return ctx_.events.error("no curves of that run are shown");
    publish_others();
}

void RunProgress::publish_others() {
    const TrainingSettings& here = ctx_.options.settings;
    std::vector<OtherCurves> out;
    for (const Other& other : others_) {
        out.push_back(other.shown);
        for (const SettingField& field : setting_fields())
            if (other.settings && field.of(*other.settings) != field.of(here))
                out.back().differences.push_back(fmt::format("{} {} (here {})", field.name,
                                                             field.text(field.of(*other.settings)),
                                                             field.text(field.of(here))));
    }
    ctx_.events.changed().other_curves =
        std::make_shared<const std::vector<OtherCurves>>(std::move(out));
}

void RunProgress::publish_looks() {
    const Trainer* trainer = ctx_.scene ? ctx_.scene->trainer : nullptr;
    ctx_.events.changed().looks = trainer ? photo_looks(*trainer, pose_arrows_) : nullptr;
}

void RunProgress::show_pose_arrows(std::optional<bool> on) {
    pose_arrows_ = on.value_or(!pose_arrows_);
    publish_looks();
}

void RunProgress::publish_lapse() {
    const auto state = ctx_.scene ? lapse_state(*ctx_.scene) : nullptr;
    lapse_taken_ = state ? state->taken : 0;
    ctx_.events.changed().time_lapse = state;
    lapse_.published();
}

bool RunProgress::publish_when_due(bool training) {
    bool any = false;
    if (cameras_.due(kCamerasInterval)) {
        if (ctx_.scene && ctx_.scene->trainer && corrects_cameras(ctx_.scene->trainer->settings()))
            plots_.take_poses(*ctx_.scene->trainer);
        ctx_.events.changed().cameras = plots_.cameras();
        publish_looks();
        cameras_.published();
        any = true;
    }
    if (lapse_.due(kLapseInterval)) {
        publish_lapse();
        any = true;
    }
    if (curves_.due(training ? kCurvesInterval : 0)) {
        ctx_.events.changed().curves = plots_.curves();
        curves_.published();
        any = true;
    }
    return any;
}

}  // namespace gs
