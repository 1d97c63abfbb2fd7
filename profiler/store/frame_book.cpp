#include "profiler/store/frame_book.h"

#include <algorithm>
#include <limits>

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

float milliseconds_of(const TraceSpan& span) {
    return static_cast<float>(static_cast<double>(span.length_ns()) * 1e-6);
}

}  // namespace

FrameBook::Process& FrameBook::process(std::uint32_t index) {
    while (processes_.size() <= index) {
        Process& added = processes_.emplace_back();
        std::fill(std::begin(added.warm_up_left), std::end(added.warm_up_left), options_.warm_up);
    }
    return processes_[index];
}

void FrameBook::take_call(SlidingArray<Call>& calls, std::uint32_t process, const TraceSpan& span) {
    calls.push_back({span.end_ns, static_cast<double>(span.length_ns()) * 1e-6, process});
    calls.keep_newest(options_.max_calls);
}

void FrameBook::take_range(const Timeline& timeline, const NameBook& names, std::uint32_t track,
                           const TraceSpan& span, std::size_t depth, bool lossy) {
    const TraceTrack& on = timeline.tracks()[track];
    const Stage stage = names.stage(span.name);
    if (!names.is_share(span.name)) take_call(calls_[index(stage)], on.process, span);
    if (is_iteration(on, names, track, span, depth)) {
        process(on.process).iterations_on = track;
        take_frame(StatScope::iteration, timeline, names, track, span, depth, lossy);
    }
    if (on.kind == TrackKind::thread && process(on.process).rows.needs_loop())
        loops_.take(names, on, track, span, depth);
    for (const StatScope scope : {StatScope::view_frame, StatScope::ui_frame})
        if (stage == frame_stage_of(scope))
            take_frame(scope, timeline, names, track, span, depth, lossy);
}

void FrameBook::take_overlapping(const Timeline& timeline, const NameBook& names,
                                 std::uint32_t track, const TraceSpan& span) {
    is_iteration(timeline.tracks()[track], names, track, span, 0);
}

/// By its name and place. Where enough are, no other loop is looked for.
bool FrameBook::is_iteration(const TraceTrack& on, const NameBook& names, std::uint32_t track,
                             const TraceSpan& span, std::size_t row) {
    IterationRows& rows = process(on.process).rows;
    const bool needed = rows.needs_loop();
    const bool is = rows.take(on, track, row, names.iteration_rank(span.name), span.length_ns());
    if (needed && !rows.needs_loop()) loops_.forget(on.process);
    return is;
}

std::uint64_t FrameBook::frame_number(StatScope scope, const NameBook& names, std::uint32_t of,
                                      const TraceSpan& span) {
    if (scope != StatScope::iteration) return span.payload;
    std::uint64_t& next = process(of).next_iteration;
    const std::uint64_t number = iteration_number(names, span).value_or(next);
    next = number + 1;
    return number;
}

// A frame's record comes after those of the spans inside it, so they are the newest of the deeper
// rows.
void FrameBook::take_frame(StatScope scope, const Timeline& timeline, const NameBook& names,
                           std::uint32_t track_index, const TraceSpan& span, std::size_t depth,
                           bool lossy) {
    const TraceTrack& track = timeline.tracks()[track_index];
    FrameSample sample{.process = track.process};
    sample.number = frame_number(scope, names, sample.process, span);
    sample.begin_ns = span.begin_ns;
    sample.end_ns = span.end_ns;
    sample.track = track_index;
    sample.incomplete = lossy;
    std::size_t& warm_up_left = process(sample.process).warm_up_left[index(scope)];
    sample.warm_up = warm_up_left > 0;
    if (warm_up_left > 0) --warm_up_left;

    const auto add = [&](std::size_t stage_index, const TraceSpan& s) {
        const float ms = milliseconds_of(s);
        sample.total_ms[stage_index] += ms;
        sample.self_ms[stage_index] += ms;
        ++sample.calls[stage_index];
        return ms;
    };
    const std::size_t own = index(frame_stage_of(scope));  // whatever the program calls it
    const auto stage_index = [&](const TraceSpan& s) {
        return &s == &span ? own : index(names.stage(s.name));
    };
    const auto& rows = track.rows;
    std::span<const TraceSpan> parents(&span, 1);
    add(own, span);
    for (std::size_t r = depth + 1; r < rows.size() && !parents.empty(); ++r) {
        const std::span<const TraceSpan> row = rows[r].view();
        const auto first = std::ranges::lower_bound(row, span.begin_ns, {}, &TraceSpan::begin_ns);
        const std::span<const TraceSpan> inside(first, row.end());
        std::size_t p = 0;
        for (const TraceSpan& s : inside) {
            const float ms = add(stage_index(s), s);
            while (p + 1 < parents.size() && parents[p].end_ns <= s.begin_ns) ++p;
            sample.self_ms[stage_index(parents[p])] -= ms;
        }
        parents = inside;
    }
    take_waiting_work(scope, timeline, sample);
    SlidingArray<FrameSample>& frames = frames_[index(scope)];
    frames.push_back(sample);
    frames.keep_newest(options_.max_frames);
}

