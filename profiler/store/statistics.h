// Stage statistics: from one duration per stage and frame to count, mean, percentiles and share. A
// frame is an iteration, a view frame or a UI frame. Used by TraceStore, and through it by the
// Stages panel, `bench` and the CSV export.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/record/stage.h"

namespace gs {

enum class StatScope {
    iteration,   ///< per training iteration: a stage's time within it
    view_frame,  ///< per picture made for the viewport
    ui_frame,    ///< per frame of the window
    call,        ///< per single span, wherever it was: load, evaluation, checkpoint, export
};
inline constexpr std::size_t kFrameScopes = 3;
/// The stage whose spans are the frames of a scope; `other` for call.
constexpr Stage frame_stage_of(StatScope scope) {
    return scope == StatScope::iteration    ? Stage::iteration
           : scope == StatScope::view_frame ? Stage::view_frame
           : scope == StatScope::ui_frame   ? Stage::ui
                                            : Stage::other;
}

/// One frame, with the time of every stage inside it on the frame's own thread.
struct FrameSample {
    std::uint64_t number = 0;  ///< payload of the frame's span: step, frame number
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint32_t track = 0;    ///< index into TraceStore::tracks()
    std::uint32_t process = 0;  ///< index into TraceStore::processes()
    bool warm_up = false;       ///< one of the first: not in the statistics
    bool incomplete = false;    ///< records were lost around it: not in the statistics
    std::array<float, kStageCount> total_ms{};  ///< inner spans included
    std::array<float, kStageCount>
        self_ms{};  ///< inner spans excluded; these add up to the frame's length
    std::array<std::uint32_t, kStageCount> calls{};
    // ---- what the frame launched on a GPU; it may have run later than the frame on its thread
    std::array<float, kStageCount> gpu_ms{};  ///< GPU stages inside others included
    std::array<std::uint32_t, kStageCount> gpu_calls{};
    float gpu_busy_ms = 0;  ///< of outermost GPU stages: what the frame kept its stream busy for
    std::uint32_t gpu_track = 0;  ///< the stream, when gpu_busy_ms > 0
    bool gpu_complete = false;    ///< everything it launched has been seen to end
    double milliseconds() const { return static_cast<double>(end_ns - begin_ns) * 1e-6; }
};

/// A stage over some frames (or calls). Figures are over the frames in which the stage occurred;
/// share is over all of them. CPU and GPU time come in tables of their own:
/// FrameBook::statistics() and gpu_statistics().
struct StageStats {
    Stage stage = Stage::other;
    std::uint64_t samples = 0;  ///< frames (or calls) the figures are made of
    std::uint64_t calls = 0;    ///< spans in them
    double mean_ms = 0, p50_ms = 0, p95_ms = 0, p99_ms = 0, min_ms = 0, max_ms = 0, total_ms = 0;
    double self_mean_ms = 0;     ///< without inner spans; NaN per call
    double share = 0;            ///< of the time of all frames, 0..1; NaN per call
    std::int64_t newest_ns = 0;  ///< end of the newest sample: its age is now - newest_ns
    double age_s(std::int64_t now_ns) const {
        return static_cast<double>(now_ns - newest_ns) * 1e-9;
    }
};

/// The p-th percentile (0..100) of ascending values, linear between neighbours (method 7 of Hyndman
/// and Fan, as numpy's default). NaN without values.
double percentile(std::span<const double> ascending, double p);

/// The 50th percentile of values in any order.
double median_of(std::vector<double> values);

/// Sets mean, percentiles, min, max, total and samples from durations in any order.
void set_figures(StageStats& stats, std::vector<double>& milliseconds);

inline constexpr std::uint32_t kAnyProcess = ~0u;

/// Statistics of the newest `last_n` frames of a process that are neither warm-up nor incomplete,
/// stages in table order, absent ones left out.
std::vector<StageStats> frame_statistics(std::span<const FrameSample> history, std::size_t last_n,
                                         std::uint32_t process = kAnyProcess);

/// The same of GPU time: what the newest `last_n` frames launched, frames still at work left out.
/// self_mean_ms is NaN; share is of the frames' time on the CPU, so it may exceed 1 when the GPU is
/// what a run waits for.
std::vector<StageStats> gpu_frame_statistics(std::span<const FrameSample> history,
                                             std::size_t last_n,
                                             std::uint32_t process = kAnyProcess);

/// The table as CSV with a header line, times in milliseconds, share in percent; what is
/// unavailable is an empty field. With GPU rows there are columns of GPU time, and lines for stages
/// that only a GPU has.
std::string stage_table_csv(std::span<const StageStats> rows,
                            std::span<const StageStats> gpu_rows = {});

}  // namespace gs
