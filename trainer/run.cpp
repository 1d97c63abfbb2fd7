#include "trainer/run.h"

#include <cmath>
#include <new>

#include "base/exception_words.h"
#include "base/format.h"
#include "base/json_write.h"
#include "base/machine.h"
#include "base/record/scope.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/device/device_error.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/lens_width.h"
#include "trainer/checkpoint.h"
#include "trainer/lidar_score.h"
#include "trainer/pose_alignment.h"
#include "trainer/pose_file.h"
#include "trainer/run_pictures.h"
#include "trainer/schedule.h"

namespace gs {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
constexpr const char* kNeedsLess =
    "; fewer Gaussians (--max-gaussians) or smaller photos (--downscale) need less";

constexpr std::uint64_t kNeverSaved = ~std::uint64_t{0};

/// A file of a run's folder that is its own for certain.
bool is_own_checkpoint(const fs::path& checkpoint) {
    const auto step = checkpoint_steps(checkpoint);
    return checkpoint.filename() == "checkpoint.gsc" || checkpoint.filename() == "best.gsc" ||
           (step && checkpoint.filename() == kept_checkpoint({}, *step));
}

}  // namespace

std::uint64_t RunSnapshot::bytes() const {
    return state->bytes() + steps.rows().size() * sizeof(StepReport);
}

bool EvaluationJob::measure_next(const Measure& measure) {
    if (next_ < views_.size()) result_.add(measure({views_[next_++]}));
    return next_ < views_.size();
}

Run::Run(std::unique_ptr<Trainer> trainer, RunOptions options)
    : trainer_(std::move(trainer)),
      options_(std::move(options)),
      alarms_(trainer_->capture().view_indices(false).size()),
      widest_angle_(widest_angle(trainer_->capture())),
      first_step_(trainer_->steps_done()),
      saved_step_(first_step_) {
    if (!options_.tell)
        options_.tell = [](LogLevel level, const std::string& text) { write_log(level, text); };
    if (options_.profile_steps) profile(*options_.profile_steps);
    if (!options_.resumed_from.empty()) recall();
    if (options_.lapse_pace || options_.lapse_named) begin_time_lapse();
    for (const std::uint64_t step : options_.capture_steps) keeper_.capture(step, {});
    if (!options_.taken) return;
    move_in();
}

/// Into the folder that was just taken.
void Run::move_in() {
    options_.folder = options_.taken->path();
    options_.taken->clear();
    lapse_.move_in(options_.folder);
    begun_ = true;
    save_description();
    if (options_.hashes) begin_hashes();
}

void Run::begin_hashes() {
    const std::string backend =
        options_.backend.empty() ? trainer_->rasterizer().name() : options_.backend;
    if (const auto begun =
            keeper_.begin_hashes(*trainer_, options_.folder, backend, trainer_->steps_done());
        !begun)
        tell(LogLevel::warning, "step hashes are not written: " + begun.error().text());
}

void Run::set_hashes(bool on) {
    if (options_.hashes == on) return;
    options_.hashes = on;
    if (!on) return keeper_.end_hashes(*trainer_);
    if (begun_) begin_hashes();
}

/// What the step leaves for later questions; a failure is reported, and ends nothing.
void Run::keep_step() {
    const std::string times =
        options_.stage_times && keeper_.captures() ? json_text(options_.stage_times()) : "";
    if (const auto captured = keeper_.after(*trainer_, options_.folder, options_.capture, times)) {
        if (*captured)
            tell(LogLevel::info,
                 fmt::format("step {} is in {}", last_.step, (**captured).string()));
        else
            tell(LogLevel::warning,
                 fmt::format("step {} was not captured: {}", last_.step, captured->error().text()));
    }
    if (const auto taken = keeper_.take_hashes(*trainer_, false); !taken)
        tell(LogLevel::warning, "step hashes stop: " + taken.error().text());
}

/// What the run had on record when the checkpoint was made, which lies beside it.
void Run::recall() {
    const fs::path checkpoint = options_.resumed_from;
    if (!is_own_checkpoint(checkpoint)) return;  // it may be of any run
    const fs::path from = checkpoint.parent_path();
    steps_.take_earlier(from / "metrics.csv", first_step_);
    lapse_.take_up(from, first_step_);
    auto before = read_run_description(from, first_step_);
    if (!before) return;
    parent_ = std::move(before->parent);
    parent_step_ = before->parent_step;
    marks_ = std::move(before->marks);
    evaluations_ = std::move(before->evaluations);
    if (!evaluations_.empty()) newest_ = evaluations_.back();
    for (const Evaluation& e : evaluations_)
        if (!(e.psnr <= best_psnr_)) best_psnr_ = e.psnr;
}

