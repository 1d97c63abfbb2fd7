#include "profiler/analysis/timeline_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/nth.h"
#include "profiler/analysis/counterpart.h"
#include "profiler/analysis/occupancy.h"

namespace gs {
namespace {

constexpr std::int64_t kLaunchReachNs = 1'000'000'000;
constexpr std::size_t kMostLooked = 20'000;  // spans of a row
constexpr std::size_t kLeastUsual = 3;       // of a name: fewer have no median to speak of

std::string time_text(std::int64_t ns) { return format_ns(static_cast<double>(ns)); }

std::string shape_text(const std::uint32_t (&grid)[3]) {
    return fmt::format("{} x {} x {}", format_count(grid[0]), grid[1], grid[2]);
}

std::string payload_label(Stage stage) {
    return stage == Stage::iteration    ? "step"
           : stage == Stage::view_frame ? "picture"
           : stage == Stage::ui         ? "frame"
                                        : "value";
}

const GpuDeviceEvent* device_of(const TraceStore& trace, const TraceTrack& stream) {
    for (const GpuDeviceEvent& device : trace.processes()[stream.process].devices)
        if (device.device == stream.device) return &device;
    return nullptr;
}

void add_kernel(const TraceStore& trace, const TraceTrack& stream, const GpuWork& work,
                std::vector<SpanFact>& out) {
    if (work.grid[0] == 0) return;
    out.push_back({"grid", shape_text(work.grid)});
    out.push_back(
        {"block", fmt::format("{} x {} x {}", work.block[0], work.block[1], work.block[2])});
    if (work.registers > 0)
        out.push_back({"registers", fmt::format("{} a thread", work.registers)});
    if (work.static_shared + work.dynamic_shared > 0)
        out.push_back(
            {"shared memory", fmt::format("{} + {} dynamic", format_bytes(work.static_shared),
                                          format_bytes(work.dynamic_shared))});
    if (work.local_per_thread > 0)
        out.push_back(
            {"local memory", format_bytes(work.local_per_thread) + " a thread (spilled)"});
    if (const GpuDeviceEvent* device = device_of(trace, stream)) {
        const Occupancy occupancy = occupancy_of(shape_of(work), *device);
        if (occupancy.share > 0) {
            out.push_back(
                {"occupancy", fmt::format("{}, limited by {}", format_share(occupancy.share),
                                          name_of(occupancy.limit))});
            out.push_back({"waves", fmt::format("{:.2f}", occupancy.waves)});
        }
    }
    if (work.graph != 0) out.push_back({"graph", std::to_string(work.graph)});
}

void add_copy(const GpuWork& work, std::int64_t length_ns, std::vector<SpanFact>& out) {
    if (work.bytes > 0) {
        out.push_back({"bytes", format_bytes(static_cast<double>(work.bytes))});
        out.push_back({"rate", rate_text(work.bytes, length_ns)});
    }
    if (work.kind == GpuWorkKind::copy)
        out.push_back(
            {"memory", fmt::format("{} to {}{}", name_of(work.source), name_of(work.target),
                                   work.asynchronous ? "" : ", the caller waits")});
}

void add_gpu(const TraceStore& trace, std::size_t track, std::size_t row, const TraceSpan& span,
             std::vector<SpanFact>& out) {
    const TraceTrack& stream = trace.tracks()[track];
    const GpuWork* work = trace.tracks()[track].work_of(row, span);
    if (work && (work->kind == GpuWorkKind::copy || work->kind == GpuWorkKind::fill))
        add_copy(*work, span.length_ns(), out);
    else if (work)
        add_kernel(trace, stream, *work, out);
    if (const auto collective = trace.names().category(span.name, span.category);
        work && !collective.empty()) {
        out.push_back({"collective", std::string(collective)});
        if (work->bytes > 0)
            out.push_back({"bytes", format_bytes(static_cast<double>(work->bytes))});
    }
    const auto launch = trace.timeline().launching_span(track, row, span);
    if (launch.span)
        out.push_back(
            {"launched",
             fmt::format("{} before by {} of {}", time_text(span.begin_ns - launch.span->begin_ns),
                         trace.name(launch.span->name), trace.tracks()[launch.track].name)});
    else
        out.push_back({"launched", "by an unknown call"});
    const auto range = range_of(trace, track, row, span);
    if (range.span)
        out.push_back({"in range", fmt::format("{}{}", trace.name(range.span->name),
                                               range.inferred ? " (inferred from the time)" : "")});
    out.push_back({"on", "the GPU, " + stream.name});
}

/// How long spans of this name take on this track and row, from the ones around it.
void add_usual(std::span<const TraceSpan> row, const TraceSpan& span, std::vector<SpanFact>& out) {
    const auto at = static_cast<std::size_t>(&span - row.data());
    const std::size_t first = at - std::min(at, kMostLooked / 2),
                      last = std::min(row.size(), first + kMostLooked);
    std::vector<std::int64_t> lengths;
    for (const TraceSpan& other : row.subspan(first, last - first))
        if (other.name == span.name) lengths.push_back(other.length_ns());
    if (lengths.size() < kLeastUsual) return;
    const std::int64_t median = upper_median(lengths);
    if (median <= 0) return;
    out.push_back(
        {"of its name",
         fmt::format(
             "{} x the median of {}, of {}",
             format_number(static_cast<double>(span.length_ns()) / static_cast<double>(median), 3),
             time_text(median), format_count(static_cast<double>(lengths.size())))});
}

/// The innermost span around it, where rows are depths.
void add_parent(const TraceStore& trace, std::size_t track, std::size_t row, const TraceSpan& span,
                std::vector<SpanFact>& out) {
    const TraceTrack& on = trace.tracks()[track];
    if (row == 0 || on.described() || on.kind == TrackKind::overlapping) return;
    const TraceSpan* parent = trace.tracks()[track].span_at(row - 1, span.begin_ns);
    if (parent == nullptr || parent->end_ns < span.end_ns) return;
    out.push_back({"inside", fmt::format("{}, {} of it", trace.name(parent->name),
                                         format_share(static_cast<double>(span.length_ns()) /
                                                      static_cast<double>(std::max<std::int64_t>(
                                                          parent->length_ns(), 1))))});
}

/// Where the other pass of a forward or backward range is, and how long it took.
void add_counterpart(const TraceStore& trace, std::size_t track, const TraceSpan& span,
                     std::vector<SpanFact>& out) {
    const TraceSpan* other = counterpart_of(trace, track, span).span;
    if (other == nullptr) return;
    const bool forward = pass_of(trace, span) == Pass::forward;
    out.push_back({forward ? "backward pass" : "forward pass",
                   fmt::format("{}, {} {}, took {}", trace.name(other->name),
                               time_text(std::abs(other->begin_ns - span.begin_ns)),
                               forward ? "later" : "before", time_text(other->length_ns()))});
}

}  // namespace

std::string rate_text(std::uint64_t bytes, std::int64_t length_ns) {
    if (bytes == 0 || length_ns <= 0) return {};
    return fmt::format(
        "{} GB/s", format_number(static_cast<double>(bytes) / static_cast<double>(length_ns), 3));
}

std::vector<SpanFact> facts_of(const TraceStore& trace, std::size_t track_index, std::size_t row,
                               const TraceSpan& span) {
    const TraceTrack& track = trace.tracks()[track_index];
    std::vector<SpanFact> out;
    out.push_back({"duration", time_text(span.length_ns())});
    add_usual(track.rows[row].view(), span, out);
    out.push_back(
        {"begins", fmt::format("{:.6f} s after the first",
                               static_cast<double>(span.begin_ns - trace.origin_ns()) * 1e-9)});
    add_parent(trace, track_index, row, span, out);
    if (span.has_payload && track.kind != TrackKind::gpu_stream) {
        const Stage stage = trace.names().stage(span.name);
        const bool whole = span.payload_kind == PayloadKind::whole;
        out.push_back({payload_label(stage), whole ? format_count(static_cast<double>(span.payload))
                                                   : payload_text(span)});
    }
    for (const TraceValue& value : trace.values().of(track_index, span.begin_ns, row))
        out.push_back({std::string(trace.name(value.name)), value_text(trace.names(), value)});
    if (track.kind == TrackKind::gpu_stream) {
        add_gpu(trace, track_index, row, span, out);
    } else {
        const auto works = launched_by(trace, track_index, row, span, 2);
        if (!works.empty())
            out.push_back(
                {"launched",
                 fmt::format("{}{}, started {} later, took {}", trace.name(works[0].span->name),
                             works.size() > 1 ? " and more" : "",
                             time_text(works[0].span->begin_ns - span.begin_ns),
                             time_text(works[0].span->length_ns()))});
        add_counterpart(trace, track_index, span, out);
        if (const auto category = trace.names().category(span.name, span.category);
            !category.empty())
            out.push_back({"category", std::string(category)});
        if (const auto domain = trace.names().domain(span.name); !domain.empty())
            out.push_back({"NVTX domain", std::string(domain)});
        out.push_back({"on", track.name});
    }
    return out;
}

std::vector<LaunchedWork> launched_by(const TraceStore& trace, std::size_t track, std::size_t row,
                                      const TraceSpan& span, std::size_t most) {
    std::vector<LaunchedWork> out;
    const std::uint32_t process = trace.tracks()[track].process;
    for (std::uint32_t s = 0; s < trace.tracks().size(); ++s) {
        const TraceTrack& stream = trace.tracks()[s];
        if (stream.kind != TrackKind::gpu_stream || stream.process != process) continue;
        for (std::uint32_t r = 0; r < stream.launches.size(); ++r) {
            const auto works = stream.rows[r].view();
            const auto launches = stream.launches[r].view();
            auto at =
                std::lower_bound(works.begin(), works.end(), span.begin_ns,
                                 [](const TraceSpan& w, std::int64_t t) { return w.begin_ns < t; });
            for (std::size_t looked = 0;
                 at != works.end() && looked < kMostLooked && out.size() < most; ++at, ++looked) {
                if (at->begin_ns > span.end_ns + kLaunchReachNs) break;
                const auto i = static_cast<std::size_t>(at - works.begin());
                if (i >= launches.size()) break;
                const TraceLaunch& launch = launches[i];
                if (launch.track == track && launch.row == row && span.begin_ns <= launch.time_ns &&
                    launch.time_ns <= span.end_ns)
                    out.push_back({s, r, &*at});
                else if (launch.track == track && launch.time_ns > span.end_ns)
                    break;  // a stream works in the order of its launches
            }
        }
    }
    std::sort(out.begin(), out.end(), [](const LaunchedWork& a, const LaunchedWork& b) {
        return a.span->begin_ns < b.span->begin_ns;
    });
    return out;
}

}  // namespace gs
