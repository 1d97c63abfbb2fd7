#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/add_value.h"
#include "app/cli/check/bench_report.h"
#include "app/cli/check/verify_rows.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "app/verify/frame_check.h"
#include "base/record/scope.h"
#include "base/try.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/store/statistics.h"
#include "profiler/store/store.h"
#include "trainer/run/run_files.h"
#include "trainer/run/step_file.h"

namespace gs::cli {
namespace {

struct ReplayArguments {
    std::string file, stage;
    int repeats = 5;
    int reference_side = 128;
};

void add_options(CLI::App& app, ReplayArguments& a) {
    app.add_option("FILE", a.file, "a captured step (.gsstep)")->required();
    add_value(
        app, "--stage NAME", a.stage,
        CLI::IsMember(std::vector<std::string>(kStepStageNames.begin(), kStepStageNames.end())),
        "check only this stage: project, lists, blend, loss, loss-backward, backward or adam");
    add_value(app, "--repeats N", a.repeats, whole_from(1, 1000),
              "run the step N times; times are medians [5]");
    add_value(app, "--reference PIXELS", a.reference_side, whole_from(0, 65536),
              "side of the square in the middle of the picture that is drawn by the reference, "
              "too; 0: none [128]");
}

/// The same program on the same kind of processor or GPU gives the same bits.
bool same_bits_expected(const CapturedStep& step, const Rasterizer& rasterizer) {
    return step.origin.same_bits && step.origin.program == GAUSSCOPE_VERSION &&
           kind_of_backend(step.origin.backend) == kind_of_backend(rasterizer.name());
}

class Replay {
  public:
    Replay(const ReplayArguments& a, const CommonArguments& common) : a_(a), common_(common) {}
    Result<int> run();

  private:
    void time_steps();
    Result<void> check_reference();
    void print() const;

