// Gradients along rays in float, with tiles, against the oracle in double, which tries every
// Gaussian on every ray. Rays whose decisions rounding may flip are given no loss.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "base/parallel.h"
#include "renderer/math/along_ray.h"
#include "renderer/rays/rays.h"
#include "renderer/reference/rays.h"
#include "tests/kernels/ray_scenes.h"
#include "tests/kernels/stored_rays.h"
#include "tests/support/compare.h"
#include "tests/support/data.h"

namespace gs::test {
namespace {

constexpr double kGradients = 1e-4;  // relative, in each kind of parameter

/// Planes as the model has them; counts how often a block came.
struct PlaneSink final : GradientSink {
    explicit PlaneSink(const GaussianModel& model)
        : planes(kGeometryPlanes, std::vector<double>(model.count)), came(model.blocks()) {}
    void take(const BlockGradients& g) override {
        const std::lock_guard lock(mutex);
        ++came[g.block];
        for (std::size_t lane = 0; lane < kBlock; ++lane)
            for (std::size_t p = 0; p < planes.size(); ++p)
                if ((g.mask >> lane & 1) != 0)
                    planes[p][g.block * kBlock + lane] = static_cast<double>(g.planes[p][lane]);
                else
                    EXPECT_EQ(g.planes[p][lane], 0);
    }
    std::mutex mutex;
    std::vector<std::vector<double>> planes;
    std::vector<int> came;
};

std::vector<double> kind_of(const std::vector<std::vector<double>>& planes, int first, int end) {
    std::vector<double> out;
    for (int p = first; p < end; ++p)
        out.insert(out.end(), planes[static_cast<std::size_t>(p)].begin(),
                   planes[static_cast<std::size_t>(p)].end());
    return out;
}
std::vector<double> kind_of(const reference::Parameters& parameters, int first, int end) {
    std::vector<double> out;
    for (int p = first; p < end; ++p)
        for (std::size_t i = 0; i < parameters.count; ++i) out.push_back(parameters.at(p, i));
    return out;
}
void compare_kinds(const PlaneSink& ours, const reference::Parameters& theirs) {
    const std::pair<int, int> kinds[] = {{kMeans, kLogScales},
                                         {kLogScales, kQuats},
                                         {kQuats, kOpacityLogits},
                                         {kOpacityLogits, kSh0}};
    for (const auto& [first, end] : kinds) {
        const auto want = kind_of(theirs, first, end);
        EXPECT_GT(relative_l2(want, std::vector<double>(want.size(), 0.0)), 0) << first;
        EXPECT_LT(relative_l2(kind_of(ours.planes, first, end), want), kGradients) << first;
    }
    for (const int came : ours.came) EXPECT_LE(came, 1);
}

Vec3d widened(Vec3f v) { return {v.x, v.y, v.z}; }

/// Both evaluations of one scene, and a loss that neither decides by rounding.
struct Both {
    GaussianModel model;
    std::vector<Vec3f> signals;
    std::vector<CameraRay> rays;
    RayTiles tiles;
    RayOrder order;
    std::vector<std::size_t> ranks;
    RasterRules rules = rules_of(Compatibility::tight);
    reference::Parameters scene;
    std::vector<Vec3d> wide;
    RayImage image;
    reference::RayPicture picture;

