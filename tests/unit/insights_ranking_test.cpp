// A trace in the shape of a PyTorch trainer with several faults of different size: the order of the
// findings, what they point at, the reports; options; several processes.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "profiler/insights/insight.h"
#include "tests/unit/trace_maker.h"

namespace gs {
namespace {

using namespace test;

/// 20 ms an iteration: next(loader) 6 ms, a pageable copy of 1 ms, forward and backward (launched
/// by autograd's thread) as short kernels, loss.item(), and the optimizer after a pause of 2 ms
/// that it leaves.
TraceMaker faulty_trainer(std::uint32_t pid = 77) {
    TraceMaker maker(pid);
    maker.device();
    maker.thread(kMainThread, "python");
    maker.thread(kAutogradThread, "pt_autograd_0");
    std::uint64_t correlation = 0;
    for (int i = 0; i < 30; ++i) {
        const double t = 20'000.0 * i;
        const auto launch = [&](std::uint32_t tid, const char* kernel, double begin,
                                double length) {
            ++correlation;
            maker.call(tid, "cudaLaunchKernel", t + begin - 8, t + begin - 2, correlation);
            maker.kernel(kernel, t + begin, t + begin + length, correlation);
        };
        maker.range(kMainThread, "next(dataloader)", t, t + 6000, 1);
        ++correlation;
        maker.call(kMainThread, "cudaMemcpyAsync", t + 6000, t + 7000, correlation);
        maker.copy(t + 6020, t + 7000, 4 << 20, MemoryType::pageable, MemoryType::device,
                   correlation);
        for (int k = 0; k < 80; ++k)
            launch(kMainThread, "elementwise_kernel", 7020 + 15 * k, 5);  // 10 us between
        maker.range(kMainThread, "forward", t + 7005, t + 8230, 1);
        for (int k = 0; k < 27; ++k) launch(kAutogradThread, "gemm", 8300 + 301 * k, 300);
        maker.range(kMainThread, "backward", t + 8280, t + 8300, 1);
        maker.copy(t + 16'440, t + 16'442, 4, MemoryType::device, MemoryType::pageable);
        maker.call(kMainThread, "cudaStreamSynchronize", t + 8400, t + 16'450);
        maker.range(kMainThread, "loss.item()", t + 8350, t + 16'460, 1);
        for (int k = 0; k < 4; ++k)
            launch(kMainThread, "multi_tensor_apply_kernel", 18'450 + 301 * k, 300);
        maker.range(kMainThread, "optimizer", t + 18'400, t + 19'700, 1);
        maker.range(kMainThread, "iteration", t, t + 20'000 - 1, 0, i);
    }
    return maker;
}

TEST(Ranking, LargestFirstAndEachAtItsSize) {
    TraceStore store;
    faulty_trainer().into(store);
    const Insights all = find_insights(store);
    std::string order;
    for (const Insight& i : all.findings) order += i.rule + " ";
    ASSERT_GE(all.findings.size(), 5u) << order;
    EXPECT_TRUE(order.starts_with("R1 R20 R3 R4 R2 ")) << order;
    EXPECT_EQ(all.iterations, 27u);
    EXPECT_NEAR(all.iteration_ms, 20, 0.01);
    EXPECT_NEAR(all.findings[1].recoverable_ms, 6.3,
                0.2);  // the loader, and what was left of the iteration before it
    EXPECT_NEAR(all.findings[2].recoverable_ms, 2.0, 0.1);           // after .item()
    EXPECT_NEAR(all.findings[3].recoverable_ms, 1.0, 0.1);           // the pageable copy
    EXPECT_NEAR(all.findings[4].recoverable_ms, 79 * 8.5e-3, 0.05);  // launches of 10 us
    EXPECT_NE(all.findings[2].text.find("loss.item()"), std::string::npos) << all.findings[2].text;
    for (std::size_t i = 1; i < all.findings.size(); ++i)
        EXPECT_FALSE(all.findings[i].recoverable_ms > all.findings[i - 1].recoverable_ms);
    for (const Insight& i : all.findings) {
        EXPECT_FALSE(i.title.empty() || i.text.empty() || i.advice.empty()) << i.rule;
        EXPECT_GE(i.recoverable_ms, 0) << i.rule;
        EXPECT_LE(i.share, 1) << i.rule;
        ASSERT_FALSE(i.evidence.empty()) << i.rule;
        EXPECT_LE(i.evidence.size(), 8u);
        for (const Evidence& e : i.evidence) {  // where a click leads, something is
            EXPECT_LE(e.begin_ns, e.end_ns);
            EXPECT_GE(e.begin_ns, store.begin_ns());
            EXPECT_LE(e.end_ns, store.end_ns());
            if (e.track != kNoTrack && i.rule != "R1" && i.rule != "R20") {
                EXPECT_NE(store.tracks()[e.track].span_at(e.row, (e.begin_ns + e.end_ns) / 2),
                          nullptr)
                    << i.rule << " " << e.text;
            }
        }
    }
}

TEST(Ranking, Reports) {
    TraceStore store;
    faulty_trainer().into(store);
    const Insights all = find_insights(store);
    const nlohmann::json json = insights_json(store, all);
    EXPECT_EQ(json["findings"].size(), all.findings.size());
    EXPECT_EQ(json["findings"][1]["rule"], "R20");
    EXPECT_NEAR(json["findings"][1]["recoverable_ms"].get<double>(), all.findings[1].recoverable_ms,
                1e-9);
    EXPECT_EQ(json["findings"][1]["confidence"], "measured");
    EXPECT_EQ(json["findings"].size() + json["clear"].size() + json["unanswered"].size(), 29u);
    const std::string text = insights_text(store, all);
    EXPECT_NE(text.find("27 iterations of 19.999"), std::string::npos) << text;
    EXPECT_LT(text.find("R20"), text.find("R4 "));
    EXPECT_NE(text.find("could not be checked"), std::string::npos);
    for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
        end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        if (line.find(" at ") == std::string::npos) {
            EXPECT_LE(line.size(), 112u) << line;
        }
    }
    const Insights none = find_insights(TraceStore{});
    const nlohmann::json empty = insights_json(TraceStore{}, none);
    EXPECT_TRUE(empty["iteration_ms"].is_null());
    EXPECT_NE(insights_text(TraceStore{}, none).find("no iterations"), std::string::npos);
}

TEST(Ranking, OnlyTheIterationsAskedFor) {
    TraceStore store;
    faulty_trainer().into(store);
    InsightOptions options{.max_iterations = 5};
    EXPECT_EQ(find_insights(store, options).iterations, 5u);
    options.max_iterations = 512;
    options.begin_ns = TraceMaker::ns(20'000 * 10);
    options.end_ns = TraceMaker::ns(20'000 * 20);
    const Insights part = find_insights(store, options);
    EXPECT_EQ(part.iterations, 10u);
    ASSERT_FALSE(part.findings.empty());
    for (const Insight& i : part.findings)
        for (const Evidence& e : i.evidence) EXPECT_LE(e.begin_ns, options.end_ns) << i.rule;
}

TEST(Ranking, OfTheProcessAskedForOrOfAll) {
    TraceStore store;
    faulty_trainer(100).into(store);
    Loop busy;
    make_loop(busy, TraceMaker(200)).into(store);
    const auto rules = [&](std::uint32_t process) {
        const InsightOptions options{.process = process};
        std::set<std::uint32_t> of;
        for (const Insight& i : find_insights(store, options).findings) of.insert(i.process);
        return of;
    };
    EXPECT_EQ(rules(0), std::set<std::uint32_t>({0}));
    EXPECT_EQ(rules(1), std::set<std::uint32_t>());
    EXPECT_EQ(rules(kAnyProcess), std::set<std::uint32_t>({0}));
}

TEST(Ranking, ManyIterationsCostMilliseconds) {
    Loop loop;
    loop.iterations = 512;
    const TraceStore store = store_of(loop);  // 20480 kernels and as many calls
    const auto begin = std::chrono::steady_clock::now();
    const Insights all = find_insights(store);
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_EQ(all.iterations, 509u);
    RecordProperty("milliseconds", std::to_string(ms));
    std::printf("insights of %zu spans: %.1f ms\n", static_cast<std::size_t>(store.span_count()),
                ms);
}

}  // namespace
}  // namespace gs
