#include "panels/timeline/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

#include "panels/widgets/fuzzy.h"
#include "profiler/analysis/stack_profile.h"

namespace gs {
namespace {

using Kind = TimelineRow::Kind;

constexpr std::size_t kMostUnfolded = 64;  // rows of spans; tracks of more are folded at first

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t h = a * 0x9e3779b97f4a7c15ULL ^ (b + 0x7f4a7c159e3779b9ULL + (a << 6));
    h ^= h >> 29;
    return h * 0xbf58476d1ce4e5b9ULL;
}

std::string process_label(const TraceProcess& process) {
    std::string label = process.name.empty() ? "process" : process.name;
    if (process.pid != 0) label += fmt::format(" ({})", process.pid);
    if (process.labels.rank >= 0) label += fmt::format(", rank {}", process.labels.rank);
    return label;
}

const GpuDeviceEvent* device_of(const TraceProcess& process, std::uint32_t number) {
    for (const GpuDeviceEvent& device : process.devices)
        if (device.device == number) return &device;
    return nullptr;
}

}  // namespace

std::uint32_t feeder_of(const TraceTrack& stream) {
    for (const auto& launches : stream.launches)
        if (!launches.empty() && launches.back().track != kNoTrack) return launches.back().track;
    return kNoTrack;
}

/// Changes when the list may need a rebuild; cheap enough for every frame.
std::uint64_t TimelineRows::state_of(const TraceStore& trace) const {
    std::uint64_t h = mixed(reinterpret_cast<std::uintptr_t>(&trace), trace.tracks().size());
    h = mixed(h, trace.processes().size() << 20 | trace.counters().size());
    h = mixed(h, trace.samples().threads().size());
    for (const TraceTrack& track : trace.tracks())
        h = mixed(h, track.rows.size() << 8 | (track.ended ? 1U : 0U) | track.works.size() << 1) ^
            (std::uint64_t{feeder_of(track)} << 16 | track.name.size());
    for (const TraceProcess& process : trace.processes())
        h = mixed(h, process.name.size() << 8 | process.devices.size());
    return h;
}

TimelineRows::Node TimelineRows::track_node(const TraceStore& trace, std::uint32_t index) const {
    const TraceTrack& track = trace.tracks()[index];
    Node node;
    node.folds = track.rows.size() > kMostUnfolded;
    TimelineRow& row = node.row;
    row.kind = Kind::track;
    row.process = track.process;
    row.index = index;
    row.key = mixed(mixed(track.process, 1), index);
    row.label = track.name;
    if (track.kind == TrackKind::api) row.label = "CUDA calls";
    if (track.kind == TrackKind::overhead) row.label = "overhead";
    if (track.kind == TrackKind::gpu_stream && row.label.starts_with("CUDA stream "))
        row.label.erase(0, 12);
    // Which GPU it is says the row above.
    if (const std::string gpu = fmt::format("GPU {} ", track.device);
        track.described() && row.label.starts_with(gpu))
        row.label.erase(0, gpu.size());
    if (row.label.empty()) row.label = fmt::format("thread {}", track.tid);
    row.detail = track.kind == TrackKind::gpu_stream ? "GPU work, by the GPU's clock"
                 : track.tid != 0                    ? fmt::format("thread {}", track.tid)
                                                     : std::string();
    return node;
}

/// The sampled call stacks of a thread.
TimelineRows::Node TimelineRows::samples_node(const TraceStore& trace,
                                              const SampledThread& thread) {
    Node node;
    node.row.kind = Kind::samples;
    node.row.process = thread.process;
    node.row.index = thread.tid;
    node.row.key = mixed(mixed(thread.process, 11), thread.tid);
    node.row.label = thread_name(trace, thread.process, thread.tid);
    node.row.detail = fmt::format("call stacks of thread {}", thread.tid);
    return node;
}

/// A thread with its call stacks, CUDA calls, overhead and the streams it alone feeds through a
/// stage timer.
TimelineRows::Node TimelineRows::thread_node(const TraceStore& trace, std::uint32_t thread,
                                             const std::vector<std::uint32_t>& tracks) const {
    Node node = track_node(trace, thread);
    const TraceTrack& own = trace.tracks()[thread];
    const SampledThread* sampled = trace.samples().thread(own.process, own.tid);
    // An earlier one may have had this number.
    if (sampled != nullptr && samples_ &&
        trace.timeline().threads().find(own.process, own.tid, TrackKind::thread) == thread) {
        node.below.push_back(samples_node(trace, *sampled));
        node.below.back().row.label = "call stacks";
    }
    for (const std::uint32_t other : tracks) {
        const TraceTrack& track = trace.tracks()[other];
        const bool mine = (track.kind == TrackKind::api || track.kind == TrackKind::overhead) &&
                          own.tid != 0 && track.tid == own.tid;
        if (mine && calls_) node.below.push_back(track_node(trace, other));
    }
    for (const std::uint32_t other : tracks) {
        const TraceTrack& track = trace.tracks()[other];
        if (track.kind == TrackKind::gpu_stream && !track.described() && feeder_of(track) == thread)
            node.below.push_back(track_node(trace, other));
    }
    return node;
}

