#include "renderer/maps/draw_styles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <variant>

#include "base/parallel.h"
#include "base/sort.h"
#include "renderer/math/project.h"
#include "renderer/math/sh.h"
#include "renderer/raster/sky.h"
#include "renderer/raster/view_setup.h"

namespace gs {
namespace {

constexpr float kLeastOpacity = 0.02f;
constexpr int kBandRows = 32;
constexpr float kLargestRadius =
    400.0f;  // px: a Gaussian around the camera must not cover everything

/// One Gaussian on the picture. inverse: of its 2D covariance, of no meaning for dots.
struct Mark {
    float x, y, depth;
    Sym2<float> inverse;
    float half_width, half_height;
    float opacity;
    float rgb[3];
};

bool is_dot(DrawStyle style) { return style == DrawStyle::points || style == DrawStyle::centres; }

Buffer<Mark> project_marks(DrawStyle style, const GaussianModel& model, const Camera& camera,
                           const RenderOptions& options, float point_px) {
    const float nearest = rules_for(options).near_plane;
    const std::optional<ClipBox>& clip = options.clip;
    const std::span<const std::uint32_t> tint =
        options.tint ? options.tint->words.span() : std::span<const std::uint32_t>{};
    const CameraConstants constants = camera_constants(camera, options);
    Buffer<Mark> marks(model.count);
    parallel_for(model.count, 4096, [&](std::size_t i) {
        Mark& mark = marks.data()[i];
        mark.depth = -1;  // not drawn
        const std::uint32_t word = i < tint.size() ? tint[i] : GaussianTint::kOwn;
        if (GaussianTint::hidden(word)) return;
        const Vec3f mean = model.mean(i);
        if (clip && !math::inside(clip->lo, clip->hi, mean)) return;
        const Vec3f scale{std::exp(model.at(kLogScales, i)), std::exp(model.at(kLogScales + 1, i)),
                          std::exp(model.at(kLogScales + 2, i))};
        const Quatf quat{model.at(kQuats, i), model.at(kQuats + 1, i), model.at(kQuats + 2, i),
                         model.at(kQuats + 3, i)};
        const auto projected = std::visit(
            [&](const auto& through) {
                return math::project(through, mean, options.scale_modifier * scale, quat);
            },
            constants);
        const bool finite = std::isfinite(projected.mean.x + projected.mean.y + projected.cov.xx +
                                          projected.cov.yy);
        mark.opacity = math::sigmoid(model.at(kOpacityLogits, i));
        if (!finite || !(projected.depth > nearest) || !(mark.opacity > kLeastOpacity)) return;
        mark.x = projected.mean.x;
        mark.y = projected.mean.y;
        for (int c = 0; c < 3; ++c)
            mark.rgb[c] = GaussianTint::shown(
                std::clamp(0.5f + math::kSh0Basis * model.at(kSh0 + c, i), 0.0f, 1.0f), word, c);
        if (is_dot(style)) {
            mark.half_width = mark.half_height = std::max(0.5f, 0.5f * point_px);
        } else {
            const auto conic = math::conic_of(projected.cov, 0.3f);
            if (!(conic.det > 0)) return;
            mark.inverse = conic.inverse;
            // Rings cost what they are long, not what they enclose.
            const float most = style == DrawStyle::rings ? 1e6f : kLargestRadius;
            mark.half_width = std::min(std::sqrt(projected.cov.xx + 0.3f), most);
            mark.half_height = std::min(std::sqrt(projected.cov.yy + 0.3f), most);
        }
        mark.depth = projected.depth;
    });
    return marks;
}

/// What reaches over the seam of a picture that repeats is drawn a second time, at its other side.
/// `margin`: px that marks are painted beyond their boxes.
void add_copies(Buffer<Mark>& marks, float wrap, float margin) {
    if (wrap == 0) return;
    for (std::size_t i = 0, own = marks.size(); i < own; ++i) {
        Mark copy = marks[i];
        const float reach = copy.half_width + margin;
        if (copy.depth < 0 || (copy.x >= reach && copy.x <= wrap - reach)) continue;
        copy.x += copy.x < reach ? wrap : -wrap;
        marks.resize(marks.size() + 1);
        marks[marks.size() - 1] = copy;
    }
}

/// Pixels [left, right) x [top, bottom) of a mark, cut to rows y0 .. y1 - 1 of a picture `w` wide.
/// Dots have the same size wherever they lie between pixels.
struct Box {
    int left, top, right, bottom;
};
Box box_of(DrawStyle style, const Mark& mark, int w, int y0, int y1) {
    const auto cut = [](int begin, int end, int first, int last) {
        return std::pair(std::max(begin, first), std::min(end, last));
    };
    const auto ends = [&](float at, float half) {
        if (!is_dot(style))
            return std::pair(static_cast<int>(std::floor(at - half)),
                             static_cast<int>(std::ceil(at + half)));
        const int begin = static_cast<int>(std::lround(at - half));
        return std::pair(begin, begin + std::max(1, static_cast<int>(std::lround(2 * half))));
    };
    const auto [x, x_end] = ends(mark.x, mark.half_width);
    const auto [y, y_end] = ends(mark.y, mark.half_height);
    const auto [left, right] = cut(x, x_end, 0, w);
    const auto [top, bottom] = cut(y, y_end, y0, y1);
    return {left, top, right, bottom};
}

/// Paints the part of `mark` in rows y0 .. y1 - 1 where it is nearer than what is there.
void paint_mark(DrawStyle style, const Mark& mark, int y0, int y1, RenderResult& result) {
    const int w = result.width;
    const Box box = box_of(style, mark, w, y0, y1);
    // The outline is about one pixel wide whatever the size: its width in units of the squared
    // distance.
    const float outline = 2.0f / std::max(2.0f, std::min(mark.half_width, mark.half_height));
    float* depth = result.depth.plane(0);
    for (int y = box.top; y < box.bottom; ++y) {
        for (int x = box.left; x < box.right; ++x) {
            const std::size_t i = static_cast<std::size_t>(y) * static_cast<std::size_t>(w) +
                                  static_cast<std::size_t>(x);
            if (!(mark.depth < depth[i])) continue;
            float shade = 1.0f;
            if (style == DrawStyle::ellipsoids) {
                const float dx = static_cast<float>(x) + 0.5f - mark.x,
                            dy = static_cast<float>(y) + 0.5f - mark.y;
                const float q = mark.inverse.xx * dx * dx + 2 * mark.inverse.xy * dx * dy +
                                mark.inverse.yy * dy * dy;
                if (!(q <= 1.0f)) continue;
                shade =
                    q > 1.0f - outline ? 1.0f : 0.72f - 0.30f * q;  // bright rim, darker towards it
            }
            depth[i] = mark.depth;
            for (int c = 0; c < 3; ++c) result.color.plane(c)[i] = shade * mark.rgb[c];
        }
    }
}

/// Calls paint(mark, y0, y1) for every mark and band of rows y0 .. y1 - 1 that it covers, in the
/// order of the marks within a band. `margin`: px that it is painted beyond its box.
template <class Paint>
void for_each_mark_by_bands(const Buffer<Mark>& marks, int w, int h, float margin, Paint&& paint) {
    const std::size_t bands = static_cast<std::size_t>((h + kBandRows - 1) / kBandRows);
    parallel_for(bands, 1, [&](std::size_t band) {
        const int y0 = static_cast<int>(band) * kBandRows, y1 = std::min(h, y0 + kBandRows);
        for (const Mark& mark : marks) {
            const float dx = mark.half_width + margin, dy = mark.half_height + margin;
            if (mark.depth < 0 || mark.y + dy < static_cast<float>(y0) ||
                mark.y - dy > static_cast<float>(y1) || mark.x + dx < 0 ||
                mark.x - dx > static_cast<float>(w))
                continue;
            paint(mark, y0, y1);
        }
    });
}

/// Those that are drawn, far ones first.
Buffer<Mark> back_to_front(const Buffer<Mark>& marks) {
    Buffer<std::uint32_t> keys(marks.size()), order(marks.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < marks.size(); ++i) {
        if (marks[i].depth < 0) continue;
        keys[count] = ~std::bit_cast<std::uint32_t>(marks[i].depth);
        order[count++] = static_cast<std::uint32_t>(i);
    }
    keys.resize(count);
    order.resize(count);
    RadixSort().sort(keys, order);
    Buffer<Mark> out(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) out[i] = marks[order[i]];
    return out;
}

void mix(RenderResult& result, std::size_t pixel, const float (&rgb)[3], float share) {
    for (int c = 0; c < 3; ++c) {
        float& to = result.color.plane(c)[pixel];
        to += share * (rgb[c] - to);
    }
}

/// A row of pixels cut by an ellipse: dx of both ends from its centre; false when it passes by.
/// `q`: the ellipse's value of the form.
bool row_of(const Sym2<float>& form, float dy, float q, float& left, float& right) {
    const float b = form.xy * dy, root = b * b - form.xx * (form.yy * dy * dy - q);
    if (!(root > 0) || !(form.xx > 0)) return false;
    const float half = std::sqrt(root);
    left = (-b - half) / form.xx;
    right = (-b + half) / form.xx;
    return true;
}

constexpr float kRingPx = 1.2f;                        // thickness
constexpr float kRingReach = kRingPx / 2 + 0.5f;       // of its smoothed edge from the ellipse, px
constexpr float kFaintest = 0.12f, kStrongest = 0.8f;  // how much a ring covers, by opacity

/// One row of a ring: the pixels between two ellipses that enclose it.
void paint_ring_row(const Mark& mark, int y, float outer, float inner, RenderResult& result) {
    const float dy = static_cast<float>(y) + 0.5f - mark.y;
    float left = 0, right = 0, hole_left = 0, hole_right = 0;
    if (!row_of(mark.inverse, dy, outer, left, right)) return;
    const bool hole = inner > 0 && row_of(mark.inverse, dy, inner, hole_left, hole_right);
    const int w = result.width;
    const auto pixel_at = [&](float dx) {
        return static_cast<int>(std::clamp(mark.x + dx, 0.0f, static_cast<float>(w)));
    };
    const int end = std::min(w, pixel_at(right) + 1);
    const float strength = kFaintest + (kStrongest - kFaintest) * mark.opacity;
    for (int x = pixel_at(left); x < end; ++x) {
        const float dx = static_cast<float>(x) + 0.5f - mark.x;
        if (hole && dx > hole_left && dx < hole_right) {
            x = std::max(x, pixel_at(hole_right) - 1);
            continue;
        }
        const float ax = mark.inverse.xx * dx + mark.inverse.xy * dy,
                    ay = mark.inverse.xy * dx + mark.inverse.yy * dy;
        const float q = dx * ax + dy * ay, slope = std::sqrt(ax * ax + ay * ay);
        // |sqrt(q) - 1| over its gradient: px from the ellipse, to first order.
        const float root = std::sqrt(std::max(q, 1e-12f));
        const float distance = std::abs(root - 1) * root / std::max(slope, 1e-12f);
        const float cover = std::clamp(kRingReach - distance, 0.0f, 1.0f);
        if (cover > 0)
            mix(result,
                static_cast<std::size_t>(y) * static_cast<std::size_t>(w) +
                    static_cast<std::size_t>(x),
                mark.rgb, strength * cover);
    }
}

void paint_ring(const Mark& mark, int y0, int y1, RenderResult& result) {
    const Sym2<float>& a = mark.inverse;
    // One over the smaller axis, px: the larger eigenvalue's root.
    const float half = 0.5f * (a.xx - a.yy),
                largest = 0.5f * (a.xx + a.yy) + std::sqrt(half * half + a.xy * a.xy);
    const float reach = kRingReach * std::sqrt(largest);
    const float outer = (1 + reach) * (1 + reach),
                inner = reach < 1 ? (1 - reach) * (1 - reach) : 0;
    const float height = mark.half_height * (1 + reach);
    const int top = std::max(y0, static_cast<int>(std::floor(std::max(mark.y - height, -1.0f)))),
              bottom = std::min(
                  y1,
                  static_cast<int>(std::ceil(std::min(mark.y + height, static_cast<float>(y1)))));
    for (int y = top; y < bottom; ++y) paint_ring_row(mark, y, outer, inner, result);
}

/// Dark on light colours, light on dark ones.
void paint_centre(const Mark& mark, int y0, int y1, RenderResult& result) {
    const float light = 0.3f * mark.rgb[0] + 0.6f * mark.rgb[1] + 0.1f * mark.rgb[2];
    const float seen = light > 0.5f ? 0.0f : 1.0f;
    const float rgb[3] = {seen, seen, seen};
    const Box box = box_of(DrawStyle::centres, mark, result.width, y0, y1);
    for (int y = box.top; y < box.bottom; ++y)
        for (int x = box.left; x < box.right; ++x)
            mix(result,
                static_cast<std::size_t>(y) * static_cast<std::size_t>(result.width) +
                    static_cast<std::size_t>(x),
                rgb, 0.8f);
}

/// A picture without Gaussians.
void fill_behind(const Sky& sky, const Camera& camera, const RenderOptions& options,
                 RenderResult& out) {
    const float back[3] = {options.background.x, options.background.y, options.background.z};
    out.width = camera.width;
    out.height = camera.height;
    out.color.resize(out.width, out.height, 3);
    out.alpha.resize(out.width, out.height, 1);
    for (int c = 0; c < 3; ++c) std::fill_n(out.color.plane(c), out.color.pixels(), back[c]);
    std::fill_n(out.alpha.plane(0), out.alpha.pixels(), 0.0f);
    if (!options.sky || sky.empty()) return;
    PixelDirections directions;
    draw_sky(sky, camera, options.background, {0, static_cast<std::size_t>(out.height)}, directions,
             out);
}

/// Gaussians fade; what is behind them stays.
void fade_towards(const ImageF& behind, ImageF& color) {
    constexpr float kKept = 0.3f;
    parallel_ranges(color.values.size(), 1 << 16, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            color.values[i] = behind.values[i] + kKept * (color.values[i] - behind.values[i]);
    });
}

}  // namespace

