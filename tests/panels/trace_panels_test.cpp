// The panels beside the timeline: figures against independent sums, distributions, call paths,
// comparisons; drawn off-screen.
#include <gmock/gmock.h>

#include <algorithm>

#include "panels/timeline/timeline_panel.h"
#include "panels/trace/compare_panel.h"
#include "panels/trace/find_panel.h"
#include "panels/trace/flame_panel.h"
#include "panels/trace/stages_panel.h"
#include "panels/trace/statistics_panel.h"
#include "tests/panels/trace_fixture.h"
#include "tests/unit/trace_maker.h"

namespace gs::test {
namespace {

TEST_F(Traces, StagesAreThoseOfTheShownTrace) {
    StagesPanel panel;
    const auto draw = alone(panel);
    const auto csv = [&] {
        ui.frame(draw);
        ImGui::SetClipboardText("");
        for (float x = 200; x < 495 && ImGui::GetClipboardText()[0] == 0; x += 11)
            ui.click({x, 20}, draw);
        return std::string(ImGui::GetClipboardText());
    };
    const std::string theirs = csv();
    EXPECT_NE(theirs.find("blend backward"), std::string::npos);
    snapshot.shown_trace = 3;
    EXPECT_NE(csv(), theirs) << "the slower one";
    snapshot.shown_trace = 1;
    const std::string ours = csv();
    EXPECT_NE(ours, theirs);
    snapshot.shown_trace = 2;
    EXPECT_EQ(csv(), theirs);
}

TEST_F(Traces, StatisticsAddUpToAnIndependentSum) {
    StatisticsPanel panel(view);
    const auto draw = alone(panel);
    for (const bool gpu : {false, true})
        for (const bool part : {false, true}) {
            panel.side = gpu ? StatisticsPanel::Side::gpu : StatisticsPanel::Side::ranges;
            view.selection.reset();
            if (part)
                view.selection =
                    TimeRange{trainer.begin_ns() + 33'333'333, trainer.begin_ns() + 77'777'777};
            settle(panel, draw);
            const auto wanted = plain_sums(trainer, view.selection.value_or(kAllTime), gpu);
            ASSERT_EQ(panel.rows().size(), wanted.size());
            for (const NameFigures& row : panel.rows()) {
                const Plain& p = wanted.at(std::string(trainer.name(row.name)));
                EXPECT_EQ(row.total_ns, p.total) << trainer.name(row.name);
                EXPECT_EQ(row.count, p.count) << trainer.name(row.name);
                EXPECT_EQ(row.min_ns, p.least);
                EXPECT_EQ(row.max_ns, p.most);
            }
            EXPECT_TRUE(std::ranges::is_sorted(panel.rows(), [](const auto& a, const auto& b) {
                return a.total_ns > b.total_ns;
            }));
        }
    // A row's own time is what its children leave.
    panel.side = StatisticsPanel::Side::ranges;
    view.selection.reset();
    settle(panel, draw);
    std::map<std::string, NameFigures> by_name;
    for (const NameFigures& row : panel.rows()) by_name[std::string(trainer.name(row.name))] = row;
    EXPECT_EQ(
        by_name["forward"].self_ns,
        by_name["forward"].total_ns - by_name["project"].total_ns - by_name["rasterize"].total_ns);
    EXPECT_EQ(by_name["iteration"].self_ns,
              by_name["iteration"].total_ns - by_name["forward"].total_ns -
                  by_name["backward"].total_ns - by_name["optimizer"].total_ns -
                  by_name["next batch"].total_ns);
    const std::string csv = panel.csv(trainer);
    EXPECT_EQ(std::ranges::count(csv, '\n'), static_cast<std::ptrdiff_t>(panel.rows().size()) + 1);
    EXPECT_NE(csv.find("\niteration,iteration,"), std::string::npos) << csv;
    panel.filter = "ward";
    ui.frame(draw);
    EXPECT_EQ(panel.rows().size(), 2u);
}

TEST_F(Traces, FindKnowsTheDistributionOfWhatItFinds) {
    FindPanel panel(view);
    view.find = "RASTERIZE_to_pixels*bwd";
    const auto draw = alone(panel);
    settle(panel, draw);
    const HitFigures& f = panel.search().figures();
    ASSERT_EQ(panel.search().found(), 40u);
    ASSERT_EQ(f.longest_first.size(), 40u);
    EXPECT_DOUBLE_EQ(f.mean_ns, 1'900'000);
    EXPECT_DOUBLE_EQ(f.percentiles[0], 1'900'000);
    EXPECT_EQ(f.longest_first[0].stage, Stage::blend_backward);

    panel.pattern.clear();
    view.find = "next batch";  // 120, 160, 200, 240, 280 microseconds in turn
    settle(panel, draw);
    const HitFigures& n = panel.search().figures();
    ASSERT_EQ(n.longest_first.size(), 40u);
    EXPECT_EQ(n.longest_first.front().length_ns, 280'000);
    EXPECT_EQ(n.longest_first.back().length_ns, 120'000);
    EXPECT_DOUBLE_EQ(n.mean_ns, 200'000);
    EXPECT_DOUBLE_EQ(n.percentiles[0], 200'000);
    EXPECT_DOUBLE_EQ(n.percentiles[3], 280'000);
    ASSERT_EQ(n.groups[static_cast<std::size_t>(HitGroup::parent)].size(), 1u);
    EXPECT_EQ(group_name(trainer, HitGroup::parent, n.groups[2][0].key), "iteration");
    ASSERT_EQ(n.groups[static_cast<std::size_t>(HitGroup::thread)].size(), 1u);
    EXPECT_EQ(group_name(trainer, HitGroup::thread, n.groups[1][0].key), "main");

    // A click shows the span in the timeline.
    for (float y = 60; y < 700 && !view.jump; y += 12) ui.click({900, y}, draw);
    ASSERT_TRUE(view.jump);
    TimelinePanel timeline(view);
    const TracePlace place = *view.jump;
    ui.frame(alone(timeline));
    ASSERT_TRUE(timeline.selected());
    EXPECT_EQ(timeline.selected()->span.begin_ns, place.range.begin_ns);
    EXPECT_EQ(trainer.name(timeline.selected()->span.name), "next batch");
    EXPECT_FALSE(view.jump);
}

TEST_F(Traces, FindSaysWhenThereIsNothing) {
    FindPanel panel(view);
    view.find = "no such name";
    settle(panel, alone(panel));
    EXPECT_EQ(panel.search().found(), 0u);
}

TEST_F(Traces, FlameGraphPutsSampledFunctionsUnderTheRangesAroundThem) {
    TraceBatch batch{.pid = trainer.processes()[0].pid};
    batch.source = trainer.processes()[0].source;
    batch.process_name = "python3";
    batch.read_ns = trainer.sources().read_ns();
    const CallNode* forward = nullptr;
    std::uint32_t tid = 0;
    std::int64_t inside = 0;
    for (const TraceTrack& track : trainer.tracks())
        for (const auto& row : track.rows)
            for (const TraceSpan& span : row.view())
                if (tid == 0 && track.kind == TrackKind::thread &&
                    trainer.name(span.name) == "forward") {
                    tid = track.tid;
                    inside = (span.begin_ns + span.end_ns) / 2;
                }
    ASSERT_NE(tid, 0u);
    batch.frames = {{"train", "train.py", "python", 3, FrameKind::python},
                    {"blocked in futex", "", "kernel", 0, FrameKind::blocked}};
    batch.stacks = {{kNoStack, 0}, {0, 1}};
    batch.samples = {{inside, 10'000'000, tid, 0, false}, {inside, 100'000'000, tid, 1, true}};
    trainer.ingest(batch);
    FlamePanel panel(view);
    panel.choice.side = CallSide::stacks;
    settle(panel, alone(panel));
    const auto nodes = panel.tree().nodes();
    EXPECT_EQ(nodes[0].total_ns, 110'000'000);
    for (const CallNode& node : nodes)
        if (node.frame == ProfileKind::python) forward = &node;
    ASSERT_TRUE(forward);
    EXPECT_EQ(trainer.name(forward->name), "train");
    EXPECT_EQ(trainer.name(nodes[forward->parent].name), "forward");
    EXPECT_EQ(forward->total_ns, 110'000'000);
    EXPECT_EQ(forward->blocked_ns, 100'000'000);
}

TEST_F(Traces, FlameGraphOfSamplesAloneShowsThem) {
    TraceBatch batch{.frames = {{"main", "", "program", 0, FrameKind::native}},
                     .stacks = {{kNoStack, 0}},
                     .samples = {{1'000'000, 10'000'000, 41, 0, false}},
                     .pid = 41,
                     .read_ns = 1};
    trainer = TraceStore();
    trainer.ingest(batch);
    FlamePanel panel(view);
    settle(panel, alone(panel));
    EXPECT_EQ(panel.choice.side, CallSide::stacks);
    ASSERT_EQ(panel.tree().nodes().size(), 2u);
    EXPECT_EQ(trainer.name(panel.tree().nodes()[1].name), "main");
}

TEST_F(Traces, FlameGraphPutsGpuWorkUnderTheRangesThatLaunchedIt) {
    FlamePanel panel(view);
    const auto draw = alone(panel);
    settle(panel, draw);
    const auto node_called = [&](const char* part, const char* parent) -> const CallNode* {
        for (const CallNode& node : panel.tree().nodes())
            if (&node != &panel.tree().nodes()[0] &&
                trainer.name(node.name).find(part) != std::string_view::npos &&
                trainer.name(panel.tree().nodes()[node.parent].name) == parent)
                return &node;
        return nullptr;
    };
    const auto cpu = plain_sums(trainer, kAllTime, false);
    const CallNode* forward = node_called("forward", "iteration");
    ASSERT_TRUE(forward);
    EXPECT_EQ(forward->total_ns, cpu.at("forward").total);
    EXPECT_EQ(forward->count, 40u);
    EXPECT_EQ(panel.tree().nodes()[0].total_ns,
              cpu.at("iteration").total + cpu.at("decode image").total);

    panel.choice.side = CallSide::gpu;
    settle(panel, draw);
    const auto gpu = plain_sums(trainer, kAllTime, true);
    std::int64_t all = 0;
    for (const auto& [name, sum] : gpu) all += sum.total;
    EXPECT_EQ(panel.tree().nodes()[0].total_ns, all);
    const CallNode* rasterize = node_called("rasterize_to_pixels_3dgs_fwd", "rasterize");
    ASSERT_TRUE(rasterize);
    EXPECT_EQ(rasterize->total_ns, 40 * 880'000);
    EXPECT_FALSE(rasterize->inferred);
    // Autograd's thread has no ranges: its work is where the time says.
    const CallNode* backward = node_called("rasterize_to_pixels_3dgs_bwd", "backward");
    ASSERT_TRUE(backward);
    EXPECT_EQ(backward->total_ns, 40 * 1'900'000);
    EXPECT_TRUE(panel.tree().nodes()[backward->parent].inferred);
    // A click zooms in, another on the path zooms out.
    for (float y = 60; y < 400 && panel.zoomed() == 0; y += 8) ui.click({300, y}, draw);
    EXPECT_NE(panel.zoomed(), 0u);
}

TEST_F(Traces, AWalkInPiecesSeesEverySpanOnceWhileTheStoreGrows) {
    TraceStore store;
    fill_many(store, 40'000, 1'000'000);
    SpanWalk walk(store, kAllTime, {});
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, int> seen;
    std::uint64_t before = 0, nested_wrong = 0;
    for (const TraceTrack& track : store.tracks())
        for (const auto& row : track.rows) before += row.size();
    const std::int64_t end = store.end_ns();
    for (int piece = 0; !walk.done(); ++piece) {
        walk.advance(
            store, 777,
            [&](const WalkedSpan& s, const WalkedSpan* parent) {
                if (s.span.begin_ns < end) ++seen[{s.track, s.row, s.span.begin_ns}];
                if (parent && (s.span.begin_ns < parent->span.begin_ns ||
                               s.span.end_ns > parent->span.end_ns))
                    ++nested_wrong;
            },
            [](const WalkedSpan&, const WalkedSpan*) {});
        if (piece == 5) fill_many(store, 3'000, end + 1'000'000);
    }
    EXPECT_EQ(seen.size(), before);
    EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& s) { return s.second == 1; }));
    EXPECT_EQ(nested_wrong, 0u);
}

TEST_F(Traces, CompareSaysWhatGotSlower) {
    ComparePanel panel(view);
    panel.sides[0] = {2, 0, std::nullopt};
    panel.sides[1] = {3, 0, std::nullopt};
    panel.compare_now();
    const auto draw = alone(panel);
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    ASSERT_TRUE(panel.result());
    const auto row = [&](Stage stage) {
        for (const ComparedRow& r : panel.result()->rows)
            if (r.kind == ComparedRow::Kind::gpu_stage && r.stage == stage) return r;
        return ComparedRow{};
    };
    EXPECT_EQ(row(Stage::blend_backward).verdict, Verdict::slower);
    EXPECT_NEAR(row(Stage::blend_backward).difference_ms, 0.3 * 1.9, 1e-6);
    EXPECT_EQ(row(Stage::blend).verdict, Verdict::same);
    // Two stretches of one trace.
    const std::int64_t middle = (slower.begin_ns() + slower.end_ns()) / 2;
    panel.sides[0] = {3, 0, TimeRange{slower.begin_ns(), middle}};
    panel.sides[1] = {3, 0, TimeRange{middle, slower.end_ns()}};
    panel.compare_now();
    ui.frame(draw);
    ASSERT_TRUE(panel.result());
    EXPECT_EQ(row(Stage::blend_backward).verdict, Verdict::same);
    // A side that was closed takes the result with it.
    snapshot.traces.pop_back();
    ui.frame(draw);
    EXPECT_FALSE(panel.result());
}

TEST_F(Traces, CompareProposesTheTracesThatWereOpened) {
    ComparePanel panel(view);
    const auto draw = alone(panel);
    const auto proposed = [&] {
        ui.frame(draw);
        return std::pair{panel.sides[0].trace, panel.sides[1].trace};
    };
    snapshot.traces[1].store = snapshot.traces[2].store = nullptr;  // still being read
    EXPECT_EQ(proposed(), (std::pair<std::uint64_t, std::uint64_t>{1, 1}));
    snapshot.traces[1].store = &trainer;
    EXPECT_EQ(proposed(), (std::pair<std::uint64_t, std::uint64_t>{1, 2}));
    snapshot.traces[2].store = &slower;
    EXPECT_EQ(proposed(), (std::pair<std::uint64_t, std::uint64_t>{2, 3}));
    panel.sides[0].trace = 1;
    EXPECT_EQ(proposed(), (std::pair<std::uint64_t, std::uint64_t>{1, 3})) << "a choice stays";
}

/// Iterations that consist of these ranges, microseconds each.
TraceStore iterations_of(const std::vector<std::pair<const char*, double>>& parts, int count = 8) {
    TraceMaker maker;
    double t = 0;
    for (int i = 0; i < count; ++i) {
        const double begin = t;
        for (const auto& [name, length] : parts) {
            maker.range(1, name, t, t + length, 1);
            t += length;
        }
        maker.range(1, "iteration", begin, t, 0, i);
    }
    TraceStore store = maker.store();
    return store;
}

TEST_F(Traces, StagesShowWholeNamesAndTheShareInANarrowPanel) {
    const TraceStore store = iterations_of({{"blend", 4000}, {"project backward", 6000}});
    snapshot.traces[1].store = &store;
    StagesPanel panel;
    ui.frame(alone(panel));
    ASSERT_EQ(panel.rows().back().name, "project backward + Adam");
    ui.frame([&] {
        for (const float room : {22.0F, 28.0F, 38.0F}) {
            const auto widths = panel.widths(room);
            const Table shown = panel.table(widths, 0);
            float all = 0;
            bool share = false;
            for (const auto& column : shown.columns) {
                if (std::ranges::count(widths.dropped, column.title) > 0) continue;
                all += column.width;
                share = share || column.title == "share";
            }
            EXPECT_LT(all, room);
            EXPECT_TRUE(share) << room;
            if (room > 25) {
                EXPECT_GT(shown.columns[0].width * em(),
                          ImGui::CalcTextSize("project backward + Adam").x + 0.8F * em());
            }
        }
    });
}

TEST_F(Traces, ALowPanelSaysWhyItHasNoHistory) {
    const TraceStore store = iterations_of({{"blend", 4000}, {"project backward", 6000}});
    snapshot.traces[1].store = &store;
    for (const float height : {200.0F, 900.0F}) {
        ui.restart(500, height);
        StagesPanel panel;
        const auto draw = alone(panel);
        for (int i = 0; i < 3; ++i) ui.frame(draw);
        for (float y = 10; y < 60; y += 8)
            for (float x = 10; x < 490 && panel.history; x += 8) {
                panel.view = StagesPanel::View::times;
                ui.click({x, y}, draw);
                ui.press(ImGuiKey_Escape, draw);
            }
        EXPECT_EQ(panel.history, height < 500) << "what the box does can be seen";
    }
}

TEST_F(Traces, StagesNameFusedAdamAndAForeignProgramsRanges) {
    const auto rows = [&](const std::vector<std::pair<const char*, double>>& parts) {
        const TraceStore store = iterations_of(parts);
        snapshot.traces[1].store = &store;
        StagesPanel panel;
        ui.frame(alone(panel));
        return panel.rows();
    };
    const auto names = [&](const std::vector<std::pair<const char*, double>>& parts) {
        std::vector<std::string> out;
        for (const StagesPanel::Row& row : rows(parts)) out.push_back(row.name);
        return out;
    };
    using testing::ElementsAre;
    EXPECT_THAT(names({{"blend", 4000}, {"project backward", 6000}, {"adam", 10}}),
                ElementsAre("iteration", "blend", "project backward + Adam"));
    EXPECT_THAT(names({{"blend", 4000}, {"project backward", 6000}, {"adam", 3000}}),
                ElementsAre("iteration", "blend", "project backward", "adam"));
    EXPECT_THAT(names({{"appearance", 2250}, {"blend", 1000}}),
                ElementsAre("iteration", "blend", "appearance"));
    const auto foreign = rows({{"forward", 4000}, {"log", 500}, {"backward", 5500}});
    ASSERT_EQ(foreign.size(), 4u);
    EXPECT_EQ(foreign[1].name, "backward");
    EXPECT_NEAR(foreign[1].cpu.p50_ms, 5.5, 1e-9);
    EXPECT_NEAR(foreign[1].cpu.share, 0.55, 1e-9);
    EXPECT_EQ(foreign[1].cpu.samples, 5u) << "without warm-up";
    EXPECT_EQ(foreign[3].name, "log");
    const auto little = rows({{"blend", 9900}, {"log", 100}});
    ASSERT_EQ(little.size(), 3u);
    EXPECT_EQ(little[2].name, "other");
    EXPECT_NE(little[2].note.find("log"), std::string::npos);
}

TEST_F(Traces, StagesSayWhyTheyAreEmpty) {
    const StagesPanel panel;
    const TraceStore nothing, begun = iterations_of({{"blend", 4000}}, 1);
    using testing::HasSubstr;
    EXPECT_THAT(panel.empty_text(nothing, nullptr, 0), HasSubstr("start training"));
    EXPECT_THAT(panel.empty_text(nothing, nullptr, 1033), HasSubstr("1,033 steps were trained"));
    EXPECT_THAT(panel.empty_text(begun, nullptr, 1034), HasSubstr("warm-up"));
    EXPECT_THAT(panel.empty_text(nothing, &snapshot.traces[1], 0), HasSubstr("before.pftrace"));
}

TEST_F(Traces, EveryTracePanelDrawsEveryTrace) {
    Workspace workspace;
    const auto draw = [&] { workspace.draw(snapshot, commands); };
    ASSERT_TRUE(workspace.show_layout("traces"));
    TraceEntry reading{
        .id = 9, .name = "big.pftrace", .progress = std::numeric_limits<double>::quiet_NaN()};
    snapshot.traces.push_back(reading);
    for (const std::uint64_t id : {1, 2, 3, 9}) {
        snapshot.shown_trace = id;
        for (const char* name : {"Timeline", "Find", "Statistics", "Flame graph", "Compare"}) {
            ASSERT_TRUE(workspace.show_panel(name));
            workspace.trace_view.find = "a";
            for (int i = 0; i < 3; ++i) EXPECT_GT(ui.frame(draw), 100) << name;
        }
        for (float y = 100; y < 780; y += 40)
            for (float x = 20; x < 1260; x += 97) {
                ui.move_mouse({x, y});
                ui.frame(draw);
            }
    }
}

}  // namespace
}  // namespace gs::test
