// Flat arrays through a distorted lens that rolls, by the unscented transform and along rays, are
// what the oracle has.
#include <gtest/gtest.h>

#include <cmath>

#include "renderer/math/project.h"
#include "renderer/math/scalar.h"
#include "renderer/raster/tensor_ops.h"
#include "renderer/reference/rays.h"
#include "renderer/reference/unscented.h"
#include "renderer/scene/camera_lens.h"
#include "tests/support/compare.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

using Floats = std::vector<float>;
constexpr int kWide = 150, kHigh = 90;

double sample(std::uint64_t stream, std::uint64_t i) { return random_in(77, stream, i, -1, 1); }
Floats samples(std::uint64_t stream, std::size_t n) {
    Floats out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(sample(stream, i));
    return out;
}

/// A camera whose numbers are floats, as those of arrays.
struct Bent {
    Camera camera;
    Floats first = Floats(16), last = Floats(16), K = Floats(9), distortion = Floats(12);

    explicit Bent(bool rolling) {
        camera = random_camera(3, 0, kWide, kHigh);
        camera.model = CameraModel::full_opencv;
        const double k[12] = {-0.08, 0.02,  0.004,  -0.006, 0.003, 0.01,
                              0.002, 0.001, -0.003, 0.002,  0.004, -0.001};
        for (std::size_t i = 0; i < 12; ++i)
            camera.distortion[i] = distortion[i] = static_cast<float>(k[i]);
        camera.fx = K[0] = static_cast<float>(camera.fx);
        camera.fy = K[4] = static_cast<float>(camera.fy);
        camera.cx = K[2] = static_cast<float>(camera.cx);
        camera.cy = K[5] = static_cast<float>(camera.cy);
        const Pose pose{camera.rotation, camera.translation};
        camera.first = rounded(pose, first);
        const Mat3d turn = rotation_from_quat({1, 0.02, -0.03, 0.01});
        camera.last =
            rounded({turn * pose.rotation, pose.translation + Vec3d{0.1, -0.05, 0.08}}, last);
        camera.rotation = camera.first.rotation;
        camera.translation = camera.first.translation;
        if (!rolling) return;
        camera.shutter = Shutter::bottom_to_top;
        const Pose middle = pose_between(camera.first, camera.last, 0.5);
        camera.rotation = middle.rotation, camera.translation = middle.translation;
    }
    static Pose rounded(Pose pose, Floats& view) {
        double* t[3] = {&pose.translation.x, &pose.translation.y, &pose.translation.z};
        for (std::size_t i = 0; i < 3; ++i) {
            for (std::size_t j = 0; j < 3; ++j)
                pose.rotation.m[i][j] = view[4 * i + j] = static_cast<float>(pose.rotation.m[i][j]);
            *t[i] = view[4 * i + 3] = static_cast<float>(*t[i]);
        }
        return pose;
    }
    void set(tensor::CameraInput& in) const {
        in.viewmats = first.data(), in.Ks = K.data(), in.distortion = distortion.data();
        in.model = camera.model, in.width = kWide, in.height = kHigh;
        in.shutter = camera.shutter, in.viewmats_rs = last.data();
    }
};

/// Gaussians as arrays.
struct World {
    std::size_t n;
    Floats means, quats, scales, opacities;
    reference::Parameters parameters;

    World() : n(0) {
        const GaussianModel model = random_model({});
        n = model.count;
        parameters = reference::Parameters(model);
        for (std::size_t i = 0; i < n; ++i) {
            for (int k = 0; k < 3; ++k) means.push_back(model.at(kMeans + k, i));
            for (int k = 0; k < 4; ++k) quats.push_back(model.at(kQuats + k, i));
            for (int k = 0; k < 3; ++k) {
                scales.push_back(0.3f * std::exp(model.at(kLogScales + k, i)));
                parameters.at(kLogScales + k, i) = std::log(static_cast<double>(scales.back()));
            }
            opacities.push_back(math::sigmoid(model.at(kOpacityLogits, i)));
        }
    }
    Vec3d mean(std::size_t i) const { return {means[3 * i], means[3 * i + 1], means[3 * i + 2]}; }
    Vec3d scale(std::size_t i) const {
        return {scales[3 * i], scales[3 * i + 1], scales[3 * i + 2]};
    }
    Quatd quat(std::size_t i) const {
        return {quats[4 * i], quats[4 * i + 1], quats[4 * i + 2], quats[4 * i + 3]};
    }
};

