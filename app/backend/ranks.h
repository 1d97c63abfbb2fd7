// The ranks that a launcher (mpirun, srun) started this program as.
#pragma once

#include <string_view>

#include "app/backend/backend.h"
#include "base/exchange.h"

namespace gs {

/// Null: this process is alone. Errors: several were started, and this build has no MPI, or they
/// are of different versions.
Result<Exchange*> ranks_of_launcher();
/// `alone`, chosen by `wanted` (choose_backend()); where there are ranks with trainings on all of
/// their CPUs. Errors: of ranks_of_launcher(); usage: CUDA was asked for.
Result<Backend> on_all_ranks(Backend alone, std::string_view wanted);

}  // namespace gs
