// The engine's training half: steps, pauses, live edits, evaluation in slices, checkpoints and
// exports.
#include <algorithm>
#include <cmath>

#include "app/session/engine.h"
#include "app/session/scene_info.h"
#include "base/log.h"
#include "base/record/scope.h"

namespace gs {

bool Engine::may_train(const char* verb) {
    if (scene_ && scene_->trainer && !run_ended_ && !scene_->trainer->finished()) return true;
    if (!scene_)
        report_error(fmt::format("cannot {}: no capture is open", verb));
    else if (!scene_->trainer)
        report_error(fmt::format("cannot {}: {} is a splat file; open a capture to train", verb,
                                 scene_->name));
    else
        report_error(fmt::format("cannot {}: the run has ended at step {}", verb, steps_done()));
    return false;
}

void Engine::carry_out(const StartCommand&) {
    if (!may_train("train")) return;
    run_to_ = 0;
    state_ = RunState::training;
    message_.clear();
}

void Engine::carry_out(const PauseCommand&) {
    if (state_ == RunState::training) pause(RunState::paused);
}

void Engine::carry_out(const StepCommand& command) {
    carry_out(RunToCommand{steps_done() + command.steps});
}

void Engine::carry_out(const RunToCommand& command) {
    if (!may_train("train")) return;
    if (command.step <= steps_done())
        return report_error(fmt::format("cannot run to step {}: step {} is done already",
                                        command.step, steps_done()));
    run_to_ = command.step;
    state_ = RunState::training;
    message_.clear();
}

void Engine::carry_out(const StopCommand&) {
    if (!scene_ || !scene_->trainer) return report_error("nothing is training");
    save_unsaved_progress("at the end of the run");
    run_ended_ = true;
    pause(RunState::finished);
}

void Engine::carry_out(const SetCommand& command) {
    TrainingSettings changed = options_.settings;
    if (auto set = set_setting(changed, command.name, command.value); !set)
        return report_error(set.error().text());
    const SettingField* field = find_setting(command.name);
    const double before = options_.settings.*field->value, after = changed.*field->value;
    if (before == after) return;
    if (!field->live && steps_done() > 0)
        return report_error(fmt::format("{} cannot change while a run goes on", command.name));
    options_.settings = changed;
    if (scene_ && scene_->trainer) {
        scene_->trainer->set_settings(changed);
        record_.add_mark(steps_done(), fmt::format("{} {:g} -> {:g}", command.name, before, after));
        curves_changed_ = true;
    }
    report_done(fmt::format("step {}: {} {:g} -> {:g}", steps_done(), command.name, before, after));
    this->changed().settings =
        std::make_shared<const std::vector<SettingRow>>(setting_rows(changed));
}

void Engine::carry_out(const ProfileStepsCommand& command) {
    if (!may_train("profile steps")) return;
    if (command.last <= steps_done())
        return report_error(
            fmt::format("step {} is done already: nothing is left to profile", command.last));
    if (!options_.set_profiling)
        return report_error("cannot profile steps: nothing runs on a CUDA device");
    profile_ = ProfileWindow(command.first, command.last, options_.set_profiling);
    report_done(
        fmt::format("steps {} to {} will be marked for nsys and ncu", command.first, command.last));
}

void Engine::carry_out(const MeasureLimitsCommand& command) {
    if (!options_.limits) return report_error("this machine's limits cannot be measured here");
    auto limits = options_.limits(command.again);
    if (!limits) return report_error(limits.error().text());
    report_done("measured what " + limits->machine + " can do at most");
    changed().limits = std::move(*limits);
}

void Engine::carry_out(const CheckpointCommand& command) { save_checkpoint(command.path); }

void Engine::carry_out(const EvaluateCommand&) {
    if (!scene_ || !scene_->capture) return report_error("cannot evaluate: no capture is open");
    start_evaluation();
}

bool Engine::train_once() {
    if (state_ != RunState::training) return false;
    const Clock::time_point begin = Clock::now();
    profile_.before_step(steps_done() + 1);
    const StepReport report = scene_->trainer->step();
    profile_.after_step(report.step);
    const TrainingSettings& s = options_.settings;
    const double share = std::min(1.0, static_cast<double>(report.step) / std::max(1.0, s.steps));
    record_.add_step(report, s.lr_means * std::pow(s.lr_means_final / s.lr_means, share));
    status_changed_ = curves_changed_ = cameras_changed_ = true;

    const auto due = [&](std::uint64_t every) { return every > 0 && report.step % every == 0; };
    if (due(options_.checkpoint_every)) save_checkpoint({});
    const bool finished = scene_->trainer->finished();
    if (finished || (run_to_ > 0 && report.step >= run_to_)) {
        pause(finished ? RunState::finished : RunState::paused);
        if (finished) save_unsaved_progress("at the end of the run");
    }
    if (finished || due(options_.evaluate_every)) start_evaluation();
    budget_.add_work(seconds_since(begin), request_ ? request_->settings.viewer_budget : 0.0);
    return true;
}

void Engine::pause(RunState state) {
    profile_.close();  // what is done while paused is no step
    state_ = state;
    run_to_ = 0;
    status_changed_ = curves_changed_ = cameras_changed_ = true;
    last_status_ = last_cameras_ = {};
}

void Engine::start_evaluation() {
    EvaluationJob job;
    job.views = scene_->capture->view_indices(true);
    if (job.views.empty()) job.views = scene_->capture->view_indices(false);
    job.result.step = steps_done();
    evaluation_ = std::move(job);
    status_changed_ = true;
    last_status_ = {};
}

bool Engine::evaluate_once() {
    if (!evaluation_) return false;
    EvaluationJob& job = *evaluation_;
    const Clock::time_point begin = Clock::now();
    if (job.next < job.views.size()) {
        const std::vector<std::size_t> one{job.views[job.next++]};
        RenderOptions options = render_options(*scene_, {});
        Evaluation slice = scene_->trainer ? scene_->trainer->evaluate(one)
                                           : evaluate_model(*scene_->model, *scene_->capture, one,
                                                            *scene_->rasterizer, options);
        std::move(slice.images.begin(), slice.images.end(), std::back_inserter(job.result.images));
        const double seconds = seconds_since(begin);
        job.result.seconds += seconds;
        budget_.add_work(seconds, request_ ? request_->settings.viewer_budget : 0.0);
        return true;
    }
    const double n = static_cast<double>(std::max<std::size_t>(1, job.result.images.size()));
    for (const ImageScore& score : job.result.images) {
        job.result.psnr += score.psnr / n;
        job.result.ssim += score.ssim / n;
    }
    record_.add_evaluation(job.result);
    report_done(fmt::format("step {}: PSNR {:.2f} dB, SSIM {:.4f} over {} views ({:.2f} s)",
                            job.result.step, job.result.psnr, job.result.ssim,
                            job.result.images.size(), job.result.seconds));
    evaluation_.reset();
    status_changed_ = curves_changed_ = cameras_changed_ = true;
    last_status_ = last_cameras_ = last_curves_ = {};
    return true;
}

std::string Engine::output_dir() const {
    if (!options_.output_dir.empty()) return options_.output_dir;
    return scene_ ? (fs::path("gausscope-out") / scene_->name).string()
                  : std::string("gausscope-out");
}

bool Engine::save_checkpoint(std::string path) {
    if (!scene_ || !scene_->trainer) {
        report_error("cannot save a checkpoint: nothing is training");
        return false;
    }
    if (path.empty()) path = (fs::path(output_dir()) / "checkpoint.gsc").string();
    std::error_code ignored;  // save_checkpoint says it better when the folder cannot be made
    if (const fs::path parent = fs::path(path).parent_path(); !parent.empty())
        fs::create_directories(parent, ignored);
    if (auto saved = scene_->trainer->save_checkpoint(path); !saved) {
        report_error(saved.error().text());
        return false;
    }
    saved_step_ = steps_done();
    last_checkpoint_ = path;
    report_done(fmt::format("saved step {} to {}", saved_step_, path));
    return true;
}

void Engine::save_unsaved_progress(const char* why) {
    if (!scene_ || !scene_->trainer || steps_done() == saved_step_) return;
    log_info("saving {}", why);
    save_checkpoint({});
}

}  // namespace gs
