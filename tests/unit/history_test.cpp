// The history of jobs: what goes in comes out, from several writers at once; changes are found
// where they were planted, and hardly ever where there are none.
#include "profiler/history/history.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "profiler/history/report.h"
#include "profiler/insights/insight.h"
#include "profiler/serve/history_writer.h"
#include "tests/support/temporary_folder.h"

namespace gs::history {
namespace {

class HistoryFile : public testing::Test {
  protected:
    const test::TemporaryFolder folder_;
    const fs::path path_ = folder_ / "jobs?#%.db";  // what a URI would read otherwise
    const Subject garden_{"serve", "garden", "python train.py", "node1"};

    History open() {
        auto opened = History::open(path_);
        EXPECT_TRUE(opened) << opened.error().text();
        return std::move(*opened);
    }
    std::vector<Series> read(const Query& query = {}) {
        const auto file = History::open_to_read(path_);
        EXPECT_TRUE(file) << file.error().text();
        if (!file) return {};
        auto series = file->read(query);
        EXPECT_TRUE(series) << series.error().text();
        return series.value_or(std::vector<Series>());
    }
};

History::Entry entry(const char* name, std::int64_t time_s, double median, std::uint64_t count = 10,
                     const char* commit = "abc") {
    return {{name, "ms"}, {time_s, commit, {count, median, median, median, median, median}}};
}

TEST_F(HistoryFile, WhatGoesInComesOut) {
    History history = open();
    std::vector<double> values{5, 1, 4, 2, 3};
    const Quantiles q = quantiles_of(values);
    EXPECT_DOUBLE_EQ(q.p50, 3);
    EXPECT_DOUBLE_EQ(q.p25, 2);
    const History::Entry first{{"iteration", "ms"}, {60, "abc", q}};
    ASSERT_TRUE(history.add(garden_, std::vector{first, entry("GPU blend", 60, 2)}));
    ASSERT_TRUE(history.add(garden_, std::vector{entry("iteration", 120, 4)}));
    History::Entry half = entry("iteration", 180, 5);  // as bench writes it
    half.point.of.p25 = std::numeric_limits<double>::quiet_NaN();
    ASSERT_TRUE(history.add({"bench", "garden", "", "node1"}, std::vector{half}));
    const std::vector<Series> all = read();
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].subject.source, "bench");
    EXPECT_TRUE(std::isnan(all[0].points[0].of.p25));
    EXPECT_EQ(all[1].subject, garden_);
    EXPECT_EQ(all[1].metric.name, "iteration");
    ASSERT_EQ(all[1].points.size(), 2u);
    EXPECT_EQ(all[1].points[0].commit, "abc");
    EXPECT_EQ(all[1].points[0].of.count, 5u);
    EXPECT_DOUBLE_EQ(all[1].points[0].of.p95, q.p95);
    EXPECT_EQ(read({.since_s = 100, .job = "garden", .metric = "iteration"}).size(), 2u);
    EXPECT_EQ(read({.metric = "iteration", .source = "serve"}).size(), 1u);
    EXPECT_TRUE(read({.job = "bicycle"}).empty());
}

// Eight ranks of one job, or two daemons, write the same minute.
TEST_F(HistoryFile, TheSameMinuteIsMerged) {
    History one = open(), other = open();
    ASSERT_TRUE(one.add(garden_, std::vector{entry("iteration", 60, 10, 30)}));
    ASSERT_TRUE(other.add(garden_, std::vector{entry("iteration", 60, 20, 10)}));
    ASSERT_TRUE(other.add(garden_, std::vector{entry("iteration", 60, 99, 1, "def")}));
    const std::vector<Series> all = read();
    ASSERT_EQ(all.size(), 1u);
    ASSERT_EQ(all[0].points.size(), 2u);  // two commits are two points
    EXPECT_EQ(all[0].points[0].of.count, 40u);
    EXPECT_DOUBLE_EQ(all[0].points[0].of.p50, 12.5);
}

TEST_F(HistoryFile, OldMinutesBecomeHours) {
    constexpr std::int64_t kDay = 86400;
    History history = open();
    std::vector<History::Entry> entries;
    for (std::int64_t minute = 0; minute < 120; ++minute)
        entries.push_back(entry("iteration", 60 * minute, minute < 60 ? 10 : 20));
    entries.push_back(entry("iteration", 30 * kDay, 30));
    ASSERT_TRUE(history.add(garden_, entries));
    ASSERT_TRUE(history.add({"bench", "garden", "", ""}, std::vector{entry("blend", 90, 1)}));
    for (int again = 0; again < 2; ++again) {
        ASSERT_TRUE(history.thin(30 * kDay));
        const std::vector<Series> all = read();
        ASSERT_EQ(all.size(), 2u);
        EXPECT_EQ(all[0].points[0].time_s, 90);
        ASSERT_EQ(all[1].points.size(), 3u);
        EXPECT_EQ(all[1].points[1].time_s, 3600);
        EXPECT_EQ(all[1].points[1].of.count, 600u);
        EXPECT_DOUBLE_EQ(all[1].points[1].of.p50, 20);
    }
}

