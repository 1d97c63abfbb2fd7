#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "app/backend/counted_work.h"
#include "app/cli/add_value.h"
#include "app/cli/cameras.h"
#include "app/cli/check/bench_batches.h"
#include "app/cli/check/bench_limits.h"
#include "app/cli/check/bench_report.h"
#include "app/cli/check/predict_report.h"
#include "app/cli/check/proof_scene.h"
#include "app/cli/check/verify.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/cli/subcommand.h"
#include "app/cli/train/history_entry.h"
#include "app/paths/path_contents.h"
#include "base/format.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/machine_use.h"
#include "base/parallel.h"
#include "base/record/scope.h"
#include "base/try.h"
#include "profiler/analysis/machine_use.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/collect/own_service.h"
#include "profiler/store/overhead.h"
#include "renderer/device/cuda/device.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/raster/no_sink.h"
#include "renderer/scene/origin.h"
#include "trainer/loss/loss.h"
#include "trainer/trainer.h"

namespace gs::cli {
namespace {

struct BenchArguments {
    std::string scene, capture, compare, output, history;
    CaptureArguments loading;
    bool predict = false, display = false, no_ceilings = false;
    std::vector<int> batches;
    int repeats = 30;
    int width = 0, height = 0;
    double tolerance = 0.05;
};

void add_options(CLI::App& app, BenchArguments& a) {
    app.add_option("SCENE", a.scene, "splat file, checkpoint or run [built-in random Gaussians]");
    add_value(app, "--capture DIR", a.capture,
              "render from this capture's cameras and compare with its photos");
    add_value(app, "--repeats N", a.repeats, whole_from(3, 100000), "timed frames [30]");
    add_given(app, "--width PIXELS", a.width, picture_side(), "picture width");
    add_given(app, "--height PIXELS", a.height, picture_side(), "picture height");
    add_value(app, "--batch N,...", a.batches, whole_from(1, 64),
              "with --capture and no SCENE: also time training with N photos a step")
        ->delimiter(',');
    app.add_flag("--display", a.display,
                 "time frames as the studio draws them: no gradients, no copy to the host");
    add_value(app, "--compare BASE", a.compare,
              "JSON of an earlier bench: fail if a stage is significantly slower");
    add_value(app, "--tolerance X", a.tolerance, number_from(0, 10),
              "accept a slowdown below this fraction [0.05]");
    app.add_flag("--predict", a.predict,
                 "also print the performance model's prediction for this GPU");
    app.add_flag("--no-ceilings", a.no_ceilings,
                 "skip measuring the machine's limits and how close stages come to them");
    add_value(app, "-o,--output FILE", a.output, "also write the JSON to this file");
    add_value(app, "--history FILE", a.history,
              "add the result to this file, for `gausscope history`");
    add_loading(app, a.loading);
}

constexpr int kWarmUpFrames = 5, kWarmUpSteps = 200;
constexpr std::size_t kVerifyGaussians = 20000;  // the reference is serial
constexpr int kVerifySide = 160;

class BenchRun {
  public:
    explicit BenchRun(const BenchArguments& a, const CommonArguments& common)
        : a_(a), common_(common) {}
    Result<int> run();

  private:
    Result<void> prepare();
    Result<void> load_scene();
    bool verify();
    std::vector<StageTime> time_frames(std::size_t frames);
    std::vector<StageTime> time_steps();
    std::vector<StageTime> times_of(const TraceStore& store, std::size_t newest);
    std::vector<StageStats> measured_stages() const;
    NamedDevice device() const;
    Result<void> measure_machine();
    void count();
    Json subject() const;
    Json json() const;
    std::string config() const;
    void print(const Json& out) const;
    int compare() const;