void expect_the_points(bool rolling) {
    const World w;
    const Bent bent(rolling);
    tensor::ProjectInput in{};
    bent.set(in);
    in.sizes = {1, 1, w.n};
    in.means = w.means.data(), in.quats = w.quats.data(), in.scales = w.scales.data();
    in.opacities = w.opacities.data(), in.unscented = true;
    std::vector<std::int32_t> radii(2 * w.n);
    Floats means2d(2 * w.n), depths(w.n), conics(3 * w.n), opacities(w.n);
    tensor::project(in,
                    {radii.data(), means2d.data(), depths.data(), conics.data(), opacities.data()});
    const Floats v_means2d = samples(1, 2 * w.n), v_conics = samples(2, 3 * w.n),
                 v_depths = samples(3, w.n);
    Floats v_means(3 * w.n), v_quats(4 * w.n), v_scales(3 * w.n);
    tensor::project_vjp(
        in, radii.data(), {v_means2d.data(), v_depths.data(), v_conics.data(), nullptr},
        {v_means.data(), v_quats.data(), v_scales.data(), nullptr, nullptr, nullptr});

    const auto jets = math::lens_camera_cast<reference::Jet>(
        math::LensCamera<double>{bent.camera.rotation, bent.camera.translation,
                                 math::make_lens(bent.camera), math::make_rolling(bent.camera)});
    std::size_t drawn = 0;
    std::vector<double> ours, theirs, v_ours, v_theirs;
    for (std::size_t i = 0; i < w.n; ++i) {
        if (radii[2 * i] == 0) continue;
        ++drawn;
        const Mat3d turn = rotation_from_quat(w.quat(i));
        const auto place = reference::sigma_place(jets, w.mean(i), w.scale(i), turn, {0.1, 2, 0});
        const Vec3d c = bent.camera.rotation * w.mean(i) + bent.camera.translation;
        const double blur = 0.3, det = place.cov.xx * place.cov.yy - place.cov.xy * place.cov.xy;
        const auto conic = math::conic_of(place.cov, det, blur);
        ours.insert(ours.end(), {means2d[2 * i], means2d[2 * i + 1], depths[i]});
        theirs.insert(theirs.end(), {place.mean.x, place.mean.y, c.z});
        for (std::size_t k = 0; k < 3; ++k) ours.push_back(100.0 * conics[3 * i + k]);
        for (const double x : {conic.inverse.xx, conic.inverse.xy, conic.inverse.yy})
            theirs.push_back(100 * x);
        const Sym2<double> v_cov = math::conic_of_vjp(
            place.cov, det, blur,
            Sym2<double>{v_conics[3 * i], v_conics[3 * i + 1], v_conics[3 * i + 2]}, 0.0);
        const auto g = reference::sigma_backward(place, w.scale(i), turn,
                                                 {v_means2d[2 * i], v_means2d[2 * i + 1]},
                                                 {v_cov.xx, 0.5 * v_cov.xy, v_cov.yy});
        const Vec3d mean = g.mean + transpose(bent.camera.rotation) * Vec3d{0, 0, v_depths[i]};
        const Quatd quat = math::quat_to_rotation_vjp(w.quat(i), g.rotation);
        v_theirs.insert(v_theirs.end(), {mean.x, mean.y, mean.z, g.scale[0], g.scale[1], g.scale[2],
                                         quat.w, quat.x, quat.y, quat.z});
        for (std::size_t k = 0; k < 3; ++k) v_ours.push_back(v_means[3 * i + k]);
        for (std::size_t k = 0; k < 3; ++k) v_ours.push_back(v_scales[3 * i + k]);
        for (std::size_t k = 0; k < 4; ++k) v_ours.push_back(v_quats[4 * i + k]);
    }
    EXPECT_GT(drawn, w.n / 4);
    EXPECT_LE(relative_l2(ours, theirs), 1e-6);
    EXPECT_LE(relative_l2(v_ours, v_theirs), 1e-5);
}
TEST(TensorLenses, UnscentedAsTheOraclesPoints) { expect_the_points(false); }
TEST(TensorLenses, AlsoWhileTheShutterRolls) { expect_the_points(true); }

/// One picture along rays by the oracle, and as arrays.
struct AlongRays {
    static constexpr std::size_t kAll = std::size_t{kWide} * kHigh;
    World w;
    Bent bent{true};
    reference::Options options;
    std::vector<std::size_t> order;
    std::vector<CameraRay> rays;
    std::vector<Vec3d> signals;
    reference::RayPicture want;
    std::vector<std::int32_t> radii;
    const std::vector<std::int64_t> first;
    Floats colors, depths, means2d, background{0.2f, 0.4f, 0.6f}, picture, alphas;
    tensor::RayInput along{};
    tensor::BlendInput in{};
    std::unique_ptr<const tensor::BlendLists> lists;

