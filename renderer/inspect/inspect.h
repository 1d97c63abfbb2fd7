// Asks a model about one pixel: which Gaussians are in it, and what each does there. One body for
// every backend, on the host and in double: the few Gaussians that can reach the pixel's tile are
// found by a quick pass over all, and go through the oracle (renderer/reference). So sums are the
// reference's to rounding, and the float rasterizers' to 2e-5. The session and `gausscope inspect`
// use it.
#pragma once

#include <span>
#include <vector>

#include "renderer/inspect/pixel_report.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/reference/project.h"
#include "renderer/scene/camera_lens.h"
#include "renderer/scene/image.h"

namespace gs {

/// The same picture asked of the oracle.
reference::Options oracle_options(const RenderOptions& options, const Sky& sky);

/// Pixels [x0, x1) x [y0, y1).
struct PixelRect {
    int x0, y0, x1, y1;
};

/// What may draw around a pixel, front to back. Keeps nothing of the model.
class PixelWalk {
  public:
    /// This many Gaussians may be walked for every pixel of a tile; where there are more, only some
    /// pixels are asked (TileReport::step).
    static constexpr std::size_t kSampledFrom = 100'000;

    /// All that can show in the pixel's tile and less than `reach` pixels from it. The camera is
    /// one that rasterizers take, (x, y) a pixel of its picture.
    PixelWalk(const GaussianModel& model, const Camera& camera, const RenderOptions& options, int x,
              int y, int reach = 0);

    PixelReport report() const;
    /// The picture within `rect`, which the reach must hold: 3 planes.
    ImageF colors(const PixelRect& rect) const;
    /// The square of pixels up to `reach` away, within the picture.
    PixelRect around() const;
    /// Fills what the loss has to say to each contributor. `v_color`: d loss / d the pixel's
    /// colour.
    void share_out(Vec3d v_color, PixelReport& report) const;

  private:
    struct Near {
        std::uint64_t row;
        bool listed;  ///< in the list of the pixel's tile
        bool hidden;
        reference::Projected projected;
    };
    /// Of these rows what may show within `rect`, or is listed in the pixel's tile.
    void add_rows(const GaussianModel& model, const Camera& camera, const RenderOptions& options,
                  std::span<const std::uint64_t> rows, const PixelRect& rect);
    template <class F>
    void walk(int x, int y, F&& visit) const;
    TileReport tile_report() const;

    /// What is behind all Gaussians there.
    Vec3d color_behind(int x, int y) const;

    reference::Options options_;
    CameraPixels pixels_;
    int width_, height_, x_, y_, reach_;
    std::vector<Near> near_;  // front to back
};

}  // namespace gs
