#include "app/studio/session_report.h"

#include <fmt/format.h>

#include "app/bundle/notes_file.h"
#include "base/format.h"
#include "base/machine.h"

namespace gs {
namespace {

struct NamedCurve {
    const char* name;
    const std::vector<CurvePoint> Curves::*points;
};
constexpr NamedCurve kCurves[] = {
    {"loss", &Curves::loss},           {"train_psnr", &Curves::train_psnr},
    {"test_psnr", &Curves::test_psnr}, {"test_ssim", &Curves::test_ssim},
    {"gaussians", &Curves::gaussians}, {"step_ms", &Curves::step_ms},
    {"lr_means", &Curves::lr_means}};

ReportPlot::Line line_of(const char* name, const std::vector<CurvePoint>& points) {
    ReportPlot::Line out{name, {}};
    for (const CurvePoint& p : points)
        out.points.emplace_back(static_cast<double>(p.step), static_cast<double>(p.value));
    return out;
}

void report_curves(const Curves& curves, Report& out) {
    std::vector<ReportPlot> plots{
        {"loss", "", {line_of("", curves.loss)}, {}, true},
        {"PSNR", "dB", {line_of("train", curves.train_psnr), line_of("test", curves.test_psnr)}},
        {"Gaussians", "", {line_of("", curves.gaussians)}, {}, true},
        {"step", "ms", {line_of("", curves.step_ms)}, {}, true}};
    ReportTable marks{"What happened", {"what", "at step"}, {}, true};
    for (const CurveMark& mark : curves.marks) {
        const auto step = static_cast<double>(mark.step);
        for (ReportPlot& plot : plots) plot.marks.push_back({step, mark.text, mark.alarm});
        marks.rows.push_back({mark.text, format_count(step)});
    }
    for (ReportPlot& plot : plots) out.plots.push_back(std::move(plot));
    out.tables.push_back(std::move(marks));
}

void report_facts(const StudioState& state, Report& out) {
    const auto fact = [&](const char* label, std::string value) {
        if (!value.empty() && value != "-") out.facts.emplace_back(label, std::move(value));
    };
    const SceneInfo& scene = *state.scene;
    const TrainingStatus& training = state.training;
    fact("scene", scene.path);
    fact("format", scene.format);
    fact("Gaussians", format_count(static_cast<double>(state.gaussians())));
    fact("SH degree", std::to_string(scene.sh_degree));
    if (scene.train_views + scene.test_views > 0)
        fact("photos",
             fmt::format("{} to train on, {} held out", scene.train_views, scene.test_views));
    fact("backend", state.backend);
    fact("machine", state.limits ? state.limits->machine : processor_name());
    if (scene.train_views == 0 || training.total_steps == 0) return;
    fact("steps", fmt::format("{} of {}", format_count(static_cast<double>(training.step)),
                              format_count(static_cast<double>(training.total_steps))));
    fact("training", training.seconds > 0 ? format_duration(training.seconds) : "");
    fact("loss", format_number(training.loss, 4));
    fact("test PSNR", format_db(training.test_psnr));
    fact("test SSIM", format_number(training.test_ssim, 4));
}

void report_stages(const TraceStore& trace, Report& out) {
    for (const auto& [scope, title] : {std::pair(StatScope::iteration, "Stages of a step"),
                                       std::pair(StatScope::view_frame, "Stages of a picture")}) {
        ReportTable table{title, {"stage", "mean", "median", "95 %", "share", "samples"}, {}};
        for (const StageStats& s : trace.frames().statistics(scope))
            table.rows.push_back({kStageNames[static_cast<std::size_t>(s.stage)],
                                  format_ms(s.mean_ms), format_ms(s.p50_ms), format_ms(s.p95_ms),
                                  format_share(s.share),
                                  format_count(static_cast<double>(s.samples))});
        out.tables.push_back(std::move(table));
    }
}

void report_photos(const std::vector<CameraRow>& rows, Report& out) {
    ReportTable table{"Photos", {"photo", "", "PSNR", "SSIM", "loss", "used", "at step"}, {}, true};
    for (const CameraRow& row : rows)
        table.rows.push_back({row.name, row.test ? "held out" : "", format_db(row.psnr),
                              format_number(row.ssim, 4), format_number(row.loss, 4),
                              std::to_string(row.times_sampled),
                              format_count(static_cast<double>(row.measured_step))});
    out.tables.push_back(std::move(table));
}

}  // namespace

Report session_report(const StudioState& state, const TraceStore& trace) {
    Report out;
    out.title = state.scene->name;
    out.subtitle = "Current state in the studio";
    out.made = made_by();
    report_facts(state, out);
    if (const auto& notes = state.notes.state())
        for (const Note& note : notes->notes) out.notes.push_back(note_line(note));
    if (state.curves) report_curves(*state.curves, out);
    if (state.doctor) {
        out.examined = true;
        out.findings = state.doctor->findings;
    }
    if (state.cameras) report_photos(*state.cameras, out);
    report_stages(trace, out);
    if (state.settings) {
        ReportTable table{"Settings", {"setting", "value", "usual"}, {}, true};
        for (const SettingRow& row : *state.settings)
            table.rows.push_back(
                {row.name, format_number(row.value, 6), format_number(row.usual, 6)});
        out.tables.push_back(std::move(table));
    }
    return out;
}

std::string curves_csv(const Curves& curves) {
    std::string out = "curve,step,value\n";
    for (const NamedCurve& curve : kCurves)
        for (const CurvePoint& p : curves.*curve.points)
            out += fmt::format("{},{},{}\n", curve.name, p.step,
                               csv_number(static_cast<double>(p.value)));
    return out;
}

}  // namespace gs
