// Call stacks: samples of programs with known stacks show these stacks; samples survive export and
// import.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <protozero/pbf_reader.hpp>
#include <semaphore>
#include <thread>

#include "base/file.h"
#include "base/inflate.h"
#include "profiler/analysis/sample_columns.h"
#include "profiler/analysis/stack_profile.h"
#include "profiler/files/export_perfetto.h"
#include "profiler/files/export_stacks.h"
#include "profiler/files/import.h"
#include "profiler/sample/blocked_threads.h"
#include "profiler/sample/process_image.h"
#include "profiler/sample/stack_sampler.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"

extern char** environ;

namespace gs {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// ---- what is kept, written and read

/// A process with a range "step" from 10 to 20 ms on thread 7, and samples in and beside it.
TraceBatch sampled_batch() {
    TraceBatch b{.tracks = {{0, 41, 7, "main"}},
                 .names = {{1, "step"}},
                 .spans = {{10 * kMs, 20 * kMs, 0, 0, 1}},
                 .source = 41,
                 .pid = 41,
                 .process_name = "trainer",
                 .read_ns = 100 * kMs,
                 .realtime_offset_ns = 1'700'000'000 * std::int64_t{1'000'000'000}};
    b.frames = {{"main", "", "trainer", 0, FrameKind::native},
                {"train", "/src/train.py", "python", 12, FrameKind::python},
                {"matmul(float*)", "gemm.cpp", "libgemm.so", 88, FrameKind::native},
                {"blocked in futex", "", "kernel", 0, FrameKind::blocked}};
    b.stacks = {{kNoStack, 0}, {0, 1}, {1, 2}, {1, 3}};
    b.samples = {{12 * kMs, 10 * kMs, 7, 2, false},
                 {15 * kMs, 10 * kMs, 7, 2, false},
                 {30 * kMs, 100 * kMs, 7, 3, true}};
    return b;
}

TraceStore sampled_store() {
    TraceStore store;
    store.ingest(sampled_batch());
    return store;
}

std::string folded(const TraceStore& store, const test::TemporaryFolder& folder) {
    EXPECT_TRUE(export_folded_stacks(store, folder / "a.stacks.folded").has_value());
    return *read_text_file(folder / "a.stacks.folded");
}

constexpr const char* kFolded =
    "trainer (41);main;main;train (/src/train.py:12);blocked in futex 100000\n"
    "trainer (41);main;step;main;train (/src/train.py:12);matmul(float*) 20000\n";

TEST(Stacks, AreFoldedByProcessThreadAndRange) {
    const test::TemporaryFolder folder;
    EXPECT_EQ(folded(sampled_store(), folder), kFolded);
}

TEST(Stacks, SurviveAPerfettoTrace) {
    const test::TemporaryFolder folder;
    const auto written = required(export_perfetto(sampled_store(), folder / "t.pftrace"));
    EXPECT_EQ(written.samples, 3u);
    TraceStore read;
    const auto summary = required(import_trace(folder / "t.pftrace", read));
    EXPECT_EQ(summary.samples, 3u);
    EXPECT_EQ(summary.skipped, 0u);
    EXPECT_EQ(folded(read, folder), kFolded);
    const StackFrame& frame = read.samples().frames()[2];
    EXPECT_EQ(read.name(frame.module), "libgemm.so");
    EXPECT_EQ(read.name(frame.file), "gemm.cpp");
    EXPECT_EQ(frame.line, 88u);
}

TEST(Stacks, ShareOfRangesIsTold) {
    const StackProfile profile(sampled_store(), {});
    const auto nodes = profile.nodes();
    EXPECT_EQ(nodes[0].cpu_ns, 20 * kMs);
    EXPECT_EQ(nodes[0].blocked_ns, 100 * kMs);
    ASSERT_EQ(nodes[0].children.size(), 2u);
    const ProfileNode& step = nodes[nodes[0].children[1]];
    EXPECT_EQ(step.kind, ProfileKind::range);
    EXPECT_EQ(step.cpu_ns, 20 * kMs);
    EXPECT_EQ(step.samples, 2u);
}

