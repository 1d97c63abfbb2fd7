// The lab's statistics: Student's t against known values, intervals that cover, and comparisons of
// two equals that say nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "app/lab/compare_runs.h"
#include "app/lab/lab_report.h"
#include "base/rng.h"

namespace gs::lab {
namespace {

/// Normal deviates, by Box and Muller.
class Noise {
  public:
    explicit Noise(std::uint64_t seed) : seed_(seed) {}
    double uniform() {
        return (static_cast<double>(random_bits(seed_, 7, count_++) >> 11) + 0.5) * 0x1p-53;
    }
    double normal() {
        return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
    }
    /// Student's with three degrees: heavy tails.
    double heavy() {
        double square = 0;
        for (int i = 0; i < 3; ++i) square += std::pow(normal(), 2);
        return normal() / std::sqrt(square / 3);
    }

  private:
    std::uint64_t seed_, count_ = 0;
};

TEST(Interval, StudentsTAsInTables) {
    EXPECT_NEAR(t_beyond(0.05, 1), 12.7062, 1e-3);
    EXPECT_NEAR(t_beyond(0.05, 2), 4.30265, 1e-4);
    EXPECT_NEAR(t_beyond(0.05, 10), 2.22814, 1e-5);
    EXPECT_NEAR(t_beyond(0.01, 5), 4.03214, 1e-5);
    EXPECT_NEAR(t_beyond(0.05, 1e6), 1.95997, 1e-3);
    EXPECT_NEAR(two_sided_p(1, 1), 0.5, 1e-6);
    EXPECT_NEAR(two_sided_p(0, 3.7), 1, 1e-5);
    // Between whole degrees: monotonic.
    EXPECT_GT(t_beyond(0.05, 1.5), t_beyond(0.05, 1.6));
}

TEST(Interval, OfGroups) {
    const std::vector<std::vector<double>> one{{1, 2, 3}};
    const Interval i = interval_of(one);
    EXPECT_DOUBLE_EQ(i.mean, 2);
    EXPECT_NEAR(i.freedom, 2, 1e-12);
    EXPECT_NEAR(i.high - 2, 4.30265 / std::sqrt(3.0), 1e-4);
    // Of the same variance and size: degrees add up.
    EXPECT_NEAR(interval_of(std::vector<std::vector<double>>{{1, 2, 3}, {5, 6, 7}}).freedom, 4,
                1e-9);
    const std::vector<std::vector<double>> scenes{{0.1}, {0.2}, {0.4}};
    EXPECT_NEAR(interval_of(scenes).freedom, 2, 1e-12);
    EXPECT_FALSE(interval_of(std::vector<std::vector<double>>{{0.1}}).known());
    EXPECT_FALSE(interval_of({}).known());
    const Interval same = interval_of(std::vector<std::vector<double>>{{0, 0}, {0, 0, 0}});
    EXPECT_TRUE(same.known());
    EXPECT_EQ(same.p, 1);
    EXPECT_EQ(same.low, 0);
    const Interval mixed = interval_of(std::vector<std::vector<double>>{{1, 2, 3}, {2}});
    EXPECT_TRUE(mixed.known());
    EXPECT_LE(mixed.freedom, 2);
}

TEST(Interval, CoversAsItSays) {
    for (const int seeds : {2, 3, 5})
        for (const bool uneven : {false, true}) {
            Noise noise(static_cast<std::uint64_t>(seeds * 10 + uneven));
            int missed = 0;
            constexpr int kTrials = 1000;
            for (int trial = 0; trial < kTrials; ++trial) {
                std::vector<std::vector<double>> groups(3);
                for (std::size_t g = 0; g < groups.size(); ++g)
                    for (int s = 0; s < seeds; ++s)
                        groups[g].push_back((uneven ? std::pow(4.0, g) : 1.0) * noise.normal());
                const Interval i = interval_of(groups);
                missed += i.low > 0 || i.high < 0;
            }
            // 5 %, and three of its standard errors.
            EXPECT_LE(missed, 72) << seeds << " seeds, uneven " << uneven;
        }
}

TEST(Interval, Holm) {
    const double p[] = {0.01, 0.04, kUnknown, 0.03};
    const auto adjusted = holm(p);
    EXPECT_NEAR(adjusted[0], 0.03, 1e-12);
    EXPECT_NEAR(adjusted[1], 0.06, 1e-12);
    EXPECT_NEAR(adjusted[3], 0.06, 1e-12);
    EXPECT_TRUE(std::isnan(adjusted[2]));
}

/// How far runs of one seed lie from another's, and B from A.
struct NoiseShape {
    int scenes = 3, seeds = 3;
    bool heavy = false, uneven = false;
    double gain_db = 0, slower = 0;
};

LabRun made_run(const char* label, int scene, int seed, const NoiseShape& shape, Noise& noise) {
    const bool b = label[0] == 'b';
    const double size = shape.uneven ? std::pow(3.0, scene) : 1.0;
    const auto deviate = [&] { return size * (shape.heavy ? noise.heavy() : noise.normal()); };
    LabRun out{.id = 1 + scene * 100 + seed * 2 + b,
               .of = {label, "0123456789ab", "s", "scene" + std::to_string(scene), "default", "cpu",
                      static_cast<std::uint64_t>(seed), "h"}};
    out.ended_s = out.id;
    // What a seed does to all photos of a run alike, and to each.
    const double common = 0.1 * deviate();
    for (int photo = 0; photo < 6; ++photo)
        out.photos.push_back({"p" + std::to_string(photo),
                              25 + photo + common + 0.2 * deviate() + (b ? shape.gain_db : 0),
                              0.8 + 0.01 * (common + 0.1 * deviate()), 0.1});
    const auto value = [&](const char* metric, double level, double share) {
        out.values.push_back({metric, "", level * std::exp(share * deviate())});
    };
    value("Gaussians", 50000, 0.02);
    value("training", 30 * (b ? 1 + shape.slower : 1), 0.03);
    value("total", 35 * (b ? 1 + shape.slower : 1), 0.03);
    value("peak memory", 4e8, 0.02);
    value("isects", 1e9, 0.02);
    value("step", 12 * (b ? 1 + shape.slower : 1), 0.03);
    for (const char* stage : {"stage blend", "stage blend backward", "stage sort", "stage adam"})
        value(stage, 3, 0.05);
    return out;
}

RunComparison compared(const NoiseShape& shape, Noise& noise, std::span<const Gate> gates = {}) {
    std::vector<LabRun> runs;
    for (int scene = 0; scene < shape.scenes; ++scene)
        for (int seed = 0; seed < shape.seeds; ++seed)
            for (const char* label : {"a", "b"})
                runs.push_back(made_run(label, scene, seed, shape, noise));
    return compare_runs(*select_runs(runs, "a"), *select_runs(runs, "b"), gates).value();
}

bool says_anything(const RunComparison& c) {
    return std::any_of(c.metrics.begin(), c.metrics.end(), [](const MetricRow& row) {
        return row.verdict != "same" && row.verdict != "unclear" && row.verdict != "too few";
    });
}

TEST(CompareRuns, OfTwoEqualsAtMostOneInTwentySaysAnything) {
    for (const NoiseShape& shape :
         {NoiseShape{3, 3}, NoiseShape{3, 2}, NoiseShape{1, 3}, NoiseShape{5, 1},
          NoiseShape{3, 3, true}, NoiseShape{3, 3, false, true}, NoiseShape{2, 5, true, true}}) {
        Noise noise(static_cast<std::uint64_t>(shape.scenes * 100 + shape.seeds * 10 +
                                               shape.heavy * 2 + shape.uneven));
        int alarms = 0;
        for (int i = 0; i < 200; ++i) alarms += says_anything(compared(shape, noise));
        EXPECT_LE(alarms, 10) << shape.scenes << " scenes, " << shape.seeds << " seeds, heavy "
                              << shape.heavy << ", uneven " << shape.uneven;
    }
}

TEST(CompareRuns, SeesWhatIsThere) {
    Noise noise(5);
    int found = 0;
    for (int i = 0; i < 20; ++i) {
        const RunComparison c =
            compared({.scenes = 3, .seeds = 5, .gain_db = -0.6, .slower = 0.3}, noise);
        const auto verdict = [&](const char* metric) {
            for (const MetricRow& row : c.metrics)
                if (row.metric == metric) return row.verdict;
            return std::string("absent");
        };
        found += verdict("PSNR") == "worse" && verdict("training") == "worse";
        EXPECT_EQ(c.pairs, 15u);
        EXPECT_EQ(c.photos, 90u);
    }
    EXPECT_GE(found, 18);
}

TEST(CompareRuns, GatesFailOnlyWhereTheIntervalExcludesThem) {
    Noise noise(9);
    const Gate strict = *parse_gate("psnr_drop <= 0.05"), loose = *parse_gate("psnr_drop <= 5");
    const std::vector<Gate> gates{strict, loose, *parse_gate("training_rise <= 100")};
    const RunComparison worse = compared({.gain_db = -1.5}, noise, gates);
    EXPECT_EQ(worse.gates[0].state, GateState::fails);
    EXPECT_EQ(worse.gates[1].state, GateState::holds);
    EXPECT_EQ(worse.gates[2].state, GateState::holds);
    EXPECT_TRUE(worse.fails());
    const RunComparison lone = compared({.scenes = 1, .seeds = 1, .gain_db = -1.5}, noise, gates);
    EXPECT_EQ(lone.gates[0].state, GateState::undecided);
    EXPECT_FALSE(lone.fails());
    EXPECT_FALSE(says_anything(lone));
    const RunComparison equal = compared({}, noise, gates);
    EXPECT_NE(equal.gates[0].state, GateState::fails);
}

TEST(CompareRuns, RangesHaveAGate) {
    Noise noise(4);
    std::vector<LabRun> runs;
    for (int seed = 0; seed < 5; ++seed)
        for (const char* label : {"a", "b"}) {
            runs.push_back(made_run(label, 0, seed, {}, noise));
            const double range = label[0] == 'b' ? 0.3 : 0.2;
            runs.back().values.push_back({"range", "m", range + 0.002 * noise.normal()});
        }
    const std::vector<Gate> gates{*parse_gate("range_rise <= 5"), *parse_gate("range_rise <= 90")};
    const RunComparison c =
        compare_runs(*select_runs(runs, "a"), *select_runs(runs, "b"), gates).value();
    EXPECT_EQ(c.gates[0].state, GateState::fails);
    EXPECT_NEAR(c.gates[0].value, 50, 5);
    EXPECT_EQ(c.gates[1].state, GateState::holds);
    const auto row = std::ranges::find(c.metrics, "range", &MetricRow::metric);
    ASSERT_NE(row, c.metrics.end());
    EXPECT_EQ(row->verdict, "worse");
}

TEST(CompareRuns, TimesOfABusyMachineHaveNoVerdict) {
    Noise noise(3);
    std::vector<LabRun> runs;
    for (int seed = 0; seed < 5; ++seed)
        for (const char* label : {"a", "b"}) {
            runs.push_back(made_run(label, 0, seed, {.gain_db = 2, .slower = 1}, noise));
            runs.back().values.push_back({"threads waited", "share", 0.3});
        }
    const RunComparison c =
        compare_runs(*select_runs(runs, "a"), *select_runs(runs, "b"), {}).value();
    for (const MetricRow& row : c.metrics) {
        const std::string expected = row.metric == "training" ? "not quiet" : "better";
        if (row.metric == "training" || row.metric == "PSNR") {
            EXPECT_EQ(row.verdict, expected);
        }
    }
    EXPECT_EQ(comparison_json(c)["notes"].size(), 1u);
}

TEST(CompareRuns, SeveralMachinesAndOtherPhotosAreSeen) {
    Noise noise(6);
    const auto notes_of = [&](auto&& change) {
        std::vector<LabRun> runs;
        for (int scene = 0; scene < 2; ++scene)
            for (const char* label : {"a", "b"}) {
                LabRun& run = runs.emplace_back(made_run(label, scene, 1, {}, noise));
                run.host = "vm", run.processor = "Xeon";
                run.of.how = "h-0123";
                run.values.push_back({"threads", "", 2});
                if (run.of.label == "b") change(run, scene);
            }
        const auto c = compare_runs(*select_runs(runs, "a"), *select_runs(runs, "b"), {});
        return std::pair(c->pairs, fmt::format("{}", fmt::join(c->notes, "; ")));
    };
    using Found = std::pair<std::size_t, std::string>;
    EXPECT_EQ(notes_of([](LabRun&, int) {}), (Found{2, ""}));
    const auto machines = [&](auto&& change) {
        const auto [pairs, notes] = notes_of([&](LabRun& run, int) { change(run); });
        EXPECT_EQ(pairs, 2u);
        return notes.find("several machines") != notes.npos;
    };
    EXPECT_TRUE(machines([](LabRun& run) { run.host = "other"; }));
    EXPECT_TRUE(machines([](LabRun& run) { run.processor = "EPYC"; }));
    EXPECT_TRUE(machines([](LabRun& run) { run.values.back().value = 4; }));
    // Runs of other photos are no pairs; of an older lab nobody knows.
    const auto other = notes_of([](LabRun& run, int scene) {
        if (scene == 0) run.of.how = "h-4567";
    });
    EXPECT_EQ(other.first, 1u);
    EXPECT_NE(other.second.find("the files of scene0 changed"), other.second.npos) << other.second;
    const auto older = notes_of([](LabRun& run, int) { run.of.how = "h"; });
    EXPECT_EQ(older.first, 2u);
    EXPECT_NE(older.second.find("older lab"), older.second.npos) << older.second;
}

TEST(CompareRuns, PairsTheNewestOfTheSameKindOnly) {
    Noise noise(4);
    std::vector<LabRun> runs;
    for (const char* label : {"a", "b"}) runs.push_back(made_run(label, 0, 1, {}, noise));
    runs.push_back(made_run("b", 0, 1, {.gain_db = 10}, noise));  // newer
    runs.push_back(made_run("b", 1, 1, {}, noise));               // without a twin
    runs.push_back(made_run("a", 2, 1, {}, noise));
    runs.back().failed = true;
    runs[0].of.how = runs[1].of.how = "h";
    const RunComparison c =
        compare_runs(*select_runs(runs, "a"), *select_runs(runs, "b"), {}).value();
    EXPECT_EQ(c.pairs, 1u);
    EXPECT_GT(c.metrics[0].difference.mean, 8);
    EXPECT_EQ(c.metrics[0].verdict, "too few");
    EXPECT_EQ(c.notes.size(), 3u);
    for (LabRun& run : runs)
        if (run.of.label == "b") run.of.how = "otherwise";
    const auto none = compare_runs(*select_runs(runs, "a"), *select_runs(runs, "b"), {});
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().text().find("no run of the same scene"), std::string::npos);
    EXPECT_FALSE(select_runs(runs, "nobody"));
    EXPECT_EQ(select_runs(runs, "012345")->by, RunSelection::By::commit);
}

TEST(LabReport, FindsTheCommitSinceWhenItIsWorse) {
    Noise noise(12);
    std::vector<LabRun> runs;
    for (int night = 0; night < 24; ++night)
        for (int seed = 0; seed < 3; ++seed) {
            runs.push_back(made_run("a", 0, seed, {}, noise));
            runs.back().of.commit = "commit" + std::to_string(night);
            runs.back().ended_s = 1000 * night + seed;
            if (night >= 14)
                for (LabPhoto& photo : runs.back().photos) photo.psnr -= 1;
        }
    const std::vector<history::Judged> judged = histories_of(runs);
    std::size_t changes = 0;
    for (const history::Judged& one : judged) {
        EXPECT_EQ(one.series.points.size(), 24u);
        EXPECT_EQ(one.series.points[0].of.count, 3u);
        changes += one.changes.size();
        if (one.series.metric.name != "PSNR") continue;
        ASSERT_EQ(one.changes.size(), 1u);
        EXPECT_EQ(one.series.points[one.changes[0].first].commit, "commit14");
    }
    EXPECT_EQ(changes, 1u);
    const Report report = lab_report(runs, {}, "lab.db");
    EXPECT_NE(report_html(report).find("commit commit14"), std::string::npos);
    runs.resize(6);  // two programs: no history yet
    EXPECT_TRUE(histories_of(runs).empty());
}

TEST(LabReport, BeginsWithVerdictAndGates) {
    Noise noise(5);
    std::vector<LabRun> runs;
    for (int scene = 0; scene < 3; ++scene)
        for (int seed = 0; seed < 5; ++seed)
            for (const char* label : {"a", "b"})
                runs.push_back(made_run(label, scene, seed, {.gain_db = -3}, noise));
    LabRun failed = runs.back();
    failed.failed = true, failed.error = "exit code 2\nerror: no memory";
    runs.push_back(failed);
    const Gate gate = *parse_gate("psnr_drop <= 0.05");
    const auto c = compare_runs(*select_runs(runs, "a"), *select_runs(runs, "b"), {&gate, 1});
    const std::string page = report_html(lab_report(runs, *c, "lab.db"));
    std::size_t at = 0;
    for (const char* next :
         {"PSNR worse (-", "1 of 1 fail", "<h2>Gates", "FAILS", "b against a", "95 % interval",
          "<dl>", "Curves", "loading and training, s", "Pareto front", "Runs that failed",
          "<td class=\"text\">exit code 2\nerror: no memory"}) {
        const std::size_t found = page.find(next, at);
        ASSERT_NE(found, page.npos) << next;
        at = found;
    }
    EXPECT_EQ(report_html(lab_report(runs, {}, "lab.db")).find("Gates"), page.npos);
}

TEST(LabReport, TheParetoFrontIsOfWhatNothingBeats) {
    // Seconds, dB: each a kind with one run.
    const std::pair<double, double> kMade[] = {{10, 20}, {20, 25}, {21, 24}, {30, 25}, {40, 27}};
    std::vector<LabRun> runs(std::size(kMade));
    std::vector<RunKind> kinds(std::size(kMade));
    std::vector<const RunKind*> all;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].values = {{"total", "s", kMade[i].first}};
        runs[i].photos = {{"p", kMade[i].second, 0, 0}};
        kinds[i].runs = {&runs[i]};
        all.push_back(&kinds[i]);
    }
    const auto seconds = [](const LabRun& run) { return run.value_of("total"); };
    EXPECT_EQ(pareto_front(all, seconds),
              (std::vector<const RunKind*>{&kinds[0], &kinds[1], &kinds[4]}));
    runs[0].values.clear();  // of unknown cost
    EXPECT_EQ(pareto_front(all, seconds), (std::vector<const RunKind*>{&kinds[1], &kinds[4]}));
}

TEST(CompareRuns, TheSameBitsAreToldAsThat) {
    Noise noise(8);
    std::vector<LabRun> runs;
    for (int seed = 0; seed < 2; ++seed) {
        runs.push_back(made_run("a", 0, seed, {}, noise));
        runs.push_back(runs.back());
        runs.back().of.label = "b";
    }
    const Gate gate = *parse_gate("psnr_drop <= 0");
    const RunComparison c =
        compare_runs(*select_runs(runs, "a"), *select_runs(runs, "b"), {&gate, 1}).value();
    EXPECT_EQ(c.same_bits, 2u);
    for (const MetricRow& row : c.metrics) EXPECT_EQ(row.verdict, "same") << row.metric;
    EXPECT_EQ(c.gates[0].state, GateState::holds);
}

}  // namespace
}  // namespace gs::lab
