#include "renderer/problems/photo_drawer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/nth.h"
#include "renderer/io/images/image_io.h"
#include "renderer/maps/picture_error.h"

namespace gs {
namespace {

constexpr double kBrightestError = 0.25;  // of the error's colours; the contact sheet's

/// RGB bytes of `rect`, from a picture of floats.
Image8 cut(const ImageF& picture, const PhotoRect& rect) {
    Image8 out{rect.width(), rect.height(), 3, {}};
    out.bytes.reserve(3 * out.pixels());
    for (int y = rect.y0; y < rect.y1; ++y)
        for (int x = rect.x0; x < rect.x1; ++x)
            for (int c = 0; c < 3; ++c)
                out.bytes.push_back(static_cast<std::uint8_t>(
                    std::lround(255 * std::clamp(picture.at(c, x, y), 0.0f, 1.0f))));
    return out;
}
Image8 cut(const Image8& photo, const PhotoRect& rect) {
    Image8 out{rect.width(), rect.height(), 3, {}};
    out.bytes.reserve(3 * out.pixels());
    for (int y = rect.y0; y < rect.y1; ++y)
        for (int x = rect.x0; x < rect.x1; ++x)
            out.bytes.insert(out.bytes.end(), photo.at(x, y), photo.at(x, y) + 3);
    return out;
}

}  // namespace

PhotoDrawer::PhotoDrawer(std::shared_ptr<const GaussianModel> model, Rasterizer& rasterizer,
                         const RenderOptions& options)
    : model_(std::move(model)),
      rasterizer_(rasterizer),
      options_(options),
      source_(rasterizer.source_of(*model_)),
      state_(rasterizer.make_state()) {
    options_.depth = options_.median_depth = true;
    options_.gradients = options_.counters = false;
    options_.scale_modifier = 1;
    options_.clip.reset();
    options_.tint.reset();
}

const RenderResult& PhotoDrawer::draw(const Camera& camera) {
    rasterizer_.forward(*source_, camera, options_, *state_, result_);
    return result_;
}

ImageF photo_error(const RenderResult& drawn, const View& view) {
    ImageF out = error_map(drawn, PictureReference(view.photo), false);
    for (std::size_t i = 0; i < view.mask.bytes.size(); ++i)
        if (view.mask.bytes[i] == 0) out.values[i] = 0;
    return out;
}

float typical_depth(const RenderResult& drawn) {
    std::vector<float> depths;
    for (const float z : drawn.median_depth.values.span())
        if (z > 0 && std::isfinite(z)) depths.push_back(z);
    return depths.empty() ? 0 : upper_median(depths);
}

PhotoRect crop_around(const PhotoRect& rect, int least, const View& view) {
    const auto widened = [&](int from, int to, int end, int& out_from, int& out_to) {
        const int more = std::max((to - from) / 4, (least - (to - from) + 1) / 2);
        out_from = std::max(0, from - more);
        out_to = std::min(end, to + more);
    };
    PhotoRect out;
    widened(rect.x0, rect.x1, view.camera.width, out.x0, out.x1);
    widened(rect.y0, rect.y1, view.camera.height, out.y0, out.y1);
    return out;
}

std::shared_ptr<const Image8> crops_of(const RenderResult& drawn, const View& view,
                                       const PhotoRect& rect) {
    const double shrunk =
        std::min(1.0, static_cast<double>(kCropSide) / std::max(rect.width(), rect.height()));
    const auto side = [&](int full) {
        return std::max(1, static_cast<int>(std::lround(shrunk * full)));
    };
    const int width = side(rect.width()), height = side(rect.height());
    std::array<Image8, 3> parts{resize_area(cut(drawn.color, rect), width, height),
                                resize_area(cut(view.photo, rect), width, height), Image8{}};
    parts[2] = difference_picture(parts[0], parts[1], kBrightestError);
    return std::make_shared<const Image8>(beside_each_other(parts, width, height));
}

}  // namespace gs
