#include <algorithm>
#include <cmath>

#include "profiler/insights/ranks.h"
#include "profiler/insights/rules.h"

namespace gs {
namespace {

using namespace insights;

struct Rule {
    const char* id;
    const char* title;  ///< what is looked for
    Answer (*ask)(const Subject&);
    bool needs_iterations = true;
};
// clang-format off
constexpr Rule kRules[] = {
    {"R1",  "idle GPU",                         idle_gpu},
    {"R2",  "launch-bound",                     launch_bound},
    {"R3",  "synchronisation stalls",           sync_stalls},
    {"R4",  "pageable copies",                  pageable_copies},
    {"R5",  "copies that are not overlapped",   copies_alone},
    {"R6",  "allocation in the loop",           allocator_churn},
    {"R7",  "low theoretical occupancy",        low_occupancy},
    {"R8",  "small grids and tails",            small_grids},
    {"R9",  "limited by memory",                memory_bound},
    {"R10", "limited by arithmetic",            compute_bound},
    {"R11", "limited by latency",               latency_bound},
    {"R12", "clocks and throttling",            clocks},
    {"R13", "compiling or loading in the loop", compiling},
    {"R14", "full command buffers",             command_buffer},
    {"R15", "CUDA graphs missing",              graphs_missing},
    {"R16", "sorting dominates",                sort_dominated},
    {"R17", "uneven tiles",                     uneven_tiles},
    {"R18", "backward blending",                backward_blending},
    {"R19", "too many intersections",           many_isects},
    {"R20", "data loading",                     data_loading},
    {"R21", "density control",                  density_spikes},
    {"R22", "regression against a baseline",    regression},
    {"R23", "straggling rank",                  stragglers},
    {"R24", "the profiler's own cost",          own_cost, false},
    {"R25", "a busy machine",                   busy_machine},
    {"R26", "threads without work",             idle_threads},
    {"R27", "uneven parallel loops",            uneven_loops},
    {"R28", "narrow vectors",                   narrow_vectors},
    {"R29", "exposed communication",            exposed_communication},
};
// clang-format on

/// What became of a rule over all processes.
struct Outcome {
    const Rule* rule = nullptr;
    bool found = false, asked = false;
    std::string why;
};

void ask(const Subject& subject, Outcome& outcome, Insights& out) {
    const Rule& rule = *outcome.rule;
    if (rule.needs_iterations && subject.iterations.items.empty()) {
        if (outcome.why.empty()) outcome.why = kNoIterations;
        return;
    }
    Answer answer = rule.ask(subject);
    if (!answer.unanswered.empty()) {
        outcome.why = std::move(answer.unanswered);
        return;
    }
    outcome.asked = true;
    for (Insight& found : answer.found) {
        found.rule = rule.id;
        outcome.found = true;
        out.findings.push_back(std::move(found));
    }
}

/// The same of another process of the job, and about as much; a slow rank is one of its own.
bool is_equal(const TraceStore& store, const Insight& a, const Insight& b) {
    constexpr double kAbout = 0.25;
    const TraceProcess &of_a = store.processes()[a.process], &of_b = store.processes()[b.process];
    return a.rule == b.rule && a.rule != "R23" && a.process != b.process &&
           of_a.name == of_b.name && of_a.labels.job == of_b.labels.job &&
           starred(a.title, Digits::all) == starred(b.title, Digits::all) &&
           !(std::abs(a.recoverable_ms - b.recoverable_ms) >
             kAbout * std::max(a.recoverable_ms, b.recoverable_ms));
}

/// Equal findings are one, the largest, with the processes of the others.
void join_equal(const TraceStore& store, std::vector<Insight>& findings) {
    std::vector<Insight> out;
    for (Insight& found : findings) {
        const auto same = std::ranges::find_if(
            out, [&](const Insight& other) { return is_equal(store, other, found); });
        if (same == out.end())
            out.push_back(std::move(found));
        else
            same->also.push_back(found.process);
    }
    findings = std::move(out);
}

/// A process that has anything to look at.
bool has_spans(const TraceStore& store, std::uint32_t process) {
    return std::ranges::any_of(store.tracks(), [&](const TraceTrack& track) {
        return track.process == process &&
               std::ranges::any_of(track.rows, [](const auto& row) { return !row.empty(); });
    });
}

}  // namespace

Insights find_insights(const TraceStore& store, const InsightOptions& options) {
    Insights out;
    std::vector<Outcome> outcomes;
    for (const Rule& rule : kRules) outcomes.push_back({.rule = &rule, .why = {}});
    RankLoads own_loads;
    RankLoads& loads = options.loads != nullptr ? *options.loads : own_loads;
    for (std::uint32_t p = 0; p < store.processes().size(); ++p) {
        if (options.process != kAnyProcess ? p != options.process : !has_spans(store, p)) continue;
        const Subject subject(store, p, options, loads);
        if (subject.iterations.items.size() > out.iterations) {
            out.iterations = subject.iterations.items.size();
            out.iteration_ms = subject.iteration_ms;
        }
        for (Outcome& outcome : outcomes) ask(subject, outcome, out);
    }
    out.ranks = rank_figures(store, loads);
    // Unknown times are last; equal times keep the rules' order.
    std::ranges::stable_sort(out.findings, [](const Insight& a, const Insight& b) {
        return std::isfinite(a.recoverable_ms) &&
               (!std::isfinite(b.recoverable_ms) || a.recoverable_ms > b.recoverable_ms);
    });
    join_equal(store, out.findings);
    for (Outcome& o : outcomes) {
        if (o.found) continue;
        if (o.asked)
            out.clear.push_back(fmt::format("{} {}", o.rule->id, o.rule->title));
        else
            out.unanswered.push_back({o.rule->id, o.rule->title,
                                      o.why.empty() ? "nothing was recorded" : std::move(o.why)});
    }
    return out;
}

}  // namespace gs
