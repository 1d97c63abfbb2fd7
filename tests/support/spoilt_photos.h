// Photos of a capture as a camera with a will of its own would have taken them: exposure and white
// balance that change from photo to photo, a vignette, a tone curve. What was done is known, so
// that what training makes of it can be judged. Used by tests and tests/bench/appearance_bench.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "renderer/scene/capture.h"

namespace gs {

struct Spoiling {
    double stops = 0.5;     ///< exposures lie evenly between - and + this
    double balance = 0.12;  ///< as do the stops of red and blue against green
    double vignette = 0;    ///< share of light lost in the corners of a square picture
    double gamma = 1;       ///< values are raised to this at the end
    std::uint64_t seed = 1;
};

/// By view: stops of red, green, blue before gamma, whose means over training photos are 0; those
/// of test photos are 0.
using Spoilt = std::vector<std::array<double, 3>>;
/// Changes the photos in place: (2^stops (1 - vignette 2 r^2) x)^gamma, cut off at white.
Spoilt spoil_photos(Capture& capture, const Spoiling& how);

}  // namespace gs
