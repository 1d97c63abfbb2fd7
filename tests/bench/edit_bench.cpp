// What selecting costs: each part of a frame's work while a shape is drawn over a picture of N
// Gaussians (a million unless said otherwise), checked against the count by hand before it is
// timed.
//
//   build/tests/edit_bench [N]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>

#include "app/session/shown_tint.h"
#include "base/check.h"
#include "base/parallel.h"
#include "renderer/edit/questions.h"
#include "renderer/edit/row_change.h"
#include "tests/support/random_scene.h"

namespace gs {
namespace {

/// The median of 15 runs, milliseconds.
double median_ms(const std::function<void()>& work) {
    std::vector<double> out;
    for (int i = 0; i < 15; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        out.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                .count());
    }
    std::nth_element(out.begin(), out.begin() + 7, out.end());
    return out[7];
}

void measure(std::size_t count) {
    GaussianModel m(count, 0);
    parallel_for(count, 4096, [&](std::size_t i) {
        for (int c = 0; c < 3; ++c)
            m.at(kMeans + c, i) =
                static_cast<float>(test::random_in(1, static_cast<std::uint64_t>(c), i, -1, 1));
    });
    const Camera camera = look_at({0, 0, -4}, {0, 0, 0}, {0, -1, 0}, 1280, 800, 0.9);
    const ScreenPoint corners[] = {{300, 100}, {900, 200}, {1000, 700}, {640, 400}, {200, 600}};
    const ScreenMask mask = polygon_mask(1280, 800, corners);
    const Hits hits = rows_on_screen(m, {camera, 0.1}, mask);
    std::size_t by_hand = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const Vec3f p = m.mean(i);
        const Vec2<double> at =
            camera.pixel_of(camera.rotation * Vec3d{p.x, p.y, p.z} + camera.translation);
        by_hand += at.x >= 0 && at.x < 1280 && at.y >= 0 && at.y < 800 &&
                   mask.at(static_cast<int>(at.x), static_cast<int>(at.y));
    }
    CHECK(by_hand == static_cast<std::size_t>(std::count(hits.begin(), hits.end(), 1)),
          "the hits of {} Gaussians", count);
    const Flags none(count, 0), flags = with_selection(none, hits, SelectMode::replace);
    ShownTint tint;
    Vec3f lo, hi;
    fmt::print("{} Gaussians, {} of them hit, {} threads\n", count, by_hand, thread_count());
    const auto row = [](const char* what, const std::function<void()>& work) {
        fmt::print("{:<28}{:8.2f} ms\n", what, median_ms(work));
    };
    row("mask of a lasso", [&] { polygon_mask(1280, 800, corners); });
    row("centres on the screen", [&] { rows_on_screen(m, {camera, 0.1}, mask); });
    row("flags of the selection", [&] { with_selection(none, hits, SelectMode::replace); });
    row("counts and bounds", [&] {
        count_flags(flags);
        bounds_of_selection(m, flags, lo, hi);
    });
    row("tint of the picture", [&] {
        tint.set_flags(flags);
        tint.tint();
    });
    row("a step of the history", [&] { FlagChange(none, flags); });
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
    gs::measure(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000);
    return 0;
}
