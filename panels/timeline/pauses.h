// PauseShades: times when the budget paused a process's recording, hatched behind its rows: work
// may have happened there unrecorded. Used by the timeline only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "panels/timeline/paint.h"
#include "profiler/analysis/pauses.h"

namespace gs {

class PauseShades {
  public:
    void begin_frame() { of_process_.clear(), pointed_.reset(); }
    /// Unrecorded times of a track: of a thread's outermost ranges, of others everything.
    const Intervals& of(const TraceStore& trace, const TraceTrack& track);
    /// Behind a track's rows from `y` to `bottom`; of a thread whose ranges inside others only were
    /// left out, behind the rows from `inner_y` on.
    void draw(const TraceStore& trace, const TimelineCanvas& canvas, const TraceTrack& track,
              float y, float inner_y, float bottom);
    const std::optional<Interval>& pointed() const { return pointed_; }
    /// The pause under the mouse, if nothing else is.
    void draw_tooltip() const;

  private:
    /// By Unrecorded; then when ranges were recorded and those inside them were not.
    using OfProcess = std::array<Intervals, 3>;
    static constexpr std::size_t kInnerOnly = 2;
    const OfProcess& of_process(const TraceStore& trace, std::uint32_t process);
    void shade(const TimelineCanvas& canvas, const Intervals& pauses, float y, float bottom);

    std::map<std::uint32_t, OfProcess> of_process_;  // of this frame
    std::optional<Interval> pointed_;
};

}  // namespace gs
