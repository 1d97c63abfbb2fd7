#include "renderer/reference/project.h"

#include <algorithm>
#include <cmath>

#include "renderer/reference/sh.h"
#include "renderer/reference/unscented.h"

namespace gs::reference {
namespace {

constexpr double kCompensationFloor = 0.005 * 0.005;

// Every intermediate of the forward pass, so that backward reads like its mirror.
struct Steps {
    Vec3d camera;  // mean in camera axes
    Vec3d scale;   // standard deviations
    Quatd unit;    // normalised quaternion
    double quat_length;
    Mat3d rotation;                       // world_from_gaussian
    Mat3d covariance;                     // in the world: R S S R^T
    double u = 0, v = 0;                  // clamped x/z, y/z
    bool u_free = false, v_free = false;  // not clamped
    Mat2x3 jw;                            // Jacobian times camera_from_world
    bool by_lens = false, by_points = false;
    LensPlace place;    // through a lens
    SigmaPlace points;  // by the unscented transform; its middle is `place`
    double xx, xy, yy;  // 2D covariance before blur
    double det0, det1;  // determinants before and after blur
};

double clamp_keeping_nan(double x, double lo, double hi) { return x < lo ? lo : (x > hi ? hi : x); }

void jacobian(const Camera& camera, Steps& s) {
    if (camera.orthographic()) {  // of fx x + cx, fy y + cy
        for (int k = 0; k < 3; ++k) {
            s.jw.m[0][k] = camera.fx * camera.rotation.m[0][k];
            s.jw.m[1][k] = camera.fy * camera.rotation.m[1][k];
        }
        return;
    }
    const double z = s.camera.z, x_over_z = s.camera.x / z, y_over_z = s.camera.y / z;
    const double margin_x = 0.3 * (0.5 * camera.width / camera.fx),
                 margin_y = 0.3 * (0.5 * camera.height / camera.fy);
    s.u = clamp_keeping_nan(x_over_z, -(camera.cx / camera.fx + margin_x),
                            (camera.width - camera.cx) / camera.fx + margin_x);
    s.v = clamp_keeping_nan(y_over_z, -(camera.cy / camera.fy + margin_y),
                            (camera.height - camera.cy) / camera.fy + margin_y);
    s.u_free = s.u == x_over_z;
    s.v_free = s.v == y_over_z;
    const double j[2][3] = {{camera.fx / z, 0, -camera.fx * s.u / z},
                            {0, camera.fy / z, -camera.fy * s.v / z}};
    for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 3; ++c) {
            s.jw.m[r][c] = 0;
            for (int k = 0; k < 3; ++k) s.jw.m[r][c] += j[r][k] * camera.rotation.m[k][c];
        }
}

void project_covariance(Steps& s) {
    double cov[2][2] = {};
    for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b)
            for (int k = 0; k < 3; ++k)
                for (int l = 0; l < 3; ++l)
                    cov[a][b] += s.jw.m[a][k] * s.covariance.m[k][l] * s.jw.m[b][l];
    s.xx = cov[0][0];
    s.xy = 0.5 * (cov[0][1] + cov[1][0]);
    s.yy = cov[1][1];
}

Steps run(const Parameters& p, std::size_t i, const DrawnCamera& drawn, const Options& options) {
    Steps s;
    const Camera& camera = drawn.camera;
    const Vec3d mean{p.at(kMeans, i), p.at(kMeans + 1, i), p.at(kMeans + 2, i)};
    s.camera = camera.rotation * mean + camera.translation;
    s.scale = options.scale_modifier * Vec3d{std::exp(p.at(kLogScales, i)),
                                             std::exp(p.at(kLogScales + 1, i)),
                                             std::exp(p.at(kLogScales + 2, i))};
    const double w = p.at(kQuats, i), x = p.at(kQuats + 1, i), y = p.at(kQuats + 2, i),
                 z = p.at(kQuats + 3, i);
    s.quat_length = std::sqrt(w * w + x * x + y * y + z * z);
    s.unit = {w / s.quat_length, x / s.quat_length, y / s.quat_length, z / s.quat_length};
    s.rotation = rotation_from_quat({w, x, y, z});
    const double variance[3] = {s.scale.x * s.scale.x, s.scale.y * s.scale.y,
                                s.scale.z * s.scale.z};
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
            s.covariance.m[a][b] = 0;
            for (int k = 0; k < 3; ++k)
                s.covariance.m[a][b] += s.rotation.m[a][k] * variance[k] * s.rotation.m[b][k];
        }
    s.by_points = drawn.lens && options.unscented;
    s.by_lens = s.by_points || (drawn.lens && !drawn.straight);
    if (s.by_points) {
        s.points = sigma_place(*drawn.lens, mean, s.scale, s.rotation);
        s.place = s.points.middle;
    } else if (s.by_lens) {
        s.place = place_through(*drawn.lens, mean);
    } else {
        jacobian(camera, s);
    }
    if (s.by_lens) s.jw = s.place.footprint;
    if (s.by_points)
        s.xx = s.points.cov.xx, s.xy = s.points.cov.xy, s.yy = s.points.cov.yy;
    else
        project_covariance(s);
    s.det0 = s.xx * s.yy - s.xy * s.xy;
    s.det1 = (s.xx + options.blur) * (s.yy + options.blur) - s.xy * s.xy;
    return s;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

