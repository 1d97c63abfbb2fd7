// Values that some program wrote after their activation: opacities from 0 to 1 instead of logits,
// sizes instead of their logarithms. Used by examine() and fix().
#pragma once

#include "renderer/doctor/rows.h"

namespace gs::doctor {

struct Activated {
    bool opacities = false, sizes = false;
};
inline constexpr const char *kActivatedOpacities = "activated-opacities",
                            *kActivatedSizes = "activated-sizes";
/// Opacities: all from 0 to 1, and not all the same. Sizes: none below zero; as logarithms, but not
/// as sizes, half would be wider than kBlobSize of the scene, or nearly all alike. NaN says
/// nothing. Models of fewer than kFewRows are not judged: their values may be so by chance.
Activated activated_values(const GaussianModel& model, const SceneBox& box);
inline constexpr std::size_t kFewRows = 32;

/// Logits of opacities, logarithms of sizes.
void undo_activation(GaussianModel& model, Activated which);

}  // namespace gs::doctor
