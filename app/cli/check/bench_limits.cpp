#include "app/cli/check/bench_limits.h"

#include <fmt/core.h>

#include "app/cli/common.h"

namespace gs::cli {
namespace {

std::string microseconds(const Json& seconds) {
    return seconds.is_null() ? std::string("not measured")
                             : fmt::format("{:.1f} us", 1e6 * seconds.get<double>());
}

}  // namespace

void say_ceilings(const Json& c) {
    say("\nceilings of {machine}, measured in {measured_in_seconds:.2f} s", c);
    std::string line = "  copy {copy_bytes_per_second:rate}B/s";
    if (!c["triad_bytes_per_second"].is_null()) line += ", triad {triad_bytes_per_second:rate}B/s";
    line += ", multiply-adds {lane_operations_per_second:rate}/s";
    if (!c["blend_pairs_per_second"].is_null())
        line += ", bare blending {blend_pairs_per_second:rate}pairs/s";
    say(line, c);
    const bool cuda = c["cuda"];
    if (cuda)
        say("  special functions {special_operations_per_second:rate}/s, shared memory "
            "{shared_bytes_per_second:rate}B/s, float atomics {atomics_spread_per_second:rate}/s "
            "apart, {atomics_contended_per_second:rate}/s on one address",
            c);
    fmt::print("  {}: {} by itself, {} in a row\n",
               cuda ? "an empty kernel" : "an empty parallel loop",
               microseconds(c["launch_seconds"]), microseconds(c["launch_interval_seconds"]));
}

void say_limits(const Table& limits) {
    fmt::print(
        "\n{}times are measured; bytes, operations and floors follow from the counts above and "
        "the records' layout\n",
        table_text(limits));
}

Json ceilings_json(const Ceilings& c) {
    return {{"machine", c.machine},
            {"cuda", c.cuda},
            {"copy_bytes_per_second", number(c.copy_bytes)},
            {"triad_bytes_per_second", number(c.triad_bytes)},
            {"lane_operations_per_second", number(c.lane_operations)},
            {"special_operations_per_second", number(c.special_operations)},
            {"shared_bytes_per_second", number(c.shared_bytes)},
            {"atomics_spread_per_second", number(c.atomics_spread)},
            {"atomics_contended_per_second", number(c.atomics_contended)},
            {"blend_pairs_per_second", number(c.blend_pairs)},
            {"launch_seconds", number(c.launch_seconds)},
            {"launch_interval_seconds", number(c.launch_interval_seconds)},
            {"measured_in_seconds", number(c.measured_in_seconds)}};
}

Table limits_table(std::span<const StageCost> limits) {
    const auto bound_by = [](const StageCost& l) {
        return fmt::format("{}{}", name_of(l.floor.limit),
                           l.floor.work.counted ? "" : " (not all counted)");
    };
    return table_of<StageCost>(
        limits,
        {{"name", "stage", nullptr, [](auto& l) { return name_of(l.floor.stage); }},
         {"measured_ms", "p50 ms", fixed<3>, &StageCost::measured_ms},
         {"floor_ms", "floor ms", fixed<3>, [](auto& l) { return l.floor.floor_ms; }},
         {"ratio", "ratio", fixed<2>, &StageCost::ratio},
         {"bound_by", "", nullptr, [](auto& l) { return name_of(l.floor.limit); }},
         {"bytes", "bytes", format_rate, [](auto& l) { return l.floor.work.bytes; }},
         {"operations", "operations", format_rate, [](auto& l) { return l.floor.work.operations; }},
         {"counted", "", nullptr, [](auto& l) { return l.floor.work.counted; }},
         {"", "bound by", nullptr, bound_by}});
}

}  // namespace gs::cli
