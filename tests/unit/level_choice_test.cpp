// The level that each region of a set is drawn at: a plain of regions, seen by a camera that stands
// on it.
#include "renderer/io/splats/level_choice.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gs::test {
namespace {

constexpr int kSide = 40;  // regions on each axis, 10 units apart

/// Each with the same levels, of 65,536 Gaussians, a third, and so on.
LevelSet plain(std::size_t levels = 5, int side = kSide) {
    LevelSet set{.levels = levels};
    for (int z = 0; z < side; ++z)
        for (int x = 0; x < side; ++x) {
            const Vec3f lo{10.0f * static_cast<float>(x), 0, 10.0f * static_cast<float>(z)};
            set.regions.push_back({lo, lo + Vec3f{10, 1, 10}, true,
                                   static_cast<std::uint32_t>(set.pieces.size()),
                                   static_cast<std::uint32_t>(levels)});
            std::size_t count = 65536;
            for (std::uint32_t level = 0; level < levels; ++level, count /= 3)
                set.pieces.push_back({level, 0, 0, count});
        }
    return set;
}

const LevelSet& the_plain() {
    static const LevelSet set = plain();
    return set;
}

Camera walker(Vec3d eye, Vec3d towards) {
    return look_at(eye, eye + towards, {0, -1, 0}, 1280, 720, 0.9);
}
Camera at_the_edge() { return walker({200, -2, -5}, {0, 0.05, 1}); }

int level_at(const LevelChoice& choice, int x, int z) {
    return choice.levels[static_cast<std::size_t>(z * kSide + x)];
}

std::uint64_t sum_of(const LevelSet& set, const LevelChoice& choice) {
    std::uint64_t sum = 0;
    for (std::size_t r = 0; r < set.regions.size(); ++r)
        sum += set.pieces_of(set.regions[r])[choice.levels[r]].count;
    return sum;
}

TEST(LevelChoices, AreNowhereCoarserWithALargerBudget) {
    const LevelSet& set = the_plain();
    LevelChoice before = coarsest_levels(set);
    for (double budget = 1e6; budget < 1.5e8; budget *= 1.3) {
        const LevelChoice now = choose_levels(set, at_the_edge(), {.budget = budget, .pixels = 0});
        EXPECT_EQ(now.gaussians, sum_of(set, now));
        EXPECT_EQ(now.over_budget, static_cast<double>(now.gaussians) > budget);
        EXPECT_GE(now.gaussians, before.gaussians);
        for (std::size_t r = 0; r < set.regions.size(); ++r)
            ASSERT_LE(now.levels[r], before.levels[r]) << budget << " at " << r;
        before = now;
    }
    EXPECT_EQ(before.gaussians, set.gaussians(0)) << "all of the finest fit";
}

TEST(LevelChoices, AreFinerWhereTheCameraIsAndLooks) {
    const LevelSet& set = the_plain();
    const LevelChoice choice = choose_levels(set, at_the_edge(), {.budget = 6e6, .pixels = 0});
    EXPECT_LE(static_cast<double>(choice.gaussians), 6e6);
    EXPECT_GT(static_cast<double>(choice.gaussians), 6e6 - 65536) << "one upgrade did not fit";
    EXPECT_EQ(level_at(choice, 20, 0), 0);
    for (int z = 1; z < kSide; ++z)
        EXPECT_GE(level_at(choice, 20, z), level_at(choice, 20, z - 1)) << z;
    EXPECT_GT(level_at(choice, 20, kSide - 1), 1);
    // In the middle: ahead is finer than behind.
    const LevelChoice middle =
        choose_levels(set, walker({200, -2, 200}, {0, 0.05, 1}), {.budget = 6e6, .pixels = 0});
    EXPECT_LT(level_at(middle, 20, 26), level_at(middle, 20, 13));
    EXPECT_LT(level_at(middle, 20, 26), level_at(middle, 4, 20)) << "and than beside it";
    const LevelChoice turned =
        choose_levels(set, walker({200, -2, 200}, {0, 0.05, -1}), {.budget = 6e6, .pixels = 0});
    EXPECT_GT(level_at(turned, 20, 26), level_at(turned, 20, 13));
}

TEST(LevelChoices, BuyMostGainForEachGaussianFirst) {
    // Two regions as far away: one gains as much for a tenth of the Gaussians.
    LevelSet set = plain(2, 2);
    for (std::uint32_t r = 0; r < 2; ++r) {
        const std::size_t coarse = r == 0 ? 30000 : 3000;
        set.pieces[2 * r].count = 3 * coarse;
        set.pieces[2 * r + 1].count = coarse;
    }
    set.regions.resize(2);
    set.pieces.resize(4);
    const Camera camera = walker({10, 0, -30}, {0, 0, 1});
    const LevelChoice choice = choose_levels(set, camera, {.budget = 50000, .pixels = 0});
    EXPECT_EQ(choice.levels, (std::vector<std::uint8_t>{1, 0}));
    // What does not fit ends it: nothing cheaper is bought behind its back.
    set.pieces[0].count = 31000;  // now the first region's upgrade gains most
    set.pieces[1].count = 100;
    set.pieces[2].count = 9000;
    const LevelChoice stopped = choose_levels(set, camera, {.budget = 30000, .pixels = 0});
    const LevelChoice bought = choose_levels(set, camera, {.budget = 41000, .pixels = 0});
    EXPECT_EQ(bought, choose_levels(set, camera, {.budget = 1e9, .pixels = 0}));
    EXPECT_EQ(stopped.levels, coarsest_levels(set).levels);
}

TEST(LevelChoices, StopWhereGaussiansAreCloseEnough) {
    const LevelSet& set = the_plain();
    const LevelChoice fine = choose_levels(set, at_the_edge(), {.budget = 1e9, .pixels = 1}),
                      rough = choose_levels(set, at_the_edge(), {.budget = 1e9, .pixels = 8});
    EXPECT_LT(rough.gaussians, fine.gaussians);
    EXPECT_LT(fine.gaussians, set.gaussians(0));
    EXPECT_EQ(fine.pixels, 1) << "the wish was met";
    EXPECT_GT(choose_levels(set, at_the_edge(), {.budget = 2e6, .pixels = 1}).pixels, 1);
    EXPECT_EQ(choose_levels(set, walker({200, -1e7, 200}, {0, 1, 0.01}), {.budget = 1e9}),
              coarsest_levels(set))
        << "from far away";
    LevelWish clipped{
        .budget = 1e9, .pixels = 0, .clip = ClipBox{set.regions[0].lo, set.regions[0].hi}};
    const LevelChoice box = choose_levels(set, at_the_edge(), clipped);
    EXPECT_EQ(level_at(box, 0, 0), 0);
    EXPECT_EQ(level_at(box, 20, 0), 4);
}

TEST(LevelChoices, OfOneLevelKeepToTheMemory) {
    const LevelSet& set = the_plain();
    LevelWish wish{.budget = 1e9, .level = 0};
    EXPECT_EQ(choose_levels(set, at_the_edge(), wish).gaussians, set.gaussians(0));
    wish.most = static_cast<double>(set.gaussians(2));
    EXPECT_EQ(choose_levels(set, at_the_edge(), wish).gaussians, set.gaussians(2));
    wish.most = 1;
    EXPECT_EQ(choose_levels(set, at_the_edge(), wish), coarsest_levels(set));
}

TEST(LevelChoices, AnyLensIsAsked) {
    const LevelSet& set = the_plain();
    Camera all_around = walker({200, -2, 200}, {0, 0, 1});
    all_around.model = CameraModel::equirectangular;
    all_around.fx = all_around.fy = 1280 / (2 * 3.14159265358979);
    const LevelChoice choice = choose_levels(set, all_around, {.budget = 6e6, .pixels = 0});
    EXPECT_EQ(level_at(choice, 20, 24), level_at(choice, 20, 15)) << "behind is seen as well";
    Camera parallel = walker({200, -300, 200}, {0, 1, 0.001});
    parallel.model = CameraModel::orthographic;
    parallel.fx = parallel.fy = 1280 / 100.0;  // shows 100 units
    const LevelChoice map = choose_levels(set, parallel, {.budget = 6e6, .pixels = 0});
    EXPECT_LT(level_at(map, 20, 20), level_at(map, 2, 2)) << "outside the picture";
    EXPECT_EQ(level_at(map, 20, 20), level_at(map, 22, 21)) << "with parallel rays near is as far";
    LevelSet unbounded = plain(3, 1);
    unbounded.regions[0].bounded = false;
    EXPECT_EQ(choose_levels(unbounded, at_the_edge(), {.budget = 1e9}).levels[0], 0);
}

TEST(LevelChoices, DoForAViewThatHardlyDiffers) {
    const LevelSet& set = the_plain();
    // 5 units before the first region.
    const Camera camera = at_the_edge();
    EXPECT_TRUE(nearly_same_view(set, camera, camera));
    EXPECT_TRUE(nearly_same_view(set, camera, walker({200.04, -2, -5}, {0, 0.05, 1})));
    EXPECT_FALSE(nearly_same_view(set, camera, walker({200.1, -2, -5}, {0, 0.05, 1})));
    EXPECT_TRUE(nearly_same_view(set, camera, walker({200, -2, -5}, {0.005, 0.05, 1})));
    EXPECT_FALSE(nearly_same_view(set, camera, walker({200, -2, -5}, {0.02, 0.05, 1})));
    Camera zoomed = camera;
    zoomed.fx *= 1.05;
    EXPECT_FALSE(nearly_same_view(set, camera, zoomed));
    EXPECT_FALSE(nearly_same_view(set, camera, camera.scaled_to(640, 360)));
}

TEST(LevelChoices, ACameraAheadGoesOnAroundWhatItOrbits) {
    const auto on_circle = [](double angle) {
        return look_at({10 * std::sin(angle), -3, -10 * std::cos(angle)}, {0, 0, 0}, {0, -1, 0},
                       640, 480, 0.9);
    };
    const Camera ahead = camera_ahead(on_circle(0.1), on_circle(0.2), 5);
    const Vec3d expected = on_circle(0.7).position(), at = ahead.position();
    EXPECT_NEAR(at.x, expected.x, 1e-9);
    EXPECT_NEAR(at.y, expected.y, 1e-9);
    EXPECT_NEAR(at.z, expected.z, 1e-9);
    EXPECT_NEAR(dot(ahead.forward(), on_circle(0.7).forward()), 1, 1e-12);
    const Camera straight =
        camera_ahead(walker({0, 0, 0}, {0, 0, 1}), walker({0, 0, 2}, {0, 0, 1}), 3);
    EXPECT_NEAR(straight.position().z, 8, 1e-9);
}

}  // namespace
}  // namespace gs::test