Result<void> Run::take_folder() {
    if (options_.taken && options_.taken->held()) return {};
    if (options_.taken && options_.taken->moved()) {
        tell(LogLevel::warning,
             fmt::format("{} was moved during the run, which now writes elsewhere",
                         options_.folder.string()));
        options_.runs = options_.folder.parent_path();
        options_.folder.clear();
    }
    options_.taken.reset();  // recreated if it was removed
    const auto take_new = [&] {
        return RunFolder::take_new(options_.runs, trainer_->capture().name, options_.tell);
    };
    Result<RunFolder> taken =
        options_.folder.empty()
            ? take_new()
            : RunFolder::take(options_.folder, options_.resumed_from, trainer_->steps_done(),
                              options_.overwrite, options_.tell);
    if (!taken && options_.elsewhere && !options_.folder.empty()) {
        const std::string why = taken.error().message;
        if (taken = take_new(); taken)
            tell(LogLevel::warning,
                 fmt::format("{}: {}; this run writes to {}", options_.folder.string(), why,
                             taken->path().string()));
    }
    if (!taken) return tl::unexpected(taken.error());
    options_.taken = std::make_shared<RunFolder>(std::move(*taken));
    options_.overwrite = false;  // that was about what lay there before
    move_in();
    return {};
}

void Run::mark(std::string text) { marks_.push_back({trainer_->steps_done(), std::move(text)}); }

Result<void> Run::write_description(const fs::path& path) const {
    std::error_code error;
    const fs::path capture = fs::absolute(options_.capture, error);
    RunDescription description{error ? options_.capture : capture.lexically_normal().string(),
                               options_.loading,
                               widest_angle_,
                               parent_,
                               parent_step_,
                               marks_,
                               evaluations_};
    description.loading.origin = trainer_->capture().origin;
    // What was chosen for it stays chosen, whatever else comes to the capture later.
    const Capture& photos = trainer_->capture();
    if (!photos.model.empty()) description.loading.model = photos.model;
    if (photos.split_is_listed) {
        description.loading.left_out = photos.left_out;
        description.loading.test_views.clear();
        for (const std::size_t i : photos.view_indices(true))
            description.loading.test_views.push_back(photos.views[i].name);
    }
    std::string& masks = description.loading.masks;
    if (!masks.empty() && masks != kNoMasks)
        masks = fs::absolute(masks, error).lexically_normal().string();
    return write_text_file(path, json_text(to_json(description), 1) + "\n");
}

/// While the run continues; a failure is reported, and ends nothing.
void Run::save_description() {
    if (const auto saved = lapse_.save(options_.folder); !saved)
        tell(LogLevel::debug, saved.error().text());
    const auto written = write_into_folder(options_.folder / "run.json",
                                           [&](const fs::path& p) { return write_description(p); });
    if (!written) tell(LogLevel::warning, written.error().text());
}

Run::~Run() = default;

void Run::tell(LogLevel level, const std::string& text) const { options_.tell(level, text); }

Run::Did Run::step() {
    const Clock::time_point begin = Clock::now();
    const bool measures = evaluation_.has_value();
    const Did did = measures ? measure_photo() : train();
    if (!ended_) seconds_ += seconds_since(begin);
    if (measures || ended_ || !failure_.empty() || !trainer_->finished()) return did;
    end();
    return did == Did::nothing && evaluation_ ? measure_photo() : did;
}

