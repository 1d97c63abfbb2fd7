// How far a drawn picture is from another one: for the viewport's mode `error` and its PSNR.
#pragma once

#include <algorithm>
#include <span>

#include "renderer/raster/rasterizer.h"
#include "renderer/scene/image.h"

namespace gs {

/// The picture that another one is measured against: a photo or another rendering. Values 0..1.
class PictureReference {
  public:
    explicit PictureReference(const Image8& photo) : photo_(photo.empty() ? nullptr : &photo) {}
    explicit PictureReference(const RenderResult& drawn) : drawn_(&drawn) {}
    bool empty() const { return !photo_ && !drawn_; }
    float at(int c, std::size_t i) const {
        if (drawn_) return std::clamp(drawn_->color.plane(c)[i], 0.0f, 1.0f);
        return static_cast<float>(photo_->bytes[3 * i + static_cast<std::size_t>(c)]) / 255.0f;
    }

  private:
    const Image8* photo_ = nullptr;
    const RenderResult* drawn_ = nullptr;
};

/// Over all pixels and channels, of values clamped to 0..1. The same for any number of threads.
double mean_squared_error(const RenderResult& result, const PictureReference& reference);
/// Mean over the channels of |picture - reference|, or of the difference as it is.
ImageF error_map(const RenderResult& result, const PictureReference& reference, bool keep_sign);

// ---- of pictures for people, 8 bits a channel
/// The mean over the channels of |a - b| in colours, RGBA: `range` (0..1) and more is the
/// brightest. Without two pictures of one size, black.
Image8 difference_picture(const Image8& a, const Image8& b, double range);
/// RGB, from pictures of width x height each, from left to right; an empty one is dark.
Image8 beside_each_other(std::span<const Image8> parts, int width, int height);

}  // namespace gs
