#include "profiler/analysis/frame_ranges.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace gs {
namespace {

struct RangeTimes {
    std::vector<double> milliseconds;  // by frame
    std::int64_t frame_ns = 0;         // when the newest of these began
    StageStats stats;
};

void add_frame(const TraceStore& store, const FrameSample& frame,
               std::unordered_map<std::uint32_t, RangeTimes>& times) {
    const TraceTrack& track = store.tracks()[frame.track];
    bool inside = false;  // the frame's own row is behind
    for (std::size_t r = 0; r < track.rows.size(); ++r) {
        if (!inside) {
            const TraceSpan* const own = track.span_at(r, frame.begin_ns);
            inside = own && own->begin_ns == frame.begin_ns && own->end_ns == frame.end_ns;
            continue;
        }
        const auto row = track.rows[r].view();
        auto at = std::ranges::lower_bound(row, frame.begin_ns, {}, &TraceSpan::begin_ns);
        for (; at != row.end() && at->end_ns <= frame.end_ns; ++at) {
            if (store.names().stage(at->name) != Stage::other) continue;
            RangeTimes& of = times[at->name];
            if (of.milliseconds.empty() || of.frame_ns != frame.begin_ns)
                of.milliseconds.push_back(0);
            of.frame_ns = frame.begin_ns;
            of.milliseconds.back() += static_cast<double>(at->length_ns()) * 1e-6;
            of.stats.newest_ns = std::max(of.stats.newest_ns, frame.end_ns);
            ++of.stats.calls;
        }
    }
}

}  // namespace

std::vector<FrameRange> ranges_in_frames(const TraceStore& store, StatScope scope,
                                         std::size_t last_n) {
    std::unordered_map<std::uint32_t, RangeTimes> times;
    double all_ms = 0;
    const auto frames = store.frames().history(scope);
    for (std::size_t i = frames.size(); i-- > 0 && last_n > 0;) {
        if (frames[i].warm_up || frames[i].incomplete) continue;
        --last_n;
        all_ms += frames[i].milliseconds();
        add_frame(store, frames[i], times);
    }
    std::vector<FrameRange> out;
    for (auto& [name, of] : times) {
        set_figures(of.stats, of.milliseconds);
        of.stats.self_mean_ms = std::numeric_limits<double>::quiet_NaN();
        of.stats.share = of.stats.total_ms / all_ms;
        out.push_back({name, of.stats});
    }
    std::ranges::sort(out, [](const FrameRange& a, const FrameRange& b) {
        return a.stats.total_ms != b.stats.total_ms ? a.stats.total_ms > b.stats.total_ms
                                                    : a.name < b.name;
    });
    return out;
}

}  // namespace gs
