// The names of sampled threads: from the system, through the store, and in files.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "profiler/analysis/stack_profile.h"
#include "profiler/files/export_perfetto.h"
#include "profiler/files/export_stacks.h"
#include "profiler/files/import.h"
#include "profiler/sample/perf_events.h"
#include "profiler/sample/stack_sampler.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

TEST(StackNames, OfThreadsWithoutRangesSurviveATrace) {
    TraceBatch b{
        .frames = {{"backward", "", "trainer", 0, FrameKind::native}},
        .stacks = {{kNoStack, 0}},
        .samples = {{50'000'000, 1'000'000, 8, 0, false}, {51'000'000, 1'000'000, 9, 0, false}},
        .thread_names = {{8, "worker"}, {77, "never sampled"}},
        .source = 41,
        .pid = 41,
        .process_name = "trainer",
        .read_ns = 100'000'000};
    TraceStore store;
    store.ingest(b);
    b.samples.clear();
    b.thread_names = {{8, "pt_autograd_0"}};
    store.ingest(b);
    EXPECT_EQ(thread_name(store, 0, 8), "pt_autograd_0");
    EXPECT_EQ(thread_name(store, 0, 9), "thread 9");
    EXPECT_EQ(store.samples().threads().size(), 2u);
    const test::TemporaryFolder folder;
    ASSERT_TRUE(export_perfetto(store.excerpt(0, 100'000'000), folder / "t.pftrace"));
    TraceStore back;
    ASSERT_TRUE(import_trace(folder / "t.pftrace", back));
    EXPECT_EQ(thread_name(back, 0, 8), "pt_autograd_0");
    ASSERT_TRUE(export_folded_stacks(back, folder / "t.stacks.folded"));
    const auto text = required(read_text_file(folder / "t.stacks.folded"));
    EXPECT_NE(text.find(";pt_autograd_0;backward"), text.npos) << text;
}

TEST(StackNames, AreThoseThatThreadsGiveThemselves) {
    const auto sampler = StackSampler::of_process(static_cast<std::uint32_t>(::getpid()), {});
    if (!sampler) GTEST_SKIP() << sampler.error().text();
    std::atomic<bool> stop{false};
    std::thread bee([&] {
        ::pthread_setname_np(::pthread_self(), "busy bee");
        while (!stop) continue;
    });
    TraceStore store;
    const auto is_named = [&] {
        for (const SampledThread& thread : store.samples().threads())
            if (thread.name == "busy bee") return true;
        return false;
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_named() && std::chrono::steady_clock::now() < end) {
        (*sampler)->take_into(store);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    stop = true;
    bee.join();
    EXPECT_TRUE(is_named());
}

TEST(StackSampler, SaysThatAProcessIsNotThere) {
    const auto sampler = StackSampler::of_process(0x7ffffff0, {});
    ASSERT_FALSE(sampler.has_value());
    EXPECT_NE(sampler.error().text().find("no process"), std::string::npos);
}

// A ring of one CPU is read, and only then gets a record older than what another's holds.
TEST(StackSampler, RecordsOfSeveralRingsKeepTheirOrder) {
    std::vector<sample::PerfRecord> waiting, out;
    const auto add = [&](std::int64_t time) { waiting.emplace_back().time_ns = time; };
    for (const std::int64_t time : {5, 9, 3, 8}) add(time);
    sample::move_until(7, waiting, out);
    add(7);
    sample::move_until(10, waiting, out);
    std::vector<std::int64_t> times;
    for (const sample::PerfRecord& record : out) times.push_back(record.time_ns);
    EXPECT_EQ(times, (std::vector<std::int64_t>{3, 5, 7, 8, 9}));
}

}  // namespace
}  // namespace gs
