// A small ray tracer for the sample scene: sun with shadows, sky light, highlights, contact shade,
// and antialiasing where the picture needs it. Deterministic: a pixel depends on nothing but the
// scene and the camera.
#pragma once

#include <vector>

#include "app/sample/geometry.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/image.h"

namespace gs::sample {

/// What one pixel centre sees, for the sparse points.
struct Probe {
    bool found = false;
    Vec3f position{};
    std::uint8_t rgb[3] = {0, 0, 0};
};

struct Picture {
    Image8 rgba;                ///< straight alpha; the background is transparent
    std::vector<Probe> probes;  ///< one per asked pixel
};

/// `probe_pixels`: indices y * width + x to report on. `camera` is a pinhole.
Picture render(const Geometry& geometry, const Camera& camera,
               const std::vector<std::uint32_t>& probe_pixels);

}  // namespace gs::sample
