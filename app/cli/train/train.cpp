#include <fmt/core.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "app/backend/ranks.h"
#include "app/backend/stage_times.h"
#include "app/cli/common.h"
#include "app/cli/files/convert_layout.h"
#include "app/cli/files/findings.h"
#include "app/cli/progress.h"
#include "app/cli/subcommand.h"
#include "app/cli/train/blocks.h"
#include "app/cli/train/history_entry.h"
#include "app/cli/train/lab.h"
#include "app/cli/train/plan.h"
#include "app/cli/train/results.h"
#include "app/cli/train/train.h"
#include "app/cli/train/train_settings.h"
#include "app/lab/benchmark_log.h"
#include "app/session/session_types.h"
#include "base/format.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/seconds.h"
#include "base/try.h"
#include "profiler/analysis/machine_use.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/collect/own_service.h"
#include "profiler/files/export_perfetto.h"
#include "renderer/scene/origin.h"
#include "trainer/checkpoint.h"
#include "trainer/density/init.h"
#include "trainer/ranks/rank_training.h"
#include "trainer/run/run.h"

namespace gs::cli {
namespace {

constexpr std::uint64_t kDrainSteps = 64;  // how often the collector's batches are taken

/// How its run goes, but for what it is made from.
Result<RunOptions> run_options(const TrainArguments& a) {
    RunOptions run = a.run;
    run.evaluate_every = a.eval_every.value_or(a.view ? kStudioEvaluateEvery : 0);
    run.trace = a.trace;
    if (!a.profile_steps.empty()) {
        GS_TRY(run.profile_steps, parse_profile_steps(a.profile_steps));
    }
    if (!a.lapse.empty()) {
        GS_TRY(run.lapse_pace, parse_lapse_pace(a.lapse));
    }
    run.lapse_named = !a.lapse_views.empty();
    run.lapse_cameras = [names = a.lapse_views,
                         folder = fs::path(a.output)](const Capture& capture) {
        return lapse_cameras(names, folder, capture);
    };
    return run;
}

/// The parts of a trace of the whole run.
struct Recording {
    std::unique_ptr<service::MultiCollector> collector = service::MultiCollector::of_own_ring();
    TraceStore store;

    Result<void> write(const fs::path& path) {
        collector->finish(store);
        GS_TRY_VOID(export_perfetto(store, path));
        return {};
    }
};

/// The checkpoint that --resume names; empty: none is there, and none has to be.
Result<fs::path> checkpoint_of(const TrainArguments& a) {
    if (a.resume.empty()) return fs::path();
    const bool automatic = a.resume == "auto";
    if (automatic && a.output.empty())
        return fail(ErrorKind::usage, "", "--resume auto resumes the run in -o DIR",
                    "add -o, or name the run: --resume DIR");
    const fs::path named = automatic ? a.output : a.resume;
    const auto run = run_in(named);
    const fs::path file = run ? run->checkpoint : automatic ? fs::path() : named;
    std::error_code error;
    if (fs::is_regular_file(file, error)) return file;
    if (auto busy = still_training(named)) return tl::unexpected(std::move(*busy));
    if (!automatic)
        return fail(ErrorKind::not_found, a.resume, "no such checkpoint or run",
                    "--resume auto uses the run in the output folder");
    log_info("{} has no checkpoint yet: starting from scratch", a.output);
    return fs::path();
}

tl::unexpected<Error> nothing_to_train_on() {
    return fail(ErrorKind::usage, "", "nothing to train on",
                "gausscope train CAPTURE, or --resume RUN; see --help");
}

/// No option changes the photos that are read.
bool same_photos(CaptureArguments loading) {
    loading.photo_memory_mib = 0;
    return loading == CaptureArguments();
}

/// For a resumed run. usage: loading options without a capture to load.
Result<void> loads_as_before(const TrainArguments& a) {
    if (!same_photos(a.loading) && a.capture.empty())
        return fail(ErrorKind::usage, "", "a run resumes with the same loading options",
                    "omit the loading options, or name the capture");
    return {};
}

/// With its source and its folder.
Result<RunOptions> run_from(const TrainArguments& a, const CommonArguments& common,
                            Vec3f background) {
    GS_TRY(RunOptions out, run_options(a));
    GS_TRY(out.loading, capture_options(a.loading, common));
    out.loading.background = background;
    GS_TRY(const fs::path checkpoint, checkpoint_of(a));
    out.resumed_from = checkpoint.string();
    out.capture = a.capture;
    out.folder = a.output;
    if (checkpoint.empty()) {
        out.splats = a.from;
        if (a.capture.empty()) return nothing_to_train_on();
        return out;
    }
    const fs::path own = folder_of_checkpoint(checkpoint);
    if (a.output.empty()) out.folder = own;
    const RunPhotos photos = photos_of_run(own, checkpoint, out.loading);
    out.loading.origin = photos.loading.origin;
    if (photos.capture.empty()) {
        if (!a.capture.empty()) return out;
        return fail(ErrorKind::usage, out.resumed_from, "does not name its capture",
                    "name the capture: gausscope train CAPTURE --resume ...");
    }
    GS_TRY_VOID(loads_as_before(a));
    std::error_code error;
    if (a.capture.empty())
        out.capture = photos.capture;
    else if (fs::exists(photos.capture, error) && !fs::equivalent(photos.capture, a.capture, error))
        return fail(ErrorKind::usage, own.string(), "was trained from " + photos.capture,
                    "use another folder for another capture");
    // The same photos in another folder are read as before, unless options change that.
    if (same_photos(a.loading)) out.loading = photos.loading;
    out.loading.background = photos.loading.background;
    return out;
}

class TrainCommand {
  public:
    TrainCommand(const TrainArguments& a, const CommonArguments& common) : a_(a), common_(common) {}
    Result<int> run();

