#include "app/cli/bench_limits.h"

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

void say_limits(const Json& limits) {
    constexpr Column kColumns[] = {{"stage", "{name}", true},
                                   {"p50 ms", "{measured_ms:.3f}"},
                                   {"floor ms", "{floor_ms:.3f}"},
                                   {"ratio", "{ratio:.2f}"},
                                   {"bytes", "{bytes:rate}"},
                                   {"operations", "{operations:rate}"},
                                   {"bound by", "{bound_by}{uncounted}", true}};
    Json rows = limits;
    for (Json& row : rows) row["uncounted"] = row["counted"] ? "" : " (not all counted)";
    fmt::print("\n");
    say_table(rows, kColumns);
    fmt::print(
        "times are measured; bytes, operations and floors follow from the counts above and the "
        "records' layout\n");
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

Json limits_json(std::span<const StageCost> limits) {
    Json out = Json::array();
    for (const StageCost& l : limits)
        out.push_back({{"name", name_of(l.floor.stage)},
                       {"measured_ms", number(l.measured_ms)},
                       {"floor_ms", number(l.floor.floor_ms)},
                       {"ratio", number(l.ratio())},
                       {"bound_by", name_of(l.floor.limit)},
                       {"bytes", number(l.floor.work.bytes)},
                       {"operations", number(l.floor.work.operations)},
                       {"counted", l.floor.work.counted}});
    return out;
}

}  // namespace gs::cli
