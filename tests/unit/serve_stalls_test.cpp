// Who no longer gets on: noticed once, named with the place it is in, and over the ranks of a job.
#include <gtest/gtest.h>
#include <unistd.h>

#include "profiler/serve/stalls.h"
#include "serve_trace.h"

namespace gs::serve {
namespace {

using test::kMs;
using test::RecordedProcess;

/// Processes that iterate, and the looks a daemon takes at them.
struct Job {
    explicit Job(int ranks, StallOptions options = {}) : stalls(options), processes(ranks) {
        for (int i = 0; i < ranks; ++i) {
            processes[i].pid = static_cast<std::uint32_t>(::getpid());  // one that is alive
            processes[i].source = 7 + i;
        }
    }
    TraceBatch batch(int rank, std::int64_t ms) {
        TraceBatch b = processes[rank].batch(ms);
        b.process_start = 100 + rank;
        b.labels.job = "77";
        b.labels.rank = rank;
        b.labels.world_size = static_cast<int>(processes.size());
        return b;
    }
    void iterate(std::int64_t begin_ms, int count) {
        for (int rank = 0; rank < static_cast<int>(processes.size()); ++rank) {
            TraceBatch b = batch(rank, begin_ms + 100 * count);
            for (int i = 0; i < count; ++i) processes[rank].iterate(b, begin_ms + 100 * i, 100);
            store.ingest(b);
        }
        look(begin_ms + 100 * count + 1000);
    }
    /// Rank `rank` is in ranges `names` (of RecordedProcess) at `ms`.
    void stand(int rank, std::int64_t ms, std::vector<std::uint32_t> names) {
        TraceBatch b = batch(rank, ms);
        for (std::size_t i = 0; i < names.size(); ++i)
            b.open.push_back({(ms - 1) * kMs, 0, 0, names[i], static_cast<std::uint8_t>(i)});
        store.ingest(b);
    }
    std::vector<Trigger> look(std::int64_t ms) {
        return stalls.look(store, watch.look(store, ms * kMs), ms * kMs);
    }

    TraceStore store;
    Watch watch;
    Stalls stalls;
    std::vector<RecordedProcess> processes;
};

TEST(ServeStalls, OneThatNoLongerIteratesIsNamedOnceAndUntilItGoesOn) {
    Job job(1);
    job.iterate(9'000, 1);
    job.iterate(10'000, 30);
    job.stand(0, 13'100, {1, 2});
    EXPECT_TRUE(job.look(42'000).empty());  // it may be slow: half a minute at least
    const auto found = job.look(44'000);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].kind, "stall");
    EXPECT_EQ(found[0].since_ns, 13'000 * kMs);
    EXPECT_NE(found[0].reason.find("has made no progress for 31 s, inside iteration > load"),
              std::string::npos)
        << found[0].reason;
    EXPECT_TRUE(job.look(50'000).empty());
    ASSERT_EQ(job.stalls.stalled().size(), 1u);
    EXPECT_EQ(job.stalls.stalled().at(7).range, "load");
    EXPECT_NEAR(job.stalls.stalled().at(7).seconds, 37, 1e-9);
    job.iterate(52'000, 1);
    EXPECT_TRUE(job.stalls.stalled().empty());
    EXPECT_EQ(job.look(90'000).size(), 1u);
}

TEST(ServeStalls, OnlyWhoIteratedAndIsThereAndRecordedCanBeStuck) {
    const auto stuck = [](int iterations, const std::function<void(TraceBatch&)>& then) {
        Job job(1, {.after_s = 5});
        job.iterate(9'000, 1);
        if (iterations > 0) job.iterate(10'000, iterations);
        TraceBatch b = job.batch(0, 19'000);
        then(b);
        job.store.ingest(b);
        return !job.look(20'000).empty();
    };
    EXPECT_TRUE(stuck(30, [](TraceBatch&) {}));
    EXPECT_FALSE(stuck(0, [](TraceBatch&) {}));
    EXPECT_FALSE(stuck(30, [](TraceBatch& b) { b.ended = true; }));
    EXPECT_FALSE(stuck(30, [](TraceBatch& b) { b.service->armed = false; }));
    EXPECT_FALSE(stuck(30, [](TraceBatch& b) { b.visible_pid = 0x3FFFFFF0; }));  // nobody's
    // An evaluation between two iterations, and a pause of the budget.
    EXPECT_FALSE(stuck(30, [](TraceBatch& b) {
        b.spans.push_back({17'000 * kMs, 18'000 * kMs, 0, 0, 2, 0, false});
    }));
    EXPECT_FALSE(stuck(30, [](TraceBatch& b) {
        b.pauses = {{13'000 * kMs, 18'900 * kMs, true, true}};
    }));
}

TEST(ServeStalls, WhatMerelyRecursMayRest) {
    const auto stuck = [](const char* name) {
        Job job(1, {.after_s = 5});
        for (std::int64_t second = 9; second < 20; ++second) {
            TraceBatch b = job.batch(0, 1000 * (second + 1));
            b.names = {{1, name}, {2, "inner"}};
            for (int i = 0; i < 10; ++i) job.processes[0].iterate(b, 1000 * second + 100 * i, 100);
            b.gpu_work.clear();
            job.store.ingest(b);
            job.look(1000 * (second + 2));
        }
        return !job.look(40'000).empty();
    };
    EXPECT_TRUE(stuck("train batch"));
    EXPECT_FALSE(stuck("alpha"));
    EXPECT_FALSE(stuck("handle request"));
}

TEST(ServeStalls, OverAJobItSaysWhoWaitsAndWhoIsMissing) {
    Job job(8, {.after_s = 5});
    job.iterate(9'000, 1);
    job.iterate(10'000, 30);
    for (int rank = 0; rank < 8; ++rank)
        job.stand(rank, 13'100, rank == 7 ? std::vector<std::uint32_t>{2} : std::vector{1u, 3u});
    const auto found = job.look(20'000);
    ASSERT_EQ(found.size(), 1u);  // one recording for the job
    EXPECT_TRUE(found[0].reason.ends_with("; job 77: ranks 0-6 are in renderCUDA, 7 in load"))
        << found[0].reason;
    EXPECT_EQ(job.stalls.stalled().size(), 8u);
}

TEST(ServeStalls, RanksAreToldShortly) {
    EXPECT_EQ(describe_ranks({{3, "a"}}, 0), "rank 3 is in a");
    EXPECT_EQ(describe_ranks({{1, "a"}, {0, ""}, {3, "a"}}, 6),
              "ranks 1, 3 are in a, 0 in no range; 2, 4-5 not seen here");
}

}  // namespace
}  // namespace gs::serve
