#include "app/lab/compare_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "app/lab/exports.h"
#include "base/json_write.h"
#include "base/try.h"
#include "profiler/analysis/machine_use.h"

namespace gs::lab {
namespace {

constexpr std::size_t kLeastCommit = 6;  // digits
constexpr std::size_t kWorstPhotos = 12;

struct RunPair {
    std::string group, scene;
    const LabRun *a, *b;
};
/// The compared metrics of a pair, and the difference from which they matter.
struct Looked {
    std::string metric, unit;
    Better better;
    bool relative, time;
    double least;  ///< in the unit; percent where relative
    std::function<double(const LabRun&, const LabRun&)> difference;  ///< NaN: not of these
    std::function<double(const LabRun&)> level;
};

/// Mean over the photos that both have.
double photo_difference(const LabRun& a, const LabRun& b, double LabPhoto::*score) {
    double sum = 0, count = 0;
    for (const LabPhoto& p : a.photos)
        for (const LabPhoto& q : b.photos)
            if (p.name == q.name && std::isfinite(p.*score) && std::isfinite(q.*score))
                sum += q.*score - p.*score, ++count;
    return count > 0 ? sum / count : kUnknown;
}

Looked of_value(std::string metric, std::string unit, Better better, bool time, double least) {
    const auto level = [metric](const LabRun& run) { return run.value_of(metric); };
    const auto difference = [level](const LabRun& a, const LabRun& b) {
        const double x = level(a), y = level(b);
        return x > 0 && y > 0 ? std::log(y / x) : kUnknown;
    };
    return {std::move(metric), std::move(unit), better, true, time, least, difference, level};
}

std::vector<Looked> headlines() {
    const auto photos = [](double LabPhoto::*score) {
        return [score](const LabRun& a, const LabRun& b) { return photo_difference(a, b, score); };
    };
    std::vector<Looked> out{{"PSNR", "dB", Better::more, false, false, 0.02,
                             photos(&LabPhoto::psnr), [](const LabRun& run) { return run.psnr(); }},
                            {"SSIM", "", Better::more, false, false, 5e-4, photos(&LabPhoto::ssim),
                             [](const LabRun& run) { return run.ssim(); }},
                            of_value("Gaussians", "", Better::neither, false, 1),
                            of_value("training", "s", Better::less, true, 3),
                            of_value("total", "s", Better::less, true, 3),
                            of_value("to target", "s", Better::less, true, 3),
                            of_value("peak memory", "bytes", Better::less, false, 2),
                            of_value("isects", "", Better::less, false, 0.5),
                            of_value("step", "ms", Better::less, true, 3),
                            of_value("range", "m", Better::less, false, 2)};
    for (const std::string format : kExportFormats) {
        out.push_back(of_value(format + " size", "bytes", Better::less, false, 1));
        const auto loss = [format](const LabRun& run) { return run.value_of(format + " loss"); };
        out.push_back({format + " loss", "dB", Better::less, false, false, 0.02,
                       [loss](const LabRun& a, const LabRun& b) { return loss(b) - loss(a); },
                       loss});
    }
    return out;
}

std::vector<Looked> stages_of(std::span<const RunPair> pairs) {
    std::set<std::string> names;
    for (const RunPair& pair : pairs)
        for (const LabValue& value : pair.a->values)
            if (value.metric.starts_with("stage ")) names.insert(value.metric);
    std::vector<Looked> out;
    for (const std::string& name : names)
        out.push_back(of_value(name, "ms", Better::less, true, 3));
    return out;
}

double percent_of(double logarithm) { return 100 * std::expm1(logarithm); }

Interval as_shown(Interval i, bool relative) {
    if (relative)
        i.mean = percent_of(i.mean), i.low = percent_of(i.low), i.high = percent_of(i.high);
    return i;
}

/// The row without its verdict; no replicates: the metric is not of these runs.
MetricRow row_of(const Looked& looked, std::span<const RunPair> pairs) {
    MetricRow out;
    out.metric = looked.metric, out.unit = looked.unit;
    out.better = looked.better, out.relative = looked.relative;
    std::map<std::string, std::vector<double>> by_group;
    std::map<std::string, std::map<std::string, std::vector<double>>> by_scene;
    double a = 0, b = 0, count = 0;
    for (const RunPair& pair : pairs) {
        const double d = looked.difference(*pair.a, *pair.b);
        if (!std::isfinite(d)) continue;
        by_group[pair.group].push_back(d);
        by_scene[pair.scene][pair.group].push_back(d);
        a += looked.level(*pair.a), b += looked.level(*pair.b), ++count;
    }
    if (count == 0) return out;
    out.a = a / count, out.b = b / count;
    const auto interval = [&](const auto& groups) {
        std::vector<std::vector<double>> values;
        for (const auto& [name, group] : groups) values.push_back(group);
        return as_shown(interval_of(values), looked.relative);
    };
    out.difference = interval(by_group);
    for (const auto& [scene, groups] : by_scene) out.scenes.push_back({scene, interval(groups)});
    return out;
}

std::string verdict_on(const MetricRow& row, const Looked& looked, bool quiet) {
    const Interval& d = row.difference;
    if (!d.known()) return "too few";
    if (row.p <= kVerdictChance && std::abs(d.mean) >= looked.least) {
        if (looked.time && !quiet) return "not quiet";
        const bool more = d.mean > 0;
        if (row.better == Better::neither) return more ? "more" : "less";
        return more == (row.better == Better::more) ? "better" : "worse";
    }
    return d.low > -looked.least && d.high < looked.least ? "same" : "unclear";
}

void add_rows(std::vector<Looked> looked, std::span<const RunPair> pairs, bool quiet,
              std::vector<MetricRow>& out) {
    std::vector<MetricRow> rows;
    std::vector<double> p;
    for (const Looked& one : looked) {
        rows.push_back(row_of(one, pairs));
        p.push_back(rows.back().difference.known() ? rows.back().difference.p : kUnknown);
    }
    const std::vector<double> adjusted = holm(p);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].difference.replicates == 0) continue;
        rows[i].p = adjusted[i];
        rows[i].verdict = verdict_on(rows[i], looked[i], quiet);
        out.push_back(std::move(rows[i]));
    }
}

