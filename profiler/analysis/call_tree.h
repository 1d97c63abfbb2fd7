// CallTree: where the time went, by call path: every way from an outermost span inwards is one
// node, whichever thread or moment it was on. For GPU work the path is the ranges it was launched
// in, then its own name; for sampled call stacks the ranges around them, then functions. The flame
// graph draws it; filled piece by piece by a SpanWalk. Free of ImGui.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "profiler/analysis/span_walk.h"
#include "profiler/analysis/stack_profile.h"

namespace gs {

struct CallNode {
    std::uint32_t name = 0;
    std::uint32_t parent = 0;  ///< index; the root's is itself
    std::int64_t total_ns = 0, self_ns = 0;
    std::uint64_t count = 0;
    Stage stage = Stage::other;
    TrackKind kind = TrackKind::thread;
    ProfileKind frame = ProfileKind::root;  ///< of sampled stacks; root: it is none
    std::uint32_t module = 0;               ///< of a frame
    std::int64_t blocked_ns = 0;            ///< of a frame's total
    bool inferred = false;  ///< some of it was put here by time alone (TraceStore::range_of)
    std::vector<std::uint32_t> children;  ///< the largest first, once the tree is complete
};

enum class CallSide { cpu, gpu, stacks };

class CallTree {
  public:
    CallTree() = default;
    /// `thread`: by its number, of call stacks alone.
    CallTree(const TraceStore& store, TimeRange range, CallSide side, std::uint32_t process,
             std::optional<std::uint32_t> thread = {});
    /// False: there is more to do.
    bool advance(const TraceStore& store, double budget_ms);
    double share() const { return walk_.share(); }
    CallSide side() const { return side_; }
    /// nodes()[0] is the root: everything; its name means nothing.
    std::span<const CallNode> nodes() const { return nodes_; }
    std::size_t depth_of(std::uint32_t node) const;

  private:
    std::uint32_t child(std::uint32_t parent, std::uint32_t name, TrackKind kind, Stage stage);
    std::uint32_t launched_in(const TraceStore& store, const WalkedSpan& span);
    void add(std::uint32_t node, const WalkedSpan& span);
    void finish();
    void take_stacks();

    SpanWalk walk_;
    StackProfile stacks_;
    CallSide side_ = CallSide::cpu;
    std::vector<CallNode> nodes_;
    std::unordered_map<std::uint64_t, std::uint32_t> child_of_;
    bool finished_ = true;
};

}  // namespace gs