    AlongRays()
        : order(reference::order_along(w.parameters, bent.camera, options)),
          rays(reference::rays_of(bent.camera)),
          radii(2 * w.n, 0),
          first{0, static_cast<std::int64_t>(w.n)},
          colors(samples(4, 3 * w.n)),
          depths(w.n),
          means2d(2 * w.n),
          picture(3 * kAll),
          alphas(kAll) {
        options.background = {0.2, 0.4, 0.6};
        for (std::size_t i = 0; i < w.n; ++i)
            signals.push_back({colors[3 * i], colors[3 * i + 1], colors[3 * i + 2]});
        want = reference::render_rays(w.parameters, signals, order, rays, options);
        // Boxes of radii that leave no tile out, in the oracle's order.
        for (std::size_t rank = 0; rank < order.size(); ++rank) {
            radii[2 * order[rank]] = radii[2 * order[rank] + 1] = 100000;
            depths[order[rank]] = static_cast<float>(rank);
        }
        bent.set(along);
        along.sizes = {1, 1, w.n};
        along.means = w.means.data(), along.quats = w.quats.data();
        along.scales = w.scales.data();
        in.first = first, in.radii = radii.data(), in.means2d = means2d.data();
        in.opacities = w.opacities.data(), in.depths = depths.data(), in.colors = colors.data();
        in.backgrounds = background.data(), in.channels = 3, in.rays = &along;
        in.width = kWide, in.height = kHigh;
        lists = tensor::blend(in, picture.data(), alphas.data(), true);
    }
    bool is_clear(std::size_t pixel) const { return want.fragile[pixel] == 0; }
};
TEST(TensorLenses, AlongRaysAsTheOracle) {
    const AlongRays run;
    std::vector<double> ours, theirs;
    for (std::size_t i = 0; i < run.kAll; ++i) {
        if (!run.is_clear(i)) continue;
        const Vec3d s = run.want.signal[i];
        for (std::size_t k = 0; k < 3; ++k) ours.push_back(run.picture[3 * i + k]);
        ours.push_back(run.alphas[i]);
        theirs.insert(theirs.end(), {s.x, s.y, s.z, run.want.alpha[i]});
    }
    EXPECT_GT(ours.size(), 3 * run.kAll);
    EXPECT_LE(relative_l2(ours, theirs), 1e-5);
}
TEST(TensorLenses, GradientsAlongRaysAsTheOracle) {
    const AlongRays run;
    const World& w = run.w;
    Floats v_picture = samples(5, 3 * run.kAll), v_alphas = samples(6, run.kAll);
    reference::RayPictureGradient v;
    for (std::size_t i = 0; i < run.kAll; ++i) {
        const float keep = run.is_clear(i) ? 1 : 0;
        for (std::size_t k = 0; k < 3; ++k) v_picture[3 * i + k] *= keep;
        v_alphas[i] *= keep;
        v.signal.push_back({v_picture[3 * i], v_picture[3 * i + 1], v_picture[3 * i + 2]});
        v.alpha.push_back(v_alphas[i]);
    }
    Floats opacities(w.n), colors(3 * w.n), means(3 * w.n), quats(4 * w.n), scales(3 * w.n);
    tensor::blend_vjp(run.in, *run.lists,
                      {run.picture.data(), run.alphas.data(), v_picture.data(), v_alphas.data()},
                      {nullptr, nullptr, opacities.data(), colors.data(), nullptr, means.data(),
                       quats.data(), scales.data()});
    const auto g = reference::render_rays_backward(w.parameters, run.signals, run.order, run.rays,
                                                   run.options, run.want, v);
    reference::Parameters got(w.n, w.parameters.sh_degree);
    std::vector<double> v_colors, v_signals;
    for (std::size_t i = 0; i < w.n; ++i) {
        const double o = w.opacities[i];
        for (std::size_t k = 0; k < 3; ++k) {
            const std::size_t at = 3 * i + k;
            got.at(kMeans + static_cast<int>(k), i) = means[at];
            got.at(kLogScales + static_cast<int>(k), i) = double{scales[at]} * double{w.scales[at]};
            v_colors.push_back(colors[at]);
        }
        for (std::size_t k = 0; k < 4; ++k)
            got.at(kQuats + static_cast<int>(k), i) = quats[4 * i + k];
        got.at(kOpacityLogits, i) = opacities[i] * o * (1 - o);
        v_signals.insert(v_signals.end(), {g.signals[i].x, g.signals[i].y, g.signals[i].z});
    }
    EXPECT_LE(relative_l2(got.values, g.parameters.values), 1e-4);
    EXPECT_LE(relative_l2(v_colors, v_signals), 1e-4);
}

}  // namespace
}  // namespace gs::test
