#include "renderer/inspect/inspect.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/parallel.h"
#include "renderer/inspect/gather.h"
#include "renderer/raster/view_setup.h"
#include "renderer/reference/blend.h"
#include "renderer/reference/sh.h"

namespace gs {
namespace {

/// Projected at a time: what is looked at in double is some 500 bytes each.
constexpr std::size_t kRowsAtATime = 65536;

/// These rows of the model alone.
reference::Parameters parameters_of(const GaussianModel& model,
                                    std::span<const std::uint64_t> rows) {
    reference::Parameters out(rows.size(), model.sh_degree);
    for (int p = 0; p < out.planes(); ++p)
        for (std::size_t i = 0; i < rows.size(); ++i)
            out.at(p, i) = static_cast<double>(model.at(p, rows[i]));
    return out;
}

PixelRect tile_rect(int x, int y, int width, int height) {
    const int x0 = x / kTileSize * kTileSize, y0 = y / kTileSize * kTileSize;
    return {x0, y0, std::min(x0 + kTileSize, width), std::min(y0 + kTileSize, height)};
}

bool all_finite(Vec3d v) { return std::isfinite(v.x + v.y + v.z); }

bool reaches(const reference::Projected& p, int x, int y) {
    return p.visible && x >= p.x0 && x < p.x1 && y >= p.y0 && y < p.y1;
}
bool reaches(const reference::Projected& p, const PixelRect& rect) {
    return p.visible && p.x0 < rect.x1 && p.x1 > rect.x0 && p.y0 < rect.y1 && p.y1 > rect.y0;
}

}  // namespace

reference::Options oracle_options(const RenderOptions& options, const Sky& sky) {
    const RasterRules rules = rules_for(options);
    const auto wide = [](float v) { return static_cast<double>(v); };
    reference::Options out;
    out.background = {wide(options.background.x), wide(options.background.y),
                      wide(options.background.z)};
    if (options.sky) out.sky = sky;
    out.sh_degree = options.sh_degree;
    out.scale_modifier = wide(options.scale_modifier);
    out.antialiased = options.antialiased;
    out.blur = wide(options.blur);
    out.near_plane = wide(rules.near_plane);
    out.clip = options.clip;
    out.unscented = options.projection == ProjectionMethod::ut;
    out.alpha_max = wide(rules.alpha_max);
    out.alpha_min = wide(rules.alpha_min);
    out.transmittance_min = wide(rules.transmittance_min);
    out.stop_at_equal = rules.stop_at_equal;
    out.square_sigma = rules.square_extent ? wide(rules.extent_sigma) : 0;
    return out;
}

PixelWalk::PixelWalk(const GaussianModel& model, const Camera& camera, const RenderOptions& options,
                     int x, int y, int reach)
    : options_(oracle_options(options, model.sky)),
      pixels_(camera),
      width_(camera.width),
      height_(camera.height),
      x_(x),
      y_(y),
      reach_(reach) {
    RenderOptions plain = options;
    plain.gradients = plain.costs = false;  // neither is asked of a rasterizer here
    check_drawable(camera, plain);
    CHECK(x >= 0 && y >= 0 && x < width_ && y < height_, "a pixel of the picture is asked about");
    const PixelRect tile = tile_rect(x, y, width_, height_), square = around();
    const PixelRect both{std::min(tile.x0, square.x0), std::min(tile.y0, square.y0),
                         std::max(tile.x1, square.x1), std::max(tile.y1, square.y1)};
    const std::vector<std::uint64_t> rows = rows_near(model, camera, options, both);
    for (std::size_t at = 0; at < rows.size(); at += kRowsAtATime) {
        const std::size_t count = std::min(kRowsAtATime, rows.size() - at);
        add_rows(model, camera, options, std::span(rows).subspan(at, count), both);
    }
    std::ranges::stable_sort(near_, [](const Near& a, const Near& b) {
        return reference::in_front(a.projected, b.projected);
    });
}

void PixelWalk::add_rows(const GaussianModel& model, const Camera& camera,
                         const RenderOptions& options, std::span<const std::uint64_t> rows,
                         const PixelRect& rect) {
    const reference::Parameters scene = parameters_of(model, rows);
    const TileLists lists(camera, options);
    std::vector<Near> all(rows.size());
    parallel_for(rows.size(), 256, [&](std::size_t i) {
        Near& one = all[i];
        one.row = rows[i];
        one.projected = reference::project(scene, i, camera, options_);
        one.listed = all_finite(one.projected.color) &&
                     lists.hold(model, rows[i], x_ / kTileSize, y_ / kTileSize);
        one.hidden = options.tint && rows[i] < options.tint->words.size() &&
                     options.tint->words[rows[i]] == GaussianTint::kHidden;
    });
    std::copy_if(all.begin(), all.end(), std::back_inserter(near_),
                 [&](const Near& one) { return one.listed || reaches(one.projected, rect); });
}

PixelRect PixelWalk::around() const {
    return {std::max(0, x_ - reach_), std::max(0, y_ - reach_), std::min(width_, x_ + reach_ + 1),
            std::min(height_, y_ + reach_ + 1)};
}

/// Calls visit(near, evaluation, fate, pixel behind it) front to back until it returns false.
template <class F>
void PixelWalk::walk(int x, int y, F&& visit) const {
    reference::PixelBlend pixel;
    for (const Near& one : near_) {
        const reference::Evaluation e = reference::evaluate(one.projected, x, y, options_);
        PixelFate fate = PixelFate::outside;
        pixel.fragile = false;
        if (one.hidden) {
            fate = PixelFate::hidden;
        } else if (pixel.done) {
            fate = PixelFate::after;
        } else if (reaches(one.projected, x, y)) {
            switch (pixel.add(one.projected, e, options_)) {
                case reference::Fate::blended:
                    fate = PixelFate::blended;
                    break;
                case reference::Fate::ends:
                    fate = PixelFate::ends;
                    break;
                case reference::Fate::after:
                    fate = PixelFate::after;
                    break;
                case reference::Fate::faint:
                    fate = e.gaussian < options_.alpha_min ? PixelFate::outside : PixelFate::faint;
                    break;
            }
        } else if (one.projected.visible && e.gaussian >= options_.alpha_min) {
            fate = PixelFate::faint;
        }
        if (!visit(one, e, fate, pixel)) return;
    }
}

Vec3d PixelWalk::color_behind(int x, int y) const {
    return reference::color_behind(pixels_.ray_of(x + 0.5, y + 0.5), options_);
}

PixelReport PixelWalk::report() const {
    PixelReport out{.x = x_, .y = y_, .background = color_behind(x_, y_)};
    reference::PixelBlend end;
    walk(x_, y_,
         [&](const Near& one, const reference::Evaluation& e, PixelFate fate,
             const reference::PixelBlend& pixel) {
             out.fragile |= pixel.fragile;
             if (one.listed || fate == PixelFate::blended) {
                 const reference::Projected& p = one.projected;
                 PixelEntry entry{.row = one.row,
                                  .fate = fate,
                                  .fragile = pixel.fragile,
                                  .depth = p.depth,
                                  .opacity = p.opacity,
                                  .alpha = e.alpha,
                                  .before = end.transmittance};
                 entry.weight = fate == PixelFate::blended ? entry.before * e.alpha : 0;
                 entry.color = p.color;
                 entry.running = pixel.color;
                 entry.mean = p.mean;
                 entry.conic = p.conic;
                 out.entries.push_back(entry);
             }
             end = pixel;
             return true;
         });
    out.color = end.color + end.transmittance * out.background;
    out.transmittance = end.transmittance;
    out.alpha = end.alpha;
    out.depth = end.depth;
    out.median_depth = end.median_depth;
    out.contributors = end.contributors;
    out.tile = tile_report();
    return out;
}

TileReport PixelWalk::tile_report() const {
    const PixelRect rect = tile_rect(x_, y_, width_, height_);
    TileReport out{
        .column = x_ / kTileSize,
        .row = y_ / kTileSize,
        .x0 = rect.x0,
        .y0 = rect.y0,
        .width = rect.x1 - rect.x0,
        .height = rect.y1 - rect.y0,
        .listed = static_cast<std::uint64_t>(std::ranges::count_if(near_, &Near::listed))};
    const auto pixels = static_cast<std::size_t>(out.width) * static_cast<std::size_t>(out.height);
    out.stops.resize(pixels);
    out.step = near_.size() > kSampledFrom ? kTileSize / 4 : 1;
    const auto asked = [&](int i) { return i / out.step * out.step; };
    std::vector<std::uint32_t> blended(pixels, 0);
    parallel_for(pixels, 16, [&](std::size_t i) {
        const int column = static_cast<int>(i) % out.width, row = static_cast<int>(i) / out.width;
        if (column != asked(column) || row != asked(row)) return;
        const int x = rect.x0 + column, y = rect.y0 + row;
        std::uint32_t position = 0;
        walk(x, y,
             [&](const Near& one, const reference::Evaluation&, PixelFate fate,
                 const reference::PixelBlend&) {
                 position += one.listed ? 1 : 0;
                 blended[i] += fate == PixelFate::blended ? 1 : 0;
                 return fate != PixelFate::ends;
             });
        out.stops[i] = position;
    });
    for (std::size_t i = 0; i < pixels; ++i) {
        const int column = static_cast<int>(i) % out.width, row = static_cast<int>(i) / out.width;
        const auto from = static_cast<std::size_t>(asked(row) * out.width + asked(column));
        out.stops[i] = out.stops[from];
        out.evaluated += out.stops[from];
        out.blended += blended[from];
    }
    return out;
}

ImageF PixelWalk::colors(const PixelRect& rect) const {
    ImageF out(rect.x1 - rect.x0, rect.y1 - rect.y0, 3);
    parallel_for(out.pixels(), 16, [&](std::size_t i) {
        const int x = rect.x0 + static_cast<int>(i) % out.width,
                  y = rect.y0 + static_cast<int>(i) / out.width;
        reference::PixelBlend end;
        walk(x, y,
             [&](const Near&, const reference::Evaluation&, PixelFate,
                 const reference::PixelBlend& pixel) {
                 end = pixel;
                 return !pixel.done;
             });
        const Vec3d color = end.color + end.transmittance * color_behind(x, y);
        out.plane(0)[i] = static_cast<float>(color.x);
        out.plane(1)[i] = static_cast<float>(color.y);
        out.plane(2)[i] = static_cast<float>(color.z);
    });
    return out;
}

void PixelWalk::share_out(Vec3d v_color, PixelReport& report) const {
    reference::PixelBackward state{.transmittance = report.transmittance, .v_color = v_color};
    state.behind = report.transmittance * dot(report.background, v_color);
    double sum = 0;
    for (std::size_t i = report.entries.size(); i-- > 0;) {
        PixelEntry& entry = report.entries[i];
        entry.v_alpha = entry.share = 0;
        if (entry.fate != PixelFate::blended) continue;
        reference::Projected p{.depth = entry.depth, .color = entry.color};
        reference::Evaluation e{};
        e.alpha = entry.alpha;
        entry.v_alpha = state.pass(p, e).v_alpha;
        const double by_color = entry.weight * entry.weight * dot(v_color, v_color);
        entry.share = std::sqrt(by_color + entry.v_alpha * entry.v_alpha);
        sum += entry.share;
    }
    for (PixelEntry& entry : report.entries) entry.share /= sum > 0 ? sum : 1;
}

}  // namespace gs
