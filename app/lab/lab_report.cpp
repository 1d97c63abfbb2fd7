#include "app/lab/lab_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/format.h"

namespace gs::lab {
namespace {

constexpr std::size_t kLeastPoints = 3;  // of a history that is told
constexpr const char* kOverTime[] = {"training", "Gaussians", "peak memory"};

std::string number_text(double value, int digits) {
    return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

ReportTable kinds_table(const std::vector<RunKind>& kinds) {
    ReportTable out{"Runs, means over seeds",
                    {"scene", "kind", "seeds", "PSNR dB", "between seeds", "SSIM", "Gaussians",
                     "training s", "in all s", "peak memory"},
                    {}};
    for (const RunKind& k : kinds)
        out.rows.push_back(
            {k.scene, k.name, std::to_string(k.runs.size()), number_text(k.mean(&LabRun::psnr), 3),
             number_text(k.deviation(&LabRun::psnr), 3), number_text(k.mean(&LabRun::ssim), 4),
             format_count(k.mean("Gaussians")), number_text(k.mean("training"), 1),
             number_text(k.mean("total"), 1), format_bytes(k.mean("peak memory"))});
    return out;
}

ReportTable stages_table(const std::vector<RunKind>& kinds) {
    std::set<std::string> stages;
    for (const RunKind& k : kinds)
        for (const LabRun* run : k.runs)
            for (const LabValue& v : run->values)
                if (v.metric.starts_with("stage ") || v.metric == "step") stages.insert(v.metric);
    ReportTable out{"Time per stage, ms of a step (medians)", {"stage"}, {}, true};
    for (const RunKind& k : kinds) out.columns.push_back(k.scene + " " + k.name);
    for (const std::string& stage : stages) {
        std::vector<std::string> row{stage.starts_with("stage ") ? stage.substr(6) : stage};
        for (const RunKind& k : kinds) row.push_back(number_text(k.mean(stage.c_str()), 3));
        out.rows.push_back(std::move(row));
    }
    return out;
}

ReportTable failures_table(const std::vector<LabRun>& runs) {
    ReportTable out{"Runs that failed", {"run", "why"}, {}};
    for (const LabRun& run : runs)
        if (run.failed)
            out.rows.push_back({fmt::format("{} {} {} seed {}, {}", run.of.scene, run.of.settings,
                                            run.of.backend, run.of.seed, run.of.label),
                                run.error});
    return out;
}

std::string signed_text(double value) {
    return std::isfinite(value) ? fmt::format("{:+.4g}", value) : "-";
}

void add_comparison(const RunComparison& c, Report& out) {
    ReportTable metrics{fmt::format("{} against {}", c.b, c.a),
                        {"metric", c.a, c.b, "difference", "95 % interval", "unit", "verdict"},
                        {}};
    for (const MetricRow& row : c.metrics)
        metrics.rows.push_back({row.metric, format_compact(row.a), format_compact(row.b),
                                signed_text(row.difference.mean),
                                row.difference.known() ? signed_text(row.difference.low) + " to " +
                                                             signed_text(row.difference.high)
                                                       : "-",
                                row.relative ? "%" : row.unit, row.verdict});
    out.tables.push_back(std::move(metrics));
    ReportTable gates{"Gates", {"gate", "measured", "95 % interval", "state"}, {}};
    for (const GateRow& row : c.gates)
        gates.rows.push_back({row.gate.text, signed_text(row.value),
                              signed_text(row.low) + " to " + signed_text(row.high),
                              name_of(row.state)});
    out.tables.push_back(std::move(gates));
    ReportTable worst{"Photos that lost most", {"photo", "scene", c.a, c.b, "difference dB"}, {}};
    for (const PhotoChange& p : c.worst)
        worst.rows.push_back({p.photo, p.scene, number_text(p.psnr_a, 2), number_text(p.psnr_b, 2),
                              signed_text(p.psnr_b - p.psnr_a)});
    out.tables.push_back(std::move(worst));
    out.notes = c.notes;
    out.notes.push_back(method_text());
}

/// Of one scene, each kind in its colour: what it costs against what it gives.
void add_trade_offs(const std::vector<RunKind>& kinds, Report& out) {
    std::map<std::string, std::vector<const RunKind*>> by_scene;
    for (const RunKind& k : kinds) by_scene[k.scene].push_back(&k);
    const auto plot = [&](const std::string& scene, const char* what, const char* unit, auto x,
                          auto y) {
        ReportPlot p{fmt::format("{}: {}", scene, what), unit, {}};
        for (const RunKind* k : by_scene[scene]) {
            ReportPlot::Line& line = p.lines.emplace_back();
            line.name = k->name;
            line.dots = true;
            for (const LabRun* run : k->runs) line.points.emplace_back(x(*run), y(*run));
        }
        out.plots.push_back(std::move(p));
    };
    const auto psnr = [](const LabRun& run) { return run.psnr(); };
    const auto seconds = [](const LabRun& run) { return run.value_of("total"); };
    const auto size = [](const LabRun& run) { return run.value_of("Gaussians"); };
    for (const auto& [scene, of] : by_scene) {
        plot(scene, "quality over seconds", "dB", seconds, psnr);
        plot(scene, "quality over Gaussians", "dB", size, psnr);
        plot(scene, "Gaussians over seconds", "", seconds, size);
    }
}

void add_histories(const std::vector<LabRun>& runs, Report& out) {
    for (const history::Judged& one : histories_of(runs)) {
        ReportPlot p{fmt::format("{} of {}, {}, program after program", one.series.metric.name,
                                 one.series.subject.job, one.series.subject.config),
                     one.series.metric.unit,
                     {{one.series.metric.name, {}}}};
        for (std::size_t i = 0; i < one.series.points.size(); ++i)
            p.lines[0].points.emplace_back(static_cast<double>(i), one.series.points[i].of.p50);
        for (const history::Change& change : one.changes)
            p.marks.push_back(
                {static_cast<double>(change.first) - 0.5,
                 fmt::format("{} by {:+.1f} %, commit {}",
                             history::verdict_of(change, one.series.metric), 100 * change.relative,
                             one.series.points[change.first].commit),
                 true});
        out.plots.push_back(std::move(p));
    }
}

std::string joined(const std::set<std::string>& words) {
    return fmt::format("{}", fmt::join(words, ", "));
}

void add_facts(const std::vector<LabRun>& runs, Report& out) {
    std::set<std::string> labels, commits, machines, scenes;
    std::size_t failed = 0;
    for (const LabRun& run : runs) {
        labels.insert(run.of.label), commits.insert(run.of.commit), scenes.insert(run.of.scene);
        machines.insert(run.processor.empty() ? run.host : run.host + ", " + run.processor);
        failed += run.failed;
    }
    out.facts = {{"runs", std::to_string(runs.size())},
                 {"failed", std::to_string(failed)},
                 {"labels", joined(labels)},
                 {"commits", joined(commits)},
                 {"scenes", joined(scenes)},
                 {"machines", joined(machines)}};
    if (!runs.empty())
        out.facts.emplace_back("from, to", history::time_text(runs.front().ended_s) + ", " +
                                               history::time_text(runs.back().ended_s));
}

}  // namespace

double RunKind::mean(double (LabRun::*value)() const) const {
    double sum = 0;
    for (const LabRun* run : runs) sum += (run->*value)();
    return sum / static_cast<double>(runs.size());
}
double RunKind::mean(const char* metric) const {
    double sum = 0;
    for (const LabRun* run : runs) sum += run->value_of(metric);
    return sum / static_cast<double>(runs.size());
}
double RunKind::deviation(double (LabRun::*value)() const) const {
    if (runs.size() < 2) return kUnknown;
    const double middle = mean(value);
    double sum = 0;
    for (const LabRun* run : runs) sum += std::pow((run->*value)() - middle, 2);
    return std::sqrt(sum / static_cast<double>(runs.size() - 1));
}

std::vector<RunKind> kinds_of(const std::vector<LabRun>& runs) {
    std::map<std::tuple<std::string, std::string, std::string, std::string>, RunKind> kinds;
    std::set<std::string> labels, settings, backends;
    for (const LabRun& run : runs) {
        if (run.failed) continue;
        const LabIdentity& of = run.of;
        RunKind& k = kinds[{of.scene, of.settings, of.backend, of.label}];
        k.label = of.label, k.scene = of.scene, k.settings = of.settings, k.backend = of.backend;
        k.runs.push_back(&run);
        labels.insert(of.label), settings.insert(of.settings), backends.insert(of.backend);
    }
    std::vector<RunKind> out;
    for (auto& [key, kind] : kinds) {
        std::vector<std::string> words;
        if (settings.size() > 1 || labels.size() == 1) words.push_back(kind.settings);
        if (labels.size() > 1) words.push_back(kind.label);
        if (backends.size() > 1) words.push_back(kind.backend);
        kind.name = fmt::format("{}", fmt::join(words, ", "));
        out.push_back(std::move(kind));
    }
    return out;
}

std::vector<history::Judged> histories_of(const std::vector<LabRun>& runs) {
    using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
    struct Measured {
        std::vector<double> values;  // of its seeds
        std::int64_t last_s = 0;
    };
    // By scene, how, host, metric and unit; each label's commit is a point.
    std::map<Key, std::map<std::pair<std::string, std::string>, Measured>> all;
    for (const LabRun& run : runs) {
        if (run.failed) continue;
        const std::string how =
            fmt::format("{}, {}, {}", run.of.settings, run.of.backend, run.of.how.substr(0, 6));
        const auto add = [&](const std::string& metric, const std::string& unit, double value) {
            if (!std::isfinite(value)) return;
            Measured& at =
                all[{run.of.scene, how, run.host, metric, unit}][{run.of.commit, run.of.label}];
            at.values.push_back(value);
            at.last_s = std::max(at.last_s, run.ended_s);
        };
        add("PSNR", "dB", run.psnr());
        for (const char* metric : kOverTime)
            for (const LabValue& v : run.values)
                if (v.metric == metric) add(metric, v.unit, v.value);
    }
    std::vector<history::Series> series;
    for (auto& [key, programs] : all) {
        if (programs.size() < kLeastPoints) continue;
        const auto& [scene, how, host, metric, unit] = key;
        history::Series& s = series.emplace_back();
        s.subject = {"lab", scene, how, host};
        s.metric = {metric, unit};
        for (auto& [program, measured] : programs)
            s.points.push_back(
                {measured.last_s, program.first, history::quantiles_of(measured.values)});
        std::sort(s.points.begin(), s.points.end(),
                  [](const auto& x, const auto& y) { return x.time_s < y.time_s; });
    }
    return history::judge(std::move(series));
}

Report lab_report(const std::vector<LabRun>& runs, const std::optional<RunComparison>& comparison,
                  const std::string& title) {
    Report out;
    out.title = "Lab: " + title;
    out.made = made_by();
    add_facts(runs, out);
    const std::vector<RunKind> kinds = kinds_of(runs);
    if (comparison) add_comparison(*comparison, out);
    add_trade_offs(kinds, out);
    add_histories(runs, out);
    out.tables.push_back(kinds_table(kinds));
    out.tables.push_back(stages_table(kinds));
    out.tables.push_back(failures_table(runs));
    return out;
}

}  // namespace gs::lab
