#include "renderer/reference/unscented.h"

#include <cmath>

namespace gs::reference {
namespace {

Vec3d axis_of(const Mat3d& rotation, int k) {
    return {rotation.m[0][k], rotation.m[1][k], rotation.m[2][k]};
}
Vec2<double> times(const Mat2x3& m, Vec3d v) {
    return {m.m[0][0] * v.x + m.m[0][1] * v.y + m.m[0][2] * v.z,
            m.m[1][0] * v.x + m.m[1][1] * v.y + m.m[1][2] * v.z};
}
Vec3d back(const Mat2x3& m, Vec2<double> v) {
    return {m.m[0][0] * v.x + m.m[1][0] * v.y, m.m[0][1] * v.x + m.m[1][1] * v.y,
            m.m[0][2] * v.x + m.m[1][2] * v.y};
}

/// Where the mean's Jacobian puts a point that the lens does not.
void put_straight(const LensPlace& middle, Vec3d offset, SigmaPoint& point) {
    point.pixel = middle.pixel + times(middle.footprint, offset);
    point.by_offset = middle.footprint;
    const double by[3] = {offset.x, offset.y, offset.z};
    point.by_mean = middle.slope;
    for (int r = 0; r < 2; ++r)
        for (int m = 0; m < 3; ++m)  // by axis m of the mean: the footprint bends
            for (int c = 0; c < 3; ++c) point.by_mean.m[r][m] += middle.bend[m].m[r][c] * by[c];
}

/// The copy of a pixel that is nearest to `middle`, where the picture repeats.
void bring_near(double width, Vec2<double> middle, Vec2<double>& pixel) {
    if (width > 0) pixel.x -= width * std::round((pixel.x - middle.x) / width);
}

void weigh(SigmaPlace& place, double width) {
    Vec2<double>& mean = place.mean;
    mean = {0, 0};
    for (const SigmaPoint& p : place.points) mean = mean + p.mean_weight * p.pixel;
    place.cov = {0, 0, 0};
    for (const SigmaPoint& p : place.points) {
        const Vec2<double> by = p.pixel - mean;
        place.cov.xx += p.cov_weight * by.x * by.x;
        place.cov.xy += p.cov_weight * by.x * by.y;
        place.cov.yy += p.cov_weight * by.y * by.y;
    }
    if (width > 0) mean.x -= width * std::floor(mean.x / width);
}

}  // namespace

SigmaPlace sigma_place(const math::LensCamera<Jet>& camera, Vec3d mean, Vec3d scale,
                       const Mat3d& rotation, const SigmaConstants& constants) {
    SigmaPlace out{.middle = place_through(camera, mean)};
    const double alpha2 = constants.alpha * constants.alpha;
    const double lambda = alpha2 * (3 + constants.kappa) - 3, spread = std::sqrt(3 + lambda);
    const double first = lambda / (3 + lambda), rest = 0.5 / (3 + lambda);
    SigmaPoint& centre = out.points[0];
    centre.mean_weight = first;
    centre.cov_weight = first + 1 - alpha2 + constants.beta;
    centre.pixel = out.middle.pixel;
    centre.by_mean = out.middle.slope;
    centre.by_offset = {};
    const double scales[3] = {scale.x, scale.y, scale.z}, width = camera.lens.wrap_width.value;
    for (int k = 0; k < 3; ++k) {
        const Vec3d offset = spread * scales[k] * axis_of(rotation, k);
        const LensPlace ends[2] = {place_through(camera, mean + offset),
                                   place_through(camera, mean - offset)};
        const bool counts = ends[0].valid && ends[1].valid && !ends[0].bounded && !ends[1].bounded;
        for (int i = 0; i < 2; ++i) {
            SigmaPoint& p = out.points[1 + 2 * k + i];
            p.mean_weight = p.cov_weight = rest;
            p.axis = k;
            p.side = i == 0 ? spread : -spread;
            if (!counts) {
                put_straight(out.middle, i == 0 ? offset : -offset, p);
                continue;
            }
            p.pixel = ends[i].pixel;
            p.by_mean = p.by_offset = ends[i].slope;
            bring_near(width, out.middle.pixel, p.pixel);
        }
    }
    weigh(out, width);
    return out;
}

SigmaGradient sigma_backward(const SigmaPlace& place, Vec3d scale, const Mat3d& rotation,
                             Vec2<double> v_mean, Sym2<double> v_cov) {
    const auto through_cov = [&](double weight, Vec2<double> by) {
        return 2 * weight *
               Vec2<double>{v_cov.xx * by.x + v_cov.xy * by.y, v_cov.xy * by.x + v_cov.yy * by.y};
    };
    Vec2<double> mean{0, 0}, v_centre = v_mean;
    for (const SigmaPoint& p : place.points) mean = mean + p.mean_weight * p.pixel;
    for (const SigmaPoint& p : place.points)
        v_centre = v_centre - through_cov(p.cov_weight, p.pixel - mean);
    SigmaGradient out;
    const double scales[3] = {scale.x, scale.y, scale.z};
    for (const SigmaPoint& p : place.points) {
        const Vec2<double> v = p.mean_weight * v_centre + through_cov(p.cov_weight, p.pixel - mean);
        out.mean = out.mean + back(p.by_mean, v);
        const Vec3d v_offset = back(p.by_offset, v);
        out.scale[p.axis] += p.side * dot(axis_of(rotation, p.axis), v_offset);
        const double reach = p.side * scales[p.axis];
        out.rotation.m[0][p.axis] += reach * v_offset.x;
        out.rotation.m[1][p.axis] += reach * v_offset.y;
        out.rotation.m[2][p.axis] += reach * v_offset.z;
    }
    return out;
}

}  // namespace gs::reference