TimelineRows::Node TimelineRows::process_node(const TraceStore& trace,
                                              std::uint32_t process) const {
    const TraceProcess& about = trace.processes()[process];
    Node node;
    node.row.kind = Kind::process;
    node.row.process = process;
    node.row.key = mixed(process, 3);
    node.row.label = process_label(about);
    node.row.detail = about.labels.command;
    std::vector<std::uint32_t> tracks, threads;
    for (std::uint32_t i = 0; i < trace.tracks().size(); ++i) {
        const TraceTrack& track = trace.tracks()[i];
        if (track.process != process || track.rows.empty()) continue;
        tracks.push_back(i);
        if (track.kind == TrackKind::thread) threads.push_back(i);
    }
    std::ranges::stable_sort(threads, [&](std::uint32_t a, std::uint32_t b) {
        const TraceTrack &left = trace.tracks()[a], &right = trace.tracks()[b];
        return left.ended != right.ended ? right.ended : left.rows.size() > right.rows.size();
    });
    std::unordered_set<std::uint64_t> placed;
    const auto place = [&](Node made) {
        placed.insert(made.row.key);
        for (const Node& below : made.below) placed.insert(below.row.key);
        node.below.push_back(std::move(made));
    };
    for (const std::uint32_t thread : threads) place(thread_node(trace, thread, tracks));
    for (const SampledThread& sampled : trace.samples().threads())
        if (Node made = samples_node(trace, sampled);
            samples_ && sampled.process == process && !placed.contains(made.row.key))
            node.below.push_back(std::move(made));
    // Tracks outside of threads' ranges: calls of threads without any, ranges that overlap,
    // streams by device.
    std::vector<Node> devices;
    for (const std::uint32_t i : tracks) {
        const TraceTrack& track = trace.tracks()[i];
        Node made = track_node(trace, i);
        if (placed.contains(made.row.key)) continue;
        if (track.described()) {
            add_stream(about, std::move(made), track, devices);
        } else if ((track.kind != TrackKind::api && track.kind != TrackKind::overhead) || calls_) {
            if (track.kind == TrackKind::api)
                made.row.label += fmt::format(", thread {}", track.tid);
            node.below.push_back(std::move(made));
        }
    }
    for (Node& device : devices) node.below.push_back(std::move(device));
    add_counters(trace, process, node);
    return node;
}

/// Adds it below its device, which is created for its first stream.
void TimelineRows::add_stream(const TraceProcess& process, Node stream, const TraceTrack& track,
                              std::vector<Node>& devices) {
    auto device =
        std::ranges::find_if(devices, [&](const Node& d) { return d.row.index == track.device; });
    if (device == devices.end()) {
        Node gpu;
        gpu.row.kind = Kind::device;
        gpu.row.process = track.process;
        gpu.row.index = track.device;
        gpu.row.key = mixed(mixed(track.process, 5), track.device);
        gpu.row.label = fmt::format("GPU {}", track.device);
        if (const GpuDeviceEvent* known = device_of(process, track.device))
            gpu.row.detail = known->name;
        device = devices.insert(devices.end(), std::move(gpu));
    }
    device->below.push_back(std::move(stream));
}

/// Those called "group: name" come last, below a heading that is folded at first: what the machine
/// gave, what recording cost.
void TimelineRows::add_counters(const TraceStore& trace, std::uint32_t process, Node& node) const {
    std::vector<Node> groups;
    for (std::uint32_t i = 0; counters_ && i < trace.counters().size(); ++i) {
        const CounterSeries& series = trace.counters()[i];
        if (series.process != process || series.points.empty()) continue;
        Node counter;
        counter.row.kind = Kind::counter;
        counter.row.process = process;
        counter.row.index = i;
        counter.row.key = mixed(mixed(process, 7), i);
        counter.row.label = trace.name(series.name);
        const std::size_t colon = counter.row.label.find(": ");
        if (colon == std::string::npos) {
            node.below.push_back(std::move(counter));
            continue;
        }
        const std::string name = counter.row.label.substr(0, colon);
        counter.row.label.erase(0, colon + 2);
        auto group =
            std::ranges::find_if(groups, [&](const Node& g) { return g.row.label == name; });
        if (group == groups.end()) {
            Node made;
            made.row.kind = Kind::group;
            made.row.process = process;
            made.row.key = mixed(mixed(process, 9), std::hash<std::string>()(name));
            made.row.label = name;
            made.folds = true;
            group = groups.insert(groups.end(), std::move(made));
        }
        group->below.push_back(std::move(counter));
    }
    for (Node& group : groups) node.below.push_back(std::move(group));
}

