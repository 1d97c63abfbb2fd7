#include "profiler/files/export_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "base/json_write.h"
#include "profiler/store/process_labels.h"

namespace gs {
namespace {

std::string json_string(std::string_view text) { return json_text(nlohmann::json(text)); }

/// Collects text and passes it on to the file, a megabyte at a time. After an error it swallows
/// what follows.
class TextSink {
  public:
    explicit TextSink(AtomicFile file) : file_(std::move(file)) {}

    void put(std::string_view text) {
        if (error_) return;
        buffer_ += text;
        if (buffer_.size() > (1u << 20)) flush();
    }
    /// An item of a list: a comma before all but the first.
    void item(std::string_view text) {
        put(first_ ? "\n" : ",\n");
        put(text);
        first_ = false;
    }
    void begin_list() { first_ = true; }
    Result<void> finish() {
        flush();
        if (error_) return tl::unexpected(*error_);
        return file_.commit();
    }

  private:
    void flush() {
        if (error_) return;
        if (auto done = file_.append(std::string_view(buffer_)); !done) error_ = done.error();
        buffer_.clear();
    }
    AtomicFile file_;
    std::string buffer_;
    std::optional<Error> error_;
    bool first_ = true;
};

struct Visited {
    const TraceSpan* span = nullptr;
    std::int64_t end_ns = 0;  ///< never after that of the span around it
    std::size_t row = 0;
};

/// The spans of all rows as begins and ends that nest.
template <class Begin, class End>
void walk(const TraceTrack& track, Begin begin, End end) {
    std::vector<std::size_t> next(track.rows.size());
    std::vector<Visited> open;
    for (;;) {
        Visited earliest;
        for (std::size_t r = 0; r < track.rows.size(); ++r) {
            const auto row = track.rows[r].view();
            if (next[r] < row.size() &&
                (earliest.span == nullptr || row[next[r]].begin_ns < earliest.span->begin_ns))
                earliest = {&row[next[r]], row[next[r]].end_ns, r};
        }
        const auto ended = [&] {
            return earliest.span == nullptr || open.back().end_ns <= earliest.span->begin_ns;
        };
        for (; !open.empty() && ended(); open.pop_back()) end(open.back());
        if (earliest.span == nullptr) return;
        ++next[earliest.row];
        if (!open.empty()) earliest.end_ns = std::min(earliest.end_ns, open.back().end_ns);
        open.push_back(earliest);
        begin(earliest);
    }
}

/// Nanoseconds as microseconds with all their digits.
std::string microseconds(std::int64_t ns) {
    return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000);
}

}  // namespace

Result<void> export_folded(const TraceStore& store, const fs::path& path) {
    auto file = AtomicFile::create(path);
    if (!file) return tl::unexpected(file.error());
    const auto word = [](std::string_view name) {
        std::string out(name);
        for (char& c : out)
            if (c == ';' || static_cast<unsigned char>(c) < ' ') c = '_';
        return out;
    };
    std::map<std::string, std::int64_t> self_ns;
    for (const TraceTrack& track : store.tracks()) {
        std::vector<std::string> stacks{word(track.name)};
        walk(
            track,
            [&](const Visited& v) {
                const std::int64_t length = v.end_ns - v.span->begin_ns;
                if (stacks.size() > 1) self_ns[stacks.back()] -= length;
                stacks.push_back(stacks.back() + ';' + word(store.name(v.span->name)));
                self_ns[stacks.back()] += length;
            },
            [&](const Visited&) { stacks.pop_back(); });
    }
    TextSink out(std::move(*file));
    for (const auto& [stack, ns] : self_ns)
        if (ns >= 500) out.put(fmt::format("{} {}\n", stack, (ns + 500) / 1000));
    return out.finish();
}

