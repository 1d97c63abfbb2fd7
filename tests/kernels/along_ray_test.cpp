// Gaussians along rays: the oracle against stored pictures, sweeps and gradients of an independent
// program, its formulas against finite differences and a search, and against splatting where
// Gaussians are small.
#include <gtest/gtest.h>

#include <cmath>

#include "renderer/math/along_ray.h"
#include "renderer/reference/rasterize.h"
#include "renderer/reference/rays.h"
#include "renderer/scene/camera_lens.h"
#include "tests/kernels/stored_rays.h"
#include "tests/support/compare.h"
#include "tests/support/data.h"
#include "tests/support/npz.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

constexpr double kTolerance = 1e-9;  ///< the stored program also computes in double

std::vector<double> flat(const std::vector<Vec3d>& v) {
    std::vector<double> out;
    for (const Vec3d p : v) out.insert(out.end(), {p.x, p.y, p.z});
    return out;
}
double upstream(int channel, double x, double y) {
    return std::cos(0.05 * (channel + 1) * x + 0.11 * y + channel);
}

/// Stored gradients against ours, which are with respect to logarithms and logits.
void compare_gradients(const Arrays& data, const std::string& key, const std::string& in,
                       const reference::Parameters& scene, const reference::RayGradient& g) {
    const auto planes = [&](int first, int count, auto&& slope) {
        std::vector<double> out;
        for (std::size_t i = 0; i < scene.count; ++i)
            for (int k = 0; k < count; ++k)
                out.push_back(g.parameters.at(first + k, i) / slope(k, i));
        return out;
    };
    const auto one = [](int, std::size_t) { return 1.0; };
    const Array &scales = data[in + "scales"], &opacities = data[in + "opacities"];
    EXPECT_LT(relative_l2(planes(kMeans, 3, one), data[key + "v_means"]), kTolerance);
    EXPECT_LT(relative_l2(planes(kQuats, 4, one), data[key + "v_quats"]), kTolerance);
    EXPECT_LT(relative_l2(planes(kLogScales, 3,
                                 [&](int k, std::size_t i) {
                                     return scales[3 * i + static_cast<std::size_t>(k)];
                                 }),
                          data[key + "v_scales"]),
              kTolerance);
    EXPECT_LT(
        relative_l2(planes(kOpacityLogits, 1,
                           [&](int, std::size_t i) { return opacities[i] * (1 - opacities[i]); }),
                    data[key + "v_opacities"]),
        kTolerance);
}

TEST(AlongRay, PicturesAndGradientsAsStored) {
    GS_NEED_DATA(kPictures);
    const Arrays data = load_npz(data_path(kPictures));
    for (const Mode& mode : kModes) {
        SCOPED_TRACE(fmt::format("{} {}", mode.lens, mode.name));
        const std::string in = std::string(mode.lens) + "_in_",
                          key = fmt::format("{}_{}_", mode.lens, mode.name);
        const reference::Parameters scene = scene_of(data, in);
        const Camera camera = stored_camera(data, mode);
        std::vector<Vec3d> colors;
        for (std::size_t i = 0; i < scene.count; ++i) colors.push_back(at3(data[in + "colors"], i));
        const reference::Options options;
        const auto rays = reference::rays_of(camera);
        std::vector<std::size_t> order;  // by z, also where we go by distance (fisheyes)
        for (const int i : data[key + "order"].ints()) order.push_back(static_cast<std::size_t>(i));
        if (!math::measures_distance(camera)) {
            EXPECT_EQ(reference::order_along(scene, camera, options), order);
        }
        const auto picture = reference::render_rays(scene, colors, order, rays, options);
        const Array& fragile = data[key + "fragile"];
        EXPECT_LT(max_abs_difference(flat(picture.signal), data[key + "rgb"], fragile), kTolerance);
        EXPECT_LT(max_abs_difference(picture.alpha, data[key + "alpha"], fragile), kTolerance);
        EXPECT_LT(max_abs_difference(picture.hit, data[key + "hit"], fragile), kTolerance);
        EXPECT_LT(max_abs_difference(picture.median, data[key + "median"], fragile), kTolerance);
        EXPECT_EQ(max_abs_difference(picture.contributors, data[key + "n_contrib"], fragile), 0);

        reference::RayPictureGradient v;
        for (int y = 0; y < camera.height; ++y)
            for (int x = 0; x < camera.width; ++x) {
                v.signal.push_back({upstream(0, x, y), upstream(1, x, y), upstream(2, x, y)});
                v.alpha.push_back(upstream(3, x, y));
                v.hit.push_back(0.1 * upstream(4, x, y));
            }
        const auto g =
            reference::render_rays_backward(scene, colors, order, rays, options, picture, v);
        compare_gradients(data, key, in, scene, g);
        EXPECT_LT(relative_l2(flat(g.signals), data[key + "v_colors"]), kTolerance);
        EXPECT_LT(relative_l2(flat(g.origin), data[key + "v_ray_origin"]), kTolerance);
        EXPECT_LT(relative_l2(flat(g.direction), data[key + "v_ray_dir"]), kTolerance);
    }
}

