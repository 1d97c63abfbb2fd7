#include "renderer/scene/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/nth.h"
#include "base/parallel.h"
#include "renderer/scene/camera_lens.h"
#include "renderer/scene/crop.h"
#include "renderer/scene/lost_views.h"

namespace gs {
namespace {

constexpr double kMargin = 0.2;      // of a block's width, on each side
constexpr double kLeastShare = 0.1;  // of the points in a picture
constexpr double kOutermost = 0.05;  // of the points on each side say nothing about the width

using Axis = float Vec3f::*;
constexpr Axis kAxes[] = {&Vec3f::x, &Vec3f::y, &Vec3f::z};

/// The axis nearest to what the cameras have above them; cuts are along the other two.
std::size_t vertical_axis(const Capture& capture) {
    Vec3d up{};
    for (const View& view : capture.views) {
        const auto& down = view.camera.rotation.m[1];
        up = up + Vec3d{-down[0], -down[1], -down[2]};
    }
    const double along[] = {std::abs(up.x), std::abs(up.y), std::abs(up.z)};
    return static_cast<std::size_t>(std::max_element(along, along + 3) - along);
}

struct Width {
    float lo = 0, hi = 0;
    float size() const { return hi - lo; }
};
Width width_of(std::span<const Vec3f> points, Axis axis) {
    std::vector<float> values;
    for (const Vec3f& p : points) values.push_back(p.*axis);
    return {quantile(values, kOutermost), quantile(values, 1 - kOutermost)};
}

/// Cuts regions of points until there are as many as asked for.
class Cutter {
  public:
    explicit Cutter(std::size_t vertical) {
        for (std::size_t a = 0; a < 3; ++a)
            if (a != vertical) ground_.push_back(kAxes[a]);
    }
    /// False: too few points with places of their own. Reorders them.
    bool cut(std::span<Vec3f> points, const BlockRegion& region, std::size_t count,
             std::vector<CaptureBlock>& out) const {
        if (points.empty()) return false;
        if (count == 1) {
            out.push_back({region, with_margin(points, region), {}});
            return true;
        }
        const std::size_t before = count / 2, rank = points.size() * before / count;
        Axis axis = longer(points);
        auto at = plane_across(points, axis, rank);
        if (!at) {
            axis = axis == ground_[0] ? ground_[1] : ground_[0];
            at = plane_across(points, axis, rank);
        }
        if (!at) return false;
        const float plane = *at;
        const auto middle = std::partition(points.begin(), points.end(),
                                           [&](const Vec3f& p) { return p.*axis < plane; });
        BlockRegion low = region, high = region;
        low.hi.*axis = high.lo.*axis = plane;
        return cut({points.begin(), middle}, low, before, out) &&
               cut({middle, points.end()}, high, count - before, out);
    }

  private:
    /// The value of the point of this rank, or the next larger one where none is smaller, so that
    /// both sides have points. nullopt: all are at one value.
    static std::optional<float> plane_across(std::span<const Vec3f> points, Axis axis,
                                             std::size_t rank) {
        std::vector<float> values;
        for (const Vec3f& p : points) values.push_back(p.*axis);
        std::ranges::sort(values);
        const auto at = values[rank] > values.front()
                            ? values.begin() + static_cast<std::ptrdiff_t>(rank)
                            : std::ranges::upper_bound(values, values.front());
        return at == values.end() ? std::nullopt : std::optional(*at);
    }
    Axis longer(std::span<const Vec3f> points) const {
        return width_of(points, ground_[0]).size() >= width_of(points, ground_[1]).size()
                   ? ground_[0]
                   : ground_[1];
    }
    BlockRegion with_margin(std::span<const Vec3f> points, BlockRegion region) const {
        for (const Axis axis : ground_) {
            const Width inner = width_of(points, axis);
            const auto margin = [&](float lo, float hi) {
                return static_cast<float>(kMargin) * std::max(0.0f, hi - lo);
            };
            const float across =
                margin(std::isfinite(region.lo.*axis) ? region.lo.*axis : inner.lo,
                       std::isfinite(region.hi.*axis) ? region.hi.*axis : inner.hi);
            region.lo.*axis -= across;
            region.hi.*axis += across;
        }
        return region;
    }

