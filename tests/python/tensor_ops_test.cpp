// The functions on flat arrays give the pictures and gradients of the CPU backend, which the oracle
// holds.
#include "renderer/raster/tensor_ops.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.h"
#include "renderer/math/scalar.h"
#include "tests/support/compare.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

using Floats = std::vector<float>;
constexpr int kWidth = 70, kHeight = 45;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

/// A model and a camera as flat arrays.
struct Flat {
    std::size_t n;
    Floats means, quats, scales, opacities, coefficients, viewmat, K;
};
Flat flat_of(const GaussianModel& model, const Camera& camera) {
    Flat f{model.count, {}, {}, {}, {}, {}, Floats(16), Floats(9)};
    for (std::size_t i = 0; i < model.count; ++i) {
        for (int k = 0; k < 3; ++k) f.means.push_back(model.at(kMeans + k, i));
        for (int k = 0; k < 4; ++k) f.quats.push_back(model.at(kQuats + k, i));
        for (int k = 0; k < 3; ++k) f.scales.push_back(std::exp(model.at(kLogScales + k, i)));
        f.opacities.push_back(math::sigmoid(model.at(kOpacityLogits, i)));
        for (int k = 0; k < 48; ++k) f.coefficients.push_back(model.at(kSh0 + k, i));
    }
    const double t[3] = {camera.translation.x, camera.translation.y, camera.translation.z};
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j)
            f.viewmat[4 * i + j] = static_cast<float>(camera.rotation.m[i][j]);
        f.viewmat[4 * i + 3] = static_cast<float>(t[i]);
    }
    f.viewmat[15] = 1;
    f.K[0] = static_cast<float>(camera.fx), f.K[2] = static_cast<float>(camera.cx);
    f.K[4] = static_cast<float>(camera.fy), f.K[5] = static_cast<float>(camera.cy);
    return f;
}

/// The picture of a Flat with depth as the fourth channel, and what a gradient of it is.
struct FlatRun {
    Flat f;
    tensor::ProjectInput in{};
    tensor::ShadeInput shade{};
    tensor::BlendInput blend{};
    std::vector<std::int32_t> radii;
    std::vector<std::int64_t> first;
    Floats means2d, depths, conics, opacities, colors, values, picture, alphas, background;
    std::unique_ptr<const tensor::BlendLists> lists;

    FlatRun(Flat flat, bool antialiased)
        : f(std::move(flat)),
          radii(2 * f.n),
          first{0, static_cast<std::int64_t>(f.n)},
          means2d(2 * f.n),
          depths(f.n),
          conics(3 * f.n),
          opacities(f.n),
          colors(3 * f.n),
          values(4 * f.n),
          picture(4 * kPixels),
          alphas(kPixels),
          background{0.2f, 0.4f, 0.6f, 0} {
        in.sizes = shade.sizes = {1, 1, f.n};
        in.means = f.means.data(), in.quats = f.quats.data(), in.scales = f.scales.data();
        in.opacities = f.opacities.data(), in.viewmats = f.viewmat.data(), in.Ks = f.K.data();
        in.width = blend.width = kWidth, in.height = blend.height = kHeight;
        in.antialiased = antialiased;
        shade.degree = 3, shade.bases = 16, shade.means = f.means.data();
        shade.viewmats = f.viewmat.data(), shade.coefficients = f.coefficients.data();
        shade.radii = blend.radii = radii.data();
        blend.first = first, blend.means2d = means2d.data(), blend.conics = conics.data();
        blend.opacities = opacities.data(), blend.depths = depths.data();
        blend.colors = values.data(), blend.backgrounds = background.data(), blend.channels = 4;
    }
    void draw() {
        tensor::project(
            in, {radii.data(), means2d.data(), depths.data(), conics.data(), opacities.data()});
        tensor::shade(shade, colors.data());
        for (std::size_t i = 0; i < f.n; ++i) {
            std::copy_n(colors.data() + 3 * i, 3, values.data() + 4 * i);
            values[4 * i + 3] = depths[i];
        }
        lists = tensor::blend(blend, picture.data(), alphas.data(), true);
    }
    /// By plane of a model, so in logarithms of scales and logits of opacities.
    reference::Parameters backward(const Floats& v_picture, const Floats& v_alphas,
                                   Floats& v_means2d) const;
};
reference::Parameters FlatRun::backward(const Floats& v_picture, const Floats& v_alphas,
                                        Floats& v_means2d) const {
    const std::size_t n = f.n;
    Floats v_conics(3 * n), v_opacities(n), v_values(4 * n), v_colors, v_depths;
    v_means2d.resize(2 * n);
    tensor::blend_vjp(
        blend, *lists, {picture.data(), alphas.data(), v_picture.data(), v_alphas.data()},
        {v_means2d.data(), v_conics.data(), v_opacities.data(), v_values.data(), nullptr});
    for (std::size_t i = 0; i < n; ++i) {
        v_colors.insert(v_colors.end(), &v_values[4 * i], &v_values[4 * i] + 3);
        v_depths.push_back(v_values[4 * i + 3]);
    }
    Floats means(3 * n), direction(3 * n), quats(4 * n), scales(3 * n), opacity(n), sh(48 * n);
    tensor::project_vjp(
        in, radii.data(), {v_means2d.data(), v_depths.data(), v_conics.data(), v_opacities.data()},
        {means.data(), quats.data(), scales.data(), nullptr, opacity.data(), nullptr});
    tensor::shade_vjp(shade, v_colors.data(), {direction.data(), nullptr, sh.data()});
    reference::Parameters out(n, 3);
    for (std::size_t i = 0; i < n; ++i) {
        const auto put = [&](int plane, float value) {
            out.at(plane, i) = static_cast<double>(value);
        };
        for (std::size_t k = 0; k < 3; ++k) {
            put(kMeans + static_cast<int>(k), means[3 * i + k] + direction[3 * i + k]);
            put(kLogScales + static_cast<int>(k), scales[3 * i + k] * f.scales[3 * i + k]);
        }
        for (std::size_t k = 0; k < 4; ++k) put(kQuats + static_cast<int>(k), quats[4 * i + k]);
        put(kOpacityLogits, opacity[i] * f.opacities[i] * (1 - f.opacities[i]));
        for (std::size_t k = 0; k < 48; ++k) put(kSh0 + static_cast<int>(k), sh[48 * i + k]);
    }
    return out;
}

