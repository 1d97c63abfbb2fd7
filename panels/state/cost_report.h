// CostReport: the cost of a picture, for the Costs panel: the whole frame, a region of it, its most
// expensive Gaussians, and the frame without these. Made by the engine (app/session/parts/costs.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "renderer/scene/camera.h"
#include "renderer/scene/photo_source.h"

namespace gs {

/// (Pixel, Gaussian) pairs, and measured time.
struct CostSums {
    double forward_ns = 0, backward_ns = 0;  ///< of all threads or thread blocks, added up
    std::uint64_t isects = 0, evaluated = 0, blended = 0;
    std::uint64_t backward = 0;  ///< pairs in the backward pass
    /// Evaluated pairs that changed no pixel.
    double wasted() const {
        return evaluated > 0 ? 1 - static_cast<double>(blended) / static_cast<double>(evaluated)
                             : 0;
    }
};

struct CostlyGaussian {
    std::uint64_t row = 0;
    std::uint64_t evaluated = 0, blended = 0, backward = 0;  ///< pairs
};

/// The frame without the most expensive Gaussians, and the photos.
struct CostWithout {
    std::uint64_t count = 0;
    double share = 0;                       ///< of all pairs: the predicted saving
    double ns = NAN, ns_without = NAN;      ///< of the frame, both measured
    std::size_t photos = 0, done = 0;       ///< to be measured; measured
    double psnr = NAN, psnr_without = NAN;  ///< means over the photos done, dB
    UnreadPhotos unread{};                  ///< photos not among these
};

struct CostReport {
    static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

    std::uint64_t step = 0;
    int width = 0, height = 0;
    Camera camera;     ///< of the frame
    std::string from;  ///< "photo 12, IMG_0012.jpg", "the free camera"
    std::string note;  ///< source of the gradients, or why there are none
    CostSums frame;
    struct Region {
        int x0 = 0, y0 = 0, x1 = 0, y1 = 0;  ///< pixels of the frame, x1 and y1 left out
        CostSums sums;                       ///< of its tiles, weighted by their overlap with it
    };
    std::optional<Region> region;
    std::vector<CostlyGaussian> top;  ///< most evaluated pairs first
    std::uint64_t gaussians = 0;      ///< Gaussians with any evaluated pairs
    std::uint64_t for_half = 0;       ///< most expensive Gaussians with half of all pairs
    std::optional<CostWithout> without;
};

}  // namespace gs