TEST(Stacks, GiveATraceItsLength) {
    EXPECT_EQ(sampled_store().begin_ns(), 2 * kMs) << "the range began later";
    EXPECT_EQ(sampled_store().end_ns(), 30 * kMs);
    TraceBatch batch = sampled_batch();
    batch.spans.clear();
    batch.samples.pop_back();
    TraceStore alone;
    alone.ingest(batch);
    EXPECT_EQ(alone.begin_ns(), 2 * kMs);
    EXPECT_EQ(alone.end_ns(), 15 * kMs);
}

TEST(Stacks, OfAStretchBearTheNameOfAThreadThatOnlyHasAMark) {
    const test::TemporaryFolder folder;
    TraceBatch batch = sampled_batch();
    batch.names.push_back({2, "mark"});
    batch.instants = {{3 * kMs, 0, 0, 2}};
    TraceStore store;
    store.ingest(batch);
    ASSERT_TRUE(export_perfetto(store, folder / "t.pftrace", {.begin_ns = 0, .end_ns = 5 * kMs}));
    TraceStore read;
    ASSERT_TRUE(import_trace(folder / "t.pftrace", read));
    ASSERT_EQ(read.instants().size(), 1u);
    EXPECT_EQ(read.tracks()[read.instants()[0].track].name, "main");
    EXPECT_EQ(read.samples().count(), 0u);
}

/// A sample of each of many threads, and several of the first at one time.
TraceStore threads_from(std::uint32_t first_tid) {
    TraceBatch batch = sampled_batch();
    batch.samples.clear();
    for (int i = 0; i < 300; ++i) batch.samples.push_back({15 * kMs, kMs, 1000, 2, false});
    for (std::uint32_t tid = 1001; tid < 3000; ++tid)
        batch.samples.push_back({20 * kMs, kMs, tid, 2, false});
    std::erase_if(batch.samples, [&](const SampleEvent& s) { return s.tid < first_tid; });
    TraceStore store;
    store.ingest(batch);
    return store;
}

TEST(Stacks, OfManyThreadsAreLookedAtInPiecesWhileTheyAreForgotten) {
    const TraceStore all = threads_from(1000), later = threads_from(1050);
    StackProfile profile{StackFilter{}};
    ASSERT_FALSE(profile.advance(all, -1));
    ASSERT_FALSE(profile.advance(all, -1));
    EXPECT_EQ(profile.nodes()[0].samples, 512u) << "up to thread 1212";
    int pieces = 0;
    while (!profile.advance(later, -1)) ++pieces;
    EXPECT_GE(pieces, 5);
    EXPECT_EQ(profile.nodes()[0].samples, all.samples().count()) << "none twice, none left out";
}

TEST(Stacks, AreKeptInOrderByThread) {
    TraceStore store = sampled_store();
    TraceBatch late = sampled_batch();
    late.samples = {{40 * kMs, kMs, 8, 2, false}, {13 * kMs, kMs, 7, 2, false}};
    store.ingest(late);
    const SampledThread* thread = store.samples().thread(0, 7);
    ASSERT_TRUE(thread);
    const auto at = [](std::int64_t ms) { return testing::Field(&StackSample::time_ns, ms * kMs); };
    EXPECT_THAT(thread->samples.view(), testing::ElementsAre(at(12), at(13), at(15), at(30)));
    EXPECT_EQ(store.samples().threads().size(), 2u);
    EXPECT_EQ(store.samples().count(), 5u);
    EXPECT_EQ(store.samples().thread(0, 9), nullptr);
}