TEST_F(HistoryFile, WhatIsNoneIsRefused) {
    EXPECT_EQ(History::open_to_read(path_).error().kind, ErrorKind::not_found);
    std::ofstream(path_) << "not a database, and longer than a header would be ............\n"
                         << std::string(4096, 'x');
    EXPECT_EQ(History::open_to_read(path_).error().kind, ErrorKind::malformed);
    EXPECT_EQ(History::open(path_).error().kind, ErrorKind::malformed);
    EXPECT_EQ(History::open(folder_ / "none" / "x.db").error().kind, ErrorKind::unwritable);
}

/// `count` points around 10 ms; the errors of neighbours resemble each other by `memory`.
std::vector<Point> noise(std::uint64_t seed, std::size_t count, double memory = 0,
                         double level = 1) {
    std::vector<Point> out(count);
    double error = 0;
    for (std::size_t i = 0; i < count; ++i) {
        double sum = 0;  // nearly normal
        for (std::uint64_t k = 0; k < 4; ++k)
            sum += static_cast<double>(random_uniform(seed, k, i)) - 0.5;
        error = memory * error + std::sqrt(1 - memory * memory) * sum;
        out[i].time_s = static_cast<std::int64_t>(60 * i);
        out[i].of.p50 = 10 + level * error;
    }
    return out;
}

TEST(ChangePoints, AreFoundWhereTheyWerePlanted) {
    int found = 0, far = 0;
    constexpr int kSeries = 50;
    for (std::uint64_t seed = 0; seed < kSeries; ++seed) {
        std::vector<Point> points = noise(seed, 60, 0, 0.5);
        for (std::size_t i = 25; i < 45; ++i) points[i].of.p50 *= 1.1;  // and back again
        const std::vector<Change> changes = change_points(points);
        found += changes.size() == 2;
        for (const Change& change : changes) {
            const auto at = static_cast<int>(change.first);
            far += std::min(std::abs(at - 25), std::abs(at - 45)) > 2;
        }
        if (changes.size() != 2) continue;
        EXPECT_NEAR(changes[0].relative, 0.1, 0.06);
        EXPECT_LT(changes[0].shift.low, changes[0].shift.high);
        EXPECT_LT(changes[1].relative, 0);
    }
    EXPECT_GE(found, kSeries * 9 / 10);
    EXPECT_LE(far, 2 * kSeries / 10);
}

// 200 series in which nothing changes, short and long, also such whose minutes resemble each other.
TEST(ChangePoints, AreRarelySeenWhereThereAreNone) {
    for (const auto& [count, memory] :
         {std::pair<std::size_t, double>{12, 0}, {40, 0}, {400, 0}, {3000, 0.7}}) {
        int alarms = 0;
        for (std::uint64_t seed = 0; seed < 200; ++seed)
            alarms += !change_points(noise(1000 + seed, count, memory)).empty();
        EXPECT_LE(alarms, 10) << count << " points";  // 5 %
    }
}

TEST(ChangePoints, AreFoundToThePointInLongSeries) {
    std::vector<Point> points = noise(5, 1000, 0, 0.3);
    for (std::size_t i = 613; i < points.size(); ++i) points[i].of.p50 *= 1.3;
    const std::vector<Change> changes = change_points(points);
    ASSERT_EQ(changes.size(), 1u);
    EXPECT_EQ(changes[0].first, 613u);
}

TEST(ChangePoints, ASmallShiftIsNone) {
    std::vector<Point> points(40);
    for (std::size_t i = 0; i < points.size(); ++i) points[i].of.p50 = i < 20 ? 10.0 : 10.1;
    EXPECT_TRUE(change_points(points).empty());  // beyond doubt, but 1 %
    points[3].of.p50 = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 20; i < points.size(); ++i) points[i].of.p50 = 11;
    const std::vector<Change> changes = change_points(points);
    ASSERT_EQ(changes.size(), 1u);
    EXPECT_EQ(changes[0].first, 20u);
    EXPECT_TRUE(change_points({}).empty());
    EXPECT_TRUE(change_points(std::vector<Point>(3)).empty());
}