Result<void> export_speedscope(const TraceStore& store, const fs::path& path) {
    auto file = AtomicFile::create(path);
    if (!file) return tl::unexpected(file.error());
    TextSink out(std::move(*file));
    std::map<std::uint32_t, std::size_t> frame_of_name;
    for (const TraceTrack& track : store.tracks())
        for (const auto& row : track.rows)
            for (const TraceSpan& span : row.view())
                frame_of_name.try_emplace(span.name, frame_of_name.size());
    std::vector<std::uint32_t> names(frame_of_name.size());
    for (const auto& [name, frame] : frame_of_name) names[frame] = name;

    out.put(
        R"({"$schema": "https://www.speedscope.app/file-format-schema.json", "exporter": "gausscope",)");
    out.put(R"( "shared": {"frames": [)");
    for (const std::uint32_t name : names)
        out.item(fmt::format(R"({{"name": {}}})", json_string(store.name(name))));
    out.put("]}, \"profiles\": [");
    // Times from the begin of the trace: its readers keep them as doubles.
    const std::int64_t origin = store.begin_ns();
    out.begin_list();
    for (const TraceTrack& track : store.tracks()) {
        out.item(fmt::format(
            R"({{"type": "evented", "name": {}, "unit": "nanoseconds", "startValue": 0, )"
            R"("endValue": {}, "events": [)",
            json_string(track.name), store.end_ns() - origin));
        out.begin_list();
        const auto event = [&](char type, const Visited& v, std::int64_t time) {
            out.item(fmt::format(R"({{"type": "{}", "frame": {}, "at": {}}})", type,
                                 frame_of_name[v.span->name], time - origin));
        };
        walk(
            track, [&](const Visited& v) { event('O', v, v.span->begin_ns); },
            [&](const Visited& v) { event('C', v, v.end_ns); });
        out.put("]}");
    }
    out.put("]}\n");
    return out.finish();
}

namespace {

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
                    json_string(store_.name(i.name)), places_[i.track], microseconds(i.time_ns),
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
    }
    // The format knows a track by process and thread number only: where that is not one track,
    // numbers are made up. Calls stand among the ranges of their thread.
    void name_tracks() {
        std::set<std::pair<std::uint32_t, std::uint32_t>> used;
        std::uint32_t made_up = 1u << 24;
        for (const TraceTrack& track : store_.tracks()) {
            const std::uint32_t pid = pids_[track.process];
            std::uint32_t tid = track.tid;
            const bool of_thread =
                track.kind == TrackKind::api || track.kind == TrackKind::overhead;
            while (!of_thread && !used.insert({pid, tid}).second) tid = made_up++;
            places_.push_back(fmt::format(R"("pid": {}, "tid": {})", pid, tid));
            if (!of_thread && track.kind != TrackKind::overlapping)
                description("thread_name", places_.back(), "name", track.name);
        }
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
            walk(
                track, [&](const Visited& v) { span(t, v); }, [](const Visited&) {});
        }
    }
    void write_work(std::size_t t, std::size_t row, std::size_t index) {
        const TraceTrack& track = store_.tracks()[t];
        const TraceSpan& span = track.rows[row].view()[index];
        const GpuWork& work = track.works[row].view()[index];
        event(category_of(work.kind), t, span.name, span.begin_ns, span.length_ns(),
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
                json_string(store_.name(span.name)), places_[t],
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
    void event(const std::string& category, std::size_t t, std::uint32_t name,
               std::int64_t begin_ns, std::int64_t length_ns, const std::string& args) {
        out_.item(fmt::format(
            R"({{"ph": "X", "cat": {}, "name": {}, {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
            json_string(category), json_string(store_.name(name)), places_[t],
            microseconds(begin_ns), microseconds(length_ns), args));
    }
    void span(std::size_t t, const Visited& v) {
        const TraceTrack& track = store_.tracks()[t];
        Members args;
        if (track.kind == TrackKind::api) {
            const auto found = correlations_.find({t, v.row, v.span->begin_ns});
            if (found != correlations_.end()) args.add("correlation", found->second);
            if (v.span->has_payload) args.add("result", v.span->payload);
            return event(v.row == 0 ? "cuda_runtime" : "cuda_driver", t, v.span->name,
                         v.span->begin_ns, v.end_ns - v.span->begin_ns, args.text());
        }
        const bool gpu = track.kind == TrackKind::gpu_stream;
        SpanKey key{t, v.row, v.span->begin_ns};
        if (const auto by = store_.timeline().launching_span(t, v.row, *v.span);
            gpu && by.span != nullptr)
            key = {by.track, by.row, by.span->begin_ns};
        if (const auto found = launches_.find(key); found != launches_.end())
            args.add("correlation", found->second);
        if (v.span->has_payload)
            args.add("value", payload_json(v.span->payload, v.span->payload_kind));
        for (const TraceValue& value : store_.values_of(t, v.row, *v.span))
            args.add(member_name(store_.name(value.name)),
                     value.kind == PayloadKind::name ? json_string(store_.value_text(value))
                                                     : payload_json(value.value, value.kind));
        event(gpu                                 ? "gpu_stage"
              : track.kind == TrackKind::overhead ? "overhead"
                                                  : range_category(v.span->name),
              t, v.span->name, v.span->begin_ns, v.end_ns - v.span->begin_ns, args.text());
    }

    TextSink& out_;
    const TraceStore& store_;
    std::map<SpanKey, std::size_t> launches_;
    std::map<SpanKey, std::uint64_t> correlations_;  ///< of calls, from the work they launched
    std::vector<std::uint32_t> pids_;
    std::vector<std::string> places_;
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
    auto file = AtomicFile::create(path);
    if (!file) return tl::unexpected(file.error());
    TextSink out(std::move(*file));
    out.put(fmt::format(
        R"({{"displayTimeUnit": "ms", "baseTimeNanoseconds": {}, "deviceProperties": [{}], "traceEvents": [)",
        store.sources().realtime_offset_ns(), device_properties(store)));
    ChromeWriter(out, store).write();
    out.put("\n]}\n");
    return out.finish();
}

}  // namespace gs
