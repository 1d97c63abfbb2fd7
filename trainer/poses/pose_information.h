// What a photo can say of its camera's pose, and of its lens: how much its pixels change when the
// camera turns or moves a little. A photo of a wall with stripes says where it stands across them
// and nothing along; turns and moves that shift the picture alike are hard to tell apart.
// PoseRefinement weighs by it what a step says against how wrong poses are expected to be.
#pragma once

#include <array>
#include <span>

#include "renderer/math/lens.h"
#include "renderer/math/symmetric.h"
#include "renderer/scene/capture.h"

namespace gs {

/// Quadratic forms of a small change x of N numbers of the camera.
template <std::size_t N>
struct Information {
    math::Square<N> change{};  ///< x^T change x: mean square change of a pixel, 0..1
    /// Where `scene_follows`: `change` with the scene held; else `change` is that, and this 0.
    math::Square<N> held{};
    math::Square<N> way{};       ///< x^T way x: mean square way of what is seen, px^2
    double width = 0;            ///< of the picture, px
    bool scene_follows = false;  ///< points go to their best places for each x
    bool any = false;  ///< false: none of the points is seen, or the photo is of one colour
};
/// Of a motion: turn x y z about its own place (world axes, radians), move x y z (world units).
using PoseInformation = Information<6>;
/// From where the capture's points fall and how the photo (of the camera's size) changes around
/// there, J^T S J with S the structure tensor (Foerstner and Gulch 1987); scaled to how it changes
/// all over, as points lie where it changes most. Through any lens.
PoseInformation pose_information(const Capture& capture, const View& view);

/// Numbers of a camera that photos can tell: the logarithm of its focal lengths, then
/// Camera::distortion.
inline constexpr std::size_t kIntrinsics = 13;
using Intrinsics = math::Row<kIntrinsics>;
/// Of a pixel, x and y, by N numbers.
template <std::size_t N>
using Jacobian = std::array<math::Row<N>, 2>;
/// At the pixel of `c`, in camera axes, through a lens that lens_intrinsics_vjp() takes.
Jacobian<kIntrinsics> intrinsics_jacobian(CameraModel model, const math::Lens<double>& lens,
                                          Vec3d c);
/// Of a photo of one camera, in the mean over these (some of them, if there are many). As the
/// camera's numbers are the same in all, the scene can follow them: most of what a longer focal
/// length does to a photo, larger depth undoes.
Information<kIntrinsics> intrinsics_information(const Capture& capture,
                                                std::span<const std::size_t> views);

}  // namespace gs