TEST(AlongRay, SweepsAndGradientsAsStored) {
    GS_NEED_DATA(kSweeps);
    const Arrays data = load_npz(data_path(kSweeps));
    for (const std::string sensor : {"waymo", "pandar64", "at128"}) {
        SCOPED_TRACE(sensor);
        const std::string key = sensor + "_render_", in = key + "in_";
        const reference::Parameters scene = scene_of(data, in);
        std::vector<Vec3d> signals;
        for (std::size_t i = 0; i < scene.count; ++i)
            signals.push_back({data[in + "intensity"][i], data[in + "raydrop"][i], 0});
        const Pose first = pose_of_seven(data[key + "pose_start"]),
                   last = pose_of_seven(data[key + "pose_end"]);
        const std::size_t rows = data[key + "rows"].size(), columns = data[key + "columns"].size();
        std::vector<CameraRay> rays;
        std::vector<double> times;
        reference::RayPictureGradient v;
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < columns; ++c) {
                const std::size_t i = r * columns + c;
                times.push_back(data[key + "time"].size() == columns ? data[key + "time"][c]
                                                                     : data[key + "time"][i]);
                const Pose pose = pose_between(first, last, times.back());
                const Mat3d back = transpose(pose.rotation);
                rays.push_back(
                    {back * -pose.translation, back * at3(data[key + "dir_sensor"], i), true});
                const double x = static_cast<double>(c), y = static_cast<double>(r);
                v.signal.push_back({upstream(0, x, y), upstream(1, x, y), 0});
                v.alpha.push_back(upstream(2, x, y));
                v.hit.push_back(0.1 * upstream(3, x, y));
            }
        const Pose middle = pose_between(first, last, 0.5);
        const auto order =
            reference::order_around(scene, transpose(middle.rotation) * -middle.translation);
        reference::Options options;
        const auto picture = reference::render_rays(scene, signals, order, rays, options);
        const Array& fragile = data[key + "fragile"];
        std::vector<double> intensity, raydrop, expected;
        for (std::size_t i = 0; i < rays.size(); ++i) {
            intensity.push_back(picture.signal[i].x);
            raydrop.push_back(picture.signal[i].y);
            expected.push_back(picture.alpha[i] > 1e-6 ? picture.hit[i] / picture.alpha[i] : 0);
        }
        EXPECT_LT(max_abs_difference(picture.alpha, data[key + "alpha"], fragile), kTolerance);
        EXPECT_LT(max_abs_difference(picture.hit, data[key + "range_sum"], fragile), kTolerance);
        EXPECT_LT(max_abs_difference(expected, data[key + "range_expected"], fragile), 1e-7);
        EXPECT_LT(max_abs_difference(picture.median, data[key + "range_median"], fragile),
                  kTolerance);
        EXPECT_LT(max_abs_difference(intensity, data[key + "intensity"], fragile), kTolerance);
        EXPECT_LT(max_abs_difference(raydrop, data[key + "raydrop_logit"], fragile), kTolerance);

        const auto g =
            reference::render_rays_backward(scene, signals, order, rays, options, picture, v);
        compare_gradients(data, key, in, scene, g);
        std::vector<double> v_intensity, v_raydrop;
        for (const Vec3d s : g.signals) {
            v_intensity.push_back(s.x);
            v_raydrop.push_back(s.y);
        }
        EXPECT_LT(relative_l2(v_intensity, data[key + "v_intensity"]), kTolerance);
        EXPECT_LT(relative_l2(v_raydrop, data[key + "v_raydrop"]), kTolerance);
    }
}

TEST(AlongRay, NearestIsTheLargestResponse) {
    // The response along the ray, walked: nowhere is it larger than at `hit`.
    for (std::uint64_t i = 0; i < 50; ++i) {
        const auto r = [&](std::uint64_t k) { return random_in(3, i, k, -1, 1); };
        const Vec3d scale{std::exp(r(0)), std::exp(r(1)), std::exp(r(2))};
        const Mat3d m = math::whitening(scale, Quatd{r(3), r(4), r(5), r(6)});
        const Vec3d arm{3 * r(7), 3 * r(8), 3 * r(9)}, along{r(10), r(11), r(12)};
        const Vec3d direction = (1 / std::sqrt(dot(along, along))) * along;
        const auto at = math::nearest(m, arm, direction);
        const auto distance2 = [&](double t) {
            const Vec3d p = m * (arm + t * direction);
            return dot(p, p);
        };
        EXPECT_NEAR(distance2(at.hit), at.distance2, 1e-9 * (1 + at.distance2));
        for (int k = -100; k <= 100; ++k)
            ASSERT_GE(distance2(at.hit + 0.05 * k), at.distance2 * (1 - 1e-12));
    }
}

TEST(AlongRay, SmallGaussiansLookAsWhenSplatted) {
    // Without blur, ever smaller: the exact picture and the splatted one meet.
    const GaussianModel model = random_model({.count = 60, .sh_degree = 0, .seed = 21});
    const Camera camera = look_at({0, 0, -4}, {0, 0, 0}, {0, -1, 0}, 48, 32, 0.9);
    double before = 1;
    for (const double size : {1.0, 0.5, 0.25}) {
        reference::Parameters scene(model);
        reference::Options options;
        options.blur = 0;
        options.scale_modifier = size;
        const auto splatted = reference::render(scene, camera, options);
        std::vector<Vec3d> colors;
        for (std::size_t i = 0; i < scene.count; ++i) colors.push_back(splatted.projected[i].color);
        const auto exact =
            reference::render_rays(scene, colors, reference::order_along(scene, camera, options),
                                   reference::rays_of(camera), options);
        const double apart = relative_l2(flat(exact.signal), splatted.color);
        EXPECT_LT(apart, 0.75 * before) << size;
        before = apart;
    }
    EXPECT_LT(before, 0.05);
}

}  // namespace
}  // namespace gs::test
