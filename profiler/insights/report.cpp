// Insights as text for terminals and as JSON.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/shortened.h"
#include "profiler/insights/insight.h"
#include "profiler/insights/subject.h"

namespace gs {
namespace {

using Json = nlohmann::ordered_json;

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }
const char* text_of(Confidence c) { return c == Confidence::measured ? "measured" : "inferred"; }

std::string process_of(const TraceStore& store, std::uint32_t process) {
    if (process >= store.processes().size()) return {};
    const TraceProcess& p = store.processes()[process];
    std::string out = fmt::format("{} ({})", p.name.empty() ? "process" : p.name, p.pid);
    if (p.labels.rank >= 0) out += fmt::format(" rank {}", p.labels.rank);
    return out;
}

/// `text` in lines of at most `width` letters, each begun with `indent`.
std::string wrapped(std::string_view text, std::string_view indent, std::size_t width) {
    std::string out;
    while (!text.empty()) {
        std::size_t end = text.size();
        if (indent.size() + end > width) {
            end = text.rfind(' ', width - indent.size());
            if (end == std::string_view::npos || end == 0)
                end = std::min(text.find(' '), text.size());
        }
        out += fmt::format("{}{}\n", indent, text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

Json processes_of(const TraceStore& store, const std::vector<std::uint32_t>& processes) {
    Json out = Json::array();
    for (const std::uint32_t process : processes) out.push_back(process_of(store, process));
    return out;
}

Json evidence_json(const TraceStore& store, const Insight& found) {
    Json out = Json::array();
    for (const Evidence& e : found.evidence)
        out.push_back(
            {{"track",
              e.track < store.tracks().size() ? Json(store.tracks()[e.track].name) : Json()},
             {"row", e.row},
             {"begin_ns", e.begin_ns},
             {"end_ns", e.end_ns},
             {"text", e.text}});
    return out;
}

}  // namespace

std::string insights_text(const TraceStore& store, const Insights& insights) {
    constexpr std::size_t kWidth = 110;
    std::string out;
    if (insights.iterations > 0)
        out += fmt::format("  insights: {} {} of {:.3f} ms (median)\n", insights.iterations,
                           insights.iterations == 1 ? "iteration" : "iterations",
                           insights.iteration_ms);
    else
        out += "  insights: no iterations were found\n";
    if (!insights.ranks.empty()) out += '\n' + table_text(ranks_table(insights.ranks), "  ");
    for (const Insight& f : insights.findings) {
        const std::string gain = std::isfinite(f.recoverable_ms)
                                     ? fmt::format("up to {:.3f} ms ({:.1f} %) per iteration",
                                                   f.recoverable_ms, 100 * f.share)
                                     : std::string("gain unknown");
        out += fmt::format("\n  {:<4} {}\n       {}, {}", f.rule, f.title, gain,
                           text_of(f.confidence));
        if (store.processes().size() > 1) out += ", " + process_of(store, f.process);
        if (!f.also.empty()) out += fmt::format(" and {} more", f.also.size());
        out += '\n' + wrapped(f.text, "       ", kWidth) +
               wrapped("-> " + f.advice, "       ", kWidth);
        if (!f.evidence.empty()) {
            const Evidence& e = f.evidence.front();
            out +=
                fmt::format("       at {:.6f} s{}: {}\n",
                            static_cast<double>(e.begin_ns - store.origin_ns()) * 1e-9,
                            e.track < store.tracks().size() ? " on " + store.tracks()[e.track].name
                                                            : std::string(),
                            e.text);
        }
    }
    if (insights.findings.empty()) out += "  no rule found anything\n";
    std::string clear;
    for (const std::string& rule : insights.clear) clear += (clear.empty() ? "" : ", ") + rule;
    if (!clear.empty()) out += "\n" + wrapped("in order: " + clear, "  ", kWidth);
    if (!insights.unanswered.empty()) out += "\n  could not be checked:\n";
    for (std::size_t i = 0; i < insights.unanswered.size();) {
        // Neighbours with the same reason share a line.
        const Unanswered& first = insights.unanswered[i];
        std::string rules;
        for (; i < insights.unanswered.size() && insights.unanswered[i].why == first.why; ++i)
            rules += fmt::format("{}{} {}", rules.empty() ? "" : ", ", insights.unanswered[i].rule,
                                 insights.unanswered[i].title);
        out += wrapped(rules + ": " + first.why, "    ", kWidth);
    }
    return shortened(out, out.size());
}

nlohmann::ordered_json insights_json(const TraceStore& store, const Insights& insights) {
    Json findings = Json::array(), unanswered = Json::array();
    for (const Insight& f : insights.findings)
        findings.push_back({{"rule", f.rule},
                            {"title", f.title},
                            {"text", f.text},
                            {"advice", f.advice},
                            {"process", process_of(store, f.process)},
                            {"also", processes_of(store, f.also)},
                            {"recoverable_ms", finite(f.recoverable_ms)},
                            {"share", finite(f.share)},
                            {"confidence", text_of(f.confidence)},
                            {"evidence", evidence_json(store, f)}});
    for (const Unanswered& u : insights.unanswered)
        unanswered.push_back({{"rule", u.rule}, {"title", u.title}, {"why", u.why}});
    return Json{{"iterations", insights.iterations},
                {"iteration_ms", finite(insights.iteration_ms)},
                {"findings", findings},
                {"ranks", table_json(ranks_table(insights.ranks))},
                {"clear", insights.clear},
                {"unanswered", unanswered}};
}

}  // namespace gs
