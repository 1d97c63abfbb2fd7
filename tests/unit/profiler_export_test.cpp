// The Perfetto export, checked by someone else: protoc decodes it, tests/support/check_trace.py
// looks at what it means.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <protozero/pbf_writer.hpp>
#include <thread>

#include "base/record/device_lane.h"
#include "base/record/scope.h"
#include "profiler/analysis/counterpart.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/files/export_perfetto.h"
#include "tests/support/own_ring.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

using protozero::pbf_writer;

constexpr std::int64_t kMs = 1'000'000;

class Export : public testing::Test {
  protected:
    struct Checked {
        int code = -1;
        std::string output;
    };
    Checked check(const fs::path& trace) {
        Checked out;
        const std::string command =
            fmt::format("python3 '{}' '{}' 2>&1", GAUSSCOPE_CHECK_TRACE, trace.string());
        std::FILE* pipe = ::popen(command.c_str(), "r");
        std::array<char, 4096> piece{};
        while (std::fgets(piece.data(), piece.size(), pipe) != nullptr) out.output += piece.data();
        out.code = WEXITSTATUS(::pclose(pipe));
        return out;
    }
    const test::TemporaryFolder folder_;
};

TEST_F(Export, RealRecordingIsAWellFormedTrace) {
    const auto collector = service::MultiCollector::of_own_ring();
    TraceStore store;
    const StringId own_name = register_string("a \"quoted\" n\xC3\xA4me");
    std::thread engine([&] {
        name_this_thread("engine");
        for (std::uint64_t step = 1; step <= 100; ++step) {
            const Span iteration(Stage::iteration, step);
            { const Span span(Stage::blend); }
            const Span backward(Stage::blend_backward);
            const Span nested(own_name, step * 2);
            record_counter(string_of(Stage::other), static_cast<double>(step));
        }
        record_instant(own_name, 3);
    });
    std::thread loader([] {
        name_this_thread("loader 1");
        for (int i = 0; i < 10; ++i) const Span span(Stage::decode_photo);
    });
    engine.join();
    loader.join();
    collector->finish(store);
    const fs::path path = folder_ / "real.pftrace";
    const auto summary = required(export_perfetto(store, path));
    EXPECT_EQ(summary.spans, 410u);
    EXPECT_EQ(summary.bytes, fs::file_size(path));
    const Checked checked = check(path);
    EXPECT_EQ(checked.code, 0) << checked.output;
    for (const char* expected :
         {"\"iteration\": 100", "\"blend backward\": 100", "\"decode photo\": 10", "\"engine\"",
          "\"loader 1\"", "\"payloads\": 201", "\"instants\": 1", "\"other\": 100",
          "\"lost records\": 1"})
        EXPECT_NE(checked.output.find(expected), std::string::npos)
            << expected << " not in " << checked.output;
}

TEST_F(Export, GpuStreamsAreTracksOfTheirOwnWithArrowsFromTheLaunch) {
    DeviceLane lane("CUDA stream training");
    for (std::uint64_t step = 1; step <= 20; ++step) {
        const Span iteration(Stage::iteration, step);
        for (const Stage stage : {Stage::sort, Stage::blend}) {
            const Span span(stage);
            const std::uint64_t begin = read_ticks();
            lane.write({begin, begin + 100, step, step, string_of(stage), 0, true, launch_point()});
            while (read_ticks() < begin + 200) {
            }
        }
    }
    auto reader = required(TraceReader::attach_own());
    TraceStore store;
    drain_ring(reader, store);
    const fs::path path = folder_ / "gpu.pftrace";
    const auto summary = required(export_perfetto(store, path));
    EXPECT_EQ(summary.streams, 1u);
    const Checked checked = check(path);
    EXPECT_EQ(checked.code, 0) << checked.output;
    for (const char* expected :
         {"\"streams\": [\"CUDA stream training\"]", "\"flows\": 40", "\"sort\": 40"})
        EXPECT_NE(checked.output.find(expected), std::string::npos)
            << expected << " not in " << checked.output;
}

/// Two calls of a module and their backward passes, the last first, each with the autograd node
/// in it; on a thread of its own, a node of a call that was not recorded.
TraceBatch training_step() {
    TraceBatch b{.names = {{1, "Net.fc", "PyTorch"},
                           {2, "Net.fc (backward)", "PyTorch"},
                           {3, "AddmmBackward0", "PyTorch"}},
                 .source = 5,
                 .pid = 5,
                 .read_ns = 1'000'000};
    for (const auto& [number, text] :
         {std::pair{1u, "forward"}, {2u, "backward"}, {3u, "autograd"}})
        b.names.push_back({3 + number, text, "PyTorch", 0, number});
    b.tracks = {{0, 5, 5, "main"}, {1, 5, 6, "pt_autograd_0"}};
    const auto add = [&](std::int64_t begin, std::uint64_t call, std::uint32_t name,
                         std::uint8_t depth, std::uint32_t track = 0) {
        b.spans.push_back({begin, begin + (depth == 0 ? 50 : 20), call, track, name, depth, true,
                           PayloadKind::whole, static_cast<std::uint8_t>(name)});
    };
    add(100, 1, 1, 0);
    add(200, 2, 1, 0);
    add(310, 2, 3, 1);
    add(300, 2, 2, 0);
    add(410, 1, 3, 1);
    add(400, 1, 2, 0);
    add(500, 9, 3, 0, 1);
    return b;
}

