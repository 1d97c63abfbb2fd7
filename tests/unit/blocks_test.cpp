// Blocks of a capture: every place has one owner, blocks have about as many points, photos go to
// the blocks that they look through, and merging keeps each Gaussian once.
#include "renderer/scene/blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/random_scene.h"
#include "tests/unit/sound_capture.h"

namespace gs::test {
namespace {

constexpr std::size_t kPoints = 4000;

/// A street along x, 20 long and 4 wide, z up; photos every unit, to the left and the right.
Capture street() {
    Capture c;
    for (std::uint64_t i = 0; i < kPoints; ++i)
        c.points.push_back({{static_cast<float>(random_in(3, 0, i, -10, 10)),
                             static_cast<float>(random_in(3, 1, i, -2, 2)),
                             static_cast<float>(random_in(3, 2, i, 0, 1))},
                            {}});
    for (int i = 0; i <= 20; ++i) {
        View view;
        view.name = "photo_" + std::to_string(i);
        const double x = i - 10.0;
        view.camera = look_at({x, 0, 0.5}, {x, i % 2 ? 2.0 : -2.0, 0.5}, {0, 0, 1}, 64, 48, 0.9);
        view.test = i % 8 == 0;
        c.views.push_back(view);
    }
    return c;
}

std::vector<CaptureBlock> cut(const Capture& capture, std::size_t count) {
    auto blocks = cut_into_blocks(capture, count);
    EXPECT_TRUE(blocks) << blocks.error().text();
    return blocks ? std::move(*blocks) : std::vector<CaptureBlock>();
}

TEST(Blocks, EveryPlaceHasOneOwner) {
    for (const std::size_t count : {2u, 3u, 4u, 7u}) {
        const auto blocks = cut(street(), count);
        ASSERT_EQ(blocks.size(), count);
        const auto owners = [&](Vec3f p) {
            return std::ranges::count_if(blocks,
                                         [&](const CaptureBlock& b) { return b.own.holds(p); });
        };
        for (std::uint64_t i = 0; i < 2000; ++i) {
            const auto at = [&](std::uint64_t a) {
                return static_cast<float>(random_in(5, a, i, -1e4, 1e4) * random_in(6, a, i, 0, 1) *
                                          random_in(7, a, i, 0, 1));
            };
            EXPECT_EQ(owners({at(0), at(1), at(2)}), 1);
        }
        for (const CaptureBlock& block : blocks)  // on the planes themselves
            for (const float x : {block.own.lo.x, block.own.hi.x})
                EXPECT_EQ(owners({std::isfinite(x) ? x : 0, 0.3f, 0.1f}), 1);
        EXPECT_EQ(owners({std::numeric_limits<float>::quiet_NaN(), 0, 0}), 0);
    }
}

TEST(Blocks, HaveAboutAsManyPointsAndAreCutAcrossTheLongerSide) {
    const Capture capture = street();
    for (const std::size_t count : {2u, 3u, 4u}) {
        for (const CaptureBlock& block : cut(capture, count)) {
            const auto own = std::ranges::count_if(
                capture.points, [&](const SparsePoint& p) { return block.own.holds(p.position); });
            EXPECT_NEAR(static_cast<double>(own), static_cast<double>(kPoints / count), 2);
            EXPECT_TRUE(std::isinf(block.own.lo.y) && std::isinf(block.own.hi.y));
            EXPECT_TRUE(std::isinf(block.own.lo.z) && std::isinf(block.own.hi.z));
        }
    }
}

TEST(Blocks, TheMarginIsAFifthOfTheWidthAndKeepsEndlessSides) {
    const auto blocks = cut(street(), 4);
    const CaptureBlock& second = blocks[1];
    const float width = second.own.hi.x - second.own.lo.x;
    EXPECT_NEAR(second.own.lo.x - second.wide.lo.x, 0.2f * width, 1e-4f);
    EXPECT_NEAR(second.wide.hi.x - second.own.hi.x, 0.2f * width, 1e-4f);
    EXPECT_TRUE(std::isinf(blocks[0].wide.lo.x));
    EXPECT_GT(blocks[0].wide.hi.x, blocks[0].own.hi.x);
}

TEST(Blocks, PhotosBelongToWhatTheyLookThrough) {
    const Capture capture = street();
    const auto blocks = cut(capture, 4);
    for (std::size_t v = 0; v < capture.views.size(); ++v) {
        const Vec3d at = capture.views[v].camera.position();
        bool any = false;
        for (const CaptureBlock& block : blocks) {
            const bool has = std::ranges::binary_search(block.views, v);
            any = any || has;
            const double margin_away = 2;  // sideways views reach less far along the street
            const bool inside = block.wide.holds({static_cast<float>(at.x), 0, 0.5f});
            EXPECT_TRUE(has || !inside) << v;
            const bool away = at.x < static_cast<double>(block.wide.lo.x) - margin_away ||
                              at.x > static_cast<double>(block.wide.hi.x) + margin_away;
            EXPECT_FALSE(has && away) << v;
        }
        EXPECT_TRUE(any) << v;
    }
    // One that looks along the whole street sees its far blocks from the near end.
    Capture along = capture;
    along.views[0].camera = look_at({-14, 0, 0.5}, {10, 0, 0.5}, {0, 0, 1}, 64, 48, 0.9);
    for (const CaptureBlock& block : cut(along, 2)) EXPECT_EQ(block.views.front(), 0u);
}

TEST(Blocks, FarPointsAreThinnedToWhatFits) {
    const Capture capture = street();
    const auto near = [](const CaptureBlock& block, const std::vector<SparsePoint>& of) {
        return static_cast<std::size_t>(std::ranges::count_if(
            of, [&](const SparsePoint& p) { return block.wide.holds(p.position); }));
    };
    for (const CaptureBlock& block : cut(capture, 4)) {
        const std::size_t inside = near(block, capture.points);
        for (const std::size_t most : {std::size_t{0}, inside * 3, kPoints}) {
            std::vector<SparsePoint> points = capture.points;
            keep_points_of_block({block.wide, most}, points);
            EXPECT_EQ(near(block, points), inside);
            EXPECT_LE(points.size(), std::max(most, 2 * inside) + 1);
            EXPECT_GT(points.size(), inside);
            EXPECT_EQ(points.size() == kPoints, most >= kPoints);
        }
    }
}

TEST(Blocks, MarginsWiden) {
    const CaptureBlock second = cut(street(), 4)[1];
    const BlockRegion none = widened(second, 0), one = widened(second, 1), two = widened(second, 2),
                      all = widened(second, 1e30f);
    EXPECT_EQ(none.lo.x, second.own.lo.x);
    EXPECT_NEAR(one.hi.x, second.wide.hi.x, 1e-5f);
    EXPECT_NEAR(two.hi.x - second.own.hi.x, 2 * (second.wide.hi.x - second.own.hi.x), 1e-5f);
    EXPECT_TRUE(all.holds({1e9f, -1e9f, 1e9f}));
    EXPECT_TRUE(std::isinf(two.lo.y));
}

TEST(Blocks, TheHashIsOfCamerasPointsAndCut) {
    const Capture capture = street();
    const auto hash = [](const Capture& c, std::size_t count) {
        return hash_of_cut(c, cut(c, count));
    };
    const std::uint64_t first = hash(capture, 2);
    EXPECT_EQ(hash(capture, 2), first);
    EXPECT_NE(hash(capture, 3), first);
    Capture other = capture;
    other.points[17].position.z += 1e-3f;
    EXPECT_NE(hash(other, 2), first);
    other = capture;
    other.views[3].camera.fx *= 0.5;
    EXPECT_NE(hash(other, 2), first);
    other = capture;
    other.views[3].test = !other.views[3].test;
    EXPECT_NE(hash(other, 2), first);
    other = capture;
    other.views[3].name += "_";
    EXPECT_NE(hash(other, 2), first);
}

TEST(Blocks, TooManyAreRefused) {
    Capture few = street();
    few.points.resize(2);
    const auto none = cut_into_blocks(few, 3);
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("too few for 3 blocks"), std::string::npos);
    Capture blind = street();
    for (View& view : blind.views)  // all on one end, away from the rest
        view.camera = look_at({-10, 0, 0.5}, {-12, 0, 0.5}, {0, 0, 1}, 64, 48, 0.9);
    const auto unseen = cut_into_blocks(blind, 4);
    ASSERT_FALSE(unseen);
    EXPECT_NE(unseen.error().message.find("no photo to train on"), std::string::npos);
}

TEST(Blocks, PointsOnAFewValuesAreCutBetweenThem) {
    Capture walls = street();
    for (std::size_t i = 0; i < walls.points.size(); ++i)
        walls.points[i].position.x = i % 3 == 0 ? 2.0f : 0.0f;
    const std::vector<CaptureBlock> blocks = cut(walls, 2);
    for (const CaptureBlock& block : blocks)
        EXPECT_TRUE(std::ranges::any_of(
            walls.points, [&](const SparsePoint& p) { return block.own.holds(p.position); }));
    for (SparsePoint& p : walls.points) p.position = {1, 1, 1};
    EXPECT_FALSE(cut_into_blocks(walls, 2));
}

TEST(Blocks, MergingKeepsEachGaussianOnce) {
    GaussianModel model(1000, 1);
    model.origin = {5, 6, 7};
    model.antialiased = true;
    for (std::size_t i = 0; i < model.count; ++i)
        for (int p = 0; p < model.planes(); ++p)
            model.at(p, i) =
                static_cast<float>(random_in(9, static_cast<std::uint64_t>(p), i, -10, 10));
    std::vector<GaussianModel> parts;
    for (const CaptureBlock& block : cut(street(), 4)) {
        parts.push_back(chosen(model, [&](Vec3f mean) { return block.own.holds(mean); }));
        EXPECT_GT(parts.back().count, 0u);
        for (std::size_t i = 0; i < parts.back().count; ++i)
            EXPECT_TRUE(block.own.holds(parts.back().mean(i)));
    }
    const GaussianModel merged = joined(std::move(parts));
    ASSERT_EQ(merged.count, model.count);
    EXPECT_EQ(merged.origin.y, 6);
    EXPECT_TRUE(merged.antialiased);
    for (int p = 0; p < model.planes(); ++p) {
        std::vector<float> before(model.plane(p), model.plane(p) + model.count),
            after(merged.plane(p), merged.plane(p) + merged.count);
        std::ranges::sort(before);
        std::ranges::sort(after);
        EXPECT_EQ(before, after);
    }
}

TEST(Blocks, TheFaintestBeyondAreLeftOut) {
    GaussianModel model(6, 0);
    for (std::size_t i = 0; i < 6; ++i) {
        model.at(kMeans, i) = i < 2 ? -1.0f : 1.0f;
        model.at(kOpacityLogits, i) = i < 2 ? -9.0f : static_cast<float>(i % 4);  // 2, 3, 0, 1
        model.at(kSh0, i) = static_cast<float>(i);
    }
    BlockRegion own;
    own.hi.x = 0;
    const auto left = [&](std::size_t most) {
        const GaussianModel out = without_faintest(model, own, most);
        return std::vector<float>(out.plane(kSh0), out.plane(kSh0) + out.count);
    };
    EXPECT_EQ(left(6), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(left(5), (std::vector<float>{0, 1, 2, 3, 5}));
    EXPECT_EQ(left(3), (std::vector<float>{0, 1, 3}));
    EXPECT_EQ(left(1), (std::vector<float>{0, 1})) << "all of its own stay";
}

}  // namespace
}  // namespace gs::test
