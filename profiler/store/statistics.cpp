#include "profiler/store/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gs {

double percentile(std::span<const double> ascending, double p) {
    if (ascending.empty()) return std::numeric_limits<double>::quiet_NaN();
    const double place =
        std::clamp(p, 0.0, 100.0) / 100.0 * static_cast<double>(ascending.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, ascending.size() - 1);
    return std::lerp(ascending[below], ascending[above], place - static_cast<double>(below));
}

double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return percentile(values, 50);
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

namespace {

using FrameCalls = std::array<std::uint32_t, kStageCount> FrameSample::*;
using FrameTimes = std::array<float, kStageCount> FrameSample::*;

/// A row per stage that one of `used` has. `self`: null where self time is not known.
std::vector<StageStats> stage_rows(const std::vector<const FrameSample*>& used, FrameCalls calls,
                                   FrameTimes total, FrameTimes self) {
    double all_ms = 0;
    for (const FrameSample* frame : used) all_ms += frame->milliseconds();
    std::vector<StageStats> out;
    std::vector<double> milliseconds;
    for (std::size_t s = 0; s < kStageCount; ++s) {
        StageStats stats{.stage = static_cast<Stage>(s)};
        milliseconds.clear();
        double self_ms = self != nullptr ? 0.0 : std::numeric_limits<double>::quiet_NaN();
        for (const FrameSample* frame : used) {
            if ((frame->*calls)[s] == 0) continue;
            stats.calls += (frame->*calls)[s];
            if (self != nullptr) self_ms += static_cast<double>((frame->*self)[s]);
            stats.newest_ns = std::max(stats.newest_ns, frame->end_ns);
            milliseconds.push_back(static_cast<double>((frame->*total)[s]));
        }
        if (milliseconds.empty()) continue;
        set_figures(stats, milliseconds);
        stats.self_mean_ms = self_ms / static_cast<double>(stats.samples);
        stats.share =
            all_ms > 0 ? stats.total_ms / all_ms : std::numeric_limits<double>::quiet_NaN();
        out.push_back(stats);
    }
    return out;
}

/// The newest `last_n` frames of `process` that `counts` accepts; warm-up and incomplete ones
/// never.
template <class F>
std::vector<const FrameSample*> newest(std::span<const FrameSample> history, std::size_t last_n,
                                       std::uint32_t process, F&& counts) {
    std::vector<const FrameSample*> used;
    for (std::size_t i = history.size(); i-- > 0 && used.size() < last_n;) {
        const FrameSample& frame = history[i];
        if (!frame.warm_up && !frame.incomplete &&
            (process == kAnyProcess || frame.process == process) && counts(frame))
            used.push_back(&frame);
    }
    return used;
}

}  // namespace

std::vector<StageStats> frame_statistics(std::span<const FrameSample> history, std::size_t last_n,
                                         std::uint32_t process) {
    return stage_rows(newest(history, last_n, process, [](const FrameSample&) { return true; }),
                      &FrameSample::calls, &FrameSample::total_ms, &FrameSample::self_ms);
}

std::vector<StageStats> gpu_frame_statistics(std::span<const FrameSample> history,
                                             std::size_t last_n, std::uint32_t process) {
    return stage_rows(newest(history, last_n, process,
                             [](const FrameSample& frame) { return frame.gpu_complete; }),
                      &FrameSample::gpu_calls, &FrameSample::gpu_ms, nullptr);
}

namespace {

std::string csv_number(double value) {
    return std::isfinite(value) ? fmt::format("{:.6g}", value) : std::string();
}

std::string csv_figures(const StageStats& r) {
    return fmt::format(",{},{},{},{},{},{},{},{},{},{},{}", r.samples, r.calls,
                       csv_number(r.mean_ms), csv_number(r.p50_ms), csv_number(r.p95_ms),
                       csv_number(r.p99_ms), csv_number(r.min_ms), csv_number(r.max_ms),
                       csv_number(r.total_ms), csv_number(r.self_mean_ms),
                       csv_number(r.share * 100));
}

}  // namespace

std::string stage_table_csv(std::span<const StageStats> rows,
                            std::span<const StageStats> gpu_rows) {
    std::string out =
        "stage,samples,calls,mean_ms,p50_ms,p95_ms,p99_ms,min_ms,max_ms,total_ms,self_mean_ms,"
        "share_percent";
    if (!gpu_rows.empty())
        out += ",gpu_samples,gpu_mean_ms,gpu_p50_ms,gpu_p95_ms,gpu_p99_ms,gpu_share_percent";
    out += "\n";
    for (std::size_t s = 0; s < kStageCount; ++s) {
        const auto of = [s](std::span<const StageStats> table) {
            const auto is = [s](const StageStats& r) { return r.stage == static_cast<Stage>(s); };
            const auto found = std::find_if(table.begin(), table.end(), is);
            return found == table.end() ? nullptr : &*found;
        };
        const StageStats *cpu = of(rows), *gpu = of(gpu_rows);
        if (cpu == nullptr && gpu == nullptr) continue;
        out += name_of(static_cast<Stage>(s));
        out += cpu != nullptr ? csv_figures(*cpu) : std::string(11, ',');
        if (gpu != nullptr)
            out += fmt::format(",{},{},{},{},{},{}", gpu->samples, csv_number(gpu->mean_ms),
                               csv_number(gpu->p50_ms), csv_number(gpu->p95_ms),
                               csv_number(gpu->p99_ms), csv_number(gpu->share * 100));
        else if (!gpu_rows.empty())
            out += std::string(6, ',');
        out += "\n";
    }
    return out;
}

}  // namespace gs
