// A snapshot that the training of another process has handed over (profiler/collect/trainer_link.h)
// as a model of ours. Used by FollowedTraining.
#pragma once

#include "app/session/loading.h"
#include "base/expected.h"
#include "profiler/collect/trainer_link.h"

namespace gs {

/// A snapshot's Gaussians; `given`: the numbers by row that came with them. NaN and infinite
/// numbers stay: they are what a viewer is asked about. Errors (malformed): sizes that do not fit
/// the memory.
Result<GaussianModel> read_snapshot(const service::TrainerRecord& record, int memory,
                                    GivenValues& given);

}  // namespace gs
