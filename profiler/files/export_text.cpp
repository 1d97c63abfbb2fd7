#include "profiler/files/export_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/try.h"
#include "profiler/files/export_lanes.h"
#include "profiler/files/text_sink.h"

namespace gs {

Result<std::uint64_t> export_folded(const TraceStore& store, const fs::path& path) {
    GS_TRY(auto file, AtomicFile::create(path));
    const auto word = [](std::string_view name) {
        std::string out(name);
        for (char& c : out)
            if (c == ';' || static_cast<unsigned char>(c) < ' ') c = '_';
        return out;
    };
    std::map<std::string, std::int64_t> self_ns;
    const OpenRanges open(store);
    std::uint64_t beside = 0;
    const auto add_lane = [&](const std::string& root, std::span<const LaneRow> rows,
                              std::size_t lane) {
        std::vector<std::string> stacks{root};
        return walk_lane(
            rows, lane, {},
            [&](const TraceSpan& span, const LaneRow&) {
                beside += lane > 0 ? 1 : 0;
                if (stacks.size() > 1) self_ns[stacks.back()] -= span.length_ns();
                stacks.push_back(stacks.back() + ';' + word(store.name(span.name)));
                self_ns[stacks.back()] += span.length_ns();
            },
            [&](const TraceSpan&) { stacks.pop_back(); });
    };
    for (std::size_t t = 0; t < store.tracks().size(); ++t)
        for (const auto& rows : lane_groups(store, open, t))
            for (std::size_t lane = 0, lanes = 1; lane < lanes; ++lane)
                lanes = add_lane(word(store.tracks()[t].name), rows, lane);
    TextSink out(std::move(file));
    for (const auto& [stack, ns] : self_ns)
        if (ns >= 500) out.put(fmt::format("{} {}\n", stack, (ns + 500) / 1000));
    return out.finish().map([&] { return beside; });
}

Result<void> export_speedscope(const TraceStore& store, const fs::path& path) {
    GS_TRY(auto file, AtomicFile::create(path));
    TextSink out(std::move(file));
    std::map<std::uint32_t, std::size_t> frame_of_name;
    for (const TraceTrack& track : store.tracks())
        for (const auto& row : track.rows)
            for (const TraceSpan& span : row.view())
                frame_of_name.try_emplace(span.name, frame_of_name.size());
    for (const OpenSpan& range : store.sources().open_spans())
        frame_of_name.try_emplace(range.name, frame_of_name.size());
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
    const OpenRanges open(store);
    std::int64_t last = store.end_ns();
    for (std::size_t t = 0; t < store.tracks().size(); ++t)
        for (const OpenRange& range : open.of(t)) last = std::max(last, range.span.end_ns);
    out.begin_list();
    const auto add_lane = [&](const std::string& name, std::span<const LaneRow> rows,
                              std::size_t lane) {
        out.item(fmt::format(
            R"({{"type": "evented", "name": {}, "unit": "nanoseconds", "startValue": 0, )"
            R"("endValue": {}, "events": [)",
            json_string(name), last - origin));
        out.begin_list();
        const auto event = [&](char type, const TraceSpan& span, std::int64_t time) {
            out.item(fmt::format(R"({{"type": "{}", "frame": {}, "at": {}}})", type,
                                 frame_of_name[span.name], time - origin));
        };
        const std::size_t lanes = walk_lane(
            rows, lane, {},
            [&](const TraceSpan& span, const LaneRow&) { event('O', span, span.begin_ns); },
            [&](const TraceSpan& span) { event('C', span, span.end_ns); });
        out.put("]}");
        return lanes;
    };
    for (std::size_t t = 0; t < store.tracks().size(); ++t) {
        std::size_t number = 0;
        for (const auto& rows : lane_groups(store, open, t))
            for (std::size_t lane = 0, lanes = 1; lane < lanes; ++lane)
                lanes = add_lane(lane_name(store.tracks()[t].name, number++), rows, lane);
    }
    out.put("]}\n");
    return out.finish();
}

}  // namespace gs