/// A step, and what is due after it unless it was the last.
Run::Did Run::train() {
    if (ended_ || trainer_->finished()) return Did::nothing;
    if (const auto taken = begun_ ? Result<void>() : take_folder(); !taken) {
        failure_ = taken.error().text();
        tell(LogLevel::error, failure_);
        return Did::nothing;
    }
    if (trainer_->steps_done() == 0) take_lapse(0);
    if (!take_step()) return Did::nothing;
    take_lapse(last_.step);
    if (trainer_->finished()) return Did::step;
    const auto due = [&](std::uint64_t every) { return every > 0 && last_.step % every == 0; };
    if (due(options_.save_every) || due(options_.keep.every)) {
        look_at_disk();
        if (const auto saved = save_checkpoint(); !saved)
            tell(LogLevel::warning, fmt::format("no checkpoint at step {}, training continues: {}",
                                                last_.step, saved.error().text()));
        else if (const auto log = steps_.write(options_.folder / "metrics.csv"); !log)
            tell(LogLevel::warning, log.error().text());
        draw_thumbnails();
    }
    if (evaluation_due(trainer_->settings(), options_.evaluate_every, last_.step) &&
        !trainer_->capture().view_indices(true).empty())
        evaluate();
    return Did::step;
}

/// False when it failed.
bool Run::take_step() {
    failure_.clear();
    try {
        profile_.before_step(trainer_->steps_done() + 1);
        last_ = trainer_->step(keeper_.before(trainer_->steps_done() + 1));
        profile_.after_step(last_.step);
    } catch (const std::bad_alloc&) {
        // In the middle of a step: the model can be looked at, but not continued.
        rescue(std::string("out of memory") + kNeedsLess, false);
        return false;
    } catch (const DeviceError& error) {
        // The last good step is kept: what can still be read from the device is saved.
        rescue(std::string(words_of(error)) + (error.out_of_memory() ? kNeedsLess : ""), true);
        return false;
    } catch (const PhotoError& error) {  // before anything of the step was done
        rescue(words_of(error), true);
        return false;
    } catch (const std::exception& error) {
        rescue(words_of(error), false);
        return false;
    }
    moved_on_ = true;
    steps_.add(last_);
    keep_step();
    if (last_.measured_step != 0) measured_ = last_;
    if (auto text = alarms_.look_at(last_, trainer_->settings())) alarm(std::move(*text));
    return true;
}

void Run::rescue(const std::string& why, bool checkpoint) {
    failure_ = fmt::format("training stopped after step {} with {} Gaussians: {}",
                           trainer_->steps_done(), trainer_->gaussian_count(), why);
    tell(LogLevel::error, failure_);
    profile_.close();
    save_model(checkpoint);
    save_records();
    if (const std::string splats = files_.at("splats"); !splats.empty())
        tell(LogLevel::warning, "the previous model is in " + splats);
}

/// After the last step.
void Run::end() {
    ended_ = true;
    profile_.close();
    save_model(true);
    draw_thumbnails();
    if (!trainer_->capture().view_indices(true).empty()) return evaluate();
    tell(LogLevel::warning, "there are no test views to evaluate (see --test-every)");
    save_records();
}

void Run::finish() {
    evaluation_.reset();
    profile_.close();
    stopped_ = !trainer_->finished();
    const bool open = !std::exchange(ended_, true);
    if ((open && trainer_->steps_done() != saved_step_) || unsaved_edit_) {
        save_model(true);
        draw_thumbnails();
    }
    if (records_due_) save_records();
}

void Run::alarm(std::string text) {
    tell(LogLevel::warning, fmt::format("step {}: {}", trainer_->steps_done(), text));
    marks_.push_back({trainer_->steps_done(), std::move(text), true});
}

/// Reported once while there is still space: what a checkpoint will need is known.
void Run::look_at_disk() {
    std::error_code error;
    const fs::space_info room = fs::space(options_.folder, error);
    const std::uint64_t needed = trainer_->snapshot_bytes();
    if (error || told_disk_ || room.available >= 3 * needed) return;
    told_disk_ = true;
    alarm(fmt::format("{} has only {} free; a checkpoint needs {}", options_.folder.string(),
                      format_bytes(static_cast<double>(room.available)),
                      format_bytes(static_cast<double>(needed))));
}

void Run::snapshot_before(const std::string& what) {
    if (const auto kept = keep_snapshot("before " + what); !kept)
        tell(LogLevel::warning, fmt::format("step {}: no snapshot to restore: {}",
                                            trainer_->steps_done(), kept.error().message));
}

