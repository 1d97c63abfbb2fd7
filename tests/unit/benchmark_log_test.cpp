// Logs of time to quality: what the trainer writes keeps the rules, and each rule that is broken is
// seen.
#include "app/lab/benchmark_log.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/temporary_folder.h"

namespace gs::lab {
namespace {

using TestJson = nlohmann::ordered_json;

Suite benchmark_suite() {
    return parse_suite("b.suite",
                       "[scene toys]\nviews = 17\nwidth = 64\nheight = 48\ntarget_db = 20\n")
        .value();
}
TestJson about(std::uint64_t seed) {
    return {{"commit", "0123456789ab"},
            {"backend", "CPU"},
            {"processor", "a CPU"},
            {"photos", 17},
            {"width", 64},
            {"height", 48},
            {"trained_on", 14},
            {"held_out", {"a", "b", "c"}},
            {"seed", seed},
            {"settings", {{"steps", 100}}}};
}

class BenchmarkLogs : public ::testing::Test {
  protected:
    /// The lines of a log that keeps the rules.
    std::vector<TestJson> lines(std::uint64_t seed = 1) {
        BenchmarkLog log(BenchmarkLog::Clock::now(), 20, about(seed));
        log.loaded(BenchmarkLog::Clock::now());
        EXPECT_FALSE(log.evaluated(10, 15, 0.5, 3));
        EXPECT_TRUE(log.evaluated(20, 20.5, 0.7, 3));
        log.end(log.reached() ? "reached" : "missed");
        EXPECT_TRUE(log.write(folder_ / "log"));
        std::vector<TestJson> out;
        std::istringstream text(*read_text_file(folder_ / "log"));
        for (std::string line; std::getline(text, line);) out.push_back(TestJson::parse(line));
        return out;
    }
    Result<BenchmarkResult> check(const std::vector<TestJson>& lines) {
        std::string text;
        for (const TestJson& line : lines) text += line.dump() + "\n";
        EXPECT_TRUE(write_text_file(folder_ / "log", text));
        return check_benchmark_log(folder_ / "log", benchmark_suite());
    }
    const test::TemporaryFolder folder_;
};

TEST_F(BenchmarkLogs, WhatIsWrittenKeepsTheRules) {
    const auto result = check(lines());
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(result->scene, "toys");
    EXPECT_EQ(result->status, "reached");
    EXPECT_EQ(result->steps, 20u);
    EXPECT_EQ(result->psnr, 20.5);
    EXPECT_GT(result->seconds, 0);
}

TEST_F(BenchmarkLogs, EachBrokenRuleIsSeen) {
    using Lines = std::vector<TestJson>;
    const std::pair<const char*, std::function<void(Lines&)>> kBroken[] = {
        {"first event", [](Lines& l) { l.erase(l.begin()); }},
        {"two events \"begin\"", [](Lines& l) { l[1] = l[0]; }},
        {"loaded", [](Lines& l) { l.erase(l.begin() + 1); }},
        {"\"end\" is missing", [](Lines& l) { l.pop_back(); }},
        {"follows", [](Lines& l) { l.push_back(l.back()); }},
        {"begin at 0",
         [](Lines& l) {
             l[0]["time_ms"] = 5;
             l[1]["time_ms"] = 6;
         }},
        {"goes back", [](Lines& l) { l[3]["time_ms"] = -1; }},
        {"version", [](Lines& l) { l[0]["version"] = 2; }},
        {"commit", [](Lines& l) { l[0].erase("commit"); }},
        {"seed", [](Lines& l) { l[0].erase("seed"); }},
        {"settings", [](Lines& l) { l[0]["settings"] = 3; }},
        {"the target of toys is 20", [](Lines& l) { l[0]["target_psnr"] = 15; }},
        {"no scene", [](Lines& l) { l[0]["photos"] = 18; }},
        {"no scene", [](Lines& l) { l[0]["width"] = 32; }},
        {"not every eighth", [](Lines& l) { l[0]["held_out"] = {"a"}; }},
        {"not every eighth",
         [](Lines& l) {
             l[0]["held_out"] = {"a", "a", "a"};
         }},
        {"trained on", [](Lines& l) { l[0]["trained_on"] = 17; }},
        {"all photos", [](Lines& l) { l[2]["photos"] = 1; }},
        {"step", [](Lines& l) { l[3]["step"] = 10; }},
        {"no score", [](Lines& l) { l[3]["psnr"] = nullptr; }},
        {"went on", [](Lines& l) { l[2]["psnr"] = 21; }},
        {"says reached", [](Lines& l) { l[3]["psnr"] = 19; }},
        {"does not say so", [](Lines& l) { l[4]["status"] = "missed"; }},
        {"no such status", [](Lines& l) { l[4]["status"] = "fine"; }},
        {"no event", [](Lines& l) { l[1]["event"] = "lunch"; }},
        {"no JSON object", [](Lines& l) { l[1] = 3; }},
    };
    for (const auto& [what, spoil] : kBroken) {
        Lines spoilt = lines();
        spoil(spoilt);
        const auto result = check(spoilt);
        ASSERT_FALSE(result) << what;
        EXPECT_NE(result.error().text().find(what), std::string::npos)
            << what << ": " << result.error().text();
    }
    EXPECT_FALSE(check({}));
}

TEST_F(BenchmarkLogs, AResultWantsThreeSeedsOfOneKind) {
    std::vector<BenchmarkResult> results;
    for (const std::uint64_t seed : {1, 2, 3}) {
        EXPECT_FALSE(benchmark_score(results)) << seed;
        results.push_back(*check(lines(seed)));
    }
    results[0].seconds = 3, results[1].seconds = 1, results[2].seconds = 2;
    EXPECT_EQ(*benchmark_score(results), 2);
    const auto without = [&](auto&& change) {
        auto spoilt = results;
        change(spoilt[1]);
        return benchmark_score(spoilt).has_value();
    };
    EXPECT_FALSE(without([](BenchmarkResult& r) { r.seed = 1; }));
    EXPECT_FALSE(without([](BenchmarkResult& r) { r.status = "missed"; }));
    EXPECT_FALSE(without([](BenchmarkResult& r) { r.commit = "another"; }));
    EXPECT_FALSE(without([](BenchmarkResult& r) { r.settings = "{}"; }));
    EXPECT_FALSE(without([](BenchmarkResult& r) { r.scene = "village"; }));
}

}  // namespace
}  // namespace gs::lab
