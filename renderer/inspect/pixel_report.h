// PixelReport: why a pixel looks as it does: the Gaussians of its tile front to back, what each
// added, why others added nothing, and what the loss makes of it. Plain data, made by inspect.h,
// shown by the panel "Pixel" and `gausscope inspect`.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/vec.h"

namespace gs {

/// What became of a Gaussian of the tile's list at the pixel.
enum class PixelFate {
    blended,
    outside,  ///< so far from its middle that it would not be seen even if it were opaque
    faint,    ///< alpha below 1/255
    ends,     ///< so little light would get past it that the pixel ends before it
    after,    ///< the pixel had ended
    hidden,   ///< not drawn: a tint hides it
};
inline constexpr std::array<const char*, 6> kPixelFateNames{
    "blended",        "outside the ellipse", "alpha below 1/255",
    "ends the pixel", "after the stop",      "hidden"};

struct PixelEntry {
    std::uint64_t row = 0;  ///< in the model
    PixelFate fate = PixelFate::outside;
    bool fragile = false;  ///< rounding in float may decide otherwise
    double depth = 0;      ///< camera z, world units
    double opacity = 0;    ///< compensation included
    double alpha = 0;      ///< at the pixel's centre, whatever became of it
    double before = 1;     ///< transmittance in front of it
    double weight = 0;     ///< before x alpha where it was blended, else 0
    Vec3d color{0, 0, 0};
    Vec3d running{0, 0, 0};       ///< of the pixel behind it, without background
    Vec2<double> mean{0, 0};      ///< px
    Sym2<double> conic{0, 0, 0};  ///< inverse of its covariance on the picture, 1/px^2
    double v_alpha = 0;           ///< d loss / d alpha; 0 without a photo, as the next
    double share = 0;  ///< of the gradients by colour and alpha, all contributors together 1

    Vec3d contribution() const { return weight * color; }
};

/// The 16 x 16 pixels that share a list.
struct TileReport {
    int column = 0, row = 0;
    int x0 = 0, y0 = 0, width = 0, height = 0;  ///< pixels; less than 16 at the picture's edge
    std::uint64_t listed = 0;                   ///< Gaussians in its list
    std::uint64_t evaluated = 0;  ///< pairs of pixel and Gaussian up to where each pixel ended
    std::uint64_t blended = 0;    ///< of these, the ones that changed their pixel
    /// Every so many-th pixel, either way, was asked, and stands for those up to the next: 1 where
    /// the list is not very long.
    int step = 1;
    std::vector<std::uint32_t>
        stops;  ///< [height][width] entries of the list until the pixel ended

    double wasted_share() const {
        return evaluated > 0 ? 1 - static_cast<double>(blended) / static_cast<double>(evaluated)
                             : 0;
    }
};

struct PixelReport {
    int x = 0, y = 0;
    std::vector<PixelEntry> entries;  ///< the tile's list, front to back
    Vec3d color{0, 0, 0};             ///< background blended in
    Vec3d background{0, 0, 0};
    double transmittance = 1, alpha = 0;
    double depth = 0;         ///< sum of weight x depth, world units
    double median_depth = 0;  ///< 0: more than half of the light gets through
    int contributors = 0;
    bool fragile = false;  ///< any decision was
    TileReport tile;
};

}  // namespace gs
