// The numbers of a lens that can be learned from photos.
#pragma once

namespace gs::math {

/// In the order in which gradients of them are kept. kFocal: the logarithm of both focal lengths
/// at once; the others as Lens has them.
enum LensNumber : int {
    kFocal,
    kN1,
    kN2,
    kN3,
    kN4,
    kM1,
    kM2,
    kM3,
    kP1,
    kP2,
    kS1,
    kS2,
    kS3,
    kS4,
    kLensNumbers
};

}  // namespace gs::math
