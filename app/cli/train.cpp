#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>

#include "app/backend/profile_window.h"
#include "app/cli/common.h"
#include "app/cli/findings.h"
#include "app/cli/progress.h"
#include "app/cli/results.h"
#include "app/cli/studio.h"
#include "app/cli/subcommand.h"
#include "app/cli/train_settings.h"
#include "base/log.h"
#include "base/record/scope.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/collect/own_service.h"
#include "profiler/files/export_perfetto.h"
#include "renderer/device/cuda/device.h"
#include "renderer/io/splats/splat_io.h"

namespace gs::cli {
namespace {

struct TrainArguments {
    std::string capture, output;
    CaptureArguments loading;
    std::vector<std::pair<std::string, double>>
        settings;  ///< named by the table in trainer/settings.h, as given
    std::uint64_t eval_every = 0, save_every = 5000;
    std::string resume;  ///< a checkpoint, or "auto"
    std::string trace;
    std::string profile_steps;  ///< "A:B", empty: none
    bool view = false;
    WindowArguments window;
};

void add_options(CLI::App& app, TrainArguments& a) {
    app.add_option("CAPTURE", a.capture, "folder with sparse/0 (COLMAP) or transforms.json")
        ->required();
    app.add_option("-o,--output", a.output, "folder for the results")
        ->required()
        ->option_text("DIR");
    app.add_option("--resume", a.resume,
                   "continue a checkpoint; auto: the one in DIR, if there is one")
        ->option_text("FILE|auto");
    app.add_option("--eval-every", a.eval_every,
                   "measure the test photos every N steps, 0 = at the end only")
        ->check(whole_from(0, kMostSteps))
        ->option_text("N");
    app.add_option("--save-every", a.save_every,
                   "save a checkpoint every N steps, 0 = at the end only [5000]")
        ->check(whole_from(0, kMostSteps))
        ->option_text("N");
    app.add_option("--trace", a.trace, "write the timeline as a Perfetto trace")
        ->option_text("FILE");
    app.add_option("--profile-steps", a.profile_steps,
                   "mark steps A to B for nsys and ncu (--capture-range=cudaProfilerApi)")
        ->option_text("A:B");
    app.add_flag("--view", a.view, "open the studio on it");
    add_window(app, a.window);
    add_loading(app, a.loading);
    add_background(app, a.loading.background, "Capture");
    add_settings(app, a.settings);
}

using Json = nlohmann::ordered_json;
constexpr std::uint64_t kDrainSteps = 64;            // how often the collector's batches are taken
constexpr std::size_t kSpansWithoutTrace = 200'000;  // enough for stage statistics

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

class TrainRun {
  public:
    TrainRun(const TrainArguments& a, const CommonArguments& common)
        : a_(a), common_(common), folder_(a_.output), store_(store_options(a_)) {}
    int run();

  private:
    static TraceStoreOptions store_options(const TrainArguments& a) {
        TraceStoreOptions options;
        if (a.trace.empty()) options.max_spans = kSpansWithoutTrace;
        return options;
    }
    Result<void> prepare();
    Result<void> start_or_resume(const CaptureOptions& options);
    void train();
    bool step();
    void evaluate(bool last);
    void autosave();
    void save_model();
    void save_records();
    void save_one(const char* what, const fs::path& path,
                  const std::function<Result<void>(const fs::path&)>& write);
    Json summary() const;
    std::string loss_text() const {
        return measured_.measured_step == 0 ? "" : fmt::format("loss {:.4f}  ", measured_.loss);
    }