    Both(GaussianModel given, std::vector<Vec3f> with, std::vector<CameraRay> along,
         const Pose& frame, const RayOrder& by, std::vector<std::size_t> same)
        : model(std::move(given)),
          signals(std::move(with)),
          rays(std::move(along)),
          tiles(rays, frame),
          order(by),
          ranks(std::move(same)),
          scene(parameters_of(model)),
          wide(model.count) {
        for (std::size_t i = 0; i < signals.size(); ++i) wide[i] = widened(signals[i]);
        image = trace_rays(model, signals, tiles, order, rules);
        picture = reference::render_rays(scene, wide, ranks, rays, reference::Options{});
    }
    /// `v` without fragile rays.
    void compare(RayImageGradient v) const {
        reference::RayPictureGradient u;
        for (std::size_t r = 0; r < rays.size(); ++r) {
            const bool fragile = picture.fragile[r] != 0;
            if (fragile && !v.alpha.empty()) v.alpha[r] = 0;
            if (fragile && !v.hit.empty()) v.hit[r] = 0;
            if (fragile && !v.signal.empty()) v.signal[r] = {};
            if (!v.signal.empty()) u.signal.push_back(widened(v.signal[r]));
        }
        u.alpha = v.alpha;
        u.hit = v.hit;
        const auto want = reference::render_rays_backward(scene, wide, ranks, rays,
                                                          reference::Options{}, picture, u);
        PlaneSink sink(model);
        const RaysBackward got = trace_rays_backward(model, signals, tiles, rules, image, v, sink);
        compare_kinds(sink, want.parameters);
        if (signals.empty()) return;
        std::vector<double> ours, theirs;
        for (std::size_t i = 0; i < model.count; ++i) {
            const Vec3f s = got.signals[i];
            const Vec3d t = want.signals[i];
            ours.insert(ours.end(), {s.x, s.y, s.z});
            theirs.insert(theirs.end(), {t.x, t.y, t.z});
        }
        EXPECT_LT(relative_l2(ours, theirs), kGradients);
    }
    /// Of expected ranges, hit / alpha, times any numbers.
    RayImageGradient of_ranges() const {
        RayImageGradient v;
        for (std::size_t r = 0; r < rays.size(); ++r) {
            const double by = picture.alpha[r] > 0.05 ? std::sin(1.0 + 0.7 * static_cast<double>(r))
                                                      : 0,
                         alpha = std::max(picture.alpha[r], 0.05);
            v.hit.push_back(by / alpha);
            v.alpha.push_back(-by * picture.hit[r] / (alpha * alpha));
        }
        return v;
    }
};
Both around_a_sensor(GaussianModel model, const std::vector<CameraRay>& rays, Vec3d place) {
    const auto ranks = reference::order_around(parameters_of(model), place);
    return {std::move(model), {},   rays, Pose{{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, -place},
            {place, {}},      ranks};
}

TEST(RaysBackward, PicturesAsTheOracle) {
    GS_NEED_DATA(kPictures);
    const Arrays data = load_npz(data_path(kPictures));
    for (const Mode& mode : kModes) {
        SCOPED_TRACE(fmt::format("{} {}", mode.lens, mode.name));
        const std::string in = std::string(mode.lens) + "_in_";
        const GaussianModel model = model_of(scene_of(data, in));
        const Camera camera = stored_camera(data, mode);
        const std::vector<Vec3f> colors = stored_colors(data, in, model.count);
        // Sorted by z as in rays.h, also for fisheyes.
        const RayOrder order{camera.position(), camera.forward()};
        const reference::Parameters scene = parameters_of(model);
        std::vector<std::pair<float, std::size_t>> by_depth;
        for (std::size_t i = 0; i < model.count; ++i) {
            const Vec3d arm = widened(model.mean(i)) - order.place;
            if (const double z = dot(*order.axis, arm); z > order.near_plane)
                by_depth.push_back({static_cast<float>(z), i});
        }
        std::sort(by_depth.begin(), by_depth.end());
        std::vector<std::size_t> ranks;
        for (const auto& [depth, i] : by_depth) ranks.push_back(i);
        const Both both(model, colors, reference::rays_of(camera), ray_frame(camera), order, ranks);
        RayImageGradient v;
        for (std::size_t r = 0; r < both.rays.size(); ++r) {
            const auto wave = [&](double k) {
                return std::cos(k + 0.11 * k * static_cast<double>(r));
            };
            v.signal.push_back({static_cast<float>(wave(1)), static_cast<float>(wave(2)),
                                static_cast<float>(wave(3))});
            v.alpha.push_back(wave(4));
            v.hit.push_back(0.1 * wave(5));
        }
        both.compare(v);
    }
}

TEST(RaysBackward, SweepsAsTheOracle) {
    for (const std::uint64_t seed : {1u, 2u}) {
        SCOPED_TRACE(seed);
        const Both at_rest = around_a_sensor(around(800, seed), beams_around(16, 160, {}, 0.4), {}),
                   moving = around_a_sensor(around(800, seed),
                                            beams_around(16, 160, {2, 1, 0.2}, 0.4), {});
        at_rest.compare(at_rest.of_ranges());
        moving.compare(moving.of_ranges());
        RayImageGradient alone;
        for (std::size_t r = 0; r < moving.rays.size(); ++r)
            alone.alpha.push_back(std::cos(static_cast<double>(r)));
        moving.compare(alone);
    }
}

TEST(RaysBackward, SmallGaussiansFarAway) {
    // A wall of Gaussians of centimetres, a hundred metres away and far from the origin: several
    // are behind each other, and their ranges differ by less than a float resolves there.
    GaussianModel model(1200, 0);
    std::vector<CameraRay> rays;
    for (std::size_t i = 0; i < model.count; ++i) {
        const auto r = [&](std::uint64_t k) { return random_in(11, i, k, -1, 1); };
        const BeamAngles a{-3 + 0.0003 * static_cast<double>(i % 400), 0.0004 * r(0)};
        const Vec3d p = (100 + 0.05 * r(1)) * direction_of(a) + Vec3d{1000, 0, 0};
        model.at(kMeans, i) = static_cast<float>(p.x);
        model.at(kMeans + 1, i) = static_cast<float>(p.y);
        model.at(kMeans + 2, i) = static_cast<float>(p.z);
        for (int k = 0; k < 3; ++k)
            model.at(kLogScales + k, i) =
                std::log(0.03f) + 0.4f * static_cast<float>(r(2 + static_cast<std::uint64_t>(k)));
        for (int k = 0; k < 4; ++k)
            model.at(kQuats + k, i) = static_cast<float>(r(5 + static_cast<std::uint64_t>(k)));
        model.at(kOpacityLogits, i) = static_cast<float>(r(9));
        if (i < 400) rays.push_back({{1000, 0, 0}, direction_of({a.azimuth + 0.0001, 0}), true});
    }
    const Both both = around_a_sensor(std::move(model), rays, {1000, 0, 0});
    both.compare(both.of_ranges());
}

/// Of each ray the sum of weight x min(|t - measured|, far), by the oracle.
std::vector<double> off_by_oracle(const Both& both, const reference::Parameters& scene,
                                  const RayImageGradient& v) {
    std::vector<double> out;
    for (std::size_t r = 0; r < both.rays.size(); ++r) {
        std::vector<Vec3d> off(both.model.count);
        for (std::size_t i = 0; i < both.model.count; ++i) {
            const auto raw = [&](int p) { return scene.at(p, i); };
            const Mat3d m = math::whitening(
                Vec3d{std::exp(raw(kLogScales)), std::exp(raw(kLogScales + 1)),
                      std::exp(raw(kLogScales + 2))},
                Quatd{raw(kQuats), raw(kQuats + 1), raw(kQuats + 2), raw(kQuats + 3)});
            const Vec3d mean{raw(kMeans), raw(kMeans + 1), raw(kMeans + 2)};
            const double t =
                math::nearest(m, both.rays[r].origin - mean, both.rays[r].direction).hit;
            off[i].x = std::min(std::abs(t - static_cast<double>(v.measured[r])),
                                static_cast<double>(v.far));
        }
        const std::span ray(&both.rays[r], 1);
        out.push_back(reference::render_rays(scene, off, both.ranks, ray, {}).signal[0].x);
    }
    return out;
}

TEST(RaysBackward, LightTakenFarFromWhereItShould) {
    Both both = around_a_sensor(around(40, 7), beams_around(5, 24, {0.5, 0, 0}, 0.3), {});
    // Without rays that rounding decides about, as the slope is taken by differences.
    std::vector<CameraRay> sure;
    for (std::size_t r = 0; r < both.rays.size(); ++r)
        if (both.picture.fragile[r] == 0 && both.picture.alpha[r] > 0) sure.push_back(both.rays[r]);
    ASSERT_GT(sure.size(), 20u);
    both = around_a_sensor(both.model, sure, {});
    RayImageGradient v{.pull = 0.7f, .far = 1.5f};
    for (std::size_t r = 0; r < sure.size(); ++r)
        v.measured.push_back(static_cast<float>(both.picture.hit[r] / both.picture.alpha[r]) +
                             (r % 2 == 0 ? 0.3f : -0.4f));
    PlaneSink sink(both.model);
    const RaysBackward got =
        trace_rays_backward(both.model, {}, both.tiles, both.rules, both.image, v, sink);
    const std::vector<double> off = off_by_oracle(both, both.scene, v);
    for (std::size_t r = 0; r < sure.size(); ++r) EXPECT_NEAR(got.off[r], off[r], 2e-4) << r;
    constexpr double kStep = 1e-6;
    reference::Parameters want(both.model.count, 0);
    for (int p = 0; p < kSh0; ++p)
        for (std::size_t i = 0; i < both.model.count; ++i) {
            reference::Parameters moved = both.scene;
            double slope = 0;
            for (const double side : {1.0, -1.0}) {
                moved.at(p, i) = both.scene.at(p, i) + side * kStep;
                for (const double of_ray : off_by_oracle(both, moved, v)) slope += side * of_ray;
            }
            want.at(p, i) = static_cast<double>(v.pull) * slope / (2 * kStep);
        }
    compare_kinds(sink, want);
}

TEST(RaysBackward, ThreadsDoNotMatterAndPoisonStaysApart) {
    GaussianModel model = around(3000, 5);
    const auto rays = beams_around(16, 300, {0.5, 0, 0}, 0.3);
    const float nan = std::nanf("");
    model.at(kMeans, 0) = nan;
    model.at(kLogScales, 1) = nan;
    for (int k = 0; k < 4; ++k) model.at(kQuats + k, 3) = 0;
    model.at(kOpacityLogits, 4) = nan;
    const Both both = around_a_sensor(std::move(model), rays, {});
    const auto planes = [&](int threads) {
        set_thread_count(threads);
        PlaneSink sink(both.model);
        (void)trace_rays_backward(both.model, {}, both.tiles, both.rules, both.image,
                                  both.of_ranges(), sink);
        set_thread_count(0);
        return sink.planes;
    };
    const auto one = planes(1);
    EXPECT_EQ(one, planes(2));
    for (const auto& plane : one)
        for (const double value : plane) ASSERT_TRUE(std::isfinite(value));

    const RayTiles none(std::vector<CameraRay>{}, Pose{});
    const RayImage image = trace_rays(both.model, {}, none, {{}, {}}, both.rules);
    PlaneSink sink(both.model);
    EXPECT_TRUE(trace_rays_backward(both.model, {}, none, both.rules, image, {}, sink).off.empty());
    for (const int came : sink.came) EXPECT_EQ(came, 0);
}

}  // namespace
}  // namespace gs::test
