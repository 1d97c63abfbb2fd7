// From a forward range to its backward pass and back: of PyTorch's modules and operators, which
// bear one number as payload and say by their NVTX category which they are. Used by the timeline
// for its arrows and details, and by the Perfetto export.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "profiler/store/store.h"

namespace gs {

/// What a range is in a training step, by its category.
enum class Pass : std::uint8_t { neither, forward, backward };
Pass pass_of(const TraceStore& trace, const TraceSpan& span);

/// Of `span`, one of the row's: the range of the other pass in its process with its number; the
/// nearest in time, the outermost where several begin together. Of backward passes that is the
/// module's, and of an autograd node the forward call that made it. Looks at 20,000 spans of each
/// row of the process's threads at most.
FoundSpan counterpart_of(const TraceStore& trace, std::size_t track, const TraceSpan& span);

/// The forward ranges of all threads, for lookups of very many backward ranges. Spans of the store
/// must stay where they are.
class ForwardRanges {
  public:
    explicit ForwardRanges(const TraceStore& trace);
    bool empty() const { return by_number_.empty(); }
    /// Of a backward range the same as counterpart_of(), however far it is: O(log n).
    FoundSpan of(std::uint32_t process, const TraceSpan& backward) const;

  private:
    using Number = std::pair<std::uint32_t, std::uint64_t>;  // process, payload
    std::map<Number, std::vector<FoundSpan>> by_number_;     // by begin, outer ones first
};

}  // namespace gs
