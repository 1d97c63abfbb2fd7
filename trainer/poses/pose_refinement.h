// PoseRefinement: small corrections of the cameras' poses, learned together with the Gaussians.
// Each training photo has a rigid motion of its camera, stepped by the gradient of its own steps.
// Owned by the trainer, on its thread. A camera with a rolling shutter moves as a whole, and so do
// the cameras of a rig's frame (View::rig_frame): about their middle, by the steps of all of them.
//
// A correction is what is most likely, given all that the photo's steps have said and that poses
// are known to be about right: a normal distribution of six numbers whose prior has mean zero and
// the width `PosePrior`. A step says where the loss is lowest if it is as curved as the photo
// promises (Gauss and Newton: the residual is taken for Laplace's, so one of width b counts
// 1 / b^2 times how much pixels change, pose_information.h), and how surely. What is known already
// weighs against it, and is forgotten slowly, as the scene moves on. So directions of which a photo
// says little stay where the prior has them, and noise is averaged in the others. (Adam takes equal
// steps in all directions, and wandered in the first.)
//
// Poses and scene can move together without any photo changing (the gauge). So once every photo has
// had its turn, what all corrections have in common is taken out of them: a move, a turn and a
// growth of the whole rig. The scene follows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "renderer/raster/rasterizer.h"
#include "renderer/scene/capture.h"
#include "trainer/loss/loss.h"
#include "trainer/poses/pose_information.h"

namespace gs {

/// A camera's motion: turned about its own position (world axes), then moved.
struct PoseCorrection {
    Quatd turn{1, 0, 0, 0};  ///< of length 1
    Vec3d move{};            ///< world units

    /// How far it turns, radians.
    double angle() const;
};
/// The camera after a motion about `pivot`; all its poses move alike.
Camera corrected(const Camera& camera, const PoseCorrection& correction, Vec3d pivot);
/// About its own place.
inline Camera corrected(const Camera& camera, const PoseCorrection& correction) {
    return corrected(camera, correction, camera.position());
}

/// Parts of a gradient by block (BlockGradients::motion), and their sum: added in the blocks'
/// order, whatever order they came in.
using BlockMotion = std::array<float, 6>;
template <std::size_t N>
std::array<double, N> sum_of(std::span<const std::array<float, N>> blocks) {
    std::array<double, N> sum{};
    for (const auto& block : blocks)
        for (std::size_t i = 0; i < N; ++i) sum[i] += static_cast<double>(block[i]);
    return sum;
}
inline SceneMotion motion_of(std::span<const BlockMotion> blocks) {
    const auto sum = sum_of(blocks);
    return {{sum[0], sum[1], sum[2]}, {sum[3], sum[4], sum[5]}};
}

/// Of one step, on its way to its photo's pose.
struct PoseGradient {
    std::uint64_t step = 0;  ///< steps done with it
    std::size_t view = 0;
    SceneMotion motion;
    double residual = 0;  ///< typical |picture - photo| where they differ: residual_of(), 0..1
};
/// Half of mean square over mean: of Laplace's distribution its width, and where few pixels differ,
/// theirs and not the mean with all that are alike.
double residual_of(const LossTerms& terms);
/// What a run has learned of one photo's camera; as a checkpoint stores it.
struct PoseRow {
    PoseCorrection correction;
    double known = 0;  ///< what steps have said and is not forgotten, in the photo's information
    std::uint64_t steps = 0;
};
/// All that a run has learned of a kind.
template <class Row, class Gradient>
struct Learned {
    std::vector<Row> rows;            ///< by view, or by camera
    std::vector<Gradient> gradients;  ///< not taken yet, oldest first
};
using PoseState = Learned<PoseRow, PoseGradient>;

/// How wrong given poses are thought to be: standard deviations about and along each axis.
struct PosePrior {
    double turn = 0;  ///< radians
    double move = 0;  ///< world units
};
/// From the setting pose_sigma: `sigma` degrees, and `sigma` percent of the scene's extent.
PosePrior pose_prior(double sigma, double extent);

class PoseRefinement {
  public:
    using Row = PoseRow;
    PoseRefinement() = default;
    /// Corrections of these views, all of them none.
    PoseRefinement(const Capture& capture, std::span<const std::size_t> views);

    bool empty() const { return rows_.empty(); }
    /// A view's camera, given as this one, as far as is known. Those of test views are as given,
    /// but in a rig's frame that is trained on.
    Camera camera(const Camera& given, std::size_t view) const;
    /// Takes in what one step said: the gradient of a loss on this view (SceneMotion of its
    /// backward) with residual_of() it. `forgets`: the share of what is known
    /// that counts no longer, 0 to 1. False: it was not finite, and nothing changed.
    bool step(std::size_t view, const SceneMotion& gradient, double residual,
              const PosePrior& prior, double forgets);
    /// Brings each correction nearer to the mean of those before and behind it, in the order of the
    /// views: all the way with `share` 1.
    void smooth(double share);
    /// Takes out what all corrections have in common.
    void hold_gauge();

    const std::vector<Row>& rows() const { return rows_; }
    /// Of a checkpoint of this capture. False: these cannot be.
    bool restore(std::vector<Row> rows);

  private:
    /// What moves together: a photo, or those of a frame.
    struct Body {
        Vec3d pivot{};
        PoseInformation photo;  ///< of one of its photos, in the mean, by the body's motion
        double photos = 0;      ///< that are trained on
    };
    std::vector<Row> rows_;                 ///< by view: of the first training view of a body
    std::vector<std::size_t> views_;        ///< those
    std::vector<std::size_t> row_of_view_;  ///< by view; its own where it is in no frame
    std::vector<Vec3d> arms_;               ///< by view: from its body's pivot
    std::vector<Body> bodies_;              ///< by view, as rows_
};

}  // namespace gs