Result<bool> Run::change(const TrainingSettings& settings, std::string what) {
    const TrainingSettings before = trainer_->settings();
    snapshot_before(what);
    GS_TRY(const bool anew, trainer_->set_settings(settings));
    if (anew) edited_ = unsaved_edit_ = false;
    // What the loss is made of: it cannot be compared with what it was.
    for (const auto part : {&TrainingSettings::lambda_dssim, &TrainingSettings::random_background,
                            &TrainingSettings::background_r, &TrainingSettings::background_g,
                            &TrainingSettings::background_b})
        if (before.*part != settings.*part) alarms_.forget();
    mark(std::move(what));
    if (!stopped_ && !trainer_->finished()) ended_ = false;
    return anew;
}

Result<void> Run::edit(std::string what, const std::function<void(RunArrays&)>& change) {
    snapshot_before(what);
    try {
        trainer_->edit(change);
    } catch (const std::exception& error) {
        const std::string why = fmt::format("{} failed: {}", what, words_of(error));
        const auto* device = dynamic_cast<const DeviceError*>(&error);
        if (!device || device->out_of_memory())
            return fail(ErrorKind::unwritable, "", why, "the run is unchanged");
        rescue(why, true);
        return fail(ErrorKind::unwritable, "", why, "resume the run from its saved state");
    }
    edited_ = unsaved_edit_ = true;
    mark(std::move(what));
    return {};
}

/// Several edits in one step share the snapshot before the first.
Result<void> Run::keep_snapshot(std::string why) {
    if (!options_.snapshot_budget || trainer_->steps_done() == 0 || !moved_on_) return {};
    const std::uint64_t budget = options_.snapshot_budget(), needed = trainer_->snapshot_bytes();
    if (needed > budget)
        return fail(
            ErrorKind::unwritable, "",
            fmt::format("a snapshot would take {} of {}", format_bytes(static_cast<double>(needed)),
                        format_bytes(static_cast<double>(budget))));
    try {
        snapshots_.push_back({++snapshots_taken_, trainer_->snapshot(), steps_, marks_,
                              evaluations_, std::move(why)});
    } catch (const std::exception& error) {
        return fail(ErrorKind::unwritable, "", words_of(error));
    }
    moved_on_ = edited_ = false;
    drop_old_snapshots();
    return {};
}

void Run::drop_old_snapshots() {
    const std::uint64_t budget = options_.snapshot_budget();
    std::uint64_t bytes = 0;
    for (const RunSnapshot& snapshot : snapshots_) bytes += snapshot.bytes();
    while (bytes > budget && snapshots_.size() > 1) {
        bytes -= snapshots_.front().bytes();
        snapshots_.pop_front();
    }
}

Result<std::uint64_t> Run::snapshot_of(std::uint64_t step) const {
    for (std::size_t i = snapshots_.size(); i-- > 0;) {
        const bool here = !moved_on_ && !edited_ && snapshots_[i].step() == trainer_->steps_done();
        if (step == 0 ? !here || i == 0 : snapshots_[i].step() == step) return snapshots_[i].number;
    }
    return fail(ErrorKind::usage, "", fmt::format("no snapshot of step {}", step),
                "training takes a snapshot before each edit");
}

Result<RunSnapshot> Run::snapshot(std::uint64_t number) const {
    for (const RunSnapshot& snapshot : snapshots_)
        if (snapshot.number == number) return snapshot;
    return fail(ErrorKind::usage, "", fmt::format("no snapshot {}", number),
                "training takes a snapshot before each edit");
}

/// On disk, whole, under a name of its own; and in memory, which may fail then.
Result<void> Run::keep_present() {
    if (!moved_on_ && !edited_) return {};  // it stands at a snapshot
    moved_on_ = true;
    const std::uint64_t step = trainer_->steps_done();
    (void)keep_snapshot(fmt::format("before leaving step {}", step));
    if (!moved_on_ && !begun_) return {};
    GS_TRY_VOID(take_folder());
    const fs::path path = free_reverted(options_.folder, step);
    const auto saved =
        write_into_folder(path, [&](const fs::path& p) { return trainer_->save_checkpoint(p); });
    if (saved)
        tell(LogLevel::info, fmt::format("step {} is kept in {}", step, path.string()));
    else if (moved_on_)
        return fail(ErrorKind::unwritable, saved.error().path,
                    "the current state could not be saved: " + saved.error().message,
                    "save a checkpoint elsewhere first, or free some memory");
    return {};
}

