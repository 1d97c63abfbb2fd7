// The ranks that a launcher (mpirun, srun) started this program as.
#pragma once

#include "base/exchange.h"
#include "base/expected.h"

namespace gs {

/// Null: this process is alone. Errors: several were started, and this build has no MPI, or they
/// are of different versions.
Result<Exchange*> ranks_of_launcher();

}  // namespace gs
