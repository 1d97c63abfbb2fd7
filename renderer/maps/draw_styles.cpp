#include "renderer/maps/draw_styles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "renderer/math/project.h"
#include "renderer/math/sh.h"
#include "renderer/raster/view_setup.h"

namespace gs {
namespace {

constexpr float kLeastOpacity = 0.02f;
constexpr int kBandRows = 32;
constexpr float kLargestRadius =
    400.0f;  // px: a Gaussian around the camera must not cover everything

/// One Gaussian on the picture. inverse: of its 2D covariance; radius 0 for points.
struct Mark {
    float x, y, depth;
    Sym2<float> inverse;
    float half_width, half_height;
    float rgb[3];
};

Buffer<Mark> project_marks(DrawStyle style, const GaussianModel& model, const Camera& camera,
                           const RenderOptions& options) {
    const float nearest = rules_for(options).near_plane;
    const std::optional<ClipBox>& clip = options.clip;
    const auto pinhole = math::make_pinhole<float>(camera.rotation, camera.translation, camera.fx,
                                                   camera.fy, camera.cx, camera.cy, camera.width,
                                                   camera.height, camera.orthographic());
    Buffer<Mark> marks(model.count);
    parallel_for(model.count, 4096, [&](std::size_t i) {
        Mark& mark = marks.data()[i];
        mark.depth = -1;  // not drawn
        const Vec3f mean = model.mean(i);
        if (clip && !math::inside(clip->lo, clip->hi, mean)) return;
        const Vec3f scale{std::exp(model.at(kLogScales, i)), std::exp(model.at(kLogScales + 1, i)),
                          std::exp(model.at(kLogScales + 2, i))};
        const Quatf quat{model.at(kQuats, i), model.at(kQuats + 1, i), model.at(kQuats + 2, i),
                         model.at(kQuats + 3, i)};
        const auto projected = math::project(pinhole, mean, options.scale_modifier * scale, quat);
        const bool finite = std::isfinite(projected.mean.x + projected.mean.y + projected.cov.xx +
                                          projected.cov.yy);
        if (!finite || !(projected.camera.z > nearest) ||
            !(math::sigmoid(model.at(kOpacityLogits, i)) > kLeastOpacity))
            return;
        mark.x = projected.mean.x;
        mark.y = projected.mean.y;
        for (int c = 0; c < 3; ++c)
            mark.rgb[c] = std::clamp(0.5f + math::kSh0Basis * model.at(kSh0 + c, i), 0.0f, 1.0f);
        if (style == DrawStyle::points) {
            mark.half_width = mark.half_height =
                std::max(1.0f, static_cast<float>(camera.height) / 720.0f);
        } else {
            const auto conic = math::conic_of(projected.cov, 0.3f);
            if (!(conic.det > 0)) return;
            mark.inverse = conic.inverse;
            mark.half_width = std::min(std::sqrt(projected.cov.xx + 0.3f), kLargestRadius);
            mark.half_height = std::min(std::sqrt(projected.cov.yy + 0.3f), kLargestRadius);
        }
        mark.depth = projected.camera.z;
    });
    return marks;
}

/// Paints the part of `mark` that lies in rows y0 .. y1 - 1 where it is nearer than what is there.
void paint_mark(DrawStyle style, const Mark& mark, int y0, int y1, RenderResult& result) {
    const int w = result.width;
    const int top = std::max(y0, static_cast<int>(std::floor(mark.y - mark.half_height)));
    const int bottom = std::min(y1, static_cast<int>(std::ceil(mark.y + mark.half_height)));
    const int left = std::max(0, static_cast<int>(std::floor(mark.x - mark.half_width)));
    const int right = std::min(w, static_cast<int>(std::ceil(mark.x + mark.half_width)));
    // The outline is about one pixel wide whatever the size: its width in units of the squared
    // distance.
    const float outline = 2.0f / std::max(2.0f, std::min(mark.half_width, mark.half_height));
    float* depth = result.depth.plane(0);
    for (int y = top; y < bottom; ++y) {
        for (int x = left; x < right; ++x) {
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

}  // namespace

void draw_model_as(DrawStyle style, const GaussianModel& model, const Camera& camera,
                   const RenderOptions& options, RenderResult& result) {
    const Vec3f background = options.background;
    constexpr float kFar = std::numeric_limits<float>::infinity();
    const int w = camera.width, h = camera.height;
    const Buffer<Mark> marks = project_marks(style, model, camera, options);
    result.width = w;
    result.height = h;
    result.color.resize(w, h, 3);
    result.alpha.resize(w, h, 1);
    result.depth.resize(w, h, 1);
    const std::size_t pixels = result.color.pixels();
    const float back[3] = {background.x, background.y, background.z};
    for (int c = 0; c < 3; ++c) std::fill_n(result.color.plane(c), pixels, back[c]);
    std::fill_n(result.depth.plane(0), pixels, kFar);
    parallel_for(
        static_cast<std::size_t>((h + kBandRows - 1) / kBandRows), 1, [&](std::size_t band) {
            const int y0 = static_cast<int>(band) * kBandRows, y1 = std::min(h, y0 + kBandRows);
            for (const Mark& mark : marks) {
                if (mark.depth < 0 || mark.y + mark.half_height < static_cast<float>(y0) ||
                    mark.y - mark.half_height > static_cast<float>(y1))
                    continue;
                if (mark.x + mark.half_width < 0 ||
                    mark.x - mark.half_width > static_cast<float>(w))
                    continue;
                paint_mark(style, mark, y0, y1, result);
            }
        });
    std::uint64_t visible = 0;
    for (const Mark& mark : marks) visible += mark.depth >= 0 ? 1 : 0;
    result.counters = {};
    result.counters.gaussians = model.count;
    result.counters.visible = visible;
    for (std::size_t i = 0; i < pixels; ++i) {
        const bool drawn = result.depth.plane(0)[i] < kFar;
        result.alpha.plane(0)[i] = drawn ? 1.0f : 0.0f;
        if (!drawn) result.depth.plane(0)[i] = 0.0f;
    }
}

}  // namespace gs
