#include "app/session/view_frame.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "panels/colormap.h"
#include "profiler/core/scope.h"
#include "renderer/device/parallel.h"

namespace gs {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kLeastAlpha = 0.02f;  // below this a pixel has no depth worth showing
constexpr Rgb8 kEmptyPixel{16, 16, 18};

std::uint8_t to_byte(float v) { return static_cast<std::uint8_t>(std::clamp(v, 0.0f, 1.0f) * 255.0f + 0.5f); }

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
    for (std::size_t i = 0; i < rgb.pixels(); ++i) std::copy_n(&rgb.bytes[3 * i], 3, &out.bytes[4 * i]);
    return out;
}

template <class F>
ImageF map_of(int width, int height, F&& value) {
    ImageF map(width, height, 1);
    float* out = map.plane(0);
    parallel_ranges(map.pixels(), 16384, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) out[i] = value(i);
    });
    return map;
}

/// Sum over rows first, so that the result does not depend on how rows are shared among threads.
double mean_squared_error(const RenderResult& result, const Image8& photo) {
    const auto width = static_cast<std::size_t>(result.width), height = static_cast<std::size_t>(result.height);
    std::vector<double> rows(height, 0.0);
    parallel_for(height, 8, [&](std::size_t y) {
        double sum = 0;
        for (std::size_t i = y * width; i < (y + 1) * width; ++i)
            for (int c = 0; c < 3; ++c) {
                const double d = static_cast<double>(std::clamp(result.color.plane(c)[i], 0.0f, 1.0f)) -
                                 photo.bytes[3 * i + static_cast<std::size_t>(c)] / 255.0;
                sum += d * d;
            }
        rows[y] = sum;
    });
    double sum = 0;
    for (const double row : rows) sum += row;
    return sum / static_cast<double>(3 * width * height);
}

/// The scalar behind a mode; an empty map when the mode is a picture (colour, photo, error without a photo).
ImageF map_for_mode(const RenderResult& result, ViewMode mode, const Image8& photo, ViewFrame& frame) {
    const int w = result.width, h = result.height;
    const float* alpha = result.alpha.plane(0);
    frame.map_cell = 1;
    switch (mode) {
        case ViewMode::depth: {
            frame.unit = "world units";
            const float* depth = result.depth.plane(0);
            return map_of(w, h, [=](std::size_t i) { return alpha[i] >= kLeastAlpha ? depth[i] / alpha[i] : kNaN; });
        }
        case ViewMode::alpha:
            frame.unit = "alpha";
            return map_of(w, h, [=](std::size_t i) { return alpha[i]; });
        case ViewMode::contributors: {
            frame.unit = "Gaussians";
            const std::uint16_t* count = result.contributors.data();
            return map_of(w, h, [=](std::size_t i) { return static_cast<float>(count[i]); });
        }
        case ViewMode::isects:
        case ViewMode::pairs: {
            frame.unit = mode == ViewMode::isects ? "isects per tile" : "pairs per tile";
            frame.map_cell = kTileSize;
            const std::uint32_t* count =
                mode == ViewMode::isects ? result.isects_per_tile.data() : result.pairs_per_tile.data();
            return map_of(result.tiles_x, result.tiles_y, [=](std::size_t i) { return static_cast<float>(count[i]); });
        }
        case ViewMode::error: {
            if (photo.empty()) break;
            frame.unit = "|error|";
            const float *r = result.color.plane(0), *g = result.color.plane(1), *b = result.color.plane(2);
            const std::uint8_t* bytes = photo.bytes.data();
            return map_of(w, h, [=](std::size_t i) {
                const auto off = [&](float value, std::size_t c) {
                    return std::abs(std::clamp(value, 0.0f, 1.0f) - static_cast<float>(bytes[3 * i + c]) / 255.0f);
                };
                return (off(r[i], 0) + off(g[i], 1) + off(b[i], 2)) / 3.0f;
            });
        }
        case ViewMode::color:
        case ViewMode::photo:
            break;
    }
    frame.unit.clear();
    return {};
}

void paint_empty_pixels(const ImageF& map, Image8& rgba) {
    const float* values = map.plane(0);
    for (std::size_t i = 0; i < map.pixels(); ++i) {
        if (!std::isnan(values[i])) continue;
        std::uint8_t* pixel = &rgba.bytes[4 * i];
        pixel[0] = kEmptyPixel.r, pixel[1] = kEmptyPixel.g, pixel[2] = kEmptyPixel.b;
    }
}

}  // namespace

bool needs_counters(ViewMode mode) { return mode == ViewMode::contributors || mode == ViewMode::pairs; }

void fill_view_frame(const RenderResult& result, const ViewSettings& settings, const Image8& photo, ViewFrame& frame) {
    const Span span(Stage::pack);
    frame.visible = result.counters.visible;
    frame.isects = result.counters.isects;
    frame.psnr = photo.empty() ? 0.0 : -10.0 * std::log10(std::max(mean_squared_error(result, photo), 1e-10));
    frame.map = map_for_mode(result, settings.mode, photo, frame);
    if (frame.unit.empty()) {
        frame.rgba = settings.mode == ViewMode::photo && !photo.empty() ? opaque(photo) : color_picture(result);
        return;
    }
    const ColormapRange range = colormap_range(frame.map, settings);
    frame.range_lo = range.lo;
    frame.range_hi = range.hi;
    frame.map_min = range.min;
    frame.map_max = range.max;
    frame.map_mean = range.mean;
    frame.map_p50 = range.p50;
    frame.map_p95 = range.p95;
    frame.rgba = apply_colormap(frame.map, frame.map_cell, result.width, result.height, settings.colormap, range.lo,
                                range.hi, settings.logarithmic);
    if (frame.map_cell == 1) paint_empty_pixels(frame.map, frame.rgba);
}

}  // namespace gs