TEST(HistoryReport, SaysWhatChangedAndAtWhichCommit) {
    Series slower{{"serve", "<garden>", "", "node"}, {"iteration", "ms"}, noise(3, 40)};
    for (std::size_t i = 0; i < slower.points.size(); ++i) {
        slower.points[i].commit = i < 20 ? std::string(40, 'a') : std::string(40, 'b');
        if (i >= 20) slower.points[i].of.p50 *= 1.3;
    }
    Series better{{"train", "fox", "", "node"}, {"PSNR", "dB"}, std::vector<Point>(20)};
    for (std::size_t i = 0; i < 20; ++i) better.points[i].of.p50 = i < 10 ? 28.0 : 28.3;
    const std::vector<Judged> judged = judge({slower, better});
    const nlohmann::ordered_json json = history_json(judged);
    const auto& change = json["series"][0]["changes"].at(0);
    EXPECT_EQ(change["verdict"], "slower");
    EXPECT_EQ(change["time"], "1970-01-01 00:20");
    EXPECT_EQ(change["commit"], std::string(40, 'b'));
    EXPECT_EQ(change["commit_before"], std::string(40, 'a'));
    EXPECT_EQ(json["series"][1]["changes"].at(0)["verdict"], "higher");
    const std::string page = history_html(judged);
    EXPECT_NE(page.find("&lt;garden&gt;"), std::string::npos);
    EXPECT_EQ(page.find("<garden>"), std::string::npos);
    EXPECT_NE(page.find("commit aaaaaaaaaa to bbbbbbbbbb"), std::string::npos);
    EXPECT_EQ(page.find("nan"), std::string::npos);
    // That a program was built with changes is never cut off.
    for (std::size_t i = 20; i < slower.points.size(); ++i)
        slower.points[i].commit = "bbbbbbbbbbbb+changes.01234567";
    EXPECT_NE(history_html(judge({slower})).find("to bbbbbbbbbb+changes.01234567"),
              std::string::npos);
    EXPECT_NE(history_html({}).find("Nothing was recorded"), std::string::npos);
}

// ---- what serve keeps, and what R22 makes of it

/// A store with a process of `count` iterations of `ms` each.
TraceStore store_of(double ms, int count) {
    TraceStore store;
    TraceBatch batch;
    batch.source = 1, batch.pid = batch.visible_pid = 7, batch.process_name = "trainer";
    batch.labels.host = "node1", batch.labels.job_name = "garden", batch.labels.commit = "abc";
    TrackInfo& main = batch.tracks.emplace_back();
    main.pid = main.tid = 7;
    batch.names.push_back({.name = 1, .text = name_of(Stage::iteration)});
    const auto length = static_cast<std::int64_t>(ms * 1e6);
    for (int i = 0; i < count; ++i) {
        SpanEvent span;
        span.begin_ns = 1'000'000'000 + i * length, span.end_ns = span.begin_ns + length - 1000;
        span.name = 1, span.payload = static_cast<std::uint64_t>(i);
        span.has_payload = true;
        batch.spans.push_back(span);
    }
    batch.read_ns = 1'000'000'000 + count * length;
    store.ingest(batch);
    return store;
}

TEST_F(HistoryFile, ServeKeepsAMinuteOfEveryJob) {
    const TraceStore store = store_of(20, 100);
    serve::Watch watch;
    serve::HistoryWriter writer(open());
    watch.look(store, 1'500'000'000);
    const std::vector<serve::News> news = watch.look(store, 5'000'000'000);
    ASSERT_EQ(news.size(), 1u);
    ASSERT_GT(news[0].iterations.items.size(), 50u);
    writer.take(store, news, 1'000'000'030);
    EXPECT_TRUE(read().empty());
    writer.take(store, {}, 1'000'000'090);
    const std::vector<Series> all = read({.metric = "iteration"});
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].subject.job, "garden");
    EXPECT_EQ(all[0].points.at(0).time_s, 1'000'000'020 / 60 * 60);
    EXPECT_EQ(all[0].points.at(0).commit, "abc");
    EXPECT_EQ(all[0].points.at(0).of.count, news[0].iterations.items.size());
    EXPECT_NEAR(all[0].points.at(0).of.p50, 20, 0.01);
}

TEST_F(HistoryFile, RegressionIsSeenWithoutABaseline) {
    const TraceStore now = store_of(25, 60);
    History history = open();
    const Subject subject = subject_of(now.processes()[0]);
    const auto r22 = [&] {
        InsightOptions options;
        options.past = [&](const TraceProcess& process) {
            return past_medians(history, subject_of(process), 10'000);
        };
        for (const Insight& found : find_insights(now, options).findings)
            if (found.rule == "R22") return found.title;
        return std::string();
    };
    EXPECT_EQ(r22(), "");  // nothing is known yet
    for (std::int64_t minute = 0; minute < 20; ++minute)
        ASSERT_TRUE(history.add(subject, std::vector{entry("iteration", 60 * minute, 20)}));
    EXPECT_EQ(r22(), "Iterations take 25.0 % longer than before");
    // What another machine took is no measure where this one's past is known.
    Subject other = subject;
    other.host = "zzz";
    for (std::int64_t minute = 0; minute < 300; ++minute)
        ASSERT_TRUE(history.add(other, std::vector{entry("iteration", 60 * minute, 90)}));
    // What came after the trace is no past of it.
    ASSERT_TRUE(history.add(subject, std::vector{entry("iteration", 20'000, 500)}));
    EXPECT_EQ(r22(), "Iterations take 25.0 % longer than before");
}

}  // namespace
}  // namespace gs::history
