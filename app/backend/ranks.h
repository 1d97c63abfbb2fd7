// The ranks that a launcher (mpirun, srun) started this program as.
#pragma once

#include "app/backend/backend.h"
#include "base/exchange.h"

namespace gs {

/// Null: this process is alone. Errors: several were started, and this build has no MPI, or they
/// are of different versions.
Result<Exchange*> ranks_of_launcher();
/// `alone`; where there are ranks with trainings on all of their CPUs. Errors: of
/// ranks_of_launcher(); usage: it is CUDA's, and `cuda_asked` for.
Result<Backend> on_all_ranks(Backend alone, bool cuda_asked);

}  // namespace gs
