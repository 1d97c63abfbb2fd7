// Time per photo when a step takes several (`bench --batch`): the same run continues from the same
// Gaussians with each batch size in turn. Called by bench.cpp.
#pragma once

#include <span>
#include <vector>

#include "app/cli/report.h"
#include "base/expected.h"
#include "trainer/trainer.h"

namespace gs::cli {

struct BatchTime {
    int batch = 1;
    std::size_t photos = 0, gaussians = 0;      ///< timed; of the model
    double ms_photo = 0, ms_lo = 0, ms_hi = 0;  ///< median over rounds and its 95 % interval
};

/// Times steps of each of `batches` on what `trainer` has trained, which it goes back to at the
/// end: rounds in turn, `photos` photos in all of each. Errors (usage): more photos a step than
/// there are.
Result<std::vector<BatchTime>> time_batches(Trainer& trainer, std::span<const int> batches,
                                            std::size_t photos);
/// [{batch, ms_photo, ms_photo_lo, ms_photo_hi, photos_per_second, photos, gaussians}]
Table batches_table(std::span<const BatchTime> times);

}  // namespace gs::cli
