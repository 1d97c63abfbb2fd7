#include "renderer/inspect/gather.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/parallel.h"
#include "renderer/raster/tile_cover.h"
#include "renderer/raster/view_setup.h"

namespace gs {
namespace {

/// The farthest that anything is drawn from its middle: 3.33 standard deviations (alpha 1/255 of an
/// opaque one), and the larger of them is no more than the root of the covariance's trace.
constexpr float kDeviations = 3.34f;
/// px: rounding of boxes outwards; with squares of whole tiles, a tile.
constexpr float kSlack = 4.0f, kSquareSlack = 4.0f + static_cast<float>(kTileSize);

/// A row as projection takes it.
struct Row {
    Vec3f mean, scale;
    Quatf quat;
    float largest() const { return std::max({scale.x, scale.y, scale.z}); }
};
Row row_of(const GaussianModel& m, std::size_t i, float scale_modifier) {
    const auto scale = [&](int k) { return scale_modifier * std::exp(m.at(kLogScales + k, i)); };
    return {m.mean(i),
            {scale(0), scale(1), scale(2)},
            {m.at(kQuats, i), m.at(kQuats + 1, i), m.at(kQuats + 2, i), m.at(kQuats + 3, i)}};
}

/// Where it falls, and a bound for the trace of its covariance: px, px^2.
struct Place {
    float x, y, depth, trace;
};
/// By a bound for the Jacobian's squared entries, summed.
Place place_of(const math::Pinhole<float>& p, const Row& row) {
    const Vec3f c = p.rotation * row.mean + p.translation;
    const float w = 1.0f / (p.w_from_z * c.z + p.w_constant);
    const float u = std::clamp(c.x * w, p.x_lo, p.x_hi), v = std::clamp(c.y * w, p.y_lo, p.y_hi);
    // Rows of the Jacobian are fx / z (1, 0, -u) and fy / z (0, 1, -v).
    const float jx = p.fx * w, jy = p.fy * w, s = row.largest();
    return {p.fx * c.x * w + p.cx, p.fy * c.y * w + p.cy, c.z,
            s * s * (jx * jx * (1.0f + u * u) + jy * jy * (1.0f + v * v))};
}
/// Of a sphere's extent: the trace of its covariance is what the squares add up to.
Place place_of(const math::LensCamera<float>& lens, const Row& row) {
    const auto p = math::project(lens, row.mean, Vec3f{1, 1, 1}, Quatf{1, 0, 0, 0});
    const float s = row.largest();
    return {p.mean.x, p.mean.y, p.depth, s * s * (p.cov.xx + p.cov.yy)};
}
/// No sphere bounds it: its own.
Place place_of(const math::UnscentedCamera<float>& camera, const Row& row) {
    const auto p = math::project(camera, row.mean, row.scale, row.quat);
    return {p.mean.x, p.mean.y, p.depth, p.cov.xx + p.cov.yy};
}

/// Decides for one Gaussian whether it may show within a rectangle. Whatever is no number passes.
struct QuickTest {
    CameraConstants camera;
    float near_plane, blur, scale_modifier, slack;
    float middle_x, middle_y, half_x, half_y;  // of the rectangle, px
    float wrap;

    bool may_show(const GaussianModel& m, std::size_t i) const {
        const Row row = row_of(m, i, scale_modifier);
        const Place at =
            std::visit([&](const auto& through) { return place_of(through, row); }, camera);
        if (at.depth <= near_plane) return false;
        const float radius = kDeviations * std::sqrt(at.trace + 2.0f * blur + 0.4f) + slack;
        return !(std::abs(nearest_copy(at.x, middle_x, wrap) - middle_x) > half_x + radius) &&
               !(std::abs(at.y - middle_y) > half_y + radius);
    }
};

}  // namespace

std::vector<std::uint64_t> rows_near(const GaussianModel& model, const Camera& camera,
                                     const RenderOptions& options, const PixelRect& rect) {
    const RasterRules rules = rules_for(options);
    QuickTest test{};
    test.camera = camera_constants(camera, options);
    test.wrap = wrap_width(camera);
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
    : camera_(camera_constants(camera, options)),
      rules_(rules_for(options)),
      options_(options),
      width_(static_cast<float>(camera.width)),
      height_(static_cast<float>(camera.height)),
      wrap_(wrap_width(camera)) {}

// As ProjectBlock and cover() of renderer/raster/cpu/project.cpp.
bool TileLists::hold(const GaussianModel& model, std::size_t i, int column, int row) const {
    const Row g = row_of(model, i, options_.scale_modifier);
    const auto p = std::visit(
        [&](const auto& through) { return math::project(through, g.mean, g.scale, g.quat); },
        camera_);
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
    const TileBox tiles = tile_box(rules_, p.mean, extent, box, tiles_x, tiles_y, wrap_);
    if (tiles.empty() || row < tiles.rows.first || row >= tiles.rows.end) return false;
    const TileRange columns =
        rules_.exact_tiles && tiles.several()
            ? ellipse_row(conic.inverse, limit, p.mean, extent, row, tiles_x, wrap_)
            : tiles.columns;
    return (column >= columns.first && column < columns.end) || column + tiles_x < columns.end;
}

}  // namespace gs
