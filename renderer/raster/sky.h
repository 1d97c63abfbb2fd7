// Draws a model's sky behind its Gaussians, and gives its gradient. Both go over a finished
// picture: a pixel shows of its sky what its Gaussians let through. A backward pass over the
// Gaussians starts from the whole pixel, so it needs to know nothing of the sky.
#pragma once

#include <array>

#include "renderer/raster/rasterizer.h"
#include "renderer/scene/sky.h"

namespace gs {

/// The directions that a picture's pixels are seen in, kept from picture to picture through one
/// lens.
class PixelDirections {
  public:
    /// Of the pictures of this camera from now on.
    void follow(const Camera& camera);
    /// In the world, of length 1, of the centres of row `y`, to x, y and z [width]; zero where the
    /// lens sees nothing.
    void row(int y, float* const (&out)[3]) const;
    std::size_t bytes() const { return in_lens_.capacity_bytes(); }

  private:
    Camera camera_;
    bool straight_ = true;   ///< a pinhole with one pose, or parallel rays
    Camera lens_of_;         ///< whose directions are kept
    Buffer<float> in_lens_;  ///< [3][height][width], axes of the camera
};

/// Rows of pixels of a picture.
struct PixelRows {
    std::size_t first, count;
};
/// Puts `sky` in the place of `background` in these rows of a picture that was drawn over it; its
/// alpha says how much is seen. `directions`: follow `camera`.
void draw_sky(const Sky& sky, const Camera& camera, Vec3f background, PixelRows rows,
              PixelDirections& directions, RenderResult& result);

using SkyGradient = std::array<double, Sky::kNumbers>;
/// d loss / d Sky::sh, of `v_color`: d loss / d picture (3 planes). The same bits on any number of
/// threads. Where the colour is cut off at 0 nothing passes.
SkyGradient sky_gradient(const Sky& sky, const PixelDirections& directions, const ImageF& alpha,
                         const ImageF& v_color);

}  // namespace gs
