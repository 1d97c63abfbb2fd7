// The Insights panel: cards of a trace with a fault, a click on evidence, the choice of a process,
// a trace that grows.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "panels/trace/insights_panel.h"
#include "profiler/store/store.h"
#include "tests/panels/headless.h"
#include "tests/unit/trace_maker.h"

namespace gs {
namespace {

using namespace test;

/// A loop that waits for the GPU in every iteration and leaves it idle for 5 of 10 ms.
TraceMaker waiting_trainer(std::uint32_t pid = 77, int iterations = 20) {
    Loop loop;
    loop.iterations = iterations;
    loop.edit = [](int, std::vector<LoopKernel>& kernels) { kernels.resize(20); };
    loop.more = [](TraceMaker& maker, int, double t) {
        maker.call(kMainThread, "cudaStreamSynchronize", t + 2500, t + 5025);
    };
    return make_loop(loop, TraceMaker(pid));
}

struct Shown {
    Headless gui{520, 900};
    TraceView view;
    InsightsPanel panel{view};
    TraceStore store;
    Snapshot snapshot;
    Given given;

    explicit Shown(const TraceMaker& maker) {
        TraceMaker copy = maker;
        copy.into(store);
        snapshot.trace = &store;
    }
    void draw() {
        Commands commands;
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({520, 900});
        ImGui::Begin("insights", nullptr, ImGuiWindowFlags_NoTitleBar);
        panel.draw(snapshot, commands);
        ImGui::End();
        for (auto& command : commands.take()) given.push_back(std::move(command));
    }
    void frame() {
        gui.frame([this] { draw(); });
    }
    /// Until the rules have been asked and the answer has been drawn.
    void settle() {
        frame();
        while (panel.busy()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            frame();
        }
        frame();
    }
};

TEST(InsightsPanel, ShowsWhatTheRulesFoundAndLeadsThere) {
    Shown shown(waiting_trainer());
    shown.settle();
    const Insights* insights = shown.panel.shown();
    ASSERT_NE(insights, nullptr);
    ASSERT_GE(insights->findings.size(), 2u);
    EXPECT_EQ(insights->findings[0].rule, "R1");
    EXPECT_EQ(insights->findings[1].rule, "R3");
    // Somewhere in the left half of the first, open card there are lines of evidence; clicks beside
    // them give nothing.
    for (float y = 30; y < 880 && !shown.view.jump; y += 9)
        shown.gui.click({60, y}, [&] { shown.draw(); });
    ASSERT_TRUE(shown.view.jump.has_value());
    const TracePlace place = *shown.view.jump;
    EXPECT_GE(place.range.begin_ns, shown.store.begin_ns());
    EXPECT_LE(place.range.end_ns, shown.store.end_ns());
    EXPECT_GT(place.range.length_ns(), 0);
    ASSERT_FALSE(shown.given.empty());
    EXPECT_EQ(shown.given.back().first, "panel");
    EXPECT_EQ(shown.given.back().second, std::vector<std::string>{"Timeline"});
}

TEST(InsightsPanel, ShowsRanksBesideEachOther) {
    const auto rank = [](int number) {
        TraceMaker maker(static_cast<std::uint32_t>(100 + number));
        maker.batch.labels.rank = number;
        for (int i = 0; i < 20; ++i) {
            const double t = 10'000 * i;
            maker.range(1, "forward", t, t + (number == 1 ? 8000 : 2000), 1);
            maker.range(1, "all_reduce", t + (number == 1 ? 8000 : 2000), t + 9000, 1);
            maker.range(1, "step", t, t + 9000, 0, i);
        }
        return maker;
    };
    Shown shown(rank(0));
    rank(1).into(shown.store);
    shown.settle();
    ASSERT_EQ(shown.panel.shown()->ranks.size(), 2u);
    EXPECT_EQ(shown.panel.shown()->ranks[1].slow, true);
    // A click on a rank chooses its process.
    for (float y = 30; y < 200 && shown.panel.process != 1; y += 9)
        shown.gui.click({60, y}, [&] { shown.draw(); });
    EXPECT_EQ(shown.panel.process, 1u);
}

TEST(InsightsPanel, FollowsATraceThatGrowsAndOneThatIsExchanged) {
    Shown shown(waiting_trainer());
    shown.settle();
    EXPECT_EQ(shown.panel.shown()->iterations, 17u);
    TraceMaker more = waiting_trainer(77, 40);
    std::erase_if(more.batch.spans,
                  [](const SpanEvent& e) { return e.begin_ns < TraceMaker::ns(199'000); });
    more.batch.gpu_work.clear();
    more.batch.api_calls.clear();
    more.into(shown.store);
    for (int i = 0; i < 70; ++i) shown.frame();  // a second passes
    shown.settle();
    EXPECT_EQ(shown.panel.shown()->iterations, 37u);
    TraceStore other;
    TraceMaker busy = make_loop({});
    busy.into(other);
    shown.snapshot.trace = &other;
    shown.settle();
    EXPECT_TRUE(shown.panel.shown()->findings.empty());
}

TEST(InsightsPanel, OfAFileItSaysWhatTheCommandLineDoes) {
    Shown shown(waiting_trainer(77, 400));
    shown.settle();
    EXPECT_LT(shown.panel.shown()->iterations, 130u) << "of a trace that grows the newest";
    TraceEntry file{.id = 5, .store = &shown.store};
    shown.snapshot.traces = {file};
    shown.snapshot.shown_trace = 5;
    shown.settle();
    const Insights whole = find_insights(shown.store);
    EXPECT_EQ(whole.iterations, 397u);
    EXPECT_EQ(shown.panel.shown()->iterations, whole.iterations);
    ASSERT_EQ(shown.panel.shown()->findings.size(), whole.findings.size());
    for (std::size_t i = 0; i < whole.findings.size(); ++i) {
        EXPECT_EQ(shown.panel.shown()->findings[i].rule, whole.findings[i].rule);
        EXPECT_EQ(shown.panel.shown()->findings[i].recoverable_ms,
                  whole.findings[i].recoverable_ms);
    }
    EXPECT_EQ(shown.panel.shown()->unanswered.size(), whole.unanswered.size());
}

TEST(InsightsPanel, OfTheSelectedStretchOrOneProcess) {
    Shown shown(waiting_trainer());
    TraceMaker second = make_loop({}, TraceMaker(99));
    second.into(shown.store);
    shown.settle();
    EXPECT_FALSE(shown.panel.shown()->findings.empty());
    shown.panel.process = 1;
    shown.settle();
    EXPECT_TRUE(shown.panel.shown()->findings.empty());
    shown.panel.process = 0;
    shown.view.selection = TimeRange{TraceMaker::ns(100'000), TraceMaker::ns(150'000)};
    shown.panel.only_selection = true;
    shown.settle();
    // Of the copied stretch the first three count as warm-up no more: they are too few to be
    // dropped.
    EXPECT_GE(shown.panel.shown()->iterations, 4u);
    EXPECT_LE(shown.panel.shown()->iterations, 5u);
}

TEST(InsightsPanel, SaysWhenThereIsNothing) {
    Shown shown(TraceMaker{});
    shown.settle();
    EXPECT_EQ(shown.panel.shown(), nullptr);
    shown.snapshot.trace = nullptr;
    shown.settle();
    EXPECT_EQ(shown.panel.shown(), nullptr);
}

TEST(Excerpt, AnswersAsTheWholeDoesWithinItsTime) {
    TraceStore whole;
    TraceMaker maker = waiting_trainer();
    maker.into(whole);
    const std::int64_t begin = TraceMaker::ns(50'000), end = TraceMaker::ns(120'000);
    const TraceStore part = whole.excerpt(begin, end);
    ASSERT_EQ(part.tracks().size(), whole.tracks().size());
    EXPECT_LT(part.span_count(), whole.span_count());
    for (std::uint32_t t = 0; t < part.tracks().size(); ++t)
        for (std::size_t r = 0; r < part.tracks()[t].rows.size(); ++r)
            for (const TraceSpan& span : part.tracks()[t].rows[r].view()) {
                EXPECT_GE(span.end_ns, begin);
                EXPECT_LE(span.begin_ns, end);
                const TraceSpan* same =
                    whole.tracks()[t].span_at(r, (span.begin_ns + span.end_ns) / 2);
                ASSERT_NE(same, nullptr);
                EXPECT_EQ(same->begin_ns, span.begin_ns);
                EXPECT_EQ(part.name(span.name), whole.name(same->name));
                const GpuWork *a = part.tracks()[t].work_of(r, span),
                              *b = whole.tracks()[t].work_of(r, *same);
                ASSERT_EQ(a == nullptr, b == nullptr);
                if (a == nullptr) continue;
                EXPECT_EQ(a->correlation, b->correlation);
                const auto launch = part.timeline().launching_span(t, r, span),
                           there = whole.timeline().launching_span(t, r, *same);
                if (there.span->end_ns <= begin) continue;  // it was launched before
                ASSERT_NE(launch.span, nullptr);
                EXPECT_EQ(launch.span->begin_ns, there.span->begin_ns);
                const auto range = range_of(part, t, r, span), other = range_of(whole, t, r, *same);
                EXPECT_EQ(range.track, other.track);
                EXPECT_EQ(range.inferred, other.inferred);
            }
}

}  // namespace
}  // namespace gs
