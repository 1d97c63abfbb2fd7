// The metrics of `gausscope serve` for Prometheus: the format, and the figures against ones worked
// out by hand.
#include <gtest/gtest.h>

#include <set>

#include "profiler/serve/metrics.h"
#include "serve_trace.h"

namespace gs::serve {
namespace {

using test::kMs, test::samples_of;
using test::RecordedProcess, test::ServedMetrics;

TEST(Exposition, HistogramBucketsAddUp) {
    TimeHistogram times;
    times.add(1e-3);  // on a bound: in that bound's bucket
    times.add(0.011);
    times.add(100);
    Exposition out;
    out.family("t_seconds", Exposition::Type::histogram, "Times.", "seconds");
    out.value({{"a", "x"}}, times);
    const std::string text = out.open_metrics();
    const auto s = samples_of(text);
    EXPECT_EQ(s.at(R"(t_seconds_bucket{a="x",le="0.0005"})"), 0);
    EXPECT_EQ(s.at(R"(t_seconds_bucket{a="x",le="0.001"})"), 1);
    EXPECT_EQ(s.at(R"(t_seconds_bucket{a="x",le="0.025"})"), 2);
    EXPECT_EQ(s.at(R"(t_seconds_bucket{a="x",le="10.0"})"), 2);
    EXPECT_EQ(s.at(R"(t_seconds_bucket{a="x",le="+Inf"})"), 3);
    EXPECT_EQ(s.at(R"(t_seconds_count{a="x"})"), 3);
    EXPECT_DOUBLE_EQ(s.at(R"(t_seconds_sum{a="x"})"), 100.012);
    EXPECT_TRUE(text.ends_with("# EOF\n"));
    EXPECT_NE(text.find("# UNIT t_seconds seconds\n"), std::string::npos);
}

/// A side's stages in the metrics of a process after an iteration with a range, a kernel and a
/// copy.
std::set<std::string> stages_told(const std::string& side, const char* kernel,
                                  const char* range = "load") {
    RecordedProcess process;
    test::Served served;
    for (std::int64_t second = 10; second < 14; ++second) {
        TraceBatch batch = process.batch((second + 1) * 1000);
        batch.names[1].text = range;
        batch.names[2].text = kernel;
        for (int i = 0; i < 4; ++i) process.iterate(batch, second * 1000 + 200 * i, 100);
        batch.gpu_work.push_back(batch.gpu_work.back());
        batch.gpu_work.back().kind = GpuWorkKind::copy;
        batch.gpu_work.back().correlation = 0;
        served.store.ingest(batch);
        served.look((second + 1) * 1000);
    }
    std::set<std::string> out;
    for (const auto& [name, value] : samples_of(served.text())) {
        const auto at = name.find(R"(stage=")");
        if (name.starts_with("gausscope_stage_seconds_count") &&
            name.find("side=\"" + side + "\"") != name.npos && value > 0)
            out.insert(name.substr(at + 7, name.find('"', at + 7) - at - 7));
    }
    return out;
}

TEST(Metrics, KernelsOfAnyDeepLearningProgramAreToldByKind) {
    EXPECT_EQ(stages_told("gpu", "void flash_fwd_kernel<T>(Params)"),
              (std::set<std::string>{"attention", "copies"}));
    EXPECT_EQ(stages_told("gpu", "ampere_sgemm_128x64_tn"),
              (std::set<std::string>{"copies", "matmul"}));
    EXPECT_EQ(stages_told("gpu", "renderCUDA"), (std::set<std::string>{"blend"}));
}

TEST(Metrics, RangesOfAnyTrainingProgramAreToldByWhatTheyAreFor) {
    const auto told = [](const char* range) { return stages_told("cpu", "gemm", range); };
    EXPECT_EQ(told("fetch batch"), (std::set<std::string>{"data", "other"}));
    EXPECT_EQ(told("halo exchange 12"), (std::set<std::string>{"halo exchange", "other"}));
    EXPECT_EQ(told("blend"), (std::set<std::string>{"blend", "other"}));  // of some other program
}

// Children of a watched program are sampled with it (`--stacks`), and may be many.
TEST(Metrics, AProcessThatIsOnlySampledHasNoSeries) {
    RecordedProcess process;
    TraceStore store;
    store.ingest(process.batch(1000));
    TraceBatch child{.source = 1ull << 31, .pid = 4711, .visible_pid = 4711, .read_ns = 1000 * kMs};
    child.frames = {{"main", "", "child", 0, FrameKind::native}};
    child.stacks = {{kNoStack, 0}};
    child.samples = {{900 * kMs, 10 * kMs, 4711, 0, false}};
    store.ingest(child);
    ASSERT_EQ(store.processes().size(), 2u);
    EXPECT_EQ(Watch().look(store, 1000 * kMs).size(), 1u);
}

TEST(Exposition, EscapesLabelsAndLeavesOutWhatIsNotKnown) {
    Exposition out;
    out.family("g", Exposition::Type::gauge, "G.");
    out.value({{"k", "a\"b\\c\nd"}}, 1);
    out.value({{"k", "unknown"}}, std::nan(""));
    EXPECT_EQ(out.open_metrics(),
              "# TYPE g gauge\n# HELP g G.\ng{k=\"a\\\"b\\\\c\\nd\"} 1\n# EOF\n");
}

/// A second of ten iterations of 100 ms from `begin`, taken in as a daemon would.
void second_of_iterations(TraceStore& store, RecordedProcess& process, std::int64_t begin_ms) {
    TraceBatch batch = process.batch(begin_ms + 1000);
    for (int i = 0; i < 10; ++i) process.iterate(batch, begin_ms + 100 * i, 100);
    store.ingest(batch);
}

const std::string labels = R"(process="train.py",rank="3",job="job\"1\\")";

TEST_F(ServedMetrics, CountsEveryIterationOnceAndItsStages) {
    // Whole seconds pass; the last one is too young to be looked at.
    for (std::int64_t second = 10; second < 16; ++second) {
        second_of_iterations(store, process, second * 1000);
        look((second + 1) * 1000);
    }
    const auto s = samples_of(text());
    // The first look only begins the counting, at 10 s; the last one counts up to 15 s.
    EXPECT_EQ(s.at("gausscope_iteration_seconds_count{" + labels + "}"), 50);
    EXPECT_NEAR(s.at("gausscope_iteration_seconds_sum{" + labels + "}"), 5.0, 1e-9);
    EXPECT_EQ(s.at("gausscope_stage_seconds_count{" + labels + R"(,stage="blend",side="gpu"})"),
              50);
    EXPECT_NEAR(s.at("gausscope_stage_seconds_sum{" + labels + R"(,stage="blend",side="gpu"})"),
                2.5, 1e-6);
    EXPECT_NEAR(s.at("gausscope_stage_seconds_sum{" + labels + R"(,stage="data",side="cpu"})"),
                1.25, 1e-6);
    EXPECT_EQ(s.at("gausscope_kernels_total{" + labels + "}"), 50);
    EXPECT_NEAR(s.at("gausscope_gpu_busy_seconds_total{" + labels + "}"), 2.5, 1e-6);
    EXPECT_NEAR(s.at("gausscope_watched_seconds_total{" + labels + "}"), 5, 1e-6);
    EXPECT_NEAR(s.at("gausscope_gpu_idle_ratio{" + labels + "}"), 0.5, 1e-6);
    EXPECT_EQ(s.at("gausscope_records_total{" + labels + "}"), 180);
    EXPECT_EQ(s.at("gausscope_service_armed{" + labels + "}"), 1);
}

/// Of every second from `begin_ms` the first 200 ms are recorded, the GPU busy in all of them; then
/// the budget pauses. Seconds pass, `count` of them.
std::map<std::string, double> paused_most_of_the_time(RecordedProcess& process, bool with_ranges,
                                                      int count) {
    test::Served served;
    for (std::int64_t second = 10; second < 10 + count; ++second) {
        TraceBatch batch = process.batch((second + 1) * 1000);
        for (int i = 0; i < 10; ++i) {
            process.iterate(batch, second * 1000 + 20 * i, 20);
            batch.gpu_work.back().begin_ns = (second * 1000 + 20 * i) * kMs;
            batch.gpu_work.back().end_ns = (second * 1000 + 20 * i + 20) * kMs;
        }
        if (!with_ranges) batch.spans.clear();
        // In pieces, as they come.
        batch.pauses = {{(second * 1000 + 200) * kMs, (second * 1000 + 600) * kMs, true, true},
                        {(second * 1000 + 600) * kMs, (second + 1) * 1000 * kMs, true, true}};
        served.store.ingest(batch);
        served.look((second + 1) * 1000);
    }
    return samples_of(served.text());
}

TEST_F(ServedMetrics, WhatTheBudgetLeftOutIsNotIdle) {
    const auto s = paused_most_of_the_time(process, true, 10);
    EXPECT_NEAR(s.at("gausscope_watched_seconds_total{" + labels + "}"), 9 * 0.2, 1e-6);
    EXPECT_NEAR(s.at("gausscope_gpu_busy_seconds_total{" + labels + "}"), 9 * 0.2, 1e-6);
    EXPECT_NEAR(s.at("gausscope_gpu_idle_ratio{" + labels + "}"), 0, 1e-6);
    EXPECT_EQ(s.at("gausscope_iteration_seconds_count{" + labels + "}"), 90);
    EXPECT_NEAR(s.at("gausscope_iteration_seconds_sum{" + labels + "}"), 1.8, 1e-6);
}

TEST_F(ServedMetrics, IterationsFoundFromKernelsEndAtAPause) {
    const auto s = paused_most_of_the_time(process, false, 10);
    // Ten begins a second, nine of them with an end that was seen.
    const double count = s.at("gausscope_iteration_seconds_count{" + labels + "}");
    EXPECT_EQ(count, 81);
    EXPECT_NEAR(s.at("gausscope_iteration_seconds_sum{" + labels + "}"), 0.020 * count, 1e-6);
}

/// A rank that computes and then waits in `collective` for the others, 100 ms a turn; nothing names
/// its iterations.
std::map<std::string, double> rank_with(const char* collective, double work_ms) {
    test::Served served;
    RecordedProcess process;
    for (std::int64_t second = 10; second < 20; ++second) {
        TraceBatch batch = process.batch((second + 1) * 1000);
        batch.names = {{1, "compute"}, {2, collective}};
        for (int i = 0; i < 10; ++i) {
            const std::int64_t at = (second * 1000 + 100 * i) * kMs;
            const auto worked = at + static_cast<std::int64_t>(work_ms * 1e6);
            batch.spans.push_back({at, worked, 0, 0, 1, 0, false});
            batch.spans.push_back({worked, at + 100 * kMs, 0, 0, 2, 0, false});
        }
        served.store.ingest(batch);
        served.look((second + 1) * 1000);
    }
    return samples_of(served.text());
}

TEST_F(ServedMetrics, OwnTimeIsWithoutCollectivesAndAbsentWhereNoneIsSeen) {
    const auto s = rank_with("MPI_Allreduce", 30);
    const double count = s.at("gausscope_iteration_seconds_count{" + labels + "}");
    EXPECT_NEAR(count, 90, 1);  // found late, and counted from the first on
    EXPECT_NEAR(s.at("gausscope_iteration_seconds_sum{" + labels + "}"), 0.1 * count, 1e-6);
    EXPECT_EQ(s.at("gausscope_own_seconds_count{" + labels + "}"), count);
    EXPECT_NEAR(s.at("gausscope_own_seconds_sum{" + labels + "}"), 0.03 * count, 1e-6);
    EXPECT_NEAR(s.at("gausscope_collective_seconds_total{" + labels + "}"), 0.07 * count, 1e-6);
    const auto silent = rank_with("think", 30);
    EXPECT_GT(silent.at("gausscope_iteration_seconds_count{" + labels + "}"), 80);
    EXPECT_FALSE(silent.contains("gausscope_own_seconds_count{" + labels + "}"));
    EXPECT_FALSE(silent.contains("gausscope_collective_seconds_total{" + labels + "}"));
}

/// Micro turns come first; that each turn of the loop holds four of them is seen later.
TEST_F(ServedMetrics, AnotherLoopGetsASeriesOfItsOwn) {
    std::map<std::string, double> before;
    for (std::int64_t second = 10; second < 70; ++second) {
        TraceBatch batch = process.batch((second + 1) * 1000);
        batch.names = {{1, "alpha"}, {2, "beta"}, {3, "optimizer"}, {4, "zero_grad"}};
        for (std::int64_t i = 0; i < 20; ++i) {
            const std::int64_t at = (second * 1000 + 50 * i) * kMs;
            batch.spans.push_back({at, at + 20 * kMs, 0, 0, 1, 0, false});
            batch.spans.push_back({at + 20 * kMs, at + 40 * kMs, 0, 0, 2, 0, false});
            if (second < 20 || i % 4 != 3) continue;
            batch.spans.push_back({at + 40 * kMs, at + 45 * kMs, 0, 0, 3, 0, false});
            batch.spans.push_back({at + 45 * kMs, at + 48 * kMs, 0, 0, 4, 0, false});
        }
        store.ingest(batch);
        look((second + 1) * 1000);
        const auto s = samples_of(text());
        for (const auto& [name, value] : before) EXPECT_GE(s.at(name), value) << name;
        for (const auto& [name, value] : s)
            if (name.starts_with("gausscope_iteration_seconds_count")) before[name] = value;
    }
    ASSERT_EQ(before.size(), 2u);
    EXPECT_EQ(before.count("gausscope_iteration_seconds_count{" + labels + "}"), 1u);
    EXPECT_EQ(before.count("gausscope_iteration_seconds_count{" + labels + R"(,loop="optimizer"})"),
              1u);
    double staged_s = 0;  // of both loops together: no moment twice
    for (const auto& [name, value] : samples_of(text()))
        if (name.starts_with("gausscope_stage_seconds_sum")) staged_s += value;
    EXPECT_GT(staged_s, 45);
    EXPECT_LE(staged_s, 60);
}

TEST_F(ServedMetrics, ASecondThatWasPausedThroughoutHasNoIdleRatio) {
    second_of_iterations(store, process, 10'000);
    look(11'000);
    look(12'000);
    EXPECT_NE(text().find("gausscope_gpu_idle_ratio{"), std::string::npos);
    TraceBatch paused = process.batch(13'000);
    paused.pauses = {{11'000 * kMs, 13'000 * kMs, true, true}};
    store.ingest(paused);
    look(13'000);
    EXPECT_EQ(text().find("gausscope_gpu_idle_ratio{"), std::string::npos);
    // Nor has one in which another tool had CUPTI.
    TraceBatch held = process.batch(14'000);
    held.service->cupti = abi::CuptiState::held;
    store.ingest(held);
    look(14'500);
    EXPECT_EQ(text().find("gausscope_gpu_idle_ratio{"), std::string::npos);
    EXPECT_NEAR(samples_of(text()).at("gausscope_watched_seconds_total{" + labels + "}"), 1, 1e-6);
}

TEST_F(ServedMetrics, AProcessIsWatchedFromItsFirstRecordOn) {
    look(10'000);
    store.ingest(process.batch(10'500));  // it is there, and has recorded nothing
    for (const int now : {11'000, 12'000, 13'000}) look(now);
    second_of_iterations(store, process, 12'600);
    for (const int now : {14'000, 15'000}) look(now);  // up to 14'000
    const auto s = samples_of(text());
    EXPECT_NEAR(s.at("gausscope_watched_seconds_total{" + labels + "}"), 1.4, 1e-6);
    EXPECT_NEAR(s.at("gausscope_gpu_busy_seconds_total{" + labels + "}"), 0.5, 1e-6);
}

TEST_F(ServedMetrics, AProcessWithoutAGpuHasNoGpuFigures) {
    for (std::int64_t second = 10; second < 14; ++second) {
        TraceBatch batch = process.batch((second + 1) * 1000);
        for (int i = 0; i < 10; ++i) process.iterate(batch, second * 1000 + 100 * i, 100);
        batch.gpu_work.clear();
        store.ingest(batch);
        look((second + 1) * 1000);
    }
    const std::string page = text();
    EXPECT_EQ(page.find("gausscope_gpu_idle_ratio{"), std::string::npos);
    EXPECT_EQ(page.find("gausscope_kernels_total{"), std::string::npos);
    EXPECT_NE(page.find("gausscope_iteration_seconds_count{"), std::string::npos);
}

TEST_F(ServedMetrics, SeriesOfADeadProcessEnd) {
    second_of_iterations(store, process, 10'000);
    const auto at_minute = [&](int minute) {
        look(12'000 + minute * 60'000);
        return text();
    };
    EXPECT_NE(at_minute(0).find("gausscope_records_total{"), std::string::npos);
    EXPECT_NE(at_minute(4).find("gausscope_records_total{"), std::string::npos);
    for (const int minute : {6, 7, 8, 13})  // and do not come back
        EXPECT_EQ(at_minute(minute).find("gausscope_records_total{"), std::string::npos);
}

TEST_F(ServedMetrics, WhoLivesHasSeriesHoweverManyHaveDied) {
    for (std::uint32_t n = 1; n <= 300; ++n) {
        RecordedProcess dead{.pid = 1000 + n, .source = n};
        second_of_iterations(store, dead, 10'000);
    }
    look(11'000);
    look(12'000);
    EXPECT_EQ(samples_of(text()).at("gausscope_refused_processes_total"), 44);
    std::vector<RecordedProcess> live(3);
    for (std::int64_t second = 30; second < 34; ++second) {
        for (std::uint32_t i = 0; i < live.size(); ++i) {
            live[i].pid = 5000 + i;
            live[i].source = 5000 + i;
            second_of_iterations(store, live[i], second * 1000);
        }
        look((second + 1) * 1000);
    }
    const auto samples = samples_of(text());
    int series = 0, of_live = 0;
    for (const auto& [name, value] : samples) {
        series += name.starts_with("gausscope_records_total{") ? 1 : 0;
        of_live += name.find("pid=\"500") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(of_live, 3);
    EXPECT_EQ(series, 256);  // the dead keep the rest
    // Living processes continue series of ended ones.
    EXPECT_EQ(samples.at("gausscope_iteration_seconds_count{" + labels + "}"), 30);
}

TEST_F(ServedMetrics, AJobThatBeginsAgainGoesOnWithItsSeries) {
    RecordedProcess first, second;
    second.source = 8;
    second.pid = 4243;
    const auto at = [&](std::int64_t s, std::initializer_list<RecordedProcess*> living) {
        for (RecordedProcess* each : living) second_of_iterations(store, *each, s * 1000);
        look((s + 1) * 1000);
        return samples_of(text());
    };
    at(10, {&first});
    auto s = at(11, {&first, &second});  // both at once: one of them is a copy
    EXPECT_EQ(s.count("gausscope_records_total{" + labels + "}"), 1u);
    EXPECT_EQ(s.count("gausscope_records_total{" + labels + R"(,copy="2"})"), 1u);
    EXPECT_EQ(s.at("gausscope_process_info{" + labels + R"(,copy="2",pid="4243"})"), 1);
    RecordedProcess third;  // when both have gone
    third.source = 9;
    third.pid = 4244;
    for (const std::int64_t t : {30, 31, 32}) s = at(t, {&third});
    EXPECT_EQ(s.at("gausscope_process_info{" + labels + R"(,pid="4244"})"), 1);
    EXPECT_EQ(s.count("gausscope_process_info{" + labels + R"(,pid="4242"})"), 0u);
}

}  // namespace
}  // namespace gs::serve
