// Clocks of hosts from the collectives of their ranks: ranks of known skew and drift, and what real
// ones do: stragglers, lost records, collectives in bursts, traces that begin at different times.
// The truth lies within the error every time, and the error is small enough to be of use.
#include "profiler/analysis/clock_offsets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace gs {
namespace {

constexpr double kMs = 1e6, kSecond = 1e9;

struct Job {
    const char* called = "";
    std::size_t steps = 200, in_a_step = 1;
    double period = 100 * kMs, period_jitter = 4 * kMs;  // of the training
    double transport = 0.03 * kMs, skew = 0.01 * kMs;    // how long it takes; who leaves later
    double compute_jitter = 3 * kMs;                     // of a rank before it enters
    double lost = 0;                                     // share of the records
    double straggler = 0;  // share of ends that come 5 ms late (the thread had to wait)
    std::size_t late = 0;  // steps that the second rank's trace begins later
    bool waits = true;     // false: calls that only enqueue
    std::vector<double> offset = {0, 3.21 * kMs};  // of each host's clock
    std::vector<double> drift = {0, 0};            // seconds a second
};

double clock_of(const Job& job, std::size_t host, double t) {
    return t + job.offset[host] + job.drift[host] * (t - 10 * kSecond);
}

std::vector<HostCalls> play(const Job& job, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> share(0, 1);
    const std::size_t hosts = job.offset.size();
    std::vector<HostCalls> out(hosts, HostCalls(1));
    double t = 10 * kSecond;
    for (std::size_t step = 0; step < job.steps; ++step) {
        t += job.period + job.period_jitter * normal(random);
        double at = t;
        for (std::size_t k = 0; k < job.in_a_step; ++k) {
            std::vector<double> enters;
            for (std::size_t h = 0; h < hosts; ++h)
                enters.push_back(at + job.compute_jitter * std::abs(normal(random)) /
                                          static_cast<double>(job.in_a_step));
            const double last = *std::ranges::max_element(enters);
            for (std::size_t h = 0; h < hosts; ++h) {
                double leaves = last + job.transport + job.skew * share(random);
                if (share(random) < job.straggler) leaves += 5 * kMs;
                if (!job.waits) leaves = enters[h] + 5000;
                const bool kept = share(random) >= job.lost && (h == 0 || step >= job.late);
                if (kept)
                    out[h][0].push_back({static_cast<std::int64_t>(clock_of(job, h, enters[h])),
                                         static_cast<std::int64_t>(clock_of(job, h, leaves)),
                                         k % 2});
            }
            at = last + job.transport + 0.1 * kMs;
        }
    }
    for (HostCalls& host : out)
        std::ranges::sort(host[0],
                          [](const auto& x, const auto& y) { return x.end_ns < y.end_ns; });
    return out;
}

std::vector<Job> jobs() {
    std::vector<Job> out;
    const auto add = [&](const char* called, auto change) {
        Job job{.called = called};
        change(job);
        out.push_back(job);
    };
    add("plain", [](Job&) {});
    add("no difference", [](Job& j) { j.offset = {0, 0}; });
    add("ahead, few steps", [](Job& j) { j.offset = {0, -0.4 * kMs}, j.steps = 12; });
    add("half a second", [](Job& j) { j.offset = {0, 500 * kMs}; });
    add("drift", [](Job& j) { j.drift = {0, 20e-6}, j.steps = 600; });
    add("slow steps that drift", [](Job& j) {
        j.period = 2 * kSecond, j.period_jitter = 50 * kMs, j.drift = {0, -40e-6};
    });
    add("bursts", [](Job& j) { j.in_a_step = 12, j.steps = 100; });
    add("lost records", [](Job& j) { j.lost = 0.2, j.in_a_step = 4; });
    add("stragglers", [](Job& j) { j.straggler = 0.1; });
    add("one trace begins later", [](Job& j) { j.late = 37; });
    add("one collective later", [](Job& j) { j.late = 1, j.offset = {0, -8 * kMs}; });
    add("a loaded machine", [](Job& j) {
        j.skew = 2 * kMs, j.transport = 3 * kMs, j.offset = {0, -20 * kMs};
    });
    return out;
}

TEST(ClockOffsets, TheTruthLiesWithinTheError) {
    for (const Job& job : jobs())
        for (unsigned seed = 1; seed <= 3; ++seed) {
            SCOPED_TRACE(testing::Message() << job.called << ", seed " << seed);
            const auto hosts = play(job, seed);
            const auto found = clock_offset(hosts[0][0], hosts[1][0]);
            ASSERT_TRUE(found);
            const auto at = static_cast<double>(found->at_ns);
            EXPECT_LE(std::abs(found->offset_ns - (clock_of(job, 1, at) - at)), found->error_ns)
                << found->offset_ns << " +- " << found->error_ns;
            EXPECT_LE(found->error_ns, 2 * job.transport + 2 * job.skew);
            EXPECT_LE(std::abs(found->drift - job.drift[1]), std::max(found->drift_error, 0.1e-6));
            EXPECT_EQ(found->drift != 0, job.drift[1] != 0);
            EXPECT_EQ(found->differs(), job.offset[1] != 0);
            EXPECT_GE(found->collectives, job.steps * job.in_a_step / 2 - job.late);
        }
}

TEST(ClockOffsets, NoneWhereNothingCanBeTold) {
    const auto none = [](const char* called, auto change) {
        Job job;
        change(job);
        const auto hosts = play(job, 7);
        EXPECT_FALSE(clock_offset(hosts[0][0], hosts[1][0])) << called;
    };
    none("few", [](Job& j) { j.steps = 6; });
    none("calls that only enqueue", [](Job& j) { j.waits = false; });
    none("clockwork, and the wall clocks are half a step apart", [](Job& j) {
        j.period_jitter = 0, j.compute_jitter = 0, j.offset = {0, 50 * kMs};
    });
    // Two jobs that have nothing to do with each other.
    for (const double jitter : {0.01, 0.3, 3.0, 30.0})
        for (const std::size_t burst : {1, 8}) {
            const Job job{.in_a_step = burst, .compute_jitter = jitter * kMs};
            const auto found = clock_offset(play(job, 1)[0][0], play(job, 2)[0][0]);
            EXPECT_FALSE(found) << jitter << " ms, " << clock_text(*found, "the other");
        }
}

TEST(ClockOffsets, TheWallClockSaysWhichOfAClockworkBelongTogether) {
    const Job job{.period_jitter = 0, .compute_jitter = 0.002 * kMs};
    const auto hosts = play(job, 7);
    const auto found = clock_offset(hosts[0][0], hosts[1][0]);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->offset_ns, job.offset[1], found->error_ns);
}

