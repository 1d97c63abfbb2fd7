#include "profiler/analysis/call_tree.h"

#include <algorithm>

#include "profiler/analysis/span_summary.h"

namespace gs {

CallTree::CallTree(const TraceStore& store, TimeRange range, CallSide side, std::uint32_t process,
                   std::optional<std::uint32_t> thread)
    : walk_(store, range,
            {.ranges = side == CallSide::cpu,
             .calls = false,
             .gpu = side == CallSide::gpu,
             .process = process}),
      stacks_({.range = range,
               .process = process == kAnyProcess ? std::nullopt : std::optional(process),
               .tid = thread,
               .by_line = false}),
      side_(side),
      nodes_(1),
      finished_(false) {}

std::uint32_t CallTree::child(std::uint32_t parent, std::uint32_t name, TrackKind kind,
                              Stage stage) {
    const auto [found, added] = child_of_.try_emplace(std::uint64_t{parent} << 32 | name,
                                                      static_cast<std::uint32_t>(nodes_.size()));
    if (added) {
        nodes_.push_back({.name = name, .parent = parent, .stage = stage, .kind = kind});
    }
    return found->second;
}

/// The node of the ranges that GPU work was launched in; the root when there are none.
std::uint32_t CallTree::launched_in(const TraceStore& store, const WalkedSpan& span) {
    const FoundSpan range = range_of(store, span.track, span.row, *span.kept);
    if (!range.span) return 0;
    std::uint32_t node = 0;
    const auto enter = [&](const TraceSpan& s) {
        node = child(node, s.name, TrackKind::thread, store.names().stage(s.name));
        nodes_[node].inferred |= range.inferred;
    };
    for (std::size_t row = 0; row < range.row; ++row)
        if (const TraceSpan* outer = store.tracks()[range.track].span_at(row, range.span->begin_ns))
            enter(*outer);
    enter(*range.span);
    return node;
}

void CallTree::add(std::uint32_t node, const WalkedSpan& span) {
    nodes_[node].self_ns += span.self_ns();
    nodes_[node].total_ns += span.inside_ns;
    ++nodes_[node].count;
}

bool CallTree::advance(const TraceStore& store, double budget_ms) {
    if (finished_) return true;
    if (side_ == CallSide::stacks) {
        if (!stacks_.advance(store, budget_ms)) return false;
        take_stacks();
        return finished_ = true;
    }
    const auto enter = [&](WalkedSpan& span, const WalkedSpan* parent) {
        const TraceTrack& track = store.tracks()[span.track];
        std::uint32_t above = parent ? static_cast<std::uint32_t>(parent->value) : 0;
        if (side_ == CallSide::gpu && !parent) above = launched_in(store, span);
        // A stage timer gives GPU work the name of the range that launched it: one box, not two.
        const bool same =
            above != 0 && nodes_[above].name == span.span.name && side_ == CallSide::gpu;
        span.value =
            same ? above
                 : child(above, span.span.name, track.kind, stage_of(store, track, span.span.name));
    };
    const auto leave = [&](const WalkedSpan& span, const WalkedSpan*) {
        add(static_cast<std::uint32_t>(span.value), span);
    };
    if (!walk_for(walk_, store, budget_ms, enter, leave)) return false;
    finish();
    return true;
}

void CallTree::take_stacks() {
    nodes_.clear();
    for (const ProfileNode& of : stacks_.nodes()) {
        CallNode& node = nodes_.emplace_back();
        node.name = of.name;
        node.parent = of.parent;
        node.total_ns = of.total_ns();
        node.self_ns = of.self_ns;
        node.count = of.samples;
        node.frame = of.kind;
        node.module = of.module;
        node.blocked_ns = of.blocked_ns;
        node.children = of.children;
    }
    stacks_ = {};
}

/// On the GPU's side ranges take the time of what they launched.
void CallTree::finish() {
    finished_ = true;
    for (std::uint32_t i = 1; i < nodes_.size(); ++i)
        nodes_[nodes_[i].parent].children.push_back(i);
    // Children have larger numbers than their parents.
    for (std::size_t i = nodes_.size(); i-- > 0;) {
        CallNode& node = nodes_[i];
        std::int64_t below = 0;
        for (const std::uint32_t c : node.children) below += nodes_[c].total_ns;
        if (side_ == CallSide::gpu || i == 0) {
            node.total_ns = below + (i == 0 ? 0 : node.self_ns);
        }
        std::ranges::sort(node.children, [&](std::uint32_t a, std::uint32_t b) {
            return nodes_[a].total_ns != nodes_[b].total_ns
                       ? nodes_[a].total_ns > nodes_[b].total_ns
                       : a < b;
        });
    }
}

std::size_t CallTree::depth_of(std::uint32_t node) const {
    std::size_t depth = 0;
    for (; node != 0 && node < nodes_.size(); node = nodes_[node].parent) ++depth;
    return depth;
}

}  // namespace gs