void draw_over_splats(DrawStyle style, const GaussianModel& model, const Camera& camera,
                      const RenderOptions& options, float point_px, RenderResult& result) {
    const bool rings = style == DrawStyle::rings;
    Buffer<Mark> all = project_marks(style, model, camera, options, point_px);
    add_copies(all, wrap_width(camera), rings ? kRingReach : 1.0f);
    const Buffer<Mark> marks = back_to_front(all);
    if (rings) {
        RenderResult behind;
        fill_behind(model.sky, camera, options, behind);
        fade_towards(behind.color, result.color);
    }
    for_each_mark_by_bands(marks, camera.width, camera.height, rings ? kRingReach : 1.0f,
                           [&](const Mark& mark, int y0, int y1) {
                               rings ? paint_ring(mark, y0, y1, result)
                                     : paint_centre(mark, y0, y1, result);
                           });
}

void draw_model_as(DrawStyle style, const GaussianModel& model, const Camera& camera,
                   const RenderOptions& options, float point_px, RenderResult& result) {
    const Vec3f background = options.background;
    constexpr float kFar = std::numeric_limits<float>::infinity();
    const int w = camera.width, h = camera.height;
    Buffer<Mark> marks = project_marks(style, model, camera, options, point_px);
    add_copies(marks, wrap_width(camera), 0);
    result.width = w;
    result.height = h;
    result.color.resize(w, h, 3);
    result.alpha.resize(w, h, 1);
    result.depth.resize(w, h, 1);
    const std::size_t pixels = result.color.pixels();
    const float back[3] = {background.x, background.y, background.z};
    for (int c = 0; c < 3; ++c) std::fill_n(result.color.plane(c), pixels, back[c]);
    std::fill_n(result.depth.plane(0), pixels, kFar);
    for_each_mark_by_bands(marks, w, h, 0, [&](const Mark& mark, int y0, int y1) {
        paint_mark(style, mark, y0, y1, result);
    });
    std::uint64_t visible = 0;
    for (std::size_t i = 0; i < model.count; ++i) visible += marks[i].depth >= 0 ? 1 : 0;
    result.counters = {};
    result.counters.gaussians = model.count;
    result.counters.visible = visible;
    for (std::size_t i = 0; i < pixels; ++i) {
        const bool drawn = result.depth.plane(0)[i] < kFar;
        result.alpha.plane(0)[i] = drawn ? 1.0f : 0.0f;
        if (!drawn) result.depth.plane(0)[i] = 0.0f;
    }
    if (!options.sky || model.sky.empty()) return;
    PixelDirections directions;
    draw_sky(model.sky, camera, background, {0, static_cast<std::size_t>(h)}, directions, result);
}

}  // namespace gs