/// Throws nothing: a failure is reported, and the run ends where it can still be read.
Result<void> Run::go_to(const RunSnapshot& target) {
    try {
        trainer_->restore(*target.state);
    } catch (const std::exception& error) {
        // What is loaded now is neither state: it is not to be saved over anything.
        saved_step_ = trainer_->steps_done();
        ended_ = stopped_ = true;
        failure_ = fmt::format("step {} could not be restored: {}", target.step(), words_of(error));
        return fail(ErrorKind::unwritable, "", failure_, "resume the run from its folder");
    }
    // What pushed it out is kept, too: both ends of the way are.
    if (!snapshot(target.number)) snapshots_.push_back(target);
    steps_ = target.steps;
    marks_ = target.marks;
    evaluations_ = target.evaluations;
    newest_ = evaluations_.empty() ? Evaluation() : evaluations_.back();
    last_ = measured_ = StepReport();
    for (const StepReport& row : steps_.rows())
        if (last_ = row; row.measured_step != 0) measured_ = row;
    alarms_.forget();
    saved_step_ = target.step();  // nothing is written before it has moved on
    moved_on_ = edited_ = unsaved_edit_ = stopped_ = records_due_ = false;
    ended_ = trainer_->finished();
    failure_.clear();
    return {};
}

/// Older checkpoints of later steps are of the way that was left.
void Run::set_later_ones_aside(std::uint64_t step) {
    std::error_code ignored;
    for (const std::uint64_t kept : kept_steps(options_.folder))
        if (kept > step)
            fs::rename(kept_checkpoint(options_.folder, kept), free_reverted(options_.folder, kept),
                       ignored);
    std::erase_if(kept_, [&](std::uint64_t kept) { return kept > step; });
}

Result<void> Run::revert(std::uint64_t number) {
    GS_TRY(const RunSnapshot target, snapshot(number));
    evaluation_.reset();
    profile_.close();
    GS_TRY_VOID(keep_present());
    GS_TRY_VOID(go_to(target));
    lapse_.go_back(target.step());
    if (!begun_ || !options_.taken->held()) return {};
    set_later_ones_aside(target.step());
    lapse_.move_in(options_.folder);
    if (options_.hashes) begin_hashes();
    return {};
}

/// Everything a run leaves behind, where it belongs.
Result<void> Run::save_as_parent() {
    if (!begun_) return {};  // nothing was done since it was opened
    GS_TRY_VOID(take_folder());
    evaluation_.reset();
    profile_.close();
    // Where it stands at a snapshot, what its folder holds is of a later step, and stays.
    if (trainer_->steps_done() != saved_step_ || unsaved_edit_ || !run_in(options_.folder)) {
        save_model(true);
        save_records();
    } else if (records_due_) {
        save_records();
    }
    if (files_.in_place()) return {};
    return fail(ErrorKind::unwritable, options_.folder.string(),
                "the run could not be saved there and continues unchanged");
}

Result<void> Run::branch(std::uint64_t number) {
    GS_TRY(const RunSnapshot target, snapshot(number));
    GS_TRY_VOID(save_as_parent());
    std::error_code error;
    const fs::path own = options_.folder.empty() ? fs::path(options_.runs) : options_.folder;
    const fs::path whole = fs::absolute(own, error).lexically_normal();
    const fs::path parent = whole.has_filename() ? whole : whole.parent_path();
    GS_TRY(RunFolder taken,
           RunFolder::take_new(options_.folder.empty() ? parent : parent.parent_path(),
                               trainer_->capture().name, options_.tell));
    GS_TRY_VOID(go_to(target));
    parent_ = options_.folder.empty() ? std::string() : parent.string();
    parent_step_ = target.step();
    options_.taken = std::make_shared<RunFolder>(std::move(taken));
    options_.resumed_from.clear();
    options_.overwrite = false;
    files_ = {};
    kept_.clear();
    snapshots_ = {target};
    first_step_ = target.step();
    saved_step_ = kNeverSaved;
    seconds_ = 0;
    begin_ = Clock::now();
    machine_begin_ = machine_totals();
    told_disk_ = false;
    move_in();
    return {};
}

