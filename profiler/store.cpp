#include "profiler/store.h"

#include <algorithm>
#include <limits>

namespace gs {
namespace {

constexpr std::size_t index(StatScope scope) { return static_cast<std::size_t>(scope); }
constexpr std::size_t index(Stage stage) { return static_cast<std::size_t>(stage); }

}  // namespace

TraceStore::TraceStore(TraceStoreOptions options) : options_(options) {
    for (const char* text : kStageNames) intern(text);  // so that a stage's name index is its number
    unknown_name_ = intern("?");
    restart_warm_up();
}

void TraceStore::restart_warm_up() { std::fill(std::begin(warm_up_left_), std::end(warm_up_left_), options_.warm_up); }

void TraceStore::clear() {
    for (TraceTrack& track : tracks_) {
        track.rows.clear();
        track.launches.clear();
    }
    for (auto& frames : frames_) frames = {};
    for (auto& work : pending_work_) work = {};
    for (auto& calls : calls_) calls = {};
    for (auto& calls : gpu_calls_) calls = {};
    counters_.clear();
    instants_ = {};
    span_count_ = 0;
    end_ns_ = 0;
    restart_warm_up();
}

std::uint32_t TraceStore::intern(std::string_view text) {
    const auto [place, added] =
        index_of_name_.try_emplace(std::string(text), static_cast<std::uint32_t>(names_.size()));
    if (added) names_.emplace_back(text);
    return place->second;
}

std::uint32_t TraceStore::name_in(const Source& source, std::uint32_t id) {
    return id < source.name_of_id.size() ? source.name_of_id[id] : source.name_of_id[0];
}

void TraceStore::take_track(Source& source, const TrackInfo& info) {
    const auto [place, added] = source.track_of_id.try_emplace(info.track, static_cast<std::uint32_t>(tracks_.size()));
    if (added) tracks_.emplace_back();
    TraceTrack& track = tracks_[place->second];
    track.pid = info.pid;
    track.tid = info.tid;
    track.ended = info.ended;
    track.kind = info.kind;
    if (!info.name.empty()) track.name = info.name;
    if (track.name.empty())
        track.name = info.kind == TrackKind::thread ? "thread " + std::to_string(info.tid) : "GPU stream";
}

void TraceStore::ingest(const TraceBatch& batch) {
    if (batch.read_ns == 0) return;
    Source& source = sources_[batch.pid];
    if (source.name_of_id.empty()) source.name_of_id.push_back(unknown_name_);
    for (const NameInfo& name : batch.names) {
        if (name.name >= source.name_of_id.size()) source.name_of_id.resize(name.name + 1, unknown_name_);
        source.name_of_id[name.name] = intern(name.text);
    }
    for (const TrackInfo& track : batch.tracks) take_track(source, track);
    // The record that was lost may have been any: no frame that ends in this batch can be trusted to be whole.
    const bool lossy = batch.loss.lapped > source.lapped;
    source.lapped = batch.loss.lapped;
    const auto track_of = [&](std::uint32_t id) {
        const auto found = source.track_of_id.find(id);
        return found == source.track_of_id.end() ? kNoTrack : found->second;
    };
    for (const SpanEvent& e : batch.spans) {
        const std::uint32_t track = track_of(e.track);
        if (track >= tracks_.size()) continue;
        take_span(track, {e.begin_ns, e.end_ns, e.payload, name_in(source, e.name), e.has_payload}, e.depth, lossy);
    }
    for (const DeviceSpanEvent& d : batch.device_spans) {
        const SpanEvent& e = d.span;
        const std::uint32_t track = track_of(e.track);
        if (track >= tracks_.size() || tracks_[track].kind != TrackKind::gpu_stream) continue;
        take_device_span(track, {e.begin_ns, e.end_ns, e.payload, name_in(source, e.name), e.has_payload}, e.depth,
                         {d.launch_ns, track_of(d.launch_track), d.launch_depth});
    }
    for (const CounterEvent& e : batch.counters) take_counter(name_in(source, e.name), {e.time_ns, e.value});
    for (const InstantEvent& e : batch.instants)
        instants_.push_back({e.time_ns, e.payload, track_of(e.track), name_in(source, e.name)});
    instants_.keep_newest(options_.max_points);
    open_.clear();
    for (OpenSpan open : batch.open) {
        open.track = track_of(open.track);
        open.name = name_in(source, open.name);
        if (open.track < tracks_.size()) open_.push_back(open);
    }
    source.loss = batch.loss;
    source.written = batch.written;
    total_losses();
    read_ns_ = std::max(read_ns_, batch.read_ns);
    realtime_offset_ns_ = batch.realtime_offset_ns;
    collector_cpu_ns_ = std::max(collector_cpu_ns_, batch.collector_cpu_ns);
    process_name_ = batch.process_name;
    if (span_count_ > options_.max_spans) forget_oldest();
}

void TraceStore::total_losses() {
    loss_ = {};
    written_ = 0;
    for (const auto& [pid, source] : sources_) {
        loss_.lapped += source.loss.lapped;
        loss_.dropped += source.loss.dropped;
        loss_.malformed += source.loss.malformed;
        loss_.untimed += source.loss.untimed;
        loss_.dropped_strings += source.loss.dropped_strings;
        loss_.truncated_strings += source.loss.truncated_strings;
        written_ += source.written;
    }
}

/// Puts the span into its row, its begin moved to where the row ends when need be. False: it cannot be there.
bool TraceStore::place_span(std::uint32_t track_index, TraceSpan& span, std::uint8_t depth) {
    TraceTrack& track = tracks_[track_index];
    if (depth >= kMaxRows) {
        ++misplaced_;
        return false;
    }
    if (track.rows.size() <= depth) track.rows.resize(depth + std::size_t{1});
    SlidingArray<TraceSpan>& row = track.rows[depth];
    if (!row.empty() && span.begin_ns < row.back().end_ns) {
        // Rounding of clocks may cost a nanosecond or two; anything more is not a row any more.
        if (span.end_ns < row.back().end_ns) {
            ++misplaced_;
            return false;
        }
        span.begin_ns = row.back().end_ns;
    }
    row.push_back(span);
    ++span_count_;
    end_ns_ = std::max(end_ns_, span.end_ns);
    return true;
}

void TraceStore::take_span(std::uint32_t track_index, const TraceSpan& span, std::uint8_t depth, bool lossy) {
    TraceSpan kept = span;
    if (!place_span(track_index, kept, depth)) return;
    const Stage of = stage(kept.name);
    SlidingArray<Call>& calls = calls_[index(of)];
    calls.push_back({kept.end_ns, static_cast<double>(kept.length_ns()) * 1e-6});
    calls.keep_newest(options_.max_calls);
    for (const StatScope scope : {StatScope::iteration, StatScope::view_frame, StatScope::ui_frame})
        if (kept.name == index(frame_stage_of(scope))) take_frame(scope, track_index, kept, depth, lossy);
}

// A frame's record comes after those of the spans inside it, so they are the newest of the deeper rows.
void TraceStore::take_frame(StatScope scope, std::uint32_t track_index, const TraceSpan& span, std::size_t depth,
                            bool lossy) {
    FrameSample sample;
    sample.number = span.payload;
    sample.begin_ns = span.begin_ns;
    sample.end_ns = span.end_ns;
    sample.track = track_index;
    sample.incomplete = lossy;
    std::size_t& warm_up_left = warm_up_left_[index(scope)];
    sample.warm_up = warm_up_left > 0;
    if (warm_up_left > 0) --warm_up_left;

    const auto add = [&](const TraceSpan& s, double self_sign, bool counts) {
        const std::size_t at = index(stage(s.name));
        const auto ms = static_cast<float>(static_cast<double>(s.length_ns()) * 1e-6);
        if (counts) {
            sample.total_ms[at] += ms;
            ++sample.calls[at];
        }
        return std::pair{at, static_cast<float>(self_sign) * ms};
    };
    const auto& rows = tracks_[track_index].rows;
    std::span<const TraceSpan> parents(&span, 1);
    const auto [own, own_ms] = add(span, 1, true);
    sample.self_ms[own] += own_ms;
    for (std::size_t r = depth + 1; r < rows.size() && !parents.empty(); ++r) {
        const std::span<const TraceSpan> row = rows[r].view();
        const auto first = std::lower_bound(row.begin(), row.end(), span.begin_ns,
                                            [](const TraceSpan& s, std::int64_t t) { return s.begin_ns < t; });
        const std::span<const TraceSpan> inside(first, row.end());
        std::size_t p = 0;
        for (const TraceSpan& s : inside) {
            const auto [at, ms] = add(s, 1, true);
            sample.self_ms[at] += ms;
            while (p + 1 < parents.size() && parents[p].end_ns <= s.begin_ns) ++p;
            const std::size_t parent = index(stage(parents[p].name));
            sample.self_ms[parent] -= ms;
        }
        parents = inside;
    }
    take_pending_work(scope, sample);
    SlidingArray<FrameSample>& frames = frames_[index(scope)];
    frames.push_back(sample);
    frames.keep_newest(options_.max_frames);
}

void TraceStore::take_counter(std::uint32_t name, CounterPoint point) {
    auto series =
        std::find_if(counters_.begin(), counters_.end(), [&](const CounterSeries& c) { return c.name == name; });
    if (series == counters_.end()) {
        if (counters_.size() >= 1024) return;
        counters_.push_back({name, 0, {}});
        series = counters_.end() - 1;
    }
    series->points.push_back(point);
    series->points.keep_newest(options_.max_points);
}

// Drops an eighth: everything that ended before a time found by bisection, so that all threads begin together.
void TraceStore::forget_oldest() {
    const auto ended_before = [](const SlidingArray<TraceSpan>& row, std::int64_t t) {
        const auto view = row.view();
        return static_cast<std::size_t>(
            std::lower_bound(view.begin(), view.end(), t,
                             [](const TraceSpan& s, std::int64_t time) { return s.end_ns < time; }) -
            view.begin());
    };
    const std::size_t excess = span_count_ - (options_.max_spans - options_.max_spans / 8);
    std::int64_t low = begin_ns(), high = end_ns_ + 1;
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        std::size_t count = 0;
        for (const TraceTrack& track : tracks_)
            for (const auto& row : track.rows) count += ended_before(row, middle);
        (count < excess ? low : high) = middle;
    }
    for (TraceTrack& track : tracks_)
        for (std::size_t r = 0; r < track.rows.size(); ++r) {
            auto& row = track.rows[r];
            const std::size_t count = ended_before(row, high);
            row.drop_front(count);
            if (r < track.launches.size()) track.launches[r].drop_front(count);
            span_count_ -= count;
            forgotten_ += count;
        }
}

