// The oracle against stored numbers of gsplat's reference implementation, of its CUDA code (by way
// of Brush), and of an independent float64 program. See the README beside the data.
#include <gtest/gtest.h>

#include "renderer/reference/adam.h"
#include "renderer/reference/loss.h"
#include "renderer/reference/rasterize.h"
#include "renderer/reference/sh.h"
#include "tests/support/compare.h"
#include "tests/support/data.h"
#include "tests/support/npz.h"
#include "tests/support/random_scene.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

// The stored numbers are rounded to float: half a unit in the last place of values up to 2.
constexpr double kPixelTolerance = 1e-6;
constexpr double kGradientTolerance = 1e-6;

void report(const std::string& what, double value) {
    ::testing::Test::RecordProperty(what, fmt::format("{:.3g}", value));
    if (std::getenv("GAUSSCOPE_TEST_VERBOSE") != nullptr)
        fmt::print("    {:<40} {:.3g}\n", what, value);
}

class RenderFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(RenderFiles, PicturesAndGradients) {
    GS_NEED_DATA(std::string("reference/render/") + GetParam() + ".npz");
    const RenderCase c = load_render_case(GetParam());
    reference::Parameters gradients(c.scene.count, c.scene.sh_degree);
    double loss = 0;
    for (std::size_t i = 0; i < c.cameras.size(); ++i) {
        const reference::Picture picture = reference::render(c.scene, c.cameras[i], c.options);
        const Array fragile = c.file["out_fragile"].slice(i);
        const double color = max_abs_difference(picture.color, c.file["out_rgb"].slice(i), fragile);
        const double alpha =
            max_abs_difference(picture.alpha, c.file["out_alpha"].slice(i), fragile);
        const double depth = relative_l2(picture.depth, c.file["out_depth"].slice(i));
        report(fmt::format("camera {} colour", i), color);
        report(fmt::format("camera {} alpha", i), alpha);
        EXPECT_LE(color, kPixelTolerance);
        EXPECT_LE(alpha, kPixelTolerance);
        EXPECT_LE(depth, 1e-6);
        if (c.file.has("out_n_contrib")) {
            EXPECT_EQ(
                max_abs_difference(picture.contributors, c.file["out_n_contrib"].slice(i), fragile),
                0);
        }
        loss += case_loss(picture);
        const auto v = reference::render_backward(c.scene, c.cameras[i], c.options, picture,
                                                  case_upstream(picture.width, picture.height));
        for (std::size_t k = 0; k < gradients.values.size(); ++k)
            gradients.values[k] += v.parameters.values[k];
    }
    EXPECT_NEAR(loss, c.file["out_loss"].scalar(), 1e-6 * std::abs(c.file["out_loss"].scalar()));
    const reference::Parameters expected = expected_gradients(c);
    for (const PlaneGroup& group : plane_groups(expected)) {
        const double error = relative_l2(planes_of(gradients, group.first, group.last),
                                         planes_of(expected, group.first, group.last));
        report(fmt::format("gradient of {}", group.name), error);
        EXPECT_LE(error, kGradientTolerance) << group.name;
    }
}

