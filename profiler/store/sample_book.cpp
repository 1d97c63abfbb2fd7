#include "profiler/store/sample_book.h"

#include <algorithm>

#include "base/rng.h"

namespace gs {
namespace {

std::uint64_t edge_key(std::uint32_t parent, std::uint32_t frame) {
    return std::uint64_t{parent} << 32 | frame;
}

}  // namespace

std::size_t SampleBook::FrameHash::operator()(const StackFrame& f) const noexcept {
    return hash64(hash64(edge_key(f.function, f.file)) ^ edge_key(f.module, f.line));
}

std::uint32_t SampleBook::frame_of(const FrameEvent& event, NameBook& names) {
    const StackFrame frame{names.intern(event.function), names.intern(event.file),
                           names.intern(event.module), event.line, event.kind};
    const auto [place, added] =
        index_of_frame_.try_emplace(frame, static_cast<std::uint32_t>(frames_.size()));
    if (added) frames_.push_back(frame);
    return place->second;
}

std::uint32_t SampleBook::node_of(std::uint32_t parent, std::uint32_t frame) {
    const auto [place, added] = index_of_node_.try_emplace(
        edge_key(parent, frame), static_cast<std::uint32_t>(nodes_.size()));
    if (added) nodes_.push_back({parent, frame});
    return place->second;
}

/// Processes bring theirs batch by batch, live ones some milliseconds, those of a file all that
/// there are: the `fresh` ones at the end go where their time is.
void SampleBook::put_in_order(std::size_t fresh) {
    const auto earlier = [](const StackSample& a, const StackSample& b) {
        return a.time_ns < b.time_ns;
    };
    const std::span<StackSample> all = samples_.items();
    const auto first = all.end() - static_cast<std::ptrdiff_t>(fresh);
    std::stable_sort(first, all.end(), earlier);
    if (fresh == 0) return;
    std::inplace_merge(std::upper_bound(all.begin(), first, *first, earlier), first, all.end(),
                       earlier);
}

void SampleBook::take(const TraceBatch& batch, std::uint32_t process, NameBook& names) {
    std::vector<std::uint32_t> frames, stacks;
    for (const FrameEvent& event : batch.frames) frames.push_back(frame_of(event, names));
    for (const StackEvent& event : batch.stacks) {
        if (event.frame >= frames.size() ||
            (event.parent != kNoStack && event.parent >= stacks.size()))
            break;  // what stands on it is left out, too
        stacks.push_back(node_of(event.parent == kNoStack ? kNoStack : stacks[event.parent],
                                 frames[event.frame]));
    }
    std::size_t fresh = 0;
    for (const SampleEvent& e : batch.samples) {
        if (e.stack >= stacks.size()) continue;
        samples_.push_back({e.time_ns, e.weight_ns, process, e.tid, stacks[e.stack], e.blocked});
        ++fresh;
    }
    put_in_order(fresh);
}

void SampleBook::mark_names(std::vector<bool>& used) const {
    for (const StackFrame& frame : frames_)
        for (const std::uint32_t name : {frame.function, frame.file, frame.module})
            used[name] = true;
}

std::size_t SampleBook::bytes_before(std::int64_t t) const {
    const auto all = samples();
    const auto first = std::partition_point(all.begin(), all.end(),
                                            [t](const StackSample& s) { return s.time_ns < t; });
    return static_cast<std::size_t>(first - all.begin()) * sizeof(StackSample);
}

void SampleBook::forget_before(std::int64_t t) {
    samples_.drop_front(bytes_before(t) / sizeof(StackSample));
    if (nodes_.size() > 2 * looked_at_) keep_used();
}

/// Frames and nodes that no sample stands on any more go.
void SampleBook::keep_used() {
    std::vector<bool> used_nodes(nodes_.size()), used_frames(frames_.size());
    for (const StackSample& s : samples()) used_nodes[s.stack] = true;
    for (std::size_t n = nodes_.size(); n-- > 0;) {
        if (!used_nodes[n]) continue;
        used_frames[nodes_[n].frame] = true;
        if (nodes_[n].parent != kNoStack) used_nodes[nodes_[n].parent] = true;
    }
    const NewNumbers node(used_nodes), frame(used_frames);
    keep_those(nodes_, node);
    keep_those(frames_, frame);
    for (StackNode& n : nodes_) n = {node(n.parent), frame(n.frame)};  // kGone is kNoStack
    for (StackSample& s : samples_.items()) s.stack = node(s.stack);
    index();
    looked_at_ = std::max<std::size_t>(4096, nodes_.size());
}

void SampleBook::index() {
    index_of_frame_.clear();
    for (const StackFrame& frame : frames_)
        index_of_frame_.emplace(frame, static_cast<std::uint32_t>(index_of_frame_.size()));
    index_of_node_.clear();
    for (const StackNode& node : nodes_)
        index_of_node_.emplace(edge_key(node.parent, node.frame),
                               static_cast<std::uint32_t>(index_of_node_.size()));
}

void SampleBook::renumber(const Renumbering& to) {
    for (StackSample& sample : samples_.items()) sample.process = to.process(sample.process);
    samples_ = filtered(samples_, [](const StackSample& s) { return s.process != kGone; });
    for (StackFrame& frame : frames_) {
        frame.function = to.name(frame.function);
        frame.file = to.name(frame.file);
        frame.module = to.name(frame.module);
    }
    keep_used();
}

std::size_t SampleBook::fixed_bytes() const {
    constexpr std::size_t kIndexed = 48;  // an entry of an unordered_map
    return frames_.size() * (sizeof(StackFrame) + kIndexed) +
           nodes_.size() * (sizeof(StackNode) + kIndexed);
}

std::size_t SampleBook::bytes() const { return fixed_bytes() + samples_.bytes(); }

SampleBook SampleBook::excerpt(std::int64_t begin, std::int64_t end) const {
    SampleBook out;
    out.frames_ = frames_;
    out.nodes_ = nodes_;
    out.samples_ = filtered(
        samples_, [&](const StackSample& s) { return s.time_ns >= begin && s.time_ns <= end; });
    return out;
}

}  // namespace gs
