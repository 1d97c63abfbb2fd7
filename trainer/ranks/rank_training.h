// One training by several processes, its ranks (base/exchange.h). Each holds a range of the run's
// rows with all that belongs to them; rounds of density control leave rows in Morton order, so a
// range is a region. The head has the trainer, the photos and the files, and decides; the others
// carry out its orders. All take each step together, and the run has the bits of one process,
// whatever the number of ranks.
#pragma once

#include <memory>

#include "base/exchange.h"
#include "trainer/training_backend.h"

namespace gs {

/// The head's backend, on the CPU. Edits gather all rows at the head and share them out again. What
/// its calls throw in the middle of an order ends the run on all ranks (Exchange::fail). `ranks`:
/// lives longer.
std::unique_ptr<TrainingBackend> make_rank_training(Exchange& ranks);
/// On every rank but the head: carries out orders until dismissed. Throws what an order throws, of
/// which the others hear, and RankError.
void serve_rank(Exchange& ranks);
/// The head's: the others return from serve_rank().
void dismiss_ranks(Exchange& ranks) noexcept;

}  // namespace gs
