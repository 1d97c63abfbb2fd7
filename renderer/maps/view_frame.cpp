#include "renderer/maps/view_frame.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/record/scope.h"
#include "renderer/maps/colormap.h"
#include "renderer/maps/normals.h"
#include "renderer/maps/picture_error.h"
#include "renderer/maps/scalar_map.h"
#include "renderer/math/psnr.h"

namespace gs {
namespace {

constexpr Rgb8 kEmptyPixel{16, 16, 18};

std::uint8_t to_byte(float v) {
    return static_cast<std::uint8_t>(std::clamp(v, 0.0f, 1.0f) * 255.0f + 0.5f);
}

Image8 color_picture(const RenderResult& result) {
    Image8 out{result.width, result.height, 4, {}};
    out.bytes.resize(out.pixels() * 4);
    const float *r = result.color.plane(0), *g = result.color.plane(1), *b = result.color.plane(2);
    parallel_ranges(out.pixels(), 16384, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            std::uint8_t* pixel = &out.bytes[4 * i];
            pixel[0] = to_byte(r[i]);
            pixel[1] = to_byte(g[i]);
            pixel[2] = to_byte(b[i]);
            pixel[3] = 255;
        }
    });
    return out;
}

Image8 opaque(const Image8& rgb) {
    Image8 out{rgb.width, rgb.height, 4, {}};
    out.bytes.resize(out.pixels() * 4, 255);
    for (std::size_t i = 0; i < rgb.pixels(); ++i)
        std::copy_n(&rgb.bytes[3 * i], 3, &out.bytes[4 * i]);
    return out;
}

/// The scalar behind the frame's mode; an empty map when the mode is a picture (colour, photo,
/// error without a reference).
ImageF map_for_mode(const RenderResult& result, const ViewSettings& settings,
                    const PictureReference& reference, ViewFrame& frame) {
    if (settings.mode == ViewMode::error && !reference.empty()) {
        frame.map_cell = 1;
        frame.unit = settings.signed_error ? "difference" : "|error|";
        return error_map(result, reference, settings.signed_error);
    }
    ScalarMap map = scalar_map(result, settings.mode);
    frame.map_cell = map.cell;
    frame.unit = map.unit;
    return std::move(map.values);
}

/// `cell`: pixels that a value of the map stands for, along each side.
void paint_empty_pixels(const ImageF& map, int cell, Image8& rgba) {
    for (int y = 0; y < rgba.height; ++y)
        for (int x = 0; x < rgba.width; ++x) {
            if (!std::isnan(map.at(0, x / cell, y / cell))) continue;
            std::uint8_t* pixel = &rgba.bytes[4 * (static_cast<std::size_t>(y) *
                                                       static_cast<std::size_t>(rgba.width) +
                                                   static_cast<std::size_t>(x))];
            pixel[0] = kEmptyPixel.r, pixel[1] = kEmptyPixel.g, pixel[2] = kEmptyPixel.b;
        }
}

/// False where there is no map at all.
bool has_no_value(const ImageF& map) {
    return map.pixels() > 0 && map.channels > 0 &&
           std::all_of(map.plane(0), map.plane(0) + map.pixels(),
                       [](float value) { return std::isnan(value); });
}

bool shows_signs(const ViewSettings& settings, const ViewFrame& frame) {
    return settings.signed_error && frame.mode == ViewMode::error && !frame.unit.empty();
}

/// Counts, PSNR against the photo, the map with its statistics and the range its colours should
/// have.
void measure(const RenderResult& result, const ViewSettings& settings, const Image8& photo,
             const PictureReference& reference, ViewFrame& frame) {
    frame.visible = result.counters.visible;
    frame.isects = result.counters.isects;
    // Of a drawing of the Gaussians it would say nothing of the model.
    const bool drawing =
        settings.style != DrawStyle::splats && style_applies(settings.style, settings.mode);
    frame.psnr = photo.empty() || drawing
                     ? 0.0
                     : math::psnr_of(mean_squared_error(result, PictureReference(photo)));
    frame.normals =
        settings.mode == ViewMode::normals ? normals_of(result, frame.camera) : ImageF();
    frame.map = map_for_mode(result, settings, reference, frame);
    frame.map_empty = has_no_value(settings.mode == ViewMode::normals ? frame.normals : frame.map);
    if (frame.unit.empty()) return;
    const ColormapRange range = colormap_range(frame.map, settings);
    frame.range_lo = range.lo;
    frame.range_hi = range.hi;
    frame.map_min = range.min;
    frame.map_max = range.max;
    frame.map_mean = range.mean;
    frame.map_p50 = range.p50;
    frame.map_p95 = range.p95;
    const bool signs = shows_signs(settings, frame);
    frame.colormap = signs ? Colormap::diverging : settings.colormap;
    frame.logarithmic = settings.logarithmic && !signs;
    if (!signs || settings.range == RangeMode::manual) return;
    frame.range_hi = std::max(std::abs(range.lo), std::abs(range.hi));
    frame.range_lo = -frame.range_hi;
}

void paint(const RenderResult& result, const ViewSettings& settings, const Image8& photo,
           ViewFrame& frame) {
    if (settings.mode == ViewMode::normals) {
        frame.rgba = normals_picture(frame.normals, kEmptyPixel);
        return;
    }
    if (frame.unit.empty()) {
        frame.rgba = settings.mode == ViewMode::photo && !photo.empty() ? opaque(photo)
                                                                        : color_picture(result);
        return;
    }
    frame.rgba = apply_colormap(frame.map, frame.map_cell, result.width, result.height,
                                frame.colormap, frame.range_lo, frame.range_hi, frame.logarithmic);
    paint_empty_pixels(frame.map, frame.map_cell, frame.rgba);
}

}  // namespace

void fill_view_frame(const RenderResult& result, const ViewSettings& settings, const Image8& photo,
                     ViewFrame& frame) {
    const Span span(Stage::pack);
    measure(result, settings, photo, PictureReference(photo), frame);
    paint(result, settings, photo, frame);
}

void fill_compared_frames(const RenderResult& result, const RenderResult& other_result,
                          const ViewSettings& settings, const Image8& photo, ViewFrame& frame,
                          ViewFrame& other) {
    const Span span(Stage::pack);
    measure(result, settings, photo, PictureReference(other_result), frame);
    // The difference is one map for both: the other side shows its colours beside it.
    ViewSettings other_settings = settings;
    if (settings.mode == ViewMode::error) other_settings.mode = other.mode = ViewMode::color;
    measure(other_result, other_settings, photo, PictureReference(photo), other);
    if (!other.unit.empty()) {  // one legend for both
        frame.range_lo = other.range_lo = std::min(frame.range_lo, other.range_lo);
        frame.range_hi = other.range_hi = std::max(frame.range_hi, other.range_hi);
    }
    paint(result, settings, photo, frame);
    paint(other_result, other_settings, photo, other);
    frame.psnr_between = other.psnr_between =
        math::psnr_of(mean_squared_error(result, PictureReference(other_result)));
}

void keep_range(const ViewFrame& first, ViewSettings& settings) {
    if (first.unit.empty() || !(first.range_lo < first.range_hi)) return;
    settings.range = RangeMode::manual;
    settings.range_lo = first.range_lo;
    settings.range_hi = first.range_hi;
}

}  // namespace gs