void Run::begin_time_lapse() {
    std::vector<LapseCamera> cameras;
    if (options_.lapse_cameras && (options_.lapse_named || !lapse_.has_cameras())) {
        auto chosen = options_.lapse_cameras(trainer_->capture());
        if (!chosen)
            tell(LogLevel::warning, "the time lapse uses other views: " + chosen.error().text());
        else
            cameras = std::move(*chosen);
    }
    const LapsePace kept = lapse_.pace().on() ? lapse_.pace() : LapsePace{0, true};
    set_time_lapse(options_.lapse_pace.value_or(kept), std::move(cameras));
}

void Run::set_time_lapse(const LapsePace& pace, std::vector<LapseCamera> cameras) {
    if (!cameras.empty()) lapse_.set_cameras(std::move(cameras));
    lapse_.set_pace(pace);
    if (!pace.on() || lapse_.has_cameras()) return;
    lapse_.set_cameras(*choose_lapse_cameras({}, {}, trainer_->capture()));
}

/// What fails here ends the time lapse and not the run.
void Run::take_lapse(std::uint64_t step) {
    const bool last = trainer_->finished() && lapse_.pace().on();
    if (!last && !lapse_.due(step, seconds_)) return;
    // No viewer's frame: the viewer's share of the time does not count it.
    static const StringId name = register_string("time lapse");
    const Span span(name, step);
    const auto draw = [&](const Camera& camera, int most_side) {
        return small_picture(*trainer_, camera, most_side);
    };
    Result<void> taken = take_folder();  // it may have been moved away
    try {
        if (taken) taken = lapse_.take(options_.folder, step, draw);
    } catch (const std::exception& error) {
        taken = fail(ErrorKind::unreadable, "", words_of(error));
    }
    if (!taken) lapse_.set_pace({});
    if (!taken) alarm("the time lapse stops: " + taken.error().text());
}

void Run::draw_thumbnails() {
    try {
        const auto last = options_.last_view ? options_.last_view() : std::nullopt;
        if (const auto written = write_thumbnails(*trainer_, last, options_.folder); !written)
            tell(LogLevel::debug, written.error().text());
    } catch (const std::exception& error) {
        tell(LogLevel::debug, fmt::format("no thumbnails: {}", words_of(error)));
    }
}