/// The key of a pair, besides the seed, without the compared attribute.
std::string group_of(const LabRun& run, RunSelection::By by, bool by_content) {
    using By = RunSelection::By;
    const LabIdentity& of = run.of;
    const bool program = by == By::label || by == By::commit || by == By::all;
    return fmt::format("{}|{}|{}|{}|{}", of.scene,
                       by == By::settings ? "" : of.settings + of.definition(),
                       by == By::backend ? "" : of.backend, program ? "" : of.label + of.commit,
                       by_content ? of.content() : "");
}

/// The newest run of a group and seed.
std::map<std::pair<std::string, std::uint64_t>, const LabRun*> by_key(const RunSelection& from,
                                                                      bool by_content,
                                                                      std::size_t& older) {
    std::map<std::pair<std::string, std::uint64_t>, const LabRun*> out;
    for (const LabRun& run : from.runs) {
        if (run.failed) continue;
        const LabRun*& at = out[{group_of(run, from.by, by_content), run.of.seed}];
        if (at != nullptr) ++older;
        at = &run;  // oldest first
    }
    return out;
}

std::vector<RunPair> pairs_of(const RunSelection& a, const RunSelection& b,
                              std::vector<std::string>& notes) {
    std::size_t older = 0;
    std::map<std::string, std::set<std::string>> contents;  // by scene
    bool by_content = true, any_content = false;
    for (const RunSelection* side : {&a, &b})
        for (const LabRun& run : side->runs) {
            contents[run.of.scene].insert(run.of.content());
            const bool known = !run.of.content().empty();
            by_content &= known;
            any_content |= known;
        }
    if (any_content && !by_content)
        notes.push_back(
            "some runs are of an older lab that did not record capture contents: photos are "
            "assumed to be the same");
    for (const auto& [scene, seen] : contents)
        if (by_content && seen.size() > 1)
            notes.push_back(fmt::format(
                "the files of {} changed between runs: only runs of the same files are compared",
                scene));
    const auto in_a = by_key(a, by_content, older), in_b = by_key(b, by_content, older);
    std::vector<RunPair> out;
    for (const auto& [key, run] : in_a)
        if (const auto twin = in_b.find(key); twin != in_b.end())
            out.push_back({key.first, run->of.scene, run, twin->second});
    if (older > 0)
        notes.push_back(
            fmt::format("{} runs were superseded by newer ones of the same kind", older));
    if (const std::size_t lone = in_a.size() + in_b.size() - 2 * out.size(); lone > 0)
        notes.push_back(fmt::format("{} runs have no counterpart on the other side", lone));
    const auto failed = [](const LabRun& run) { return run.failed; };
    for (const RunSelection* side : {&a, &b})
        if (const auto n = std::count_if(side->runs.begin(), side->runs.end(), failed); n > 0)
            notes.push_back(fmt::format("{} runs of {} failed", n, side->name));
    return out;
}