std::int64_t TraceStore::begin_ns() const {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max();
    for (const TraceTrack& track : tracks_)
        for (const auto& row : track.rows)
            if (!row.empty()) begin = std::min(begin, row.view().front().begin_ns);
    return begin == std::numeric_limits<std::int64_t>::max() ? 0 : begin;
}

std::span<const FrameSample> TraceStore::history(StatScope scope) const {
    return scope == StatScope::call ? std::span<const FrameSample>() : frames_[index(scope)].view();
}

std::vector<StageStats> TraceStore::statistics(StatScope scope, std::size_t last_n, std::uint32_t) const {
    return scope == StatScope::call ? call_statistics(calls_, last_n) : frame_statistics(history(scope), last_n);
}

std::vector<StageStats> TraceStore::call_statistics(const SlidingArray<Call> (&all)[kStageCount],
                                                    std::size_t last_n) const {
    std::vector<StageStats> out;
    for (std::size_t s = 0; s < kStageCount; ++s) {
        auto calls = all[s].view();
        if (calls.size() > last_n) calls = calls.last(last_n);
        if (calls.empty()) continue;
        std::vector<double> milliseconds;
        for (const Call& call : calls) milliseconds.push_back(call.milliseconds);
        StageStats stats;
        stats.stage = static_cast<Stage>(s);
        set_figures(stats, milliseconds);
        stats.calls = stats.samples;
        stats.newest_ns = calls.back().end_ns;
        stats.self_mean_ms = stats.share = std::numeric_limits<double>::quiet_NaN();
        out.push_back(stats);
    }
    return out;
}

