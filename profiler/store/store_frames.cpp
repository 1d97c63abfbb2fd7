// TraceStore's frames: iterations, view frames and frames of the window, with the time of every
// stage inside them on their own thread, and what they launched on a GPU.
#include <algorithm>
#include <limits>

#include "profiler/store/iteration_name.h"
#include "profiler/store/store.h"

namespace gs {
namespace {

constexpr std::size_t index(StatScope scope) { return static_cast<std::size_t>(scope); }
constexpr std::size_t index(Stage stage) { return static_cast<std::size_t>(stage); }
/// GPU work that waits for its frame to end. A PyTorch iteration may launch thousands of kernels.
constexpr std::size_t kMaxWaiting[kFrameScopes] = {65536, 4096, 4096};
constexpr std::size_t kMaxFramesBehind =
    256;  ///< frames a GPU may lag behind the thread that feeds it
constexpr std::size_t kMaxIncomplete =
    16;  ///< frames that are looked at to see whether they are complete now

}  // namespace

void TraceStore::take_call(SlidingArray<Call>& calls, std::uint32_t track, const TraceSpan& span) {
    calls.push_back(
        {span.end_ns, static_cast<double>(span.length_ns()) * 1e-6, tracks_[track].process});
    calls.keep_newest(options_.max_calls);
}

void TraceStore::take_span(std::uint32_t track, const TraceSpan& span, std::uint8_t depth,
                           bool lossy) {
    TraceSpan kept = span;
    if (!place_span(track, kept, depth)) return;
    take_call(calls_[index(stage(kept.name))], track, kept);
    if (is_iteration(track, kept)) take_frame(StatScope::iteration, track, kept, depth, lossy);
    for (const StatScope scope : {StatScope::view_frame, StatScope::ui_frame})
        if (stage(kept.name) == frame_stage_of(scope)) take_frame(scope, track, kept, depth, lossy);
}

bool TraceStore::is_iteration(std::uint32_t track, const TraceSpan& span) {
    const int rank = names_[span.name].iteration_rank;
    ProcessState& state = process_states_[tracks_[track].process];
    if (rank < state.iteration_rank) return false;
    state.iteration_rank = rank;
    state.iterations_on = track;
    return true;
}

std::uint64_t TraceStore::frame_number(StatScope scope, std::uint32_t process,
                                       const TraceSpan& span) {
    if (span.has_payload || scope != StatScope::iteration) return span.payload;
    std::uint64_t& next = process_states_[process].next_iteration;
    const std::uint64_t number = iteration_name(names_[span.name].text).number.value_or(next);
    next = number + 1;
    return number;
}

// A frame's record comes after those of the spans inside it, so they are the newest of the deeper
// rows.
void TraceStore::take_frame(StatScope scope, std::uint32_t track_index, const TraceSpan& span,
                            std::size_t depth, bool lossy) {
    FrameSample sample;
    sample.process = tracks_[track_index].process;
    sample.number = frame_number(scope, sample.process, span);
    sample.begin_ns = span.begin_ns;
    sample.end_ns = span.end_ns;
    sample.track = track_index;
    sample.incomplete = lossy;
    std::size_t& warm_up_left = process_states_[sample.process].warm_up_left[index(scope)];
    sample.warm_up = warm_up_left > 0;
    if (warm_up_left > 0) --warm_up_left;

    const auto add = [&](std::size_t stage_index, const TraceSpan& s) {
        const auto ms = static_cast<float>(static_cast<double>(s.length_ns()) * 1e-6);
        sample.total_ms[stage_index] += ms;
        sample.self_ms[stage_index] += ms;
        ++sample.calls[stage_index];
        return ms;
    };
    const std::size_t own = index(frame_stage_of(scope));  // whatever the program calls it
    const auto stage_index = [&](const TraceSpan& s) {
        return &s == &span ? own : index(stage(s.name));
    };
    const auto& rows = tracks_[track_index].rows;
    std::span<const TraceSpan> parents(&span, 1);
    add(own, span);
    for (std::size_t r = depth + 1; r < rows.size() && !parents.empty(); ++r) {
        const std::span<const TraceSpan> row = rows[r].view();
        const auto first =
            std::lower_bound(row.begin(), row.end(), span.begin_ns,
                             [](const TraceSpan& s, std::int64_t t) { return s.begin_ns < t; });
        const std::span<const TraceSpan> inside(first, row.end());
        std::size_t p = 0;
        for (const TraceSpan& s : inside) {
            const float ms = add(stage_index(s), s);
            while (p + 1 < parents.size() && parents[p].end_ns <= s.begin_ns) ++p;
            sample.self_ms[stage_index(parents[p])] -= ms;
        }
        parents = inside;
    }
    take_waiting_work(scope, sample);
    SlidingArray<FrameSample>& frames = frames_[index(scope)];
    frames.push_back(sample);
    frames.keep_newest(options_.max_frames);
}

bool TraceStore::launched_in(const FrameSample& frame, const DeviceWork& work,
                             std::size_t scope) const {
    if (!work.by_api) return frame.track == work.launch_track;
    // A backward pass is launched from threads of its own, and is its iteration's all the same.
    if (frame.process != tracks_[work.track].process) return false;
    return scope == index(StatScope::iteration) ||
           tracks_[frame.track].tid == tracks_[work.launch_track].tid;
}

void TraceStore::add_gpu_time(FrameSample& frame, const DeviceWork& work) const {
    frame.gpu_ms[index(work.stage)] += work.milliseconds;
    ++frame.gpu_calls[index(work.stage)];
    if (work.outermost) frame.gpu_busy_ms += work.milliseconds;
    frame.gpu_track = work.track;
    frame.gpu_complete = tracks_[work.track].newest_launch_ns > frame.end_ns;
}

/// Adds the work to the frame that launched it, or keeps it until that ends. A stream works in
/// order: what was launched in earlier frames has ended, too.
void TraceStore::count_for_frames(const DeviceWork& work) {
    ProcessState& state = process_states_[tracks_[work.track].process];
    for (std::size_t scope = 0; scope < kFrameScopes; ++scope) {
        std::span<FrameSample> frames = frames_[scope].items();
        if (frames.size() > kMaxFramesBehind) frames = frames.last(kMaxFramesBehind);
        auto frame = frames.rbegin();
        while (frame != frames.rend() &&
               (frame->begin_ns > work.launch_ns || !launched_in(*frame, work, scope)))
            ++frame;
        if (frame != frames.rend() && work.launch_ns <= frame->end_ns) {
            add_gpu_time(*frame++, work);
        } else {
            state.waiting[scope].push_back(work);
            state.waiting[scope].keep_newest(kMaxWaiting[scope]);
        }
        for (std::size_t i = 0; i < kMaxIncomplete && frame != frames.rend(); ++i, ++frame)
            if (frame->gpu_busy_ms > 0 && frame->gpu_track == work.track &&
                frame->end_ns < work.launch_ns) {
                if (frame->gpu_complete) break;
                frame->gpu_complete = true;
            }
    }
}

void TraceStore::take_waiting_work(StatScope scope, FrameSample& frame) {
    SlidingArray<DeviceWork>& waiting = process_states_[frame.process].waiting[index(scope)];
    SlidingArray<DeviceWork> rest;
    for (const DeviceWork& work : waiting.view()) {
        if (!launched_in(frame, work, index(scope)) || work.launch_ns > frame.end_ns)
            rest.push_back(work);
        else if (work.launch_ns >= frame.begin_ns)
            add_gpu_time(frame, work);  // what is older was launched outside of frames
    }
    if (rest.size() != waiting.size()) waiting = std::move(rest);
}

std::span<const FrameSample> TraceStore::history(StatScope scope) const {
    return scope == StatScope::call ? std::span<const FrameSample>() : frames_[index(scope)].view();
}

std::vector<StageStats> TraceStore::statistics(StatScope scope, std::size_t last_n,
                                               std::uint32_t process) const {
    return scope == StatScope::call ? call_statistics(calls_, last_n, process)
                                    : frame_statistics(history(scope), last_n, process);
}

std::vector<StageStats> TraceStore::gpu_statistics(StatScope scope, std::size_t last_n,
                                                   std::uint32_t process) const {
    return scope == StatScope::call ? call_statistics(gpu_calls_, last_n, process)
                                    : gpu_frame_statistics(history(scope), last_n, process);
}

std::vector<StageStats> TraceStore::call_statistics(const SlidingArray<Call> (&all)[kStageCount],
                                                    std::size_t last_n,
                                                    std::uint32_t process) const {
    std::vector<StageStats> out;
    for (std::size_t s = 0; s < kStageCount; ++s) {
        const auto calls = all[s].view();
        std::vector<double> milliseconds;
        std::int64_t newest_ns = 0;
        for (auto call = calls.rbegin(); call != calls.rend() && milliseconds.size() < last_n;
             ++call) {
            if (process != kAnyProcess && call->process != process) continue;
            milliseconds.push_back(call->milliseconds);
            newest_ns = std::max(newest_ns, call->end_ns);
        }
        if (milliseconds.empty()) continue;
        StageStats stats;
        stats.stage = static_cast<Stage>(s);
        set_figures(stats, milliseconds);
        stats.calls = stats.samples;
        stats.newest_ns = newest_ns;
        stats.self_mean_ms = stats.share = std::numeric_limits<double>::quiet_NaN();
        out.push_back(stats);
    }
    return out;
}

}  // namespace gs