/// The checkpoint that was just saved stays beside the next ones, where the rule says so. Only what
/// this process kept goes again.
void Run::keep_checkpoint() {
    const std::uint64_t step = trainer_->steps_done();
    const auto& [last, every, best] = options_.keep;
    if (last <= 1 && every == 0) return;
    const fs::path newest = options_.folder / "checkpoint.gsc",
                   kept = kept_checkpoint(options_.folder, step);
    std::error_code error;
    if (last > 1 || step % every == 0) {
        fs::remove(kept, error);
        fs::create_hard_link(newest, kept, error);
        if (error) fs::copy_file(newest, kept, error);
        if (error)
            return tell(LogLevel::warning,
                        fmt::format("{} could not be kept: {}", kept.string(), error.message()));
        std::erase(kept_, step);
        kept_.push_back(step);
    }
    const auto surplus = [&](std::size_t i) {
        return i + last < kept_.size() && (every == 0 || kept_[i] % every != 0);
    };
    for (std::size_t i = kept_.size(); i-- > 0;) {
        if (!surplus(i)) continue;
        fs::remove(kept_checkpoint(options_.folder, kept_[i]), error);
        kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

/// Of everything that was measured, ways that were left included.
void Run::save_best() {
    if (!options_.keep.best || !begun_ || newest_.step != trainer_->steps_done() ||
        !(newest_.psnr > best_psnr_ || std::isnan(best_psnr_)) || std::isnan(newest_.psnr))
        return;
    const fs::path path = options_.folder / "best.gsc";
    if (const auto saved = write_into_folder(
            path, [&](const fs::path& p) { return trainer_->save_checkpoint(p); });
        !saved)
        return tell(LogLevel::warning, saved.error().text());
    best_psnr_ = newest_.psnr;
}

void Run::evaluate() {
    auto views = trainer_->capture().view_indices(true);
    if (views.empty()) views = trainer_->capture().view_indices(false);
    evaluation_.emplace(std::move(views), trainer_->steps_done());
}

Run::Did Run::measure_photo() {
    try {
        if (evaluation_->measure_next([&](const auto& views) { return trainer_->evaluate(views); }))
            return Did::photo;
        newest_ = evaluation_->result();
    } catch (const std::exception& error) {
        tell(LogLevel::error, fmt::format("step {}: the photos could not be evaluated: {}",
                                          trainer_->steps_done(), words_of(error)));
        newest_ = {};
    }
    evaluation_.reset();
    if (!newest_.images.empty() && trainer_->capture().views[newest_.images[0].view].test) {
        if (!evaluations_.empty() && evaluations_.back().step == newest_.step)
            evaluations_.pop_back();
        if (auto text = alarms_.look_at(newest_)) alarm(std::move(*text));
        evaluations_.push_back(newest_);
        save_best();
    }
    if (ended_) save_records();
    return Did::evaluation;
}

Result<fs::path> Run::save_checkpoint(fs::path path) {
    if (path.empty()) {
        GS_TRY_VOID(take_folder());
        save_description();
        path = options_.folder / "checkpoint.gsc";
    } else if (std::error_code ignored;
               fs::exists(path, ignored) && path.string() != files_.at("checkpoint")) {
        const auto there = checkpoint_steps(path);
        return fail(ErrorKind::usage, path.string(),
                    there ? fmt::format("is a checkpoint of {} steps", *there) : "already exists",
                    "choose another name");
    }
    GS_TRY_VOID(
        write_into_folder(path, [&](const fs::path& p) { return trainer_->save_checkpoint(p); }));
    files_.note("checkpoint", path);
    if (path == options_.folder / "checkpoint.gsc") keep_checkpoint();
    tell(LogLevel::debug,
         fmt::format("saved step {} to {}", trainer_->steps_done(), path.string()));
    return path;
}

/// Before anything else is done with it: the model is what the hours were spent on.
void Run::save_model(bool checkpoint) {
    saved_step_ = trainer_->steps_done();
    unsaved_edit_ = false;
    records_due_ = true;
    if (const auto kept = keeper_.take_hashes(*trainer_, true); !kept)
        tell(LogLevel::warning, kept.error().text());
    (void)take_folder();  // where that fails, each file says so and goes where it can
    if (options_.stage_times) stages_ = std::make_unique<Json>(options_.stage_times());
    files_.leave(
        "splats", options_.folder / "point_cloud.ply",
        [&](const fs::path& p) -> Result<void> {
            const Span span(Stage::export_splats);
            SplatWriteOptions options;
            options.trained = trained_through();
            GS_TRY_VOID(write_splats(p, trainer_->model(), options));
            return {};
        },
        options_.tell);
    if (checkpoint &&
        files_.leave(
            "checkpoint", options_.folder / "checkpoint.gsc",
            [&](const fs::path& p) { return trainer_->save_checkpoint(p); }, options_.tell) &&
        files_.in_place())
        keep_checkpoint();
    tell(LogLevel::debug,
         fmt::format("saved step {} to {}", saved_step_, options_.folder.string()));
}

/// Of a run that corrects poses, once it has had all its steps: the test photos once more, each
/// from where the model has it.
void Run::measure_aligned() {
    const std::uint64_t steps = trainer_->steps_done();
    const Capture& capture = trainer_->capture();
    const std::vector<std::size_t> tests = capture.view_indices(true);
    if (trainer_->settings().refine_poses == 0 || !trainer_->finished() || tests.empty() ||
        aligned_.step == steps)
        return;
    try {
        aligned_ = evaluate_aligned(trainer_->model(), capture, tests, trainer_->rasterizer(),
                                    trainer_->render_options());
        aligned_.step = steps;
        tell(LogLevel::info,
             fmt::format("test photos aligned to the model: {:.2f} dB", aligned_.psnr));
    } catch (const std::exception& error) {
        tell(LogLevel::warning, fmt::format("test photos were not aligned: {}", words_of(error)));
    }
}

/// Of a drive with a lidar, once it has had all its steps.
void Run::measure_lidar() {
    if (!trainer_->finished() ||
        std::exchange(lidar_step_, trainer_->steps_done()) == trainer_->steps_done())
        return;
    lidar_ = score_drive(trainer_->model(), trainer_->capture().path);
    if (lidar_)
        tell(LogLevel::info,
             fmt::format(
                 "lidar, held-out columns: median range error {:.3f} m, {:.0f} % within 10 cm",
                 lidar_->median_m, 100 * lidar_->within_10cm));
}

void Run::save_records() {
    records_due_ = false;
    measure_aligned();
    measure_lidar();
    const auto leave = [&](const char* what, const fs::path& path, const WriteFile& write) {
        files_.leave(what, path, write, options_.tell);
    };
    if (const auto saved = lapse_.save(options_.folder); !saved)
        tell(LogLevel::debug, saved.error().text());
    leave("run", options_.folder / "run.json",
          [&](const fs::path& p) { return write_description(p); });
    leave("steps", options_.folder / "metrics.csv",
          [&](const fs::path& p) { return steps_.write(p); });
    if (!options_.trace.empty()) leave("trace", options_.trace, options_.write_trace);
    if (trainer_->settings().refine_poses != 0)
        leave("poses", options_.folder / "poses.json",
              [&](const fs::path& p) { return write_poses(p, *trainer_); });
    leave("metrics", options_.folder / "metrics.json",
          [&](const fs::path& p) { return write_text_file(p, json_text(summary(), 2) + "\n"); });
}

/// What the machine gave this process since the run began here; a time is only as good as that.
Json Run::machine_json() const {
    const MachineTotals now = machine_totals();
    const auto since = [&](double MachineTotals::*of) { return now.*of - machine_begin_.*of; };
    const double seconds = since(&MachineTotals::seconds), ran = since(&MachineTotals::ran),
                 waited = since(&MachineTotals::waited);
    const auto share = [](double a, double b) { return json_number(b > 0 ? a / b : NAN); };
    return {{"threads_waited", share(waited, ran + waited)},
            {"involuntary_switches_per_second", share(since(&MachineTotals::switches), seconds)},
            {"cpus_used", share(ran, seconds)},
            {"load_average", json_number(now.load)},
            {"peak_bytes", peak_resident_bytes()},
            {"cpu_clock_ghz", share(now.clock_ghz, now.clock_ghz > 0 ? 1 : 0)}};
}

Json Run::summary() const {
    const std::uint64_t steps = trainer_->steps_done();
    Json out{{"command", "train"},
             {"capture", options_.capture},
             {"output", options_.folder.string()},
             {"backend", options_.backend},
             {"steps", steps},
             {"seconds", json_number(seconds_)},
             {"load_seconds", json_number(options_.load_seconds)},
             {"total_seconds", json_number(options_.load_seconds + seconds_since(begin_))},
             {"gaussians", trainer_->gaussian_count()},
             {"interrupted", !trainer_->finished()}};
    if (!options_.resumed_from.empty())
        out.update({{"resumed_from", options_.resumed_from}, {"resumed_at_step", first_step_}});
    if (!parent_.empty()) out.update({{"parent", parent_}, {"parent_step", parent_step_}});
    out["train"] = {{"loss", json_number(measured_.loss)},
                    {"l1", json_number(measured_.l1)},
                    {"ssim", json_number(measured_.ssim)},
                    {"psnr", json_number(measured_.psnr)}};
    out["test"] = score_json(evaluations_.empty() ? Evaluation() : evaluations_.back());
    if (!aligned_.images.empty()) out["test_aligned"] = score_json(aligned_);
    if (lidar_) out["lidar"] = score_json(*lidar_);
    out["evaluations"] = Json::array();
    for (const Evaluation& e : evaluations_)
        out["evaluations"].push_back({{"step", e.step},
                                      {"psnr", json_number(e.psnr)},
                                      {"ssim", json_number(e.ssim)},
                                      {"seconds", json_number(e.seconds)}});
    out["machine"] = machine_json();
    out["stages"] = stages_ ? *stages_ : Json::array();
    out["memory"] = Json::array();
    for (const MemoryUse& m : trainer_->memory())
        out["memory"].push_back({{"category", m.category}, {"bytes", m.bytes}});
    out["settings"] = settings_json(trainer_->settings());
    if (auto looks = appearance_json(*trainer_); !looks.is_null())
        out["appearance"] = std::move(looks);
    out["skipped"] = trainer_->capture().skipped;
    if (lapse_.pictures() > 0)
        out["time_lapse"] = {{"every", text_of(lapse_.pace())},
                             {"pictures", lapse_.pictures()},
                             {"seconds", json_number(lapse_.seconds())}};
    out["files"] = Json::object();
    for (const auto& [what, where] : files_.all()) out["files"][what] = where;
    return out;
}

}  // namespace gs
