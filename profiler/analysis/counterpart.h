// From a forward range to its backward pass and back: of PyTorch's modules and operators, which
// bear one number as payload and say by their NVTX category which they are. Used by the timeline
// for its arrows and details.
#pragma once

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

}  // namespace gs
