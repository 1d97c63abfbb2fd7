// A comparison as text and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_write.h"
#include "profiler/analysis/compare.h"

namespace gs {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(ComparedRow::Kind kind) {
    switch (kind) {
        case ComparedRow::Kind::iteration:
            return "";
        case ComparedRow::Kind::gpu_stage:
            return "GPU";
        case ComparedRow::Kind::cpu_stage:
            return "CPU self";
        case ComparedRow::Kind::range:
            return "range";
        case ComparedRow::Kind::gpu_total:
            break;
    }
    return "total";
}

std::string number(double ms) { return std::isfinite(ms) ? fmt::format("{:.3f}", ms) : "-"; }

std::string side_line(const char* which, const CompareSide& side, const std::string& how,
                      std::size_t count) {
    return fmt::format("  {}  {}: {} iterations ({})\n", which, side.name, count,
                       how.empty() ? "none found" : how);
}

Json finite(double v) { return std::isfinite(v) ? Json(v) : Json(); }

Json distribution(const Distribution& d) {
    return {{"count", d.count},
            {"median_ms", finite(d.median_ms)},
            {"p95_ms", finite(d.p95_ms)},
            {"mean_ms", finite(d.mean_ms)}};
}

}  // namespace

std::string quiet_text(const Comparison& c) {
    const auto undecided = std::ranges::count(c.rows, Verdict::not_quiet, &ComparedRow::verdict);
    std::string out;
    for (const auto& [which, use] : {std::pair{"A", &c.machine_a}, {"B", &c.machine_b}})
        if (use->held > kQuiet || (undecided > 0 && std::isfinite(use->held)))
            out += fmt::format("{}{}: {}", out.empty() ? "" : ". ", which, machine_text(*use));
    if (out.empty()) return out;
    const std::string decided =
        undecided == 0 ? "The machine was busy, which widens the intervals"
        : !c.rows.empty() && c.rows[0].verdict == Verdict::not_quiet
            ? "Inconclusive: the machine was busy"
            : fmt::format("{} of {} rows are inconclusive: the machine was busy", undecided,
                          c.rows.size());
    return fmt::format("{}. {}.", decided, out);
}

std::string comparison_text(const Comparison& c) {
    const auto count = [&](bool of_a) {
        return c.rows.empty() ? std::size_t{0} : (of_a ? c.rows[0].a : c.rows[0].b).count;
    };
    std::string out =
        side_line("A", c.a, c.how_a, count(true)) + side_line("B", c.b, c.how_b, count(false));
    if (c.rows.empty()) return out + "  nothing to compare: both sides need iterations\n";
    if (c.rows[0].matched)
        out += fmt::format(
            "  {} iterations have the same number on both sides and are compared in pairs: B - A "
            "is the middle of their differences, not the difference of the medians\n",
            c.matched.size());
    out += fmt::format("  {:<30} {:<8} {:>9} {:>9} {:>9} {:>9} {:>10} {:>21} {:>8}  {}\n",
                       "ms per iteration", "", "A p50", "A p95", "B p50", "B p95", "B - A",
                       "95 % interval", "", "");
    for (const ComparedRow& r : c.rows)
        out += fmt::format(
            "  {:<30} {:<8} {:>9} {:>9} {:>9} {:>9} {:>10} {:>21} {:>8}  {}\n",
            r.name.size() > 30 ? r.name.substr(0, 28) + ".." : r.name, name_of(r.kind),
            number(r.a.median_ms), number(r.a.p95_ms), number(r.b.median_ms), number(r.b.p95_ms),
            std::isfinite(r.difference_ms) ? fmt::format("{:+.3f}", r.difference_ms) : "-",
            fmt::format("[{}, {}]", number(r.low_ms), number(r.high_ms)),
            std::isfinite(r.relative) ? fmt::format("{:+.1f} %", 100 * r.relative) : "-",
            name_of(r.verdict));
    if (const std::string quiet = quiet_text(c); !quiet.empty())
        out += fmt::format("  {}\n", quiet);
    return out;
}

std::string comparison_json(const Comparison& c) {
    Json rows = Json::array();
    for (const ComparedRow& r : c.rows)
        rows.push_back(
            {{"name", r.name},
             {"kind", r.kind == ComparedRow::Kind::iteration ? "iteration" : name_of(r.kind)},
             {"a", distribution(r.a)},
             {"b", distribution(r.b)},
             {"difference_ms", finite(r.difference_ms)},
             {"low_ms", finite(r.low_ms)},
             {"high_ms", finite(r.high_ms)},
             {"relative", finite(r.relative)},
             {"matched", r.matched},
             {"verdict", name_of(r.verdict)}});
    const auto side = [](const CompareSide& s, const std::string& how, const MachineUse& use) {
        return Json{{"name", s.name}, {"iterations", how}, {"machine", machine_json(use)}};
    };
    return json_text(Json{{"a", side(c.a, c.how_a, c.machine_a)},
                          {"b", side(c.b, c.how_b, c.machine_b)},
                          {"quiet", quiet_text(c)},
                          {"matched_iterations", c.matched.size()},
                          {"rows", rows}},
                     2);
}

}  // namespace gs