    const BenchArguments& a_;
    const CommonArguments& common_;
    std::optional<Backend> backend_;
    std::unique_ptr<Rasterizer> rasterizer_;
    std::shared_ptr<const Capture> capture_;
    std::unique_ptr<Trainer> trainer_;  ///< when training is timed
    GaussianModel model_;
    std::vector<NamedCamera> cameras_;
    RenderOptions options_;
    VerifyReport verified_;
    std::vector<StageTime> stages_;
    std::vector<BatchTime> batches_;
    RenderCounters counters_;
    PredictedWork work_;  ///< the mean of the counted frames
    MachineUse machine_;  ///< while stages_ were timed
    SpanOverhead span_;
    Ceilings ceilings_;
    std::vector<StageCost> limits_;
    std::string what_, scene_id_;
    Json base_;  ///< of --compare
    std::optional<history::History> history_;
    bool training_ = false;
};

Result<void> BenchRun::prepare() {
    GS_TRY(backend_, backend_of(common_));
    GS_TRY(rasterizer_, backend_->make_rasterizer());
    if (!a_.output.empty()) GS_TRY_VOID(prepare_output_file(a_.output));
    GS_TRY(history_, history_of(a_.history));
    if (!a_.compare.empty()) {
        GS_TRY(base_, read_base(a_.compare));
    }
    if (!a_.capture.empty()) {
        GS_TRY(const auto photos,
               photos_of(find_contents(a_.scene), a_.capture, a_.loading, common_));
        GS_TRY(capture_, load_with_progress(find_capture(photos.capture), photos.loading));
        cameras_ = cameras_of(*capture_, false);
    }
    training_ = capture_ && a_.scene.empty();
    if (!a_.batches.empty() && !training_)
        return fail(ErrorKind::usage, "", "--batch times training, and this bench does not train",
                    "give --capture, and no scene");
    if (a_.display && training_)
        return fail(ErrorKind::usage, "", "--display times frames, and this bench times training",
                    "name a scene, or omit --capture");
    GS_TRY_VOID(load_scene());
    scene_id_ = training_ ? identity_of(*capture_) : identity_of(model_);
    return a_.compare.empty() ? Result<void>() : check_same_subject(a_.compare, base_, subject());
}

Result<void> BenchRun::load_scene() {
    const int width = a_.width > 0 ? a_.width : 1280,
              height = a_.height > 0 ? a_.height : width * 9 / 16;
    if (!a_.scene.empty()) {
        GS_TRY(auto scene, read_any_splats(find_contents(a_.scene)));
        draw_as_trained(scene, {}, options_);
        model_ = std::move(scene.model);
        if (capture_) meet_origin(model_, capture_->origin);
        what_ = a_.scene;
        if (cameras_.empty()) cameras_ = orbit_cameras(place_of(model_), 16, width, height);
    } else if (!training_) {
        model_ = make_proof_model({100'000, 3, 7, 0.004f, 0.03f});
        what_ = "100,000 random Gaussians";
        for (std::uint64_t i = 0; i < 8; ++i)
            cameras_.push_back(
                {fmt::format("camera {}", i), make_proof_camera(7, i, width, height)});
    } else {
        what_ = "training " + a_.capture;
        const TrainingSettings settings =
            scaled_to_steps(TrainingSettings(), kWarmUpSteps + a_.repeats);
        GS_TRY(auto computes, backend_->make_training());
        GS_TRY(trainer_, Trainer::create(capture_, settings, std::move(computes)));
        model_ = trainer_->model();
    }
    if (model_.count == 0)
        return fail(ErrorKind::usage, a_.scene, "the scene has no Gaussians to time");
    return {};
}

bool BenchRun::verify() {
    const Camera& full = cameras_.front().camera;
    const double scale =
        std::min(1.0, static_cast<double>(kVerifySide) / std::max(full.width, full.height));
    const Camera small = full.scaled_to(std::max(1, static_cast<int>(full.width * scale)),
                                        std::max(1, static_cast<int>(full.height * scale)));
    verified_ =
        verify_frame(thinned(model_, kVerifyGaussians), small, options_, *rasterizer_, true);
    if (!verified_.passed())
        log_error("the picture differs from the reference ({}): not timed",
                  comparison_text(verified_.rows));
    return verified_.passed();
}

std::vector<StageTime> BenchRun::times_of(const TraceStore& store, std::size_t newest) {
    const auto history = store.frames().history(StatScope::iteration);
    const auto kept = history.last(std::min(history.size(), newest));
    if (stages_.empty() && !kept.empty())
        machine_ =
            machine_use(store, kept.front().process, kept.front().begin_ns, kept.back().end_ns);
    std::vector<StageTime> out = stage_times(kept, Stage::iteration);
    for (StageTime& stage : gpu_stage_times(kept)) out.push_back(std::move(stage));
    return out;
}

// Forward, loss against the photo (or a plain gradient without photos), backward: one frame, all
// stages. With --display forward alone, for the screen.
std::vector<StageTime> BenchRun::time_frames(std::size_t frames) {
    TraceStore store;
    // Includes the past: a stream names itself in its first span, which verify() made.
    const auto collector = service::MultiCollector::of_own_ring();
    const auto source = rasterizer_->source_of(model_);
    const auto state = rasterizer_->make_state();
    RenderResult result;
    PixelGradients gradients;
    NoSink sink;  // what comes after gradients is the trainer's time
    RenderOptions options = options_;
    options.depth = false;
    if (a_.display) options.gradients = false;
    const auto display = [&](const Camera& camera) {
        if (!rasterizer_->forward_for_display(*source, camera, options, *state, result))
            rasterizer_->forward(*source, camera, options, *state, result);
    };
    const auto forward_and_back = [&](std::size_t view, const Camera& camera) {
        rasterizer_->forward(*source, camera, options, *state, result);
        if (capture_) {
            const View& v = capture_->views[view];
            const Span loss(Stage::loss);
            photo_loss(result.color, v.photo, v.mask, 0.2, &gradients.color);
        } else {
            gradients.color.resize(camera.width, camera.height, 3);
            gradients.color.values.fill(1e-3f);
        }
        rasterizer_->backward(*source, camera, options, *state, result, gradients, sink);
    };
    ProgressLine progress("bench");
    const std::size_t all = frames + kWarmUpFrames;
    for (std::size_t i = 0; i < all && !interrupted(); ++i) {
        record_machine_use();
        const std::size_t view = i % cameras_.size();
        const Camera& camera = cameras_[view].camera;
        {
            const Span span(Stage::iteration, i);
            a_.display ? display(camera) : forward_and_back(view, camera);
        }
        collector->drain_into(store);
        progress.update(i + 1, all, what_);
    }
    collector->finish(store);
    return times_of(store, frames);
}

std::vector<StageTime> BenchRun::time_steps() {
    TraceStore store;
    const auto collector = service::MultiCollector::of_own_ring();  // as time_frames()
    ProgressLine progress("bench");
    const std::size_t steps = static_cast<std::size_t>(trainer_->settings().steps);
    for (std::size_t i = 0; i < steps && !interrupted(); ++i) {
        trainer_->step();
        if (i % 64 == 0) collector->drain_into(store);
        progress.update(i + 1, steps, what_);
    }
    model_ = trainer_->model();  // waits for the device
    collector->finish(store);
    return times_of(store, static_cast<std::size_t>(a_.repeats));
}

// Mean counters over the cameras, on a frame of their own: counting costs time.
void BenchRun::count() {
    RenderOptions options = options_;
    options.counters = options.warps = true;
    const auto source = rasterizer_->source_of(model_);
    const auto state = rasterizer_->make_state();
    RenderResult result;
    const std::uint64_t n =
        std::min<std::size_t>(cameras_.size(), static_cast<std::size_t>(a_.repeats));
    std::vector<PredictedWork> works;
    std::vector<RenderCounters> counters;
    for (std::size_t i = 0; i < n; ++i) {
        rasterizer_->forward(*source, cameras_[i].camera, options, *state, result);
        works.push_back(predicted_work(result, model_.sh_degree, backend_->cuda));
        counters.push_back(result.counters);
    }
    if (works.empty()) return;
    counters_ = mean_counters(counters);
    work_ = mean_work(works);
}

/// A GPU's stages by their time on the GPU, a CPU's by their time on the thread.
std::vector<StageStats> BenchRun::measured_stages() const {
    std::vector<StageStats> out;
    for (const StageTime& s : stages_) {
        if (s.gpu != backend_->cuda) continue;
        StageStats& row = out.emplace_back();
        row.stage = s.stage;
        row.p50_ms = s.ms_p50;
    }
    return out;
}

/// Without a name on a CPU.
NamedDevice BenchRun::device() const {
    if (!backend_->cuda) return {};
    const auto device = cuda_device_info(backend_->device);
    return device ? NamedDevice{device->name, device->multiprocessors} : NamedDevice{};
}

Result<void> BenchRun::measure_machine() {
    span_ = measure_span_overhead();
    if (a_.no_ceilings) return {};
    GS_TRY(ceilings_, machine_ceilings(backend_->device, {}, true));
    const Camera& c = cameras_.front().camera;
    limits_ = stage_limits(
        measured_stages(),
        frame_work(counters_, c.width, c.height, model_.sh_degree, backend_->cuda, training_,
                   /*all_counted=*/true),
        ceilings_);
    return {};
}

double pairs_per_second(const std::vector<StageTime>& stages, const char* stage,
                        std::uint64_t pairs) {
    for (const StageTime& s : stages)
        if (s.name == stage)
            return static_cast<double>(pairs) / (s.ms_mean * 1e-3) / thread_count();
    return std::numeric_limits<double>::quiet_NaN();
}

/// The timed subject: times of two runs are comparable only if it is the same.
Json BenchRun::subject() const {
    const Camera& c = cameras_.front().camera;
    return {
        {"command", "bench"},        {"scene", what_},        {"backend", rasterizer_->name()},
        {"threads", thread_count()}, {"width", c.width},      {"height", c.height},
        {"views", cameras_.size()},  {"training", training_}, {"display", a_.display},
        {"cuda", backend_->cuda},    {"scene_id", scene_id_}, {"views_id", identity_of(cameras_)}};
}

Json BenchRun::json() const {
    Json out = subject();
    Json& verified = out["verified"];
    for (const auto& [key, what] :
         {std::pair{"color", "colour"}, {"alpha", "opacity"}, {"gradient", "all parameters"}})
        for (const ComparisonRow& row : verified_.rows)
            if (row.what == what) verified[key] = number(row.figure());
    verified["pixels"] = verified_.pixels + verified_.fragile;
    verified["fragile"] = verified_.fragile;
    out["stages"] = table_json(stages_table(stages_));
    if (!batches_.empty()) out["batches"] = table_json(batches_table(batches_));
    out["machine"] = machine_json(machine_);
    out["counters"] = {{"gaussians", counters_.gaussians},
                       {"candidates", counters_.candidates},
                       {"visible", counters_.visible},
                       {"isects", counters_.isects},
                       {"list_pairs", counters_.list_pairs},
                       {"evaluated_pairs", counters_.evaluated_pairs},
                       {"blended_pairs", counters_.blended_pairs},
                       {"longest_tile", counters_.longest_tile}};
    out["warps"] = warps_json(counters_.warps);
    const auto per_core = [&](const char* stage) {
        return backend_->cuda ? Json(nullptr)
                              : number(pairs_per_second(stages_, stage, counters_.list_pairs));
    };
    out["blend_list_pairs_per_second_per_core"] = per_core("blend");
    out["blend_backward_list_pairs_per_second_per_core"] = per_core("blend backward");
    out["span_ns"] = span_.recorded ? number(span_.span_ns) : nullptr;
    out["disarmed_span_ns"] = number(span_.disarmed_ns);
    out["timer_pair_ns"] = number(span_.timer_pair_ns);
    out["copy_bytes_per_second"] = a_.no_ceilings ? Json() : number(ceilings_.copy_bytes);
    out["ceilings"] = a_.no_ceilings ? Json() : ceilings_json(ceilings_);
    out["limits"] = table_json(limits_table(limits_));
    if (a_.predict) {
        PredictedWork work = work_;
        work.frame.training = training_;  // Adam runs only there
        work.frame.gradients = !a_.display;
        out["predicted"] = predicted_beside(measured_stages(), work, device());
    }
    return out;
}

/// Identifies repeated benches in a history.
std::string BenchRun::config() const {
    const Camera& c = cameras_.front().camera;
    return fmt::format("{}, {} x {}, {} views {}, scene {}{}", rasterizer_->name(), c.width,
                       c.height, cameras_.size(), identity_of(cameras_), scene_id_,
                       a_.display ? ", for the screen" : "");
}

void BenchRun::print(const Json& out) const {
    say("{scene}, {width} x {height}, {backend}", out);
    fmt::print("verified against the reference: {}\n\n", comparison_text(verified_.rows));
    say_table(stages_table(stages_));
    if (!batches_.empty()) fmt::print("\n{}", table_text(batches_table(batches_)));
    if (machine_.held > kQuiet) fmt::print("the machine was busy: {}\n", machine_text(machine_));
    say("\nN {gaussians}  V {visible}  I {isects}  list pairs {list_pairs:rate}  E "
        "{evaluated_pairs:rate}  B {blended_pairs:rate}  longest tile {longest_tile}",
        out["counters"]);
    if (counters_.warps.near > 0)
        say("warps of 32 pixels: batches {batches}  group tests {group_tests:rate}  near "
            "{near:rate}  open {open:rate}  live isects {live_isects:rate}  live sub-tiles "
            "{live_sub_tiles:rate}",
            out["warps"]);
    if (!backend_->cuda)
        say("blend {blend_list_pairs_per_second_per_core:rate}list pairs/s per core, its backward "
            "{blend_backward_list_pairs_per_second_per_core:rate}",
            out);
    if (span_.recorded)
        say("a span costs {span_ns:.1f} ns ({disarmed_span_ns:.1f} ns while off), two timer reads "
            "{timer_pair_ns:.1f} ns",
            out);
    if (!a_.no_ceilings) {
        say_ceilings(out["ceilings"]);
        say_limits(limits_table(limits_));
    }
    if (a_.predict) say_predicted_beside(out["predicted"]);
}

int BenchRun::compare() const {
    const BaseComparison result = compare_with_base(base_, stages_, a_.tolerance, machine_.doubt());
    fmt::print("\nagainst {}:\n", a_.compare);
    for (const std::string& line : result.lines) fmt::print("{}\n", line);
    if (!result.undecided.empty())
        fmt::print(stderr, "warning: inconclusive for {}: the machine was busy: {}\n",
                   counted(result.undecided.size(), "stage"), machine_text(machine_));
    if (result.slower.empty()) return kDone;
    fmt::print(stderr, "error: {} slower than in {}\n",
               counted(result.slower.size(), "stage", "are"), a_.compare);
    return kGate;
}

Result<int> BenchRun::run() {
    catch_interrupts();
    GS_TRY_VOID(prepare());
    if (!verify()) return kGate;
    stages_ = training_ ? time_steps() : time_frames(static_cast<std::size_t>(a_.repeats));
    count();
    if (!a_.batches.empty()) {
        // At least 64, so that rounds are long enough to compare.
        const auto photos = static_cast<std::size_t>(std::max(a_.repeats, 64));
        GS_TRY(batches_, time_batches(*trainer_, a_.batches, photos));
    }
    GS_TRY_VOID(measure_machine());
    if (interrupted())
        return fail(ErrorKind::cancelled, "", "stopped before all frames were timed", "");
    const Json result = json();
    print(result);
    const int code = a_.compare.empty() ? kDone : compare();
    add_to_history(history_, what_, config(), result);
    if (!a_.output.empty()) GS_TRY_VOID(write_text_file(a_.output, json_text(result, 2) + "\n"));
    if (common_.json) print_json(result);
    return code;
}

Result<int> run(const BenchArguments& a, const CommonArguments& common) {
    const service::OwnService service;  // it runs for long: it can be attached to
    return BenchRun(a, common).run();
}

}  // namespace

Subcommand bench_command() {
    return subcommand<BenchArguments>(
        "bench", "time per stage, counters and the machine's limits",
        "  gausscope bench                                    the built-in scene\n"
        "  gausscope bench scene.ply --capture photos/ --json > base.json\n"
        "  gausscope bench scene.ply --capture photos/ --compare base.json    exit "
        "code 3 when slower\n",
        add_options, run);
}

}  // namespace gs::cli
