// StackBuilder: fills a batch with stacks and samples, each frame and stack once. Used by who
// samples and who reads files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "profiler/store/event.h"

namespace gs {

class StackBuilder {
  public:
    /// The stack of these frames, innermost first, in `batch`; kNoStack of none. Always the same
    /// batch, or one that is empty again after clear().
    std::uint32_t add(TraceBatch& batch, std::span<const FrameEvent> frames);
    void clear();

  private:
    std::uint32_t frame(TraceBatch& batch, const FrameEvent& frame);

    std::unordered_map<std::string, std::uint32_t> index_of_frame_;
    std::unordered_map<std::uint64_t, std::uint32_t> index_of_stack_;  // by parent and frame
};

}  // namespace gs
