// The kernels of a round of density control. density_round.cpp strings them together; each call
// only enqueues.
#pragma once

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"
#include "trainer/cuda/step_records.h"
#include "trainer/density/density_rules.h"
#include "trainer/density/relocation_rules.h"

namespace gs::cuda {

/// Read back once a round.
struct DensityCounts {
    std::uint32_t survivors,
        wanted;  ///< rows not removed; clones and splits there would be without a limit
    std::uint32_t cloned, split, pruned;  ///< after the limit
    std::uint32_t lo[3], hi[3];  ///< bounds of the new rows' finite means, as ordered_bits()
};

struct DensityInputs {
    ModelView model;  ///< settled
    StatisticsView statistics;
    DensityRules rules;
    DensityCounts* counts;
    Fate* fates;           ///< [count]
    std::uint32_t* marks;  ///< [count]
};
/// Fates without a limit; marks[row] = 1 for those that grow; survivors, wanted.
void launch_decide(const Stream& stream, const DensityInputs& in);
/// Growing rows and keys that sort the strongest pull first. `places`: exclusive sum of the marks.
void launch_list_growing(const Stream& stream, const DensityInputs& in, const std::uint32_t* places,
                         std::uint32_t* keys, std::uint32_t* rows);
/// Those from `room` on of the sorted list do not grow.
void launch_limit(const Stream& stream, const DensityInputs& in, const std::uint32_t* rows,
                  std::uint32_t room, std::uint32_t wanted);
/// marks[row] = rows that come of it; cloned, split, pruned.
void launch_count_rows(const Stream& stream, const DensityInputs& in);

/// Rows to be, before or after sorting.
struct NewRows {
    std::uint32_t* source;
    Origin* origin;
    std::uint32_t* tag;  ///< RowIdentity::tags
    float* mean;         ///< [row][3]
};
/// marks[row] = new Gaussians that come of it.
void launch_count_new(const Stream& stream, const DensityInputs& in);
/// Where a row's results go in the list, and how it draws split means.
struct ListPlan {
    const std::uint32_t* first;      ///< [count]: exclusive sum of the rows that come of each
    const std::uint32_t* new_first;  ///< [count]: of the new ones among them
    std::uint32_t next_id;
    std::uint64_t seed, step;
};
/// Also bounds of means.
void launch_list_rows(const Stream& stream, const DensityInputs& in, const ListPlan& plan,
                      const NewRows& out);
/// Morton codes and their rows.
void launch_morton_keys(const Stream& stream, const DensityCounts* counts, const float* mean,
                        std::uint32_t rows, std::uint64_t* keys, std::uint32_t* order);
void launch_reorder(const Stream& stream, const NewRows& from, const std::uint32_t* order,
                    std::uint32_t rows, const NewRows& to);

inline constexpr int kGatheredPlanes = 8;  ///< planes that move at once
/// Planes first .. first + planes - 1 of the rows' sources, to scratch[plane][rows].
void launch_gather_values(const Stream& stream, const ModelView& model, const NewRows& rows,
                          std::uint32_t count, int first, int planes, float* scratch);
/// Back to the model's first rows.
void launch_store_values(const Stream& stream, const ModelView& model, std::uint32_t count,
                         int first, int planes, const float* scratch);
/// The same for moments, of which a plane has two (plane 2 p: m, 2 p + 1: v) or a code; new
/// Gaussians start with zero. Rows count .. cleared - 1 become zero.
void launch_gather_moments(const Stream& stream, const ModelView& model, const NewRows& rows,
                           std::uint32_t count, int first, int planes, float* scratch);
void launch_store_moments(const Stream& stream, const ModelView& model, std::uint32_t count,
                          std::uint32_t cleared, int first, int planes, const float* scratch);
/// become() of trainer/density/density_rules.h for every row.
void launch_place_children(const Stream& stream, const ModelView& model, const NewRows& rows,
                           std::uint32_t count, const DensityRules& rules);
/// Opacity, size and place of each row that `shares` (RoundRows::share) says shares a place with
/// others: share_place() of trainer/density/relocation_rules.h. `tags`: the rows' own.
void launch_share_places(const Stream& stream, const ModelView& model, const std::uint8_t* shares,
                         const std::uint32_t* tags, std::uint32_t count, const SharingRules& rules);
/// Opacity logits above `most` become it, but for locked rows.
void launch_lower_opacity(const Stream& stream, const ModelView& model, const std::uint32_t* tags,
                          float most);

}  // namespace gs::cuda
