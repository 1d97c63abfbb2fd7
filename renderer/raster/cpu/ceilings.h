// What this CPU can do at most: memory, vector arithmetic, the bare loop of blending. Called by
// bench and by the studio on demand; takes well under a second.
#pragma once

#include "base/ceilings.h"

namespace gs {

/// With all threads, by the instruction set in use.
Ceilings measure_cpu_ceilings();

}  // namespace gs