  private:
    Result<void> prepare();
    Result<std::unique_ptr<Trainer>> make_trainer(RunOptions& of);
    Result<std::shared_ptr<RunFolder>> take_folder(const RunOptions& of);
    void train();
    Result<void> begin_benchmark();
    /// The target of --until-psnr is reached.
    bool reached() const { return benchmark_ && benchmark_->reached(); }
    void end_benchmark();
    void print_results();
    std::string config();

    const TrainArguments& a_;
    const CommonArguments& common_;
    NamedValues given_;
    Backend backend_;
    std::optional<NewFolders> made_;  // goes again when nothing is written into it
    std::optional<Recording> recording_;
    std::optional<Run> run_;
    std::optional<history::History> history_;
    std::optional<lab::BenchmarkLog> benchmark_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

Result<void> TrainCommand::prepare() {
    GS_TRY(given_, given_settings(a_.settings, a_.loading.background, common_));
    GS_TRY(const TrainingSettings settings, make_settings(given_));
    GS_TRY(RunOptions run, run_from(a_, common_, background_of(settings)));
    if (a_.trained != nullptr) narrow(*a_.trained, run);
    GS_TRY(Backend alone, backend_of(common_));
    GS_TRY(backend_, on_all_ranks(std::move(alone), common_.device || common_.backend == "cuda"));
    // Output first: an hour of training must not end at a folder that cannot be written.
    if (!a_.trace.empty()) GS_TRY_VOID(prepare_output_file(a_.trace));
    GS_TRY(history_, history_of(a_.history));
    if (!run.folder.empty()) {
        GS_TRY(made_, prepare_output_folder(run.folder));
    }
    GS_TRY(run.taken, take_folder(run));
    GS_TRY(std::unique_ptr<Trainer> trainer, make_trainer(run));
    const auto resumed_at =
        run.resumed_from.empty() ? std::nullopt : std::optional(trainer->steps_done());
    report_lidar_choices(trainer->settings(), given_, resumed_at, a_.loading);
    if (run.lapse_pace || run.lapse_named) {
        GS_TRY(auto cameras, lapse_cameras(a_.lapse_views, run.folder, trainer->capture()));
        run.lapse_cameras = [cameras](const Capture&) { return cameras; };
    }
    run.backend = backend_.name;
    run.stage_times = newest_stage_times;
    run.set_profiling = backend_.set_profiling;
    run.write_trace = [this](const fs::path& path) { return recording_->write(path); };
    run.load_seconds = seconds_since(begin_);
    run_.emplace(std::move(trainer), std::move(run));
    if (a_.until_psnr) GS_TRY_VOID(begin_benchmark());
    return {};
}

Result<void> TrainCommand::begin_benchmark() {
    const auto loaded = std::chrono::steady_clock::now();
    GS_TRY(const Json about,
           about_benchmark(run_->trainer(), run_->options().capture, backend_.name));
    benchmark_.emplace(begin_, *a_.until_psnr, about);
    benchmark_->loaded(loaded);
    return {};
}

void TrainCommand::end_benchmark() {
    benchmark_->end(reached() ? "reached" : run_->trainer().finished() ? "missed" : "stopped");
    if (const auto written = benchmark_->write(run_->keeper().folder() / lab::kBenchmarkLog);
        !written)
        log_error("{}", written.error().text());
}

Result<std::shared_ptr<RunFolder>> TrainCommand::take_folder(const RunOptions& of) {
    if (!of.folder.empty()) {
        GS_TRY(RunFolder taken, RunFolder::take(of.folder, of.resumed_from,
                                                checkpoint_steps(of.resumed_from).value_or(0),
                                                a_.overwrite, write_log));
        return std::make_shared<RunFolder>(std::move(taken));
    }
    const fs::path name = fs::absolute(of.capture).lexically_normal();
    GS_TRY(RunFolder taken,
           RunFolder::take_new("runs", (name.has_filename() ? name : name.parent_path()).stem(),
                               write_log));
    made_.emplace(std::vector<fs::path>{taken.path(), "runs"});
    log_info("results go to {}", taken.path().string());
    return std::make_shared<RunFolder>(std::move(taken));
}

Result<std::unique_ptr<Trainer>> TrainCommand::make_trainer(RunOptions& of) {
    GS_TRY(auto computes, backend_.make_training());
    std::shared_ptr<const GaussianModel> first;
    if (!of.splats.empty()) {
        GS_TRY(SplatFile splats, read_any_splats(find_contents(of.splats)));
        if (!is_zero(splats.model.origin)) of.loading.origin = splats.model.origin;
        first = std::make_shared<const GaussianModel>(std::move(splats.model));
    }
    GS_TRY(TrainingSettings settings, make_settings(given_));
    const auto look = [&](CaptureForecast forecast) -> Result<void> {
        if (!of.resumed_from.empty() || first) return {};
        if (a_.trained != nullptr) forecast.points = a_.trained->points;
        return say_plan(forecast, of, settings, backend_.cuda);
    };
    GS_TRY(const auto capture, load_with_progress(find_capture(of.capture), of.loading, look));
    warn_of_findings(examine(*capture));
    if (of.resumed_from.empty()) {
        if (first) settings = settings_to_continue(settings, given_, *first);
        return Trainer::create(capture, settings, std::move(computes), std::move(first));
    }
    GS_TRY(auto trainer, Trainer::resume(of.resumed_from, capture, std::move(computes)));
    settings = trainer->settings();
    GS_TRY_VOID(change_settings(settings, given_));
    GS_TRY_VOID(trainer->set_settings(settings));
    log_info("resuming from step {} of {}", trainer->steps_done(), of.resumed_from);
    return trainer;
}

void TrainCommand::train() {
    const Trainer& trainer = run_->trainer();
    const auto total = [&] { return static_cast<std::size_t>(trainer.settings().steps); };
    log_info("{} steps from {} Gaussians on {}", total() - trainer.steps_done(),
             trainer.gaussian_count(), backend_.name);
    if (const std::size_t tests = trainer.capture().view_indices(true).size(); tests > 0)
        log_info("{} to evaluate {}at the end (--test-every)", counted(tests, "test photo"),
                 a_.eval_every.value_or(0) > 0 ? fmt::format("every {} steps and ", *a_.eval_every)
                                               : "");
    ProgressLine steps("train"), photos("evaluate", "evaluating {} test photos");
    for (Run::Did did = Run::Did::step; did != Run::Did::nothing && !interrupted() && !reached();) {
        did = run_->step();
        const StepReport& last = run_->record().last;
        if (recording_ && last.step % kDrainSteps == 0)
            recording_->collector->drain_into(recording_->store);
        if (did == Run::Did::step && steps.due(last.step, total())) {
            const StepReport& known = run_->record().measured;
            steps.update(
                last.step, total(),
                fmt::format("{}{:.1f} ms/step  {} Gaussians",
                            known.step == 0 ? "" : fmt::format("loss {:.4f}  ", known.loss),
                            last.milliseconds, last.gaussians));
        } else if (did == Run::Did::photo) {
            photos.update(run_->evaluating()->done(), run_->evaluating()->total(), "");
        } else if (did == Run::Did::evaluation) {
            const Evaluation& e = run_->record().evaluation;
            if (benchmark_) (void)benchmark_->evaluated(e.step, e.psnr, e.ssim, e.images.size());
            if (run_->ended()) continue;
            log_info("step {}: PSNR {:.3f} dB, SSIM {:.4f}, {} Gaussians", e.step, e.psnr, e.ssim,
                     trainer.gaussian_count());
        }
    }
    if (benchmark_) end_benchmark();
    run_->finish();
}

void TrainCommand::print_results() {
    const Trainer& trainer = run_->trainer();
    const RunFiles& files = run_->keeper().files();
    const auto summary = run_->keeper().summary();
    if (!trainer.finished() && !reached()) {
        fmt::print("stopped at step {}; {}\n", trainer.steps_done(),
                   run_->failure().empty()
                       ? "checkpoint: " + files.at("checkpoint") + " (resume with --resume " +
                             run_->keeper().folder().string() + ")"
                       : "the model before training: " + files.at("splats"));
    } else {
        print_scores(run_->record().evaluation);
        const auto begin = summary.value("resumed_at_step", std::uint64_t{0});
        fmt::print("{} steps in {:.1f} s, {} Gaussians: {}\n", trainer.steps_done() - begin,
                   summary["seconds"].get<double>(), trainer.gaussian_count(), files.at("splats"));
        print_disturbance(summary["machine"]);
    }
    if (common_.json) print_json(summary);
}

/// Identifies repeated runs in a history: the backend, and settings that differ from the defaults.
std::string TrainCommand::config() {
    const auto settings = settings_json(run_->trainer().settings()),
               plain = settings_json(TrainingSettings());
    std::string out =
        fmt::format("{}, photos shrunk by {}", backend_.name, run_->options().loading.downscale);
    if (!run_->options().splats.empty()) out += ", from " + run_->options().splats;
    for (const auto& [name, value] : settings.items())
        if (value != plain.value(name, nlohmann::ordered_json()))
            out += fmt::format(", {} {}", name, json_text(value));
    return out;
}

Result<int> TrainCommand::run() {
    catch_interrupts();
    if (!a_.trace.empty()) recording_.emplace();
    GS_TRY_VOID(prepare());
    if (const Trainer& trainer = run_->trainer(); trainer.finished()) {
        fmt::print("nothing left to do: {} has {} of {} steps (train more with --steps)\n",
                   run_->keeper().folder().string(), trainer.steps_done(),
                   trainer.settings().steps);
        if (common_.json) print_json(run_->keeper().summary());
        return kDone;
    }
    train();
    const std::string folder = run_->keeper().folder().string();
    const bool in_place = run_->keeper().files().in_place();
    const auto laid_out =
        a_.layout.empty() || !in_place ? Result<Json>() : lay_out_as_inria(folder, folder);
    print_results();
    if (run_->trainer().finished())
        add_to_history(history_,
                       fs::path(run_->options().capture).lexically_normal().filename().string(),
                       config(), run_->keeper().summary());
    if (!laid_out) return tl::unexpected(laid_out.error());
    const bool all = (run_->trainer().finished() || reached()) && run_->failure().empty();
    return all && in_place ? kDone : kFailed;
}

}  // namespace

Result<int> train_once(const TrainArguments& a, const CommonArguments& common) {
    return TrainCommand(a, common).run();
}

Result<ViewArguments> to_view(const TrainArguments& a) {
    ViewArguments view;
    GS_TRY(const fs::path checkpoint, checkpoint_of(a));
    if (a.capture.empty() && checkpoint.empty()) return nothing_to_train_on();
    if (!checkpoint.empty()) GS_TRY_VOID(loads_as_before(a));
    view.path = checkpoint.empty() ? a.capture : checkpoint.string();
    if (!checkpoint.empty()) view.capture = a.capture;
    view.output = a.output;
    view.loading = a.loading;
    view.settings = a.settings;
    view.window = a.window;
    GS_TRY(view.training, run_options(a));
    view.training->overwrite = a.overwrite;
    return view;
}

namespace {

Result<int> run(const TrainArguments& a, const CommonArguments& common) {
    // The head trains as if it were alone; the others do as it asks, and read no photo.
    GS_TRY(Exchange* const ranks, ranks_of_launcher());
    if (ranks != nullptr && !ranks->head()) {
        serve_rank(*ranks);
        return kDone;
    }
    const std::unique_ptr<Exchange, void (*)(Exchange*)> until_here(
        ranks, [](Exchange* others) { dismiss_ranks(*others); });
    if (!a.view && !a.window.script.empty())
        return fail(ErrorKind::usage, "", "--script drives the studio", "add --view");
    if (a.run.keep.best && (a.eval_every ? *a.eval_every == 0 : !a.view))
        return fail(ErrorKind::usage, "", "--keep-best needs evaluations during training",
                    "add --eval-every N");
    if (a.view && !a.layout.empty())
        return fail(ErrorKind::usage, "", "--layout does not work with --view",
                    "train, then gausscope convert RUN DIR --layout " + a.layout);
    if (a.view && !a.history.empty())
        return fail(ErrorKind::usage, "", "the studio keeps no --history", "train without --view");
    if (!a.from.empty() && (a.view || !a.resume.empty()))
        return fail(ErrorKind::usage, "", "--from starts a run of its own, without a window",
                    a.view ? "open the splats in the studio with --capture, and train them there"
                           : "omit --resume");
    if (a.until_psnr &&
        (a.view || !a.resume.empty() || !a.from.empty() || a.eval_every.value_or(0) == 0))
        return fail(ErrorKind::usage, "", "--until-psnr times one run from its photos to a score",
                    "add --eval-every N; none of --view, --resume and --from");
    if (a.blocks == 0 && (!a.block.empty() || a.seam_steps))
        return fail(ErrorKind::usage, "",
                    a.seam_steps ? "--seam-steps without --blocks" : "--block without --blocks",
                    "say into how many blocks the capture is cut: --blocks N");
    const service::OwnService service;  // it runs for long: it can be attached to
    if (a.blocks > 0) return train_blocks(a, common);
    if (!a.view) return train_once(a, common);
    GS_TRY(const ViewArguments view, to_view(a));
    return open_studio(view, common);
}

}  // namespace

Subcommand train_command() {
    return subcommand<TrainArguments>(
        "train", "train Gaussians from a capture",
        "  gausscope train photos/                               30,000 steps, as the 3DGS paper, "
        "into runs/photos-DATE-1\n"
        "  gausscope train photos/ -o out/ --steps 3000          a short run with a shorter "
        "schedule\n"
        "  gausscope train --resume runs/photos-2026-11-22-1     resume where it stopped\n"
        "  gausscope train photos/ -o out/ --view                watch it in the studio\n"
        "  gausscope train photos/ -o out/ --blocks 4            a scene larger than memory, in "
        "four "
        "parts\n"
        "  gausscope train photos/ -o out/ --trace t.pftrace     and see where the time goes in "
        "ui.perfetto.dev\n"
        "Ctrl-C saves a checkpoint and says where. The folder gets point_cloud.ply, "
        "checkpoint.gsc, run.json, metrics.json, "
        "metrics.csv. Files of another run there are replaced only with --overwrite.\n",
        add_train_options, run);
}

}  // namespace gs::cli
