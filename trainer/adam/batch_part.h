// Which view of a step's batch something is of: the first begins the step, the last ends it. A step
// of one view is both.
#pragma once

#include <cstdint>

namespace gs {

struct BatchPart {
    std::uint32_t index = 0, count = 1;
    bool several() const { return count > 1; }
    bool first() const { return index == 0; }
    bool last() const { return index + 1 == count; }
    bool operator==(const BatchPart&) const = default;
};

}  // namespace gs