/// Times can be compared.
bool all_quiet(std::span<const RunPair> pairs, std::vector<std::string>& notes) {
    double most = 0;
    std::set<std::string> machines;
    for (const RunPair& pair : pairs)
        for (const LabRun* run : {pair.a, pair.b}) {
            const double waited = run->value_of("threads waited");
            if (std::isfinite(waited)) most = std::max(most, waited);
            machines.insert(run->machine());
        }
    if (machines.size() > 1)
        notes.push_back("the runs are of several machines: no verdict on times");
    if (most > kQuiet)
        notes.push_back(
            fmt::format("threads waited up to {:.0f} % of a run's time for a CPU: no "
                        "verdict on times",
                        100 * most));
    return most <= kQuiet && machines.size() == 1;
}

std::vector<PhotoChange> worst_of(std::span<const RunPair> pairs, RunComparison& into) {
    std::map<std::pair<std::string, std::string>, PhotoChange> worst;
    for (const RunPair& pair : pairs) {
        bool same = !pair.a->photos.empty();
        for (const LabPhoto& p : pair.a->photos)
            for (const LabPhoto& q : pair.b->photos) {
                if (p.name != q.name) continue;
                ++into.photos;
                same &= p.psnr == q.psnr && p.ssim == q.ssim;
                if (!std::isfinite(p.psnr) || !std::isfinite(q.psnr)) continue;
                PhotoChange& at = worst[{pair.scene, p.name}];
                if (at.run_a == 0 || q.psnr - p.psnr < at.psnr_b - at.psnr_a)
                    at = {pair.scene, p.name, pair.a->id, pair.b->id, p.psnr, q.psnr};
            }
        into.same_bits += same;
    }
    std::vector<PhotoChange> out;
    for (auto& [key, change] : worst) out.push_back(std::move(change));
    std::sort(out.begin(), out.end(), [](const PhotoChange& x, const PhotoChange& y) {
        return x.psnr_b - x.psnr_a < y.psnr_b - y.psnr_a;
    });
    if (out.size() > kWorstPhotos) out.resize(kWorstPhotos);
    return out;
}

struct GateSubject {
    const char *gate, *metric;
    double sign;
};
constexpr GateSubject kGateSubjects[] = {
    {"psnr_drop", "PSNR", -1},          {"ssim_drop", "SSIM", -1},
    {"gaussians_rise", "Gaussians", 1}, {"training_rise", "training", 1},
    {"total_rise", "total", 1},         {"memory_rise", "peak memory", 1},
    {"to_target_rise", "to target", 1}, {"isects_rise", "isects", 1},
    {"step_rise", "step", 1},           {"range_rise", "range", 1}};

GateRow judge_gate(const Gate& gate, std::span<const MetricRow> metrics) {
    GateRow out{gate};
    for (const GateSubject& subject : kGateSubjects)
        for (const MetricRow& row : metrics) {
            if (gate.metric != subject.gate || row.metric != subject.metric) continue;
            const Interval& d = row.difference;
            out.value = subject.sign * d.mean;
            if (!d.known()) return out;
            out.low = std::min(subject.sign * d.low, subject.sign * d.high);
            out.high = std::max(subject.sign * d.low, subject.sign * d.high);
            out.state = out.low > gate.most    ? GateState::fails
                        : out.high > gate.most ? GateState::undecided
                                               : GateState::holds;
        }
    return out;
}

nlohmann::ordered_json interval_json(const Interval& i) {
    return {{"mean", json_number(i.mean)}, {"low", json_number(i.low)},
            {"high", json_number(i.high)}, {"freedom", json_number(i.freedom)},
            {"groups", i.groups},          {"replicates", i.replicates}};
}

}  // namespace

const char* name_of(GateState state) {
    return state == GateState::holds ? "holds" : state == GateState::fails ? "FAILS" : "undecided";
}

bool RunComparison::fails() const {
    return std::any_of(gates.begin(), gates.end(),
                       [](const GateRow& row) { return row.state == GateState::fails; });
}