    std::vector<Axis> ground_;
};

/// Whether the way from `from` to `to` enters the region.
bool crosses(const BlockRegion& region, Vec3d from, Vec3d to) {
    double first = 0, last = 1;
    const auto between = [&](double lo, double hi, double begin, double end) {
        const double way = end - begin;
        if (way == 0) return begin >= lo && begin < hi;
        const double a = (lo - begin) / way, b = (hi - begin) / way;
        first = std::max(first, std::min(a, b));
        last = std::min(last, std::max(a, b));
        return first <= last;
    };
    const auto lo = region.lo, hi = region.hi;
    return between(static_cast<double>(lo.x), static_cast<double>(hi.x), from.x, to.x) &&
           between(static_cast<double>(lo.y), static_cast<double>(hi.y), from.y, to.y) &&
           between(static_cast<double>(lo.z), static_cast<double>(hi.z), from.z, to.z);
}

/// By block: whether the view looks through it.
std::vector<bool> blocks_of_view(const Camera& camera, std::span<const CaptureBlock> blocks,
                                 std::span<const Vec3d> points) {
    const auto lens = math::make_point_lens(camera);
    const Vec3d from = camera.position();
    std::vector<std::size_t> through(blocks.size());
    std::size_t seen = 0;
    for (const Vec3d& point : points) {
        const auto at = math::lens_project(lens, camera.rotation * point + camera.translation);
        if (!at.valid ||
            !(at.uv.x >= 0 && at.uv.y >= 0 && at.uv.x < camera.width && at.uv.y < camera.height))
            continue;
        ++seen;
        for (std::size_t b = 0; b < blocks.size(); ++b)
            through[b] += crosses(blocks[b].wide, from, point) ? 1 : 0;
    }
    std::vector<bool> out(blocks.size());
    for (std::size_t b = 0; b < blocks.size(); ++b)
        out[b] = crosses(blocks[b].wide, from, from) ||
                 (seen > 0 &&
                  static_cast<double>(through[b]) >= kLeastShare * static_cast<double>(seen));
    return out;
}

tl::unexpected<Error> too_many(const Capture& capture, std::string why) {
    return fail(ErrorKind::usage, capture.path, std::move(why), "cut it into fewer blocks");
}

}  // namespace

Result<std::vector<CaptureBlock>> cut_into_blocks(const Capture& capture, std::size_t count) {
    std::vector<Vec3f> points;
    for (const SparsePoint& p : capture.points)
        if (std::isfinite(p.position.x + p.position.y + p.position.z)) points.push_back(p.position);
    std::vector<CaptureBlock> out;
    if (!Cutter(vertical_axis(capture)).cut(points, {}, count, out))
        return too_many(capture, fmt::format("its {} are too few for {} blocks",
                                             counted(points.size(), "point"), count));
    const std::vector<Vec3d> some = some_points(capture.points);
    std::vector<std::vector<bool>> sees(capture.views.size());
    parallel_for(sees.size(), 1, [&](std::size_t v) {
        sees[v] = blocks_of_view(capture.views[v].camera, out, some);
    });
    for (std::size_t b = 0; b < count; ++b) {
        CaptureBlock& block = out[b];
        for (std::size_t v = 0; v < sees.size(); ++v)
            if (sees[v][b]) block.views.push_back(v);
        if (std::ranges::none_of(block.views,
                                 [&](std::size_t v) { return !capture.views[v].test; }))
            return too_many(capture,
                            fmt::format("block {} of {} has no photo to train on", b + 1, count));
    }
    return out;
}

BlockRegion widened(const CaptureBlock& block, float times) {
    BlockRegion out = block.own;
    for (const Axis axis : kAxes) {
        if (std::isfinite(out.lo.*axis))
            out.lo.*axis -= times * (out.lo.*axis - block.wide.lo.*axis);
        if (std::isfinite(out.hi.*axis))
            out.hi.*axis += times * (block.wide.hi.*axis - out.hi.*axis);
    }
    return out;
}

void keep_points_of_block(const BlockPoints& block, std::vector<SparsePoint>& points) {
    const auto inside = static_cast<std::size_t>(std::ranges::count_if(
        points, [&](const SparsePoint& p) { return block.wide.holds(p.position); }));
    if (inside == 0) return;
    const std::size_t outside = points.size() - inside,
                      wanted = std::max(inside, std::max(block.most, inside) - inside),
                      step = std::max<std::size_t>(1, (outside + wanted - 1) / wanted);
    std::size_t n = 0;
    std::erase_if(points, [&](const SparsePoint& p) {
        return !block.wide.holds(p.position) && n++ % step != 0;
    });
}

std::uint64_t hash_of_cut(const Capture& capture, std::span<const CaptureBlock> blocks) {
    std::vector<double> numbers{capture.origin.x, capture.origin.y, capture.origin.z};
    const auto add = [&](const auto& values) {
        for (const auto value : values) numbers.push_back(static_cast<double>(value));
    };
    std::uint64_t names = 0;
    for (const View& view : capture.views) {
        const Camera& c = view.camera;
        names = hash_bytes(std::as_bytes(std::span(view.name)), names);
        for (const auto& row : c.rotation.m) add(row);
        add(c.distortion);
        add(std::initializer_list<double>{c.translation.x, c.translation.y, c.translation.z, c.fx,
                                          c.fy, c.cx, c.cy, static_cast<double>(c.model),
                                          static_cast<double>(c.width),
                                          static_cast<double>(c.height), view.test ? 1.0 : 0.0});
    }
    for (const CaptureBlock& block : blocks) {
        for (const Vec3f& p : {block.own.lo, block.own.hi, block.wide.lo, block.wide.hi})
            add(std::initializer_list<float>{p.x, p.y, p.z});
        add(block.views);
    }
    const std::uint64_t seen = hash_array(std::span<const double>(numbers), names);
    std::vector<float> points;
    for (const SparsePoint& p : capture.points)
        points.insert(points.end(), {p.position.x, p.position.y, p.position.z});
    return hash_array(std::span<const float>(points), seen);
}

GaussianModel chosen(const GaussianModel& model, const std::function<bool(Vec3f mean)>& choose) {
    std::vector<std::uint32_t> rows;
    for (std::size_t row = 0; row < model.count; ++row)
        if (choose(model.mean(row))) rows.push_back(static_cast<std::uint32_t>(row));
    return gathered(model, rows);
}

GaussianModel joined(std::vector<GaussianModel> parts) {
    CHECK(!parts.empty());
    const std::size_t count = std::accumulate(
        parts.begin(), parts.end(), std::size_t{0},
        [](std::size_t sum, const GaussianModel& part) { return sum + part.count; });
    GaussianModel out = GaussianModel::to_fill(count, parts[0].sh_degree);
    out.set_about(parts[0]);
    std::size_t row = 0;
    for (GaussianModel& part : parts) {
        CHECK(part.sh_degree == out.sh_degree);
        for (int p = 0; p < out.planes(); ++p)
            std::copy_n(part.plane(p), part.count, out.plane(p) + row);
        row += part.count;
        part = {};
    }
    return out;
}

GaussianModel without_faintest(GaussianModel model, const BlockRegion& own, std::size_t most) {
    if (model.count <= most) return model;
    std::vector<std::uint32_t> rows, outside;
    for (std::uint32_t row = 0; row < model.count; ++row)
        (own.holds(model.mean(row)) ? rows : outside).push_back(row);
    const float* opacity = model.plane(kOpacityLogits);
    std::ranges::stable_sort(
        outside, [&](std::uint32_t a, std::uint32_t b) { return opacity[a] > opacity[b]; });
    outside.resize(most - std::min(most, rows.size()));  // of more than that
    rows.insert(rows.end(), outside.begin(), outside.end());
    std::ranges::sort(rows);
    return gathered(model, rows);
}

}  // namespace gs