namespace {

template <class Work>
bool launched_in(const Timeline& timeline, const FrameSample& frame, const Work& work,
                 std::size_t scope) {
    const auto& tracks = timeline.tracks();
    if (!tracks[work.track].described()) return frame.track == work.launch_track;
    // A backward pass is launched from threads of its own, and is its iteration's all the same.
    if (frame.process != tracks[work.track].process) return false;
    return scope == index(StatScope::iteration) ||
           tracks[frame.track].tid == tracks[work.launch_track].tid;
}

Stage stage_of(const TraceTrack& on, const NameBook& names, const TraceSpan& span) {
    return on.described() ? names.gpu_stage(span.name) : names.stage(span.name);
}

template <class Work>
void add_gpu_time(const Timeline& timeline, FrameSample& frame, const Work& work) {
    frame.gpu_ms[index(work.stage)] += work.milliseconds;
    ++frame.gpu_calls[index(work.stage)];
    if (work.outermost) frame.gpu_busy_ms += work.milliseconds;
    frame.gpu_track = work.track;
    frame.gpu_complete = timeline.tracks()[work.track].newest_launch_ns > frame.end_ns;
}

}  // namespace

void FrameBook::take_gpu_call(const Timeline& timeline, const NameBook& names, std::uint32_t track,
                              const TraceSpan& span) {
    const TraceTrack& on = timeline.tracks()[track];
    if (!on.described()) process(on.process).times_itself = true;
    if (on.described() && process(on.process).times_itself) return;
    take_call(gpu_calls_[index(stage_of(on, names, span))], on.process, span);
}

