// Where a run starts: the scene's extent from its cameras, and one Gaussian for every sparse point,
// or those of a model that is trained further. Called by Trainer::create.
#pragma once

#include "base/expected.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/gaussian_model.h"
#include "trainer/settings/settings.h"

namespace gs {

/// 1.1 x the largest distance of a training camera from their mean, world units (as 3DGS), without
/// cameras whose poses are lost (scene/lost_views.h). Cameras
/// at one place say nothing about the scene's size: then half the diagonal of the points' bounds,
/// else 1.
float scene_extent_of(const Capture& capture);

/// What the first Gaussians look like.
struct FirstLook {
    float opacity = 0.1f;
    float scale = 1;  ///< x distance to the neighbours
    /// The points lie on surfaces that were measured, and what light does on its way there counts:
    /// Gaussians lie flat in the surface, move onto it, and stop the light (kSurfaceOpacity where
    /// `opacity` is less). A ball as wide as its points lie apart stops it well before them.
    bool surfaces = false;
};
inline constexpr float kSurfaceOpacity = 0.7f;  ///< first opacity of surface-aligned Gaussians
inline constexpr float kSurfaceScale =
    0.55f;  ///< of its size within the surface, x FirstLook::scale
inline constexpr float kSurfaceFlatness = 0.05f;  ///< its thickness, of that size
/// One Gaussian per finite point, in Morton order: isotropic with the root mean squared distance to
/// the three nearest neighbours as standard deviation, times `look.scale`, and the point's colour.
/// Points at the same place get a small size, not zero. Where there are more than `most` points,
/// that many are used, at even steps along the order. Errors: no usable point.
Result<GaussianModel> gaussians_from_points(const Capture& capture, int sh_degree, std::size_t most,
                                            const FirstLook& look = {});

/// The Gaussians of `model` with this SH degree and the capture's origin, without those with a
/// value that is not finite; opacities of 0 and 1 become ones that can be trained. Errors: none is
/// left.
Result<GaussianModel> gaussians_from_model(const GaussianModel& model, const Capture& capture,
                                           int sh_degree);
/// For a run that starts from `model`. What would undo what it has learned and `given` does not
/// name fits it: positions start ten times faster than they end, not a hundred, all SH degrees are
/// trained from the third step on, Gaussians are neither added nor removed, opacities not reset.
TrainingSettings settings_to_continue(TrainingSettings settings, const NamedValues& given,
                                      const GaussianModel& model);
/// The settings that differ from the defaults for a run of as many steps.
NamedValues changed_settings(const TrainingSettings& settings);

}  // namespace gs
