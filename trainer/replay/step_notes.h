// What a captured step says of itself in words, for who shows one: `gausscope info` and the Scene
// panel.
#pragma once

#include <string>
#include <vector>

#include "trainer/replay/step_capture.h"

namespace gs {

/// A line each: what it is of, what made it, counters, loss, L2 norms of the gradients by
/// parameter, and whether it is what the run did.
std::vector<std::string> step_notes(const CapturedStep& step);

}  // namespace gs