TEST_P(RenderFiles, ProjectionAndItsGradients) {
    GS_NEED_DATA(std::string("reference/render/") + GetParam() + ".npz");
    const RenderCase c = load_render_case(GetParam());
    for (std::size_t i = 0; i < c.cameras.size(); ++i) {
        const reference::Picture picture = reference::render(c.scene, c.cameras[i], c.options);
        const Array radii = c.file["out_radii"].slice(i), conics = c.file["out_conics"].slice(i);
        std::vector<double> own, stored;
        std::size_t wrong_radii = 0;
        for (std::size_t g = 0; g < c.scene.count; ++g) {
            const reference::Projected& p = picture.projected[g];
            wrong_radii += p.radius_x != static_cast<int>(radii[2 * g]) ||
                           p.radius_y != static_cast<int>(radii[2 * g + 1]);
            if (!p.visible) continue;
            for (const double k : {p.conic.xx, p.conic.xy, p.conic.yy}) own.push_back(k);
            for (std::size_t k = 0; k < 3; ++k) stored.push_back(conics[3 * g + k]);
        }
        // A ceil() of numbers rounded elsewhere may differ once in a while.
        EXPECT_LE(wrong_radii, c.scene.count / 1000);
        EXPECT_LE(relative_l2(own, stored), 1e-6);
        if (!c.file.has("out_v_means2d")) continue;
        const auto v = reference::render_backward(c.scene, c.cameras[i], c.options, picture,
                                                  case_upstream(picture.width, picture.height));
        std::vector<double> mean, conic, color, depth, opacity;
        for (std::size_t g = 0; g < c.scene.count; ++g) {
            const reference::ProjectedGradient& p = v.projected[g];
            for (const double k : {p.mean.x, p.mean.y}) mean.push_back(k);
            for (const double k : {p.conic.xx, p.conic.xy, p.conic.yy}) conic.push_back(k);
            for (const double k : {p.color.x, p.color.y, p.color.z}) color.push_back(k);
            depth.push_back(p.depth);
            opacity.push_back(p.opacity);
        }
        EXPECT_LE(relative_l2(mean, c.file["out_v_means2d"].slice(i)), kGradientTolerance);
        EXPECT_LE(relative_l2(conic, c.file["out_v_conics"].slice(i)), kGradientTolerance);
        EXPECT_LE(relative_l2(color, c.file["out_v_colors"].slice(i)), kGradientTolerance);
        EXPECT_LE(relative_l2(depth, c.file["out_v_depths"].slice(i)), kGradientTolerance);
        EXPECT_LE(relative_l2(opacity, c.file["out_v_opacities_2d"].slice(i)), kGradientTolerance);
    }
}

