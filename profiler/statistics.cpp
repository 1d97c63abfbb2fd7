#include "profiler/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gs {

double percentile(std::span<const double> ascending, double p) {
    if (ascending.empty()) return std::numeric_limits<double>::quiet_NaN();
    const double place = std::clamp(p, 0.0, 100.0) / 100.0 * static_cast<double>(ascending.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, ascending.size() - 1);
    return std::lerp(ascending[below], ascending[above], place - static_cast<double>(below));
}

void set_figures(StageStats& stats, std::vector<double>& milliseconds) {
    if (milliseconds.empty()) return;
    std::sort(milliseconds.begin(), milliseconds.end());
    stats.samples = milliseconds.size();
    stats.total_ms = std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0);
    stats.mean_ms = stats.total_ms / static_cast<double>(milliseconds.size());
    stats.p50_ms = percentile(milliseconds, 50);
    stats.p95_ms = percentile(milliseconds, 95);
    stats.p99_ms = percentile(milliseconds, 99);
    stats.min_ms = milliseconds.front();
    stats.max_ms = milliseconds.back();
}

std::vector<StageStats> frame_statistics(std::span<const FrameSample> history, std::size_t last_n) {
    std::vector<const FrameSample*> used;
    for (std::size_t i = history.size(); i-- > 0 && used.size() < last_n;)
        if (!history[i].warm_up && !history[i].incomplete) used.push_back(&history[i]);
    double all_ms = 0;
    for (const FrameSample* frame : used) all_ms += frame->milliseconds();

    std::vector<StageStats> out;
    std::vector<double> milliseconds;
    for (std::size_t s = 0; s < kStageCount; ++s) {
        StageStats stats;
        stats.stage = static_cast<Stage>(s);
        milliseconds.clear();
        double self_ms = 0;
        for (const FrameSample* frame : used) {
            if (frame->calls[s] == 0) continue;
            stats.calls += frame->calls[s];
            self_ms += static_cast<double>(frame->self_ms[s]);
            stats.newest_ns = std::max(stats.newest_ns, frame->end_ns);
            milliseconds.push_back(static_cast<double>(frame->total_ms[s]));
        }
        if (milliseconds.empty()) continue;
        set_figures(stats, milliseconds);
        stats.self_mean_ms = self_ms / static_cast<double>(stats.samples);
        stats.share = all_ms > 0 ? stats.total_ms / all_ms : std::numeric_limits<double>::quiet_NaN();
        out.push_back(stats);
    }
    return out;
}

std::string stage_table_csv(std::span<const StageStats> rows) {
    const auto number = [](double value) {
        return std::isfinite(value) ? fmt::format("{:.6g}", value) : std::string();
    };
    std::string out =
        "stage,samples,calls,mean_ms,p50_ms,p95_ms,p99_ms,min_ms,max_ms,total_ms,self_mean_ms,share_percent\n";
    for (const StageStats& r : rows)
        out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", name_of(r.stage), r.samples, r.calls,
                           number(r.mean_ms), number(r.p50_ms), number(r.p95_ms), number(r.p99_ms), number(r.min_ms),
                           number(r.max_ms), number(r.total_ms), number(r.self_mean_ms), number(r.share * 100));
    return out;
}

}  // namespace gs
