// `gausscope serve` behind its threads: what triggers a recording, what is written, what HTTP
// answers.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <thread>

#include "base/record/clock.h"
#include "profiler/files/import.h"
#include "profiler/serve/daemon.h"
#include "profiler/serve/recording_hook.h"
#include "serve_trace.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"

namespace gs::serve {
namespace {

using test::kMs;
using test::RecordedProcess;
using Json = nlohmann::json;

class ServeTest : public ::testing::Test {
  protected:
    FlightRecorder recorder(std::uint64_t max_bytes = 1 << 30) {
        auto opened = FlightRecorder::open({.folder = folder, .max_bytes = max_bytes});
        EXPECT_TRUE(opened);
        return std::move(*opened);
    }
    const test::TemporaryFolder folder;
};

/// A process, and what a daemon finds at it that records slow steps only.
struct Watched {
    Watched() { process.pid = static_cast<std::uint32_t>(::getpid()); }
    /// Iterations of these lengths from `begin_ms`, then the looks a daemon would take.
    std::vector<Trigger> run(std::int64_t begin_ms, const std::vector<std::int64_t>& lengths_ms) {
        std::int64_t t = begin_ms;
        TraceBatch batch = process.batch(begin_ms);
        for (const std::int64_t ms : lengths_ms) {
            process.iterate(batch, t, ms);
            t += ms;
        }
        batch.read_ns = (t + 1000) * kMs;
        batch.service->heartbeat_ns = batch.read_ns;
        store.ingest(batch);
        return triggers.look(store, watch.look(store, (t + 1000) * kMs), (t + 1000) * kMs);
    }
    TraceStore store;
    Watch watch;
    Triggers triggers{{.step_factor = 3, .rules = false}};
    RecordedProcess process;
};

TEST_F(ServeTest, ASlowStepTriggersAndOnlyThat) {
    Watched watched;
    EXPECT_TRUE(watched.run(9'000, {100}).empty());
    EXPECT_TRUE(watched.run(20'000, std::vector<std::int64_t>(30, 100)).empty());
    EXPECT_TRUE(watched.run(30'000, {100, 290, 100}).empty());
    const auto fired = watched.run(40'000, {100, 320, 100});
    ASSERT_EQ(fired.size(), 1u);
    EXPECT_EQ(fired[0].kind, "slow-step");
    EXPECT_EQ(fired[0].time_ns, 40'420 * kMs);
    EXPECT_NE(fired[0].reason.find("320 ms, the median is 100 ms"), std::string::npos)
        << fired[0].reason;
}

TEST_F(ServeTest, ASlowStepOfLongAgoIsNoNews) {
    Watched watched;
    EXPECT_TRUE(watched.run(9'000, {100}).empty());
    std::vector<std::int64_t> steps(1000, 100);
    steps[50] = steps[990] = 500;
    const auto fired = watched.run(20'000, steps);
    ASSERT_EQ(fired.size(), 1u);
    EXPECT_EQ(fired[0].time_ns, (20'000 + 991 * 100 + 2 * 400) * kMs);
}

TEST_F(ServeTest, BurstsOfALoaderAreNoSlowSteps) {
    Watched watched;
    std::vector<std::int64_t> steps;
    for (int i = 0; i < 80; ++i) steps.push_back(i % 4 == 0 ? 280 : 15);
    EXPECT_TRUE(watched.run(9'000, {100}).empty());
    EXPECT_TRUE(watched.run(20'000, steps).empty());
    EXPECT_EQ(watched.run(40'000, {15, 600, 15}).size(), 1u);
}

TEST_F(ServeTest, ACheckpointIsNoSlowStep) {
    for (const char* const what : {"save checkpoint", "evaluate", "work"}) {
        Watched watched;
        EXPECT_TRUE(watched.run(9'000, {100}).empty());
        EXPECT_TRUE(watched.run(20'000, std::vector<std::int64_t>(30, 100)).empty());
        TraceBatch batch = watched.process.batch(30'000);
        batch.names.push_back({.name = 9, .text = what});
        watched.process.iterate(batch, 30'000, 520);
        batch.spans.insert(batch.spans.end() - 1, {30'140 * kMs, 30'510 * kMs, 0, 0, 9, 1, false});
        watched.store.ingest(batch);
        EXPECT_EQ(watched.run(30'520, {100}).empty(), what != std::string_view("work")) << what;
    }
}

TEST_F(ServeTest, RulesOfManyJobsAreSpreadOverLooks) {
    struct Case {
        std::int64_t budget_ns;
        const char* together;  // the name of the job of two ranks; torchrun's by hand has none
        std::vector<std::size_t> expected;
    };
    for (const auto& [budget_ns, together, expected] :
         {Case{-1, "together", {1, 1, 1, 1, 2, 0}}, Case{-1, "", {2, 1, 1, 1, 1, 0}},
          Case{std::int64_t{1} << 40, "together", {6, 0, 0, 0, 0, 0}}}) {
        TraceStore store;
        Watch watch;
        Triggers triggers({.rules_ns = budget_ns});
        for (std::uint32_t i = 0; i < 6; ++i) {
            RecordedProcess process{.pid = 5000 + i};
            TraceBatch batch = process.batch(10'000);
            batch.source = 100 + i;
            batch.labels.job = i < 2 ? together : fmt::format("job {}", i);
            batch.labels.rank = static_cast<int>(i);
            store.ingest(batch);
        }
        std::vector<std::size_t> asked;
        for (std::int64_t t = 10'500; t < 16'500; t += 1000) {
            triggers.look(store, watch.look(store, t * kMs), t * kMs);
            asked.push_back(triggers.asked());
        }
        EXPECT_EQ(asked, expected);
    }
}

TEST_F(ServeTest, AProcessThatVanishedArmedIsACrashOnceAndAnOrderlyEndIsNone) {
    for (const bool orderly : {false, true}) {
        TraceStore store;
        Watch watch;
        Triggers triggers({.rules = false});
        RecordedProcess process;
        process.pid = 0x3FFFFFF0;  // above every pid a kernel gives
        TraceBatch batch = process.batch(10'000);
        batch.service->armed = !orderly;
        batch.open = {{9'990 * kMs, 0, 0, 1, 0}};
        store.ingest(batch);
        EXPECT_TRUE(triggers.look(store, watch.look(store, 10'500 * kMs), 10'500 * kMs).empty());
        const auto fired = triggers.look(store, watch.look(store, 13'000 * kMs), 13'000 * kMs);
        ASSERT_EQ(fired.size(), orderly ? 0u : 1u);
        if (orderly) continue;
        EXPECT_EQ(fired[0].kind, "crash");
        EXPECT_NE(fired[0].reason.find("inside iteration"), std::string::npos) << fired[0].reason;
        EXPECT_TRUE(triggers.look(store, watch.look(store, 14'000 * kMs), 14'000 * kMs).empty());
    }
}

// Its own number may be anybody's here; only the number that is seen from here can be asked about.
TEST_F(ServeTest, AProcessInAContainerIsAskedForUnderTheNumberThatIsSeen) {
    const auto alive = static_cast<std::uint32_t>(::getpid());
    constexpr std::uint32_t kNobody = 0x3FFFFFF0;
    for (const bool dead : {false, true}) {
        TraceStore store;
        Watch watch;
        Triggers triggers({.rules = false});
        RecordedProcess process{.pid = dead ? alive : kNobody,
                                .visible_pid = dead ? kNobody : alive};
        store.ingest(process.batch(10'000));
        triggers.look(store, watch.look(store, 10'500 * kMs), 10'500 * kMs);
        const auto fired = triggers.look(store, watch.look(store, 13'000 * kMs), 13'000 * kMs);
        EXPECT_EQ(fired.size(), dead ? 1u : 0u);
    }
}

TEST_F(ServeTest, ARecordingThatIsLongerThanWhatIsKeptSaysSo) {
    TraceStore store({.max_spans = 300});
    RecordedProcess process;
    for (int second = 10; second < 30; ++second) {
        TraceBatch batch = process.batch(1000 * (second + 1));
        for (int i = 0; i < 10; ++i) process.iterate(batch, 1000 * second + 100 * i, 100);
        store.ingest(batch);
    }
    ASSERT_GT(store.timeline().forgotten(), 0u);
    Daemon daemon({.triggers = {.rules = false}, .token = "secret"}, recorder());
    FlightRecorder recording = recorder();
    ASSERT_TRUE(recording.ask_stretch("all", 10'000 * kMs, 30'000 * kMs));
    ASSERT_TRUE(recording.ask_stretch("the end", 29'000 * kMs, 30'000 * kMs));
    ASSERT_EQ(recording.write_all(store).size(), 2u);
    const HttpRequest list{"GET", "/traces", {}, "secret"};
    const Json traces = Json::parse(daemon.answer(list).body).at("traces");
    ASSERT_EQ(traces.size(), 2u);
    for (const Json& trace : traces) {
        const double asked = trace.at("asked_s"), written = trace.at("written_s");
        if (asked > 10) {
            EXPECT_NEAR(asked, 20, 1e-9);
            EXPECT_GT(written, 8);  // of three spans each 100 ms
            EXPECT_LT(written, 11);
        } else {
            EXPECT_NEAR(written, 1, 1e-9);
        }
    }
}

TEST_F(ServeTest, ARecordingHoldsItsStretchAndSaysWhy) {
    TraceStore store;
    RecordedProcess process;
    TraceBatch batch = process.batch(20'000);
    for (int i = 0; i < 100; ++i) process.iterate(batch, 10'000 + 100 * i, 100);
    // Of another time, so not in it.
    batch.tracks.push_back({1, process.pid, 4711, "earlier", false});
    batch.spans.push_back({10'000 * kMs, 11'000 * kMs, 0, 1, 2, 0, false});
    batch.names.push_back({4, "counted earlier"});
    batch.counters.push_back({10'500 * kMs, 1.0, 1, 4});
    store.ingest(batch);
    FlightRecorder recording = recorder();
    ASSERT_TRUE(recording.ask_stretch("because", 12'050 * kMs, 13'950 * kMs));
    EXPECT_FALSE(recording.write_due(store, 14'000 * kMs));  // records may still be on their way
    const auto written = recording.write_due(store, 15'000 * kMs);
    ASSERT_TRUE(written);

    TraceStore back;
    const auto read = import_trace(written->path, back);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(back.frames().history(StatScope::iteration).size(),
              20u);  // those that touch the stretch
    for (const TraceTrack& track : back.tracks())
        EXPECT_EQ(track.name.find("earlier"), track.name.npos);
    for (const CounterSeries& series : back.counters())
        EXPECT_NE(back.name(series.name), "counted earlier");
    auto report = required(read_text_file(FlightRecorder::report_of(written->path)));
    const Json json = Json::parse(report);
    EXPECT_EQ(json.at("kind"), "request");
    EXPECT_EQ(json.at("reason"), "because");
    EXPECT_TRUE(json.at("insights").is_object());
}

TEST_F(ServeTest, OneKindOfOneJobCoolsDownAndOthersDoNot) {
    FlightRecorder recording = recorder();
    EXPECT_NE(recording.ask("slow-step", "1", "a", 100'000 * kMs), nullptr);
    EXPECT_EQ(recording.ask("slow-step", "1", "b", 159'000 * kMs), nullptr);
    EXPECT_NE(recording.ask("crash", "1", "c", 159'000 * kMs), nullptr);
    EXPECT_NE(recording.ask("slow-step", "2", "c", 159'000 * kMs), nullptr);
    EXPECT_NE(recording.ask("slow-step", "1", "d", 160'001 * kMs), nullptr);
}

// A crash is not lost behind what waits already, and crashes of one moment are one recording.
TEST_F(ServeTest, OneRecordingIsWrittenAtATimeAndACrashBeforeOthers) {
    TraceStore store;
    store.ingest(RecordedProcess().batch(20'000));
    FlightRecorder recording = recorder();
    for (int i = 0; i < 16; ++i)
        EXPECT_NE(recording.ask(fmt::format("R{}", i), "1", "r", 10'000 * kMs), nullptr);
    EXPECT_EQ(recording.ask("R16", "1", "r", 10'000 * kMs), nullptr);
    ASSERT_NE(recording.ask("crash", "1", "first", 10'000 * kMs), nullptr);
    ASSERT_NE(recording.ask("crash", "2", "second", 11'000 * kMs), nullptr);
    const auto written = recording.write_due(store, 100'000 * kMs);
    ASSERT_TRUE(written);
    EXPECT_EQ(written->kind, "crash");
    EXPECT_EQ(written->reason, "first; second");
    EXPECT_EQ(recording.write_all(store).size(), 16u);
}

TEST_F(ServeTest, RoutineRecordingsNeverRemoveACrash) {
    fs::create_directories(folder);
    std::vector<fs::path> made;
    auto time = fs::file_time_type::clock::now() - std::chrono::hours(1);
    const auto add = [&](const std::string& kind) {
        made.push_back(folder / fmt::format("gausscope-2026T{:02}Z-crash-7-{}-{}.pftrace",
                                            made.size(), kind, made.size()));
        EXPECT_TRUE(write_text_file(made.back(), std::string(100'000, 'x')));
        fs::last_write_time(made.back(), time += std::chrono::seconds(1));
    };
    for (const char* kind : {"crash", "stall", "R3", "slow-step", "slow-step", "slow-step"})
        add(kind);
    TraceStore store;
    store.ingest(RecordedProcess().batch(20'000));
    FlightRecorder recording = recorder(450'000);
    ASSERT_TRUE(recording.ask_stretch("r", 10'000 * kMs, 20'000 * kMs));
    ASSERT_EQ(recording.write_all(store).size(), 1u);
    for (std::size_t i = 0; i < made.size(); ++i)
        EXPECT_EQ(fs::exists(made[i]), i < 3 || i == 5) << made[i];
    // A job that crashes over and over does not fill the folder either.
    for (int i = 0; i < 8; ++i) add("crash");
    add("request");
    ASSERT_TRUE(recording.ask_stretch("r", 10'000 * kMs, 20'000 * kMs));
    ASSERT_EQ(recording.write_all(store).size(), 1u);
    EXPECT_FALSE(fs::exists(made[0]));
    EXPECT_TRUE(fs::exists(made[1]));                // the only stall
    EXPECT_TRUE(fs::exists(made[made.size() - 2]));  // the last crash
    EXPECT_FALSE(fs::exists(made[made.size() - 2 - 7]));
}

TEST_F(ServeTest, ARecordingSaysWhereEachThreadWasAndHowMuchWasThere) {
    TraceStore store;
    RecordedProcess process;
    TraceBatch batch = process.batch(20'000);
    for (int i = 0; i < 10; ++i) process.iterate(batch, 18'000 + 100 * i, 100);
    batch.open = {{19'100 * kMs, 0, 0, 2, 0}};
    store.ingest(batch);
    FlightRecorder recording = recorder();
    ASSERT_NE(recording.ask("crash", "", "killed", 20'000 * kMs), nullptr);
    const auto written = recording.write_all(store);
    ASSERT_EQ(written.size(), 1u);
    TraceStore back;
    const auto read = import_trace(written[0].path, back);
    ASSERT_TRUE(read) << read.error().text();
    ASSERT_EQ(back.sources().open_spans().size(), 1u);
    EXPECT_EQ(back.name(back.sources().open_spans()[0].name), "load");
    // The daemon had seen two seconds, not the twenty before.
    const auto report = required(read_text_file(FlightRecorder::report_of(written[0].path)));
    EXPECT_NEAR(Json::parse(report).at("written_s").get<double>(), 4, 1e-6);
    const Json of = Json::parse(report).at("processes").at(0);
    EXPECT_EQ(of.at("rank"), "3");
    EXPECT_EQ(of.at("inside"), Json({{"main", "load"}}));
}

TEST_F(ServeTest, ACommandGetsEachRecordingAndNothingWaitsForIt) {
    fs::create_directories(folder);
    const fs::path said = folder / "said";
    ::setenv("OTEL_EXPORTER_OTLP_HEADERS", "key", 1);
    const auto begin = std::chrono::steady_clock::now();
    {
        RecordingHook hook("echo \"$1$OTEL_EXPORTER_OTLP_HEADERS\" >> " + said.string(),
                           std::chrono::seconds(5));
        RecordingHook slow("sleep 60", std::chrono::milliseconds(100));
        // The path is given to what asks for it, and to nothing else.
        RecordingHook other("true | tee", std::chrono::seconds(5));
        for (int i = 0; i < 3; ++i) {
            const fs::path recording = folder / fmt::format("{} a;b.pftrace", i);
            EXPECT_TRUE(write_text_file(recording, "content"));
            hook.run(recording);
            other.run(recording);
        }
        hook.run(folder / "removed.pftrace");
        for (int i = 0; i < 50; ++i)
            slow.run(folder / "0 a;b.pftrace");  // all but some are skipped
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
    }
    ::unsetenv("OTEL_EXPORTER_OTLP_HEADERS");
    std::string wanted;
    for (int i = 0; i < 3; ++i) {
        const fs::path recording = folder / fmt::format("{} a;b.pftrace", i);
        wanted += recording.string() + "\n";
        EXPECT_EQ(*read_text_file(recording), "content");
    }
    EXPECT_EQ(*read_text_file(said), wanted);
}

TEST_F(ServeTest, ACommandThatHangsKeepsTheEndForOneWaitOnly) {
    fs::create_directories(folder);
    const fs::path recording = folder / "a.pftrace";
    ASSERT_TRUE(write_text_file(recording, "content"));
    const auto begin = std::chrono::steady_clock::now();
    {
        RecordingHook hook("sleep 60", std::chrono::minutes(5), std::chrono::seconds(1));
        for (int i = 0; i < 16; ++i) hook.run(recording);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(ServeTest, TheFolderStaysWithinItsBoundAndOtherFilesStay) {
    TraceStore store;
    RecordedProcess process;
    TraceBatch batch = process.batch(20'000);
    for (int i = 0; i < 100; ++i) process.iterate(batch, 10'000 + 100 * i, 100);
    store.ingest(batch);
    const auto record = [&](FlightRecorder& recording) {
        EXPECT_TRUE(recording.ask_stretch("r", 10'000 * kMs, 20'000 * kMs));
        const auto written = recording.write_all(store);
        return written.size() == 1 ? written[0].path : fs::path();
    };
    const auto bytes_of = [](const fs::path& trace) {
        return fs::file_size(trace) + fs::file_size(fs::path(trace).replace_extension(".json"));
    };
    FlightRecorder first = recorder();
    const std::uint64_t bound = 3 * bytes_of(record(first)) + 100;
    FlightRecorder bounded = recorder(bound);
    ASSERT_TRUE(write_text_file(folder / "mine.pftrace", std::string(2 * bound, 'x')));
    fs::path newest;
    for (int i = 0; i < 12; ++i) newest = record(bounded);
    const auto files = FlightRecorder::finished_in(folder);
    std::uint64_t total = 0;
    for (const fs::path& file : files) total += bytes_of(file);
    EXPECT_LE(total, bound);
    EXPECT_GE(files.size(), 2u);
    EXPECT_TRUE(fs::exists(newest));
    EXPECT_TRUE(fs::exists(folder / "mine.pftrace"));
    std::size_t others = 0;  // reports go with their traces
    for (const auto& entry : fs::directory_iterator(folder))
        others += entry.path().extension() == ".json" ? 1 : 0;
    EXPECT_EQ(others, files.size());
    // One that alone exceeds the bound is kept until there is a newer one.
    FlightRecorder tiny = recorder(1);
    newest = record(tiny);
    EXPECT_EQ(FlightRecorder::finished_in(folder), std::vector<fs::path>{newest});
}

/// "a=1&b=2", as the server would have decoded it.
std::map<std::string, std::string> parameters_in(const std::string& query) {
    std::map<std::string, std::string> out;
    std::istringstream rest(query);
    for (std::string one; std::getline(rest, one, '&');)
        out[one.substr(0, one.find('='))] = one.substr(std::min(one.find('=') + 1, one.size()));
    return out;
}

TEST(CaptureRequests, SayWhichStretch) {
    constexpr std::int64_t kNow = 1'763'730'003'250'000'000;
    const auto ask = [&](const char* query) {
        HttpRequest request{.parameters = parameters_in(query)};
        return parse_capture(request, kNow);
    };
    EXPECT_EQ(ask("ms=5000")->begin_ns, kNow);
    EXPECT_EQ(ask("ms=5000")->end_ns, kNow + 5'000 * kMs);
    EXPECT_EQ(ask("last=2000")->begin_ns, kNow - 2'000 * kMs);
    EXPECT_EQ(ask("ms=1000&at=/10s")->begin_ns, 1'763'730'010'000'000'000);
    EXPECT_EQ(ask("ms=1000&at=/10")->begin_ns, 1'763'730'010'000'000'000);
    EXPECT_EQ(ask("ms=1000&at=1763730000")->begin_ns, 1'763'730'000'000'000'000);  // the past
    EXPECT_NEAR(
        static_cast<double>(ask("ms=1000&at=1763730060.5")->begin_ns - 1'763'730'060'500'000'000),
        0, 1000);
    for (const char* bad :
         {"", "ms=", "ms=-1", "ms=x", "ms=1e9", "ms=nan", "ms=1&last=1", "last=5&at=/1s",
          "ms=1&at=/0", "ms=1&at=1763720000", "ms=1&at=1863730000", "ms=1&at=/"})
        EXPECT_FALSE(ask(bad)) << bad;
}

HttpRequest request_of(const char* method, const char* path, const char* query = "",
                       const char* token = "") {
    return {method, path, parameters_in(query), token};
}

TEST_F(ServeTest, AnswersWhatItShouldAndOnlyWithTheToken) {
    TraceStore store;
    Daemon daemon({.triggers = {}, .token = "secret"}, recorder());
    daemon.tick(store, now_ns(), {});
    EXPECT_EQ(daemon.answer(request_of("GET", "/healthz")).status, 200);
    EXPECT_TRUE(daemon.answer(request_of("GET", "/metrics")).body.ends_with("# EOF\n"));
    EXPECT_EQ(daemon.answer(request_of("POST", "/metrics")).status, 404);
    EXPECT_EQ(daemon.answer(request_of("GET", "/nothing")).status, 404);
    EXPECT_EQ(daemon.answer(request_of("GET", "/trace", "ms=1", "secret")).status, 405);
    for (const char* token : {"", "secre", "secret1", "Secret"}) {
        EXPECT_EQ(daemon.answer(request_of("POST", "/trace", "ms=1", token)).status, 401) << token;
        EXPECT_EQ(daemon.answer(request_of("GET", "/traces", "", token)).status, 401) << token;
    }
    EXPECT_EQ(daemon.answer(request_of("POST", "/trace", "ms=nonsense", "secret")).status, 400);
    EXPECT_EQ(daemon.answer(request_of("GET", "/traces/../../etc/passwd", "", "secret")).status,
              404);
    EXPECT_EQ(daemon.answer(request_of("GET", "/traces/x", "", "secret")).status, 404);
}

TEST_F(ServeTest, ARequestedCaptureIsWrittenAndServed) {
    TraceStore store;
    Daemon daemon({.triggers = {.rules = false}, .token = "secret"}, recorder());
    RecordedProcess process;
    process.pid =
        static_cast<std::uint32_t>(::getpid());  // else it counts as crashed after a while
    const auto now = now_ns();
    TraceBatch batch = process.batch(now / kMs);
    for (int i = 0; i < 20; ++i) process.iterate(batch, now / kMs - 2000 + 100 * i, 100);
    store.ingest(batch);

    HttpAnswer answer;
    std::thread client(
        [&] { answer = daemon.answer(request_of("POST", "/trace", "last=1500", "secret")); });
    for (int i = 0; i < 100; ++i) {  // the request may come at any moment
        daemon.tick(store, now_ns(), {});
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    client.join();
    ASSERT_EQ(answer.status, 202) << answer.body;
    const std::string name = Json::parse(answer.body).at("trace");
    daemon.finish(store);
    EXPECT_EQ(daemon.recordings(), 1u);
    const Json list = Json::parse(daemon.answer(request_of("GET", "/traces", "", "secret")).body);
    ASSERT_EQ(list.at("traces").size(), 1u);
    EXPECT_EQ(list.at("traces")[0].at("trace"), name);
    const HttpAnswer file =
        daemon.answer(request_of("GET", ("/traces/" + name).c_str(), "", "secret"));
    TraceStore back;
    ASSERT_TRUE(import_trace(file.file, back));
    const auto iterations = back.frames().history(StatScope::iteration).size();
    EXPECT_GE(iterations, 14u);
    EXPECT_LE(iterations, 17u);
}

}  // namespace
}  // namespace gs::serve
