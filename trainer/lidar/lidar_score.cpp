#include "trainer/lidar/lidar_score.h"

#include <algorithm>
#include <vector>

#include "renderer/io/lidar/lidar_log.h"

namespace gs {

std::optional<SweepScore> score_lidars(const GaussianModel& model,
                                       std::span<const std::string> paths, std::size_t most) {
    std::vector<SweepScore> scores;
    std::vector<float> differences;
    for (const std::string& path : paths) {
        const auto log = open_lidar_log(path, model.origin);
        if (!log) continue;
        const std::size_t n = log->sweeps.size(), take = std::min(n, most);
        for (std::size_t i = 0; i < take; ++i) {
            const auto sweep = log->read(i * n / take);
            if (!sweep) continue;
            const DrawnSweep drawn =
                draw_sweep(model, *sweep, log->world_from_sensor, rules_of(Compatibility::tight));
            scores.push_back(score_sweep(*sweep, drawn.image, false));
            const auto of = range_differences(*sweep, drawn.image, false);
            differences.insert(differences.end(), of.begin(), of.end());
        }
    }
    if (scores.empty()) return std::nullopt;
    return score_sweeps(scores, std::move(differences));
}

nlohmann::ordered_json score_json(const SweepScore& score) {
    return {{"returns", score.returns},
            {"met", score.met},
            {"median_m", json_number(score.median_m)},
            {"within_10cm", json_number(score.within_10cm)},
            {"chamfer_m", json_number(score.chamfer_m)}};
}

}  // namespace gs