INSTANTIATE_TEST_SUITE_P(Reference, RenderFiles,
                         ::testing::Values("pinhole_sh3", "pinhole_antialiased", "dense_overlap",
                                           "garden_subset"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Reference, DetachedDirection) {
    GS_NEED_DATA("reference/render/pinhole_sh3.npz");
    RenderCase c = load_render_case("pinhole_sh3");
    c.options.detach_direction = true;
    reference::Parameters gradients(c.scene.count, c.scene.sh_degree);
    for (const Camera& camera : c.cameras) {
        const auto picture = reference::render(c.scene, camera, c.options);
        const auto v = reference::render_backward(c.scene, camera, c.options, picture,
                                                  case_upstream(camera.width, camera.height));
        for (std::size_t k = 0; k < gradients.values.size(); ++k)
            gradients.values[k] += v.parameters.values[k];
    }
    const auto expected = expected_gradients(c, "out_v_means_dirs_detached");
    EXPECT_LE(relative_l2(planes_of(gradients, kMeans, kMeans + 2),
                          planes_of(expected, kMeans, kMeans + 2)),
              kGradientTolerance);
}

TEST(Reference, ShBases) {
    GS_NEED_DATA("reference/render/sh_bases.npz");
    const Arrays f = load_npz(data_path("reference/render/sh_bases.npz"));
    const std::size_t n = f["dirs"].dim(0), all = f["bases"].dim(1);
    for (std::size_t i = 0; i < n; ++i) {
        const auto basis =
            reference::sh_basis({f["dirs"][3 * i], f["dirs"][3 * i + 1], f["dirs"][3 * i + 2]});
        for (std::size_t k = 0; k < basis.size(); ++k)
            EXPECT_NEAR(basis[k], f["bases"][i * all + k], 1e-12) << k;
    }
    for (int degree = 0; degree <= 3; ++degree) {
        reference::Parameters scene(n, 3);
        reference::Options options;
        options.sh_degree = degree;
        const Array& colors = f[fmt::format("rgb_deg{}", degree)];
        for (std::size_t i = 0; i < n; ++i) {
            for (int c = 0; c < 3; ++c) {
                scene.at(kMeans + c, i) = f["dirs"][3 * i + static_cast<std::size_t>(c)];
                for (int k = 0; k < 16; ++k)
                    scene.sh(k, c, i) = f["coeffs"][(i * all + static_cast<std::size_t>(k)) * 3 +
                                                    static_cast<std::size_t>(c)];
            }
            const Vec3d color = reference::color_of(scene, i, {0, 0, 0}, options);
            EXPECT_NEAR(color.x, colors[3 * i], 1e-12);
            EXPECT_NEAR(color.y, colors[3 * i + 1], 1e-12);
            EXPECT_NEAR(color.z, colors[3 * i + 2], 1e-12);
        }
    }
}

class BrushFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(BrushFiles, PicturesAndGradients) {
    GS_NEED_DATA(std::string("reference/brush/") + GetParam() + ".safetensors");
    const RenderCase c = load_brush_case(GetParam());
    const auto picture = reference::render(c.scene, c.cameras[0], c.options);
    std::vector<double> own;
    for (std::size_t i = 0; i < picture.pixels(); ++i) {
        own.insert(own.end(), {picture.color[3 * i], picture.color[3 * i + 1],
                               picture.color[3 * i + 2], picture.alpha[i]});
    }
    const double pixels = max_abs_difference(own, c.file["out_img"], picture.fragile);
    report("picture", pixels);
    EXPECT_LE(pixels, 2e-6);  // float CUDA code on the other side
    if (!c.file.has("v_out_img")) return;
    const auto v =
        reference::render_backward(c.scene, c.cameras[0], c.options, picture, brush_upstream(c));
    const auto expected = expected_brush_gradients(c);
    for (const PlaneGroup& group : plane_groups(expected)) {
        const double error = relative_l2(planes_of(v.parameters, group.first, group.last),
                                         planes_of(expected, group.first, group.last));
        report(fmt::format("gradient of {}", group.name), error);
        EXPECT_LE(error, 1e-5) << group.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Reference, BrushFiles,
                         ::testing::Values("tiny_case", "basic_case", "tiny_case_with_gradients",
                                           "basic_case_with_gradients"),
                         [](const auto& test) { return std::string(test.param); });

// Central differences, on top of the files: every raw parameter of a small antialiased scene.
TEST(Reference, GradientsAgreeWithDifferences) {
    reference::Parameters scene(
        random_model({.count = 6, .scale_lo = 0.3f, .scale_hi = 0.6f, .opacity_hi = 0.8f}));
    const Camera camera = random_camera(3, 0, 40, 30);
    reference::Options options;
    options.background = {0.2, 0.5, 0.8};
    options.antialiased = true;
    options.alpha_min = 0;  // without the cut the picture is smooth
    options.alpha_max = 1;
    const auto loss = [&](const reference::Parameters& s) {
        return case_loss(reference::render(s, camera, options));
    };
    const auto picture = reference::render(scene, camera, options);
    const auto v = reference::render_backward(scene, camera, options, picture,
                                              case_upstream(camera.width, camera.height));
    std::vector<double> differences;
    for (double& value : scene.values) {
        const double kept = value, h = 1e-5;
        value = kept + h;
        const double above = loss(scene);
        value = kept - h;
        const double below = loss(scene);
        value = kept;
        differences.push_back((above - below) / (2 * h));
    }
    EXPECT_LE(relative_l2(v.parameters.values, differences), 1e-7);
}

/// What a sky adds to a picture is linear in its coefficients.
TEST(Reference, GradientOfTheSkyAgreesWithDifferences) {
    const reference::Parameters scene(random_model({.count = 12, .opacity_hi = 0.8f}));
    const Camera camera = random_camera(3, 0, 40, 30);
    reference::Options options;
    options.sky = under_sky({}, 2).sky;
    for (float& number : options.sky.sh) number *= 0.25f;  // nothing is cut off at 0
    options.sky.sh[0] = 0.5f;
    const auto picture = reference::render(scene, camera, options);
    const auto upstream = case_upstream(camera.width, camera.height);
    const auto v = reference::render_backward(scene, camera, options, picture, upstream);
    const double loss = case_loss(picture);
    for (std::size_t i = 0; i < 3 * 9; ++i) {
        reference::Options more = options;
        more.sky.sh[i] += 0.0625f;
        const double step = static_cast<double>(more.sky.sh[i]) - options.sky.sh[i];
        const double slope = (case_loss(reference::render(scene, camera, more)) - loss) / step;
        EXPECT_NEAR(v.sky[i], slope, 1e-9 * (1 + std::abs(slope))) << i;
    }
    for (std::size_t i = 3 * 9; i < v.sky.size(); ++i) EXPECT_EQ(v.sky[i], 0) << i;
}

reference::Image image_of(const Array& a) {
    return {static_cast<int>(a.dim(1)), static_cast<int>(a.dim(0)), static_cast<int>(a.dim(2)),
            a.values};
}

reference::Parameters train_parameters(const Arrays& f, const std::string& prefix) {
    const std::size_t n = f[prefix + "means"].dim(0);
    reference::Parameters p(n, 3);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < 3; ++k) {
            p.at(kMeans + static_cast<int>(k), i) = f[prefix + "means"][3 * i + k];
            p.at(kLogScales + static_cast<int>(k), i) = f[prefix + "ls"][3 * i + k];
            p.at(kSh0 + static_cast<int>(k), i) = f[prefix + "sh0"][3 * i + k];
        }
        for (std::size_t k = 0; k < 4; ++k)
            p.at(kQuats + static_cast<int>(k), i) = f[prefix + "quats"][4 * i + k];
        p.at(kOpacityLogits, i) = f[prefix + "lo"][i];
        for (std::size_t k = 0; k < 45; ++k)
            p.at(kShRest + static_cast<int>(k), i) = f[prefix + "shN"][45 * i + k];
    }
    return p;
}

