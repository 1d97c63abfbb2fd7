// The cost model against numbers worked out by hand, and the CPU's ceilings as far as any machine
// must have them.
#include "profiler/analysis/cost_model.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "renderer/raster/cpu/ceilings.h"

namespace gs {
namespace {

FrameWork frame() {
    return {.cuda = true,
            .gaussians = 3e6,
            .candidates = 1.5e6,
            .visible = 1e6,
            .isects = 4e6,
            .evaluated = 400e6,
            .blended = 80e6,
            .pixels = 2e6,
            .tiles = 8160,
            .training = true};
}
/// Round numbers: a second is 1e12 bytes, or 1e13 operations.
Ceilings machine() {
    return {.copy_bytes = 1e12,
            .lane_operations = 1e13,
            .special_operations = 1e12,
            .shared_bytes = 1e13,
            .launch_interval_seconds = 2e-6};
}

TEST(CostModel, BytesOfTheStagesAsLaidOut) {
    const FrameWork f = frame();
    // Means of the candidates; the rest of the geometry, 16 bases, 59 planes of moments and the
    // last step, and the records made, of the visible.
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::project).bytes,
                     1.5e6 * 12 + 1e6 * (32 + 192 + 59 * 8 + 4 + 48 + 32 + 12));
    // 14 bits of tiles: two passes of 2-byte keys with 4-byte values.
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::sort).bytes, 1e6 * 80 + 4e6 * (2 + 2 * 2 * 6));
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::blend).bytes, 48e6 + 4e6 * 5 + 2e6 * 20);
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::blend).operations, 14 * 400e6 + 8 * 80e6);
    FrameWork cpu = f;  // a word of mask for each isect
    cpu.cuda = false;
    EXPECT_DOUBLE_EQ(stage_work(cpu, Stage::blend).bytes, 48e6 + 4e6 * 8 + 2e6 * 16);
    EXPECT_DOUBLE_EQ(stage_work(cpu, Stage::blend_backward).bytes, 48e6 + 4e6 * 56 + 2e6 * 28);
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::loss).bytes, 2e6 * 27);
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::blend_backward).operations, 45 * 80e6);
    // Parameters once in and once out, moments twice: 24 bytes a parameter.
    const double fused =
        stage_work(f, Stage::adam).bytes + stage_work(f, Stage::project_backward).bytes;
    EXPECT_DOUBLE_EQ(fused, 4e6 * 48 + 1e6 * (24 * 59 + 8 + 8 + 24));
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::iteration).bytes, 0);
}

TEST(CostModel, AWarpPaysForAllOfItsLanes) {
    FrameWork f = frame();
    f.near = 14e6;  // 448 M lanes, of which 400 M are evaluated pairs
    f.open = 12e6;
    f.live_sub_tiles = 11e6;
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::blend).operations, 32 * (14 * 14e6 + 8 * 12e6));
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::blend).special, 32 * 12e6);
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::blend_backward).operations, 45 * 32 * 11e6);
    f.cuda = false;  // a CPU's lanes are what it evaluated
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::blend).pairs, 400e6);
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::blend_backward).operations, 55 * 80e6);
}

TEST(CostModel, LowerDegreesAndPicturesAloneNeedLess) {
    FrameWork f = frame();
    const double full = stage_work(f, Stage::project).bytes;
    f.sh_degree = 0;
    EXPECT_DOUBLE_EQ(full - stage_work(f, Stage::project).bytes, 1e6 * (15 * 12 + 45 * 8));
    f.training = false;
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::adam).bytes, 0);
    f.gradients = false;
    EXPECT_DOUBLE_EQ(stage_work(f, Stage::blend).bytes, 48e6 + 4e6 * 4 + 2e6 * 16);
}

TEST(CostModel, TheSlowestLimitMakesTheFloor) {
    const std::array stages{Stage::project, Stage::blend, Stage::loss};
    const auto floors = stage_floors(frame(), machine(), stages);
    ASSERT_EQ(floors.size(), 3u);
    EXPECT_EQ(floors[0].limit, CostLimit::memory);
    EXPECT_NEAR(floors[0].floor_ms, (1.5e6 * 12 + 1e6 * 792 + 3e6) / 1e9,
                1e-9);  // with what culling reads
    EXPECT_EQ(floors[1].limit, CostLimit::arithmetic);
    EXPECT_NEAR(floors[1].floor_ms, 6240e6 / 1e10, 1e-9);
    EXPECT_EQ(floors[2].limit, CostLimit::arithmetic);
}

TEST(CostModel, WorkOfStagesThatAreNotMeasuredGoesToTheOneThatDoesIt) {
    const FrameWork f = frame();
    const auto bytes_of = [&](std::vector<Stage> measured, Stage stage) {
        for (const StageFloor& row : stage_floors(f, machine(), measured))
            if (row.stage == stage) return row.work.bytes;
        return -1.0;
    };
    const double sort = stage_work(f, Stage::sort).bytes, emit = stage_work(f, Stage::emit).bytes,
                 ranges = stage_work(f, Stage::ranges).bytes,
                 adam = stage_work(f, Stage::adam).bytes,
                 backward = stage_work(f, Stage::project_backward).bytes;
    EXPECT_DOUBLE_EQ(bytes_of({Stage::sort}, Stage::sort), sort + emit + ranges);
    EXPECT_DOUBLE_EQ(bytes_of({Stage::sort, Stage::emit}, Stage::emit), emit + ranges);
    EXPECT_DOUBLE_EQ(bytes_of({Stage::sort, Stage::emit, Stage::ranges}, Stage::emit), emit);
    EXPECT_DOUBLE_EQ(bytes_of({Stage::adam}, Stage::adam), adam + backward);
    EXPECT_DOUBLE_EQ(bytes_of({Stage::project_backward}, Stage::project_backward), adam + backward);
    EXPECT_DOUBLE_EQ(bytes_of({Stage::adam, Stage::project_backward}, Stage::project_backward),
                     adam + backward);
    EXPECT_DOUBLE_EQ(bytes_of({Stage::adam, Stage::project_backward}, Stage::adam), 0);
}

TEST(CostModel, WhatIsNotKnownIsSaid) {
    FrameWork f = frame();
    f.evaluated = f.blended = FrameWork::kUnknown;
    const std::array stages{Stage::blend, Stage::ui};
    auto floors = stage_floors(f, machine(), stages);
    EXPECT_FALSE(floors[0].work.counted);
    EXPECT_EQ(floors[0].limit, CostLimit::memory);
    EXPECT_EQ(floors[1].limit, CostLimit::none);
    EXPECT_TRUE(std::isnan(floors[1].floor_ms));
    floors = stage_floors(frame(), Ceilings{}, stages);  // nothing was measured
    EXPECT_TRUE(std::isnan(floors[0].floor_ms));
}

TEST(CpuCeilings, AreThereAndPlausible) {
    const Ceilings c = measure_cpu_ceilings();
    EXPECT_FALSE(c.machine.empty());
    EXPECT_GT(c.copy_bytes, 1e8);
    EXPECT_LT(c.copy_bytes, 1e13);
    EXPECT_GT(c.triad_bytes, 1e8);
    EXPECT_GT(c.lane_operations, 1e8);
    EXPECT_GT(c.blend_pairs, 1e6);
    EXPECT_GT(c.lane_operations / c.blend_pairs, 5) << "a pair takes more than a few operations";
    EXPECT_FALSE(c.launch_seconds <= 0);  // unknown on a machine too busy for all threads to meet
    EXPECT_TRUE(std::isnan(c.special_operations)) << "a GPU's";
}

}  // namespace
}  // namespace gs
