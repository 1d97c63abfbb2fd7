// The insights' rules of Gaussian splatting: on own trainer's traces, CPU and GPU, and on a
// foreign one's.
#include <gtest/gtest.h>

#include "tests/unit/insights_checks.h"

namespace gs {
namespace {

using namespace test;

TEST(Rules, R16SortDominates) {
    Loop loop;
    loop.edit = [](int, std::vector<LoopKernel>& kernels) {
        for (std::size_t k = 0; k < 23; ++k)
            if (k >= 4)
                kernels[k].name = k < 13 ? "DeviceScanKernel" : k < 18 ? "RadixSort" : "renderCUDA";
    };
    const Insights all = of(loop);
    const Insight* sort = find(all, "R16");
    ASSERT_NE(sort, nullptr) << rules_of(all);
    // 14 of 23 kernels of the forward pass; 30 % of a pass whose other 9 stay: 14 - 9 * 3/7.
    EXPECT_NEAR(sort->recoverable_ms, (14 - 9 * 3.0 / 7) * 0.249, 0.02);
    EXPECT_EQ(sort->confidence, Confidence::inferred);  // by the names of kernels
    EXPECT_FALSE(sort->evidence.empty());
}

/// Our own trainer's step: stages on the CPU, or launched to a stream that our stage timer times.
TraceStore own_trainer(double sort, double blend, double backward, bool gpu, double longest = 100,
                       double isects = 2e5) {
    TraceMaker maker(77, "gausscope");
    if (gpu) maker.device();
    maker.thread(kMainThread, "engine");
    const std::uint32_t stream = 50;
    if (gpu)
        maker.batch.tracks.push_back(
            {stream, 77, 0, "CUDA stream training", false, TrackKind::gpu_stream});
    const double step = sort + blend + backward + 100;
    for (int i = 0; i < 20; ++i) {
        double t = step * i + 50;
        const double begin = t;
        for (const auto& [name, us] :
             {std::pair{"sort", sort}, {"blend", blend}, {"blend backward", backward}}) {
            if (gpu) {
                SpanEvent d{.begin_ns = TraceMaker::ns(t + 20),
                            .end_ns = TraceMaker::ns(t + 20 + us),
                            .track = stream,
                            .name = maker.name(name)};
                maker.batch.gpu_work.push_back(
                    stage_work(d, {TraceMaker::ns(t), maker.thread(kMainThread), 1}));
                maker.range(kMainThread, name, t, t + 2, 1);
            } else {
                maker.range(kMainThread, name, t, t + us, 1);
            }
            t += us;
        }
        maker.counter("intersections", begin + 1, isects);
        maker.counter("visible Gaussians", begin + 1, 5e4);
        maker.counter("longest tile list", begin + 1, longest);
        maker.counter("mean tile list", begin + 1, 50);
        maker.range(kMainThread, "iteration", begin, t + 30, 0, i);
    }
    TraceStore store = maker.store();
    return store;
}

TEST(Rules, R16AndR18OnOurOwnTrainer) {
    for (const bool gpu : {false, true}) {
        const Insights all = find_insights(own_trainer(1000, 1000, 5000, gpu));
        const Insight *sort = find(all, "R16"), *backward = find(all, "R18");
        ASSERT_NE(sort, nullptr) << rules_of(all);
        ASSERT_NE(backward, nullptr) << rules_of(all);
        EXPECT_EQ(sort->confidence, Confidence::measured);
        EXPECT_NEAR(sort->recoverable_ms, 1 - 1 * 3.0 / 7, 0.02);
        EXPECT_NEAR(backward->recoverable_ms, 2, 0.05);  // down to three times the forward pass
        const Insights good = find_insights(own_trainer(400, 1200, 3000, gpu));
        EXPECT_TRUE(is_clear(good, "R16")) << why(good, "R16");
        EXPECT_TRUE(is_clear(good, "R18"));
    }
}

TEST(Rules, R17UnevenTiles) {
    const Insights all = find_insights(own_trainer(100, 1000, 2000, true, 4000));
    const Insight* uneven = find(all, "R17");
    ASSERT_NE(uneven, nullptr) << why(all, "R17");
    // 132 multiprocessors with 8 blocks of 8 warps each: 189 pairs a block, and the longest of 4000
    // after them.
    const double even = 2e5 / (132 * 8);
    EXPECT_NEAR(uneven->recoverable_ms, 3 * (4000 - even) / (4000 + even), 0.05);
    EXPECT_TRUE(is_clear(find_insights(own_trainer(100, 1000, 2000, true, 300)), "R17"));
    EXPECT_NE(
        why(find_insights(own_trainer(100, 1000, 2000, false, 4000)), "R17").find("GPUs only"),
        std::string::npos);
    EXPECT_NE(why(of({}), "R17").find("own trainer"), std::string::npos);
}

TEST(Rules, R18BackwardBlending) {
    Loop loop;
    loop.edit = [](int, std::vector<LoopKernel>& kernels) {
        for (LoopKernel& k : kernels)
            if (k.name == "renderCUDA<3u>") k.name = "rasterize_to_pixels_3dgs_bwd_kernel";
        kernels[13].name = kernels[14].name = "rasterize_to_pixels_3dgs_fwd_kernel";
    };
    const Insights all = of(loop);
    ASSERT_NE(find(all, "R18"), nullptr) << rules_of(all);
    EXPECT_NEAR(find(all, "R18")->recoverable_ms, (23 - 6) * 0.249, 0.05);
}

TEST(Rules, R19ManyIntersections) {
    const Insights all = find_insights(own_trainer(100, 1000, 2000, false, 100, 16 * 5e4));
    const Insight* many = find(all, "R19");
    ASSERT_NE(many, nullptr) << why(all, "R19");
    EXPECT_NEAR(many->recoverable_ms, 3.1 * 0.5, 0.05);  // half of the list
    EXPECT_TRUE(is_clear(find_insights(own_trainer(100, 1000, 2000, false)), "R19"));
    Loop loop;  // a foreign trainer: by its grids
    loop.edit = nullptr;
    TraceMaker maker = make_loop(loop);
    for (GpuWorkEvent& w : maker.batch.gpu_work)
        if (w.name == maker.name("identifyTileRanges")) w.grid[0] *= 12;
    TraceStore store = maker.store();
    const Insights foreign = find_insights(store);
    ASSERT_NE(find(foreign, "R19"), nullptr);
    EXPECT_NE(find(foreign, "R19")->title.find("12.0 tiles"), std::string::npos)
        << find(foreign, "R19")->title;
    EXPECT_EQ(find(foreign, "R19")->confidence, Confidence::inferred);
}

TEST(Rules, R21DensitySpikes) {
    const auto trained = [](double density_us) {
        TraceMaker maker(5, "gausscope");
        double t = 0;
        for (int i = 0; i < 40; ++i) {
            const double more = i % 10 == 9 ? density_us : 0;
            if (more > 0) maker.range(1, "density control", t + 900, t + 900 + more, 1);
            maker.range(1, "iteration", t, t + 1000 + more, 0, i);
            t += 1010 + more;
        }
        TraceStore store = maker.store();
        return find_insights(store);
    };
    const Insights all = trained(5000);
    const Insight* spikes = find(all, "R21");
    ASSERT_NE(spikes, nullptr) << rules_of(all);
    EXPECT_NEAR(spikes->recoverable_ms, 4 * 5.0 / 37, 0.02);
    ASSERT_EQ(spikes->evidence.size(), 4u);
    EXPECT_TRUE(is_clear(trained(500), "R21"));
    Loop loop;  // a range of such a name in a foreign trainer
    loop.iterations = 30;
    loop.more = [](TraceMaker& maker, int i, double t) {
        if (i % 10 == 9) maker.range(kMainThread, "densify_and_prune", t + 100, t + 4000, 1);
    };
    EXPECT_TRUE(is_clear(of(loop), "R21"));
}

}  // namespace
}  // namespace gs
