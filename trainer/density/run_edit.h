// What can be done to a run's rows between two steps: deleting and putting back, adding, locking.
// Called within Trainer::edit(), where every row is settled; what is left of the run keeps its
// moments, statistics and identity.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "renderer/scene/clip_box.h"
#include "trainer/density/row_arrays.h"

namespace gs {

/// Rows that were taken out of a run, with all that belongs to them.
struct TakenRows {
    std::vector<std::uint32_t> rows;  ///< where they were, ascending
    RunArrays arrays;
    std::size_t bytes() const {
        return row_bytes(arrays) + rows.capacity() * sizeof(std::uint32_t);
    }
};

/// Rows that a crop removes: their means lie outside, and they are not locked. Ascending.
std::vector<std::uint32_t> rows_to_crop(const GaussianModel& model, const RowIdentity& identity,
                                        const ClipBox& box);

/// Rows whose `weights` are the least and that are not locked, so that `keep` (>= 1) stay, or the
/// locked ones. Ascending; of two alike the later one goes.
std::vector<std::uint32_t> rows_to_reduce(const RowIdentity& identity,
                                          std::span<const double> weights, std::size_t keep);

/// Takes `rows` out (ascending, each once, not all there are); the others keep their order.
TakenRows take_rows(RunArrays& arrays, std::span<const std::uint32_t> rows);
/// The same for good. `rows`: of the run; where there are `ranks`, the head's, and each has its
/// part of the run, before and after.
void remove_rows(RunArrays& arrays, std::span<const std::uint32_t> rows,
                 Exchange& ranks = one_process());
/// Puts them where they were, or behind the last row where there are fewer now. take_rows() and
/// put_back() of the same rows leave the same bits.
void put_back(RunArrays& arrays, const TakenRows& taken);
/// Adds Gaussians behind the last row, of the same SH degree: new ids, moments of zero, no
/// statistics, no filter yet.
void append_rows(RunArrays& arrays, const GaussianModel& more);
/// Locked rows stay as they are until they are unlocked: no optimizer step, no density control, no
/// opacity reset. Their moments become zero.
void lock_rows(RunArrays& arrays, std::span<const std::uint32_t> rows, bool locked);

}  // namespace gs
