#include "profiler/export_text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

namespace gs {
namespace {

std::string json_text(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Collects text and passes it on to the file, a megabyte at a time. After an error it swallows what follows.
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
            if (next[r] < row.size() && (earliest.span == nullptr || row[next[r]].begin_ns < earliest.span->begin_ns))
                earliest = {&row[next[r]], row[next[r]].end_ns, r};
        }
        const auto ended = [&] { return earliest.span == nullptr || open.back().end_ns <= earliest.span->begin_ns; };
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
            for (const TraceSpan& span : row.view()) frame_of_name.try_emplace(span.name, frame_of_name.size());
    std::vector<std::uint32_t> names(frame_of_name.size());
    for (const auto& [name, frame] : frame_of_name) names[frame] = name;

    out.put(R"({"$schema": "https://www.speedscope.app/file-format-schema.json", "exporter": "gausscope",)");
    out.put(R"( "shared": {"frames": [)");
    for (const std::uint32_t name : names) out.item(fmt::format(R"({{"name": {}}})", json_text(store.name(name))));
    out.put("]}, \"profiles\": [");
    // Times from the begin of the trace: its readers keep them as doubles.
    const std::int64_t origin = store.begin_ns();
    out.begin_list();
    for (const TraceTrack& track : store.tracks()) {
        out.item(fmt::format(R"({{"type": "evented", "name": {}, "unit": "nanoseconds", "startValue": 0, )"
                             R"("endValue": {}, "events": [)",
                             json_text(track.name), store.end_ns() - origin));
        out.begin_list();
        const auto event = [&](char type, const Visited& v, std::int64_t time) {
            out.item(fmt::format(R"({{"type": "{}", "frame": {}, "at": {}}})", type, frame_of_name[v.span->name],
                                 time - origin));
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
        for (std::size_t r = 0; r < store.tracks()[t].launches.size(); ++r)
            for (const TraceSpan& span : store.tracks()[t].rows[r].view())
                if (const auto by = store.launching_span(t, r, span); by.span != nullptr)
                    out.try_emplace({by.track, by.row, by.span->begin_ns}, out.size() + 1);
    return out;
}

class ChromeWriter {
  public:
    ChromeWriter(TextSink& out, const TraceStore& store) : out_(out), store_(store), launches_(launches_of(store)) {}

    void write() {
        name_tracks();
        for (std::size_t t = 0; t < store_.tracks().size(); ++t)
            walk(
                store_.tracks()[t], [&](const Visited& v) { span(t, v); }, [](const Visited&) {});
        for (const TraceInstant& i : store_.instants())
            if (i.track < places_.size())
                out_.item(fmt::format(R"({{"ph": "i", "s": "t", "name": {}, {}, "ts": {}, "args": {{"value": {}}}}})",
                                      json_text(store_.name(i.name)), places_[i.track], microseconds(i.time_ns),
                                      i.payload));
        const std::uint32_t pid = store_.tracks().empty() ? 0 : store_.tracks().front().pid;
        for (const CounterSeries& series : store_.counters())
            for (const CounterPoint& point : series.points.view())
                if (std::isfinite(point.value))
                    out_.item(fmt::format(R"({{"ph": "C", "name": {}, "pid": {}, "ts": {}, "args": {{"value": {}}}}})",
                                          json_text(store_.name(series.name)), pid, microseconds(point.time_ns),
                                          point.value));
    }

  private:
    // The format knows a track by process and thread number only: where that is not one track, numbers are made up.
    void name_tracks() {
        std::set<std::uint32_t> pids;
        std::set<std::pair<std::uint32_t, std::uint32_t>> used;
        std::uint32_t made_up = 1u << 24;
        for (const TraceTrack& track : store_.tracks()) {
            std::uint32_t tid = track.tid;
            while (!used.insert({track.pid, tid}).second) tid = made_up++;
            places_.push_back(fmt::format(R"("pid": {}, "tid": {})", track.pid, tid));
            if (pids.insert(track.pid).second) description("process_name", store_.process_name());
            description("thread_name", track.name);
        }
    }
    void description(const char* what, std::string_view name) {
        out_.item(fmt::format(R"({{"ph": "M", "name": "{}", {}, "args": {{"name": {}}}}})", what, places_.back(),
                              json_text(name)));
    }
    void span(std::size_t t, const Visited& v) {
        const bool gpu = store_.tracks()[t].kind == TrackKind::gpu_stream;
        SpanKey key{t, v.row, v.span->begin_ns};
        if (const auto by = store_.launching_span(t, v.row, *v.span); gpu && by.span != nullptr)
            key = {by.track, by.row, by.span->begin_ns};
        std::string args;
        if (const auto found = launches_.find(key); found != launches_.end())
            args = fmt::format(R"("correlation": {})", found->second);
        if (v.span->has_payload) args += fmt::format(R"({}"value": {})", args.empty() ? "" : ", ", v.span->payload);
        out_.item(fmt::format(R"({{"ph": "X", "cat": "{}", "name": {}, {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
                              gpu ? "gpu_stage" : name_of(group_of(store_.stage(v.span->name))),
                              json_text(store_.name(v.span->name)), places_[t], microseconds(v.span->begin_ns),
                              microseconds(v.end_ns - v.span->begin_ns), args));
    }

    TextSink& out_;
    const TraceStore& store_;
    std::map<SpanKey, std::size_t> launches_;
    std::vector<std::string> places_;
};

}  // namespace

Result<void> export_chrome(const TraceStore& store, const fs::path& path) {
    auto file = AtomicFile::create(path);
    if (!file) return tl::unexpected(file.error());
    TextSink out(std::move(*file));
    out.put(R"({"displayTimeUnit": "ms", "traceEvents": [)");
    ChromeWriter(out, store).write();
    out.put("\n]}\n");
    return out.finish();
}

}  // namespace gs
