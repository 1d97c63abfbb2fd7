#include "renderer/inspect/gather.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "renderer/raster/tile_cover.h"
#include "renderer/raster/view_setup.h"

namespace gs {
namespace {

math::Pinhole<float> pinhole_of(const Camera& c) {
    return math::make_pinhole<float>(c.rotation, c.translation, c.fx, c.fy, c.cx, c.cy, c.width,
                                     c.height, c.orthographic());
}

/// The farthest that anything is drawn from its middle: 3.33 standard deviations (alpha 1/255 of an
/// opaque one), and the larger of them is no more than the root of the covariance's trace.
constexpr float kDeviations = 3.34f;
/// px: rounding of boxes outwards; with squares of whole tiles, a tile.
constexpr float kSlack = 4.0f, kSquareSlack = 4.0f + static_cast<float>(kTileSize);

/// Decides for one Gaussian whether it may show within a rectangle. Whatever is no number passes.
struct QuickTest {
    math::Pinhole<float> pinhole;
    float near_plane, blur, scale_modifier, slack;
    float middle_x, middle_y, half_x, half_y;  // of the rectangle, px

    bool may_show(const GaussianModel& m, std::size_t i) const {
        const Vec3f c = pinhole.rotation * m.mean(i) + pinhole.translation;
        if (c.z <= near_plane) return false;
        const float w = 1.0f / (pinhole.w_from_z * c.z + pinhole.w_constant);
        const float u = std::clamp(c.x * w, pinhole.x_lo, pinhole.x_hi),
                    v = std::clamp(c.y * w, pinhole.y_lo, pinhole.y_hi);
        const float largest =
            scale_modifier * std::exp(std::max({m.at(kLogScales, i), m.at(kLogScales + 1, i),
                                                m.at(kLogScales + 2, i)}));
        // Rows of the Jacobian are fx / z (1, 0, -u) and fy / z (0, 1, -v).
        const float jx = pinhole.fx * w * largest, jy = pinhole.fy * w * largest;
        const float trace = jx * jx * (1.0f + u * u) + jy * jy * (1.0f + v * v) + 2.0f * blur;
        const float radius = kDeviations * std::sqrt(trace + 0.4f) + slack;
        const float x = pinhole.fx * c.x * w + pinhole.cx, y = pinhole.fy * c.y * w + pinhole.cy;
        return !(std::abs(x - middle_x) > half_x + radius) &&
               !(std::abs(y - middle_y) > half_y + radius);
    }
};

}  // namespace

std::vector<std::uint64_t> rows_near(const GaussianModel& model, const Camera& camera,
                                     const RenderOptions& options, const PixelRect& rect) {
    const RasterRules rules = rules_for(options);
    QuickTest test{};
    test.pinhole = pinhole_of(camera);
    test.near_plane = 0.999f * rules.near_plane;
    test.blur = options.blur;
    test.scale_modifier = options.scale_modifier;
    test.slack = rules.square_extent ? kSquareSlack : kSlack;
    test.middle_x = 0.5f * static_cast<float>(rect.x0 + rect.x1);
    test.middle_y = 0.5f * static_cast<float>(rect.y0 + rect.y1);
    test.half_x = 0.5f * static_cast<float>(rect.x1 - rect.x0);
    test.half_y = 0.5f * static_cast<float>(rect.y1 - rect.y0);
    constexpr std::size_t kChunk = 16384;
    std::vector<std::vector<std::uint64_t>> parts((model.count + kChunk - 1) / kChunk);
    parallel_for(parts.size(), 1, [&](std::size_t part) {
        const std::size_t end = std::min(model.count, (part + 1) * kChunk);
        for (std::size_t i = part * kChunk; i < end; ++i)
            if (test.may_show(model, i)) parts[part].push_back(i);
    });
    std::vector<std::uint64_t> out;
    for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
}

TileLists::TileLists(const Camera& camera, const RenderOptions& options)
    : pinhole_(pinhole_of(camera)),
      rules_(rules_for(options)),
      options_(options),
      width_(static_cast<float>(camera.width)),
      height_(static_cast<float>(camera.height)) {}

// As ProjectBlock and cover() of renderer/raster/cpu/project.cpp.
bool TileLists::hold(const GaussianModel& model, std::size_t i, int column, int row) const {
    const auto scale = [&](int k) {
        return options_.scale_modifier * std::exp(model.at(kLogScales + k, i));
    };
    const auto p = math::project(pinhole_, model.mean(i), Vec3f{scale(0), scale(1), scale(2)},
                                 Quat<float>{model.at(kQuats, i), model.at(kQuats + 1, i),
                                             model.at(kQuats + 2, i), model.at(kQuats + 3, i)});
    const auto conic = math::conic_of(p.cov, p.det, options_.blur);
    float opacity = math::sigmoid(model.at(kOpacityLogits, i));
    if (options_.antialiased) opacity *= conic.compensation;
    const float limit = 2.0f * std::log(opacity / rules_.alpha_min);
    const Sym2<float> blurred{p.cov.xx + options_.blur, p.cov.xy, p.cov.yy + options_.blur};
    const Vec2f extent{std::sqrt(limit * blurred.xx), std::sqrt(limit * blurred.yy)};
    const Vec2f box = profile_box(rules_, blurred, extent);
    const math::FrameBounds<float> frame{rules_.near_plane, width_, height_};
    if (!math::visible(frame, p, conic, options_.blur, limit, box)) return false;
    if (options_.clip && !math::inside(options_.clip->lo, options_.clip->hi, model.mean(i)))
        return false;
    const int tiles_x = (static_cast<int>(width_) + kTileSize - 1) / kTileSize,
              tiles_y = (static_cast<int>(height_) + kTileSize - 1) / kTileSize;
    const TileBox tiles = tile_box(rules_, p.mean, extent, box, tiles_x, tiles_y);
    if (tiles.empty() || row < tiles.rows.first || row >= tiles.rows.end) return false;
    const TileRange columns = rules_.exact_tiles && tiles.several()
                                  ? ellipse_row(conic.inverse, limit, p.mean, extent, row, tiles_x)
                                  : tiles.columns;
    return column >= columns.first && column < columns.end;
}

}  // namespace gs
