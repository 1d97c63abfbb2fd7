// What `gausscope serve` tells Prometheus: the format, and the figures against ones worked out by
// hand.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "profiler/serve/metrics.h"
#include "serve_trace.h"

namespace gs::serve {
namespace {

using test::kMs;
using test::RecordedProcess;

/// "name{labels}" -> value, of a whole exposition.
std::map<std::string, double> samples_of(const std::string& text) {
    std::map<std::string, double> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("#")) continue;
        const auto space = line.rfind(' ');
        EXPECT_TRUE(out.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second)
            << line;
    }
    return out;
}

TEST(Exposition, HistogramBucketsAddUp) {
    TimeHistogram times;
    times.add(1e-3);  // on a bound: in that bound's bucket
    times.add(0.011);
    times.add(100);
    Exposition out;
    out.family("t_seconds", Exposition::Type::histogram, "Times.", "seconds");
    out.value({{"a", "x"}}, times);
    const std::string text = out.finish();
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

TEST(Exposition, EscapesLabelsAndLeavesOutWhatIsNotKnown) {
    Exposition out;
    out.family("g", Exposition::Type::gauge, "G.");
    out.value({{"k", "a\"b\\c\nd"}}, 1);
    out.value({{"k", "unknown"}}, std::nan(""));
    EXPECT_EQ(out.finish(), "# TYPE g gauge\n# HELP g G.\ng{k=\"a\\\"b\\\\c\\nd\"} 1\n# EOF\n");
}

/// A second of ten iterations of 100 ms from `begin`, taken in as a daemon would.
void second_of_iterations(TraceStore& store, RecordedProcess& process, std::int64_t begin_ms) {
    TraceBatch batch = process.batch(begin_ms + 1000);
    for (int i = 0; i < 10; ++i) process.iterate(batch, begin_ms + 100 * i, 100);
    store.ingest(batch);
}

TEST(Metrics, CountsEveryIterationOnceAndItsStages) {
    TraceStore store;
    Watch watch;
    Metrics metrics;
    RecordedProcess process;
    // Whole seconds pass; the last one is too young to be looked at.
    for (std::int64_t second = 10; second < 16; ++second) {
        second_of_iterations(store, process, second * 1000);
        const std::int64_t now = (second + 1) * 1000 * kMs;
        metrics.update(store, watch.look(store, now), now);
    }
    const auto s = samples_of(metrics.text({}));
    const std::string labels = R"(pid="4242",process="train.py",rank="3",job="job\"1\\")";
    // The first look only begins the counting, at 10 s; the last one counts up to 15 s.
    EXPECT_EQ(s.at("gausscope_iteration_seconds_count{" + labels + "}"), 50);
    EXPECT_NEAR(s.at("gausscope_iteration_seconds_sum{" + labels + "}"), 5.0, 1e-9);
    EXPECT_EQ(s.at("gausscope_stage_seconds_count{" + labels + R"(,stage="blend",side="gpu"})"),
              50);
    EXPECT_NEAR(s.at("gausscope_stage_seconds_sum{" + labels + R"(,stage="blend",side="gpu"})"),
                2.5, 1e-6);
    EXPECT_NEAR(s.at("gausscope_stage_seconds_sum{" + labels + R"(,stage="load",side="cpu"})"),
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
    TraceStore store;
    Watch watch;
    Metrics metrics;
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
        store.ingest(batch);
        const std::int64_t now = (second + 1) * 1000 * kMs;
        metrics.update(store, watch.look(store, now), now);
    }
    return samples_of(metrics.text({}));
}

TEST(Metrics, WhatTheBudgetLeftOutIsNotIdle) {
    RecordedProcess process;
    const auto s = paused_most_of_the_time(process, true, 10);
    const std::string labels = R"(pid="4242",process="train.py",rank="3",job="job\"1\\")";
    EXPECT_NEAR(s.at("gausscope_watched_seconds_total{" + labels + "}"), 9 * 0.2, 1e-6);
    EXPECT_NEAR(s.at("gausscope_gpu_busy_seconds_total{" + labels + "}"), 9 * 0.2, 1e-6);
    EXPECT_NEAR(s.at("gausscope_gpu_idle_ratio{" + labels + "}"), 0, 1e-6);
    EXPECT_EQ(s.at("gausscope_iteration_seconds_count{" + labels + "}"), 90);
    EXPECT_NEAR(s.at("gausscope_iteration_seconds_sum{" + labels + "}"), 1.8, 1e-6);
}

TEST(Metrics, IterationsFoundFromKernelsEndAtAPause) {
    RecordedProcess process;
    const auto s = paused_most_of_the_time(process, false, 10);
    const std::string labels = R"(pid="4242",process="train.py",rank="3",job="job\"1\\")";
    // Ten begins a second, nine of them with an end that was seen.
    const double count = s.at("gausscope_iteration_seconds_count{" + labels + "}");
    EXPECT_EQ(count, 81);
    EXPECT_NEAR(s.at("gausscope_iteration_seconds_sum{" + labels + "}"), 0.020 * count, 1e-6);
}

