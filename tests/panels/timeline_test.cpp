// The timeline: rows, projections, facts, keys, measures and blocks, by events, drawn off-screen.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "panels/timeline/timeline_panel.h"
#include "profiler/analysis/timeline_facts.h"
#include "tests/panels/trace_fixture.h"
#include "tests/unit/trace_maker.h"

namespace gs::test {
namespace {

TEST_F(Traces, RowsOfAForeignProcessStandByThreadDeviceAndStream) {
    TimelinePanel timeline(view);
    const auto draw = alone(timeline);
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    std::vector<std::string> names;
    for (const TimelineRow& row : timeline.rows().rows()) names.push_back(row.label);
    const auto at = [&](const std::string& part) {
        return std::ranges::find_if(names, [&](const auto& n) { return n.find(part) != n.npos; }) -
               names.begin();
    };
    EXPECT_EQ(at("CUDA calls"), at("main") + 1) << testing::PrintToString(names);
    EXPECT_LT(at("GPU 0"), static_cast<std::ptrdiff_t>(names.size()))
        << testing::PrintToString(names);
    EXPECT_GT(at("device memory"), at("GPU 0"));

    // Two processes: each with a heading; a folded one takes its rows with it.
    TraceStore both;
    fill_trainer(both, {});
    fill_trainer(both, {.pid = 5151, .source = 2});
    snapshot.traces[1].store = &both;
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    const auto count = [&](TimelineRow::Kind kind) {
        const auto rows = timeline.rows().rows();
        return std::ranges::count(rows, kind, &TimelineRow::kind);
    };
    ASSERT_EQ(count(TimelineRow::Kind::process), 2);
    const auto all = timeline.rows().rows().size();
    const std::uint64_t second = [&] {
        for (const TimelineRow& r : timeline.rows().rows())
            if (r.kind == TimelineRow::Kind::process && r.process == 1) return r.key;
        return std::uint64_t{0};
    }();
    timeline.rows().move(second, -1);
    ui.frame(draw);
    EXPECT_EQ(timeline.rows().rows()[0].key, second);
    timeline.rows().fold(second, true);
    ui.frame(draw);
    EXPECT_EQ(timeline.rows().rows().size(), all / 2 + 1);
    timeline.rows().hide(second);
    ui.frame(draw);
    EXPECT_EQ(count(TimelineRow::Kind::process), 1);
    EXPECT_NE(timeline.rows().rows()[0].key, second);
    timeline.rows().show_all();
    timeline.rows().fold_all(false);
    timeline.rows().set_filter("decode");
    ui.frame(draw);
    EXPECT_TRUE(timeline.rows().rows().empty());
    timeline.rows().set_filter("pt_data");
    ui.frame(draw);
    EXPECT_EQ(timeline.rows().rows().size(), 4u) << "the loader of each, below its process";
}

TEST_F(Traces, RangesAreProjectedOntoTheGpu) {
    const std::uint32_t stream = stream_of(trainer, 7);
    ASSERT_NE(stream, kNoTrack);
    RangeProjection projection(stream);
    while (projection.follow(trainer, kAllTime.end_ns, 13) > 0) continue;
    ASSERT_GE(projection.levels().size(), 3u);
    const auto iterations = projection.levels()[0].view();
    ASSERT_EQ(iterations.size(), 40u);
    std::uint64_t works = 0;
    for (const ProjectedRange& range : iterations) {
        EXPECT_EQ(trainer.name(range.span.name), "iteration");
        works += range.works;
    }
    EXPECT_EQ(works, 40u * kTrainerKernels);
    // From the first kernel's begin to the last one's end.
    const auto spans = trainer.tracks()[stream].rows[0].view();
    EXPECT_EQ(iterations[0].span.begin_ns, spans[0].begin_ns);
    EXPECT_EQ(iterations[0].span.end_ns, spans[kTrainerKernels - 1].end_ns);
    std::set<std::string> inner;
    for (const ProjectedRange& range : projection.levels()[1].view())
        inner.emplace(trainer.name(range.span.name));
    EXPECT_THAT(inner, testing::ElementsAre("backward", "forward", "optimizer"));
}

TEST_F(Traces, FactsOfAKernelAndACopy) {
    const auto value = [](const std::vector<SpanFact>& facts, const char* label) {
        for (const SpanFact& fact : facts)
            if (fact.label == label) return fact.value;
        return std::string("(none)");
    };
    const std::uint32_t stream = stream_of(trainer, 7), copies = stream_of(trainer, 14);
    const TraceSpan& kernel = trainer.tracks()[stream].rows[0].view()[5];
    const auto facts = facts_of(trainer, stream, 0, kernel);
    EXPECT_EQ(value(facts, "duration"), "1.90 ms");
    EXPECT_EQ(value(facts, "grid"), "2,400 x 1 x 1");
    EXPECT_EQ(value(facts, "block"), "256 x 1 x 1");
    EXPECT_EQ(value(facts, "registers"), "128 a thread");
    // 65536 registers / (128 * 256) = 2 blocks of 8 warps of 64: a quarter.
    EXPECT_THAT(value(facts, "occupancy"), testing::StartsWith("25.0 %"));
    EXPECT_THAT(value(facts, "occupancy"), testing::HasSubstr("registers"));
    EXPECT_THAT(value(facts, "launched"), testing::HasSubstr("cudaLaunchKernel"));
    EXPECT_THAT(value(facts, "in range"), testing::StartsWith("backward (inferred"));
    EXPECT_THAT(value(facts, "begins"), testing::HasSubstr(" s after the first"));
    EXPECT_THAT(value(facts, "of its name"), testing::HasSubstr(" x the median of "));
    EXPECT_EQ(value(facts, "inside"), "(none)") << "a stream's work is never nested";
    const TraceSpan& copy = trainer.tracks()[copies].rows[0].view()[0];
    const auto of_copy = facts_of(trainer, copies, 0, copy);
    EXPECT_EQ(value(of_copy, "rate"), "10.8 GB/s");  // 12441600 bytes in 1.15 ms
    EXPECT_EQ(value(of_copy, "memory"), "pageable to device");
    EXPECT_EQ(rate_text(100, 0), "");

    // The other way: the call knows what it launched.
    const auto launch = trainer.timeline().launching_span(stream, 0, kernel);
    ASSERT_TRUE(launch.span);
    const auto works = launched_by(trainer, launch.track, launch.row, *launch.span);
    ASSERT_EQ(works.size(), 1u);
    EXPECT_EQ(works[0].span, &kernel);
}

TEST_F(Traces, KeysWalkMeasureAndZoom) {
    TimelinePanel timeline(view);
    const auto draw = alone(timeline);
    ui.move_mouse({700, 400});
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    EXPECT_FALSE(timeline.axis.follow) << "a file is shown whole";
    const std::uint32_t stream = stream_of(trainer, 7);
    const auto spans = trainer.tracks()[stream].rows[0].view();
    timeline.select(trainer, stream, 0, spans[1].begin_ns);
    ASSERT_TRUE(timeline.selected());
    ui.press(ImGuiKey_RightArrow, draw);
    EXPECT_EQ(timeline.selected()->span.begin_ns, spans[1 + kTrainerKernels].begin_ns)
        << "the next of its name";
    ui.press(ImGuiKey_LeftArrow, draw);
    ui.press(ImGuiKey_LeftArrow, draw);
    EXPECT_EQ(timeline.selected()->span.begin_ns, spans[1].begin_ns)
        << "there is none before the first";
    ui.press('F', draw);
    EXPECT_NEAR(timeline.axis.span_ns, 1.3 * static_cast<double>(spans[1].length_ns()), 1);
    ui.press('M', draw);
    ASSERT_TRUE(view.selection);
    EXPECT_EQ(*view.selection, (TimeRange{spans[1].begin_ns, spans[1].end_ns}));
    EXPECT_TRUE(timeline.takes_key("Escape"));
    ui.press(ImGuiKey_Escape, draw);
    EXPECT_FALSE(view.selection);
    EXPECT_TRUE(timeline.selected());
    ui.press(ImGuiKey_Escape, draw);
    EXPECT_FALSE(timeline.selected());
    EXPECT_FALSE(timeline.takes_key("Escape")) << "nothing is left for it to end";
    ui.press('F', draw);
    EXPECT_NEAR(timeline.axis.span_ns,
                1.02 * static_cast<double>(trainer.end_ns() - trainer.begin_ns()), 1);
    const double whole = timeline.axis.span_ns;
    ui.hold('W');
    for (int i = 0; i < 10; ++i) ui.frame(draw);
    ui.hold('W', false);
    EXPECT_LT(timeline.axis.span_ns, whole);
}

/// Samples of the trainer's main thread, every millisecond from its first span on.
void sample_main(TraceStore& trainer, std::uint32_t track, int count) {
    TraceBatch batch{.pid = trainer.processes()[0].pid};
    batch.source = trainer.processes()[0].source;
    batch.read_ns = trainer.sources().read_ns();
    batch.frames = {{"train", "train.py", "python", 3, FrameKind::python},
                    {"matmul(float*)", "", "libgemm.so", 0, FrameKind::native}};
    batch.stacks = {{kNoStack, 0}, {0, 1}};
    for (int i = 1; i <= count; ++i)
        batch.samples.push_back({trainer.begin_ns() + i * std::int64_t{1'000'000}, 1'000'000,
                                 trainer.tracks()[track].tid, 1, false});
    trainer.ingest(batch);
}

TEST_F(Traces, CallStacksHaveARowBelowTheirThread) {
    const std::uint32_t track = track_called(trainer, "main");
    ASSERT_NE(track, kNoTrack);
    sample_main(trainer, track, 1000);
    TimelinePanel timeline(view);
    const auto draw = alone(timeline);
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    const auto rows = timeline.rows().rows();
    const auto row = std::ranges::find(rows, TimelineRow::Kind::samples, &TimelineRow::kind);
    ASSERT_NE(row, rows.end());
    EXPECT_EQ(row->label, "call stacks");
    EXPECT_EQ((row - 1)->index, track);
    const auto find_samples = [&] {
        for (float y = 60; y < 790 && !timeline.pointed_samples(); y += 4) {
            ui.move_mouse({640, y});
            ui.frame(draw);
        }
        return timeline.pointed_samples();
    };
    const auto many = find_samples();
    ASSERT_TRUE(many);
    EXPECT_GT(many->count, 1u);
    EXPECT_GT(many->on_cpu, 0.9F);
    const ImVec2 at = ImGui::GetIO().MousePos;
    ui.click(at, draw);
    EXPECT_LT(timeline.axis.span_ns, 1e8) << "a click on many shows them";
    timeline.axis.zoom_to(trainer.begin_ns(), trainer.begin_ns() + 20'000'000);
    ui.frame(draw);
    ASSERT_TRUE(find_samples());
    EXPECT_EQ(find_samples()->count, 1u);
    ui.click(ImGui::GetIO().MousePos, draw);
    ASSERT_TRUE(timeline.selected_sample());
    const std::int64_t time = timeline.selected_sample()->sample.time_ns;
    ui.press(ImGuiKey_RightArrow, draw);
    EXPECT_EQ(timeline.selected_sample()->sample.time_ns, time + 1'000'000);
    EXPECT_TRUE(timeline.takes_key("Escape"));
    ui.press(ImGuiKey_Escape, draw);
    EXPECT_FALSE(timeline.selected_sample());
}

TEST_F(Traces, CallStacksAloneAreATimeline) {
    TraceStore alone_store;
    TraceBatch batch{
        .frames = {{"main", "", "program", 0, FrameKind::native}},
        .stacks = {{kNoStack, 0}},
        .samples = {{50'000'000, 10'000'000, 41, 0, false}, {60'000'000, 10'000'000, 41, 0, false}},
        .pid = 41,
        .read_ns = 1};
    alone_store.ingest(batch);
    snapshot.traces[1].store = &alone_store;
    TimelinePanel timeline(view);
    const auto draw = alone(timeline);
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    ASSERT_EQ(timeline.rows().rows().size(), 1u);
    EXPECT_EQ(timeline.rows().rows()[0].label, "thread 41");
    EXPECT_NEAR(timeline.axis.span_ns, 1.02 * 20e6, 1) << "all of it is shown";
}

TEST_F(Traces, APauseOfRecordingIsToldAndIsNotIdleTime) {
    TraceMaker maker;
    for (int i = 0; i < 10; ++i)
        if (i < 4 || i > 6) maker.range(1, "work", 1000 * i, 1000 * i + 1000);
    maker.batch.pauses = {{TraceMaker::ns(4000), TraceMaker::ns(7000), true, true}};
    TraceStore paused = maker.store();
    snapshot.traces[1].store = &paused;
    TimelinePanel timeline(view);
    const auto draw = alone(timeline);
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    const float left = 1280 * 0.17F, x = left + 0.55F * (1280 - left);
    for (float y = 60; y < 400 && !timeline.pointed_pause(); y += 4) {
        ui.move_mouse({x, y});
        ui.frame(draw);
    }
    ASSERT_TRUE(timeline.pointed_pause());
    EXPECT_EQ(timeline.pointed_pause()->length(), 3'000'000);
    const SpanBlock all{TraceMaker::ns(0), TraceMaker::ns(10'000), 0, 7, 0, 0.7F};
    const Intervals pauses = pauses_of(paused, 0, Unrecorded::ranges);
    EXPECT_NEAR(recorded_share(all, pauses), 1.0, 1e-6);
    EXPECT_NEAR(recorded_share(all, {}), 0.7, 1e-6);
}

TEST(TimelineRows, TracksOfVeryManyRowsAreFoldedAtFirst) {
    TraceMaker maker;
    maker.thread(1, "server");
    for (int i = 0; i < 100; ++i)
        maker.batch.async_spans.push_back(
            {TraceMaker::ns(i), TraceMaker::ns(1000 + i), 0, 0, maker.name("request"), false});
    TraceStore store = maker.store();
    TimelineRows rows;
    rows.update(store);
    ASSERT_EQ(rows.rows().size(), 1u);
    EXPECT_TRUE(rows.rows()[0].folded);
    EXPECT_TRUE(rows.reveal(store, rows.rows()[0].index));
    EXPECT_FALSE(rows.rows()[0].folded);
}

TEST(SpanFacts, TellTheParentAndHowManyTimesTheMedianItIs) {
    TraceMaker maker;
    for (int i = 0; i < 9; ++i) {
        maker.range(1, "blend", 1000 * i + 100, 1000 * i + (i == 8 ? 700 : 300), 1);
        maker.range(1, "iteration", 1000 * i, 1000 * i + 800, 0, i);
    }
    TraceStore store = maker.store();
    const auto facts = facts_of(store, 0, 1, store.tracks()[0].rows[1].view()[8]);
    const auto value = [&](const char* label) {
        for (const SpanFact& fact : facts)
            if (fact.label == label) return fact.value;
        return std::string("(none)");
    };
    EXPECT_EQ(value("duration"), "600 us");
    EXPECT_EQ(value("of its name"), "3 x the median of 200 us, of 9");
    EXPECT_EQ(value("begins"), "0.008100 s after the first");
    EXPECT_EQ(value("inside"), "iteration, 75.0 % of it");
    EXPECT_EQ(facts_of(store, 0, 0, store.tracks()[0].rows[0].view()[0])[2].label, "begins");
}

TEST(TimelineRows, CountersOfAGroupAreFoldedAtTheEnd) {
    TraceMaker maker;
    maker.range(1, "iteration", 0, 800, 0, 1);
    for (const char* name : {"machine: CPUs", "machine: load average", "Gaussians"})
        maker.counter(name, 10, 2);
    TraceStore store = maker.store();
    TimelineRows rows;
    const auto labels = [&] {
        rows.update(store);
        std::vector<std::string> out;
        for (const TimelineRow& row : rows.rows()) out.push_back(row.label);
        return out;
    };
    EXPECT_THAT(labels(), testing::ElementsAre("thread 1", "Gaussians", "machine"));
    rows.fold(rows.rows().back().key, false);
    EXPECT_THAT(labels(),
                testing::ElementsAre("thread 1", "Gaussians", "machine", "CPUs", "load average"));
    TimelineRows filtered;
    filtered.set_filter("load");
    filtered.update(store);
    ASSERT_EQ(filtered.rows().size(), 2u);
    EXPECT_EQ(filtered.rows()[1].label, "load average");
}

TEST_F(Traces, WhatEndsWhileItIsFollowedStaysInView) {
    TimelinePanel timeline(view);
    snapshot.traces[1].live = true;
    const auto draw = alone(timeline);
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    ASSERT_TRUE(timeline.axis.follow);
    const double span = timeline.axis.span_ns;
    snapshot.traces[1].live = false;
    snapshot.traces[1].ended = true;
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    EXPECT_FALSE(timeline.axis.follow);
    EXPECT_EQ(timeline.axis.span_ns, span);
    EXPECT_NEAR(static_cast<double>(timeline.axis.end_ns() - trainer.end_ns()), 0, 2);
}

TEST_F(Traces, AShiftDragMeasures) {
    TimelinePanel timeline(view);
    const auto draw = alone(timeline);
    ui.move_mouse({700, 400});
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    timeline.axis.zoom_to(trainer.begin_ns(), trainer.end_ns());
    ui.frame(draw);
    const std::int64_t before = timeline.axis.begin_ns;
    ui.hold_shift();
    ui.drag({500, 600}, {900, 610}, draw);
    ui.hold_shift(false);
    EXPECT_EQ(timeline.axis.begin_ns, before) << "it does not pan";
    ASSERT_TRUE(view.selection);
    settle(timeline, draw);
    // 400 of the pixels that the whole view has.
    const double share = 400.0 / 1280;
    EXPECT_NEAR(view.selection->length_ns() / timeline.axis.span_ns, share, 0.08);
    // The sum by stage against a plain one of GPU work.
    std::map<Stage, std::int64_t> wanted;
    for (const auto& [name, sum] : plain_sums(trainer, *view.selection, true))
        wanted[StageMap().stage_of(name)] += sum.total;
    std::map<Stage, std::int64_t> found;
    for (const NameFigures& row : timeline.sums().rows())
        if (row.kind == TrackKind::gpu_stream) found[row.stage] += row.self_ns;
    for (const Stage stage : {Stage::blend, Stage::blend_backward, Stage::sort, Stage::adam})
        EXPECT_EQ(found[stage], wanted[stage]) << name_of(stage);
    EXPECT_GT(wanted[Stage::blend_backward], 0);
}

TEST_F(Traces, ShortNamesAreWhatPeopleSay) {
    EXPECT_EQ(
        short_name("void gsplat::rasterize_to_pixels_3dgs_bwd_kernel<3u, float>(unsigned int)"),
        "rasterize_to_pixels_3dgs_bwd_kernel");
    EXPECT_EQ(
        short_name(
            "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<a<b(int)>>(c)"),
        "multi_tensor_apply_kernel");
    EXPECT_EQ(short_name("copy pageable to device"), "copy pageable to device");
    EXPECT_EQ(short_name("blend"), "blend");
    EXPECT_EQ(short_name("ns::f"), "f");
    EXPECT_EQ(short_name("void "), "void");
    EXPECT_TRUE(pattern_fits("a*C", "xAbbc"));
    EXPECT_FALSE(pattern_fits("c*a", "xAbbc"));
    EXPECT_TRUE(pattern_fits("", "x"));
    EXPECT_TRUE(pattern_fits("*", ""));
}

TEST(TimelineBlocks, AreTheSameWhereverTheViewBegins) {
    TraceStore store;
    fill_many(store, 200'000, 1'000'000);
    const auto spans = store.tracks()[0].rows[3].view();
    const auto span_of = [](const TraceSpan& s) -> const TraceSpan& { return s; };
    const std::int64_t quantum = block_quantum(3000);
    EXPECT_EQ(quantum, 4096);
    std::vector<SpanBlock> all, part;
    blocks_of(spans, store.begin_ns(), store.end_ns(), quantum, span_of, all);
    std::uint64_t counted = 0;
    for (const SpanBlock& block : all) counted += block.count;
    EXPECT_EQ(counted, spans.size());
    EXPECT_LT(all.size(), spans.size() / 2);
    blocks_of(spans, store.begin_ns() + 1'234'567, store.end_ns(), quantum, span_of, part);
    // The first may have lost those of its block that ended before the view.
    ASSERT_GT(part.size(), 100u);
    part.erase(part.begin());
    const auto same = std::ranges::find(all, part[0].first, &SpanBlock::first);
    ASSERT_NE(same, all.end());
    for (std::size_t i = 0; i < part.size(); ++i) {
        EXPECT_EQ(part[i].begin_ns, same[static_cast<std::ptrdiff_t>(i)].begin_ns);
        EXPECT_EQ(part[i].count, same[static_cast<std::ptrdiff_t>(i)].count);
        EXPECT_EQ(part[i].name, same[static_cast<std::ptrdiff_t>(i)].name);
    }
}

}  // namespace
}  // namespace gs::test
