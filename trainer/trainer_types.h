// Plain values that a training run is told about with. The trainer and its backends fill them, app
// shows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/memory_use.h"

namespace gs {

struct ImageScore {
    std::size_t view = 0;
    std::string name;
    double psnr = 0, ssim = 0, l1 = 0;
};
struct Evaluation {
    std::uint64_t step = 0;
    double psnr = 0, ssim = 0;  ///< means over images
    double seconds = 0;
    std::vector<ImageScore> images;
};

}  // namespace gs