// Adds the work to the frame that launched it, or keeps it until that ends. A stream works in
// order: what was launched in earlier frames has also ended.
void FrameBook::take_launched(const Timeline& timeline, const NameBook& names, std::uint32_t track,
                              const TraceSpan& span, const TraceLaunch& launch, bool outermost) {
    const TraceTrack& on = timeline.tracks()[track];
    Process& state = process(on.process);
    if (on.described() && state.times_itself) return;
    const DeviceWork work{launch.time_ns, milliseconds_of(span),     track,
                          launch.track,   stage_of(on, names, span), outermost};
    for (std::size_t scope = 0; scope < kFrameScopes; ++scope) {
        std::span<FrameSample> frames = frames_[scope].items();
        if (frames.size() > kMaxFramesBehind) frames = frames.last(kMaxFramesBehind);
        auto frame = frames.rbegin();
        while (frame != frames.rend() &&
               (frame->begin_ns > work.launch_ns || !launched_in(timeline, *frame, work, scope)))
            ++frame;
        if (frame != frames.rend() && work.launch_ns <= frame->end_ns) {
            add_gpu_time(timeline, *frame++, work);
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

void FrameBook::take_waiting_work(StatScope scope, const Timeline& timeline, FrameSample& frame) {
    SlidingArray<DeviceWork>& waiting = process(frame.process).waiting[index(scope)];
    SlidingArray<DeviceWork> rest;
    for (const DeviceWork& work : waiting.view()) {
        if (!launched_in(timeline, frame, work, index(scope)) || work.launch_ns > frame.end_ns)
            rest.push_back(work);
        else if (work.launch_ns >= frame.begin_ns)
            add_gpu_time(timeline, frame, work);  // what is older was launched outside of frames
    }
    if (rest.size() != waiting.size()) waiting = std::move(rest);
}

std::span<const FrameSample> FrameBook::history(StatScope scope) const {
    return scope == StatScope::call ? std::span<const FrameSample>() : frames_[index(scope)].view();
}

std::vector<StageStats> FrameBook::statistics(StatScope scope, std::size_t last_n,
                                              std::uint32_t process) const {
    return scope == StatScope::call ? call_statistics(calls_, last_n, process)
                                    : frame_statistics(history(scope), last_n, process);
}

std::vector<StageStats> FrameBook::gpu_statistics(StatScope scope, std::size_t last_n,
                                                  std::uint32_t process) const {
    return scope == StatScope::call ? call_statistics(gpu_calls_, last_n, process)
                                    : gpu_frame_statistics(history(scope), last_n, process);
}

std::vector<StageStats> FrameBook::call_statistics(const SlidingArray<Call> (&all)[kStageCount],
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
        StageStats stats{.stage = static_cast<Stage>(s)};
        set_figures(stats, milliseconds);
        stats.calls = stats.samples;
        stats.newest_ns = newest_ns;
        stats.self_mean_ms = stats.share = std::numeric_limits<double>::quiet_NaN();
        out.push_back(stats);
    }
    return out;
}

void FrameBook::restart_warm_up() {
    for (Process& state : processes_)
        std::fill(std::begin(state.warm_up_left), std::end(state.warm_up_left), options_.warm_up);
}

void FrameBook::end(std::uint32_t of) {
    loops_.end(of);
    if (of >= processes_.size()) return;
    for (auto& work : processes_[of].waiting) work = {};
}

void FrameBook::renumber(const Renumbering& to) {
    keep_those(processes_, to.process);
    loops_.renumber(to);
    for (Process& state : processes_) {
        state.iterations_on = to.track(state.iterations_on);
        state.rows.renumber(to);
        for (auto& waiting : state.waiting) {
            for (DeviceWork& work : waiting.items()) {
                work.track = to.track(work.track);
                work.launch_track = to.track(work.launch_track);
            }
            waiting = filtered(waiting, [](const DeviceWork& work) {
                return work.track != kNoTrack && work.launch_track != kNoTrack;
            });
        }
    }
    for (auto& frames : frames_) {
        for (FrameSample& frame : frames.items()) {
            frame.process = to.process(frame.process);
            frame.track = to.track(frame.track);
            frame.gpu_track = to.track(frame.gpu_track);
        }
        frames = filtered(frames, [](const FrameSample& f) { return f.track != kNoTrack; });
    }
    for (auto* all : {&calls_, &gpu_calls_})
        for (auto& calls : *all) {
            for (Call& call : calls.items()) call.process = to.process(call.process);
            calls = filtered(calls, [](const Call& call) { return call.process != kGone; });
        }
}

void FrameBook::clear() {
    for (Process& state : processes_)
        for (auto& work : state.waiting) work = {};
    for (auto& frames : frames_) frames = {};
    for (auto& calls : calls_) calls = {};
    for (auto& calls : gpu_calls_) calls = {};
    restart_warm_up();
}

std::size_t FrameBook::bytes() const {
    std::size_t total = loops_.bytes() + processes_.capacity() * sizeof(Process);
    const auto add = [&total](const auto& arrays) {
        for (const auto& array : arrays) total += array.bytes();
    };
    for (const Process& state : processes_) add(state.waiting);
    add(frames_);
    add(calls_);
    add(gpu_calls_);
    return total;
}

FrameBook FrameBook::excerpt() const {
    FrameBook out(options_);
    for (const Process& state : processes_) {
        Process& copy = out.processes_.emplace_back();
        copy.iterations_on = state.iterations_on;
        copy.rows = state.rows;
    }
    out.loops_ = loops_.excerpt();
    return out;
}

}  // namespace gs