TEST(ClockOffsets, AllHostsAgainstTheFirst) {
    Job job{.steps = 300};
    job.offset = {0, 3 * kMs, -2 * kMs, 40 * kMs, 0};
    job.drift = {0, 15e-6, 0, -15e-6, 0};
    auto hosts = play(job, 3);
    hosts[2].push_back(hosts[2][0]);  // a second rank with the same clock
    hosts.push_back({});              // one without collectives
    const auto found = host_clocks(hosts);
    ASSERT_EQ(found.size(), 6u);
    EXPECT_FALSE(found[0]->differs());
    EXPECT_FALSE(found[5]);
    for (std::size_t h = 1; h < 5; ++h) {
        ASSERT_TRUE(found[h]) << h;
        const auto at = static_cast<double>(found[h]->at_ns);
        EXPECT_NEAR(found[h]->offset_ns, clock_of(job, h, at) - at, found[h]->error_ns) << h;
        EXPECT_LT(found[h]->error_ns, 0.1 * kMs) << h;
        EXPECT_NEAR(found[h]->drift, job.drift[h], std::max(found[h]->drift_error, 0.1e-6)) << h;
        EXPECT_EQ(found[h]->differs(), h != 4) << h;
    }
}

// Nothing of a file is to be believed: times at the ends of what can be, all at once, none at all.
TEST(ClockOffsets, TimesThatCannotBe) {
    constexpr std::int64_t kEnd = std::int64_t{1} << 61;
    std::vector<CollectiveCall> wild;
    for (int i = 0; i < 40; ++i) wild.push_back({i % 2 == 0 ? kEnd : -kEnd, -kEnd + i % 3, 1});
    std::ranges::sort(wild, [](const auto& x, const auto& y) { return x.end_ns < y.end_ns; });
    const std::vector<CollectiveCall> same(40, CollectiveCall{5, 5, 1});
    for (const auto& a : {wild, same, std::vector<CollectiveCall>{}})
        for (const auto& b : {wild, same, std::vector<CollectiveCall>{}})
            static_cast<void>(clock_offset(a, b));
    EXPECT_TRUE(host_clocks({}).empty());
}

// Takes minutes where every call is compared with all those that end with it.
TEST(ClockOffsets, ManyCallsThatEndTogether) {
    const std::vector<CollectiveCall> same(200'000, CollectiveCall{5, 5, 1});
    EXPECT_FALSE(clock_offset(same, same));
}

TEST(ClockOffsets, Texts) {
    ClockOffset c{.offset_ns = -3.21e6, .error_ns = 40e3, .collectives = 212};
    EXPECT_EQ(clock_text(c, "host a"), "3.210 ms \u00b1 0.040 ms behind host a (212 collectives)");
    c.drift = 1.3e-6;
    c.offset_ns = 3.21e6;
    EXPECT_EQ(clock_text(c, "host a"),
              "3.210 ms \u00b1 0.040 ms ahead of host a (212 collectives), drift +1.30 ppm");
    c = {.offset_ns = 1e3, .error_ns = 40e3, .collectives = 9};
    EXPECT_EQ(clock_text(c, "host a"), "within 0.040 ms of host a (9 collectives)");
}

}  // namespace
}  // namespace gs
