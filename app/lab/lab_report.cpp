#include "app/lab/lab_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "app/lab/exports.h"
#include "base/format.h"

namespace gs::lab {
namespace {

constexpr std::size_t kLeastPoints = 3;  // of a reported history
constexpr const char* kOverTime[] = {"training", "Gaussians", "peak memory"};

double total_of(const LabRun& run) { return run.value_of("total"); }
double gaussians_of(const LabRun& run) { return run.value_of("Gaussians"); }

/// Of suites that export; without rows where none did.
ReportTable exports_table(const std::vector<RunKind>& kinds) {
    ReportTable out{"In other formats", {"scene", "kind", "format", "size", "PSNR lost, dB"}, {}};
    for (const RunKind& k : kinds)
        for (const std::string format : kExportFormats)
            if (const double size = k.mean((format + " size").c_str()); std::isfinite(size))
                out.rows.push_back({k.scene, k.name, format, format_bytes(size),
                                    format_fixed(k.mean((format + " loss").c_str()), 3)});
    return out;
}

ReportTable kinds_table(const std::vector<RunKind>& kinds) {
    ReportTable out{"Runs, means over seeds",
                    {"scene", "kind", "seeds", "PSNR dB", "between seeds", "SSIM", "Gaussians",
                     "training s", "in all s", "peak memory", "on the Pareto front of"},
                    {}};
    std::map<std::string, std::vector<const RunKind*>> by_scene;
    for (const RunKind& k : kinds) by_scene[k.scene].push_back(&k);
    for (const RunKind& k : kinds) {
        const auto on_front = [&](double (*cost)(const LabRun&)) {
            const auto front = pareto_front(by_scene[k.scene], cost);
            return std::ranges::find(front, &k) != front.end();
        };
        const bool time = on_front(total_of), size = on_front(gaussians_of);
        out.rows.push_back(
            {k.scene, k.name, std::to_string(k.runs.size()), format_fixed(k.mean(&LabRun::psnr), 3),
             format_fixed(k.deviation(&LabRun::psnr), 3), format_fixed(k.mean(&LabRun::ssim), 4),
             format_count(k.mean("Gaussians")), format_fixed(k.mean("training"), 1),
             format_fixed(k.mean("total"), 1), format_bytes(k.mean("peak memory")),
             time && size ? "time, size"
             : time       ? "time"
             : size       ? "size"
                          : "-"});
    }
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
        for (const RunKind& k : kinds) row.push_back(format_fixed(k.mean(stage.c_str()), 3));
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

/// The result in one line: the metrics with a verdict, and the gates.
std::string verdict_text(const RunComparison& c) {
    std::vector<std::string> said;
    for (const MetricRow& row : c.metrics) {
        if (row.verdict == "same" || row.verdict == "unclear" || row.verdict == "too few") continue;
        const std::string unit = row.relative ? " %" : row.unit.empty() ? "" : " " + row.unit;
        said.push_back(
            fmt::format("{} {} ({:+.3g}{})", row.metric, row.verdict, row.difference.mean, unit));
    }
    std::string out = fmt::format(
        "{} against {}, {} pairs of runs: {}.", c.b, c.a, c.pairs,
        said.empty() ? "no significant difference" : fmt::format("{}", fmt::join(said, ", ")));
    if (c.gates.empty()) return out + " No gates.";
    const auto count = [&](GateState state) {
        return std::ranges::count(c.gates, state, &GateRow::state);
    };
    return out + fmt::format(" Gates: {} of {} fail, {} hold, {} undecided.",
                             count(GateState::fails), c.gates.size(), count(GateState::holds),
                             count(GateState::undecided));
}

void add_comparison(const RunComparison& c, Report& out) {
    out.subtitle = verdict_text(c);
    ReportTable gates{"Gates", {"gate", "state", "measured", "95 % interval"}, {}};
    for (const GateRow& row : c.gates)
        gates.rows.push_back({row.gate.text, name_of(row.state), signed_text(row.value),
                              signed_text(row.low) + " to " + signed_text(row.high)});
    out.first.push_back(std::move(gates));
    ReportTable metrics{fmt::format("{} against {}", c.b, c.a),
                        {"metric", "verdict", c.a, c.b, "difference", "95 % interval"},
                        {}};
    for (const MetricRow& row : c.metrics) {
        const std::string unit = row.relative ? "%" : row.unit;
        const std::string behind = unit.empty() ? "" : " " + unit;
        metrics.rows.push_back({row.unit.empty() ? row.metric : row.metric + ", " + row.unit,
                                row.verdict, format_compact(row.a), format_compact(row.b),
                                signed_text(row.difference.mean) + behind,
                                row.difference.known()
                                    ? fmt::format("{} to {}{}", signed_text(row.difference.low),
                                                  signed_text(row.difference.high), behind)
                                    : "-"});
    }
    out.first.push_back(std::move(metrics));
    ReportTable worst{"Photos that lost most", {"photo", "scene", c.a, c.b, "difference dB"}, {}};
    for (const PhotoChange& p : c.worst)
        worst.rows.push_back({p.photo, p.scene, format_fixed(p.psnr_a, 2),
                              format_fixed(p.psnr_b, 2), signed_text(p.psnr_b - p.psnr_a)});
    out.tables.push_back(std::move(worst));
    out.notes = c.notes;
    out.notes.push_back(method_text());
}

/// Plots cost against quality for one scene, with a colour for each kind.
void add_trade_offs(const std::vector<RunKind>& kinds, Report& out) {
    std::map<std::string, std::vector<const RunKind*>> by_scene;
    for (const RunKind& k : kinds) by_scene[k.scene].push_back(&k);
    using Of = double (*)(const LabRun&);
    const auto plot = [&](const std::string& scene, const char* what, const char* unit,
                          const char* x_text, Of x, Of y) {
        ReportPlot p{fmt::format("{}: {}", scene, what), unit, {}};
        p.x = x_text;
        for (const RunKind* k : by_scene[scene]) {
            ReportPlot::Line& line = p.lines.emplace_back();
            line.name = k->name;
            line.dots = true;
            for (const LabRun* run : k->runs) line.points.emplace_back(x(*run), y(*run));
        }
        return p;
    };
    const Of psnr = [](const LabRun& run) { return run.psnr(); };
    for (const auto& [scene, of] : by_scene) {
        for (const auto& [what, x_text, cost] :
             {std::tuple("quality over time", "loading and training, s", Of(total_of)),
              std::tuple("quality over size", "Gaussians", Of(gaussians_of))}) {
            ReportPlot p = plot(scene, what, "PSNR dB", x_text, cost, psnr);
            ReportPlot::Line front{"Pareto front of the means", {}, false, true};
            for (const RunKind* k : pareto_front(of, cost))
                front.points.emplace_back(k->mean(cost), k->mean(psnr));
            if (front.points.size() > 1) p.lines.push_back(std::move(front));
            out.plots.push_back(std::move(p));
        }
        out.plots.push_back(plot(scene, "size over time", "Gaussians", "loading and training, s",
                                 total_of, gaussians_of));
    }
}

void add_histories(const std::vector<LabRun>& runs, Report& out) {
    for (const history::Judged& one : histories_of(runs)) {
        ReportPlot p{fmt::format("{} of {}, {}, program after program", one.series.metric.name,
                                 one.series.subject.job, one.series.subject.config),
                     one.series.metric.unit,
                     {{one.series.metric.name, {}}}};
        p.x = "programs, oldest first";
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
        machines.insert(run.machine());
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

double RunKind::mean(double (*value)(const LabRun&)) const {
    double sum = 0;
    for (const LabRun* run : runs) sum += value(*run);
    return sum / static_cast<double>(runs.size());
}
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

std::vector<const RunKind*> pareto_front(const std::vector<const RunKind*>& kinds,
                                         double (*cost)(const LabRun&)) {
    std::vector<const RunKind*> sorted;
    for (const RunKind* k : kinds)
        if (std::isfinite(k->mean(cost)) && std::isfinite(k->mean(&LabRun::psnr)))
            sorted.push_back(k);
    std::ranges::sort(sorted, [&](const RunKind* a, const RunKind* b) {
        return std::pair(a->mean(cost), -a->mean(&LabRun::psnr)) <
               std::pair(b->mean(cost), -b->mean(&LabRun::psnr));
    });
    std::vector<const RunKind*> out;
    for (const RunKind* k : sorted)
        if (out.empty() || k->mean(&LabRun::psnr) > out.back()->mean(&LabRun::psnr))
            out.push_back(k);
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
            fmt::format("{}, {}, {}{}", run.of.settings, run.of.backend,
                        run.of.definition().substr(0, 6), run.of.content().substr(0, 4));
        const auto add = [&](const std::string& metric, const std::string& unit, double value) {
            if (!std::isfinite(value)) return;
            Measured& at = all[{run.of.scene, how, unit == "s" ? run.machine() : run.host, metric,
                                unit}][{run.of.commit, run.of.label}];
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
        std::ranges::sort(s.points,
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
    if (auto exports = exports_table(kinds); !exports.rows.empty())
        out.tables.push_back(std::move(exports));
    out.tables.push_back(stages_table(kinds));
    out.tables.push_back(failures_table(runs));
    return out;
}

}  // namespace gs::lab
