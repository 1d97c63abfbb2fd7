// What backward along rays gathers, tile by tile, and how it becomes gradients of Gaussians.
// Between trace_backward.cpp and ray_sums.cpp.
#pragma once

#include <vector>

#include "renderer/rays/lists.h"

namespace gs {
namespace cpu {

/// What one tile gives one Gaussian.
struct RaySums {
    float arm[3];        ///< with respect to M (o - mean)
    float whitening[9];  ///< to M, by rows
    float logit;         ///< to the opacity's logarithm
    float signal[3];
};

}  // namespace cpu

/// `sums` [place in lists.of_tile]. Adds them up by Gaussian, in the order of tiles, and gives
/// `sink` the gradients of parameters by block; those of signals go to `signals` [Gaussian] unless
/// it is empty.
void give_gradients(const GaussianModel& model, const RayLists& lists,
                    const Buffer<cpu::RaySums>& sums, GradientSink& sink,
                    std::vector<Vec3f>& signals);

}  // namespace gs