std::size_t TraceStore::bytes() const {
    std::size_t total = instants_.bytes();
    for (const TraceTrack& track : tracks_)
        for (const auto& row : track.rows) total += row.bytes();
    for (const TraceTrack& track : tracks_)
        for (const auto& row : track.launches) total += row.bytes();
    for (const auto& calls : gpu_calls_) total += calls.bytes();
    for (const auto& frames : frames_) total += frames.bytes();
    for (const auto& calls : calls_) total += calls.bytes();
    for (const CounterSeries& series : counters_) total += series.points.bytes();
    return total;
}

// ---- timeline queries ----

void TraceStore::visible(std::size_t track, std::size_t row, std::int64_t t0, std::int64_t t1, std::int64_t merge_ns,
                         std::vector<DrawnSpan>& out) const {
    if (track >= tracks_.size() || row >= tracks_[track].rows.size()) return;
    const std::span<const TraceSpan> spans = tracks_[track].rows[row].view();
    const auto first_ending_after = [&](auto from, std::int64_t t) {
        return std::upper_bound(from, spans.end(), t,
                                [](std::int64_t time, const TraceSpan& s) { return time < s.end_ns; });
    };
    auto at = first_ending_after(spans.begin(), t0);
    while (at != spans.end() && at->begin_ns <= t1) {
        DrawnSpan drawn{at->begin_ns,
                        at->end_ns,
                        at->payload,
                        at->name,
                        1,
                        at->has_payload,
                        static_cast<std::uint32_t>(at - spans.begin())};
        auto next = at + 1;
        if (at->length_ns() < merge_ns) {
            // Everything that ends within this pixel becomes one block.
            next = std::max(next, first_ending_after(next, at->begin_ns + merge_ns));
            drawn.count = static_cast<std::uint32_t>(next - at);
            drawn.end_ns = (next - 1)->end_ns;
        }
        out.push_back(drawn);
        at = next;
    }
}

const TraceSpan* TraceStore::span_at(std::size_t track, std::size_t row, std::int64_t t) const {
    if (track >= tracks_.size() || row >= tracks_[track].rows.size()) return nullptr;
    const std::span<const TraceSpan> spans = tracks_[track].rows[row].view();
    const auto at = std::upper_bound(spans.begin(), spans.end(), t,
                                     [](std::int64_t time, const TraceSpan& s) { return time < s.end_ns; });
    return at != spans.end() && at->begin_ns <= t ? &*at : nullptr;
}

}  // namespace gs
