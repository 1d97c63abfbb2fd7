#include "app/cli/files/lidar_info.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/shortened.h"

namespace gs::cli {

Json lidar_json(const LidarLog& log) {
    const std::size_t n = log.sweeps.size(), step = std::max<std::size_t>(1, (n + 99) / 100);
    std::vector<std::string> skipped = log.skipped, notes = log.notes;
    std::size_t read = 0, beams = 0, hits = 0;
    std::uint32_t rows = 0, columns = 0;
    float nearest = 1e30f, farthest = 0;
    for (std::size_t i = 0; i < n; i += step) {
        const auto sweep = log.read(i);
        if (!sweep) {
            skipped.push_back(
                fmt::format("sweep {}: {}", log.sweeps[i].name, sweep.error().text()));
            continue;
        }
        ++read;
        beams += sweep->beams.size();
        rows = std::max(rows, sweep->rows);
        columns = std::max(columns, sweep->columns);
        for (const LidarBeam& beam : sweep->beams) {
            if (!beam.hit()) continue;
            ++hits;
            nearest = std::min(nearest, beam.range);
            farthest = std::max(farthest, beam.range);
        }
        for (const std::string& note : sweep->notes)
            notes.push_back(fmt::format("sweep {}: {}", sweep->name, note));
    }
    return {{"format", log.format},
            {"sweeps", n},
            {"sweeps_read", read},
            {"seconds", n > 1 ? log.sweeps.back().time - log.sweeps.front().time : 0.0},
            {"posed", log.posed},
            {"path_m", log.world_from_sensor.length()},
            {"rows", rows},
            {"columns", columns},
            {"beams", beams},
            {"returns", hits},
            {"nearest_m", hits > 0 ? Json(nearest) : Json(nullptr)},
            {"farthest_m", hits > 0 ? Json(farthest) : Json(nullptr)},
            {"notes", notes},
            {"skipped", skipped}};
}

void say_lidar(const Json& lidar) {
    say("  lidar        {format}, {sweeps} sweeps of {rows} x {columns} in {seconds:.1f} s", lidar);
    if (lidar["posed"].get<bool>())
        say("  lidar        a path of {path_m:.2f} m", lidar);
    else
        fmt::print("  lidar        without poses: placed at the origin\n");
    say("  lidar        {returns} returns of {beams} beams in {sweeps_read} sweeps, "
        "{nearest_m:.2f} to {farthest_m:.1f} m",
        lidar);
    for (const char* kind : {"notes", "skipped"})
        for (std::size_t i = 0; i < lidar[kind].size(); ++i) {
            if (i == 8) {
                fmt::print("  lidar        and {} more\n", lidar[kind].size() - i);
                break;
            }
            fmt::print("  lidar        {}{}\n", kind[0] == 's' ? "skipped: " : "",
                       shortened(lidar[kind][i].get<std::string>()));
        }
}

}  // namespace gs::cli
