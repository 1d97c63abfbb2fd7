// Processes under the service, read as `record` and `attach` read them: however they end, however
// many threads they have, and however slow or many the readers are.
#include "profiler/collect/multi_collector.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include "base/record/machine_counters.h"
#include "profiler/analysis/machine_use.h"
#include "tests/unit/service_collecting.h"

namespace gs::service {
namespace {

bool ended(MultiCollector& collector) {
    const auto& sources = collector.sources();
    return !sources.empty() && !sources[0].alive;
}

/// What a doomed process does: 500 spans, then two ranges that never end.
void record_and_hang(const Wire& wire) {
    name_this_thread("doomed");
    const Span outer(Stage::iteration, 1234);
    for (std::uint64_t i = 0; i < 500; ++i) const Span span(Stage::blend, i);
    const Span inner(Stage::sort, 99);
    wire.say('d');
    for (;;) ::pause();
}

TEST(Collecting, LastRecordsAndOpenRangesOfAKilledProcessAreRead) {
    const RuntimeDirectory directory;
    ServedProcess child(record_and_hang);
    auto collector = started(only(child));
    ASSERT_EQ(child.wire().hear(), 'd');
    child.kill(SIGKILL);
    TraceStore store;
    EXPECT_TRUE(eventually([&] { return ended(*collector); }));
    collector->finish(store);
    EXPECT_EQ(spans_named(store, "blend"), 500u);
    ASSERT_EQ(store.sources().open_spans().size(), 2u);
    EXPECT_EQ(store.name(store.sources().open_spans()[0].name), "iteration");
    EXPECT_EQ(store.sources().open_spans()[1].payload, 99u);
    EXPECT_EQ(store.sources().loss().total(), 0u);
    ASSERT_EQ(store.processes().size(), 1u);
    EXPECT_FALSE(store.processes()[0].labels.command.empty());
}

TEST(Collecting, AProcessTellsWhatTheMachineGaveIt) {
    const RuntimeDirectory directory;
    ServedProcess child([](const Wire& wire) { wire.hear(); });
    auto collector = started(only(child));
    TraceStore store;
    const auto told = [&](std::string_view name) {
        for (const CounterSeries& series : store.counters())
            if (store.name(series.name) == name && !series.points.empty()) return true;
        return false;
    };
    EXPECT_TRUE(eventually([&] {
        collector->drain_into(store);
        // One after the other: a look may come in between.
        return told(machine_counter::kWaited) && told(machine_counter::kCpusUsed) &&
               told(machine_counter::kSwitches) && told(machine_counter::kCpus) &&
               told(machine_counter::kLoad) && told(machine_counter::kResident);
    }));
    const MachineUse use =
        machine_use(store, 0, store.sources().read_ns() - 5'000'000'000, store.sources().read_ns());
    EXPECT_GE(use.waited, 0);
    EXPECT_LE(use.waited, 1);
    EXPECT_GE(use.cpus, 1);
}

/// Runs `body` in a child that is forked now and begins when it gets the path of a collector.
/// Forked before there are other threads: the child could never acquire a lock that they held
/// (AddressSanitizer's heap has one).
class LaterProcess {
  public:
    explicit LaterProcess(const std::function<void()>& body) {
        int told[2];
        if (::pipe2(told, O_CLOEXEC) != 0) std::abort();
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(told[1]);
            char path[512] = {};
            if (::read(told[0], path, sizeof path - 1) <= 0) ::_exit(1);
            ::setenv(kCollectorVariable, path, 1);
            start_recording();
            body();
            ::_exit(0);  // no destructor, no handler: nothing is handed in
        }
        ::close(told[0]);
        tells_ = told[1];
    }
    void begin(const MultiCollector& collector) const {
        const std::string path = collector.collector_path().string();
        EXPECT_EQ(::write(tells_, path.data(), path.size()), static_cast<ssize_t>(path.size()));
        ::close(tells_);
    }
    void wait() const {
        int status = 1;
        ::waitpid(pid_, &status, 0);
        EXPECT_EQ(status, 0);
    }

  private:
    pid_t pid_ = -1;
    int tells_ = -1;
};

/// Of those that come by themselves.
std::unique_ptr<MultiCollector> started_for_those_that_come() {
    MultiCollectorOptions options;
    options.discover = false;
    options.accept = true;
    return started(options);
}

TEST(Collecting, AProcessThatLeavesAtOnceIsReadToItsEnd) {
    const RuntimeDirectory directory;
    constexpr std::size_t kProcesses = 20;
    std::vector<LaterProcess> processes;
    for (std::size_t i = 0; i < kProcesses; ++i)
        processes.emplace_back([] {
            static RecorderHost host;
            start_endpoint("nvtx", host);
            for (std::uint64_t n = 0; n < 100; ++n) const Span span(Stage::blend, n);
        });
    auto collector = started_for_those_that_come();
    for (const LaterProcess& process : processes) process.begin(*collector);
    for (const LaterProcess& process : processes) process.wait();
    TraceStore store;
    collector->finish(store);
    EXPECT_EQ(store.processes().size(), kProcesses);
    EXPECT_EQ(spans_named(store, "blend"), 100u * kProcesses);
    EXPECT_EQ(store.sources().loss().total(), 0u);
}

TEST(Collecting, WhatWasOverwrittenBeforeTheFirstLookIsCounted) {
    const RuntimeDirectory directory;
    constexpr std::uint64_t kSpans = 100'000;  // a lane has lapped before anybody reads it
    const LaterProcess process([] {
        static RecorderHost host;
        for (std::uint64_t n = 0; n < kSpans; ++n) const Span span(Stage::blend, n);
        start_endpoint("nvtx", host);
    });
    auto collector = started_for_those_that_come();
    process.begin(*collector);
    process.wait();
    TraceStore store;
    collector->finish(store);
    const std::uint64_t read = spans_named(store, "blend"), lost = store.sources().loss().lapped;
    EXPECT_LT(read, kSpans);
    EXPECT_EQ(read + lost, kSpans + 1) << "the record of the thread's begin is among the lost";
}

// To the collector exec looks so: a connection ends, and there is another under the same number.
TEST(Collecting, AProcessThatComesAgainAtOnceIsReadEachTime) {
    const RuntimeDirectory directory;
    const LaterProcess process([] {
        static RecorderHost host;
        for (int i = 0; i < 5; ++i) {
            start_endpoint("nvtx", host);
            stop_endpoint();
        }
    });
    auto collector = started_for_those_that_come();
    process.begin(*collector);
    process.wait();
    TraceStore store;
    collector->finish(store);
    EXPECT_EQ(collector->sources().size(), 5u);
}

TEST(Collecting, ManyThreadsThatComeAndGo) {
    const RuntimeDirectory directory;
    ServedProcess child([](const Wire& wire) {
        wire.hear();
        for (int wave = 0; wave < 3; ++wave) {
            std::vector<std::thread> threads;
            for (int t = 0; t < 64; ++t)
                threads.emplace_back([] {
                    for (std::uint64_t i = 0; i < 50; ++i) const Span span(Stage::blend, i);
                });
            for (auto& thread : threads) thread.join();
            std::this_thread::sleep_for(std::chrono::milliseconds(150));
        }
        wire.say('d');
        wire.hear();
    });
    auto collector = started(only(child));
    child.wire().say('g');
    ASSERT_EQ(child.wire().hear(), 'd');
    TraceStore store;
    collector->finish(store);
    EXPECT_EQ(spans_named(store, "blend"), 3u * 64 * 50);
    EXPECT_EQ(store.sources().loss().total(), 0u);
}

TEST(Collecting, TwoReadersSeeTheSame) {
    const RuntimeDirectory directory;
    ServedProcess child([](const Wire& wire) {
        wire.hear();
        for (std::uint64_t i = 0; i < 5000; ++i) const Span span(Stage::blend, i);
        wire.say('d');
        wire.hear();
    });
    auto first = started(only(child)), second = started(only(child));
    child.wire().say('g');
    ASSERT_EQ(child.wire().hear(), 'd');
    TraceStore one, two;
    first->finish(one);
    second->finish(two);
    EXPECT_EQ(spans_named(one, "blend"), 5000u);
    EXPECT_EQ(spans_named(two, "blend"), 5000u);
}

TEST(Collecting, AReaderSlowerThanTheWriterKnowsWhatItMissed) {
    const RuntimeDirectory directory;
    constexpr std::uint64_t kSpans = 200'000;  // six times what a lane holds
    ServedProcess child([](const Wire& wire) {
        wire.hear();
        for (std::uint64_t i = 0; i < kSpans; ++i) const Span span(Stage::blend, i);
        wire.say('d');
        wire.hear();
    });
    auto connection = Connection::open(find_producers().at(0));
    ASSERT_TRUE(connection);
    TraceBatch before, after;
    connection->drain(before);
    child.wire().say('g');
    ASSERT_EQ(child.wire().hear(), 'd');
    connection->drain(after);
    EXPECT_GT(after.spans.size(), 1000u);
    EXPECT_GT(after.loss.lapped, 0u);
    EXPECT_EQ(after.spans.size() + after.loss.lapped,
              kSpans + 1);  // the thread's beginning is also a record
    EXPECT_EQ(after.spans.back().payload, kSpans - 1);
}

TEST(Collecting, AConsumerThatStopsTakingCostsBoundedMemory) {
    const RuntimeDirectory directory;
    ServedProcess child([](const Wire& wire) {
        wire.hear();
        for (std::uint64_t i = 0; i < 3'000'000; ++i) {
            const Span span(Stage::blend, i);
            if (i % 10'000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        wire.say('d');
        wire.hear();
    });
    auto collector = started(only(child));
    child.wire().say('g');
    ASSERT_EQ(child.wire().hear(), 'd');
    TraceStore store({.max_spans = 4'000'000});
    collector->finish(store);
    // Every record is in the store or counted: none vanished.
    const std::size_t known = spans_named(store, "blend") + store.sources().loss().total();
    EXPECT_GE(known, 3'000'000u);
    EXPECT_LE(known, 3'000'001u);  // the thread's beginning, where that was lost
}

TEST(Collecting, AllThatRunAndAllThatCome) {
    const RuntimeDirectory directory;
    const auto idle = [](const Wire& wire) {
        { const Span span(Stage::load); }
        wire.hear();
    };
    ServedProcess first(idle), second(idle, true, false);
    auto collector = started({});
    second.begin();
    EXPECT_TRUE(eventually([&] { return collector->sources().size() == 2; }));
    second.kill();
    EXPECT_TRUE(eventually([&] {
        const auto& sources = collector->sources();
        return sources.size() == 2 && sources[0].alive && !sources[1].alive;
    }));
    TraceStore store;
    collector->finish(store);
    EXPECT_EQ(store.processes().size(), 2u);
    EXPECT_EQ(spans_named(store, "load"), 2u);
}

// In containers two processes may bear one number: daemon and trainer are both number 1.
TEST(Collecting, AProcessThatBearsOurNumberElsewhereIsReadAndWeAreNot) {
    const RuntimeDirectory directory;
    ServedProcess child([](const Wire& wire) {
        { const Span span(Stage::load); }
        wire.hear();
    });
    const std::string number = std::to_string(::getpid());
    std::filesystem::rename(directory.path() / (std::to_string(child.pid()) + ".nvtx.sock"),
                            directory.path() / (number + ".nvtx.sock"));
    static RecorderHost host;
    ASSERT_TRUE(start_endpoint("nvtx", host));  // ours is NUMBER-2 then
    auto collector = started({});
    EXPECT_TRUE(eventually([&] { return collector->sources().size() == 1; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    TraceStore store;
    collector->finish(store);
    EXPECT_EQ(collector->sources().size(), 1u);
    ASSERT_EQ(store.processes().size(), 1u);
    EXPECT_EQ(store.processes()[0].visible_pid, static_cast<std::uint32_t>(child.pid()));
    EXPECT_EQ(spans_named(store, "load"), 1u);
    stop_endpoint();
}

TEST(Collecting, OnlyTheFamilyOfAProcess) {
    const RuntimeDirectory directory;
    ServedProcess stranger([](const Wire& wire) { wire.hear(); });
    ServedProcess parent([](const Wire& wire) {
        wire.hear();
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (test::fork_at_rest() == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            start_recording();
            static RecorderHost host;
            start_endpoint("nvtx", host);
            wire.say('c');
            for (;;) ::pause();
        }
        for (;;) ::pause();
    });
    parent.wire().say('f');
    ASSERT_EQ(parent.wire().hear(), 'c');
    MultiCollectorOptions options;
    options.ancestor = static_cast<std::uint32_t>(parent.pid());
    auto collector = started(options);
    EXPECT_TRUE(eventually([&] { return collector->sources().size() == 2; }));
    for (const SourceState& source : collector->sources())
        EXPECT_NE(source.pid, static_cast<std::uint32_t>(stranger.pid()));
}

TEST(Collecting, ARefusalBecomesANote) {
    const RuntimeDirectory directory;
    ServedProcess child([](const Wire& wire) { wire.hear(); });
    auto collector = started(only(child));
    collector->ask_all(Op::release_cupti);
    EXPECT_TRUE(eventually([&] {
        const auto& sources = collector->sources();
        return sources.size() == 1 && sources[0].note == "there is no CUPTI in a test";
    }));
}

TEST(Collecting, LeavesTheProcessDisarmed) {
    const RuntimeDirectory directory;
    ServedProcess child(
        [](const Wire& wire) {
            while (!wire.hears_within(std::chrono::milliseconds(1))) const Span span(Stage::blend);
        },
        false);
    TraceStore store;
    auto collector = started(only(child));
    EXPECT_TRUE(eventually([&] {
        collector->drain_into(store);
        return spans_named(store, "blend") > 0;
    }));
    collector->finish(store);
    auto connection = Connection::open(find_producers().at(0));
    ASSERT_TRUE(connection);
    EXPECT_TRUE(eventually([&] {
        TraceBatch first, second;
        connection->drain(first);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        connection->drain(second);
        return second.spans.empty();
    }));
}

TEST(Collecting, ItsOwnCostIsInTheTrace) {
    const RuntimeDirectory directory;
    ServedProcess child([](const Wire& wire) { wire.hear(); });
    auto collector = started(only(child));
    TraceStore store;
    EXPECT_TRUE(eventually([&] {
        collector->drain_into(store);
        for (const CounterSeries& series : store.counters())
            if (store.name(series.name) == "profiling: processor time %" &&
                series.points.size() > 0) {
                const double percent = series.points.view()[0].value;
                return percent > 0 && percent < 100;
            }
        return false;
    }));
}

}  // namespace
}  // namespace gs::service
