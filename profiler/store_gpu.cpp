// TraceStore's GPU side: work of streams in rows of their own, added up per frame that launched it.
#include <algorithm>

#include "profiler/store.h"

namespace gs {
namespace {

constexpr std::size_t index(StatScope scope) { return static_cast<std::size_t>(scope); }
constexpr std::size_t index(Stage stage) { return static_cast<std::size_t>(stage); }
constexpr std::size_t kMaxPendingWork = 4096;
constexpr std::size_t kMaxFramesBehind = 256;  ///< frames a GPU may lag behind the thread that feeds it

}  // namespace

// GPU work never makes a frame of its own, not even under the name of one: it belongs to the frame that launched it.
void TraceStore::take_device_span(std::uint32_t track_index, const TraceSpan& span, std::uint8_t depth,
                                  const TraceLaunch& launch) {
    TraceSpan kept = span;
    if (!place_span(track_index, kept, depth)) return;
    TraceTrack& track = tracks_[track_index];
    if (track.launches.size() <= depth) track.launches.resize(depth + std::size_t{1});
    track.launches[depth].push_back(launch);
    const Stage of = stage(kept.name);
    const double ms = static_cast<double>(span.length_ns()) * 1e-6;
    gpu_calls_[index(of)].push_back({kept.end_ns, ms});
    gpu_calls_[index(of)].keep_newest(options_.max_calls);
    if (launch.track == kNoTrack) return;

    track.newest_launch_ns = std::max(track.newest_launch_ns, launch.time_ns);
    const DeviceWork work{launch.time_ns, static_cast<float>(ms), track_index, launch.track, of, depth == 0};
    for (std::size_t scope = 0; scope < kFrameScopes; ++scope) {
        std::span<FrameSample> frames = frames_[scope].items();
        if (frames.size() > kMaxFramesBehind) frames = frames.last(kMaxFramesBehind);
        // A stream works in order: what was launched before this has ended.
        for (auto f = frames.rbegin(); f != frames.rend() && !f->gpu_complete; ++f)
            f->gpu_complete = f->gpu_busy_ms > 0 && f->gpu_track == track_index && f->end_ns < launch.time_ns;
        const auto holds = [&](const FrameSample& f) {
            return f.track == launch.track && f.begin_ns <= launch.time_ns && launch.time_ns <= f.end_ns;
        };
        auto frame = frames.rbegin();
        while (frame != frames.rend() && !holds(*frame) && frame->end_ns > launch.time_ns) ++frame;
        if (frame != frames.rend() && holds(*frame)) {
            add_gpu_time(*frame, work);
        } else {
            pending_work_[scope].push_back(work);
            pending_work_[scope].keep_newest(kMaxPendingWork);
        }
    }
}

void TraceStore::add_gpu_time(FrameSample& frame, const DeviceWork& work) const {
    frame.gpu_ms[index(work.stage)] += work.milliseconds;
    ++frame.gpu_calls[index(work.stage)];
    if (work.outermost) frame.gpu_busy_ms += work.milliseconds;
    frame.gpu_track = work.track;
    frame.gpu_complete = tracks_[work.track].newest_launch_ns > frame.end_ns;
}

void TraceStore::take_pending_work(StatScope scope, FrameSample& frame) {
    SlidingArray<DeviceWork>& pending = pending_work_[index(scope)];
    SlidingArray<DeviceWork> rest;
    for (const DeviceWork& work : pending.view()) {
        if (work.launch_track != frame.track || work.launch_ns > frame.end_ns)
            rest.push_back(work);
        else if (work.launch_ns >= frame.begin_ns)
            add_gpu_time(frame, work);  // what is older was launched outside of frames
    }
    if (rest.size() != pending.size()) pending = std::move(rest);
}

std::vector<StageStats> TraceStore::gpu_statistics(StatScope scope, std::size_t last_n, std::uint32_t) const {
    return scope == StatScope::call ? call_statistics(gpu_calls_, last_n)
                                    : gpu_frame_statistics(history(scope), last_n);
}

TraceStore::LaunchingSpan TraceStore::launching_span(std::size_t track, std::size_t row, const TraceSpan& span) const {
    if (track >= tracks_.size() || row >= tracks_[track].launches.size()) return {};
    const auto launches = tracks_[track].launches[row].view();
    const std::ptrdiff_t at = &span - tracks_[track].rows[row].view().data();
    if (at < 0 || at >= static_cast<std::ptrdiff_t>(launches.size())) return {};
    const TraceLaunch& launch = launches[static_cast<std::size_t>(at)];
    if (launch.track >= tracks_.size() || launch.row >= tracks_[launch.track].rows.size()) return {};
    const std::span<const TraceSpan> spans = tracks_[launch.track].rows[launch.row].view();
    const auto found = std::upper_bound(spans.begin(), spans.end(), launch.time_ns,
                                        [](std::int64_t time, const TraceSpan& s) { return time < s.end_ns; });
    // Its begin may have been moved by what clocks round.
    constexpr std::int64_t kRoundingNs = 100;
    if (found == spans.end() || found->begin_ns > launch.time_ns + kRoundingNs) return {};
    return {&*found, launch.track, launch.row};
}

}  // namespace gs