bool all_finite(const Projected& p) {
    return std::isfinite(p.mean.x + p.mean.y + p.conic.xx + p.conic.xy + p.conic.yy + p.opacity +
                         p.color.x + p.color.y + p.color.z);
}

bool inside(const ClipBox& box, Vec3d p) {
    return p.x >= box.lo.x && p.x <= box.hi.x && p.y >= box.lo.y && p.y <= box.hi.y &&
           p.z >= box.lo.z && p.z <= box.hi.z;
}

int to_pixel(double x, int size) {
    return static_cast<int>(std::clamp(x, 0.0, static_cast<double>(size)));
}

// The pixels that can reach alpha_min, one more on each side; or all pixels of the tiles that the
// profile's square touches.
void set_box(Projected& p, double xx, double xy, double yy, const Camera& camera,
             const Options& options) {
    if (options.square_sigma > 0) {
        const double middle = 0.5 * (xx + yy);
        const double larger =
            middle +
            std::sqrt(std::max(0.1, middle * middle - (xx * yy - xy * xy)));  // 0.1: its guard
        const double r = std::ceil(options.square_sigma * std::sqrt(larger));
        // Positions on the grid of pixel indices, as the paper's code has them.
        const double x = p.mean.x - 0.5, y = p.mean.y - 0.5;
        p.x0 = to_pixel(16 * std::trunc((x - r) / 16), camera.width);
        p.y0 = to_pixel(16 * std::trunc((y - r) / 16), camera.height);
        p.x1 = to_pixel(16 * std::trunc((x + r + 15) / 16), camera.width);
        p.y1 = to_pixel(16 * std::trunc((y + r + 15) / 16), camera.height);
        return;
    }
    if (p.opacity < options.alpha_min) return;
    const double reach = std::sqrt(2 * std::log(p.opacity / options.alpha_min));
    const double half_x = reach * std::sqrt(xx) + 1.5, half_y = reach * std::sqrt(yy) + 1.5;
    p.x0 = to_pixel(std::floor(p.mean.x - half_x), camera.width);
    p.x1 = to_pixel(std::ceil(p.mean.x + half_x), camera.width);
    p.y0 = to_pixel(std::floor(p.mean.y - half_y), camera.height);
    p.y1 = to_pixel(std::ceil(p.mean.y + half_y), camera.height);
    // Beyond one edge of a picture that repeats lies the other.
    if (p.wrap_width > 0 && (p.mean.x < half_x || p.mean.x + half_x > camera.width)) {
        p.x0 = 0;
        p.x1 = camera.width;
    }
}

}  // namespace

Projected project(const Parameters& scene, std::size_t i, const DrawnCamera& drawn,
                  const Options& options) {
    Projected out;
    const Camera& camera = drawn.camera;
    const Steps s = run(scene, i, drawn, options);
    out.depth = s.by_lens ? s.place.depth : s.camera.z;
    out.wrap_width = drawn.wrap_width();
    if (s.by_lens && !s.place.valid) return out;
    if (!(out.depth > options.near_plane && out.depth < options.far_plane)) return out;
    if (!(s.det1 > 0)) return out;
    const Vec3d mean{scene.at(kMeans, i), scene.at(kMeans + 1, i), scene.at(kMeans + 2, i)};
    if (options.clip && !inside(*options.clip, mean)) return out;
    const double xx = s.xx + options.blur, yy = s.yy + options.blur;
    out.conic = {yy / s.det1, -s.xy / s.det1, xx / s.det1};
    out.mean = s.by_points ? s.points.mean : s.by_lens ? s.place.pixel : camera.pixel_of(s.camera);
    if (options.antialiased)
        out.compensation = std::sqrt(std::max(s.det0 / s.det1, kCompensationFloor));
    out.opacity = sigmoid(scene.at(kOpacityLogits, i)) * out.compensation;
    const Vec3d eye = camera.orthographic() ? mean - camera.forward() : camera.position();
    out.color = color_of(scene, i, eye, options);
    if (!all_finite(out)) return out;
    const double rx = std::ceil(3.33 * std::sqrt(xx)), ry = std::ceil(3.33 * std::sqrt(yy));
    if (out.mean.x + rx <= 0 || out.mean.x - rx >= camera.width || out.mean.y + ry <= 0 ||
        out.mean.y - ry >= camera.height)
        return out;
    out.visible = true;
    out.radius_x = static_cast<int>(std::min(rx, 1e9));
    out.radius_y = static_cast<int>(std::min(ry, 1e9));
    set_box(out, xx, s.xy, yy, camera, options);
    return out;
}

