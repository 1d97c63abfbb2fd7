#include "trainer/run/run_keeper.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/exception_words.h"
#include "base/format.h"
#include "base/json_write.h"
#include "base/record/scope.h"
#include "base/try.h"
#include "renderer/io/splats/splat_io.h"
#include "trainer/checkpoint.h"
#include "trainer/run/pose_file.h"
#include "trainer/run/run_pictures.h"
#include "trainer/run/run_record.h"

namespace gs {
namespace {

using Json = nlohmann::ordered_json;

/// A file of a run's folder that is certainly its own.
bool is_own_checkpoint(const fs::path& checkpoint) {
    const auto step = checkpoint_steps(checkpoint);
    return checkpoint.filename() == "checkpoint.gsc" || checkpoint.filename() == "best.gsc" ||
           (step && checkpoint.filename() == kept_checkpoint({}, *step));
}

/// Absolute, without a slash at its end.
fs::path plain_path(const fs::path& folder) {
    std::error_code error;
    const fs::path whole = fs::absolute(folder, error).lexically_normal();
    return whole.has_filename() ? whole : whole.parent_path();
}

Result<void> write_description(const RunContext& run, const fs::path& path) {
    RunDescription description = description_of(run.options, run.trainer->capture());
    description.widest_angle = trained_through(*run.trainer).widest_angle;
    description.marks = run.record.marks;
    description.evaluations = run.record.evaluations;
    return write_text_file(path, json_text(to_json(description), 1) + "\n");
}

WriteFile checkpoint_of(const RunContext& run) {
    return [&run](const fs::path& path) { return run.trainer->save_checkpoint(path); };
}

WriteFile splats_of(const RunContext& run) {
    return [&run](const fs::path& path) -> Result<void> {
        const Span span(Stage::export_splats);
        const SplatWriteOptions how{.trained = trained_through(*run.trainer)};
        GS_TRY_VOID(write_splats(path, run.trainer->model(), how));
        return {};
    };
}

}  // namespace

RunDescription description_of(const RunOrigin& run, const Capture& photos) {
    std::error_code error;
    const fs::path capture = fs::absolute(run.capture, error);
    RunDescription out{error ? run.capture : capture.lexically_normal().string(),
                       run.loading,
                       0,
                       run.parent,
                       run.parent_step,
                       run.splats,
                       run.block,
                       {},
                       {}};
    CaptureOptions& loading = out.loading;
    loading.origin = photos.origin;
    // What was chosen for it stays chosen, whatever is added to the capture later.
    if (!photos.model.empty() || loading.model == kFirstModel) loading.model = photos.model;
    if (photos.split_is_listed) {
        loading.left_out = photos.left_out;
        loading.test_views.clear();
        for (const std::size_t i : photos.view_indices(true))
            loading.test_views.push_back(photos.views[i].name);
    }
    if (!loading.masks.empty() && loading.masks != kNoMasks)
        loading.masks = fs::absolute(loading.masks, error).lexically_normal().string();
    for (std::string& lidar : loading.lidars)
        lidar = fs::absolute(lidar, error).lexically_normal().string();
    return out;
}

RunKeeper::RunKeeper(RunContext& run) : run_(run), steps_(run) {
    const RunOptions& options = run.options;
    if (!options.resumed_from.empty())
        recall();
    else if (!options.splats.empty())
        run_.mark("started from the Gaussians of " + options.splats);
    if (options.lapse_pace || options.lapse_named) begin_time_lapse();
    for (const std::uint64_t step : options.capture_steps) steps_.capture(step, {});
    if (options.taken) move_in();
}

/// What the run had on record when the checkpoint was made, from the checkpoint's folder.
void RunKeeper::recall() {
    const fs::path checkpoint = run_.options.resumed_from;
    if (!is_own_checkpoint(checkpoint)) return;  // it may be of any run
    const fs::path from = checkpoint.parent_path();
    RunRecord& record = run_.record;
    record.steps.take_earlier(from / "metrics.csv", run_.step());
    lapse_.take_up(from, run_.step());
    auto before = read_run_description(from, run_.step());
    if (!before) return;
    run_.options.parent = std::move(before->parent);
    run_.options.parent_step = before->parent_step;
    run_.options.splats = std::move(before->splats);
    run_.options.block = std::move(before->block);
    record.marks = std::move(before->marks);
    record.evaluations = std::move(before->evaluations);
    if (!record.evaluations.empty()) record.evaluation = record.evaluations.back();
    for (const Evaluation& e : record.evaluations)
        if (!(e.psnr <= best_psnr_)) best_psnr_ = e.psnr;
}

Result<void> RunKeeper::take_folder() {
    RunOptions& options = run_.options;
    if (options.taken && options.taken->held()) return {};
    if (options.taken && options.taken->moved()) {
        run_.tell(LogLevel::warning,
                  fmt::format("{} was moved during the run, which now writes elsewhere",
                              options.folder.string()));
        options.runs = options.folder.parent_path();
        options.folder.clear();
    }
    options.taken.reset();  // recreated if it was removed
    const auto take_new = [&] {
        return RunFolder::take_new(options.runs, run_.trainer->capture().name, options.tell);
    };
    Result<RunFolder> taken = options.folder.empty()
                                  ? take_new()
                                  : RunFolder::take(options.folder, options.resumed_from,
                                                    run_.step(), options.overwrite, options.tell);
    if (!taken && options.elsewhere && !options.folder.empty()) {
        const std::string why = taken.error().message;
        if (taken = take_new(); taken)
            run_.tell(LogLevel::warning,
                      fmt::format("{}: {}; this run writes to {}", options.folder.string(), why,
                                  taken->path().string()));
    }
    if (!taken) return tl::unexpected(taken.error());
    options.taken = std::make_shared<RunFolder>(std::move(*taken));
    options.overwrite = false;  // it was about the earlier content
    move_in();
    return {};
}

/// Into the folder that was just taken.
void RunKeeper::move_in() {
    run_.options.folder = run_.options.taken->path();
    run_.options.taken->clear();
    lapse_.move_in(run_.options.folder);
    run_.begun = true;
    // Stopped before its first step, a run leaves what it can be resumed from.
    if (std::error_code missing;
        !fs::equivalent(run_.options.resumed_from, run_.options.folder / "checkpoint.gsc", missing))
        run_.saved_step = kNeverSaved;
    save_description();
    steps_.begin_hashes();
}

fs::path RunKeeper::folder() const {
    return run_.options.taken ? run_.options.taken->path() : fs::path();
}

void RunKeeper::after_step() {
    steps_.after_step();
    take_lapse(run_.record.last.step);
    const std::uint64_t step = run_.record.last.step, every = run_.options.save_every;
    if (!run_.trainer->finished() && ((every > 0 && step % every == 0) || is_kept(step)))
        save_while_training();
}

void RunKeeper::save_while_training() {
    std::error_code error;
    const fs::space_info disk = fs::space(run_.options.folder, error);
    const std::uint64_t needed = snapshot_bytes(run_.trainer->backend(), run_.trainer->settings());
    // Once, while there is still space.
    if (!error && disk.available < 3 * needed && !std::exchange(reported_disk_, true))
        run_.alarm(fmt::format("{} has only {} free; a checkpoint needs {}",
                               run_.options.folder.string(),
                               format_bytes(static_cast<double>(disk.available)),
                               format_bytes(static_cast<double>(needed))));
    if (const auto saved = save_checkpoint(); !saved)
        run_.tell(LogLevel::warning, fmt::format("no checkpoint at step {}, training continues: {}",
                                                 run_.step(), saved.error().text()));
    else
        run_.report(LogLevel::warning,
                    run_.record.steps.write(run_.options.folder / "metrics.csv"));
    draw_thumbnails();
}

Result<fs::path> RunKeeper::save_checkpoint(fs::path path) {
    if (path.empty()) {
        GS_TRY_VOID(take_folder());
        save_description();
        path = run_.options.folder / "checkpoint.gsc";
    } else if (std::error_code ignored;
               fs::exists(path, ignored) && path.string() != files_.at("checkpoint")) {
        const auto there = checkpoint_steps(path);
        return fail(ErrorKind::usage, path.string(),
                    there ? fmt::format("is a checkpoint of {} steps", *there) : "already exists",
                    "choose another name");
    }
    GS_TRY_VOID(write_into_folder(path, checkpoint_of(run_)));
    files_.note("checkpoint", path);
    run_.edited = false;
    if (path == run_.options.folder / "checkpoint.gsc") keep_checkpoint();
    run_.tell(LogLevel::debug, fmt::format("saved step {} to {}", run_.step(), path.string()));
    return path;
}

/// For good, where its rule names this step.
bool RunKeeper::is_kept(std::uint64_t step) const {
    const KeptCheckpoints& keep = run_.options.keep;
    return (keep.every > 0 && step % keep.every == 0) || std::ranges::count(keep.at, step) > 0;
}

/// Keeps the new checkpoint for longer, where the rule says so. Only those that this process kept
/// are removed again.
void RunKeeper::keep_checkpoint() {
    const std::uint64_t last = run_.options.keep.last, step = run_.step();
    if (std::ranges::count(run_.options.keep.at, step) > 0)
        files_.leave(fmt::format("splats_{}", step), kept_splats(run_.options.folder, step),
                     splats_of(run_), run_.options.tell);
    if (last <= 1 && !is_kept(step)) return;
    const fs::path& folder = run_.options.folder;
    const fs::path newest = folder / "checkpoint.gsc", kept = kept_checkpoint(folder, step);
    std::error_code error;
    fs::remove(kept, error);
    fs::create_hard_link(newest, kept, error);
    if (error) fs::copy_file(newest, kept, error);
    if (error)
        return run_.tell(LogLevel::warning,
                         fmt::format("{} could not be kept: {}", kept.string(), error.message()));
    std::erase(kept_, step);
    kept_.push_back(step);
    for (std::size_t i = kept_.size(); i-- > 0;) {
        if (i + last >= kept_.size() || is_kept(kept_[i])) continue;
        fs::remove(kept_checkpoint(folder, kept_[i]), error);
        kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

/// The best of all measurements, those that were left by going back included.
void RunKeeper::save_best() {
    const Evaluation& newest = run_.record.evaluation;
    if (!run_.options.keep.best || !run_.begun || newest.step != run_.step() ||
        !(newest.psnr > best_psnr_ || std::isnan(best_psnr_)) || std::isnan(newest.psnr))
        return;
    if (run_.report(LogLevel::warning,
                    write_into_folder(run_.options.folder / "best.gsc", checkpoint_of(run_))))
        best_psnr_ = newest.psnr;
}

void RunKeeper::save_model(bool checkpoint) {
    run_.saved_step = run_.step();
    run_.records_due = true;
    steps_.take_hashes(true);
    (void)take_folder();  // where that fails, each file says so and goes where it can
    const RunOptions& options = run_.options;
    if (options.stage_times) run_.stages = std::make_unique<Json>(options.stage_times());
    files_.leave("splats", options.folder / "point_cloud.ply", splats_of(run_), options.tell);
    if (checkpoint &&
        files_.leave("checkpoint", options.folder / "checkpoint.gsc", checkpoint_of(run_),
                     options.tell) &&
        files_.in_place())
        keep_checkpoint();
    if (!files_.in_place())
        return run_.tell(LogLevel::error, fmt::format("step {} could not be saved in {}",
                                                      run_.step(), options.folder.string()));
    run_.edited = run_.edited && !checkpoint;
    run_.tell(LogLevel::debug,
              fmt::format("saved step {} to {}", run_.step(), options.folder.string()));
}

void RunKeeper::save_records() {
    run_.records_due = false;
    run_.measure_aligned();
    run_.measure_lidar();
    const RunOptions& options = run_.options;
    const auto leave = [&](const char* what, const fs::path& path, const WriteFile& write) {
        files_.leave(what, path, write, options.tell);
    };
    run_.report(LogLevel::debug, lapse_.save(options.folder));
    leave("run", options.folder / "run.json",
          [&](const fs::path& p) { return write_description(run_, p); });
    leave("steps", options.folder / "metrics.csv",
          [&](const fs::path& p) { return run_.record.steps.write(p); });
    if (!options.trace.empty()) leave("trace", options.trace, options.write_trace);
    if (corrects_cameras(run_.trainer->settings()))
        leave("poses", options.folder / "poses.json",
              [&](const fs::path& p) { return write_poses(p, *run_.trainer); });
    leave("metrics", options.folder / "metrics.json",
          [&](const fs::path& p) { return write_text_file(p, json_text(summary(), 2) + "\n"); });
}

/// While the run continues.
void RunKeeper::save_description() {
    run_.report(LogLevel::debug, lapse_.save(run_.options.folder));
    run_.report(LogLevel::warning,
                write_into_folder(run_.options.folder / "run.json",
                                  [&](const fs::path& p) { return write_description(run_, p); }));
}

Json RunKeeper::summary() const {
    Json out = summary_of(run_);
    if (lapse_.pictures() > 0)
        out["time_lapse"] = {{"every", text_of(lapse_.pace())},
                             {"pictures", lapse_.pictures()},
                             {"seconds", json_number(lapse_.seconds())}};
    out["files"] = Json::object();
    for (const auto& [what, where] : files_.all()) out["files"][what] = where;
    return out;
}

void RunKeeper::begin_time_lapse() {
    const RunOptions& options = run_.options;
    std::vector<LapseCamera> cameras;
    if (options.lapse_cameras && (options.lapse_named || !lapse_.has_cameras())) {
        auto chosen = options.lapse_cameras(run_.trainer->capture());
        if (!chosen)
            run_.tell(LogLevel::warning,
                      "the time lapse uses other views: " + chosen.error().text());
        else
            cameras = std::move(*chosen);
    }
    const LapsePace kept = lapse_.pace().on() ? lapse_.pace() : LapsePace{0, true};
    set_time_lapse(options.lapse_pace.value_or(kept), std::move(cameras));
}

void RunKeeper::set_time_lapse(const LapsePace& pace, std::vector<LapseCamera> cameras) {
    if (!cameras.empty()) lapse_.set_cameras(std::move(cameras));
    lapse_.set_pace(pace);
    if (!pace.on() || lapse_.has_cameras()) return;
    lapse_.set_cameras(*choose_lapse_cameras({}, {}, run_.trainer->capture()));
}

/// A failure here ends the time lapse and not the run.
void RunKeeper::take_lapse(std::uint64_t step) {
    const bool last = run_.trainer->finished() && lapse_.pace().on();
    if (!last && !lapse_.due(step, run_.times.seconds)) return;
    // No viewer's frame: the viewer's share of the time does not count it.
    static const StringId name = register_string("time lapse");
    const Span span(name, step);
    const auto draw = [&](const Camera& camera, int most_side) {
        return small_picture(*run_.trainer, camera, most_side);
    };
    Result<void> taken = take_folder();  // it may have been moved away
    try {
        if (taken) taken = lapse_.take(run_.options.folder, step, draw);
    } catch (const std::exception& error) {
        taken = fail(ErrorKind::unreadable, "", words_of(error));
    }
    if (taken) return;
    lapse_.set_pace({});
    run_.alarm("the time lapse stops: " + taken.error().text());
}

void RunKeeper::draw_thumbnails() {
    try {
        const auto& view = run_.options.last_view;
        run_.report(LogLevel::debug, write_thumbnails(*run_.trainer, view ? view() : std::nullopt,
                                                      run_.options.folder));
    } catch (const std::exception& error) {
        run_.tell(LogLevel::debug, fmt::format("no thumbnails: {}", words_of(error)));
    }
}

void RunKeeper::go_back(std::uint64_t step) {
    lapse_.go_back(step);
    if (!run_.options.taken || !run_.options.taken->held()) return;
    const fs::path& folder = run_.options.folder;
    std::error_code ignored;
    for (const std::uint64_t kept : kept_steps(folder)) {
        if (kept <= step) continue;
        fs::rename(kept_checkpoint(folder, kept), free_reverted(folder, kept), ignored);
        if (fs::exists(kept_splats(folder, kept), ignored))
            fs::rename(kept_splats(folder, kept), free_reverted(folder, kept, ".ply"), ignored);
    }
    std::erase_if(kept_, [&](std::uint64_t kept) { return kept > step; });
    lapse_.move_in(folder);
    steps_.begin_hashes();
}

Result<void> RunKeeper::save_as_parent() {
    if (!run_.begun && run_.saved()) return {};  // nothing was done since it was opened
    GS_TRY_VOID(take_folder());
    // At a snapshot, the folder may hold a later step, which stays.
    const bool model = !run_.saved() || !files_.in_place() || !run_in(run_.options.folder);
    if (model) save_model(true);
    if (model || run_.records_due) save_records();
    if (!files_.in_place())
        return fail(ErrorKind::unwritable, run_.options.folder.string(),
                    "the run could not be saved there and continues unchanged");
    draw_thumbnails();
    return {};
}

Result<RunFolder> RunKeeper::take_beside() const {
    const RunOptions& options = run_.options;
    return RunFolder::take_new(options.folder.empty() ? plain_path(options.runs)
                                                      : plain_path(options.folder).parent_path(),
                               run_.trainer->capture().name, options.tell);
}

void RunKeeper::branch(RunFolder folder, std::uint64_t step) {
    RunOptions& options = run_.options;
    options.parent = options.folder.empty() ? "" : plain_path(options.folder).string();
    options.parent_step = step;
    options.taken = std::make_shared<RunFolder>(std::move(folder));
    options.resumed_from.clear();
    options.overwrite = false;
    files_ = {};
    kept_.clear();
    reported_disk_ = false;
    move_in();
}

}  // namespace gs