reference::AdamRates rates_of(const Arrays& f) {
    std::map<std::string, double> by_name;
    for (std::size_t i = 0; i < f["lr"].size(); ++i) by_name[f["lr_order"].texts[i]] = f["lr"][i];
    return {by_name.at("means"), by_name.at("quats"), by_name.at("ls"),
            by_name.at("lo"),    by_name.at("sh0"),   by_name.at("shN")};
}

TEST(Reference, TrainsAsTheFileSays) {
    GS_NEED_DATA("reference/train/train_adam.npz");
    const Arrays f = load_npz(data_path("reference/train/train_adam.npz"));
    reference::Parameters scene = train_parameters(f, "init_");
    reference::Adam adam(scene);
    const reference::AdamRates rates = rates_of(f);
    double worst = 0;
    for (std::size_t step = 0; step < f["loss"].size(); ++step) {
        const std::size_t view = step % f["viewmats"].dim(0);
        Camera camera{.width = static_cast<int>(f["width"].scalar()),
                      .height = static_cast<int>(f["height"].scalar()),
                      .fx = f["K"][0],
                      .cx = f["K"][2]};
        camera.fy = f["K"][4];
        camera.cy = f["K"][5];
        const Array pose = f["viewmats"].slice(view);
        for (std::size_t r = 0; r < 3; ++r)
            for (std::size_t c = 0; c < 3; ++c) camera.rotation.m[r][c] = pose[4 * r + c];
        camera.translation = {pose[3], pose[7], pose[11]};

        const auto picture = reference::render(scene, camera, {});
        const reference::Image image{camera.width, camera.height, 3, picture.color};
        const auto loss = reference::loss_l1_dssim(image, image_of(f["targets"].slice(view)));
        worst = std::max(worst, std::abs(loss.value - f["loss"][step]) / f["loss"][step]);
        EXPECT_NEAR(reference::psnr(image, image_of(f["targets"].slice(view))), f["psnr"][step],
                    1e-4);
        const auto v =
            reference::render_backward(scene, camera, {}, picture, {loss.gradient, {}, {}});
        if (step == 0) {
            const auto expected = train_parameters(f, "iter0_grad_");
            EXPECT_LE(relative_l2(v.parameters.values, expected.values), 1e-8);
        }
        adam.step(scene, v.parameters, rates);
        const std::string name = fmt::format("after{}_", step + 1);
        if (f.has(name + "means")) {
            EXPECT_LE(max_abs_difference(scene.values, train_parameters(f, name).values), 1e-4)
                << name;
        }
    }
    report("worst relative loss", worst);
    EXPECT_LE(worst, 1e-5);
}

}  // namespace
}  // namespace gs::test
