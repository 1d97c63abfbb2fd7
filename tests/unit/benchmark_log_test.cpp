// Logs of time to quality: what the trainer writes keeps the rules, and each rule that is broken is
// seen.
#include "app/lab/benchmark_log.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/lab/capture_hashes.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"

namespace gs::lab {
namespace {

using TestJson = nlohmann::ordered_json;

Suite benchmark_suite() {
    return parse_suite("b.suite",
                       "[scene toys]\nviews = 17\nwidth = 64\nheight = 48\ntarget_db = 20\n"
                       "photos_hash = 0123456789abcdef\npoints_hash = 1123456789abcdef\n"
                       "cameras_hash = 2123456789abcdef\n")
        .value();
}
TestJson about(std::uint64_t seed) {
    return {{"commit", "0123456789ab"},
            {"backend", "CPU"},
            {"processor", "a CPU"},
            {"host", "node"},
            {"threads", 2},
            {"photos_hash", "0123456789abcdef"},
            {"points_hash", "1123456789abcdef"},
            {"cameras_hash", "2123456789abcdef"},
            {"masks_hash", "none"},
            {"masked", 0},
            {"photos", 17},
            {"width", 64},
            {"height", 48},
            {"trained_on", 14},
            {"held_out", {"view_000.png", "view_008.png", "view_016.png"}},
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
    /// As somebody changes one who also renews the seal.
    static void seal(std::vector<TestJson>& lines) {
        std::string before;
        for (TestJson& line : lines) {
            if (line.is_object() && line.value("event", "") == "end" && line.contains("seal"))
                line["seal"] = fingerprint_of(before);
            before += line.dump() + "\n";
        }
    }
    const test::TemporaryFolder folder_;
};

TEST_F(BenchmarkLogs, WhatIsWrittenKeepsTheRules) {
    const auto result = required(check(lines()));
    EXPECT_EQ(result.scene, "toys");
    EXPECT_EQ(result.status, "reached");
    EXPECT_EQ(result.steps, 20u);
    EXPECT_EQ(result.psnr, 20.5);
    EXPECT_GT(result.seconds, 0);
}

TEST_F(BenchmarkLogs, EachBrokenRuleIsSeen) {
    using Lines = std::vector<TestJson>;
    const std::pair<const char*, std::function<void(Lines&)>> kBroken[] = {
        {"first event", [](Lines& l) { l.erase(l.begin()); }},
        {"duplicate event \"begin\"", [](Lines& l) { l[1] = l[0]; }},
        {"loaded", [](Lines& l) { l.erase(l.begin() + 1); }},
        {"\"end\" is missing", [](Lines& l) { l.pop_back(); }},
        {"follows", [](Lines& l) { l.push_back(l.back()); }},
        {"begin at 0",
         [](Lines& l) {
             l[0]["time_ms"] = 5;
             l[1]["time_ms"] = 6;
         }},
        {"decreases", [](Lines& l) { l[3]["time_ms"] = -1; }},
        {"version", [](Lines& l) { l[0]["version"] = 1; }},
        {"commit", [](Lines& l) { l[0].erase("commit"); }},
        {"seed", [](Lines& l) { l[0].erase("seed"); }},
        {"settings", [](Lines& l) { l[0]["settings"] = 3; }},
        {"the target of toys is 20", [](Lines& l) { l[0]["target_psnr"] = 15; }},
        {"no scene", [](Lines& l) { l[0]["photos"] = 18; }},
        {"no scene", [](Lines& l) { l[0]["width"] = 32; }},
        {"host is missing", [](Lines& l) { l[0].erase("host"); }},
        {"threads is missing", [](Lines& l) { l[0].erase("threads"); }},
        {"not every eighth", [](Lines& l) { l[0]["held_out"] = {"view_000.png"}; }},
        {"not every eighth",
         [](Lines& l) {
             l[0]["held_out"] = {"view_000.png", "view_001.png", "view_002.png"};
         }},
        {"not every eighth",
         [](Lines& l) {
             l[0]["held_out"] = {"view_000.png", "view_000.png", "view_000.png"};
         }},
        {"photos differ from those of toys",
         [](Lines& l) { l[0]["photos_hash"] = "ffffffffffffffff"; }},
        {"photos_hash is missing", [](Lines& l) { l[0].erase("photos_hash"); }},
        {"points differ from those of toys",
         [](Lines& l) { l[0]["points_hash"] = "ffffffffffffffff"; }},
        {"cameras differ from those of toys",
         [](Lines& l) { l[0]["cameras_hash"] = "ffffffffffffffff"; }},
        {"3 photos are masked",
         [](Lines& l) {
             l[0]["masks_hash"] = "ffffffffffffffff";
             l[0]["masked"] = 3;
         }},
        {"trained on", [](Lines& l) { l[0]["trained_on"] = 17; }},
        {"all held-out photos", [](Lines& l) { l[2]["photos"] = 1; }},
        {"step", [](Lines& l) { l[3]["step"] = 10; }},
        {"score is missing", [](Lines& l) { l[3]["psnr"] = nullptr; }},
        {"continued", [](Lines& l) { l[2]["psnr"] = 21; }},
        {"says reached", [](Lines& l) { l[3]["psnr"] = 19; }},
        {"does not say so", [](Lines& l) { l[4]["status"] = "missed"; }},
        {"unknown status", [](Lines& l) { l[4]["status"] = "fine"; }},
        {"unknown event", [](Lines& l) { l[1]["event"] = "lunch"; }},
        {"not a JSON object", [](Lines& l) { l[1] = 3; }},
    };
    for (const auto& [what, spoil] : kBroken) {
        Lines spoilt = lines();
        spoil(spoilt);
        seal(spoilt);
        const auto result = check(spoilt);
        ASSERT_FALSE(result) << what;
        EXPECT_NE(result.error().text().find(what), std::string::npos)
            << what << ": " << result.error().text();
    }
    EXPECT_FALSE(check({}));
}

TEST_F(BenchmarkLogs, AChangedLineBreaksTheSeal) {
    for (std::size_t i = 0; i < 4; ++i) {
        auto spoilt = lines();
        spoilt[i]["seed"] = 7;
        const auto result = check(spoilt);
        ASSERT_FALSE(result) << i;
        EXPECT_NE(result.error().text().find("seal"), std::string::npos) << result.error().text();
    }
    auto without = lines();
    without.back().erase("seal");
    EXPECT_FALSE(check(without));
}

TEST_F(BenchmarkLogs, RandomPointsUseLessThanTheSuites) {
    auto random = lines();
    random[0]["points_hash"] = "random";
    seal(random);
    const auto result = required(check(random));
    EXPECT_FALSE(result.unchecked);
}

TEST(CaptureHashes, FollowPhotosMasksPointsAndCameras) {
    const auto photo = [](std::uint8_t value) {
        return Image8{4, 3, 3, std::vector<std::uint8_t>(36, value)};
    };
    Capture capture;
    for (const char* name : {"a.png", "b.png"}) {
        View view;
        view.name = name;
        view.camera.width = 4, view.camera.height = 3;
        view.camera.fx = view.camera.fy = 5;
        view.photo = photo(7);
        capture.views.push_back(std::move(view));
    }
    capture.points.push_back({{1, 2, 3}});
    const CaptureHashes plain = *hashes_of(capture);
    EXPECT_EQ(plain.masks, "none");
    const auto changed = [&](auto&& change) {
        Capture other = capture;
        change(other);
        const CaptureHashes hashes = *hashes_of(other);
        return std::vector<bool>{hashes.photos != plain.photos, hashes.masks != plain.masks,
                                 hashes.points != plain.points, hashes.cameras != plain.cameras};
    };
    using Bits = std::vector<bool>;
    EXPECT_EQ(changed([](Capture&) {}), (Bits{false, false, false, false}));
    EXPECT_EQ(changed([](Capture& c) { c.views[1].photo.bytes[35] = 8; }),
              (Bits{true, false, false, false}));
    EXPECT_EQ(changed([](Capture& c) { std::swap(c.views[0].photo, c.views[1].photo); }),
              (Bits{false, false, false, false}));
    EXPECT_EQ(changed([&](Capture& c) {
                  c.views[0].photo = Image8{3, 4, 3, c.views[0].photo.bytes};
              }),
              (Bits{true, false, false, false}));
    EXPECT_EQ(changed([](Capture& c) { c.views[0].name = "c.png"; }),
              (Bits{true, false, false, true}));
    EXPECT_EQ(changed([](Capture& c) {
                  c.views[0].mask = Image8{4, 3, 1, std::vector<std::uint8_t>(12, 255)};
              }),
              (Bits{false, true, false, false}));
    EXPECT_EQ(changed([](Capture& c) { c.points[0].rgb[1] = 3; }),
              (Bits{false, false, true, false}));
    EXPECT_EQ(changed([](Capture& c) { c.points[0].position.z = 4; }),
              (Bits{false, false, true, false}));
    EXPECT_EQ(changed([](Capture& c) { c.views[0].camera.translation.x += 1e-3; }),
              (Bits{false, false, false, true}));
    EXPECT_EQ(changed([](Capture& c) { c.views[0].camera.translation.x += 1e-12; }),
              (Bits{false, false, false, false}));
    capture.points_are_random = true;
    EXPECT_EQ(hashes_of(capture)->points, "random");
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
    EXPECT_FALSE(without([](BenchmarkResult& r) { r.host = "another"; }));
    EXPECT_FALSE(without([](BenchmarkResult& r) { r.processor = "another"; }));
    EXPECT_FALSE(without([](BenchmarkResult& r) { r.threads = 64; }));
    EXPECT_FALSE(without([](BenchmarkResult& r) { r.hashes[0].second = "another"; }));
    EXPECT_FALSE(without([](BenchmarkResult& r) { r.settings = "{}"; }));
    EXPECT_FALSE(without([](BenchmarkResult& r) { r.scene = "village"; }));
}

}  // namespace
}  // namespace gs::lab
