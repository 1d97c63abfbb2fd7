// What a set's levels are in a small set on disk: chosen by distance and budget, read, kept, drawn
// and dropped.
#include "renderer/io/splats/level_store.h"

#include <cmath>

#include "tests/support/small_levels.h"

namespace gs::test {
namespace {

TEST(Levels, are_chosen_by_distance) {
    const Set files;
    const LevelSet set = the_set(files);
    ASSERT_EQ(set.regions.size(), kRegions);
    EXPECT_EQ(set.gaussians(1), kRegions * 100);
    const LevelChoice near = choose_levels(set, camera_at(-1), {1e9, 3, -1});
    EXPECT_EQ(near.levels.front(), 0) << "the nearest is as fine as can be";
    EXPECT_GT(near.levels.back(), 0) << "the farthest is not";
    EXPECT_TRUE(std::is_sorted(near.levels.begin(), near.levels.end())) << "farther is never finer";
    const LevelChoice other_end = choose_levels(set, camera_at(80), {1e9, 3, -1});
    EXPECT_TRUE(std::is_sorted(other_end.levels.rbegin(), other_end.levels.rend()));
    // Far away everything is coarse; with less than a pixel allowed everything is fine.
    EXPECT_EQ(choose_levels(set, camera_at(-1e6), {1e9, 3, -1}), coarsest_levels(set));
    EXPECT_EQ(choose_levels(set, camera_at(-1), {1e9, 1e-3, -1}).gaussians, set.gaussians(0));
}

TEST(Levels, outside_a_clip_box_the_coarsest_will_do) {
    const Set files;
    const LevelSet set = the_set(files);
    LevelWish wish{1e9, 1e-3, -1};
    const LevelRegion& first = set.regions.front();
    wish.clip = ClipBox{first.lo, first.hi};
    const LevelChoice choice = choose_levels(set, camera_at(-1), wish);
    EXPECT_EQ(choice.levels.front(), 0);
    EXPECT_EQ(choice.levels.back(), coarsest_levels(set).levels.back());
    // With parallel rays, near is as far.
    Camera parallel = camera_at(-1);
    parallel.model = CameraModel::orthographic;
    parallel.fx = parallel.fy = 30;
    const LevelChoice alike = choose_levels(set, parallel, {1e9, 3, -1});
    EXPECT_EQ(alike.levels.front(), alike.levels.back());
}

TEST(Levels, keep_to_the_budget_where_they_gain_least) {
    const Set files;
    const LevelSet set = the_set(files);
    std::uint64_t before = ~0ull;
    for (const double budget : {1e6, 3000.0, 1500.0, 900.0, 300.0, 200.0}) {
        const LevelChoice choice = choose_levels(set, camera_at(-1), {budget, 1e-3, -1});
        EXPECT_LE(static_cast<double>(choice.gaussians), budget);
        EXPECT_LE(choice.gaussians, before);
        EXPECT_TRUE(std::is_sorted(choice.levels.begin(), choice.levels.end())) << budget;
        EXPECT_FALSE(choice.over_budget);
        before = choice.gaussians;
    }
    // The budget is used: another region at a finer level would have been too much.
    const LevelChoice choice = choose_levels(set, camera_at(-1), {1500, 1e-3, -1});
    EXPECT_GT(choice.gaussians, 1500u - 300u);
    EXPECT_GT(choice.pixels, 1e-3);
    const LevelChoice none = choose_levels(set, camera_at(-1), {50, 1e-3, -1});
    EXPECT_TRUE(none.over_budget);
    EXPECT_EQ(none, coarsest_levels(set));
    EXPECT_EQ(choose_levels(set, camera_at(-1), {1e9, 3, 1}).gaussians, set.gaussians(1))
        << "one level, if so wished";
}

TEST(Levels, are_gathered_from_the_files_that_are_needed) {
    const Set files;
    const LevelSet set = the_set(files);
    LevelChoice mixed = coarsest_levels(set);
    mixed.levels[2] = 0;
    LevelStore store;
    EXPECT_EQ(store.missing(set, mixed), (std::vector<std::size_t>{0, 2})) << "none of level 1";
    ASSERT_TRUE(store.read_all(set, mixed, {}));
    EXPECT_TRUE(store.missing(set, mixed).empty());
    std::vector<LevelRun> runs;
    const GaussianModel model = store.gather(set, mixed, runs);
    EXPECT_EQ(model.count, 7u * 25 + 400);
    ASSERT_EQ(runs.size(), kRegions);
    EXPECT_EQ(runs[2].level, 0u);
    EXPECT_EQ(runs[2].end, 2u * 25 + 400);
    EXPECT_EQ(runs.back().level, 2u);
    EXPECT_EQ(runs.back().end, model.count);
    EXPECT_EQ(model.sh_degree, 1) << "the highest of its parts";
    for (std::size_t r = 0; r < kRegions; ++r) {
        std::size_t there = 0;
        for (std::size_t i = 0; i < model.count; ++i)
            there +=
                std::abs(model.at(kMeans, i) - (10 * static_cast<float>(r) + 0.5f)) < 0.05f ? 1 : 0;
        EXPECT_EQ(there, r == 2 ? 400u : 25u) << r;
    }
    const auto cancelled = LevelStore().read_all(
        set, mixed, [](std::string_view, std::size_t, std::size_t) { return false; });
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().kind, ErrorKind::cancelled);
}

TEST(Levels, as_a_whole_have_the_bits_that_reading_one_gives) {
    const Set files;
    const LevelSet set = the_set(files);
    for (int level = 0; level < 3; ++level) {
        const auto whole = read_splats(files.meta, {.lod = level});
        const LevelChoice choice = choose_levels(set, camera_at(0), {1e9, 1, level});
        LevelStore store;
        ASSERT_TRUE(store.read_all(set, choice, {}));
        std::vector<LevelRun> runs;
        const GaussianModel model = store.gather(set, choice, runs);
        ASSERT_TRUE(whole);
        ASSERT_EQ(whole->model.count, model.count);
        ASSERT_EQ(whole->model.planes(), model.planes());
        for (int p = 0; p < model.planes(); ++p)
            ASSERT_TRUE(
                std::equal(model.plane(p), model.plane(p) + model.count, whole->model.plane(p)))
                << p;
    }
}

TEST(Levels, in_memory_are_the_last_used_and_all_that_is_shown) {
    const Set files;
    const LevelSet set = the_set(files);
    const LevelChoice coarsest = coarsest_levels(set);
    const auto with = [&](std::size_t region, std::uint8_t level) {
        LevelChoice out = coarsest;
        out.levels[region] = level;
        return out;
    };
    LevelStore store;
    ASSERT_TRUE(store.read_all(set, with(0, 0), {}));
    ASSERT_TRUE(store.read_all(set, with(0, 1), {}));
    EXPECT_EQ(store.pieces(), kRegions * kLevels) << "files are kept whole while they fit";
    const std::uint64_t all = store.bytes();
    EXPECT_GT(store.bytes_each(), 4.0 * 14) << "the highest degree counts";
    store.drop(set, with(3, 0), all);
    EXPECT_EQ(store.pieces(), kRegions * kLevels);
    store.drop(set, with(5, 1), all);
    // Space for what is coarsest, this choice, and one more: the one that was used last stays.
    const std::uint64_t piece = GaussianModel(400, 1).bytes();
    LevelStore small = store;
    small.drop(set, with(5, 1),
               kRegions * GaussianModel(25, 0).bytes() + GaussianModel(100, 0).bytes() + piece);
    EXPECT_TRUE(small.missing(set, with(5, 1)).empty());
    EXPECT_TRUE(small.missing(set, with(3, 0)).empty());
    EXPECT_FALSE(small.missing(set, with(2, 0)).empty());
    small.drop(set, coarsest, 0);
    EXPECT_EQ(small.pieces(), kRegions) << "the coarsest stay";
    EXPECT_EQ(store.pieces(), kRegions * kLevels) << "a copy forgets for itself";
    EXPECT_EQ(store.bytes(), all);
}

TEST(Levels, at_hand_stand_in_for_those_that_are_missing) {
    const Set files;
    const LevelSet set = the_set(files);
    const LevelChoice coarsest = coarsest_levels(set);
    LevelChoice fine = coarsest, middle = coarsest;
    fine.levels.assign(kRegions, 0);
    middle.levels.assign(kRegions, 1);
    LevelStore store;
    ASSERT_TRUE(store.read_all(set, coarsest, {}));
    LevelChoice now = store.at_hand(set, fine, coarsest, 1e9);
    EXPECT_EQ(now, coarsest);
    EXPECT_EQ(now.gaussians, kRegions * 25);
    ASSERT_TRUE(store.read_all(set, middle, {}));
    EXPECT_EQ(store.at_hand(set, fine, coarsest, 1e9), middle) << "the next coarser";
    EXPECT_EQ(store.at_hand(set, middle, fine, 1e9), middle) << "what is wanted, where it is here";
    // On the way from fine to middle, with middle missing: fine stays while the budget allows it.
    LevelStore jump;
    ASSERT_TRUE(jump.read_all(set, coarsest, {}));
    ASSERT_TRUE(jump.read_all(set, fine, {}));
    EXPECT_EQ(jump.at_hand(set, middle, fine, 1e9), fine);
    now = jump.at_hand(set, middle, fine, 1000);
    EXPECT_EQ(now.gaussians, 2u * 400 + 6 * 25) << "only two of them";
    EXPECT_EQ(jump.at_hand(set, middle, coarsest, 1e9), coarsest);
}

}  // namespace
}  // namespace gs::test