TEST(Stacks, AreDrawnByThemselvesOrAsShares) {
    const TraceStore store = sampled_store();
    const auto samples = store.samples().thread(0, 7)->samples.view();
    const SampleRange all = samples_within(samples, 0, 30 * kMs);
    ASSERT_EQ(all.last - all.first, 3u);
    EXPECT_EQ(samples_within(samples, 16 * kMs, 20 * kMs).last, 3u) << "it waited at that time";
    const auto boxes = boxes_of(samples, all);
    ASSERT_EQ(boxes.size(), 3u);
    EXPECT_EQ(boxes[0].begin_ns, 2 * kMs);
    EXPECT_EQ(boxes[1].begin_ns, 12 * kMs) << "where the one before it ended";
    EXPECT_EQ(boxes[2].begin_ns, 15 * kMs);
    const auto columns = columns_of(samples, {0, 2}, 10 * kMs);
    ASSERT_EQ(columns.size(), 2u);
    EXPECT_NEAR(columns[0].on_cpu, 1.0, 1e-6);  // 2 to 10 of the first, 5 to 10 of the second
    EXPECT_NEAR(columns[1].on_cpu, 0.7, 1e-6);
    EXPECT_EQ(columns[1].count, 2u);
    const auto waiting = columns_of(samples, {2, 3}, 10 * kMs);
    EXPECT_NEAR(waiting.at(4).blocked, 1.0, 1e-6);
}