TEST(Metrics, ASecondThatWasPausedThroughoutHasNoIdleRatio) {
    TraceStore store;
    Watch watch;
    Metrics metrics;
    RecordedProcess process;
    second_of_iterations(store, process, 10'000);
    const auto look = [&](std::int64_t now) {
        metrics.update(store, watch.look(store, now * kMs), now * kMs);
    };
    look(11'000);
    look(12'000);
    EXPECT_NE(metrics.text({}).find("gausscope_gpu_idle_ratio{"), std::string::npos);
    TraceBatch paused = process.batch(13'000);
    paused.pauses = {{11'000 * kMs, 13'000 * kMs, true, true}};
    store.ingest(paused);
    look(13'000);
    EXPECT_EQ(metrics.text({}).find("gausscope_gpu_idle_ratio{"), std::string::npos);
    // Nor has one in which another tool had CUPTI.
    TraceBatch held = process.batch(14'000);
    held.service->cupti = abi::CuptiState::held;
    store.ingest(held);
    look(14'500);
    const std::string text = metrics.text({});
    EXPECT_EQ(text.find("gausscope_gpu_idle_ratio{"), std::string::npos);
    EXPECT_NEAR(samples_of(text).at(R"(gausscope_watched_seconds_total{pid="4242",process=)"
                                    R"("train.py",rank="3",job="job\"1\\"})"),
                1, 1e-6);
}

TEST(Metrics, AProcessWithoutAGpuHasNoGpuFigures) {
    TraceStore store;
    Watch watch;
    Metrics metrics;
    RecordedProcess process;
    for (std::int64_t second = 10; second < 14; ++second) {
        TraceBatch batch = process.batch((second + 1) * 1000);
        for (int i = 0; i < 10; ++i) process.iterate(batch, second * 1000 + 100 * i, 100);
        batch.gpu_work.clear();
        store.ingest(batch);
        metrics.update(store, watch.look(store, (second + 1) * 1000 * kMs),
                       (second + 1) * 1000 * kMs);
    }
    const std::string text = metrics.text({});
    EXPECT_EQ(text.find("gausscope_gpu_idle_ratio{"), std::string::npos);
    EXPECT_EQ(text.find("gausscope_kernels_total{"), std::string::npos);
    EXPECT_NE(text.find("gausscope_iteration_seconds_count{"), std::string::npos);
}

TEST(Metrics, SeriesOfADeadProcessEnd) {
    TraceStore store;
    Watch watch;
    Metrics metrics;
    RecordedProcess process;
    second_of_iterations(store, process, 10'000);
    const auto at_minute = [&](int minute) {
        const std::int64_t now = (12'000 + minute * 60'000) * kMs;
        metrics.update(store, watch.look(store, now), now);
        return metrics.text({});
    };
    EXPECT_NE(at_minute(0).find("gausscope_records_total{"), std::string::npos);
    EXPECT_NE(at_minute(4).find("gausscope_records_total{"), std::string::npos);
    for (const int minute : {6, 7, 8, 13})  // and do not come back
        EXPECT_EQ(at_minute(minute).find("gausscope_records_total{"), std::string::npos);
}

TEST(Metrics, WhoLivesHasSeriesHoweverManyHaveDied) {
    TraceStore store;
    Watch watch;
    Metrics metrics;
    const auto look = [&](std::int64_t second) {
        metrics.update(store, watch.look(store, second * 1000 * kMs), second * 1000 * kMs);
    };
    for (std::uint32_t n = 1; n <= 300; ++n) {
        RecordedProcess process;
        process.pid = 1000 + n;
        process.source = n;
        second_of_iterations(store, process, 10'000);
    }
    look(11);
    look(12);
    EXPECT_EQ(samples_of(metrics.text({})).at("gausscope_refused_processes_total"), 44);
    std::vector<RecordedProcess> live(3);
    for (std::int64_t second = 30; second < 34; ++second) {
        for (std::uint32_t i = 0; i < live.size(); ++i) {
            live[i].pid = 5000 + i;
            live[i].source = 5000 + i;
            second_of_iterations(store, live[i], second * 1000);
        }
        look(second + 1);
    }
    const auto samples = samples_of(metrics.text({}));
    int series = 0, of_live = 0;
    for (const auto& [name, value] : samples) {
        if (!name.starts_with("gausscope_records_total{")) continue;
        ++series;
        of_live += name.find("pid=\"500") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(of_live, 3);
    EXPECT_EQ(series, 256);  // the dead keep the rest
    EXPECT_EQ(samples.at(R"(gausscope_iteration_seconds_count{pid="5001",process="train.py",)"
                         R"(rank="3",job="job\"1\\"})"),
              30);
}

}  // namespace
}  // namespace gs::serve
