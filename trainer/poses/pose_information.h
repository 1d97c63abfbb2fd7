// What a photo can say of its camera's pose: how much its pixels change when the camera turns or
// moves a little. A photo of a wall with stripes says where it stands across them and nothing
// along; turns and moves that shift the picture alike are hard to tell apart. PoseRefinement
// weighs by it what a step says against how wrong poses are expected to be.
#pragma once

#include "renderer/math/symmetric.h"
#include "renderer/scene/capture.h"

namespace gs {

/// Quadratic forms of a small motion x of the camera: turn x y z about its own place (world axes,
/// radians), move x y z (world units).
struct PoseInformation {
    math::Square<6> change{};  ///< x^T change x: mean square change of a pixel, 0..1
    math::Square<6> way{};     ///< x^T way x: mean square way of what is seen, px^2
    double width = 0;          ///< of the picture, px
    bool any = false;          ///< false: none of the points is seen, or the photo is of one colour
};
/// From where the capture's points fall and how the photo (of the camera's size) changes around
/// there, J^T S J with S the structure tensor (Foerstner and Gulch 1987); scaled to how it changes
/// all over, as points lie where it changes most. Through any lens.
PoseInformation pose_information(const Capture& capture, const View& view);

}  // namespace gs
