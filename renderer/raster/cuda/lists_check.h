// The tile lists of a frame on the device, held to what they must be, without drawing it:
// selftest's way to pictures that are too large to be blended for a check, and so to the forms of
// the kernels that only they need. No CUDA header comes in from here.
#pragma once

#include <cstddef>

#include "base/expected.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

struct ListsCheck {
    std::size_t tiles = 0, visible = 0, isects = 0;
    /// Entries of a Gaussian outside its box of tiles or twice in one, Gaussians in fewer or more
    /// tiles than projection counted, and entries that no tile owns.
    std::size_t wrong = 0;
    std::size_t unsorted = 0;  ///< neighbours in a list of which the second is nearer
};
/// Projects and lists `model` for a picture of the camera's size, on device `index`. Errors as
/// cuda_device_info(). Throws DeviceError.
Result<ListsCheck> check_cuda_lists(const GaussianModel& model, const Camera& camera, int index);

}  // namespace gs