void TimelineRows::arrange(std::vector<Node>& nodes, std::uint64_t above) const {
    std::erase_if(nodes, [&](const Node& node) { return hidden_.contains(node.row.key); });
    if (const auto wanted = order_.find(above); wanted != order_.end()) {
        const auto place = [&](const Node& node) {
            return std::ranges::find(wanted->second, node.row.key) - wanted->second.begin();
        };
        std::ranges::stable_sort(nodes,
                                 [&](const Node& a, const Node& b) { return place(a) < place(b); });
    }
    for (Node& node : nodes) arrange(node.below, node.row.key);
}

bool TimelineRows::keep_fitting(std::vector<Node>& nodes) const {
    std::erase_if(nodes, [&](Node& node) {
        return !contains_text(node.row.label, filter_) &&
               !contains_text(node.row.detail, filter_) && !keep_fitting(node.below);
    });
    return !nodes.empty();
}

void TimelineRows::flatten(const std::vector<Node>& nodes, int indent, std::uint64_t above) {
    for (const Node& node : nodes) {
        TimelineRow row = node.row;
        row.indent = indent;
        row.above = above;
        row.foldable = !node.below.empty() || row.kind == Kind::track;
        const auto chosen = folded_.find(row.key);
        row.folded = chosen != folded_.end() ? chosen->second : node.folds && filter_.empty();
        rows_.push_back(row);
        if (!row.folded) flatten(node.below, indent + 1, row.key);
    }
}

void TimelineRows::update(const TraceStore& trace) {
    const std::uint64_t state = state_of(trace);
    if (!changed_ && state == made_of_) return;
    made_of_ = state;
    changed_ = false;
    std::vector<Node> nodes;
    for (std::uint32_t i = 0; i < trace.processes().size(); ++i) {
        Node node = process_node(trace, i);
        if (!node.below.empty()) nodes.push_back(std::move(node));
    }
    // A single process needs no heading.
    const bool single = nodes.size() == 1;
    const std::uint64_t above = single ? nodes.front().row.key : 0;
    if (single) {
        std::vector<Node> below = std::move(nodes.front().below);
        nodes = std::move(below);
    }
    arrange(nodes, above);
    if (!filter_.empty()) keep_fitting(nodes);
    rows_.clear();
    flatten(nodes, 0, above);
}

void TimelineRows::fold(std::uint64_t key, bool folded) {
    folded_[key] = folded;
    changed_ = true;
}
void TimelineRows::fold_all(bool folded) {
    for (const TimelineRow& row : rows_)
        if (row.foldable && (row.kind == Kind::track || !folded)) folded_[row.key] = folded;
    if (!folded) folded_.clear();
    changed_ = true;
}
void TimelineRows::hide(std::uint64_t key) {
    hidden_.insert(key);
    changed_ = true;
}
void TimelineRows::show_all() {
    hidden_.clear();
    order_.clear();
    changed_ = true;
}
void TimelineRows::set_filter(std::string filter) {
    changed_ |= filter != filter_;
    filter_ = std::move(filter);
}
void TimelineRows::show_kinds(bool calls, bool samples, bool counters) {
    changed_ |= calls != calls_ || samples != samples_ || counters != counters_;
    calls_ = calls;
    samples_ = samples;
    counters_ = counters;
}

void TimelineRows::move(std::uint64_t key, int by) {
    const auto row = std::ranges::find(rows_, key, &TimelineRow::key);
    if (row == rows_.end()) return;
    std::vector<std::uint64_t> siblings;
    for (const TimelineRow& r : rows_)
        if (r.above == row->above) siblings.push_back(r.key);
    const auto from = std::ranges::find(siblings, key) - siblings.begin();
    const auto to =
        std::clamp<std::ptrdiff_t>(from + by, 0, static_cast<std::ptrdiff_t>(siblings.size()) - 1);
    siblings.erase(siblings.begin() + from);
    siblings.insert(siblings.begin() + to, key);
    order_[row->above] = std::move(siblings);
    changed_ = true;
}

bool TimelineRows::reveal(const TraceStore& trace, std::uint32_t track) {
    const auto is_shown = [&] {
        update(trace);
        return std::ranges::any_of(rows_, [&](const TimelineRow& row) {
            return row.kind == Kind::track && row.index == track && !row.folded;
        });
    };
    if (is_shown()) return true;
    folded_.clear();
    fold(mixed(mixed(trace.tracks()[track].process, 1), track), false);
    filter_.clear();
    changed_ = true;
    return is_shown();
}

}  // namespace gs
