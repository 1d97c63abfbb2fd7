// SamplePainter: rows of sampled call stacks: boxes with the innermost function's name where it
// fits, else the shares of time on a CPU (coloured) and waiting (grey). Finds the sample under the
// mouse. Used by the timeline only.
#pragma once

#include <cstdint>
#include <optional>

#include "panels/timeline/paint.h"
#include "profiler/analysis/sample_columns.h"
#include "profiler/store/store.h"

namespace gs {

/// A clicked sample, kept even if the trace discards its own.
struct SelectedSample {
    std::uint32_t process = 0, tid = 0;
    StackSample sample;
};
/// Under the mouse: one sample, or `count` in a time range.
struct PointedSamples {
    SelectedSample one;  ///< the first
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint32_t count = 1;
    float on_cpu = 0, blocked = 0;  ///< shares of the time range
};

class SamplePainter {
  public:
    void begin_frame() { pointed_.reset(); }
    /// The samples of a thread in a row of `height` from `y` down; `selected` gets an outline.
    void draw_row(const TraceStore& trace, const TimelineCanvas& canvas,
                  const SampledThread& thread, float y, float height,
                  const std::optional<SelectedSample>& selected, SpanColors& colors);
    const std::optional<PointedSamples>& pointed() const { return pointed_; }

  private:
    struct Row {
        const TraceStore& trace;
        const TimelineCanvas& canvas;
        const SampledThread& thread;
        float y, height;
    };
    void draw_boxes(const Row& row, SampleRange range,
                    const std::optional<SelectedSample>& selected, SpanColors& colors);
    void draw_columns(const Row& row, SampleRange range);

    std::optional<PointedSamples> pointed_;
};

/// The innermost function of a sample's stack, in short form.
std::string innermost_name(const TraceStore& trace, const StackSample& sample);

/// Tooltip of the samples under the mouse, with a sample's innermost functions.
void samples_tooltip(const TraceStore& trace, const PointedSamples& pointed);

}  // namespace gs
