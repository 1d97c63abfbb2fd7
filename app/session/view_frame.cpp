#include "app/session/view_frame.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "base/record/scope.h"
#include "renderer/maps/colormap.h"
#include "trainer/metrics.h"

namespace gs {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kLeastAlpha = 0.02f;  // below this a pixel has no depth worth showing
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

template <class F>
ImageF map_of(int width, int height, F&& value) {
    ImageF map(width, height, 1);
    float* out = map.plane(0);
    parallel_ranges(map.pixels(), 16384, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) out[i] = value(i);
    });
    return map;
}

/// The picture that another one is measured against: a photo or another rendering. Values 0..1.
class Reference {
  public:
    explicit Reference(const Image8& photo) : photo_(photo.empty() ? nullptr : &photo) {}
    explicit Reference(const RenderResult& drawn) : drawn_(&drawn) {}
    bool empty() const { return !photo_ && !drawn_; }
    float at(int c, std::size_t i) const {
        if (drawn_) return std::clamp(drawn_->color.plane(c)[i], 0.0f, 1.0f);
        return static_cast<float>(photo_->bytes[3 * i + static_cast<std::size_t>(c)]) / 255.0f;
    }

  private:
    const Image8* photo_ = nullptr;
    const RenderResult* drawn_ = nullptr;
};

/// Sum over rows first, so that the result does not depend on how rows are shared among threads.
double mean_squared_error(const RenderResult& result, const Reference& reference) {
    const auto width = static_cast<std::size_t>(result.width),
               height = static_cast<std::size_t>(result.height);
    std::vector<double> rows(height, 0.0);
    parallel_for(height, 8, [&](std::size_t y) {
        double sum = 0;
        for (std::size_t i = y * width; i < (y + 1) * width; ++i)
            for (int c = 0; c < 3; ++c) {
                const double d =
                    static_cast<double>(std::clamp(result.color.plane(c)[i], 0.0f, 1.0f)) -
                    static_cast<double>(reference.at(c, i));
                sum += d * d;
            }
        rows[y] = sum;
    });
    double sum = 0;
    for (const double row : rows) sum += row;
    return sum / static_cast<double>(3 * width * height);
}

/// Mean over the channels of |picture - reference|, or of the difference as it is.
ImageF error_map(const RenderResult& result, const Reference& reference, bool keep_sign) {
    const float* planes[3] = {result.color.plane(0), result.color.plane(1), result.color.plane(2)};
    return map_of(result.width, result.height, [&](std::size_t i) {
        float sum = 0;
        for (int c = 0; c < 3; ++c) {
            const float off = std::clamp(planes[c][i], 0.0f, 1.0f) - reference.at(c, i);
            sum += keep_sign ? off : std::abs(off);
        }
        return sum / 3.0f;
    });
}

/// The scalar behind a mode; an empty map when the mode is a picture (colour, photo, error without
/// a reference).
ImageF map_for_mode(const RenderResult& result, const ViewSettings& settings,
                    const Reference& reference, ViewFrame& frame) {
    const ViewMode mode = settings.mode;
    const int w = result.width, h = result.height;
    const float* alpha = result.alpha.plane(0);
    frame.map_cell = 1;
    switch (mode) {
        case ViewMode::depth: {
            frame.unit = "world units";
            const float* depth = result.depth.plane(0);
            return map_of(w, h, [=](std::size_t i) {
                return alpha[i] >= kLeastAlpha ? depth[i] / alpha[i] : kNaN;
            });
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
            const std::uint32_t* count = mode == ViewMode::isects ? result.isects_per_tile.data()
                                                                  : result.pairs_per_tile.data();
            return map_of(result.tiles_x, result.tiles_y,
                          [=](std::size_t i) { return static_cast<float>(count[i]); });
        }
        case ViewMode::error:
            if (reference.empty()) break;
            frame.unit = settings.signed_error ? "difference" : "|error|";
            return error_map(result, reference, settings.signed_error);
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

bool shows_signs(const ViewSettings& settings, const ViewFrame& frame) {
    return settings.signed_error && frame.mode == ViewMode::error && !frame.unit.empty();
}

/// Counts, PSNR against the photo, the map with its statistics and the range its colours should
/// have.
void measure(const RenderResult& result, const ViewSettings& settings, const Image8& photo,
             const Reference& reference, ViewFrame& frame) {
    frame.visible = result.counters.visible;
    frame.isects = result.counters.isects;
    frame.psnr = photo.empty() ? 0.0 : psnr_of(mean_squared_error(result, Reference(photo)));
    frame.map = map_for_mode(result, settings, reference, frame);
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
    if (frame.unit.empty()) {
        frame.rgba = settings.mode == ViewMode::photo && !photo.empty() ? opaque(photo)
                                                                        : color_picture(result);
        return;
    }
    frame.rgba = apply_colormap(frame.map, frame.map_cell, result.width, result.height,
                                frame.colormap, frame.range_lo, frame.range_hi, frame.logarithmic);
    if (frame.map_cell == 1) paint_empty_pixels(frame.map, frame.rgba);
}

}  // namespace

bool needs_counters(ViewMode mode) {
    return mode == ViewMode::contributors || mode == ViewMode::pairs;
}

void fill_view_frame(const RenderResult& result, const ViewSettings& settings, const Image8& photo,
                     ViewFrame& frame) {
    const Span span(Stage::pack);
    measure(result, settings, photo, Reference(photo), frame);
    paint(result, settings, photo, frame);
}

void fill_compared_frames(const RenderResult& result, const RenderResult& other_result,
                          const ViewSettings& settings, const Image8& photo, ViewFrame& frame,
                          ViewFrame& other) {
    const Span span(Stage::pack);
    measure(result, settings, photo, Reference(other_result), frame);
    // The difference is one map for both: the other side shows its colours beside it.
    ViewSettings other_settings = settings;
    if (settings.mode == ViewMode::error) other_settings.mode = other.mode = ViewMode::color;
    measure(other_result, other_settings, photo, Reference(photo), other);
    if (!other.unit.empty()) {  // one legend for both
        frame.range_lo = other.range_lo = std::min(frame.range_lo, other.range_lo);
        frame.range_hi = other.range_hi = std::max(frame.range_hi, other.range_hi);
    }
    paint(result, settings, photo, frame);
    paint(other_result, other_settings, photo, other);
    frame.psnr_between = other.psnr_between =
        psnr_of(mean_squared_error(result, Reference(other_result)));
}

double ssim_between(const RenderResult& a, const RenderResult& b) {
    const Span span(Stage::pack);
    const auto clamped = [](const ImageF& color) {
        ImageF out = color;
        parallel_ranges(out.values.size(), 1 << 16, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                out.values[i] = std::clamp(out.values[i], 0.0f, 1.0f);
        });
        return out;
    };
    return photo_loss(clamped(a.color), clamped(b.color), {}, 0.0, nullptr).ssim;
}

}  // namespace gs
