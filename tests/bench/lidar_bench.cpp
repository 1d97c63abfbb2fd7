// What a sweep costs, and its gradients: 64 x 1,800 beams through Gaussians on the ground, walls
// and poles around a sensor. Verified against the oracle on some beams before it is timed.
//   build/tests/lidar_bench [GAUSSIANS=500000] [THREADS=2]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/parallel.h"
#include "base/seconds.h"
#include "renderer/rays/rays.h"
#include "renderer/reference/rays.h"
#include "renderer/scene/beam_angles.h"
#include "tests/support/random_scene.h"

namespace gs {
namespace {

/// Flat Gaussians on a street: the ground 1.7 m below, walls 12 m to both sides, and clutter.
GaussianModel street(std::size_t count) {
    GaussianModel out(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
        const auto r = [&](std::uint64_t k) {
            return static_cast<float>(test::random_in(7, i, k, -1, 1));
        };
        const float along = 80 * r(0) * std::abs(r(1));
        const int kind = static_cast<int>(i % 3);
        const float place[3][3] = {{along, 12 * r(2), -1.7f},
                                   {along, r(2) > 0 ? 12.0f : -12.0f, 3 + 5 * r(3)},
                                   {along, 11 * r(2), 2 * r(3)}};
        const float thin[3][3] = {{0, 0, -3}, {0, -3, 0}, {-1, -1, 0}};
        for (int k = 0; k < 3; ++k) {
            out.at(kMeans + k, i) = place[kind][k];
            out.at(kLogScales + k, i) = std::log(kind == 2 ? 0.02f : 0.06f) +
                                        0.4f * r(4 + static_cast<std::uint64_t>(k)) + thin[kind][k];
        }
        out.at(kOpacityLogits, i) = 1 + 2 * r(8);
    }
    return out;
}

std::vector<CameraRay> sweep() {
    std::vector<CameraRay> out;
    for (int row = 0; row < 64; ++row)
        for (int column = 0; column < 1800; ++column) {
            const BeamAngles a{3.14159 - 6.2831853 * column / 1800.0,
                               (2.0 - 26.8 * row / 63) * 3.14159265 / 180};
            out.push_back({{column / 1800.0 - 0.5, 0, 0}, direction_of(a), true});  // at 10 m/s
        }
    return out;
}

/// What a training step takes of it: groups of columns, about 4,096 beams.
std::vector<CameraRay> some_columns(const std::vector<CameraRay>& all) {
    std::vector<CameraRay> out;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (const std::size_t column = i % 1800;
            column % 4 != 3 && test::random_in(5, column / 4, 0, 0, 1) < 4096.0 / 86400)
            out.push_back(all[i]);
    return out;
}

/// The least wall and CPU time of three, in milliseconds.
struct Took {
    double wall = 1e30, cpu = 1e30;
    template <class F>
    explicit Took(F&& f) {
        for (int repeat = 0; repeat < 3; ++repeat) {
            const auto begin = std::chrono::steady_clock::now();
            const std::clock_t used = std::clock();
            f();
            wall = std::min(wall, 1000 * seconds_since(begin));
            cpu = std::min(cpu, 1000.0 * static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC);
        }
    }
};

struct NoSink final : GradientSink {
    void take(const BlockGradients&) override {}
};
/// Of expected ranges.
Took backward_time(const GaussianModel& model, const RayTiles& tiles, const RasterRules& rules,
                   const RayImage& image) {
    RayImageGradient v;
    for (std::size_t i = 0; i < image.alpha.size(); ++i) {
        const double alpha = std::max(1e-3, static_cast<double>(image.alpha[i])),
                     range = static_cast<double>(image.hit[i]) / alpha;
        v.hit.push_back(1 / alpha);
        v.alpha.push_back(-range / alpha);
    }
    return Took([&] {
        NoSink sink;
        (void)trace_rays_backward(model, {}, tiles, rules, image, v, sink);
    });
}

int run(std::size_t gaussians, int threads) {
    set_thread_count(threads);
    const GaussianModel model = street(gaussians);
    const auto rays = sweep();
    const RasterRules rules = rules_of(Compatibility::tight);
    const Took tiling([&] { RayTiles(rays, Pose{}); });
    const RayTiles tiles(rays, Pose{});
    RayImage image;
    const Took sweeping([&] {
        image = trace_rays(model, {}, tiles, {{}, {}}, rules);
    }),
        back = backward_time(model, tiles, rules, image);
    const auto few = some_columns(rays);
    const RayTiles few_tiles(few, Pose{});
    RayImage few_image;
    const Took step([&] {
        few_image = trace_rays(model, {}, RayTiles(few, Pose{}), {{}, {}}, rules);
    }),
        step_back = backward_time(model, few_tiles, rules, few_image);
    reference::Parameters scene(model.count, 0);
    for (std::size_t i = 0; i < model.count; ++i)
        for (int p = 0; p < kSh0; ++p) scene.at(p, i) = static_cast<double>(model.at(p, i));
    std::vector<CameraRay> some;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < rays.size(); i += 7207) {
        some.push_back(rays[i]);
        which.push_back(i);
    }
    const auto picture =
        reference::render_rays(scene, std::vector<Vec3d>(model.count),
                               reference::order_around(scene, {}), some, reference::Options{});
    double worst = 0;
    for (std::size_t k = 0; k < which.size(); ++k)
        if (picture.fragile[k] == 0)
            worst = std::max(
                worst, std::abs(static_cast<double>(image.alpha[which[k]]) - picture.alpha[k]));
    fmt::print("{} Gaussians, {} threads; least of three, wall (CPU) ms\n", model.count,
               thread_count());
    const auto line = [](const char* what, const Took& took) {
        fmt::print("{:<28}{:7.1f} ({:.1f})\n", what, took.wall, took.cpu);
    };
    fmt::print("{} beams: {} tiles, {:.1f} MB, {} visible, {} pairs with tiles\n", rays.size(),
               tiles.tiles().size(), 1e-6 * static_cast<double>(tiles.bytes()), image.visible,
               image.pairs);
    line("  tiles", tiling);
    line("  lists and trace", sweeping);
    line("  backward", back);
    fmt::print("{} beams of a step: {} tiles, {} visible, {} pairs\n", few.size(),
               few_tiles.tiles().size(), few_image.visible, few_image.pairs);
    line("  tiles, lists and trace", step);
    line("  backward", step_back);
    fmt::print("worst alpha of {} beams: {:.1e}\n", which.size(), worst);
    return worst < 1e-3 ? 0 : 1;
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
    return gs::run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 500'000,
                   argc > 2 ? std::atoi(argv[2]) : 2);
}