namespace {

// Back through conic = (cov + blur I)^-1 and the compensation; returns the symmetric matrix d loss
// / d cov.
Sym2<double> covariance2d_backward(const Steps& s, const Options& options,
                                   const ProjectedGradient& v, double v_compensation) {
    const double xx = s.xx + options.blur, yy = s.yy + options.blur;
    const double k[2][2] = {{yy / s.det1, -s.xy / s.det1}, {-s.xy / s.det1, xx / s.det1}};
    const double g[2][2] = {{v.conic.xx, 0.5 * v.conic.xy}, {0.5 * v.conic.xy, v.conic.yy}};
    double out[2][2] = {};
    for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b)
            for (int c = 0; c < 2; ++c)
                for (int d = 0; d < 2; ++d) out[a][b] -= k[a][c] * g[c][d] * k[d][b];
    const double ratio = s.det0 / s.det1;
    if (options.antialiased && ratio > kCompensationFloor) {
        // d det / d xx = yy, d det / d xy = -2 xy (half of it in each off-diagonal place).
        const double v_ratio = v_compensation * 0.5 / std::sqrt(ratio);
        const double v0 = v_ratio / s.det1, v1 = -v_ratio * s.det0 / (s.det1 * s.det1);
        out[0][0] += v0 * s.yy + v1 * yy;
        out[1][1] += v0 * s.xx + v1 * xx;
        out[0][1] -= (v0 + v1) * s.xy;
    }
    return {out[0][0], out[0][1], out[1][1]};
}

// R(q / |q|) entry by entry: derivative of the matrix with respect to each unit component, then
// through the normalisation.
void quaternion_backward(const Steps& s, const Mat3d& v_rotation, std::size_t i,
                         Parameters& gradients) {
    const double w = s.unit.w, x = s.unit.x, y = s.unit.y, z = s.unit.z;
    const double slope[4][3][3] = {
        {{0, -2 * z, 2 * y}, {2 * z, 0, -2 * x}, {-2 * y, 2 * x, 0}},
        {{0, 2 * y, 2 * z}, {2 * y, -4 * x, -2 * w}, {2 * z, 2 * w, -4 * x}},
        {{-4 * y, 2 * x, 2 * w}, {2 * x, 0, 2 * z}, {-2 * w, 2 * z, -4 * y}},
        {{-4 * z, -2 * w, 2 * x}, {2 * w, -4 * z, 2 * y}, {2 * x, 2 * y, 0}},
    };
    const double unit[4] = {w, x, y, z};
    double v_unit[4] = {}, along = 0;
    for (int q = 0; q < 4; ++q) {
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b) v_unit[q] += slope[q][a][b] * v_rotation.m[a][b];
        along += v_unit[q] * unit[q];
    }
    for (int q = 0; q < 4; ++q)
        gradients.at(kQuats + q, i) += (v_unit[q] - along * unit[q]) / s.quat_length;
}

// Covariance = R diag(s^2) R^T, v: symmetric gradient with respect to it.
void covariance3d_backward(const Steps& s, const Mat3d& v, std::size_t i, Parameters& gradients) {
    const double scale[3] = {s.scale.x, s.scale.y, s.scale.z};
    Mat3d v_rotation;
    for (int k = 0; k < 3; ++k) {
        double v_variance = 0;
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b) {
                v_variance += s.rotation.m[a][k] * v.m[a][b] * s.rotation.m[b][k];
                v_rotation.m[a][k] += 2 * v.m[a][b] * s.rotation.m[b][k] * scale[k] * scale[k];
            }
        gradients.at(kLogScales + k, i) +=
            2 * scale[k] * scale[k] * v_variance;  // d s^2 / d log s = 2 s^2
    }
    quaternion_backward(s, v_rotation, i, gradients);
}

