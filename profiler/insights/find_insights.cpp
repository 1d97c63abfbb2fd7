#include <algorithm>
#include <cmath>
#include <map>

#include "profiler/insights/subject.h"

namespace gs {
namespace {

using namespace insights;

/// What became of a rule over all processes.
struct Outcome {
    const Rule* rule = nullptr;
    bool found = false, asked = false;
    std::string why;
};

std::vector<const Rule*> all_rules() {
    std::vector<const Rule*> out;
    for (const auto rules : {idle_rules(), transfer_rules(), kernel_rules(), bound_rules(),
                             driver_rules(), splatting_rules(), process_rules()})
        for (const Rule& rule : rules) out.push_back(&rule);
    const auto number = [](const Rule* r) { return std::atoi(r->id + 1); };
    std::sort(out.begin(), out.end(),
              [&](const Rule* a, const Rule* b) { return number(a) < number(b); });
    return out;
}

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

/// A process that has anything to look at.
bool has_spans(const TraceStore& store, std::uint32_t process) {
    return std::any_of(store.tracks().begin(), store.tracks().end(), [&](const TraceTrack& track) {
        return track.process == process &&
               std::any_of(track.rows.begin(), track.rows.end(),
                           [](const auto& row) { return !row.empty(); });
    });
}

}  // namespace

Insights find_insights(const TraceStore& store, const InsightOptions& options) {
    Insights out;
    std::vector<Outcome> outcomes;
    for (const Rule* rule : all_rules()) outcomes.push_back({.rule = rule, .why = {}});
    for (std::uint32_t p = 0; p < store.processes().size(); ++p) {
        if (options.process != kAnyProcess ? p != options.process : !has_spans(store, p)) continue;
        const Subject subject(store, p, options);
        if (subject.iterations.items.size() > out.iterations) {
            out.iterations = subject.iterations.items.size();
            out.iteration_ms = subject.iteration_ms;
        }
        for (Outcome& outcome : outcomes) ask(subject, outcome, out);
    }
    // What cannot be told is last; equal times keep the rules' order.
    std::stable_sort(
        out.findings.begin(), out.findings.end(), [](const Insight& a, const Insight& b) {
            return std::isfinite(a.recoverable_ms) &&
                   (!std::isfinite(b.recoverable_ms) || a.recoverable_ms > b.recoverable_ms);
        });
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
