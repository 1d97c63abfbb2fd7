// Every rule of the insights: a trace that must fire it, and one that must not. Those of splatting:
// insights_splatting_test.cpp.
#include <gtest/gtest.h>

#include <cmath>

#include "profiler/store/node_gpus.h"
#include "tests/unit/insights_checks.h"

namespace gs {
namespace {

using namespace test;

/// All kernels at `spacing`, each `length` long, launched `lead` before they begin.
auto spread(double spacing, double length, double lead) {
    return [=](int, std::vector<LoopKernel>& kernels) {
        for (std::size_t k = 0; k < kernels.size(); ++k) {
            const double begin = 20 + spacing * static_cast<double>(k);
            kernels[k].begin = begin;
            kernels[k].end = begin + length;
            kernels[k].launch = begin - lead;
        }
    };
}

TEST(Rules, BusyLoopGivesNoneAReason) {
    const Insights all = of({});
    EXPECT_EQ(rules_of(all), "");
    EXPECT_EQ(all.iterations, 17u);  // of 20, warm-up left out
    EXPECT_NEAR(all.iteration_ms, 9.999, 1e-6);
    for (const char* rule : {"R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R13", "R14", "R15",
                             "R16", "R18", "R19", "R20"})
        EXPECT_TRUE(is_clear(all, rule)) << rule << ": " << why(all, rule);
    EXPECT_NE(why(all, "R9").find("Hopper"), std::string::npos);
    EXPECT_NE(why(all, "R12").find("NVML"), std::string::npos);
    EXPECT_NE(why(all, "R22").find("baseline"), std::string::npos);
    EXPECT_NE(why(all, "R23").find("ranks"), std::string::npos);
}

TEST(Rules, WithoutGpuWorkTheySaySo) {
    TraceMaker maker;
    for (int i = 0; i < 20; ++i) maker.range(1, "iteration", 1000 * i, 1000 * i + 990, 0, i);
    TraceStore store = maker.store();
    const Insights all = find_insights(store);
    EXPECT_EQ(rules_of(all), "");
    for (const char* rule : {"R1", "R2", "R4", "R5", "R7", "R8", "R15"})
        EXPECT_EQ(why(all, rule), "no GPU work was recorded") << rule;
    EXPECT_FALSE(why(all, "R16").empty());
    const Insights nothing = find_insights(TraceStore{});
    EXPECT_EQ(nothing.iterations, 0u);
    EXPECT_TRUE(std::isnan(nothing.iteration_ms));
    EXPECT_TRUE(nothing.findings.empty());
    EXPECT_TRUE(nothing.clear.empty());
    EXPECT_EQ(nothing.unanswered.size(), 29u);
}

TEST(Rules, R1IdleGpu) {
    // Work for 4 ms of 10, launched when its time comes; the host computes in between.
    Loop loop;
    loop.edit = spread(200, 100, 10);
    const Insights all = of(loop);
    const Insight* idle = find(all, "R1");
    ASSERT_NE(idle, nullptr);
    EXPECT_NEAR(idle->recoverable_ms, 6.0, 0.05);
    EXPECT_NEAR(idle->share, 0.6, 0.01);
    EXPECT_NE(idle->text.find("while the host did something else"), std::string::npos)
        << idle->text;
    ASSERT_FALSE(idle->evidence.empty());
    EXPECT_GT(idle->evidence[0].end_ns - idle->evidence[0].begin_ns,
              1'900'000);  // the pause at the iteration's end
    EXPECT_EQ(idle->confidence, Confidence::measured);
}

TEST(Rules, R2LaunchBound) {
    Loop loop;
    loop.launch_us = 9.5;  // longer than the kernels: the GPU waits 8 us for each
    loop.period = 400;
    loop.edit = spread(10, 2, 9);
    const Insights all = of(loop);
    const Insight* bound = find(all, "R2");
    ASSERT_NE(bound, nullptr) << rules_of(all);
    EXPECT_NEAR(bound->recoverable_ms, 40 * (8 - 1.5) * 1e-3,
                0.03);  // gaps of 8 us; a graph leaves 1.5 of each
    EXPECT_NE(bound->advice.find("CUDA graph"), std::string::npos);
    Loop queued = loop;  // the same short kernels, but back to back: the host is ahead
    queued.edit = spread(10, 9.5, 300);
    EXPECT_TRUE(is_clear(of(queued), "R2"));
}

TEST(Rules, R3SyncStall) {
    Loop loop;
    const auto half = [](int, std::vector<LoopKernel>& kernels) { kernels.resize(20); };
    loop.edit = half;
    loop.more = [](TraceMaker& maker, int, double t) {
        maker.copy(t + 5020, t + 5022, 4, MemoryType::device, MemoryType::pageable);
        maker.call(kMainThread, "cudaStreamSynchronize", t + 2500, t + 5025);
        maker.range(kMainThread, "loss.item", t + 2400, t + 5030, 1);
    };
    const Insights all = of(loop);
    const Insight* sync = find(all, "R3");
    ASSERT_NE(sync, nullptr) << rules_of(all);
    // The GPU's work stays; what goes is the time from the wait's end to the next iteration's first
    // kernel.
    EXPECT_NEAR(sync->recoverable_ms, 4.998, 0.3);
    EXPECT_NE(sync->text.find("loss.item"), std::string::npos) << sync->text;
    EXPECT_NE(sync->advice.find(".item()"), std::string::npos);
    ASSERT_FALSE(sync->evidence.empty());
    EXPECT_NE(sync->evidence[0].track, kNoTrack);
    // A wait of another thread, that launches nothing, holds nobody up.
    Loop other = loop;
    other.edit = nullptr;
    other.more = [](TraceMaker& maker, int, double t) {
        maker.call(9, "cudaEventSynchronize", t, t + 300);
    };
    EXPECT_TRUE(is_clear(of(other), "R3"));
}

TEST(Rules, R4PageableCopy) {
    Loop loop;
    loop.edit = [](int, std::vector<LoopKernel>& kernels) {
        for (LoopKernel& k : kernels) k.begin += 1000, k.end += 1000;
        kernels.resize(36);
    };
    const auto copies = [](MemoryType from) {
        return [from](TraceMaker& maker, int, double t) {
            maker.call(kMainThread, "cudaMemcpyAsync", t + 20, t + 950,
                       100'000 + static_cast<std::uint64_t>(t));
            maker.copy(t + 30, t + 1000, 8 << 20, from, MemoryType::device,
                       100'000 + static_cast<std::uint64_t>(t));
        };
    };
    loop.more = copies(MemoryType::pageable);
    const Insights all = of(loop);
    const Insight* copy = find(all, "R4");
    ASSERT_NE(copy, nullptr) << rules_of(all);
    EXPECT_NEAR(copy->recoverable_ms, 0.97, 0.05);
    EXPECT_NE(copy->advice.find("pin_memory"), std::string::npos);
    loop.more = copies(MemoryType::pinned);
    EXPECT_TRUE(is_clear(of(loop), "R4"));
}

TEST(Rules, R5CopyAlone) {
    Loop loop;
    loop.edit = [](int, std::vector<LoopKernel>& kernels) {
        for (LoopKernel& k : kernels) k.begin += 1000, k.end += 1000;
        kernels.resize(36);
    };
    loop.more = [](TraceMaker& maker, int, double t) {
        maker.copy(t + 25, t + 1015, 8 << 20, MemoryType::pinned, MemoryType::device);
    };
    const Insights all = of(loop);
    const Insight* alone = find(all, "R5");
    ASSERT_NE(alone, nullptr) << rules_of(all);
    EXPECT_NEAR(alone->recoverable_ms, 0.99, 0.05);
    EXPECT_NE(alone->text.find("GB/s"), std::string::npos)
        << alone->text;  // 8 MiB in 1 ms: a seventh of the link
    Loop hidden;         // the same copy beside kernels
    hidden.more = loop.more;
    EXPECT_TRUE(is_clear(of(hidden), "R5"));
}

TEST(Rules, R6AllocatorChurn) {
    Loop loop;
    loop.edit = [](int, std::vector<LoopKernel>& kernels) {
        for (std::size_t k = 20; k < kernels.size(); ++k)
            kernels[k].launch += 4000, kernels[k].begin += 900, kernels[k].end += 900;
        kernels.resize(36);
    };
    loop.more = [](TraceMaker& maker, int, double t) {
        maker.call(kMainThread, "cudaFree", t + 4900, t + 5900);
    };
    const Insights all = of(loop);
    const Insight* churn = find(all, "R6");
    ASSERT_NE(churn, nullptr) << rules_of(all);
    EXPECT_NEAR(churn->recoverable_ms, 0.9, 0.05);
    EXPECT_NE(churn->advice.find("expandable_segments"), std::string::npos);
    Loop once;  // a pool that grows once in a while
    once.more = [](TraceMaker& maker, int i, double t) {
        if (i == 10) maker.call(kMainThread, "cudaMalloc", t + 4900, t + 5000);
    };
    EXPECT_TRUE(is_clear(of(once), "R6"));
}

TEST(Rules, R7LowOccupancy) {
    Loop loop;
    loop.shape = [](GpuWorkEvent& w) { w.registers = 255; };  // 8 warps of 64
    const Insights all = of(loop);
    const Insight* low = find(all, "R7");
    ASSERT_NE(low, nullptr) << rules_of(all);
    EXPECT_NE(low->text.find("12 % (255 registers"), std::string::npos) << low->text;
    EXPECT_NE(low->text.find("limited by registers"), std::string::npos);
    EXPECT_NE(low->advice.find("__launch_bounds__"), std::string::npos);
    EXPECT_EQ(low->confidence, Confidence::inferred);
    EXPECT_NEAR(low->share, 0.75, 0.03);  // of the busy time: 1 - 12.5 / 50
    loop.shape = [](GpuWorkEvent& w) {
        w.registers = 64, w.grid[0] = 132 * 4 * 8;
    };  // half of the warps is enough
    EXPECT_TRUE(is_clear(of(loop), "R7"));
    loop.shape = [](GpuWorkEvent& w) { w.block[0] = 0; };
    EXPECT_NE(why(of(loop), "R7").find("how kernels were launched"), std::string::npos);
}

TEST(Rules, R8SmallGrids) {
    Loop loop;
    loop.shape = [](GpuWorkEvent& w) { w.grid[0] = 33; };  // a quarter of the multiprocessors
    const Insight* small = nullptr;
    const Insights all = of(loop);
    small = find(all, "R8");
    ASSERT_NE(small, nullptr) << rules_of(all);
    EXPECT_NEAR(small->share, 0.75, 0.03);
    loop.shape = [](GpuWorkEvent& w) {
        w.grid[0] = 1056 + 100;
    };  // a second wave that is nine tenths empty
    const Insights tail = of(loop);
    ASSERT_NE(find(tail, "R8"), nullptr);
    EXPECT_NEAR(find(tail, "R8")->share, 1 - 1156.0 / 2112, 0.03);
    loop.shape = [](GpuWorkEvent& w) {
        w.grid[0] = 1056 * 8 + 100;
    };  // the same remainder behind eight full ones
    EXPECT_TRUE(is_clear(of(loop), "R8"));
}

Loop with_counters(double dram, double occupancy, double fp32) {
    Loop loop;
    loop.more = [=](TraceMaker& maker, int, double t) {
        maker.counter("GPU 0 DRAM bandwidth [%]", t + 100, dram);
        maker.counter("GPU 0 SM occupancy [%]", t + 100, occupancy);
        if (fp32 >= 0) maker.counter("GPU 0 FP32 active [%]", t + 100, fp32);
    };
    return loop;
}

TEST(Rules, R9ToR11ByCounters) {
    const Insights memory = of(with_counters(80, 70, 20));
    ASSERT_NE(find(memory, "R9"), nullptr);
    EXPECT_NEAR(find(memory, "R9")->recoverable_ms, 0.2 * 9.96, 0.1);
    EXPECT_TRUE(is_clear(memory, "R10"));
    EXPECT_TRUE(is_clear(memory, "R11"));
    const Insights compute = of(with_counters(20, 70, 75));
    ASSERT_NE(find(compute, "R10"), nullptr);
    EXPECT_TRUE(is_clear(compute, "R9"));
    const Insights latency = of(with_counters(12, 25, 15));
    ASSERT_NE(find(latency, "R11"), nullptr);
    EXPECT_NEAR(find(latency, "R11")->recoverable_ms, (1 - 0.15 / 0.6) * 9.96, 0.1);
    const Insights many_warps = of(with_counters(12, 80, 15));
    EXPECT_TRUE(is_clear(many_warps, "R11"));
    // Without a counter of the arithmetic units nobody knows.
    EXPECT_NE(why(of(with_counters(12, 80, -1)), "R10").find("arithmetic units"),
              std::string::npos);
    Loop refused;
    refused.more = [](TraceMaker& maker, int i, double t) {
        if (i == 0) maker.instant("GPU 0 counters (GPM): not permitted", t);
    };
    EXPECT_NE(why(of(refused), "R9").find("NVreg_RestrictProfilingToAdminUsers=0"),
              std::string::npos);
}

TEST(Rules, CountersOfTheNodeAreThoseOfTheGpuThatTheProcessUses) {
    TraceMaker maker = make_loop({});
    maker.batch.devices[0].uuid = "GPU-7";  // CUDA's GPU 0, and NVML's GPU 1
    TraceStore store = maker.store();
    TraceMaker node(9, std::string(kNodeGpus));
    node.batch.source = kNodeGpusSource;
    const auto of_node = [&](double idle, double used) {
        for (const char* name : {"DRAM bandwidth [%]", "SM occupancy [%]", "FP32 active [%]"})
            for (int i = 1; i < 20; ++i) {
                node.counter("GPU 0 " + std::string(name), 10'000.0 * i, idle);
                node.counter("GPU 1 " + std::string(name), 10'000.0 * i, used);
            }
    };
    node.batch.devices.resize(2);
    node.batch.devices[0].uuid = "GPU-3";
    node.batch.devices[1].device = 1;
    node.batch.devices[1].uuid = "GPU-7";
    of_node(5, 80);
    node.instant("GPU 1 counters (GPM): not permitted", 10'000);
    node.into(store);
    const Insights all = find_insights(store);
    ASSERT_NE(find(all, "R9"), nullptr);
    EXPECT_NEAR(find(all, "R9")->recoverable_ms, 0.2 * 9.96, 0.1);
}

TEST(Rules, R9ToR11ByTheCostModel) {
    const auto floor = [](Stage stage, double ms, CostLimit limit) {
        return StageFloor{.stage = stage, .floor_ms = ms, .limit = limit};
    };
    InsightOptions options;
    // The loop blends for 2.49 ms and backwards for 3.735 ms.
    options.floors = {floor(Stage::blend, 2.0, CostLimit::arithmetic),
                      floor(Stage::blend_backward, 3.0, CostLimit::memory),
                      floor(Stage::project, 0.2, CostLimit::memory)};
    const Insights all = of({}, options);
    ASSERT_NE(find(all, "R9"), nullptr);
    EXPECT_NEAR(find(all, "R9")->recoverable_ms, 0.735, 0.02);
    ASSERT_NE(find(all, "R10"), nullptr);
    EXPECT_NEAR(find(all, "R10")->recoverable_ms, 0.49, 0.02);
    ASSERT_NE(find(all, "R11"), nullptr);
    EXPECT_NEAR(find(all, "R11")->recoverable_ms, 0.996 - 0.2 / 0.6, 0.02);
    EXPECT_NE(find(all, "R11")->text.find("project at 20 %"), std::string::npos)
        << find(all, "R11")->text;
}

TEST(Rules, R12Clocks) {
    const auto clocked = [](double mhz, double throttle) {
        Loop loop;
        loop.more = [=](TraceMaker& maker, int, double t) {
            maker.counter("GPU 0 SM clock [MHz]", t + 50, mhz);
            maker.counter("GPU 0 throttle reasons", t + 50, throttle);
        };
        return of(loop);
    };
    const Insights slow = clocked(1485, 4);
    ASSERT_NE(find(slow, "R12"), nullptr);
    EXPECT_NEAR(find(slow, "R12")->recoverable_ms, 0.25 * 9.96, 0.1);
    EXPECT_NE(find(slow, "R12")->text.find("power cap"), std::string::npos)
        << find(slow, "R12")->text;
    EXPECT_TRUE(is_clear(clocked(1980, 0), "R12"));
}

TEST(Rules, R13AndR14Overhead) {
    const auto with = [](OverheadType kind, int first, int last) {
        Loop loop;
        loop.more = [=](TraceMaker& maker, int i, double t) {
            if (i >= first && i <= last) maker.overhead(kMainThread, kind, t + 1000, t + 2000);
        };
        return of(loop);
    };
    const Insights compiles = with(OverheadType::compiler, 10, 10);
    ASSERT_NE(find(compiles, "R13"), nullptr);
    EXPECT_NEAR(find(compiles, "R13")->recoverable_ms, 1.0 / 17, 1e-3);
    EXPECT_TRUE(is_clear(compiles, "R14"));
    EXPECT_TRUE(
        is_clear(with(OverheadType::function_load, 0, 2), "R13"));  // while it warms up: in order
    const Insights full = with(OverheadType::command_buffer_full, 5, 15);
    ASSERT_NE(find(full, "R14"), nullptr);
    EXPECT_NEAR(find(full, "R14")->recoverable_ms, 11.0 / 17, 1e-3);
    EXPECT_TRUE(is_clear(full, "R13"));
}

TEST(Rules, R15GraphsMissing) {
    Loop loop;
    loop.launch_us = 8;
    loop.period = 1000;
    const auto many = [](int, std::vector<LoopKernel>& kernels) {
        kernels.clear();
        for (int k = 0; k < 90; ++k)
            kernels.push_back({"step", 10.0 * k, 10.0 * k + 9, 10.0 * k + 12});
    };
    loop.edit = many;
    const Insights all = of(loop);
    ASSERT_NE(find(all, "R2"), nullptr) << rules_of(all);
    ASSERT_NE(find(all, "R15"), nullptr);
    EXPECT_NE(find(all, "R15")->text.find("same 90 kernels"), std::string::npos)
        << find(all, "R15")->text;
    // Another grid in every iteration: no graph would fit.
    std::uint32_t serial = 0;
    loop.shape = [&](GpuWorkEvent& w) { w.grid[0] = 8448 + ++serial; };
    const Insights varied = of(loop);
    EXPECT_NE(find(varied, "R2"), nullptr);
    EXPECT_TRUE(is_clear(varied, "R15"));
}

TEST(Rules, R20DataLoading) {
    Loop loop;
    loop.period = 15'000;  // 5 ms of each iteration without work for the GPU, in next(loader)
    loop.more = [](TraceMaker& maker, int, double t) {
        maker.range(kMainThread, "next(dataloader)", t + 10'050, t + 14'990, 1);
    };
    const Insights all = of(loop);
    const Insight* data = find(all, "R20");
    ASSERT_NE(data, nullptr) << rules_of(all);
    EXPECT_NEAR(data->recoverable_ms, 5.0, 0.1);
    EXPECT_NE(data->advice.find("num_workers"), std::string::npos);
    EXPECT_EQ(data->confidence, Confidence::measured);
    // The same range while the GPU is busy costs nothing.
    Loop hidden;
    hidden.more = [](TraceMaker& maker, int, double t) {
        maker.range(kMainThread, "next(dataloader)", t + 5000, t + 9000, 1);
    };
    EXPECT_TRUE(is_clear(of(hidden), "R20"));
    // CPU only: a pause between iterations while a loader thread decodes.
    TraceMaker maker(5, "gausscope");
    for (int i = 0; i < 20; ++i) {
        maker.range(1, "iteration", 1000 * i, 1000 * i + 700, 0, i);
        maker.range(3, "decode photo", 1000 * i + 650, 1000 * i + 990);
    }
    TraceStore store = maker.store();
    const Insights cpu = find_insights(store);
    ASSERT_NE(find(cpu, "R20"), nullptr);
    EXPECT_NEAR(find(cpu, "R20")->recoverable_ms, 0.29 * 16 / 17, 0.01);
    EXPECT_EQ(find(cpu, "R20")->confidence, Confidence::inferred);
}

TEST(Rules, R22Regression) {
    const auto paced = [](double period) {
        Loop loop;
        loop.period = period;
        loop.edit = [](int i, std::vector<LoopKernel>& kernels) { kernels.back().end += i % 3; };
        return store_of(loop);
    };
    const TraceStore before = paced(10'000), slower = paced(11'000), alike = paced(10'050);
    const InsightOptions options{.baseline = &before};
    const Insights all = find_insights(slower, options);
    ASSERT_NE(find(all, "R22"), nullptr) << rules_of(all);
    EXPECT_NEAR(find(all, "R22")->recoverable_ms, 1.0, 0.01);
    EXPECT_TRUE(is_clear(find_insights(alike, options), "R22"));  // 0.5 %: below the least effect
}

TEST(Rules, R24SelfCost) {
    const auto serviced = [](double cpu_share, std::uint64_t dropped,
                             abi::CuptiState cupti = abi::CuptiState::not_asked) {
        TraceMaker maker = make_loop({});
        ServiceStatus status{.cupti = cupti};
        status.service_cpu_ns = static_cast<std::int64_t>(cpu_share * 200e6);  // of 200 ms
        status.cupti_dropped = dropped;
        maker.batch.service = status;
        TraceStore store = maker.store();
        return find_insights(store);
    };
    const Insights costly = serviced(0.03, 0);
    ASSERT_NE(find(costly, "R24"), nullptr);
    EXPECT_NEAR(find(costly, "R24")->recoverable_ms, 0.3, 0.02);
    const Insights lossy = serviced(0.001, 500);
    ASSERT_NE(find(lossy, "R24"), nullptr);
    EXPECT_NE(find(lossy, "R24")->text.find("500 records were lost, 500 of them by CUPTI"),
              std::string::npos)
        << find(lossy, "R24")->text;
    EXPECT_TRUE(is_clear(serviced(0.001, 0), "R24"));
    // CUPTI's time inside the program's calls is computed from the price of a record.
    const auto told = serviced(0.03, 0, abi::CuptiState::recording);
    ASSERT_NE(find(told, "R24"), nullptr);
    EXPECT_NE(find(told, "R24")->text.find("CUPTI in the program's calls"), std::string::npos);
    EXPECT_GT(find(told, "R24")->recoverable_ms, find(costly, "R24")->recoverable_ms);
}

}  // namespace
}  // namespace gs
