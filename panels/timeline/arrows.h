// Arrows over the timeline's rows, from launches to their work. Used by the timeline only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "panels/timeline/paint.h"
#include "profiler/store/store.h"

namespace gs {

/// Places of the tracks on the screen in a frame.
struct TrackPlaces {
    struct Place {
        std::uint32_t track = 0;
        float y = 0;  ///< of its first row of spans
        std::size_t lanes = 0;
        bool folded = false;
    };
    std::vector<Place> items;

    /// Null: the track is not shown.
    const Place* of(std::uint32_t track) const;
    /// The place of a row of spans, even when it is scrolled out of view.
    std::optional<float> y_of(std::uint32_t track, std::size_t row) const;
};

/// From `span` to what launched it, or to what it launched; from a forward range to its backward
/// pass.
void draw_arrows(const TraceStore& trace, const TimelineCanvas& canvas, const TrackPlaces& places,
                 std::uint32_t track, std::size_t row, const TraceSpan& span);

}  // namespace gs
