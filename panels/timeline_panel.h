// Timeline: live spans by thread and depth, and by GPU stream, coloured by stage; from GPU work to what launched it;
// bars of iterations on top; pan, zoom, pause, hover, click to zoom; small spans drawn together; export. A tab of the
// workspace.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "panels/command.h"
#include "panels/snapshot.h"
#include "panels/widgets.h"
#include "profiler/store.h"

struct ImDrawList;

namespace gs {

struct TimelinePanel {
    void draw(const Snapshot& snapshot, Commands& commands);
    /// Shows [begin, end] with a margin and stops following.
    void zoom_to(std::int64_t begin_ns, std::int64_t end_ns);

    std::int64_t begin_ns = 0;  ///< left edge
    double span_ns = 200e6;     ///< width of what is shown
    bool follow = true;         ///< the right edge stays at the newest measurement
    PathPrompt prompt;

    /// What kind of track the span under the mouse is of; nothing when there is none.
    std::optional<TrackKind> pointed_at() const;
    /// Tracks from top to bottom: deep ones first (the engine, then the window), each with the GPU streams it feeds
    /// below it; what has ended last.
    static std::vector<std::size_t> order_of(const TraceStore& trace);

  private:
    struct Canvas {
        float x = 0, y = 0, w = 0, h = 0;  // spans' region on the screen
        double ns_per_px = 1;
        std::int64_t begin = 0, end = 0;
        ImDrawList* list = nullptr;
        bool hovered = false;
        float x_of(std::int64_t t) const { return x + static_cast<float>(static_cast<double>(t - begin) / ns_per_px); }
        std::int64_t time_at(float px) const {
            return begin + static_cast<std::int64_t>(static_cast<double>(px - x) * ns_per_px);
        }
    };

    void draw_controls(const TraceStore& trace);
    void draw_bars(const TraceStore& trace, Canvas canvas);
    void draw_ruler(const Canvas& canvas) const;
    float draw_track(const TraceStore& trace, std::size_t track, const Canvas& canvas, float y);
    /// A span's place: its track, its row there, and where that is on the screen.
    struct Place {
        std::size_t track = 0, row = 0;
        float y = 0;
        TrackKind kind = TrackKind::thread;
    };
    void draw_span(const TraceStore& trace, const DrawnSpan& span, const Canvas& canvas, Place at, bool open);
    void draw_label(const TraceTrack& track, const Canvas& canvas, float top, float bottom) const;
    void draw_tracks(const TraceStore& trace, const Canvas& canvas);
    void steer(const TraceStore& trace, const Canvas& canvas, bool active);
    void span_tooltip(const TraceStore& trace) const;
    void draw_launch(const TraceStore& trace, const Canvas& canvas) const;

    std::vector<DrawnSpan> drawn_;  // kept for its memory
    std::vector<float> track_y_;    // where each track was drawn last, by index; < 0: not at all
    DrawnSpan under_mouse_{};
    Place under_mouse_place_;
    bool any_under_mouse_ = false, under_is_open_ = false;
    float dragged_ = 0;  // pixels since the button went down: a click is not a drag
    float scroll_ = 0;   // of the tracks, pixels
    float content_height_ = 0;
};

}  // namespace gs
