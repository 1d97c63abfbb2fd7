#include "profiler/store/sample_book.h"

#include <algorithm>
#include <limits>

#include "base/rng.h"

namespace gs {
namespace {

/// Of a node by its parent and frame, of a thread by its process and number.
std::uint64_t pair_key(std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} << 32 | b; }

std::size_t count_before(const SampledThread& thread, std::int64_t t) {
    const auto all = thread.samples.view();
    const auto first = std::partition_point(all.begin(), all.end(),
                                            [t](const StackSample& s) { return s.time_ns < t; });
    return static_cast<std::size_t>(first - all.begin());
}

/// Batch by batch they come, live ones some milliseconds, those of a file all that there are: the
/// `fresh` ones at the end go where their time is.
void put_in_order(SlidingArray<StackSample>& samples, std::size_t fresh) {
    const auto earlier = [](const StackSample& a, const StackSample& b) {
        return a.time_ns < b.time_ns;
    };
    const std::span<StackSample> all = samples.items();
    const auto first = all.end() - static_cast<std::ptrdiff_t>(fresh);
    std::stable_sort(first, all.end(), earlier);
    std::inplace_merge(std::upper_bound(all.begin(), first, *first, earlier), first, all.end(),
                       earlier);
}

}  // namespace

std::size_t SampleBook::FrameHash::operator()(const StackFrame& f) const noexcept {
    return hash64(hash64(pair_key(f.function, f.file)) ^ pair_key(f.module, f.line));
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
        pair_key(parent, frame), static_cast<std::uint32_t>(nodes_.size()));
    if (added) nodes_.push_back({parent, frame});
    return place->second;
}

SampledThread& SampleBook::make_thread(std::uint32_t process, std::uint32_t tid) {
    const auto [place, added] = index_of_thread_.try_emplace(
        pair_key(process, tid), static_cast<std::uint32_t>(threads_.size()));
    if (added) threads_.push_back({process, tid, {}, {}});
    return threads_[place->second];
}

const SampledThread* SampleBook::thread(std::uint32_t process, std::uint32_t tid) const {
    const auto found = index_of_thread_.find(pair_key(process, tid));
    return found == index_of_thread_.end() ? nullptr : &threads_[found->second];
}

std::size_t SampleBook::count() const {
    std::size_t count = 0;
    for (const SampledThread& thread : threads_) count += thread.samples.size();
    return count;
}

std::int64_t SampleBook::begin_ns() const {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max();
    for (const SampledThread& thread : threads_) {
        const StackSample& first = thread.samples.view().front();
        begin = std::min(begin, first.time_ns - first.weight_ns);
    }
    return threads_.empty() ? 0 : begin;
}

std::int64_t SampleBook::end_ns() const {
    std::int64_t end = 0;
    for (const SampledThread& thread : threads_) end = std::max(end, thread.samples.back().time_ns);
    return end;
}

void SampleBook::take(const TraceBatch& batch, std::uint32_t process, NameBook& names) {
    std::vector<std::uint32_t> frames, stacks;
    for (const FrameEvent& event : batch.frames) frames.push_back(frame_of(event, names));
    for (const StackEvent& event : batch.stacks) {
        if (event.frame >= frames.size() ||
            (event.parent != kNoStack && event.parent >= stacks.size()))
            break;  // what is above it is skipped as well
        stacks.push_back(node_of(event.parent == kNoStack ? kNoStack : stacks[event.parent],
                                 frames[event.frame]));
    }
    std::unordered_map<std::uint32_t, std::size_t> fresh;  // by tid
    for (const SampleEvent& e : batch.samples) {
        if (e.stack >= stacks.size()) continue;
        make_thread(process, e.tid)
            .samples.push_back({e.time_ns, e.weight_ns, stacks[e.stack], e.blocked});
        ++fresh[e.tid];
    }
    for (const auto& [tid, count] : fresh) put_in_order(make_thread(process, tid).samples, count);
    for (const auto& [tid, name] : batch.thread_names)
        if (const auto found = index_of_thread_.find(pair_key(process, tid));
            found != index_of_thread_.end())
            threads_[found->second].name = name;
}

