#include "trainer/run/run.h"

#include <new>

#include "base/exception_words.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/device/device_error.h"
#include "renderer/scene/photo_source.h"
#include "trainer/settings/schedule.h"

namespace gs {
namespace {

constexpr const char* kNeedsLess =
    "; fewer Gaussians (--max-gaussians) or smaller photos (--downscale) need less";

/// Where curves jump although nobody changed anything.
void mark_jumps(RunContext& run, const StepReport& now) {
    const StepReport& before = run.record.measured;
    if (now.round.reduced > 0)
        run.mark(fmt::format("{} least visible Gaussians removed", now.round.reduced));
    if (now.measured_step != 0 && before.measured_step != 0 &&
        now.measured_divisor != before.measured_divisor)
        run.mark(now.measured_divisor == 1
                     ? std::string("photos in full size")
                     : fmt::format("photos of 1/{} of their size", now.measured_divisor));
}

}  // namespace

Run::Run(std::unique_ptr<Trainer> trainer, RunOptions options)
    : run_(std::move(trainer), std::move(options)) {
    if (run_.options.profile_steps) profile(*run_.options.profile_steps);
}

void Run::profile(ProfileSteps steps) {
    run_.profile = ProfileWindow(steps.first, steps.second, run_.options.set_profiling);
}

Run::Did Run::step() {
    const auto begin = std::chrono::steady_clock::now();
    const bool measures = evaluating() != nullptr;
    const Did did = measures ? measure_photo() : train();
    if (!run_.ended) run_.times.seconds += seconds_since(begin);
    if (measures || run_.ended || !run_.failure.empty() || !trainer().finished()) return did;
    end();
    return did == Did::nothing && evaluating() ? measure_photo() : did;
}

/// A step, and what is due after it unless it was the last.
Run::Did Run::train() {
    if (run_.ended || trainer().finished()) return Did::nothing;
    if (const auto taken = run_.begun ? Result<void>() : keeper_.take_folder(); !taken) {
        run_.failure = taken.error().text();
        run_.tell(LogLevel::error, run_.failure);
        return Did::nothing;
    }
    if (run_.step() == 0) keeper_.take_lapse(0);
    if (!take_step()) return Did::nothing;
    keeper_.after_step();
    if (!trainer().finished() &&
        evaluation_due(trainer().settings(), run_.options.evaluate_every, run_.step()) &&
        run_.has_tests())
        evaluate();
    return Did::step;
}

/// False when it failed.
bool Run::take_step() {
    run_.failure.clear();
    RunRecord& record = run_.record;
    try {
        run_.profile.before_step(run_.step() + 1);
        record.last = trainer().step(keeper_.steps().before_step());
        run_.profile.after_step(record.last.step);
    } catch (const std::exception& error) {
        // In the middle of a step the model can be looked at, but not continued. A device still has
        // the last good step, and a photo fails before anything of the step is done.
        const auto* device = dynamic_cast<const DeviceError*>(&error);
        const bool memory = device ? device->out_of_memory()
                                   : dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
        rescue(words_of(error) + (memory ? kNeedsLess : ""),
               device || dynamic_cast<const PhotoError*>(&error));
        return false;
    }
    run_.moved = RunContext::Moved::by_step;
    record.steps.add(record.last);
    mark_jumps(run_, record.last);
    if (record.last.measured_step != 0) record.measured = record.last;
    run_.alarm(record.alarms.look_at(record.last, trainer().settings()));
    return true;
}

void Run::rescue(const std::string& why, bool checkpoint) {
    run_.failure = fmt::format("training stopped after step {} with {} Gaussians: {}", run_.step(),
                               trainer().gaussian_count(), why);
    run_.tell(LogLevel::error, run_.failure);
    pause();
    keeper_.save_model(checkpoint);
    keeper_.save_records();
    if (const std::string splats = keeper_.files().at("splats"); !splats.empty())
        run_.tell(LogLevel::warning, "the previous model is in " + splats);
}

/// After the last step.
void Run::end() {
    run_.ended = true;
    pause();
    keeper_.save_model(true);
    keeper_.draw_thumbnails();
    if (run_.has_tests()) return evaluate();
    run_.tell(LogLevel::warning, "there are no test views to evaluate (see --test-every)");
    keeper_.save_records();
}

void Run::finish() {
    run_.evaluation.reset();
    pause();
    run_.stopped = !trainer().finished();
    run_.ended = true;
    if (!run_.saved()) {
        keeper_.save_model(true);
        keeper_.draw_thumbnails();
    }
    if (run_.records_due) keeper_.save_records();
}

void Run::discard() {
    run_.saved_step = run_.step();
    run_.records_due = run_.edited = false;
}

Run::Did Run::measure_photo() {
    RunRecord& record = run_.record;
    Evaluation& newest = record.evaluation;
    try {
        if (run_.evaluation->measure_next(
                [&](const auto& views) { return trainer().evaluate(views); }))
            return Did::photo;
        newest = run_.evaluation->result();
    } catch (const std::exception& error) {
        run_.tell(LogLevel::error, fmt::format("step {}: the photos could not be evaluated: {}",
                                               run_.step(), words_of(error)));
        newest = {};
    }
    run_.evaluation.reset();
    if (!newest.images.empty() && trainer().capture().views[newest.images[0].view].test) {
        if (!record.evaluations.empty() && record.evaluations.back().step == newest.step)
            record.evaluations.pop_back();
        run_.alarm(record.alarms.look_at(newest));
        record.evaluations.push_back(newest);
        keeper_.save_best();
    }
    if (run_.ended) keeper_.save_records();
    return Did::evaluation;
}

Result<bool> Run::change(const TrainingSettings& settings, std::string what) {
    const TrainingSettings before = trainer().settings();
    snapshots_.take_before(what);
    GS_TRY(const bool restarted, trainer().set_settings(settings));
    if (restarted) {  // there is nothing to save yet
        run_.saved_step = run_.step();
        run_.edited = false;
    }
    // Losses before and after the change cannot be compared.
    const auto loss_of = [](const TrainingSettings& s) {
        return std::tuple(s.lambda_dssim, s.random_background, s.background_r, s.background_g,
                          s.background_b);
    };
    if (loss_of(before) != loss_of(settings)) run_.record.alarms.forget();
    run_.mark(std::move(what));
    if (!run_.stopped && !trainer().finished()) run_.ended = false;
    return restarted;
}

Result<void> Run::edit(std::string what, const std::function<void(RunArrays&)>& change) {
    snapshots_.take_before(what);
    try {
        trainer().edit(change);
    } catch (const std::exception& error) {
        const std::string why = fmt::format("{} failed: {}", what, words_of(error));
        const auto* device = dynamic_cast<const DeviceError*>(&error);
        if (!device || device->out_of_memory())
            return fail(ErrorKind::unwritable, "", why, "the run is unchanged");
        rescue(why, true);
        return fail(ErrorKind::unwritable, "", why, "resume the run from its saved state");
    }
    if (run_.moved == RunContext::Moved::no) run_.moved = RunContext::Moved::by_edit;
    run_.saved_step = kNeverSaved;
    run_.edited = true;
    run_.mark(std::move(what));
    return {};
}

}  // namespace gs
