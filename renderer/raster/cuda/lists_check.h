// The tile lists of a frame on the device, and its sorts alone, held to what they must be, without
// drawing it: selftest's way to pictures that are too large to be blended for a check, and so to
// the forms of the kernels that only they need. No CUDA header comes in from here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/expected.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

struct ListsCheck {
    std::size_t tiles = 0, visible = 0, isects = 0;
    /// Entries of a Gaussian in a tile that it does not reach or twice in one, Gaussians in fewer
    /// or more tiles than they reach or than projection counted, and entries that no tile owns.
    std::size_t wrong = 0;
    std::size_t unsorted = 0;  ///< neighbours in a list of which the second is nearer
    std::uint64_t hash = 0;    ///< of the lists: the same Gaussians in the same order, or not
};
/// Projects and lists `model` for a picture of the camera's size, on device `index`. Errors as
/// cuda_device_info(). Throws DeviceError, also for more pairs than a frame can list.
Result<ListsCheck> check_cuda_lists(const GaussianModel& model, const Camera& camera, int index);

struct SortsCheck {
    std::size_t by_depth = 0, by_tile = 0;  ///< pairs
    /// Places that differ from std::stable_sort. All of them where Gaussians were counted wrong.
    std::size_t wrong_by_depth = 0, wrong_by_tile = 0;
};
/// The two sorts of a frame on random keys, `items` places (at least 1), many keys alike. Errors as
/// cuda_device_info(). Throws DeviceError.
Result<SortsCheck> check_cuda_sorts(std::size_t items, std::uint64_t seed, int index);

}  // namespace gs