// Gradient with respect to the mean in the world, through a lens.
Vec3d lens_backward(const Steps& s, const ProjectedGradient& v, const Mat2x3& v_jw) {
    const LensPlace& p = s.place;
    double out[3];
    for (int k = 0; k < 3; ++k) {
        out[k] = v.mean.x * p.slope.m[0][k] + v.mean.y * p.slope.m[1][k];
        for (int r = 0; r < 2; ++r)
            for (int c = 0; c < 3; ++c) out[k] += v_jw.m[r][c] * p.bend[k].m[r][c];
    }
    return Vec3d{out[0], out[1], out[2]} + v.depth * p.depth_slope;
}

// All of it by the unscented transform.
void points_backward(const Steps& s, const ProjectedGradient& v, const Sym2<double>& v_cov,
                     std::size_t i, Parameters& gradients) {
    const SigmaGradient g = sigma_backward(s.points, s.scale, s.rotation, v.mean, v_cov);
    const double scale[3] = {s.scale.x, s.scale.y, s.scale.z};
    for (int k = 0; k < 3; ++k) gradients.at(kLogScales + k, i) += scale[k] * g.scale[k];
    quaternion_backward(s, g.rotation, i, gradients);
    const Vec3d v_mean = g.mean + v.depth * s.place.depth_slope;
    gradients.at(kMeans, i) += v_mean.x;
    gradients.at(kMeans + 1, i) += v_mean.y;
    gradients.at(kMeans + 2, i) += v_mean.z;
}

// Gradient with respect to the mean in camera axes: picture position, depth, and the Jacobian.
Vec3d mean_backward(const Steps& s, const Camera& camera, const ProjectedGradient& v,
                    const Mat2x3& v_jw) {
    double v_j[2][3] = {};
    for (int r = 0; r < 2; ++r)
        for (int k = 0; k < 3; ++k)
            for (int c = 0; c < 3; ++c) v_j[r][k] += v_jw.m[r][c] * camera.rotation.m[k][c];
    const double x = s.camera.x, y = s.camera.y, z = s.camera.z, fx = camera.fx, fy = camera.fy;
    Vec3d out{fx / z * v.mean.x, fy / z * v.mean.y,
              v.depth - (fx * x * v.mean.x + fy * y * v.mean.y) / (z * z)};
    // J = [fx/z 0 -fx u/z; 0 fy/z -fy v/z] with u = x/z where it is free.
    out.z += -fx / (z * z) * v_j[0][0] + fx * s.u / (z * z) * v_j[0][2];
    out.z += -fy / (z * z) * v_j[1][1] + fy * s.v / (z * z) * v_j[1][2];
    if (s.u_free) {
        out.x += -fx / (z * z) * v_j[0][2];
        out.z += fx * x / (z * z * z) * v_j[0][2];
    }
    if (s.v_free) {
        out.y += -fy / (z * z) * v_j[1][2];
        out.z += fy * y / (z * z * z) * v_j[1][2];
    }
    return out;
}

}  // namespace

void project_backward(const Parameters& scene, std::size_t i, const DrawnCamera& drawn,
                      const Options& options, const ProjectedGradient& v, Parameters& gradients) {
    const Camera& camera = drawn.camera;
    const Steps s = run(scene, i, drawn, options);
    const double opacity = sigmoid(scene.at(kOpacityLogits, i));
    const double compensation =
        options.antialiased ? std::sqrt(std::max(s.det0 / s.det1, kCompensationFloor)) : 1;
    gradients.at(kOpacityLogits, i) += v.opacity * compensation * opacity * (1 - opacity);

    const Sym2<double> g2 = covariance2d_backward(s, options, v, v.opacity * opacity);
    color_backward(scene, i, camera.position(), options, v.color, gradients);
    if (s.by_points) return points_backward(s, v, g2, i, gradients);
    const double g[2][2] = {{g2.xx, g2.xy}, {g2.xy, g2.yy}};
    // cov2d = A C A^T: dC = A^T G A, dA = 2 G A C.
    Mat3d v_covariance;
    Mat2x3 v_jw{};
    for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b)
            for (int k = 0; k < 3; ++k)
                for (int l = 0; l < 3; ++l) {
                    v_covariance.m[k][l] += s.jw.m[a][k] * g[a][b] * s.jw.m[b][l];
                    v_jw.m[a][k] += 2 * g[a][b] * s.jw.m[b][l] * s.covariance.m[l][k];
                }
    covariance3d_backward(s, v_covariance, i, gradients);
    const Vec3d v_mean = s.by_lens ? lens_backward(s, v, v_jw)
                                   : transpose(camera.rotation) * mean_backward(s, camera, v, v_jw);
    gradients.at(kMeans, i) += v_mean.x;
    gradients.at(kMeans + 1, i) += v_mean.y;
    gradients.at(kMeans + 2, i) += v_mean.z;
}

}  // namespace gs::reference