    const ReplayArguments& a_;
    const CommonArguments& common_;
    CapturedStep step_;
    std::unique_ptr<Rasterizer> rasterizer_;
    StepOutputs now_;
    Table stages_;
    VerifyReport reference_;
    Json out_;
};

void Replay::time_steps() {
    TraceStore store;
    const auto collector = service::MultiCollector::of_own_ring(false);
    ProgressLine progress("replay");
    const auto repeats = static_cast<std::size_t>(a_.repeats);
    for (std::size_t i = 0; i <= repeats && !interrupted(); ++i) {  // the first warms up
        {
            const Span span(Stage::iteration, i);
            StepOutputs outputs = run_step(step_.inputs, *rasterizer_);
            if (i == 0) now_ = std::move(outputs);
        }
        collector->drain_into(store);
        progress.update(i + 1, repeats + 1, "");
    }
    collector->finish(store);
    const auto history = store.frames().history(StatScope::iteration);
    const auto kept = history.last(std::min(history.size(), repeats));
    std::vector<StageTime> times = stage_times(kept, Stage::iteration);
    for (StageTime& stage : gpu_stage_times(kept)) times.push_back(std::move(stage));
    out_["times"] = Json::array();
    for (const StageTime& stage : times)
        if (stage.stage != Stage::iteration)
            out_["times"].push_back({{"stage", stage.name},
                                     {"ms_p50", number(stage.ms_p50)},
                                     {"samples", stage.samples}});
}

/// The reference's name of a stage; empty: it has no such stage.
std::string reference_stage(const std::string& stage) {
    if (stage == "project") return "projection";
    if (stage == "blend") return "picture";
    if (stage == "loss-backward") return "loss";
    if (stage == "backward") return "gradients";
    return stage == "adam" ? "" : stage;
}

/// A square of the picture in double precision; with --stage the rows of that stage alone.
Result<void> Replay::check_reference() {
    const std::string only = reference_stage(a_.stage);
    if (a_.reference_side == 0 || (only.empty() && !a_.stage.empty())) return {};
    const StepInputs& in = step_.inputs;
    const int side = a_.reference_side, x = std::max(0, (in.camera.width - side) / 2),
              y = std::max(0, (in.camera.height - side) / 2);
    ProgressLine progress("verify");
    GS_TRY(reference_, check_frame({.model = in.model,
                                    .camera = in.camera,
                                    .options = in.options,
                                    .region = {x, y, x + side, y + side},
                                    .gradients = only.empty() || only == "gradients",
                                    .photo = in.mask.empty() ? &in.photo : nullptr,
                                    .lambda_dssim = in.lambda_dssim},
                                   *rasterizer_, told_by(progress)));
    if (!only.empty())
        std::erase_if(reference_.rows, [&](const auto& row) { return row.stage != only; });
    if (!reference_.rows.empty()) out_["reference"] = verify_json(reference_);
    return {};
}

Json origin_json(const CapturedStep& step) {
    const auto& [origin, in, outputs] = step;
    return {{"step", in.step + 1},
            {"capture", origin.capture},
            {"view", origin.view},
            {"width", in.camera.width},
            {"height", in.camera.height},
            {"gaussians", in.gaussians},
            {"kept", in.model.count},
            {"visible", outputs.lists.visible()},
            {"isects", outputs.lists.row_from_isect.size()},
            {"sampled", in.before.model.count},
            {"loss", number(outputs.terms.loss)},
            {"program", origin.program},
            {"backend", origin.backend},
            {"machine", origin.machine},
            {"agreement", origin.agreement},
            {"settings", settings_json(origin.settings)}};
}

void Replay::print() const {
    say("step {captured.step} of {captured.capture}, photo {captured.view}, "
        "{captured.width} x {captured.height} pixels: {captured.gaussians} Gaussians, "
        "{captured.visible} visible, {captured.isects} in tile lists",
        out_);
    say("captured by gausscope {captured.program} on {captured.backend}, {captured.machine}", out_);
    say("stored data against the run's: {captured.agreement}", out_);
    say("run again on {backend}; expected: {expected}", out_);
    say_table(stages_);
    say("adam: the file has {captured.sampled} of {captured.kept} Gaussians for it", out_);
    const Column times[] = {{"stage", "{stage}", true}, {"median ms", "{ms_p50:.3f}"}};
    say_table(out_["times"], times);
    if (!reference_.rows.empty()) print_verify(reference_);
}

Result<int> Replay::run() {
    catch_interrupts();
    GS_TRY(step_, read_step(a_.file));
    GS_TRY(rasterizer_, make_rasterizer(common_));
    const bool same_bits = same_bits_expected(step_, *rasterizer_);
    out_ = {{"command", "replay"},
            {"file", a_.file},
            {"captured", origin_json(step_)},
            {"backend", rasterizer_->name()},
            {"expected", same_bits ? "the same bits" : "the same to rounding"}};
    time_steps();
    if (interrupted()) return kFailed;
    auto rows = compare_steps(step_.inputs, step_.outputs, now_, same_bits);
    std::erase_if(rows, [&](const auto& r) { return !a_.stage.empty() && r.stage != a_.stage; });
    stages_ = comparison_table(rows, Against::itself);
    out_["stages"] = table_json(stages_);
    GS_TRY_VOID(check_reference());
    const bool passed = all_passed(rows) && all_passed(reference_.rows);
    out_["passed"] = passed;
    print();
    if (common_.json) print_json(out_);
    return passed ? kDone : kGate;
}

Result<int> run(const ReplayArguments& a, const CommonArguments& common) {
    return Replay(a, common).run();
}

}  // namespace

Subcommand replay_command() {
    return subcommand<ReplayArguments>(
        "replay", "run a captured step again and check every stage of it",
        "  gausscope train photos/ --capture-step 700       writes step-000700.gsstep\n"
        "  gausscope replay step-000700.gsstep               every stage against the stored data,\n"
        "                                                    and against the reference\n"
        "  gausscope replay step-000700.gsstep --backend cuda --stage blend\n"
        "  gausscope view step-000700.gsstep                 its model, camera and photo\n"
        "Exit code 3: a stage differs. See docs/replay.md.\n",
        add_options, run);
}

}  // namespace gs::cli
