// Hashes of a capture as training uses it: decoded photos, masks, points and cameras. They say
// whether two runs used the same data, whatever files it came from. Logged by `train --until-psnr`,
// compared with a suite's by `lab check-log`.
#pragma once

#include <cstddef>
#include <string>

#include "base/expected.h"
#include "renderer/scene/capture.h"

namespace gs::lab {

/// 16 hex digits each.
struct CaptureHashes {
    std::string photos;      ///< names, sizes and pixels, in the order of names
    std::string masks;       ///< the same of masks; "none" without any
    std::string points;      ///< places and colours; "random" where the capture's are not used
    std::string cameras;     ///< lens and pose of every photo, to five decimals
    std::size_t masked = 0;  ///< photos with a mask
};
/// On all threads; photos that are not in memory are read. Errors: unreadable.
Result<CaptureHashes> hashes_of(const Capture& capture);

}  // namespace gs::lab
