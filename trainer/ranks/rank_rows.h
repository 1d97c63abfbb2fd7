// The rows of a run, shared out to ranks by whole blocks and gathered again. Every rank calls these
// together.
#pragma once

#include <cstddef>

#include "base/exchange.h"
#include "trainer/density/round_rows.h"
#include "trainer/density/row_arrays.h"
#include "trainer/training_backend.h"

namespace gs {

/// This rank's part of the head's `whole`, which is null elsewhere: its rows and the optimizer's
/// clock. Only the head's part has the rest: origin, book of ids, looks.
RunArrays share_rows(Exchange& ranks, const RunArrays* whole);
/// At the head: take() of the pieces of array `number` of the run with storage for `capacity`, in
/// order; kMostBytes at a time travel.
inline constexpr std::size_t kMostBytes = std::size_t{1} << 20;
void array_at_head(Exchange& ranks, const RunArrays& part, std::size_t number, std::size_t capacity,
                   const RunPieces::Take& take);
/// At the head: all rows with storage for `capacity`, and what its own part has besides; elsewhere
/// nothing. `part`: as share_rows() gave it, or after steps.
RunArrays gather_rows(Exchange& ranks, const RunArrays& part, std::size_t capacity);

}  // namespace gs
