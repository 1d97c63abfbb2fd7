// PoseRefinement: small corrections of the cameras' poses, learned together with the Gaussians.
// Each training photo has a rigid motion of its camera, stepped by Adam with the gradient of its
// own steps. Owned by the trainer, on its thread. A camera with a rolling shutter moves as a whole.
//
// A turn and a move can do nearly the same to a picture, and a radian does much more than a metre.
// So Adam works in coordinates in which the capture's points move alike, by one pixel (root mean
// square), whatever direction is taken: those of the inverse root of J^T J, J the points' pixels by
// the six numbers of the motion (Park et al. 2023, "CamP: Camera Preconditioning for Neural
// Radiance Fields"). Adam alone would step as far when nothing is wrong as when all is: it is told
// what gradient a photo has that lies a pixel beside, and much smaller ones make shorter steps.
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

namespace gs {

/// A camera's motion: turned about its own position (world axes), then moved.
struct PoseCorrection {
    Quatd turn{1, 0, 0, 0};  ///< of length 1
    Vec3d move{};            ///< world units

    /// How far it turns, radians.
    double angle() const;
};
/// The camera after a motion; all its poses move alike.
Camera corrected(const Camera& camera, const PoseCorrection& correction);

/// BlockGradients::motion of a block, and of all of them: added in the blocks' order, whatever
/// order they came in.
using BlockMotion = std::array<float, 6>;
SceneMotion sum_of(std::span<const BlockMotion> blocks);

/// Of one step, on its way to its photo's pose.
struct PoseGradient {
    std::uint64_t step = 0;  ///< steps done with it
    std::size_t view = 0;
    SceneMotion motion;
};
/// What a run has learned of one photo's camera; as it lies in a checkpoint.
struct PoseRow {
    PoseCorrection correction;
    double first[6] = {}, second[6] = {};  ///< moments, in the coordinates Adam works in
    std::uint64_t steps = 0;
};
/// All of it.
struct PoseState {
    std::vector<PoseRow> rows;            ///< by view
    std::vector<PoseGradient> gradients;  ///< not taken yet, oldest first
};

class PoseRefinement {
  public:
    using Row = PoseRow;
    PoseRefinement() = default;
    /// Corrections of these views, all of them none.
    PoseRefinement(const Capture& capture, std::span<const std::size_t> views);

    bool empty() const { return rows_.empty(); }
    /// A view's camera as far as is known; test views' are as given.
    Camera camera(const Capture& capture, std::size_t view) const;
    /// One step of `rate` pixels against the gradient of a loss on this view (SceneMotion of its
    /// backward). False: it was not finite, and nothing changed.
    bool step(std::size_t view, const SceneMotion& gradient, double rate);
    /// Brings each correction nearer to the mean of those before and behind it, in the order of the
    /// views: all the way with `share` 1.
    void smooth(double share);
    /// Takes out what all corrections have in common.
    void hold_gauge(const Capture& capture);

    const std::vector<Row>& rows() const { return rows_; }
    /// Of a checkpoint of this capture. False: these cannot be.
    bool restore(std::vector<Row> rows);

  private:
    /// [to][from]: a unit of each coordinate Adam works in, as turn x y z and move x y
    /// z.
    using Whitening = std::array<std::array<double, 6>, 6>;
    static Whitening whitening_of(const Capture& capture, const Camera& camera);

    std::vector<Row> rows_;  ///< by view
    std::vector<std::size_t> views_;
    std::vector<Whitening> whitenings_;  ///< by view; of others than views_ zero
    std::vector<double> sharpness_;      ///< of the photos, by view
};

}  // namespace gs
