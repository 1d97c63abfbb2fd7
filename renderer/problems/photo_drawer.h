// PhotoDrawer: a model drawn from the cameras of photos, with memory of its own, so that neither
// the viewport's picture nor a training run is touched; and the three pictures side by side that
// show an error. Shared by the searches of this folder.
#pragma once

#include <memory>

#include "renderer/problems/problem.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/capture.h"

namespace gs {

class PhotoDrawer {
  public:
    /// `rasterizer` outlives it. `options`: as pictures of the model are drawn; depths are made in
    /// any case.
    PhotoDrawer(std::shared_ptr<const GaussianModel> model, Rasterizer& rasterizer,
                const RenderOptions& options);
    /// Colour, alpha, depth and median depth; good until the next call.
    const RenderResult& draw(const Camera& camera);
    const GaussianModel& model() const { return *model_; }
    Rasterizer& rasterizer() const { return rasterizer_; }
    const RenderOptions& options() const { return options_; }

  private:
    std::shared_ptr<const GaussianModel> model_;
    Rasterizer& rasterizer_;
    RenderOptions options_;
    std::unique_ptr<ParameterSource> source_;
    std::unique_ptr<ForwardState> state_;
    RenderResult result_;
};

/// One plane: mean over the channels of |picture - photo|, 0 where the mask ignores the photo.
ImageF photo_error(const RenderResult& drawn, const View& view);
/// The median of the median depths of a picture, world units; 0 where nothing stops half of the
/// light.
float typical_depth(const RenderResult& drawn);

/// Longest side of each of the three pictures, pixels.
inline constexpr int kCropSide = 160;
/// `rect` widened by a quarter to each side (at least `least` pixels across in all), cut to the
/// photo.
PhotoRect crop_around(const PhotoRect& rect, int least, const View& view);
/// Render, photo and error (as the contact sheet shows it) beside each other, RGB, shrunk to
/// kCropSide.
std::shared_ptr<const Image8> crops_of(const RenderResult& drawn, const View& view,
                                       const PhotoRect& rect);

}  // namespace gs