std::vector<double> wide(const Floats& from) { return {from.begin(), from.end()}; }
std::vector<double> channels_of(const Floats& picture, std::size_t first, std::size_t count) {
    std::vector<double> out;
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel)
        for (std::size_t k = first; k < first + count; ++k)
            out.push_back(static_cast<double>(picture[4 * pixel + k]));
    return out;
}

void expect_the_backends(bool antialiased) {
    const GaussianModel model = random_model({});
    const Camera camera = random_camera(3, 0, kWidth, kHeight);
    const RenderOptions options{.background = {0.2f, 0.4f, 0.6f}, .antialiased = antialiased};
    RasterRun run(make_cpu_rasterizer());
    const Drawn drawn = run.draw(model, camera, options);
    FlatRun flat(flat_of(model, camera), antialiased);
    flat.draw();
    EXPECT_LE(relative_l2(channels_of(flat.picture, 0, 3), drawn.color), 1e-5);
    EXPECT_LE(relative_l2(channels_of(flat.picture, 3, 1), drawn.depth), 1e-5);
    EXPECT_LE(relative_l2(wide(flat.alphas), drawn.alpha), 1e-5);

    const reference::PictureGradient v = case_upstream(kWidth, kHeight);
    const DrawnGradients want = run.backward(v);
    Floats v_picture, v_means2d;
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
        for (std::size_t k = 0; k < 3; ++k)
            v_picture.push_back(static_cast<float>(v.color[3 * pixel + k]));
        v_picture.push_back(static_cast<float>(v.depth[pixel]));
    }
    const reference::Parameters got =
        flat.backward(v_picture, {v.alpha.begin(), v.alpha.end()}, v_means2d);
    EXPECT_LE(relative_l2(wide(v_means2d), want.mean2d), 1e-4);
    EXPECT_LE(relative_l2(got.values, want.parameters.values), 1e-4);
}

TEST(TensorOps, GiveThePicturesAndGradientsOfTheCpuBackend) { expect_the_backends(false); }
TEST(TensorOps, AlsoAntialiased) { expect_the_backends(true); }

TEST(TensorOps, ThreadsDoNotChangeABit) {
    const Flat flat = flat_of(random_model({}), random_camera(3, 0, kWidth, kHeight));
    const Floats v(4 * kPixels, 0.5f), v_alphas(kPixels, -0.25f);
    Floats pictures[2], moved[2];
    std::vector<double> gradients[2];
    for (const int threads : {1, 4}) {
        set_thread_count(threads);
        const std::size_t at = threads == 1 ? 0 : 1;
        FlatRun run(flat, true);
        run.draw();
        gradients[at] = run.backward(v, v_alphas, moved[at]).values;
        pictures[at] = run.picture;
    }
    set_thread_count(0);
    EXPECT_EQ(pictures[0], pictures[1]);
    EXPECT_EQ(moved[0], moved[1]);
    EXPECT_EQ(gradients[0], gradients[1]);
}

TEST(TensorOps, NothingToDrawIsTheBackground) {
    FlatRun run(flat_of(GaussianModel(0, 3), random_camera(3, 0, kWidth, kHeight)), false);
    run.draw();
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
        EXPECT_EQ(run.picture[4 * pixel + 1], 0.4f);
        EXPECT_EQ(run.alphas[pixel], 0.0f);
    }
}

}  // namespace
}  // namespace gs::test
