#include "app/session/parts/training.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "base/seconds.h"
#include "renderer/io/captures/shrunk_capture.h"
#include "trainer/settings/strategy.h"

namespace gs {
namespace {

constexpr const char* kEvaluationJob = "evaluation";

/// Null, with an error reported: there is no such snapshot.
Run* run_to_go_back(const EngineContext& ctx, Training::Which& which) {
    Run* run = ctx.scene ? ctx.scene->run.get() : nullptr;
    if (!run || run->snapshots().all().empty()) {
        ctx.events.error(
            "no snapshot to go back to: one is taken before each edit during training");
        return nullptr;
    }
    if (which.number != 0) return run;
    const auto number = run->snapshots().newest_of(which.step);
    if (number) which.number = *number;
    if (!number) ctx.events.error(number.error().text());
    return number ? run : nullptr;
}

}  // namespace

void Training::scene_changed(SceneChange change) {
    if (change == SceneChange::closing && discards_ && ctx_.scene && ctx_.scene->run)
        ctx_.scene->run->discard();
    if (change == SceneChange::closing) finish();
    if (change != SceneChange::scene) return;
    const LoadedScene* scene = ctx_.scene ? &*ctx_.scene : nullptr;
    run_to_ = 0;
    message_.clear();
    not_saved_.clear();
    discards_ = told_finished_ = asked_for_evaluation_ = false;
    interrupted_.reset();
    state_ = !scene                                         ? RunState::empty
             : scene->trainer && scene->trainer->finished() ? RunState::finished
             : steps_done() > 0                             ? RunState::paused
                                                            : RunState::ready;
    if (!scene || !scene->run) return;
    scene->run->options().tell = [&events = ctx_.events](LogLevel level, const std::string& text) {
        events.of_run(level, text);
    };
    scene->run->options().last_view = [&viewer = the<Viewer>()]() -> std::optional<Camera> {
        const auto& request = viewer.request();
        if (!request || request->camera.width <= 0) return std::nullopt;
        return request->camera;
    };
}

void Training::not_opened(std::string why) {
    state_ = why.empty() ? RunState::empty : RunState::failed;
    message_ = std::move(why);
}

bool Training::may_train(const char* verb) {
    Run* const run = ctx_.scene ? ctx_.scene->run.get() : nullptr;
    if (run && run->can_step()) return true;
    if (!ctx_.scene)
        ctx_.events.error(fmt::format("cannot {}: no capture is open", verb));
    else if (!ctx_.scene->run)
        ctx_.events.error(fmt::format("cannot {}: {} is a splat file; open a capture to train",
                                      verb, ctx_.scene->name));
    else if (!run->failure().empty())
        ctx_.events.error(fmt::format("cannot {}: {}", verb, run->failure()));
    else
        ctx_.events.error(
            fmt::format("cannot {}: this run finished at step {}; raise steps to continue", verb,
                        steps_done()));
    return false;
}

void Training::start() {
    if (the<FollowedTraining>().follows())
        return the<FollowedTraining>().run_to(service::TrainerRecord::kNever);
    if (!may_train("train")) return;
    run_to_ = 0;
    begin_training(static_cast<std::uint64_t>(ctx_.options.settings.steps));
}

void Training::begin_training(std::uint64_t to) {
    state_ = RunState::training;
    message_.clear();
    discards_ = told_finished_ = false;
    interrupted_.reset();
    ctx_.scene->run->resume();
    log_info("training from step {} to {}", steps_done(), to);
}

void Training::pause() {
    interrupted_.reset();
    if (the<FollowedTraining>().follows()) the<FollowedTraining>().run_to(0);
    if (state_ == RunState::training) rest(RunState::paused);
}

void Training::step(std::uint64_t count) {
    const FollowedTraining& followed = the<FollowedTraining>();
    run_to((followed.follows() ? followed.steps_done() : steps_done()) + count);
}

void Training::run_to(std::uint64_t step) {
    if (the<FollowedTraining>().follows()) return the<FollowedTraining>().run_to(step);
    if (!may_train("train")) return;
    if (step <= steps_done())
        return ctx_.events.error(
            fmt::format("cannot run to step {}: step {} is already done", step, steps_done()));
    run_to_ = step;
    begin_training(step);
}

void Training::stop() {
    if (the<FollowedTraining>().follows())
        return ctx_.events.error("cannot finish a training of another process: stop it there");
    if (!ctx_.scene || !ctx_.scene->run) return ctx_.events.error("nothing is training");
    finish();
    rest(RunState::finished);
    if (!told_finished_) report_finish(*ctx_.scene->run);
}

/// Restores the shown state of that step.
void Training::went_back(std::string what) {
    const Run& run = *ctx_.scene->run;
    ctx_.history.forget({EditOf::setting});
    message_ = run.failure();
    told_finished_ = run.ended();
    rest(!message_.empty() ? RunState::failed
         : run.ended()     ? RunState::finished
                           : RunState::paused);
    if (message_.empty()) ctx_.events.done(what, true);
    ctx_.run_changed(SceneChange::restarted);
}

void Training::revert(Which which) {
    Run* run = run_to_go_back(ctx_, which);
    if (!run) return;
    const std::uint64_t before = steps_done();
    const auto done = run->snapshots().revert(which.number);
    if (!done) ctx_.events.error(done.error().text());
    if (!done && run->failure().empty()) return;  // it stands where it stood
    went_back(fmt::format("back at step {}, from {}", steps_done(), before));
}

void Training::branch(Which which) {
    Run* run = run_to_go_back(ctx_, which);
    if (!run) return;
    const auto done = run->snapshots().branch(which.number);
    if (!done) ctx_.events.error(done.error().text());
    if (!done && run->failure().empty()) return;
    last_checkpoint_.clear();
    const std::string& parent = run->options().parent;
    the<RunProgress>().keep_as_other(parent.empty() ? "before" : parent);
    went_back(fmt::format("branched a new run from step {}, in {}", steps_done(),
                          run->keeper().folder().string()));
}

void Training::save_checkpoint(const std::string& path) {
    if (!ctx_.scene || !ctx_.scene->run)
        return ctx_.events.error("nothing to save: no training run is open");
    if (const auto saved = ctx_.scene->run->keeper().save_checkpoint(path); !saved)
        ctx_.events.error(saved.error().text());
}

void Training::prepare_to_close(Closing how) {
    discards_ = how == Closing::discard;
    if (how == Closing::stay) {
        const auto to = std::exchange(interrupted_, {});
        if (to && state_ == RunState::paused) *to > 0 ? run_to(*to) : start();
        return;
    }
    not_saved_.clear();
    if (!ctx_.scene || !ctx_.scene->run) return;
    const auto interrupted = running() ? std::optional(run_to_) : interrupted_;
    pause();
    interrupted_ = interrupted;
    ctx_.events.status.at_once();
    Run& run = *ctx_.scene->run;
    if (discards_) return;
    const auto saved = run.keeper().save_as_parent();
    if (saved) return;
    not_saved_.push_back(saved.error().text());
    for (const auto& [what, where] : run.keeper().files().all())
        if (fs::path(where).parent_path() != run.keeper().folder())
            not_saved_.push_back("a copy: " + where);
}

void Training::evaluate() {
    if (!ctx_.scene || !ctx_.scene->capture)
        return ctx_.events.error("cannot evaluate: no capture is open");
    asked_for_evaluation_ = true;
    if (ctx_.scene->run) return ctx_.scene->run->evaluate();
    const auto photos = std::make_shared<EvaluationJob>(*ctx_.scene->capture, steps_done());
    ctx_.jobs.start_slices(
        {.name = kEvaluationJob, .of_scene = true, .like_training = true},
        [photos](const Shown& shown, const Progress&) {
            LoadedScene& scene = shown.scene;
            const auto measure = [&](const std::vector<std::size_t>& some) {
                return evaluate_model(*scene.model, *scene.capture, some, *scene.rasterizer,
                                      render_options(scene, {}), nullptr);
            };
            return photos->measure_next(measure) ? Jobs::Slice::worked : Jobs::Slice::ended;
        },
        [this, photos] { report_evaluation(photos->result()); },
        ctx_.events.if_failed("the evaluation was cancelled"));
}

bool Training::advance() {
    if (!ctx_.scene || !ctx_.scene->run) return false;
    Run& run = *ctx_.scene->run;
    if (state_ != RunState::training && !run.evaluating()) return false;
    const auto begin = std::chrono::steady_clock::now();
    const Run::Did did = run.step();
    if (did == Run::Did::evaluation) report_evaluation(run.record().evaluation);
    if (did == Run::Did::step) ctx_.events.status.changed = true;
    the<RunProgress>().follow(run, did == Run::Did::step ? &run.record().last : nullptr);
    if (state_ == RunState::training && did != Run::Did::photo) {
        message_ = run.failure();
        if (!message_.empty())
            rest(RunState::failed);
        else if (run.ended())
            rest(RunState::finished);
        else if (run_to_ > 0 && steps_done() >= run_to_)
            rest(RunState::paused);
    }
    // The last measurement comes after the last step.
    if (run.ended() && !run.evaluating() && did != Run::Did::photo && !told_finished_)
        report_finish(run);
    the<Viewer>().add_work(seconds_since(begin));
    return true;
}

void Training::settings_changed() {
    Run& run = *ctx_.scene->run;
    the<RunProgress>().follow(run, nullptr);
    if (state_ == RunState::finished && !run.ended() && !run.trainer().finished())
        rest(RunState::paused);
}

void Training::rest(RunState state) {
    ctx_.scene->run->pause();  // what is done while paused is no step
    state_ = state;
    run_to_ = 0;
    interrupted_.reset();
    if (state == RunState::paused) log_info("paused after step {}", steps_done());
    ctx_.events.status.at_once();
    the<RunProgress>().rest();
}

bool Training::evaluating() const {
    return ctx_.jobs.running(kEvaluationJob) ||
           (ctx_.scene && ctx_.scene->run && ctx_.scene->run->evaluating());
}

void Training::report_evaluation(const Evaluation& evaluation) {
    the<RunProgress>().add_evaluation(evaluation);
    const bool asked_for = std::exchange(asked_for_evaluation_, false);
    if (evaluation.unread.count > 0) ctx_.events.warning(evaluation.unread.words());
    if (!std::isnan(evaluation.psnr))
        ctx_.events.done(
            fmt::format("step {}: PSNR {:.2f} dB, SSIM {:.4f} over {} views ({:.2f} s)",
                        evaluation.step, evaluation.psnr, evaluation.ssim, evaluation.images.size(),
                        evaluation.seconds),
            asked_for, {"The Images panel lists all photos, worst first."});
    ctx_.events.status.at_once();
}

void Training::report_finish(Run& run) {
    told_finished_ = true;
    const std::uint64_t taken = steps_done() - std::min(run.times().first_step, steps_done());
    if (taken == 0) return;
    const Evaluation& test = the<RunProgress>().plots().last_evaluation();
    const std::string score =
        std::isfinite(test.psnr) && test.step == steps_done()
            ? fmt::format(", {:.2f} dB over {} photos", test.psnr, test.images.size())
            : std::string();
    std::vector<std::string> files;
    for (const auto& [what, where] : run.keeper().files().all())
        files.push_back(what + ": " + where);
    ctx_.events.done(fmt::format("finished at step {}: {} steps in {}{}, {} Gaussians",
                                 steps_done(), taken, format_duration(run.times().seconds), score,
                                 format_count(static_cast<double>(run.trainer().gaussian_count()))),
                     true, std::move(files));
}

void Training::finish() {
    if (!ctx_.scene || !ctx_.scene->run) return;
    ctx_.scene->run->finish();
    last_checkpoint_ = ctx_.scene->run->keeper().files().at("checkpoint");
}

void Training::describe(Published& view) const {
    EngineStatus& status = view.status;
    TrainingStatus& training = view.training;
    const LoadedScene* scene = ctx_.scene ? &*ctx_.scene : nullptr;
    Run* run = scene ? scene->run.get() : nullptr;
    status.step_cost = {};
    training = {};
    training.state = state_;
    training.message = message_;
    training.step = steps_done();
    training.total_steps = static_cast<std::uint64_t>(ctx_.options.settings.steps);
    training.run_to = run_to_;
    const StepReport last = run ? run->record().measured : StepReport();
    if (last.measured_step > 0) {  // what is not known stays NaN
        training.loss = last.loss;
        training.train_psnr = last.psnr;
        const Capture& capture = scene->trainer->capture();
        if (last.measured_view < capture.views.size()) {
            const Camera camera =
                shrunk_camera(capture.views[last.measured_view].camera, last.measured_divisor);
            status.step_cost = {last.counters, camera.width, camera.height,
                                scene->trainer->render_options().sh_degree};
        }
    }
    if (!the<RunProgress>().plots().last_evaluation().images.empty()) {
        training.test_psnr = the<RunProgress>().plots().last_evaluation().psnr;
        training.test_step = the<RunProgress>().plots().last_evaluation().step;
        training.test_ssim = the<RunProgress>().plots().last_evaluation().ssim;
    }
    training.step_ms = the<RunProgress>().plots().mean_step_ms();
    const std::uint64_t goal = run_to_ > 0 ? run_to_ : training.total_steps;
    const double left = goal > training.step ? static_cast<double>(goal - training.step) : 0.0;
    training.viewer_share = the<Viewer>().share();
    training.eta_seconds =
        left * training.step_ms / 1000.0 / std::max(0.05, 1.0 - training.viewer_share);
    training.gaussians = scene ? scene->gaussian_count() : 0;
    if (run) {
        training.strategy = strategy_of(ctx_.options.settings).describe(ctx_.options.settings);
        training.seconds = run->times().seconds;
        training.first_step = run->times().first_step;
        training.files = run->keeper().files().all();
        training.unsaved = run->unsaved().any;
        training.unsaved_edits = run->unsaved().edits;
        training.not_saved = not_saved_;
        for (const RunSnapshot& snapshot :
             run->snapshots().all())  // not copied: each holds a whole run
            training.snapshots.push_back(
                {snapshot.step(), snapshot.bytes(), snapshot.why, snapshot.number});
    }
    training.last_checkpoint = run ? run->keeper().files().at("checkpoint") : last_checkpoint_;
    the<FollowedTraining>().describe(training);
    status.evaluating = evaluating();
    status.trains = run != nullptr;
}

}  // namespace gs
