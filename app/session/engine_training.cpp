// The engine's training half: when the run goes on and when it rests, live edits, evaluation where
// nothing trains. What a run does and leaves behind is trainer/run.h.
#include <cmath>

#include "app/session/engine.h"
#include "app/session/scene_info.h"
#include "base/log.h"
#include "base/seconds.h"

namespace gs {

bool Engine::may_train(const char* verb) {
    if (scene_ && scene_->run && !scene_->run->ended() && !scene_->trainer->finished()) return true;
    if (!scene_)
        tell_.error(fmt::format("cannot {}: no capture is open", verb));
    else if (!scene_->run)
        tell_.error(fmt::format("cannot {}: {} is a splat file; open a capture to train", verb,
                                scene_->name));
    else
        tell_.error(fmt::format("cannot {}: the run has ended at step {}", verb, steps_done()));
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
        return tell_.error(fmt::format("cannot run to step {}: step {} is done already",
                                       command.step, steps_done()));
    run_to_ = command.step;
    state_ = RunState::training;
    message_.clear();
}

void Engine::carry_out(const StopCommand&) {
    if (!scene_ || !scene_->run) return tell_.error("nothing is training");
    finish_run();
    pause(RunState::finished);
}

void Engine::carry_out(const SetCommand& command) {
    TrainingSettings changed = options_.settings;
    if (auto set = set_setting(changed, command.name, command.value); !set)
        return tell_.error(set.error().text());
    const SettingField* field = find_setting(command.name);
    const double before = options_.settings.*field->value, after = changed.*field->value;
    if (before == after) return;
    if (!field->live && steps_done() > 0)
        return tell_.error(fmt::format("{} cannot change while a run goes on", command.name));
    options_.settings = changed;
    if (scene_ && scene_->trainer) {
        scene_->trainer->set_settings(changed);
        record_.add_mark(steps_done(), fmt::format("{} {:g} -> {:g}", command.name, before, after));
        curves_changed_ = true;
    }
    tell_.done(fmt::format("step {}: {} {:g} -> {:g}", steps_done(), command.name, before, after));
    tell_.changed().settings = setting_rows(changed);
}

void Engine::carry_out(const ProfileStepsCommand& command) {
    if (!may_train("profile steps")) return;
    if (command.last <= steps_done())
        return tell_.error(
            fmt::format("step {} is done already: nothing is left to profile", command.last));
    if (!options_.run.set_profiling)
        return tell_.error("cannot profile steps: nothing runs on a CUDA device");
    scene_->run->profile({command.first, command.last});
    tell_.done(
        fmt::format("steps {} to {} will be marked for nsys and ncu", command.first, command.last));
}

void Engine::carry_out(const MeasureLimitsCommand& command) {
    if (!options_.limits) return tell_.error("this machine's limits cannot be measured here");
    auto limits = options_.limits(command.again);
    if (!limits) return tell_.error(limits.error().text());
    tell_.done("measured what " + limits->machine + " can do at most");
    tell_.changed().limits = std::move(*limits);
}

void Engine::carry_out(const CheckpointCommand& command) {
    if (!scene_ || !scene_->run)
        return tell_.error("cannot save a checkpoint: nothing is training");
    if (const auto saved = scene_->run->save_checkpoint(command.path); !saved)
        tell_.error(saved.error().text());
}

void Engine::carry_out(const EvaluateCommand&) {
    if (!scene_ || !scene_->capture) return tell_.error("cannot evaluate: no capture is open");
    if (scene_->run) {
        scene_->run->evaluate();
    } else {
        auto views = scene_->capture->view_indices(true);
        if (views.empty()) views = scene_->capture->view_indices(false);
        evaluation_.emplace(std::move(views), 0);
    }
    status_changed_ = true;
    last_status_ = {};
}

/// A step, or a photo of the run's evaluation.
bool Engine::train_once() {
    if (!scene_ || !scene_->run) return false;
    Run& run = *scene_->run;
    if (state_ != RunState::training && !run.evaluating()) return false;
    const Clock::time_point begin = Clock::now();
    const Run::Did did = run.step();
    if (did == Run::Did::evaluation) tell_evaluation(run.evaluation());
    if (did == Run::Did::step) {
        record_.add_step(run.last_step());
        status_changed_ = curves_changed_ = cameras_changed_ = true;
    }
    if (state_ == RunState::training && did != Run::Did::photo) {
        message_ = run.failure();
        if (!message_.empty())
            pause(RunState::failed);
        else if (run.ended())
            pause(RunState::finished);
        else if (run_to_ > 0 && steps_done() >= run_to_)
            pause(RunState::paused);
    }
    viewer_.add_work(seconds_since(begin));
    return true;
}

void Engine::pause(RunState state) {
    scene_->run->pause();  // what is done while paused is no step
    state_ = state;
    run_to_ = 0;
    status_changed_ = curves_changed_ = cameras_changed_ = true;
    last_status_ = last_cameras_ = {};
}

bool Engine::evaluating() const {
    return evaluation_ || (scene_ && scene_->run && scene_->run->evaluating());
}

bool Engine::evaluate_once() {
    if (!evaluation_) return false;
    const Clock::time_point begin = Clock::now();
    const bool more = evaluation_->measure_next([&](const std::vector<std::size_t>& views) {
        return evaluate_model(*scene_->model, *scene_->capture, views, *scene_->rasterizer,
                              render_options(*scene_, {}));
    });
    viewer_.add_work(seconds_since(begin));
    if (more) return true;
    tell_evaluation(evaluation_->result());
    evaluation_.reset();
    return true;
}

void Engine::tell_evaluation(const Evaluation& evaluation) {
    record_.add_evaluation(evaluation);
    if (!std::isnan(evaluation.psnr))
        tell_.done(fmt::format("step {}: PSNR {:.2f} dB, SSIM {:.4f} over {} views ({:.2f} s)",
                               evaluation.step, evaluation.psnr, evaluation.ssim,
                               evaluation.images.size(), evaluation.seconds));
    status_changed_ = curves_changed_ = cameras_changed_ = true;
    last_status_ = last_cameras_ = last_curves_ = {};
}

void Engine::finish_run() {
    if (!scene_ || !scene_->run) return;
    scene_->run->finish();
    last_checkpoint_ = scene_->run->files().at("checkpoint");
}

}  // namespace gs
