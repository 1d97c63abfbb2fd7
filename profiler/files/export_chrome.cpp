// Chrome JSON: processes and threads, spans, launches, counters and instants, in the words of
// torch.profiler where it has any.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/try.h"
#include "profiler/files/export_lanes.h"
#include "profiler/files/export_text.h"
#include "profiler/files/loss_reasons.h"
#include "profiler/files/text_sink.h"
#include "profiler/store/process_labels.h"

namespace gs {
namespace {

/// Nanoseconds as microseconds with all their digits.
std::string microseconds(std::int64_t ns) {
    return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000);
}

using SpanKey = std::tuple<std::size_t, std::size_t, std::int64_t>;  // track, row, begin

/// Spans that launched GPU work, numbered.
std::map<SpanKey, std::size_t> launches_of(const TraceStore& store) {
    std::map<SpanKey, std::size_t> out;
    for (std::size_t t = 0; t < store.tracks().size(); ++t)
        for (std::size_t r = 0;
             r < store.tracks()[t].launches.size() && !store.tracks()[t].described(); ++r)
            for (const TraceSpan& span : store.tracks()[t].rows[r].view())
                if (const auto by = store.timeline().launching_span(t, r, span); by.span != nullptr)
                    out.try_emplace({by.track, by.row, by.span->begin_ns}, out.size() + 1);
    return out;
}

/// A payload as a JSON number.
std::string payload_json(std::uint64_t payload, PayloadKind kind) {
    if (kind != PayloadKind::real) return payload_text(payload, kind);
    const double value = std::bit_cast<double>(payload);
    return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

/// Joins members of a JSON object.
class Members {
  public:
    template <class T>
    Members& add(std::string_view name, const T& value) {
        text_ += fmt::format(R"({}"{}": {})", text_.empty() ? "" : ", ", name, value);
        return *this;
    }
    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

const char* category_of(GpuWorkKind kind) {
    constexpr std::array<const char*, 4> kCategories{"kernel", "gpu_memcpy", "gpu_memset", "graph"};
    return kCategories[static_cast<std::size_t>(kind)];
}

/// What a program calls a value, as a member's name within its quotes.
std::string member_name(std::string_view text) {
    const std::string quoted = json_string(text);
    return quoted.substr(1, quoted.size() - 2);
}

/// What torch.profiler writes of GPU work, and a little more.
Members arguments_of(const TraceTrack& track, const GpuWork& work) {
    Members out;
    out.add("device", track.device).add("context", track.context).add("stream", track.stream);
    if (work.correlation != 0) out.add("correlation", work.correlation);
    if (work.graph != 0) out.add("graph id", work.graph);
    if (work.kind == GpuWorkKind::copy || work.kind == GpuWorkKind::fill) {
        out.add("bytes", work.bytes);
        if (!work.asynchronous) out.add("synchronous", 1);
        if (work.source != MemoryType::unknown)
            out.add("source", json_string(name_of(work.source)));
        if (work.target != MemoryType::unknown)
            out.add("target", json_string(name_of(work.target)));
        return out;
    }
    out.add("grid", fmt::format("[{}, {}, {}]", work.grid[0], work.grid[1], work.grid[2]))
        .add("block", fmt::format("[{}, {}, {}]", work.block[0], work.block[1], work.block[2]))
        .add("registers per thread", work.registers)
        .add("shared memory", std::uint64_t{work.static_shared} + work.dynamic_shared)
        .add("static shared memory", work.static_shared);
    if (work.local_per_thread != 0) out.add("local memory per thread", work.local_per_thread);
    return out;
}

class ChromeWriter {
  public:
    ChromeWriter(TextSink& out, const TraceStore& store)
        : out_(out),
          store_(store),
          launches_(launches_of(store)),
          open_(store),
          pids_(distinct_pids(store.processes())) {}

    void write() {
        for (std::size_t p = 0; p < pids_.size(); ++p) describe_process(p);
        name_tracks();
        // Calls last: they bear the numbers of what they launched.
        for (const bool calls : {false, true})
            for (std::size_t t = 0; t < store_.tracks().size(); ++t)
                if ((store_.tracks()[t].kind == TrackKind::api) == calls) write_track(t);
        for (const TraceInstant& i : store_.instants())
            if (i.track < places_.size())
                out_.item(fmt::format(
                    R"({{"ph": "i", "s": "t", "name": {}, {}, "ts": {}, "args": {{"value": {}}}}})",
                    json_string(store_.name(i.name)), places_[i.track][0], microseconds(i.time_ns),
                    payload_json(i.payload, i.payload_kind)));
        for (const CounterSeries& series : store_.counters())
            for (const CounterPoint& point : series.points.view())
                if (std::isfinite(point.value))
                    out_.item(fmt::format(
                        R"({{"ph": "C", "name": {}, "pid": {}, "ts": {}, "args": {{"value": {}}}}})",
                        json_string(store_.name(series.name)), pids_[series.process],
                        microseconds(point.time_ns), point.value));
        for (std::size_t p = 0; p < pids_.size(); ++p) write_syncs(p);
    }

  private:
    void describe_process(std::size_t index) {
        const TraceProcess& process = store_.processes()[index];
        const std::string place = fmt::format(R"("pid": {}, "tid": 0)", pids_[index]);
        description("process_name", place, "name", process.name);
        for (const std::string& label : label_texts(process.labels))
            description("process_labels", place, "labels", label);
        Members losses;
        for (const auto& [reason, count] : losses_of(
                 process.loss, process.service, index == 0 ? store_.timeline().forgotten() : 0))
            losses.add(reason, count);
        if (!losses.text().empty())
            out_.item(fmt::format(R"({{"ph": "M", "name": "{}", {}, "args": {{{}}}}})",
                                  kLossesEvent, place, losses.text()));
    }
    // The format knows a track by process and thread number only: where that is not one track,
    // numbers are made up. Calls stand among the ranges of their thread.
    void name_tracks() {
        std::set<std::pair<std::uint32_t, std::uint32_t>> used;
        std::uint32_t made_up = 1u << 24;
        for (std::size_t t = 0; t < store_.tracks().size(); ++t) {
            const TraceTrack& track = store_.tracks()[t];
            const std::uint32_t pid = pids_[track.process];
            const bool of_thread =
                track.kind == TrackKind::api || track.kind == TrackKind::overhead;
            std::vector<std::string>& places = places_.emplace_back();
            const std::size_t lanes =
                nests(track) && !of_thread ? lane_count(lane_groups(store_, open_, t)[0]) : 1;
            std::uint32_t first = 0;
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                std::uint32_t tid = lane == 0 ? track.tid : made_up++;
                while (!of_thread && !used.insert({pid, tid}).second) tid = made_up++;
                places.push_back(fmt::format(R"("pid": {}, "tid": {})", pid, tid));
                if (lane == 0) first = tid;
                if (of_thread || track.kind == TrackKind::overlapping) continue;
                description("thread_name", places.back(), "name", lane_name(track.name, lane));
                if (lane > 0)
                    out_.item(
                        fmt::format(R"({{"ph": "M", "name": "{}", {}, "args": {{"tid": {}}}}})",
                                    kBesideEvent, places.back(), first));
            }
        }
    }
    /// Its spans are in rows by how deep they are, not by where there was space.
    static bool nests(const TraceTrack& track) {
        return !track.described() && track.kind != TrackKind::overlapping;
    }
    void description(const char* what, const std::string& place, const char* key,
                     std::string_view value) {
        out_.item(fmt::format(R"({{"ph": "M", "name": "{}", {}, "args": {{"{}": {}}}}})", what,
                              place, key, json_string(value)));
    }
    void write_track(std::size_t t) {
        const TraceTrack& track = store_.tracks()[t];
        if (track.described()) {
            for (std::size_t r = 0; r < track.rows.size(); ++r)
                for (std::size_t i = 0; i < track.rows[r].size(); ++i) write_work(t, r, i);
        } else if (track.kind == TrackKind::overlapping) {
            for (const auto& row : track.rows)
                for (const TraceSpan& span : row.view()) write_overlapping(t, span);
        } else {
            const auto rows = lane_groups(store_, open_, t)[0];
            for (std::size_t lane = 0, lanes = 1; lane < lanes; ++lane)
                lanes = walk_lane(
                    rows, lane, {},
                    [&](const TraceSpan& s, const LaneRow& row) {
                        span(t, places_[t][std::min(lane, places_[t].size() - 1)], s, row);
                    },
                    [](const TraceSpan&) {});
        }
    }
    void write_work(std::size_t t, std::size_t row, std::size_t index) {
        const TraceTrack& track = store_.tracks()[t];
        const TraceSpan& span = track.rows[row].view()[index];
        const GpuWork& work = track.works[row].view()[index];
        event(category_of(work.kind), places_[t][0], span.name, span.begin_ns, span.length_ns(),
              arguments_of(track, work).text());
        // A call is known by the numbers of what it launched; its span has none.
        if (const auto by = store_.timeline().launching_span(t, row, span);
            by.span != nullptr && work.correlation != 0)
            correlations_.try_emplace({by.track, by.row, by.span->begin_ns}, work.correlation);
    }
    void write_overlapping(std::size_t t, const TraceSpan& span) {
        ++overlapping_;
        const std::string payload =
            span.has_payload ? R"("value": )" + payload_json(span.payload, span.payload_kind)
                             : std::string();
        for (const char phase : {'b', 'e'})
            out_.item(fmt::format(
                R"({{"ph": "{}", "cat": {}, "id": {}, "name": {}, {}, "ts": {}, "args": {{{}}}}})",
                phase, json_string(range_category(span.name)), overlapping_,
                json_string(store_.name(span.name)), places_[t][0],
                microseconds(phase == 'b' ? span.begin_ns : span.end_ns),
                phase == 'b' ? payload : ""));
    }
    void write_syncs(std::size_t p) {
        for (const SyncEvent& e : store_.processes()[p].syncs.view()) {
            constexpr std::array<const char*, 5> kNames{"Sync", "Event Sync", "Stream Wait Event",
                                                        "Stream Sync", "Context Sync"};
            Members args;
            args.add("correlation", e.correlation)
                .add("context", e.context)
                .add("stream", e.stream);
            out_.item(fmt::format(
                R"({{"ph": "X", "cat": "cuda_sync", "name": "{}", "pid": {}, "tid": "waits", "ts": {}, "dur": {}, "args": {{{}}}}})",
                kNames[static_cast<std::size_t>(e.type)], pids_[p], microseconds(e.begin_ns),
                microseconds(e.end_ns - e.begin_ns), args.text()));
        }
    }
    std::string range_category(std::uint32_t name) const {
        const std::string_view domain = store_.names().domain(name);
        return domain.empty() ? std::string(name_of(group_of(store_.names().stage(name))))
                              : "nvtx:" + std::string(domain);
    }
    void event(const std::string& category, const std::string& place, std::uint32_t name,
               std::int64_t begin_ns, std::int64_t length_ns, const std::string& args) {
        out_.item(fmt::format(
            R"({{"ph": "X", "cat": {}, "name": {}, {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
            json_string(category), json_string(store_.name(name)), place, microseconds(begin_ns),
            microseconds(length_ns), args));
    }
    void span(std::size_t t, const std::string& place, const TraceSpan& of, const LaneRow& row) {
        const TraceTrack& track = store_.tracks()[t];
        Members args;
        if (row.open) args.add("not ended", 1);
        if (track.kind == TrackKind::api) {
            const auto found = correlations_.find({t, row.row, of.begin_ns});
            if (found != correlations_.end()) args.add("correlation", found->second);
            if (of.has_payload) args.add("result", of.payload);
            return event(row.row == 0 ? "cuda_runtime" : "cuda_driver", place, of.name, of.begin_ns,
                         of.length_ns(), args.text());
        }
        add_correlation(t, of, row, args);
        if (of.has_payload) args.add("value", payload_json(of.payload, of.payload_kind));
        if (const auto own = store_.names().category(of.name, of.category); !own.empty())
            args.add("nvtx category", json_string(own));
        if (!row.open)
            for (const TraceValue& value : store_.values().of(t, of.begin_ns, row.row))
                args.add(member_name(store_.name(value.name)),
                         value.kind == PayloadKind::name
                             ? json_string(value_text(store_.names(), value))
                             : payload_json(value.value, value.kind));
        event(track.kind == TrackKind::gpu_stream ? "gpu_stage"
              : track.kind == TrackKind::overhead ? "overhead"
                                                  : range_category(of.name),
              place, of.name, of.begin_ns, of.length_ns(), args.text());
    }
    /// The number that a launch and its work have in common.
    void add_correlation(std::size_t t, const TraceSpan& of, const LaneRow& row,
                         Members& args) const {
        SpanKey key{t, row.row, of.begin_ns};
        if (store_.tracks()[t].kind == TrackKind::gpu_stream)
            if (const auto by = store_.timeline().launching_span(t, row.row, of);
                by.span != nullptr)
                key = {by.track, by.row, by.span->begin_ns};
        if (const auto found = launches_.find(key); found != launches_.end())
            args.add("correlation", found->second);
    }

    TextSink& out_;
    const TraceStore& store_;
    std::map<SpanKey, std::size_t> launches_;
    OpenRanges open_;
    std::map<SpanKey, std::uint64_t> correlations_;  ///< of calls, from the work they launched
    std::vector<std::uint32_t> pids_;
    std::vector<std::vector<std::string>> places_;  ///< of tracks, by lane
    std::uint64_t overlapping_ = 0;
};

/// The GPUs in torch.profiler's words.
std::string device_properties(const TraceStore& store) {
    std::string out;
    for (const TraceProcess& process : store.processes())
        for (const GpuDeviceEvent& d : process.devices) {
            Members m;
            m.add("id", d.device)
                .add("name", json_string(d.name))
                .add("totalGlobalMem", d.memory_bytes)
                .add("computeMajor", d.compute_major)
                .add("computeMinor", d.compute_minor)
                .add("numSms", d.multiprocessors)
                .add("maxThreadsPerMultiprocessor", std::uint64_t{d.warps_per_multiprocessor} * 32)
                .add("regsPerMultiprocessor", d.registers_per_multiprocessor)
                .add("sharedMemPerMultiprocessor", d.shared_per_multiprocessor)
                .add("sharedMemPerBlockOptin", d.shared_per_block);
            out += fmt::format("{}{{{}}}", out.empty() ? "" : ", ", m.text());
        }
    return out;
}

}  // namespace

Result<void> export_chrome(const TraceStore& store, const fs::path& path) {
    GS_TRY(auto file, AtomicFile::create(path));
    TextSink out(std::move(file));
    out.put(fmt::format(
        R"({{"displayTimeUnit": "ms", "otherData": {{"exporter": "gausscope"}}, "baseTimeNanoseconds": {}, "deviceProperties": [{}], "traceEvents": [)",
        store.sources().realtime_offset_ns(), device_properties(store)));
    ChromeWriter(out, store).write();
    out.put("\n]}\n");
    return out.finish();
}

}  // namespace gs
