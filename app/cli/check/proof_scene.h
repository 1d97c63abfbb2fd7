// Gaussians and cameras made from a seed, the same on every machine: the scene of bench without
// SCENE and of selftest's checks.
#pragma once

#include <cstdint>

#include "renderer/scene/camera.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/gaussian_model.h"

namespace gs::cli {

struct ProofScene {
    std::size_t count = 400;
    int sh_degree = 3;
    std::uint64_t seed = 1;
    float scale_lo = 0.02f, scale_hi = 0.2f;  ///< standard deviations, in a cube of half side 1.5
};
GaussianModel make_proof_model(const ProofScene& scene);
/// Camera `index` around the cube.
Camera make_proof_camera(std::uint64_t seed, std::uint64_t index, int width, int height);

}  // namespace gs::cli