void SampleBook::mark_names(std::vector<bool>& used) const {
    for (const StackFrame& frame : frames_)
        for (const std::uint32_t name : {frame.function, frame.file, frame.module})
            used[name] = true;
}

std::size_t SampleBook::bytes_before(std::int64_t t) const {
    std::size_t count = 0;
    for (const SampledThread& thread : threads_) count += count_before(thread, t);
    return count * sizeof(StackSample);
}

void SampleBook::forget_before(std::int64_t t) {
    for (SampledThread& thread : threads_) thread.samples.drop_front(count_before(thread, t));
    let_empty_threads_go();
    if (nodes_.size() > 2 * looked_at_) keep_used();
}

void SampleBook::let_empty_threads_go() {
    std::erase_if(threads_, [](const SampledThread& thread) { return thread.samples.empty(); });
    index_of_thread_.clear();
    for (const SampledThread& thread : threads_)
        index_of_thread_.emplace(pair_key(thread.process, thread.tid),
                                 static_cast<std::uint32_t>(index_of_thread_.size()));
}

/// Frames and nodes that no sample stands on any more go.
void SampleBook::keep_used() {
    std::vector<bool> used_nodes(nodes_.size()), used_frames(frames_.size());
    for (const SampledThread& thread : threads_)
        for (const StackSample& s : thread.samples.view()) used_nodes[s.stack] = true;
    for (std::size_t n = nodes_.size(); n-- > 0;) {
        if (!used_nodes[n]) continue;
        used_frames[nodes_[n].frame] = true;
        if (nodes_[n].parent != kNoStack) used_nodes[nodes_[n].parent] = true;
    }
    const NewNumbers node(used_nodes), frame(used_frames);
    keep_those(nodes_, node);
    keep_those(frames_, frame);
    for (StackNode& n : nodes_) n = {node(n.parent), frame(n.frame)};  // kGone is kNoStack
    for (SampledThread& thread : threads_)
        for (StackSample& s : thread.samples.items()) s.stack = node(s.stack);
    index();
    looked_at_ = std::max<std::size_t>(4096, nodes_.size());
}

void SampleBook::index() {
    index_of_frame_.clear();
    for (const StackFrame& frame : frames_)
        index_of_frame_.emplace(frame, static_cast<std::uint32_t>(index_of_frame_.size()));
    index_of_node_.clear();
    for (const StackNode& node : nodes_)
        index_of_node_.emplace(pair_key(node.parent, node.frame),
                               static_cast<std::uint32_t>(index_of_node_.size()));
}

void SampleBook::renumber(const Renumbering& to) {
    for (SampledThread& thread : threads_) thread.process = to.process(thread.process);
    std::erase_if(threads_, [](const SampledThread& thread) { return thread.process == kGone; });
    let_empty_threads_go();
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
           nodes_.size() * (sizeof(StackNode) + kIndexed) +
           threads_.size() * (sizeof(SampledThread) + kIndexed);
}

std::size_t SampleBook::bytes() const {
    std::size_t total = fixed_bytes();
    for (const SampledThread& thread : threads_) total += thread.samples.bytes();
    return total;
}

SampleBook SampleBook::excerpt(std::int64_t begin, std::int64_t end) const {
    SampleBook out;
    out.frames_ = frames_;
    out.nodes_ = nodes_;
    for (const SampledThread& thread : threads_)
        out.threads_.push_back(
            {thread.process, thread.tid,
             filtered(thread.samples,
                      [&](const StackSample& s) { return s.time_ns >= begin && s.time_ns <= end; }),
             thread.name});
    out.let_empty_threads_go();
    return out;
}

}  // namespace gs
