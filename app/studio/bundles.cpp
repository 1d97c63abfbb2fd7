// Bundles in the studio: collects the contents when one is saved. SceneFollower restores them.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/bundle/bundle_file.h"
#include "app/bundle/notes_file.h"
#include "app/bundle/report.h"
#include "app/bundle/view_file.h"
#include "app/session/engine.h"
#include "app/session/parts/bundle_saver.h"
#include "app/studio/film.h"
#include "app/studio/measures.h"
#include "app/studio/studio.h"
#include "app/studio/studio_state.h"
#include "base/file.h"
#include "base/format.h"
#include "base/json_write.h"
#include "base/machine.h"
#include "base/try.h"
#include "profiler/files/export_perfetto.h"
#include "profiler/store/store.h"

namespace gs {
namespace {

// ---- the report of the open session: the same page as a run's (app/bundle/run_report.h), from the
// current state

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

/// Without the viewport's picture, which the engine adds.
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

/// "curve,step,value" lines of all curves.
std::string curves_csv(const Curves& curves) {
    std::string out = "curve,step,value\n";
    for (const NamedCurve& curve : kCurves)
        for (const CurvePoint& p : curves.*curve.points)
            out += fmt::format("{},{},{}\n", curve.name, p.step,
                               csv_number(static_cast<double>(p.value)));
    return out;
}

std::string settings_text(const std::vector<SettingRow>& rows) {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    for (const SettingRow& row : rows) out[row.name] = json_number(row.value);
    return json_text(out, 2) + "\n";
}

/// Saved views, and where the viewport looks from now.
Result<void> write_places(const StudioState& state, const fs::path& folder) {
    std::vector<SavedView> views = state.saved_views;
    std::erase_if(views, [](const SavedView& v) { return v.name == kLastView; });
    views.push_back({kLastView, state.view.capture_view, state.navigation});
    GS_TRY_VOID(write_views(folder / member_name::kViews, views));
    GS_TRY_VOID(write_text_file(folder / member_name::kView, view_json(state.view)));
    // Files saved beside them with every change.
    for (const auto& [file, name] :
         {std::pair(film_file(state.views_file), member_name::kPath),
          std::pair(measures_file(state.views_file), member_name::kMeasures)}) {
        if (!file_exists(file)) continue;
        GS_TRY(const auto bytes, read_file(file));
        GS_TRY_VOID(write_file(folder / name, bytes));
    }
    const auto& notes = state.notes.state();
    return write_text_file(folder / member_name::kNotes,
                           notes_json(notes ? notes->notes : std::vector<Note>()));
}

}  // namespace

Result<void> save_bundle(Studio& studio, const std::string& path, bool photos) {
    StudioState& state = studio.state();
    if (!state.scene) return fail(ErrorKind::usage, "", "nothing is open to save");
    if (fs::path(path).extension() != ".gsb")
        return fail(ErrorKind::usage, path, "a bundle's name must end in .gsb");
    GS_TRY(auto made, PrivateFolder::make());
    auto folder = std::make_shared<PrivateFolder>(std::move(made));
    const fs::path& to = folder->path();
    GS_TRY_VOID(write_places(state, to));
    GS_TRY_VOID(write_text_file(to / member_name::kLayout, studio.ui().workspace().save_layout()));
    if (state.settings) {
        GS_TRY_VOID(write_text_file(to / member_name::kSettings, settings_text(*state.settings)));
    }
    if (state.curves) {
        GS_TRY_VOID(write_text_file(to / member_name::kCurves, curves_csv(*state.curves)));
    }
    studio.traces().drain();
    const TraceStore& trace = studio.traces().own();
    GS_TRY_VOID(export_perfetto(trace, to / member_name::kTrace));
    const auto request = std::make_shared<BundleRequest>(
        BundleRequest{path, photos, view_request_of(state, state.width, state.height), folder,
                      session_report(state, trace)});
    return send(state, [request](Engine& e) {
        if (const auto scene = e.open_scene())
            e.part<BundleSaver>().save(std::move(*request), *scene);
    });
}

}  // namespace gs
