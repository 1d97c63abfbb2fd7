// IntrinsicsRefinement: small corrections of the cameras' focal lengths and distortion, learned
// together with the Gaussians, as PoseRefinement learns poses. Each camera of the capture has one
// set of numbers, stepped by the gradients of all its training photos; where a capture has a lens
// per photo, each photo has its own. Owned by the trainer, on its thread.
//
// Focal length and distance can change together and hardly any photo does (the gauge): the prior
// keeps what photos do not tell where the capture has it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/poses/pose_refinement.h"

namespace gs {

/// d loss / d the lens's numbers (math::LensNumber), as a backward pass gives them.
using LensSlopes = std::array<double, math::kLensNumbers>;

/// Of one step, on its way to its photo's camera.
struct IntrinsicsGradient {
    std::uint64_t step = 0;  ///< steps done with it
    std::size_t view = 0;
    LensSlopes slopes{};
    double residual = 0;  ///< residual_of()
};
/// What a run has learned of one camera; as a checkpoint stores it.
struct IntrinsicsRow {
    Intrinsics change{};  ///< added to the given ones
    double known = 0;     ///< what steps have said and is not forgotten
    std::uint64_t steps = 0;
};

/// All that a run has learned of its cameras; empty: they are taken as given.
struct LearnedCameras {
    PoseState poses;
    Learned<IntrinsicsRow, IntrinsicsGradient> intrinsics;
};

/// Why the intrinsics of this photo's camera cannot be refined: a rolling shutter, or a model that
/// has no such numbers. Empty: they can.
std::string why_not_refined(const View& view);

class IntrinsicsRefinement {
  public:
    using Row = IntrinsicsRow;
    IntrinsicsRefinement() = default;
    /// Corrections of the cameras of these views, all of them none. why_not_refined() says nothing
    /// of any. The other photos of these cameras also get them.
    IntrinsicsRefinement(const Capture& capture, std::span<const std::size_t> views);

    bool empty() const { return rows_.empty(); }
    /// `camera`, of this view, perhaps in another size, with its intrinsics as far as is known.
    Camera applied(Camera camera, std::size_t view) const;
    /// Takes in what one step of this view said. `sigma`: the setting intrinsics_sigma; `forgets`:
    /// of a photo, as for poses. False: it was not finite, and nothing changed.
    bool step(const IntrinsicsGradient& said, double sigma, double forgets);

    /// By camera, in the order of their first training photos.
    const std::vector<Row>& rows() const { return rows_; }
    /// Of a checkpoint of this capture. False: these cannot be.
    bool restore(std::vector<Row> rows);

  private:
    struct Known {
        Information<kIntrinsics> photo;  ///< of one of its photos, in the mean
        Intrinsics corner{};             ///< how far its numbers move the picture's corner, x its
                                         ///< distance from the middle
        CameraModel model{};
        double photos = 0;  ///< that are trained on
    };
    static constexpr std::size_t kNone = ~std::size_t{0};
    std::vector<Row> rows_;
    std::vector<Known> cameras_;               ///< by row
    std::vector<std::size_t> camera_of_view_;  ///< into rows_
};

}  // namespace gs