    const TrainArguments& a_;
    const CommonArguments& common_;
    fs::path folder_;
    NamedValues given_;
    std::unique_ptr<Trainer> trainer_;
    ProfileWindow profile_;
    std::unique_ptr<service::MultiCollector> collector_ = service::MultiCollector::of_own_ring();
    TraceStore store_;
    StepLog steps_;
    StepReport last_, measured_;  // the newest, and the newest whose loss is known
    std::vector<Evaluation> evaluations_;
    Json files_ = Json::object();
    std::string resumed_from_, backend_;
    std::uint64_t first_step_ = 0;
    double begin_ = now_seconds(), load_seconds_ = 0, train_seconds_ = 0;
    bool stopped_ = false, lost_ = false, moved_ = false, exhausted_ = false;
};

Result<void> TrainRun::prepare() {
    auto given = given_settings(a_.settings, a_.loading.background, common_);
    if (!given) return tl::unexpected(given.error());
    given_ = std::move(*given);
    auto settings = make_settings(given_);
    if (!settings) return tl::unexpected(settings.error());
    auto options = capture_options(a_.loading, common_);
    if (!options) return tl::unexpected(options.error());
    if (!a_.profile_steps.empty()) {
        const auto steps = parse_profile_steps(a_.profile_steps);
        const auto backend = backend_of(common_);
        if (!steps || !backend) return tl::unexpected(steps ? backend.error() : steps.error());
        profile_ = ProfileWindow(steps->first, steps->second, backend->set_profiling);
    }
    options->background = {static_cast<float>(settings->background_r),
                           static_cast<float>(settings->background_g),
                           static_cast<float>(settings->background_b)};
    // Output first: an hour of training must not end at a folder that cannot be written.
    if (auto ready = prepare_output_folder(folder_); !ready) return ready;
    if (!a_.trace.empty())
        if (auto ready = prepare_output_file(a_.trace); !ready) return ready;
    return start_or_resume(*options);
}

Result<void> TrainRun::start_or_resume(const CaptureOptions& options) {
    fs::path checkpoint = a_.resume;
    if (a_.resume == "auto") {
        checkpoint = folder_ / "checkpoint.gsc";
        if (!fs::exists(checkpoint)) checkpoint.clear();
        if (checkpoint.empty())
            log_info("{} has no checkpoint yet: starting anew", folder_.string());
    } else if (!a_.resume.empty() && !fs::exists(checkpoint)) {
        return fail(ErrorKind::not_found, a_.resume, "there is no such checkpoint",
                    "--resume auto takes the one in the output folder");
    }
    const auto backend = backend_of(common_);
    if (!backend) return tl::unexpected(backend.error());
    backend_ = backend->name;
    auto computes = backend->make_training();
    if (!computes) return tl::unexpected(computes.error());
    auto capture = load_with_progress(a_.capture, options);
    if (!capture) return tl::unexpected(capture.error());
    warn_of_findings(examine(**capture));

    if (checkpoint.empty()) {
        const auto settings = make_settings(given_);
        auto trainer = Trainer::create(*capture, *settings, std::move(*computes));
        if (!trainer) return tl::unexpected(trainer.error());
        trainer_ = std::move(*trainer);
    } else {
        auto trainer = Trainer::resume(checkpoint, *capture, std::move(*computes));
        if (!trainer) return tl::unexpected(trainer.error());
        trainer_ = std::move(*trainer);
        TrainingSettings settings = trainer_->settings();
        if (auto changed = change_settings(settings, given_); !changed) return changed;
        trainer_->set_settings(settings);
        resumed_from_ = checkpoint.string();
        steps_.take_earlier(folder_ / "metrics.csv", trainer_->steps_done());
        log_info("going on from step {} of {}", trainer_->steps_done(), resumed_from_);
    }
    first_step_ = trainer_->steps_done();
    load_seconds_ = now_seconds() - begin_;
    return {};
}

// False when memory ran out: the model as it stands can still be saved, but not a checkpoint in the
// middle of a step.
bool TrainRun::step() {
    try {
        profile_.before_step(trainer_->steps_done() + 1);
        last_ = trainer_->step();
        profile_.after_step(last_.step);
        return true;
    } catch (const std::bad_alloc&) {
        log_error(
            "out of memory after step {} with {} Gaussians; train with --max-gaussians or smaller "
            "photos (--downscale)",
            last_.step, last_.gaussians);
        exhausted_ = true;
        return false;
    } catch (const DeviceError& error) {
        // The last good step is kept: what can still be read from the device is saved.
        log_error(
            "after step {} with {} Gaussians: {}{}", last_.step, last_.gaussians, error.what(),
            error.out_of_memory() ? "; train with --max-gaussians or smaller photos (--downscale)"
                                  : "");
        return false;
    }
}

void TrainRun::train() {
    const double begin = now_seconds();
    const auto total = [&] { return static_cast<std::size_t>(trainer_->settings().steps); };
    log_info("{} steps from {} Gaussians on {}", total() - static_cast<std::size_t>(first_step_),
             trainer_->gaussian_count(), backend_);
    ProgressLine progress("train");
    while (!trainer_->finished() && !interrupted() && step()) {
        steps_.add(last_);
        if (last_.measured_step != 0) measured_ = last_;
        if (last_.step % kDrainSteps == 0) collector_->drain_into(store_);
        if (progress.due(last_.step, total()))
            progress.update(last_.step, total(),
                            fmt::format("{}{:.1f} ms/step  {} Gaussians", loss_text(),
                                        last_.milliseconds, last_.gaussians));
        const bool more = !trainer_->finished();
        if (more && a_.eval_every > 0 && last_.step % a_.eval_every == 0) evaluate(false);
        if (more && a_.save_every > 0 && last_.step % a_.save_every == 0) autosave();
    }
    profile_.close();
    progress.finish();
    stopped_ = !trainer_->finished();
    train_seconds_ = now_seconds() - begin;
}

void TrainRun::evaluate(bool last) {
    const auto views = trainer_->capture().view_indices(true);
    if (views.empty()) {
        if (last) log_warning("there are no test views to measure (see --test-every)");
        return;
    }
    ProgressLine progress("evaluate");
    evaluations_.push_back(
        trainer_->evaluate(views, [&](std::string_view, std::size_t done, std::size_t total) {
            progress.update(done, total, "");
            return !interrupted();
        }));
    progress.finish();
    const Evaluation& e = evaluations_.back();
    if (!last)
        log_info("step {}: PSNR {:.3f} dB, SSIM {:.4f}, {} Gaussians", e.step, e.psnr, e.ssim,
                 trainer_->gaussian_count());
}

void TrainRun::autosave() {
    std::error_code ignored;
    fs::create_directories(folder_, ignored);
    if (auto saved = trainer_->save_checkpoint(folder_ / "checkpoint.gsc"); !saved)
        log_warning("no checkpoint at step {}, training goes on: {}", last_.step,
                    saved.error().text());
    else if (auto written = steps_.write(folder_ / "metrics.csv"); !written)
        log_warning("{}", written.error().text());
}

void TrainRun::save_one(const char* what, const fs::path& path,
                        const std::function<Result<void>(const fs::path&)>& write) {
    const auto where = write_or_rescue(path, [&](const fs::path& p) -> Result<void> {
        try {
            return write(p);
        } catch (const std::bad_alloc&) {
            return fail(ErrorKind::unwritable, p.string(), "not enough memory to write it");
        } catch (const DeviceError& error) {
            return fail(ErrorKind::unwritable, p.string(), error.what());
        }
    });
    if (!where) {
        log_error("{}", where.error().text());
        lost_ = true;
        return;
    }
    if (*where != path) {
        log_error("{} could not be written; it is in {} instead", path.string(), where->string());
        moved_ = true;
    }
    files_[what] = where->string();
}

// Before anything else is done with it: the model is what the hours were spent on.
void TrainRun::save_model() {
    save_one("splats", folder_ / "point_cloud.ply", [&](const fs::path& p) {
        const Span span(Stage::export_splats);
        return write_splats(p, trainer_->model());
    });
    if (!exhausted_)
        save_one("checkpoint", folder_ / "checkpoint.gsc",
                 [&](const fs::path& p) { return trainer_->save_checkpoint(p); });
}

void TrainRun::save_records() {
    save_one("steps", folder_ / "metrics.csv", [&](const fs::path& p) { return steps_.write(p); });
    collector_->finish(store_);
    if (!a_.trace.empty())
        save_one("trace", a_.trace, [&](const fs::path& p) -> Result<void> {
            auto written = export_perfetto(store_, p);
            if (!written) return tl::unexpected(written.error());
            return {};
        });
    save_one("metrics", folder_ / "metrics.json",
             [&](const fs::path& p) { return write_text_file(p, summary().dump(2) + "\n"); });
}

Json TrainRun::summary() const {
    const TrainingSettings& settings = trainer_->settings();
    Json out{{"command", "train"},
             {"capture", a_.capture},
             {"output", a_.output},
             {"backend", backend_}};
    out.update({{"steps", trainer_->steps_done()},
                {"seconds", number(train_seconds_)},
                {"load_seconds", number(load_seconds_)},
                {"total_seconds", number(now_seconds() - begin_)},
                {"gaussians", trainer_->gaussian_count()},
                {"interrupted", stopped_}});
    if (!resumed_from_.empty())
        out.update({{"resumed_from", resumed_from_}, {"resumed_at_step", first_step_}});
    out["train"] = {{"loss", number(measured_.loss)},
                    {"l1", number(measured_.l1)},
                    {"ssim", number(measured_.ssim)},
                    {"psnr", number(measured_.psnr)}};
    out["test"] = score_json(evaluations_.empty() ? Evaluation() : evaluations_.back());
    out["evaluations"] = Json::array();
    for (const Evaluation& e : evaluations_)
        out["evaluations"].push_back({{"step", e.step},
                                      {"psnr", number(e.psnr)},
                                      {"ssim", number(e.ssim)},
                                      {"seconds", number(e.seconds)}});
    out["stages"] = stages_json(store_, StatScope::iteration);
    out["memory"] = Json::array();
    for (const MemoryUse& m : trainer_->memory())
        out["memory"].push_back({{"category", m.category}, {"bytes", m.bytes}});
    out.update({{"settings", settings_json(settings)},
                {"skipped", trainer_->capture().skipped},
                {"files", files_}});
    return out;
}

int TrainRun::run() {
    catch_interrupts();
    if (auto ready = prepare(); !ready) return report(ready.error());
    train();
    save_model();
    if (!stopped_) evaluate(true);
    save_records();
    if (!stopped_ && !evaluations_.empty()) print_scores(evaluations_.back());
    const std::string splats = files_.value("splats", ""),
                      checkpoint = files_.value("checkpoint", "");
    if (stopped_)
        fmt::print("stopped at step {}; {}\n", trainer_->steps_done(),
                   exhausted_ ? "the model as it was: " + splats
                              : "checkpoint: " + checkpoint + " (go on with --resume auto)");
    else
        fmt::print("{} steps in {:.1f} s, {} Gaussians: {}\n", trainer_->steps_done() - first_step_,
                   train_seconds_, trainer_->gaussian_count(), splats);
    if (common_.json) print_json(summary());
    return stopped_ || lost_ || moved_ ? kFailed : kDone;
}

ViewArguments to_view(const TrainArguments& a) {
    ViewArguments view;
    view.path = a.capture;
    view.output = a.output;
    view.loading = a.loading;
    view.settings = a.settings;
    view.window = a.window;
    view.training = {a.eval_every, a.save_every, a.resume, a.trace};
    return view;
}

Result<int> run(const TrainArguments& a, const CommonArguments& common) {
    if (!a.view && !a.window.script.empty())
        return fail(ErrorKind::usage, "", "--script drives the studio", "add --view");
    const service::OwnService service;  // it runs for long: it can be attached to
    if (a.view) return open_studio(to_view(a), common);
    return TrainRun(a, common).run();
}

}  // namespace

Subcommand train_command() {
    return subcommand<TrainArguments>(
        "train", "train Gaussians from a capture",
        "  gausscope train photos/ -o out/                       30,000 steps, as the 3DGS paper\n"
        "  gausscope train photos/ -o out/ --steps 3000          a quick one: the schedule shrinks "
        "with it\n"
        "  gausscope train photos/ -o out/ --resume auto         go on where the last run stopped\n"
        "  gausscope train photos/ -o out/ --view                watch it in the studio\n"
        "  gausscope train photos/ -o out/ --trace t.pftrace     and see where the time went, in "
        "ui.perfetto.dev\n"
        "Ctrl-C saves a checkpoint and says where. The folder gets point_cloud.ply, "
        "checkpoint.gsc, metrics.json, "
        "metrics.csv.\n",
        add_options, run);
}

}  // namespace gs::cli