Result<RunSelection> select_runs(const std::vector<LabRun>& runs, const std::string& name) {
    using By = RunSelection::By;
    const auto is = [&](const LabRun& run, By by) {
        return by == By::label      ? run.of.label == name
               : by == By::settings ? run.of.settings == name
               : by == By::backend  ? run.of.backend == name
                                   : name.size() >= kLeastCommit && run.of.commit.starts_with(name);
    };
    for (const By by : {By::label, By::settings, By::backend, By::commit}) {
        RunSelection out{name, by, {}};
        std::copy_if(runs.begin(), runs.end(), std::back_inserter(out.runs),
                     [&](const LabRun& run) { return is(run, by); });
        if (!out.runs.empty()) return out;
    }
    std::set<std::string> labels, settings;
    for (const LabRun& run : runs) labels.insert(run.of.label), settings.insert(run.of.settings);
    return fail(ErrorKind::usage, name, "no run has that label, settings, backend or commit",
                fmt::format("labels: {}; settings: {}", fmt::join(labels, ", "),
                            fmt::join(settings, ", ")));
}

Result<RunComparison> compare_runs(const RunSelection& a, const RunSelection& b,
                                   std::span<const Gate> gates) {
    RunComparison out;
    out.a = a.name, out.b = b.name;
    // A label against a commit: both are programs.
    const bool programs = a.by != RunSelection::By::settings && a.by != RunSelection::By::backend &&
                          b.by != RunSelection::By::settings && b.by != RunSelection::By::backend;
    if (a.by != b.by && !programs)
        return fail(ErrorKind::usage, a.name, "and " + b.name + " differ in kind",
                    "compare two labels, two commits, two settings or two backends");
    const std::vector<RunPair> pairs = pairs_of(a, b, out.notes);
    if (pairs.empty())
        return fail(ErrorKind::usage, a.name,
                    "has no run of the same scene, settings, limits and seed as " + b.name,
                    "run the same suite for both");
    out.pairs = pairs.size();
    out.worst = worst_of(pairs, out);
    const bool quiet = all_quiet(pairs, out.notes);
    add_rows(headlines(), pairs, quiet, out.metrics);
    add_rows(stages_of(pairs), pairs, quiet, out.metrics);
    for (const Gate& gate : gates) out.gates.push_back(judge_gate(gate, out.metrics));
    return out;
}

Result<std::vector<Gate>> gates_of(const LabFile& file, const std::vector<LabRun>& runs) {
    std::set<std::string> names;
    for (const LabRun& run : runs) names.insert(run.of.suite);
    std::vector<Gate> out;
    for (const std::string& name : names) {
        GS_TRY(std::string text, file.suite_text(name));
        if (text.empty()) continue;
        GS_TRY(const Suite suite, parse_suite(name, std::move(text)));
        out.insert(out.end(), suite.gates.begin(), suite.gates.end());
    }
    return out;
}

std::string method_text() {
    return fmt::format(
        "B - A of the same scene and seed, mean over the photos; seeds are the replicates, scenes "
        "the strata (Welch and Satterthwaite's t, 95 %); with one seed a scene the scenes are the "
        "replicates. Times, sizes and counts are percent, from mean logarithms. A verdict is given "
        "if Holm's p is at most {} among the metrics and {} among the stages, and the difference "
        "is large enough to matter.",
        kVerdictChance, kVerdictChance);
}

nlohmann::ordered_json comparison_json(const RunComparison& c) {
    nlohmann::ordered_json out{{"a", c.a},
                               {"b", c.b},
                               {"pairs", c.pairs},
                               {"photos", c.photos},
                               {"same_bits", c.same_bits},
                               {"notes", c.notes},
                               {"method", method_text()}};
    for (const char* list : {"metrics", "gates", "worst"})
        out[list] = nlohmann::ordered_json::array();
    for (const MetricRow& row : c.metrics) {
        nlohmann::ordered_json scenes = nlohmann::ordered_json::array();
        for (const MetricRow::Scene& scene : row.scenes)
            scenes.push_back(
                {{"scene", scene.name}, {"difference", interval_json(scene.difference)}});
        out["metrics"].push_back({{"metric", row.metric},
                                  {"unit", row.relative ? "%" : row.unit},
                                  {"a", json_number(row.a)},
                                  {"b", json_number(row.b)},
                                  {"difference", interval_json(row.difference)},
                                  {"p", json_number(row.p)},
                                  {"verdict", row.verdict},
                                  {"scenes", std::move(scenes)}});
    }
    for (const GateRow& row : c.gates)
        out["gates"].push_back({{"gate", row.gate.text},
                                {"value", json_number(row.value)},
                                {"low", json_number(row.low)},
                                {"high", json_number(row.high)},
                                {"state", name_of(row.state)}});
    for (const PhotoChange& photo : c.worst)
        out["worst"].push_back({{"scene", photo.scene},
                                {"photo", photo.photo},
                                {"psnr_a", json_number(photo.psnr_a)},
                                {"psnr_b", json_number(photo.psnr_b)}});
    return out;
}

}  // namespace gs::lab
