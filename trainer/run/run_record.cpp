#include "trainer/run/run_record.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/exception_words.h"
#include "base/json_write.h"
#include "base/machine.h"
#include "base/seconds.h"
#include "renderer/scene/lens_width.h"
#include "renderer/scene/lost_views.h"
#include "trainer/lidar/lidar_score.h"
#include "trainer/loss/metrics.h"
#include "trainer/run/pose_alignment.h"

namespace gs {
namespace {

using Json = nlohmann::ordered_json;

/// What the machine gave this process since the run began here; a time is only as good as that.
Json machine_since(const MachineTotals& begin) {
    const MachineTotals now = machine_totals();
    const auto since = [&](double MachineTotals::*of) { return now.*of - begin.*of; };
    const double seconds = since(&MachineTotals::seconds), ran = since(&MachineTotals::ran),
                 waited = since(&MachineTotals::waited);
    const auto share = [](double a, double b) { return json_number(b > 0 ? a / b : NAN); };
    return {{"threads_waited", share(waited, ran + waited)},
            {"waited_of_all_time", share(since(&MachineTotals::most_waited), seconds)},
            {"involuntary_switches_per_second", share(since(&MachineTotals::switches), seconds)},
            {"cpus_used", share(ran, seconds)},
            {"load_average", json_number(now.load)},
            {"peak_bytes", peak_resident_bytes()},
            {"cpu_clock_ghz", share(now.clock_ghz, now.clock_ghz > 0 ? 1 : 0)}};
}

}  // namespace

EvaluationJob::EvaluationJob(const Capture& capture, std::uint64_t step)
    : views_(scored_views(capture)) {
    result_.step = step;
}

bool EvaluationJob::measure_next(const Measure& measure) {
    if (next_ < views_.size()) result_.add(measure({views_[next_++]}));
    return next_ < views_.size();
}

RunContext::RunContext(std::unique_ptr<Trainer> of, RunOptions how)
    : trainer(std::move(of)),
      options(std::move(how)),
      record(trainable_views(trainer->capture()).size()),
      times(step()),
      saved_step(step()) {}

RunContext::~RunContext() = default;

void RunContext::mark(std::string text, bool alarm) {
    record.marks.push_back({step(), std::move(text), alarm});
}

void RunContext::alarm(std::optional<std::string> text) {
    if (!text) return;
    tell(LogLevel::warning, fmt::format("step {}: {}", step(), *text));
    mark(std::move(*text), true);
}

void RunContext::measure_aligned() {
    Evaluation& aligned = record.aligned;
    const Capture& capture = trainer->capture();
    const std::vector<std::size_t> tests = scored_views(capture);
    if (!trainer->settings().refine_poses || !trainer->finished() || !has_tests() ||
        aligned.step == step())
        return;
    try {
        aligned = evaluate_aligned(trainer->model(), capture, tests, trainer->rasterizer(),
                                   trainer->render_options(), {},
                                   [&](std::size_t view) { return trainer->camera_of(view); });
        aligned.step = step();
        tell(LogLevel::info,
             fmt::format("test photos aligned to the model: {:.2f} dB", aligned.psnr));
    } catch (const std::exception& error) {
        tell(LogLevel::warning, fmt::format("test photos were not aligned: {}", words_of(error)));
    }
}

void RunContext::measure_lidar() {
    if (!trainer->finished() || std::exchange(record.lidar_step, step()) == step()) return;
    record.lidar = score_lidars(trainer->model(), trainer->capture().lidars);
    if (const auto& lidar = record.lidar)
        tell(LogLevel::info,
             fmt::format(
                 "lidar, held-out columns: median range error {:.3f} m, {:.0f} % within 10 cm",
                 lidar->median_m, 100 * lidar->within_10cm));
}

TrainedThrough trained_through(const Trainer& trainer) {
    return {trainer.settings().projection == ProjectionMethod::ut, widest_angle(trainer.capture())};
}

Json summary_of(const RunContext& run) {
    const RunOptions& options = run.options;
    const RunRecord& record = run.record;
    const Trainer& trainer = *run.trainer;
    Json out{{"command", "train"},
             {"capture", options.capture},
             {"output", options.folder.string()},
             {"backend", options.backend},
             {"steps", run.step()},
             {"seconds", json_number(run.times.seconds)},
             {"load_seconds", json_number(options.load_seconds)},
             {"total_seconds", json_number(options.load_seconds + seconds_since(run.times.begin))},
             {"gaussians", trainer.gaussian_count()},
             {"interrupted", !trainer.finished()}};
    if (!options.resumed_from.empty())
        out.update(
            {{"resumed_from", options.resumed_from}, {"resumed_at_step", run.times.first_step}});
    if (!options.splats.empty()) out["splats"] = options.splats;
    if (!options.parent.empty())
        out.update({{"parent", options.parent}, {"parent_step", options.parent_step}});
    out["train"] = {{"loss", json_number(record.measured.loss)},
                    {"l1", json_number(record.measured.l1)},
                    {"ssim", json_number(record.measured.ssim)},
                    {"psnr", json_number(record.measured.psnr)}};
    out["test"] = score_json(record.evaluations.empty() ? Evaluation() : record.evaluations.back());
    if (!record.aligned.images.empty()) out["test_aligned"] = score_json(record.aligned);
    if (record.lidar) out["lidar"] = score_json(*record.lidar);
    out["evaluations"] = Json::array();
    for (const Evaluation& e : record.evaluations)
        out["evaluations"].push_back({{"step", e.step},
                                      {"psnr", json_number(e.psnr)},
                                      {"ssim", json_number(e.ssim)},
                                      {"seconds", json_number(e.seconds)}});
    out["machine"] = machine_since(run.times.machine);
    out["stages"] = run.stages ? *run.stages : Json::array();
    out["memory"] = Json::array();
    for (const MemoryUse& m : trainer.memory())
        out["memory"].push_back({{"category", m.category}, {"bytes", m.bytes}});
    out["settings"] = settings_json(trainer.settings());
    if (auto looks = appearance_json(trainer); !looks.is_null())
        out["appearance"] = std::move(looks);
    out["skipped"] = trainer.capture().skipped;
    return out;
}

}  // namespace gs