TEST_F(Export, BackwardRangesHaveArrowsFromTheirForwardCalls) {
    TraceStore store;
    store.ingest(training_step());
    const fs::path path = folder_ / "passes.pftrace";
    ASSERT_TRUE(export_perfetto(store, path));
    const Checked checked = check(path);
    EXPECT_EQ(checked.code, 0) << checked.output;
    EXPECT_NE(checked.output.find("\"flows\": 4"), std::string::npos) << checked.output;
    const ForwardRanges forward(store);
    for (const TraceSpan& span : store.tracks()[0].rows[1].view()) {
        const FoundSpan by = forward.of(0, span);
        ASSERT_TRUE(by.span);
        EXPECT_EQ(by.span->payload, span.payload);
        EXPECT_EQ(by.span, counterpart_of(store, 0, span).span);
    }
    EXPECT_FALSE(forward.of(0, store.tracks()[1].rows[0].view()[0]).span);
    // Half of it: no arrow from what is not there.
    ASSERT_TRUE(export_perfetto(store, path, {.begin_ns = 260}));
    EXPECT_EQ(check(path).code, 0) << check(path).output;
    EXPECT_NE(check(path).output.find("\"flows\": 0"), std::string::npos);
}

TEST_F(Export, NestsEvenWhenTheStoreDoesNot) {
    TraceStore store;
    TraceBatch batch{.pid = 5, .read_ns = 1'000 * kMs};
    batch.tracks.push_back({0, 5, 6, "odd", false});
    const auto add = [&](std::int64_t begin, std::int64_t end, int depth) {
        batch.spans.push_back(
            {begin * kMs, end * kMs, 0, 0, 0, static_cast<std::uint8_t>(depth), false});
    };
    add(5, 25, 1);  // outlasts the span around it
    add(10, 20, 0);
    add(15, 30, 2);  // and so does this
    add(30, 30, 0);  // no length
    add(30, 40, 3);  // its outer spans were lost
    store.ingest(batch);
    const fs::path path = folder_ / "odd.pftrace";
    ASSERT_TRUE(export_perfetto(store, path));
    const Checked checked = check(path);
    EXPECT_EQ(checked.code, 0) << checked.output;
    EXPECT_NE(checked.output.find("\"?\": 5"), std::string::npos) << checked.output;
}

TEST_F(Export, OnlyTheRangeAsked) {
    TraceStore store;
    TraceBatch batch{.pid = 5, .read_ns = 1'000 * kMs};
    batch.tracks.push_back({0, 5, 6, "t", false});
    for (std::int64_t i = 0; i < 100; ++i)
        batch.spans.push_back({i * kMs, i * kMs + kMs / 2, 0, 0, 0, 0, false});
    store.ingest(batch);
    const auto summary = required(export_perfetto(store, folder_ / "range.pftrace",
                                                  {.begin_ns = 10 * kMs, .end_ns = 19 * kMs}));
    EXPECT_EQ(summary.spans, 10u);
}

TEST_F(Export, EmptyStoreAndUnwritablePath) {
    const TraceStore store;
    const fs::path path = folder_ / "empty.pftrace";
    ASSERT_TRUE(export_perfetto(store, path));
    EXPECT_EQ(check(path).code, 0);
    const auto failed = export_perfetto(store, folder_ / "missing" / "x.pftrace");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind, ErrorKind::unwritable);
    EXPECT_FALSE(fs::exists(folder_ / "missing"));
}

TEST_F(Export, TheCheckerFindsWhatIsWrong) {
    const auto verdict = [&](auto build) {
        std::string bytes;
        pbf_writer trace(bytes);
        {
            pbf_writer p(trace, 1);
            p.add_uint64(10, 1);
            p.add_uint64(13, 1);
            {
                pbf_writer s(p, 6);
                for (const std::uint64_t clock : {1, 3}) {
                    pbf_writer c(s, 1);
                    c.add_uint64(1, clock);
                    c.add_uint64(2, 1);
                }
            }
            pbf_writer d(p, 59);
            d.add_uint64(58, 3);
        }
        {
            pbf_writer p(trace, 1);
            p.add_uint64(10, 1);
            pbf_writer t(p, 60);
            t.add_uint64(1, 9);
        }
        build(trace);
        const fs::path path = folder_ / "bad.pftrace";
        EXPECT_TRUE(write_text_file(path, bytes));
        return check(path);
    };
    const auto event = [](pbf_writer& trace, std::uint64_t time, std::uint64_t type,
                          std::uint64_t uuid) {
        pbf_writer p(trace, 1);
        p.add_uint64(8, time);
        p.add_uint64(10, 1);
        p.add_uint64(13, 2);
        pbf_writer e(p, 11);
        e.add_uint64(9, type);
        e.add_uint64(11, uuid);
    };
    EXPECT_EQ(verdict([](pbf_writer&) {}).code, 0);
    EXPECT_NE(verdict([&](pbf_writer& t) { event(t, 5, 2, 9); }).output.find("not begun"),
              std::string::npos);
    EXPECT_NE(verdict([&](pbf_writer& t) { event(t, 5, 1, 9); }).output.find("never end"),
              std::string::npos);
    EXPECT_NE(verdict([&](pbf_writer& t) { event(t, 5, 1, 9); }).output.find("does not resolve"),
              std::string::npos);
    EXPECT_NE(verdict([&](pbf_writer& t) { event(t, 5, 1, 8); }).output.find("not declared"),
              std::string::npos);
    EXPECT_NE(verdict([&](pbf_writer& t) {
                  event(t, 5, 1, 9);
                  event(t, 4, 2, 9);
              }).output.find("goes back"),
              std::string::npos);
    EXPECT_NE(verdict([](pbf_writer& t) {
                  pbf_writer p(t, 1);
                  p.add_uint64(99, 1);
              }).output.find("unknown field"),
              std::string::npos);
}

}  // namespace
}  // namespace gs
