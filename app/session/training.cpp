#include "app/session/training.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "app/session/lapse_state.h"
#include "app/session/photo_looks.h"
#include "app/session/scene_info.h"
#include "base/format.h"
#include "base/log.h"
#include "base/seconds.h"
#include "trainer/checkpoint.h"
#include "trainer/run_edit.h"
#include "trainer/strategy.h"

namespace gs {
namespace {

constexpr const char* kEvaluationJob = "evaluation";
constexpr std::uint64_t kEveryStep = ~std::uint64_t{0};
constexpr double kCurvesInterval = 0.25, kCamerasInterval = 1.0,
                 kLapseInterval = 1.0;  // seconds

/// "lr_means 0.00016 -> 0.0002", or the box that is cropped to; empty: nothing differs.
std::string words_of_edit(const TrainingSettings& before, const TrainingSettings& after) {
    std::vector<std::string> words;
    bool crops = false;
    for (const SettingField& field : setting_fields()) {
        if (before.*field.value == after.*field.value) continue;
        crops = crops || std::string_view(field.name).starts_with("crop");
        words.push_back(
            fmt::format("{} {:g} -> {:g}", field.name, before.*field.value, after.*field.value));
    }
    const auto box = crop_of(after);
    if (!crops || (!box && before.crop == 0)) return fmt::format("{}", fmt::join(words, ", "));
    if (!box) return "crop off";
    return fmt::format("crop to {:g} {:g} {:g} .. {:g} {:g} {:g}", box->lo.x, box->lo.y, box->lo.z,
                       box->hi.x, box->hi.y, box->hi.z);
}

}  // namespace

Training::Training(EngineContext ctx, TrainingSettings& settings, Viewer& viewer)
    : ctx_(std::move(ctx)), settings_(settings), viewer_(viewer) {
    ctx_.events.changed().settings = setting_rows(settings_);
}

void Training::scene_changed(SceneChange change) {
    if (change == SceneChange::closing) finish();
    if (change != SceneChange::scene) return;
    const LoadedScene* scene = ctx_.scene ? &*ctx_.scene : nullptr;
    run_to_ = 0;
    message_.clear();
    others_.clear();
    publish_others();
    told_finished_ = false;
    state_ = !scene                                         ? RunState::empty
             : scene->trainer && scene->trainer->finished() ? RunState::finished
             : steps_done() > 0                             ? RunState::paused
                                                            : RunState::ready;
    plots_.begin(scene && scene->capture ? camera_rows(*scene->capture) : std::vector<CameraRow>());
    Published& view = ctx_.events.changed();
    view.cameras = plots_.cameras();
    view.curves = plots_.curves();
    publish_lapse();
    publish_looks();
    if (!scene || !scene->run) return;
    scene->run->options().tell = [&events = ctx_.events](LogLevel level, const std::string& text) {
        events.of_run(level, text);
    };
    scene->run->options().last_view = [&viewer = viewer_]() -> std::optional<Camera> {
        const auto& request = viewer.request();
        if (!request || request->camera.width <= 0) return std::nullopt;
        return request->camera;
    };
    settings_ = scene->trainer->settings();
    view.settings = setting_rows(settings_);
    recall(*scene->run);
}

/// The plots and tables of a resumed run start with their earlier content.
void Training::recall(const Run& run) {
    for (const StepReport& step : run.record().steps.rows()) plots_.add_step(step);
    for (const Evaluation& evaluation : run.record().evaluations) plots_.add_evaluation(evaluation);
    take_marks(run);
    curves_.at_once();
    cameras_.at_once();
}

/// Those that the run has made since.
void Training::take_marks(const Run& run) {
    for (std::size_t i = plots_.marks(); i < run.record().marks.size(); ++i) {
        const RunMark& mark = run.record().marks[i];
        plots_.add_mark(mark.step, mark.text, mark.alarm);
        curves_.changed = true;
    }
}

void Training::not_opened(std::string why) {
    state_ = why.empty() ? RunState::empty : RunState::failed;
    message_ = std::move(why);
}

bool Training::may_train(const char* verb) {
    if (ctx_.scene && ctx_.scene->run && !ctx_.scene->run->ended() &&
        !ctx_.scene->trainer->finished())
        return true;
    if (!ctx_.scene)
        ctx_.events.error(fmt::format("cannot {}: no capture is open", verb));
    else if (!ctx_.scene->run)
        ctx_.events.error(fmt::format("cannot {}: {} is a splat file; open a capture to train",
                                      verb, ctx_.scene->name));
    else
        ctx_.events.error(fmt::format("cannot {}: the run ended at step {}", verb, steps_done()));
    return false;
}

void Training::start() {
    if (!may_train("train")) return;
    run_to_ = 0;
    begin_training(static_cast<std::uint64_t>(settings_.steps));
}

void Training::begin_training(std::uint64_t to) {
    state_ = RunState::training;
    message_.clear();
    told_finished_ = false;
    log_info("training from step {} to {}", steps_done(), to);
}

void Training::pause() {
    if (state_ == RunState::training) rest(RunState::paused);
}

void Training::capture_step(const std::string& path) {
    if (!may_train("capture a step")) return;
    std::error_code error;
    if (!path.empty() && fs::exists(path, error))
        return ctx_.events.error(path + " already exists: choose another name");
    ctx_.scene->run->keeper().steps().capture(steps_done() + 1, path);
    if (state_ != RunState::training) step(1);
}

void Training::set_hashes(bool on) {
    if (!ctx_.scene || !ctx_.scene->run)
        return ctx_.events.error("nothing to train: open a capture first");
    ctx_.scene->run->keeper().steps().set_hashes(on);
    ctx_.events.done(on ? "writing hashes of every step to hashes.txt in the run's folder"
                        : "stopped hashing steps");
}

void Training::step(std::uint64_t count) { run_to(steps_done() + count); }

void Training::run_to(std::uint64_t step) {
    if (!may_train("train")) return;
    if (step <= steps_done())
        return ctx_.events.error(
            fmt::format("cannot run to step {}: step {} is already done", step, steps_done()));
    run_to_ = step;
    begin_training(step);
}

void Training::stop() {
    if (!ctx_.scene || !ctx_.scene->run) return ctx_.events.error("nothing is training");
    finish();
    rest(RunState::finished);
    if (!told_finished_) tell_finished(*ctx_.scene->run);
}

void Training::set(const std::string& name, double value) { edit_undoably({{name, value}}); }

void Training::edit_undoably(const NamedValues& values) {
    NamedValues before, after;
    const TrainingSettings was = settings_;
    if (!edit(values)) return;
    for (const auto& [name, value] : values) {
        const SettingField* field = find_setting(name);
        if (was.*field->value == settings_.*field->value) continue;
        before.emplace_back(name, was.*field->value);
        after.emplace_back(name, settings_.*field->value);
    }
    const std::uint64_t bytes = 2 * after.size() * sizeof(NamedValues::value_type);
    ctx_.history.add({EditOf::setting, words_of_edit(was, settings_),
                      [this, before = std::move(before), after = std::move(after)](bool back) {
                          return edit(back ? before : after);
                      },
                      [bytes] { return bytes; }});
}

bool Training::crop(const std::optional<ClipBox>& box) {
    if (!ctx_.scene || !ctx_.scene->run) {
        ctx_.events.error("cannot crop: no training run is open");
        return false;
    }
    const NamedValues wanted = crop_values(box);
    edit_undoably(wanted);
    return std::all_of(wanted.begin(), wanted.end(), [&](const auto& one) {
        return settings_.*find_setting(one.first)->value == one.second;
    });
}

/// Why the run cannot be cropped so; empty: it can.
std::string Training::why_not_crop(const TrainingSettings& changed) const {
    const std::optional<ClipBox> box = crop_of(changed);
    if (!box || crop_values(box) == crop_values(crop_of(settings_))) return {};
    if (box->lo.x > box->hi.x || box->lo.y > box->hi.y || box->lo.z > box->hi.z)
        return "cannot crop: the box's lower corner is above its upper one (crop_x0 .. crop_z1)";
    if (!ctx_.scene || !ctx_.scene->run) return {};
    const Trainer& trainer = ctx_.scene->run->trainer();
    std::size_t outside = 0;
    trainer.backend().look_at_arrays([&](const RunArrays& arrays) {
        outside = rows_to_crop(arrays.model, arrays.identity, *box).size();
    });
    if (outside < trainer.gaussian_count()) return {};
    return "cannot crop: this box contains no Gaussian (its corners are crop_x0 .. crop_z1)";
}

bool Training::edit(const NamedValues& values) {
    TrainingSettings changed = settings_;
    for (const auto& [name, value] : values) {
        if (name == "strategy" && steps_done() == 0)
            changed = with_strategy(
                changed, static_cast<StrategyKind>(std::clamp(static_cast<int>(value), 0, 2)));
        if (auto set = set_setting(changed, name, value); !set) {
            ctx_.events.error(set.error().text());
            return false;
        }
        const SettingField* field = find_setting(name);
        if (!field->live && steps_done() > 0 && settings_.*field->value != changed.*field->value) {
            ctx_.events.error(fmt::format("{} cannot change during a run", name));
            return false;
        }
    }
    std::string text = words_of_edit(settings_, changed);
    if (text.empty()) return false;
    if (const std::string problem = why_not_crop(changed); !problem.empty()) {
        ctx_.events.error(problem);
        return false;
    }
    bool restarted = false;
    if (ctx_.scene && ctx_.scene->run) {
        Run& run = *ctx_.scene->run;
        const auto done = run.change(changed, text);
        if (!done) {
            ctx_.events.error(done.error().text());
            return false;
        }
        restarted = *done;
        if (state_ == RunState::finished && !run.ended() && !run.trainer().finished())
            rest(RunState::paused);
        take_marks(run);
    }
    settings_ = changed;
    if (!others_.empty()) publish_others();
    ctx_.events.done(fmt::format("step {}: {}{}", steps_done(), text,
                                 restarted ? "; the run restarts without edits of Gaussians" : ""));
    ctx_.events.changed().settings = setting_rows(changed);
    if (restarted) ctx_.run_changed(SceneChange::restarted);
    return true;
}

/// Null, with an error reported: there is no such snapshot.
Run* Training::run_to_go_back(Which& which) {
    Run* run = ctx_.scene ? ctx_.scene->run.get() : nullptr;
    if (!run || run->snapshots().all().empty()) {
        ctx_.events.error(
            "no snapshot to go back to: one is taken before each edit during training");
        return nullptr;
    }
    if (which.number != 0) return run;
    const auto number = run->snapshots().newest_of(which.step);
    if (number) which.number = *number;
    if (!number) ctx_.events.error(number.error().text());
    return number ? run : nullptr;
}

/// Restores the shown state of that step.
void Training::went_back(std::string what) {
    const Run& run = *ctx_.scene->run;
    settings_ = ctx_.scene->trainer->settings();
    ctx_.events.changed().settings = setting_rows(settings_);
    plots_.begin(camera_rows(*ctx_.scene->capture));
    recall(run);
    ctx_.history.forget({EditOf::setting});
    message_ = run.failure();
    told_finished_ = run.ended();
    rest(!message_.empty() ? RunState::failed
         : run.ended()     ? RunState::finished
                           : RunState::paused);
    publish_others();
    publish_lapse();
    if (message_.empty()) ctx_.events.done(what, true);
    ctx_.run_changed(SceneChange::restarted);
}

void Training::revert(Which which) {
    Run* run = run_to_go_back(which);
    if (!run) return;
    const std::uint64_t before = steps_done();
    const auto done = run->snapshots().revert(which.number);
    if (!done) ctx_.events.error(done.error().text());
    if (!done && run->failure().empty()) return;  // it stands where it stood
    went_back(fmt::format("back at step {}, from {}", steps_done(), before));
}

void Training::branch(Which which) {
    Run* run = run_to_go_back(which);
    if (!run) return;
    const Curves before = *plots_.curves();
    const TrainingSettings settings = settings_;
    const auto done = run->snapshots().branch(which.number);
    if (!done) ctx_.events.error(done.error().text());
    if (!done && run->failure().empty()) return;
    last_checkpoint_.clear();
    const std::string parent = run->options().parent.empty() ? "before" : run->options().parent;
    others_.push_back({{fs::path(parent).filename(), parent, before, {}}, settings});
    went_back(fmt::format("branched a new run from step {}, in {}", steps_done(),
                          run->keeper().folder().string()));
}

void Training::show_other(const std::string& folder) {
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

void Training::hide_other(const std::string& name) {
    if (std::erase_if(others_, [&](const Other& o) {
            return name.empty() || o.shown.name == name || o.shown.folder == name;
        }) == 0)
        return ctx_.events.error("no curves of that run are shown");
    publish_others();
}

/// With the settings in which they differ from the present run.
void Training::publish_others() {
    std::vector<OtherCurves> out;
    for (const Other& other : others_) {
        out.push_back(other.shown);
        for (const SettingField& field : setting_fields())
            if (other.settings && *other.settings.*field.value != settings_.*field.value)
                out.back().differences.push_back(fmt::format("{} {:g} (here {:g})", field.name,
                                                             *other.settings.*field.value,
                                                             settings_.*field.value));
    }
    ctx_.events.changed().other_curves =
        std::make_shared<const std::vector<OtherCurves>>(std::move(out));
}

void Training::set_time_lapse(std::optional<LapsePace> pace, const std::string& names,
                              const std::vector<LapseCamera>& saved) {
    if (!may_train("take pictures of the run")) return;
    Run& run = *ctx_.scene->run;
    std::vector<LapseCamera> cameras;
    if (!names.empty() || !run.keeper().lapse().has_cameras()) {
        auto chosen = choose_lapse_cameras(names, saved, *ctx_.scene->capture);
        if (!chosen) return ctx_.events.error(chosen.error().text());
        cameras = std::move(*chosen);
    }
    if (!pace)
        pace = run.keeper().lapse().pace().on() ? run.keeper().lapse().pace() : LapsePace{0, true};
    run.keeper().set_time_lapse(*pace, std::move(cameras));
    ctx_.events.done("time lapse: " + text_of(*pace));
    publish_lapse();
}

void Training::publish_looks() {
    const Trainer* trainer = ctx_.scene ? ctx_.scene->trainer : nullptr;
    ctx_.events.changed().looks = trainer ? photo_looks(*trainer, pose_arrows_) : nullptr;
}

void Training::show_pose_arrows(std::optional<bool> on) {
    pose_arrows_ = on.value_or(!pose_arrows_);
    publish_looks();
}

void Training::publish_lapse() {
    const auto state = ctx_.scene ? lapse_state(*ctx_.scene) : nullptr;
    lapse_taken_ = state ? state->taken : 0;
    ctx_.events.changed().time_lapse = state;
    lapse_.published();
}

void Training::profile(std::uint64_t first, std::uint64_t last) {
    if (!may_train("profile steps")) return;
    if (last <= steps_done())
        return ctx_.events.error(
            fmt::format("step {} is already done: nothing left to profile", last));
    if (!ctx_.options.run.set_profiling)
        return ctx_.events.error("cannot profile steps: not training on a CUDA device");
    ctx_.scene->run->profile({first, last});
    ctx_.events.done(fmt::format("steps {} to {} will be marked for nsys and ncu", first, last));
}

void Training::save_checkpoint(const std::string& path) {
    if (!ctx_.scene || !ctx_.scene->run)
        return ctx_.events.error("nothing to save: no training run is open");
    if (const auto saved = ctx_.scene->run->keeper().save_checkpoint(path); !saved)
        ctx_.events.error(saved.error().text());
}

void Training::evaluate() {
    if (!ctx_.scene || !ctx_.scene->capture)
        return ctx_.events.error("cannot evaluate: no capture is open");
    if (ctx_.scene->run) return ctx_.scene->run->evaluate();
    const auto photos = std::make_shared<EvaluationJob>(*ctx_.scene->capture, 0);
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
        [this, photos] { tell_evaluation(photos->result()); },
        ctx_.events.if_failed("the evaluation was cancelled"));
}

bool Training::advance() {
    if (!ctx_.scene || !ctx_.scene->run) return false;
    Run& run = *ctx_.scene->run;
    if (state_ != RunState::training && !run.evaluating()) return false;
    const auto begin = std::chrono::steady_clock::now();
    const Run::Did did = run.step();
    if (did == Run::Did::evaluation) tell_evaluation(run.record().evaluation);
    if (did == Run::Did::step) {
        plots_.add_step(run.record().last);
        ctx_.events.status.changed = curves_.changed = cameras_.changed = true;
    }
    if (run.keeper().lapse().pictures() != lapse_taken_) lapse_.changed = true;
    take_marks(run);
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
        tell_finished(run);
    viewer_.add_work(seconds_since(begin));
    return true;
}

void Training::rest(RunState state) {
    ctx_.scene->run->pause();  // what is done while paused is no step
    state_ = state;
    run_to_ = 0;
    if (state == RunState::paused) log_info("paused after step {}", steps_done());
    ctx_.events.status.at_once();
    publish_lapse();
    cameras_.at_once();
    curves_.changed = true;
}

bool Training::evaluating() const {
    return ctx_.jobs.running(kEvaluationJob) ||
           (ctx_.scene && ctx_.scene->run && ctx_.scene->run->evaluating());
}

void Training::tell_evaluation(const Evaluation& evaluation) {
    plots_.add_evaluation(evaluation);
    if (!std::isnan(evaluation.psnr))
        ctx_.events.done(fmt::format(
            "step {}: PSNR {:.2f} dB, SSIM {:.4f} over {} views ({:.2f} s)", evaluation.step,
            evaluation.psnr, evaluation.ssim, evaluation.images.size(), evaluation.seconds));
    ctx_.events.status.at_once();
    cameras_.at_once();
    curves_.at_once();
}

void Training::tell_finished(Run& run) {
    told_finished_ = true;
    const std::uint64_t taken = steps_done() - std::min(run.times().first_step, steps_done());
    if (taken == 0) return;
    const Evaluation& test = plots_.last_evaluation();
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
    training.total_steps = static_cast<std::uint64_t>(settings_.steps);
    training.run_to = run_to_;
    const StepReport last = run ? run->record().measured : StepReport();
    if (last.measured_step > 0) {  // what is not known stays NaN
        training.loss = last.loss;
        training.train_psnr = last.psnr;
        const Capture& capture = scene->trainer->capture();
        if (last.measured_view < capture.views.size()) {
            const Camera& camera = capture.views[last.measured_view].camera;
            status.step_cost = {last.counters, camera.width, camera.height,
                                scene->trainer->render_options().sh_degree};
        }
    }
    if (!plots_.last_evaluation().images.empty()) {
        training.test_psnr = plots_.last_evaluation().psnr;
        training.test_step = plots_.last_evaluation().step;
        training.test_ssim = plots_.last_evaluation().ssim;
    }
    training.step_ms = plots_.mean_step_ms();
    const std::uint64_t goal = run_to_ > 0 ? run_to_ : training.total_steps;
    const double left = goal > training.step ? static_cast<double>(goal - training.step) : 0.0;
    training.viewer_share = viewer_.share();
    training.eta_seconds =
        left * training.step_ms / 1000.0 / std::max(0.05, 1.0 - training.viewer_share);
    training.gaussians = scene ? scene->gaussian_count() : 0;
    if (run) {
        training.strategy = strategy_of(settings_).describe(settings_);
        training.seconds = run->times().seconds;
        training.first_step = run->times().first_step;
        training.files = run->keeper().files().all();
        for (const RunSnapshot& snapshot :
             run->snapshots().all())  // not copied: each holds a whole run
            training.snapshots.push_back(
                {snapshot.step(), snapshot.bytes(), snapshot.why, snapshot.number});
    }
    training.last_checkpoint = run ? run->keeper().files().at("checkpoint") : last_checkpoint_;
    status.evaluating = evaluating();
    status.can_train = run && !run->ended() && !scene->trainer->finished();
}

bool Training::publish_when_due() {
    bool any = false;
    if (cameras_.due(kCamerasInterval)) {
        if (ctx_.scene && ctx_.scene->trainer && ctx_.scene->trainer->settings().refine_poses != 0)
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
    if (curves_.due(running() ? kCurvesInterval : 0)) {
        ctx_.events.changed().curves = plots_.curves();
        curves_.published();
        any = true;
    }
    return any;
}

}  // namespace gs
