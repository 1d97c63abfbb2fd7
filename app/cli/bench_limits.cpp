#include "app/cli/bench_limits.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/common.h"

namespace gs::cli {
namespace {

using Json = nlohmann::ordered_json;

/// "4.81 T", "310 G", "-" for what was not measured.
std::string rate(double value) {
    if (!std::isfinite(value)) return "-";
    const char* prefix[] = {"", "k", "M", "G", "T", "P"};
    std::size_t i = 0;
    for (; value >= 1000 && i < 5; ++i) value /= 1000;
    return fmt::format("{:.3g} {}", value, prefix[i]);
}

}  // namespace

void print_ceilings(const Ceilings& c) {
    fmt::print("\nceilings of {}, measured in {:.2f} s\n", c.machine, c.measured_in_seconds);
    fmt::print("  copy {}B/s", rate(c.copy_bytes));
    if (std::isfinite(c.triad_bytes)) fmt::print(", triad {}B/s", rate(c.triad_bytes));
    fmt::print(", multiply-adds {}/s", rate(c.lane_operations));
    if (std::isfinite(c.blend_pairs)) fmt::print(", bare blending {}pairs/s", rate(c.blend_pairs));
    if (c.cuda)
        fmt::print(
            "\n  special functions {}/s, shared memory {}B/s, float atomics {}/s apart, {}/s on "
            "one address",
            rate(c.special_operations), rate(c.shared_bytes), rate(c.atomics_spread),
            rate(c.atomics_contended));
    const auto microseconds = [](double seconds) {
        return std::isfinite(seconds) ? fmt::format("{:.1f} us", 1e6 * seconds)
                                      : std::string("not measured");
    };
    fmt::print("\n  {}: {} alone, {} in a row\n",
               c.cuda ? "an empty kernel" : "an empty parallel loop",
               microseconds(c.launch_seconds), microseconds(c.launch_interval_seconds));
}

void print_limits(std::span<const StageLimit> limits) {
    fmt::print("\n{:<18} {:>9} {:>9} {:>7} {:>10} {:>12}  {}\n", "stage", "p50 ms", "floor ms",
               "ratio", "bytes", "operations", "bound by");
    for (const StageLimit& l : limits)
        fmt::print("{:<18} {:9.3f} {:9.3f} {:7.2f} {:>10} {:>12}  {}{}\n", name_of(l.floor.stage),
                   l.measured_ms, l.floor.floor_ms, l.ratio(), rate(l.floor.work.bytes),
                   rate(l.floor.work.operations), name_of(l.floor.limit),
                   l.floor.work.counted ? "" : " (not all was counted)");
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

Json limits_json(std::span<const StageLimit> limits) {
    Json out = Json::array();
    for (const StageLimit& l : limits)
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
