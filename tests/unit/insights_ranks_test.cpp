// R23, a rank that keeps the others waiting, where all take equally long: own times without
// collectives, on the host, with PyTorch's DDP, whose wait is in backward, and where nothing says
// that ranks communicate.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/record/machine_counters.h"
#include "profiler/analysis/own_time.h"
#include "tests/unit/insights_checks.h"

namespace gs {
namespace {

using namespace test;

constexpr int kTurns = 60;

struct Job {
    int ranks = 4, slow = -1;
    double work_us = 1500, slow_us = 4900;
    double noise = 0.05;  ///< sigma of a lognormal factor
    double spikes = 0;    ///< share of turns in which a busy machine holds a rank up
    std::uint32_t seed = 1;
};
/// What a rank does in one turn: it works from `begin` to `worked`, and `end` is when all are done.
using Turn = std::function<void(TraceMaker&, double begin, double worked, double end, int i)>;

TraceStore run(const Job& job, const Turn& turn) {
    std::mt19937 random(job.seed);
    std::normal_distribution<> normal;
    std::uniform_real_distribution<> uniform;
    const auto size = static_cast<std::size_t>(job.ranks);
    std::vector<TraceMaker> makers;
    for (int rank = 0; rank < job.ranks; ++rank) {
        makers.emplace_back(static_cast<std::uint32_t>(100 + rank));
        makers.back().batch.labels.rank = rank;
        makers.back().batch.labels.world_size = job.ranks;
    }
    double begin = 0;
    for (int i = 0; i < kTurns; ++i) {
        std::vector<double> worked(size);
        for (std::size_t rank = 0; rank < size; ++rank) {
            const bool slow = static_cast<int>(rank) == job.slow;
            worked[rank] =
                begin + (slow ? job.slow_us : job.work_us) * std::exp(job.noise * normal(random));
            if (uniform(random) < job.spikes) worked[rank] += 3000 * uniform(random);
        }
        const double end = *std::ranges::max_element(worked) + 300;
        for (std::size_t rank = 0; rank < size; ++rank)
            turn(makers[rank], begin, worked[rank], end, i);
        begin = end + 5;
    }
    TraceStore store;
    for (TraceMaker& maker : makers) maker.into(store);
    return store;
}

void mpi_turn(TraceMaker& m, double begin, double worked, double end, int) {
    m.range(100, "compute", begin, worked);
    m.range(100, "MPI_Allreduce", worked + 1, end);
}
/// The hook's range for the reducer's wait, behind the last module's range in backward.
void ddp_turn(TraceMaker& m, double begin, double worked, double end, int) {
    const double half = (begin + worked) / 2;
    m.range(100, "Net.fc", begin + 1, half - 2, 1);
    m.range(100, "DistributedDataParallel", begin, half - 1);
    m.range(100, "Net.fc (backward)", half + 1, worked, 1);
    m.range(100, "DistributedDataParallel.wait", worked + 2, end - 21, 1);
    m.range(100, "backward", half, end - 20);
    m.range(100, "Optimizer.step#SGD.step", end - 15, end);
}
void lonely_turn(TraceMaker& m, double begin, double worked, double, int) {
    m.range(100, "forward", begin, (begin + worked) / 2);
    m.range(100, "backward", (begin + worked) / 2, worked);
}

std::vector<int> named(const Insights& all) {
    std::vector<int> out;
    for (const Insight& i : all.findings)
        if (i.rule == "R23") out.push_back(static_cast<int>(i.process));
    return out;
}

TEST(Ranks, TheSlowOneIsNamedWhereAllTakeEquallyLong) {
    for (const Turn& turn : {Turn(mpi_turn), Turn(ddp_turn)})
        for (std::uint32_t seed = 1; seed <= 20; ++seed) {
            const Job job{.slow = static_cast<int>(seed % 4), .seed = seed};
            EXPECT_EQ(named(find_insights(run(job, turn))), std::vector<int>{job.slow}) << seed;
        }
    const Job two{.ranks = 2, .slow = 1};
    EXPECT_EQ(named(find_insights(run(two, ddp_turn))), std::vector<int>{1});
}

TEST(Ranks, TheSlowOneComesBeforeWhatItCauses) {
    const Insights slow = find_insights(run({.slow = 2}, mpi_turn));
    ASSERT_FALSE(slow.findings.empty());
    EXPECT_EQ(slow.findings.front().rule, "R23");
    const auto exposed = [](const Insights& all) {
        return std::ranges::count(all.findings, "R29", &Insight::rule);
    };
    ASSERT_EQ(exposed(slow), 1);
    const Insight& left = *find(slow, "R29");
    EXPECT_EQ(left.also.size(), 3u);
    EXPECT_NEAR(left.recoverable_ms, 0.3, 0.1) << "the waiting is R23's";
    // Nobody is slow: all of it is communication's.
    const Insights even = find_insights(run({.ranks = 2, .noise = 0.3}, mpi_turn));
    ASSERT_EQ(exposed(even), 1);
    EXPECT_EQ(insights_json(run({.ranks = 2}, mpi_turn), even)["findings"][0]["also"].size(), 1u);
}

TEST(Ranks, EqualOnesAreNotOnABusyMachineEither) {
    for (std::uint32_t seed = 1; seed <= 50; ++seed)
        for (const Turn& turn : {Turn(mpi_turn), Turn(ddp_turn)}) {
            const TraceStore store = run({.noise = 0.3, .spikes = 0.3, .seed = seed}, turn);
            EXPECT_TRUE(named(find_insights(store)).empty()) << seed;
        }
}

TEST(Ranks, WhatWaitingForACpuExplainsIsNoSlowRank) {
    const auto held = [](double percent) {
        const Turn turn = [&](TraceMaker& m, double begin, double worked, double end, int i) {
            mpi_turn(m, begin, worked, end, i);
            if (m.batch.labels.rank == 2 && i % 10 == 5)
                m.counter(machine_counter::kWaited, begin, percent);
        };
        return find_insights(run({.slow = 2, .slow_us = 2000}, turn));
    };
    EXPECT_EQ(named(held(0)), std::vector<int>{2});
    const Insights busy = held(40);
    EXPECT_TRUE(named(busy).empty());
    EXPECT_NE(why(busy, "R23").find("waited for a CPU"), std::string::npos) << why(busy, "R23");
    ASSERT_EQ(busy.ranks.size(), 4u);
    EXPECT_FALSE(busy.ranks[2].slow.has_value());
    EXPECT_EQ(busy.ranks[1].slow, false);
}

TEST(Ranks, WithoutAGpuTheTimeIsLostOnTheHost) {
    const Insights all = find_insights(run({.slow = 2, .slow_us = 2000}, mpi_turn));
    const Insight* slow = find(all, "R23");
    ASSERT_NE(slow, nullptr);
    EXPECT_EQ(slow->text.find("kernels"), std::string::npos) << slow->text;
    EXPECT_NE(slow->advice.find("Its host is slower"), std::string::npos) << slow->advice;
}

TEST(Ranks, WithoutCommunicationItCannotBeTold) {
    const Insights all = find_insights(run({.slow = 2}, lonely_turn));
    EXPECT_TRUE(named(all).empty());
    EXPECT_NE(why(all, "R23").find("communication"), std::string::npos) << why(all, "R23");
}

TEST(Ranks, StandBesideEachOther) {
    // 1 ms of work, rank 1 3 ms; then 0.3 ms of an all_reduce of 4 MB, with the wait in it.
    const auto figures = [](bool async) {
        const Turn turn = [&](TraceMaker& m, double begin, double worked, double end, int) {
            m.domain = "PyTorch";
            m.range(100, "forward", begin, worked);
            if (!async) m.range(100, "Work.wait", worked, end, 1);
            m.range(100, "all_reduce", worked, async ? worked + 1 : end, 0, 4'000'000);
            if (async) m.range(100, "Work.wait", worked + 1, end);
        };
        const TraceStore store =
            run({.ranks = 3, .slow = 1, .work_us = 1000, .slow_us = 3000, .noise = 0}, turn);
        const Insights all = find_insights(store);
        EXPECT_EQ(insights_json(store, all)["ranks"].size(), 3u);
        EXPECT_NE(insights_text(store, all).find("keeps the others waiting"), std::string::npos);
        return all.ranks;
    };
    for (const bool async : {false, true}) {
        const std::vector<RankFigures> ranks = figures(async);
        ASSERT_EQ(ranks.size(), 3u);
        for (const RankFigures& r : ranks) {
            const bool slow = r.rank == 1;
            EXPECT_EQ(r.slow, slow);
            EXPECT_NEAR(static_cast<double>(r.iterations), kTurns, 1);
            EXPECT_NEAR(r.iteration_ms, 3.305, 1e-3);
            EXPECT_NEAR(*r.own_ms, slow ? 3.005 : 1.005, 1e-3);
            EXPECT_NEAR(*r.exposed_ms, slow ? 0.3 : 2.3, 1e-3);
            EXPECT_NEAR(*r.waiting_ms, slow ? 0 : 2, 1e-3);
            EXPECT_NEAR(*r.megabytes, 4, 0.1);
            // A call that only begins it says nothing of how long it took.
            ASSERT_EQ(r.gb_per_s.has_value(), !async);
            if (slow) {
                EXPECT_NEAR(r.gb_per_s.value_or(4e6 / 300e3), 4e6 / 300e3, 0.1);
            }
        }
    }
    const Insights unknown = find_insights(run({.ranks = 2, .slow = 1}, lonely_turn));
    ASSERT_EQ(unknown.ranks.size(), 2u);
    EXPECT_FALSE(unknown.ranks[1].own_ms || unknown.ranks[1].slow);
}

// NCCL's kernels that came after CUPTI was had again are not of the iterations asked about; looking
// at no others keeps the daemon's cost independent of what it remembers.
TEST(Ranks, MoveTheBytesOfTheirIterations) {
    const Turn turn = [](TraceMaker& m, double begin, double worked, double end, int i) {
        m.range(100, "forward", begin, worked);
        m.range(100, "all_reduce", worked, end, 0, 4'000'000);
        if (i == kTurns - 1)
            m.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", end + 1000, end + 1100);
    };
    const TraceStore store = run({.ranks = 2}, turn);
    const Insights all = find_insights(store);
    ASSERT_EQ(all.ranks.size(), 2u);
    for (const RankFigures& r : all.ranks) EXPECT_NEAR(r.megabytes.value_or(0), 4, 0.1);
}

TEST(Ranks, AreWhatTheProcessItselfSays) {
    TraceMaker maker;
    maker.batch.labels.rank = 0;
    maker.batch.names.push_back(
        {.name = 1, .text = "3", .domain = "gausscope.rank", .category = 1});
    maker.batch.names.push_back(
        {.name = 2, .text = "8", .domain = "gausscope.rank", .category = 2});
    TraceStore store = maker.store();
    EXPECT_EQ(store.processes()[0].labels.rank, 3);
    EXPECT_EQ(store.processes()[0].labels.world_size, 8);
}

TEST(OwnTime, OfCollectivesThatComputingHides) {
    // 15 ms: 8 of another thread's all_reduce, of which the last 4 are waited for.
    const auto own = [](bool waits_visibly) {
        TraceMaker m;
        for (int i = 0; i < 20; ++i) {
            const double t = 15'000 * i;
            m.range(2, "c10d::allreduce_", t + 6000, t + 14'000);
            m.range(1, "backward", t, t + 10'000, 1);
            if (waits_visibly) m.range(1, "wait", t + 10'000, t + 14'000, 1);
            m.range(1, "Optimizer.step#SGD.step", t + 14'000, t + 15'000, 1);
            m.range(1, "step", t, t + 15'000, 0, i);
        }
        TraceStore store = m.store();
        const OwnTimes times = own_times(store, find_iterations(store, 0));
        EXPECT_TRUE(times.communicates);
        EXPECT_EQ(times.items.size(), 20u);
        return times.items[7].own_ms();
    };
    EXPECT_NEAR(own(true), 11, 1e-6);
    EXPECT_NEAR(own(false), 15, 1e-6);  // an upper bound
}

TEST(OwnTime, OnAGpuWithoutWhatOtherKernelsHide) {
    TraceMaker m;
    for (int i = 0; i < 20; ++i) {
        const double t = 1000 * i;
        m.kernel("gemm", t, t + 500);
        m.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", t + 300, t + 800).stream = 9;
        m.range(1, "all_reduce", t, t + 10, 1);  // it only enqueues
        m.range(1, "step", t, t + 1000, 0, i);
    }
    TraceStore store = m.store();
    const OwnTimes times = own_times(store, find_iterations(store, 0));
    EXPECT_TRUE(times.communicates);
    EXPECT_NEAR(times.items[3].exposed_ms, 0.3, 1e-6);
    EXPECT_NEAR(times.items[3].own_ms(), 0.7, 1e-6);
}

TEST(Rules, R23Stragglers) {
    // Four ranks in step: the three fast ones wait in NCCL for the one whose host is late.
    const auto job = [](double late) {
        TraceStore store;
        for (int rank = 0; rank < 4; ++rank) {
            TraceMaker maker(static_cast<std::uint32_t>(100 + rank));
            maker.batch.labels.rank = rank;
            const double own = rank == 2 ? late : 0;
            for (int i = 0; i < 20; ++i) {
                const double t = (6000 + late) * i;
                maker.kernel("gemm", t + own + 10, t + own + 5000);
                maker.kernel("ncclDevKernel_AllReduce", t + own + 5010, t + late + 5900);
                maker.range(1, "train_step", t, t + late + 5950, 0, i);
            }
            maker.into(store);
        }
        return find_insights(store);
    };
    const Insights all = job(2000);
    const Insight* straggler = find(all, "R23");
    ASSERT_NE(straggler, nullptr) << rules_of(all);
    EXPECT_EQ(straggler->process, 2u);
    EXPECT_NE(straggler->title.find("Rank 2"), std::string::npos);
    EXPECT_NE(straggler->text.find("on the host"), std::string::npos) << straggler->text;
    EXPECT_NEAR(straggler->recoverable_ms, 2.0, 0.1);
    EXPECT_TRUE(is_clear(job(100), "R23"));
}

}  // namespace
}  // namespace gs
