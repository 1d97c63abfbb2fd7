// Density control: the classic adaptive scheme of 3DGS. Gaussians whose projected mean keeps being
// pulled are cloned (small) or split (large); faint and oversized ones go; opacities are reset now
// and then. In place, in storage of fixed capacity that grows geometrically up to the limit. The
// trainer gathers statistics every step and calls the rounds when due. Source: Kerbl et al. 2023,
// section 5, with the constants of the authors' code.
#pragma once

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/gaussian_model.h"
#include "trainer/density/density_rules.h"
#include "trainer/density/round_rows.h"
#include "trainer/density/row_identity.h"
#include "trainer/settings/settings.h"
#include "trainer/settings/trainer_types.h"

namespace gs {

struct RunArrays;

/// Per row, since the last round. All of it belongs into a checkpoint.
struct DensityStatistics {
    Buffer<float> gradient_sum;  ///< of |d loss / d projected mean|, NDC
    Buffer<float> views;         ///< steps in which it was visible
    Buffer<float> radius_px;     ///< largest on any picture

    /// One visible block of a picture of width x height pixels; lanes in `skip` are left out. From
    /// many threads.
    void add(const BlockGradients& gradients, std::uint32_t skip, int width, int height);
};

/// The settings' part in a round. `extent`: scene extent, world units.
DensityRules density_rules(const TrainingSettings& settings, double extent, bool prune_large);
/// What becomes of every row where nothing limits growth. All rows are settled.
std::vector<Fate> fates_of(const GaussianModel& model, const DensityStatistics& statistics,
                           const RowIdentity& identity, const DensityRules& rules);
/// Opacity logits above this become it in an opacity reset.
float reset_logit();

/// One round of clone, split and prune of settled rows; they end up in Morton order with all that
/// belongs to them, statistics cleared. Locked rows stay as they are. `extent`: scene extent, world
/// units. `prune_large`: also by size. Storage grows only as far as the model could still be
/// copied; that memory is left in `save_reserve` where it is not null. Where there are `ranks`,
/// each has its part of the run (RankRows), before and after; the head's part has the book of ids.
DensityReport densify_and_prune(RunArrays& arrays, const TrainingSettings& settings, double extent,
                                bool prune_large, Buffer<float>* save_reserve = nullptr,
                                Exchange& ranks = one_process());
/// Opacities above 0.01 become 0.01 where the row is not locked, their moments zero.
void reset_opacity(RunArrays& arrays);

}  // namespace gs