TEST(Stacks, VeryManyAreDrawnAsFew) {
    std::vector<StackSample> many;
    for (int i = 0; i < 100'000; ++i) many.push_back({(i + 1) * kMs, kMs, 0, i % 2 == 0});
    const auto columns = columns_of(many, {0, many.size()}, 1000 * kMs);
    EXPECT_NEAR(static_cast<double>(columns.size()), 100, 1);
    std::uint32_t count = 0;
    for (const SampleColumn& column : columns) count += column.count;
    EXPECT_EQ(count, 100'000u);
    EXPECT_GT(columns[50].on_cpu + columns[50].blocked, 0.95F);
}

/// A thread of this name that waits until it is let go.
class WaitingThread {
  public:
    explicit WaitingThread(const char* name) {
        thread_ = std::jthread([this, name] {
            ::pthread_setname_np(::pthread_self(), name);
            tid_ = static_cast<std::uint32_t>(::gettid());
            go_.acquire();
        });
        while (tid_ == 0) std::this_thread::yield();
    }
    ~WaitingThread() { go_.release(); }
    std::uint32_t tid() const { return tid_; }

  private:
    std::atomic<std::uint32_t> tid_{0};
    std::binary_semaphore go_{0};
    std::jthread thread_;
};

TEST(Stacks, OurOwnThreadInAProgramIsNoneOfIts) {
    const WaitingThread worker("worker"), service("gs-service"), cupti("gs-cupti");
    sample::BlockedThreads looked(static_cast<std::uint32_t>(::getpid()));
    const std::vector<std::uint32_t> tids{worker.tid(), service.tid(), cupti.tid()};
    std::vector<sample::BlockedThread> blocked;
    while ((blocked = looked.look(tids)).empty()) std::this_thread::yield();
    for (int i = 0; i < 20; ++i) {
        for (const sample::BlockedThread& thread : blocked) EXPECT_EQ(thread.tid, worker.tid());
        blocked = looked.look(tids);
    }
}

TEST(Stacks, GoWithinTheBudgetAndWithTheirProcess) {
    TraceStore store({.max_bytes = 1 << 20});
    for (int round = 0; round < 200; ++round) {
        TraceBatch b = sampled_batch();
        b.spans.clear();
        b.frames[2].line = static_cast<std::uint32_t>(round);
        b.read_ns = round * 1000 * kMs + 1;
        for (int i = 0; i < 2000; ++i) b.samples.push_back({b.read_ns + i, kMs, 7, 2, false});
        store.ingest(b);
    }
    EXPECT_LT(store.samples().bytes(), std::size_t{3} << 20);  // of the 12 MiB that came
    const SampledThread* const kept = store.samples().thread(0, 7);
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(kept->samples.back().time_ns, 199'000 * kMs + 2000) << "the newest";
    TraceBatch last = sampled_batch();
    last.samples.clear();
    last.read_ns = 300'000 * kMs;
    last.ended = true;
    store.ingest(last);
    store.clear();
    EXPECT_TRUE(store.retire(last.read_ns + 60'000 * kMs));
    EXPECT_TRUE(store.processes().empty());
}

TEST(Stacks, NoneIsAnErrorThatSaysHow) {
    const test::TemporaryFolder folder;
    const auto written = export_pprof(TraceStore(), folder / "a.pb.gz");
    ASSERT_FALSE(written.has_value());
    EXPECT_THAT(written.error().text(), testing::HasSubstr("--stacks"));
}

std::string unpacked(const std::string& packed) {
    Inflater inflater(Inflater::Format::gzip);
    std::string out(1 << 16, '\0');
    std::span<const std::byte> in = std::as_bytes(std::span(packed));
    std::span<std::byte> room = std::as_writable_bytes(std::span(out));
    EXPECT_EQ(inflater.step(in, room), Inflater::State::ended);
    out.resize(out.size() - room.size());
    return out;
}

TEST(Stacks, PprofHoldsThemLeafFirst) {
    const test::TemporaryFolder folder;
    ASSERT_TRUE(export_pprof(sampled_store(), folder / "a.pb.gz").has_value());
    const std::string bytes = unpacked(*read_text_file(folder / "a.pb.gz"));
    std::vector<std::string> texts, stacks;
    std::map<std::uint64_t, std::uint64_t> function_of, name_of, modules;
    std::vector<std::pair<std::vector<std::uint64_t>, std::vector<std::int64_t>>> samples;
    for (protozero::pbf_reader p(bytes); p.next();) {
        if (p.tag() == 6) {
            texts.emplace_back(p.get_view());
        } else if (p.tag() == 2) {
            auto& [ids, values] = samples.emplace_back();
            for (protozero::pbf_reader s = p.get_message(); s.next();) {
                if (s.tag() == 1)
                    for (const auto id : s.get_packed_uint64()) ids.push_back(id);
                else if (s.tag() == 2)
                    for (const auto value : s.get_packed_int64()) values.push_back(value);
                else
                    s.skip();
            }
        } else if (p.tag() == 3) {
            protozero::pbf_reader mapping = p.get_message();
            for (auto& name = modules[modules.size()]; mapping.next(5);)
                name = mapping.get_uint64();
        } else if (p.tag() == 4 || p.tag() == 5) {
            const bool is_function = p.tag() == 5;
            std::uint64_t id = 0, other = 0;
            for (protozero::pbf_reader m = p.get_message(); m.next();) {
                if (m.tag() == 1)
                    id = m.get_uint64();
                else if (m.tag() == 2 && is_function)
                    other = m.get_uint64();
                else if (m.tag() == 4 && !is_function) {
                    protozero::pbf_reader line = m.get_message();
                    while (line.next(1)) other = line.get_uint64();
                } else
                    m.skip();
            }
            (is_function ? name_of : function_of)[id] = other;
        } else {
            p.skip();
        }
    }
    ASSERT_EQ(samples.size(), 2u);
    EXPECT_EQ(texts.front(), "");
    EXPECT_EQ(texts[modules[0]], "trainer") << "what pprof calls the profile's file";
    for (const auto& [ids, values] : samples) {
        std::string stack;
        for (const std::uint64_t id : ids) stack += texts[name_of[function_of[id]]] + "<";
        stacks.push_back(fmt::format("{} {} {} {}", stack, values[0], values[1], values[2]));
    }
    EXPECT_THAT(stacks,
                testing::UnorderedElementsAre("matmul(float*)<train<main< 2 20000000 0",
                                              "blocked in futex<train<main< 1 0 100000000"));
}

// ---- programs whose stacks are known

constexpr int kHz = 1999;  // no beat of what the programs do

struct Sampled {
    TraceStore store;
    std::string refused;  ///< why nothing was sampled
    std::vector<std::string> remarks;
};

Sampled sample_program(std::vector<std::string> words) {
    Sampled out;
    auto sampler = StackSampler::of_next_program({.hz = kHz});
    if (!sampler) {
        out.refused = sampler.error().text();
        return out;
    }
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = -1;
    EXPECT_EQ(::posix_spawnp(&pid, arguments[0], nullptr, nullptr, arguments.data(), environ), 0);
    int status = 0;
    while (::waitpid(pid, &status, WNOHANG) == 0) {
        (*sampler)->take_into(out.store);
        ::usleep(10'000);
    }
    EXPECT_EQ(status, 0);
    (*sampler)->finish(out.store);
    out.remarks = (*sampler)->remarks();
    return out;
}

/// Times of all nodes of a function whose ancestors are there.
struct Times {
    std::int64_t cpu_ns = 0, blocked_ns = 0;
    std::uint64_t samples = 0;
    bool called_right = true;
};
Times times_of(const TraceStore& store, const StackProfile& profile, std::string_view function,
               std::string_view caller) {
    Times out;
    for (const ProfileNode& node : profile.nodes()) {
        if (&node == &profile.nodes()[0] || store.name(node.name) != function) continue;
        out.cpu_ns += node.cpu_ns;
        out.blocked_ns += node.blocked_ns;
        out.samples += node.samples;
        out.called_right &= store.name(profile.nodes()[node.parent].name) == caller;
    }
    return out;
}

/// The half second that a program rests, which a busy machine makes longer; it is seen from one
/// look to the next.
void expect_rest(const Times& rest) { EXPECT_GE(rest.blocked_ns, 400 * kMs); }

/// Seven tenths, within two hundredths and what so few samples may be off by chance.
void expect_seven_tenths(const Times& heavy, const Times& light) {
    const double all = static_cast<double>(heavy.cpu_ns + light.cpu_ns);
    const double count = static_cast<double>(heavy.samples + light.samples);
    ASSERT_GT(count, 100);
    EXPECT_NEAR(static_cast<double>(heavy.cpu_ns) / all, 0.7, 0.02 + 3 * std::sqrt(0.21 / count));
}

TEST(StackSampler, TellsWhatACppProgramDid) {
    const Sampled sampled = sample_program({GAUSSCOPE_STACK_PROGRAM, "2"});
    if (!sampled.refused.empty()) GTEST_SKIP() << sampled.refused;
    if (!sample::has_unwinder()) GTEST_SKIP() << "built without libdw";
    const StackProfile profile(sampled.store, {.by_line = false});
    const Times heavy = times_of(sampled.store, profile, "heavy_work()", "work()");
    const Times light = times_of(sampled.store, profile, "light_work()", "work()");
    const Times rest = times_of(sampled.store, profile, "rest()", "main");
    EXPECT_TRUE(heavy.called_right && light.called_right && rest.called_right);
    expect_seven_tenths(heavy, light);
    expect_rest(rest);
    EXPECT_THAT(testing::PrintToString(sampled.remarks), testing::Not(testing::HasSubstr("libdw")));
}

// In an order that has no period the samples could fall in step with, as the C++ program's.
constexpr const char* kScript = R"(import random, time
def spin():
    total = 0
    for i in range(2000):
        total += i
    return total
def heavy():
    spin()
def light():
    spin()
class Rest:
    def wait(self):
        time.sleep(0.5)
while time.process_time() < 0.8:
    heavy() if random.random() < 0.7 else light()
Rest().wait()
)";

TEST(StackSampler, TellsWhatAPythonProgramDid) {
    const test::TemporaryFolder folder;
    const std::string script = (folder / "known.py").string();
    std::ofstream(script) << kScript;
    const Sampled sampled = sample_program({"/usr/bin/python3", script});
    if (!sampled.refused.empty()) GTEST_SKIP() << sampled.refused;
    if (!sample::has_unwinder()) GTEST_SKIP() << "built without libdw: _PyRuntime is not found";
    for (const std::string& remark : sampled.remarks)
        if (remark.find("Python") != remark.npos) GTEST_SKIP() << remark;
    const StackProfile profile(sampled.store, {.by_line = false});
    const Times heavy = times_of(sampled.store, profile, "heavy", "<module>");
    const Times light = times_of(sampled.store, profile, "light", "<module>");
    EXPECT_TRUE(heavy.called_right && light.called_right);
    EXPECT_GT(std::min(heavy.samples, light.samples), 20u);
    expect_seven_tenths(heavy, light);
    expect_rest(times_of(sampled.store, profile, "Rest.wait", "<module>"));
    bool line_of_sleep = false;
    for (const StackFrame& frame : sampled.store.samples().frames())
        line_of_sleep |= sampled.store.name(frame.function) == "Rest.wait" && frame.line == 13 &&
                         sampled.store.name(frame.file) == script;
    EXPECT_TRUE(line_of_sleep);
}

TEST(StackSampler, NumbersAProcessInAContainerAsItDoesItself) {
    if (std::system("unshare --pid --fork --mount-proc true 2>/dev/null") != 0)
        GTEST_SKIP() << "no namespace of processes may be made here";
    Sampled sampled = sample_program(
        {"unshare", "--pid", "--fork", "--mount-proc", GAUSSCOPE_STACK_PROGRAM, "0.2"});
    if (!sampled.refused.empty()) GTEST_SKIP() << sampled.refused;
    const auto& processes = sampled.store.processes();
    const auto program = std::find_if(processes.begin(), processes.end(),
                                      [](const auto& p) { return p.name == "stack_program"; });
    ASSERT_NE(program, processes.end());
    EXPECT_EQ(program->pid, 1u);
    EXPECT_GT(program->visible_pid, 1u);
    const auto index = static_cast<std::uint32_t>(program - processes.begin());
    ASSERT_NE(sampled.store.samples().thread(index, 1), nullptr);
    EXPECT_EQ(thread_name(sampled.store, index, 1), "stack_program");
}

// Its ring has been read by a container's numbers or by those outside.
TEST(Stacks, AndTheRingOfAProcessAreOneProcess) {
    TraceBatch ring = sampled_batch(), other = sampled_batch();
    ring.visible_pid = 4711;
    ring.process_start = 5;
    TraceBatch stacks = ring;
    stacks.source = 1u << 31;
    stacks.spans.clear();
    other.source = 43;
    other.visible_pid = 4712;  // the same program of another container, started together
    other.process_start = 5;
    TraceStore store;
    for (const TraceBatch& batch : {ring, stacks, other}) store.ingest(batch);
    ASSERT_EQ(store.processes().size(), 2u);
    EXPECT_EQ(store.samples().thread(0, 7)->samples.size(), 6u);
    EXPECT_EQ(store.samples().thread(1, 7)->samples.size(), 3u);
    // By exec one of them becomes another program.
    stacks.process_name = other.process_name = "the next";
    for (const TraceBatch& batch : {stacks, other}) store.ingest(batch);
    EXPECT_EQ(store.processes()[0].name, ring.process_name) << "the ring's name came first";
    EXPECT_EQ(store.processes()[1].name, "the next");
    TraceBatch next = ring;
    ring.ended = true, next.source = 44, next.process_name = "another";  // by exec
    for (const TraceBatch& batch : {ring, next}) store.ingest(batch);
    EXPECT_EQ(store.processes()[0].name, "another");
}

}  // namespace
}  // namespace gs
