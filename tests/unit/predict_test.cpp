// The performance model's algebra: more work never takes less time, twice the GPU halves it until
// launches bind, the p-norm's limit is the floor, intervals hold their middle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "profiler/predict/block_schedule.h"
#include "profiler/predict/demand.h"
#include "profiler/predict/gpu_model.h"
#include "tests/unit/predict_costs.h"

namespace gs {
namespace {

using ::testing::HasSubstr;

GpuDevice device(const char* id = "h200") {
    const auto found = gpu_devices_named(id);
    EXPECT_TRUE(found.has_value()) << found.error().text();
    return found->front();
}

/// 3 M Gaussians at 1080p.
PredictedWork central() {
    PredictedWork work;
    FrameWork& f = work.frame;
    f.cuda = true;
    f.gaussians = 3e6;
    f.candidates = 1.5e6;
    f.visible = 1.2e6;
    f.isects = 8e6;
    f.evaluated = 0.41e9;
    f.blended = 0.2e9;
    f.near = f.open = 12.9e6;
    f.live_sub_tiles = 12.4e6;
    f.live_isects = 7e6;
    f.group_tests = 0.8e6;
    f.batches = 32e3;
    f.pixels = 1920 * 1080;
    f.tiles = 8160;
    return work;
}

double step_ms(const PredictedWork& work, const GpuDevice& gpu, const ModelFit& fit = {}) {
    return predict_step(work, test::round_costs(gpu.architecture.code), gpu, fit).total.p50;
}

const PredictedStage& stage_of(const Prediction& p, Stage stage) {
    for (const PredictedStage& s : p.stages)
        if (s.stage == stage) return s;
    ADD_FAILURE() << name_of(stage) << " is not there";
    return p.stages.front();
}

TEST(PredictModel, MoreWorkNeverTakesLessTime) {
    const GpuDevice gpu = device();
    const double before = step_ms(central(), gpu);
    for (double FrameWork::*count :
         {&FrameWork::gaussians, &FrameWork::candidates, &FrameWork::visible, &FrameWork::isects,
          &FrameWork::near, &FrameWork::live_sub_tiles, &FrameWork::live_isects,
          &FrameWork::group_tests, &FrameWork::batches, &FrameWork::pixels, &FrameWork::tiles}) {
        PredictedWork more = central();
        more.frame.*count *= 1.5;
        EXPECT_GE(step_ms(more, gpu), before) << count;
    }
    PredictedWork thrice = central();
    thrice.frame.near *= 3;
    thrice.frame.open *= 3;
    EXPECT_GT(step_ms(thrice, gpu), 1.1 * before);
}

TEST(PredictModel, ZeroWorkIsLaunches) {
    PredictedWork work;
    work.frame.near = work.frame.open = work.frame.live_sub_tiles = work.frame.live_isects = 0;
    work.frame.evaluated = work.frame.blended = 0;
    work.frame.group_tests = work.frame.batches = 0;
    work.frame.training = true;
    const Prediction p = predict_step(work, test::round_costs(), device(), {});
    for (const PredictedStage& s : p.stages) {
        EXPECT_TRUE(s.bound_by == GpuResource::launch || s.ms.p50 < 1e-3)
            << name_of(s.stage) << " " << s.ms.p50;
        EXPECT_TRUE(s.counted) << name_of(s.stage);
    }
    EXPECT_LT(p.total.p50, 0.25);
    EXPECT_GT(p.total.p50, 0.01);
}

TEST(PredictModel, TwiceTheGpuHalvesTheTimeUntilLaunchesBind) {
    GpuDevice gpu = device(), twice = gpu;
    twice.multiprocessors *= 2;
    twice.sustained_gb_s *= 2;
    PredictedWork large = what_if(central(), {60'000'000, 7680, 4320, 3, 0});
    EXPECT_NEAR(step_ms(large, gpu) / step_ms(large, twice), 2, 0.06);
    PredictedWork small = what_if(central(), {3'000, 64, 64, 3, 0});
    EXPECT_NEAR(step_ms(small, gpu) / step_ms(small, twice), 1, 0.1);
}

TEST(PredictModel, TheSlowestResourceAloneIsTheFloor) {
    const GpuDevice gpu = device();
    StageDemand d{.bytes = 4e9};
    d.executed.issue = 1e9;
    d.executed.fp32 = 4e8;
    const ResourceSeconds r = resource_seconds(d, gpu, {});
    const double slowest = *std::max_element(r.begin(), r.end());
    EXPECT_GE(seconds_of(r), slowest);
    EXPECT_LE(seconds_of(r), slowest * std::pow(static_cast<double>(kGpuResources), 0.25));
    // Bytes alone take their time and no more.
    StageDemand bytes{.bytes = 4e9};
    EXPECT_NEAR(seconds_of(resource_seconds(bytes, gpu, {})), 4e9 / (gpu.sustained_gb_s * 1e9),
                0.1 * 4e9 / (gpu.sustained_gb_s * 1e9));
    // Instructions alone: a share of the slots is used.
    StageDemand issue;
    issue.executed.issue = 1e9;
    EXPECT_NEAR(seconds_of(resource_seconds(issue, gpu, {})), 1e9 / (gpu.issue_rate() * 0.78),
                1e-9);
}

TEST(PredictModel, WhatTheCacheHoldsNeedNotComeFromMemory) {
    const GpuDevice gpu = device();
    StageDemand d{.bytes = 1e9, .working_set = 1e6};
    const double cached = seconds_of(resource_seconds(d, gpu, {}));
    d.working_set = 1e9;
    const double streamed = seconds_of(resource_seconds(d, gpu, {}));
    EXPECT_LT(cached, 0.5 * streamed);
    d.working_set = 0;  // not known: all of it from memory
    EXPECT_NEAR(seconds_of(resource_seconds(d, gpu, {})), streamed, 0.01 * streamed);
}

TEST(PredictModel, IntervalsHoldTheirMiddleAndAreTheSameEveryTime) {
    for (const GpuDevice& gpu : gpu_devices()) {
        const KernelCosts costs = test::round_costs(gpu.architecture.code);
        const Prediction a = predict_step(central(), costs, gpu, {}),
                         b = predict_step(central(), costs, gpu, {});
        double sum = 0;
        ASSERT_EQ(a.stages.size(), b.stages.size());
        for (std::size_t i = 0; i < a.stages.size(); ++i) {
            const PredictedMs &ms = a.stages[i].ms, &again = b.stages[i].ms;
            EXPECT_LE(ms.p10, ms.p50) << gpu.id;
            EXPECT_LE(ms.p50, ms.p90) << gpu.id;
            EXPECT_EQ(ms.p10, again.p10);
            EXPECT_EQ(ms.p90, again.p90);
            EXPECT_GT(ms.p50, 0.0);
            sum += ms.p50;
        }
        EXPECT_NEAR(a.total.p50, sum, 1e-9);
        EXPECT_LT(a.total.p10, a.total.p50);
        EXPECT_GT(a.total.p90, a.total.p50);
        // Errors of stages cancel in part: the whole is surer than its parts.
        const PredictedMs& blend = stage_of(a, Stage::blend).ms;
        EXPECT_LT(a.total.p90 / a.total.p10, blend.p90 / blend.p10) << gpu.id;
    }
}

TEST(PredictModel, AWiderSpreadIsAWiderInterval) {
    const GpuDevice gpu = device();
    ModelFit sure, unsure;
    sure.memory_log_sd = sure.instruction_log_sd = sure.latency_log_sd = 0;
    unsure.memory_log_sd = unsure.instruction_log_sd = 0.4;
    const PredictedMs a = predict_frame(central(), test::round_costs(), gpu, sure).total,
                      b = predict_frame(central(), test::round_costs(), gpu, unsure).total;
    EXPECT_DOUBLE_EQ(a.p10, a.p90);
    EXPECT_GT(b.p90 / b.p10, 1.5);
    EXPECT_DOUBLE_EQ(a.p50, b.p50);
}

TEST(PredictModel, WhatBindsIsSaid) {
    const GpuDevice gpu = device();
    const Prediction p = predict_step(central(), test::round_costs(), gpu, {});
    EXPECT_EQ(stage_of(p, Stage::blend).bound_by, GpuResource::issue);
    EXPECT_EQ(stage_of(p, Stage::blend_backward).bound_by, GpuResource::issue);
    EXPECT_EQ(stage_of(p, Stage::project_backward).bound_by, GpuResource::memory);
    for (const PredictedStage& s : p.stages) {
        const double most = *std::max_element(s.share.begin(), s.share.end());
        EXPECT_EQ(s.share[static_cast<std::size_t>(s.bound_by)], most);
        EXPECT_LE(most, 1.0 + 1e-9);
    }
    // Half rate FP32 (8.0) binds where issue binds on the others.
    PredictedWork work = central();
    KernelCosts costs = test::round_costs("80");
    const Prediction a100 = predict_frame(work, costs, device("a100-80"), {});
    const PredictedStage& blend = stage_of(a100, Stage::blend);
    EXPECT_GT(blend.share[static_cast<std::size_t>(GpuResource::fp32)],
              stage_of(p, Stage::blend).share[static_cast<std::size_t>(GpuResource::fp32)]);
}

TEST(PredictModel, CountsThatAreNotThereAreGuessedAndSaid) {
    PredictedWork work = central();
    work.frame.near = work.frame.open = FrameWork::kUnknown;
    const Prediction p = predict_frame(work, test::round_costs(), device(), {});
    EXPECT_FALSE(stage_of(p, Stage::blend).counted);
    EXPECT_TRUE(stage_of(p, Stage::project).counted);
    const Prediction known = predict_frame(central(), test::round_costs(), device(), {});
    EXPECT_NEAR(stage_of(p, Stage::blend).ms.p50, stage_of(known, Stage::blend).ms.p50,
                0.15 * stage_of(known, Stage::blend).ms.p50);
    const PredictedMs &sure = stage_of(known, Stage::blend).ms,
                      &unsure = stage_of(p, Stage::blend).ms;
    EXPECT_GT(unsure.p90 / unsure.p10, 1.3 * sure.p90 / sure.p10)
        << "guesses have a wider interval";
    work.frame.evaluated = FrameWork::kUnknown;
    const Prediction lists = predict_frame(work, test::round_costs(), device(), {});
    EXPECT_NEAR(stage_of(lists, Stage::blend).ms.p50, sure.p50, 0.3 * sure.p50) << "not free";
    // A table without our kernels also says so.
    EXPECT_FALSE(
        stage_of(predict_frame(central(), KernelCosts{}, device(), {}), Stage::blend).counted);
}

TEST(PredictModel, GradientsWithoutTrainingAreStored) {
    const GpuDevice gpu = device();
    PredictedWork work = central();
    work.frame.gradients = true;
    const Prediction stored = predict(work, test::round_costs(), gpu, {}),
                     step = predict_step(work, test::round_costs(), gpu, {}),
                     frame = predict_frame(work, test::round_costs(), gpu, {});
    for (const PredictedStage& s : stored.stages)
        EXPECT_TRUE(s.stage != Stage::loss && s.stage != Stage::pack) << name_of(s.stage);
    const auto ms = [](const Prediction& p, Stage stage) { return stage_of(p, stage).ms.p50; };
    EXPECT_LT(ms(stored, Stage::project_backward), 0.8 * ms(step, Stage::project_backward));
    EXPECT_DOUBLE_EQ(ms(stored, Stage::project), ms(frame, Stage::project));
    EXPECT_DOUBLE_EQ(ms(stored, Stage::blend_backward), ms(step, Stage::blend_backward));
    EXPECT_TRUE(stage_of(stored, Stage::project_backward).counted);
    // And the table has the kernel that stores.
    EXPECT_TRUE(
        stage_of(predict(work, KernelCosts::built_in(), gpu, {}), Stage::project_backward).counted);
    work.packed = false;
    EXPECT_LT(predict_frame(work, test::round_costs(), gpu, {}).stages.size(), frame.stages.size());
}

TEST(PredictModel, LensesPosesAndLooksCostWhatTheirKernelsDo) {
    const GpuDevice gpu = device();
    const Prediction plain = predict_step(central(), test::round_costs(), gpu, {});
    const auto with = [&](bool PredictedWork::*what) {
        PredictedWork work = central();
        work.*what = true;
        return predict_step(work, test::round_costs(), gpu, {});
    };
    const auto dearer = [&](const Prediction& p, Stage stage) {
        for (const PredictedStage& s : p.stages) EXPECT_TRUE(s.counted) << name_of(s.stage);
        return stage_of(p, stage).ms.p50 / stage_of(plain, stage).ms.p50;
    };
    const Prediction lens = with(&PredictedWork::lens), poses = with(&PredictedWork::poses),
                     look = with(&PredictedWork::look), points = with(&PredictedWork::unscented),
                     intrinsics = with(&PredictedWork::intrinsics);
    EXPECT_GT(dearer(lens, Stage::project), 1.01);
    EXPECT_GT(dearer(lens, Stage::project_backward), 1);
    EXPECT_GT(dearer(points, Stage::project), dearer(lens, Stage::project)) << "a loop of seven";
    EXPECT_GT(dearer(points, Stage::project_backward), dearer(lens, Stage::project_backward));
    EXPECT_GT(dearer(poses, Stage::project_backward), 1.05);
    EXPECT_DOUBLE_EQ(dearer(poses, Stage::project), 1);
    EXPECT_GT(dearer(intrinsics, Stage::project_backward), 1.02);
    EXPECT_DOUBLE_EQ(dearer(intrinsics, Stage::blend_backward), 1);
    EXPECT_GT(dearer(look, Stage::loss), 1.2);
    EXPECT_DOUBLE_EQ(dearer(look, Stage::blend), 1);
}

TEST(PredictModel, TheBuiltInTableHasEveryKernelForEveryGpu) {
    const KernelCosts costs = KernelCosts::built_in();
    for (const GpuDevice& each : gpu_devices())
        for (const char* name : {"compact",
                                 "radix_pass<unsigned int>",
                                 "radix_pass<unsigned short>",
                                 "project_lens<true, false>",
                                 "project_lens<false, false>",
                                 "project_backward_lens<AdamSink, true>",
                                 "project_backward<AdamMotionSink, true>",
                                 "project_backward_lens<AdamMotionSink, true>",
                                 "project_unscented<true, false>",
                                 "project_unscented<false, false>",
                                 "project_backward_unscented<StoringSink, false>",
                                 "project_backward_unscented<AdamSink, true>",
                                 "project_backward_unscented<AdamMotionSink, true>",
                                 "project_backward_unscented<BatchSink, true>",
                                 "project_backward_unscented<BatchMotionSink, true>",
                                 "sum_motion<float>",
                                 "sum_motion<double>",
                                 "sum_intrinsics<false>",
                                 "sum_intrinsics_lens<false>",
                                 "add_intrinsics",
                                 "find_ranges",
                                 "make_items",
                                 "look_up_slots",
                                 "composite<(Depths)0, false>",
                                 "draw_sky",
                                 "draw_sky_lens",
                                 "pull_sky",
                                 "pull_sky_lens",
                                 "step_sky",
                                 "count_beam_pairs<false>",
                                 "emit_beam_pairs<false>",
                                 "find_beam_lists",
                                 "trace_beams",
                                 "trace_beams_backward",
                                 "add_beams<false>",
                                 "show_look",
                                 "pull_look",
                                 "step_look"})
            EXPECT_NE(costs.find(each.architecture.code, name), nullptr) << each.id << " " << name;
}

/// What a step's stages take more than the central one's, ms.
double more_ms(const PredictedWork& work, Stage stage) {
    const KernelCosts costs = test::round_costs();
    const Prediction plain = predict_step(central(), costs, device(), {}),
                     with = predict_step(work, costs, device(), {});
    double more = 0;
    for (const PredictedStage& s : with.stages)
        if (s.stage == stage) more += s.ms.p50;
    for (const PredictedStage& s : plain.stages)
        if (s.stage == stage) more -= s.ms.p50;
    return more;
}

TEST(PredictModel, ASkyCostsWhatItsKernelsDo) {
    PredictedWork sky = central();
    sky.sky = true;
    EXPECT_GT(more_ms(sky, Stage::blend), 0.01);
    EXPECT_GT(more_ms(sky, Stage::loss), 0.02);
    EXPECT_DOUBLE_EQ(more_ms(sky, Stage::project_backward), 0);
    const Prediction frame = predict_frame(sky, test::round_costs(), device(), {});
    EXPECT_GT(
        stage_of(frame, Stage::blend).ms.p50,
        stage_of(predict_frame(central(), test::round_costs(), device(), {}), Stage::blend).ms.p50);
}

TEST(PredictModel, BeamsCostWhatTheirListsDo) {
    PredictedWork beams = central();
    beams.beams = {4096, 45, 4e4, 5e4, 5e4, 2e3, 6e4};
    const double some = more_ms(beams, Stage::rays);
    EXPECT_GT(some, 0.1);
    EXPECT_GT(more_ms(beams, Stage::project_backward), 0) << "a step of its own behind the sums";
    EXPECT_DOUBLE_EQ(more_ms(beams, Stage::loss), 0);
    for (double BeamWork::*count : {&BeamWork::longest, &BeamWork::met}) {
        PredictedWork more = beams;
        more.beams.*count *= 3;
        EXPECT_GT(more_ms(more, Stage::rays), 1.5 * some);
    }
    EXPECT_EQ(predicted_memory(beams), predicted_memory(central())) << "of a frame";
    beams.frame.training = true;
    PredictedWork none = beams;
    none.beams = {};
    EXPECT_DOUBLE_EQ(predicted_memory(beams) - predicted_memory(none),
                     5e4 * 1.25 * 132 + 3e6 * (59 * 4 + 4));
    // Nobody counts CUB's sort; a frame has none of it.
    const Prediction step = predict_step(beams, test::round_costs(), device(), {});
    for (const PredictedStage& s : step.stages)
        EXPECT_EQ(s.counted, s.stage != Stage::rays) << name_of(s.stage);
    EXPECT_DOUBLE_EQ(predict_frame(beams, test::round_costs(), device(), {}).total.p50,
                     predict_frame(central(), test::round_costs(), device(), {}).total.p50);
    EXPECT_DOUBLE_EQ(what_if(beams, {6e6, 0, 0, -1, 0}).beams.listed, 8e4);
    // The mean of eight steps: an eighth of the beams, and of what else they bring.
    PredictedWork seldom = beams;
    seldom.beams.every = 8;
    EXPECT_NEAR(more_ms(seldom, Stage::rays), some / 8, 1e-9);
    EXPECT_GT(more_ms(seldom, Stage::project_backward), 0);
    EXPECT_LT(more_ms(seldom, Stage::project_backward),
              more_ms(beams, Stage::project_backward) / 7);
    EXPECT_DOUBLE_EQ(more_ms(seldom, Stage::blend), 0);
}

TEST(PredictModel, ListingCostsWhatIsListedAndWhoListsIt) {
    const GpuDevice gpu = device();
    const auto issued = [&](double visible, double isects) {
        PredictedWork work = central();
        work.frame.visible = visible;
        work.frame.isects = isects;
        for (const StageDemand& d : frame_demands(work, test::round_costs(), gpu))
            if (d.stage == Stage::emit) return d.executed.issue;
        return 0.0;
    };
    // 360 instructions a warp and 128 isects; some 160 for 32 Gaussians with a row of tiles or two.
    const double once = issued(1.2e6, 1.8e6), gaussians = issued(2.4e6, 1.8e6) - once,
                 isects = issued(1.2e6, 3.6e6) - once;
    EXPECT_NEAR(gaussians / (1.2e6 / 32), 160, 40);
    EXPECT_GT(isects, 360 * 1.8e6 / 128);
    EXPECT_LT(isects, 3 * 360 * 1.8e6 / 128);
}

TEST(PredictModel, TilesOfSeveralItemsArePutTogether) {
    const GpuDevice gpu = device();
    PredictedWork work = central();
    const auto blend = [&](std::uint32_t isects) {
        work.tiles = {{900, 1e4f}, {isects, 1e5f}};
        for (const StageDemand& d : frame_demands(work, test::round_costs(), gpu))
            if (d.stage == Stage::blend) return d;
        return StageDemand{};
    };
    const StageDemand one = blend(1024), several = blend(5000);
    EXPECT_DOUBLE_EQ(several.bytes - one.bytes, 5 * 256 * 4 * sizeof(float) * 3.0);
    EXPECT_GT(several.executed.issue, one.executed.issue);
    EXPECT_GE(several.wait_rounds, one.wait_rounds + 5 * 3);
}

TEST(PredictModel, WhatIfChangesWhatItSays) {
    const GpuDevice gpu = device();
    const PredictedWork base = central();
    EXPECT_DOUBLE_EQ(step_ms(what_if(base, {}), gpu), step_ms(base, gpu));
    EXPECT_GT(step_ms(what_if(base, {6e6, 0, 0, -1, 0}), gpu), step_ms(base, gpu));
    EXPECT_LT(step_ms(what_if(base, {0, 960, 540, -1, 0}), gpu), step_ms(base, gpu));
    EXPECT_LT(step_ms(what_if(base, {0, 0, 0, 0, 0}), gpu), step_ms(base, gpu));
    const double four = step_ms(what_if(base, {0, 0, 0, -1, 4}), gpu);
    EXPECT_GT(four, 3 * step_ms(base, gpu));
    EXPECT_LT(four, 4.2 * step_ms(base, gpu));
}

TEST(PredictModel, WhatWasNotDrawnIsAGuessThatCouldBeAFrame) {
    const PredictedWork base = central();
    for (const WhatIf& change : {WhatIf{3e8, 0, 0, -1, 0}, WhatIf{3e3, 0, 0, -1, 0},
                                 WhatIf{0, 16384, 16384, -1, 0}, WhatIf{1e8, 320, 200, -1, 0}}) {
        const PredictedWork work = what_if(base, change);
        const FrameWork& f = work.frame;
        EXPECT_LE(f.visible, f.isects);
        EXPECT_LE(f.live_isects, f.isects);
        EXPECT_LE(f.live_isects, f.live_sub_tiles);
        EXPECT_LE(f.live_sub_tiles, f.open);
        EXPECT_LE(f.open, f.near);
        EXPECT_TRUE(work.estimated);
    }
    EXPECT_FALSE(what_if(base, {0, 0, 0, 1, 2}).estimated) << "that is known";
    PredictedWork guessed = base;
    guessed.estimated = true;
    const auto spread = [&](const PredictedWork& work) {
        const Prediction p = predict_frame(work, test::round_costs(), device(), {});
        return p.total.p90 / p.total.p10;
    };
    EXPECT_GT(spread(guessed), 1.2 * spread(base));
    const Prediction told = predict_frame(guessed, test::round_costs(), device(), {});
    for (const PredictedStage& stage : told.stages) EXPECT_FALSE(stage.counted);
}

TEST(PredictModel, TilesShareTheTimeOfBlending) {
    PredictedWork work = central();
    work.tiles = {{100, 100}, {300, 300}, {0, 0}};
    const Prediction p = predict_step(work, test::round_costs(), device(), {});
    const std::vector<float> us = predicted_tile_us(p, work.tiles);
    ASSERT_EQ(us.size(), 3u);
    EXPECT_NEAR(us[1] / us[0], 3, 1e-5);
    EXPECT_EQ(us[2], 0.0f);
    const double all =
        1e3 * (stage_of(p, Stage::blend).ms.p50 + stage_of(p, Stage::blend_backward).ms.p50);
    EXPECT_NEAR(std::accumulate(us.begin(), us.end(), 0.0), all, 1e-3 * all);
}

TEST(PredictModel, WhatDoesNotFitIsSaid) {
    PredictedWork work = central();
    const KernelCosts costs = test::round_costs();
    EXPECT_TRUE(predict_step(work, costs, device(), {}).fits);
    const double bytes = predict_step(work, costs, device(), {}).memory_bytes;
    EXPECT_GT(bytes, 3e6 * 59 * 12) << "parameters and two moments each";
    EXPECT_LT(bytes, 5e9);
    EXPECT_LT(predict_frame(work, costs, device(), {}).memory_bytes, 0.6 * bytes);
    work = what_if(work, {150e6, 0, 0, -1, 0});
    EXPECT_FALSE(predict_step(work, costs, device(), {}).fits);
    EXPECT_TRUE(predict_frame(work, costs, device(), {}).fits);
}

TEST(PredictSchedule, EndsWhenTheLastBlockDoes) {
    const std::vector<double> one{5}, equal(12, 1.0);
    EXPECT_DOUBLE_EQ(makespan({}, {4, 2, 1}), 0);
    EXPECT_DOUBLE_EQ(makespan(one, {4, 2, 1}), 5);
    EXPECT_DOUBLE_EQ(makespan(one, {4, 2, 0.25}), 20) << "alone it fills a quarter";
    EXPECT_DOUBLE_EQ(makespan(equal, {4, 3, 1}), 3);
    EXPECT_DOUBLE_EQ(makespan(equal, {4, 3, 1.0 / 3}), 3) << "three together fill it";
    EXPECT_DOUBLE_EQ(makespan(equal, {5, 1, 1}), 3) << "the third round has two blocks";
}

TEST(PredictSchedule, AGiantSetsTheEnd) {
    std::vector<double> work(1000, 0.01);
    work.insert(work.begin(), 50.0);
    // It shares its multiprocessor with three more at a time until the small ones are gone.
    const double end = makespan(work, {10, 4, 1});
    EXPECT_GE(end, 50);
    EXPECT_LE(end, 52);
}

TEST(PredictSchedule, EqualBlocksMayStandInAnyOrderAndSumsBoundIt) {
    std::vector<double> work;
    for (int i = 0; i < 500; ++i) work.push_back(1 + (i * 37) % 11);
    std::sort(work.rbegin(), work.rend());
    const double sum = std::accumulate(work.begin(), work.end(), 0.0);
    const BlockPlaces places{16, 4, 0.5};
    const double longest_first = makespan(work, places);
    EXPECT_GE(longest_first, sum / 16);
    EXPECT_LE(longest_first, sum / 16 + 11 / 0.5);
    std::reverse(work.begin(), work.end());
    EXPECT_GE(makespan(work, places), longest_first) << "shortest first leaves the long ones last";
    // The same numbers, sorted again: the same end.
    std::sort(work.rbegin(), work.rend());
    EXPECT_DOUBLE_EQ(makespan(work, places), longest_first);
}

}  // namespace
}  // namespace gs
