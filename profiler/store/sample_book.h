// SampleBook: the sampled call stacks of a trace. A frame is kept once, and so is every way from a
// thread's first function inwards: a tree in which each sample names one node. A part of the
// TraceStore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/store/event.h"
#include "profiler/store/name_book.h"
#include "profiler/store/renumbering.h"
#include "profiler/store/sliding.h"

namespace gs {

/// Names are indices into the NameBook.
struct StackFrame {
    std::uint32_t function = 0, file = 0, module = 0, line = 0;
    FrameKind kind = FrameKind::native;
    bool operator==(const StackFrame&) const = default;
};
struct StackNode {
    std::uint32_t parent = kNoStack;  ///< before it in nodes(); kNoStack: a thread's first function
    std::uint32_t frame = 0;          ///< index into frames()
};
struct StackSample {
    std::int64_t time_ns = 0, weight_ns = 0;
    std::uint32_t stack = 0;  ///< index into nodes()
    bool blocked = false;
};
struct SampledThread {
    std::uint32_t process = 0, tid = 0;
    SlidingArray<StackSample> samples;  ///< in order of time
    std::string name{};                 ///< empty: unknown
};

class SampleBook {
  public:
    std::span<const StackFrame> frames() const { return frames_; }
    std::span<const StackNode> nodes() const { return nodes_; }
    /// In the order of their first samples. Their places change when some are forgotten.
    std::span<const SampledThread> threads() const { return threads_; }
    /// Null: it has none.
    const SampledThread* thread(std::uint32_t process, std::uint32_t tid) const;
    std::size_t count() const;  ///< of samples
    bool empty() const { return threads_.empty(); }
    /// Begin of what the first sample stands for, and the time of the last; 0, 0 when there is
    /// none.
    std::int64_t begin_ns() const;
    std::int64_t end_ns() const;

    // ---- for the store that fills it
    /// Samples whose stack the batch does not have are left out.
    void take(const TraceBatch& batch, std::uint32_t process, NameBook& names);
    void mark_names(std::vector<bool>& used) const;
    std::size_t bytes_before(std::int64_t t) const;
    /// Frames and nodes may have other numbers after this, and after renumber().
    void forget_before(std::int64_t t);
    void renumber(const Renumbering& to);
    std::size_t bytes() const;
    /// Of frames and nodes.
    std::size_t fixed_bytes() const;
    /// The same frames and nodes with the samples in [begin, end]; not to be added to.
    SampleBook excerpt(std::int64_t begin_ns, std::int64_t end_ns) const;

  private:
    struct FrameHash {
        std::size_t operator()(const StackFrame& f) const noexcept;
    };
    std::uint32_t frame_of(const FrameEvent& event, NameBook& names);
    std::uint32_t node_of(std::uint32_t parent, std::uint32_t frame);
    SampledThread& make_thread(std::uint32_t process, std::uint32_t tid);
    void let_empty_threads_go();
    void keep_used();
    void index();

    std::vector<StackFrame> frames_;
    std::vector<StackNode> nodes_;
    std::unordered_map<StackFrame, std::uint32_t, FrameHash> index_of_frame_;
    std::unordered_map<std::uint64_t, std::uint32_t> index_of_node_;    // by parent and frame
    std::vector<SampledThread> threads_;                                // each has samples
    std::unordered_map<std::uint64_t, std::uint32_t> index_of_thread_;  // by process and tid
    std::size_t looked_at_ = 4096;  // from twice as many nodes on, the unused are looked for
};

}  // namespace gs
