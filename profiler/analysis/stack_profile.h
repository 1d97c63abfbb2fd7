// StackProfile: where threads were, by the ranges that were open around them and then by call path:
// a tree of sampled time. The flame graph of call stacks and the exports of stacks are made of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "profiler/analysis/time_range.h"
#include "profiler/store/store.h"

namespace gs {

enum class ProfileKind : std::uint8_t { root, range, native, python, blocked };

/// Names are indices into the NameBook.
struct ProfileNode {
    std::uint32_t parent = 0;  ///< index; the root's is itself
    ProfileKind kind = ProfileKind::root;
    std::uint32_t name = 0, file = 0, module = 0, line = 0;
    std::int64_t cpu_ns = 0, blocked_ns = 0;  ///< with all that is inside
    std::int64_t self_ns = 0;                 ///< of both, in nothing further
    std::uint64_t samples = 0;
    std::vector<std::uint32_t> children;  ///< the largest first
    std::int64_t total_ns() const { return cpu_ns + blocked_ns; }
};

struct StackFilter {
    TimeRange range = kAllTime;
    std::optional<std::uint32_t> process{};  ///< index into TraceStore::processes()
    std::optional<std::uint32_t> tid{};
    bool on_cpu = true, blocked = true;
    bool by_range = true;  ///< ranges come before frames
    bool by_line = true;   ///< lines of a function apart
    bool takes(const SampledThread& thread) const;
    bool takes(const StackSample& sample) const;
};

class StackProfile {
  public:
    StackProfile() = default;
    /// To be filled by advance().
    explicit StackProfile(const StackFilter& filter) : filter_(filter), nodes_(1) {}
    /// All at once: O(samples x (depth of their stacks + ranges around them)).
    StackProfile(const TraceStore& store, const StackFilter& filter);
    /// Of the threads there were at the first call. False: there is more to do. The store may have
    /// grown, and have forgotten some, between two calls.
    bool advance(const TraceStore& store, double budget_ms);
    /// nodes()[0] is the root: everything.
    std::span<const ProfileNode> nodes() const { return nodes_; }

  private:
    /// A thread, by what it stays the same by, and how far it was looked at: all before from_ns,
    /// and `looked_at` of those at that time.
    struct Cursor {
        std::uint32_t process = 0, tid = 0;
        std::int64_t from_ns = 0;
        std::size_t looked_at = 0;
        std::size_t place_in(std::span<const StackSample> samples) const;
    };
    void choose_threads(const TraceStore& store);
    std::uint32_t child(std::uint32_t parent, const ProfileNode& like);
    void add(const TraceStore& store, const SampledThread& thread, const StackSample& sample);
    void order();

    StackFilter filter_;
    std::optional<std::vector<Cursor>> threads_;  // that are looked at
    std::size_t next_ = 0;                        // of those
    std::uint64_t looked_at_ = 0;                 // samples of all of them
    std::vector<ProfileNode> nodes_;
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> children_of_;  // by hash
};

/// The ranges that were open on a thread at a time, outermost first: names. Those of a process
/// whose pid and thread numbers are the ring's.
std::vector<std::uint32_t> ranges_at(const TraceStore& store, std::uint32_t process,
                                     std::uint32_t tid, std::int64_t time_ns);

/// What a thread is called: by its ranges' recorder, by the system, else "thread 4711".
std::string thread_name(const TraceStore& store, std::uint32_t process, std::uint32_t tid);

/// The frames of a sample's stack, innermost first: indices into SampleBook::frames().
std::vector<std::uint32_t> frames_of(const SampleBook& book, std::uint32_t stack);

}  // namespace gs
