// What panels show of a GPU: stages on both sides, the roofline, streams in the timeline, device
// memory; also when it is nothing, or nonsense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "panels/timeline/timeline_panel.h"
#include "panels/trace/memory_panel.h"
#include "panels/trace/stages_panel.h"
#include "panels/viewport/overlays.h"
#include "panels/workspace.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

class Gpu : public testing::Test {
  protected:
    Gpu() : table(fake_table()), commands(table) {
        fill_store(store, 60, 5'000'000'000'000, true);
        snapshot = fake_snapshot(store, ViewMode::color);
        put_on_gpu(snapshot);
    }
    template <class Panel>
    auto alone(Panel& panel) {
        return [this, &panel] { draw_alone(panel, snapshot, commands); };
    }
    /// Clicks along a line until something is on the clipboard.
    std::string copied(const std::function<void()>& draw, float y, float from = 5) {
        ImGui::SetClipboardText("");
        for (float x = from; x < 495 && ImGui::GetClipboardText()[0] == 0; x += 11)
            ui.click({x, y}, draw);
        return ImGui::GetClipboardText();
    }

    Headless ui{500, 700};
    TraceStore store;
    std::vector<CommandInfo> table;
    Commands commands;
    Snapshot snapshot;
};

StageCosts costs_of(std::vector<StageCost> stages, double bandwidth = 1e12, double peak = 1e13) {
    return {.machine = "a GPU",
            .bytes_per_second = bandwidth,
            .operations_per_second = peak,
            .stages = std::move(stages)};
}

TEST(Roofline, stages_stand_where_their_counts_say) {
    // 1 ms each: 1e9 bytes take all of the bandwidth, 1e10 operations all of the arithmetic.
    const StageCosts costs =
        costs_of({cost_of(Stage::project, 1, 1, 1e9, 1e9, CostLimit::memory, true),
                  cost_of(Stage::blend, 2, 1, 1e8, 1e10, CostLimit::arithmetic, true),
                  cost_of(Stage::sort, 4, 1, 1e9, 0, CostLimit::memory, true),
                  cost_of(Stage::loss, 1, 0.5, 0, 5e9, CostLimit::arithmetic, true)});
    RooflineRange range;
    const auto points = roofline_points(costs, range);
    ASSERT_EQ(points.size(), 4u);
    EXPECT_DOUBLE_EQ(points[0].intensity, 1);
    EXPECT_DOUBLE_EQ(points[0].attained, roof_at(costs, 1)) << "at its limit: on the ceiling";
    EXPECT_DOUBLE_EQ(points[1].intensity, 100);
    EXPECT_DOUBLE_EQ(points[1].attained, 0.5 * roof_at(costs, 100));
    EXPECT_EQ(points[2].edge, RooflinePoint::Edge::left);
    EXPECT_NEAR(points[2].attained / roof_at(costs, points[2].intensity), 0.25, 1e-12);
    EXPECT_EQ(points[3].edge, RooflinePoint::Edge::right);
    EXPECT_DOUBLE_EQ(points[3].attained, 5e12);
    for (const RooflinePoint& point : points) {
        EXPECT_GE(point.intensity, range.x_lo);
        EXPECT_LE(point.intensity, range.x_hi);
        EXPECT_GT(point.attained, range.y_lo);
        EXPECT_LT(point.attained, range.y_hi);
    }
    EXPECT_LT(range.x_lo, 10) << "the ridge is in view";
    EXPECT_GT(range.x_hi, 10);
}

TEST(Roofline, what_is_not_known_has_no_place) {
    RooflineRange range;
    EXPECT_TRUE(roofline_points(costs_of({}), range).empty());
    EXPECT_TRUE(
        roofline_points(costs_of({cost_of(Stage::blend, kNaN, 1, 1e9, 1e9, CostLimit::none, true),
                                  cost_of(Stage::sort, 0, 1, 1e9, 0, CostLimit::none, true),
                                  cost_of(Stage::emit, 1, kNaN, 0, 0, CostLimit::none, false),
                                  cost_of(Stage::cull, -1, 1, 1, 1, CostLimit::none, true),
                                  cost_of(Stage::loss, kInf, 1, 1, 1, CostLimit::none, true),
                                  cost_of(Stage::adam, 1, 1, kNaN, kNaN, CostLimit::none, true)}),
                        range)
            .empty());
    EXPECT_TRUE(
        roofline_points(
            costs_of({cost_of(Stage::blend, 1, 1, 1e9, 1e9, CostLimit::none, true)}, kNaN, kNaN),
            range)
            .empty());
    EXPECT_EQ(
        roofline_points(
            costs_of({cost_of(Stage::blend, 1, 1, 1e9, 1e9, CostLimit::none, true)}, 1e12, kNaN),
            range)
            .size(),
        1u)
        << "one ceiling is enough";
    EXPECT_TRUE(std::isfinite(range.y_hi) && range.y_lo > 0 && range.x_lo > 0);
    EXPECT_EQ(roof_at(costs_of({}, kNaN, kNaN), 1), kInf);
}

TEST(Roofline, csv_leaves_the_unknown_empty) {
    const std::string csv =
        costs_csv(costs_of({cost_of(Stage::blend, 2, 1, 1e8, 1e10, CostLimit::arithmetic, true),
                            cost_of(Stage::adam, kNaN, kNaN, 0, 0, CostLimit::none, false)}));
    EXPECT_NE(csv.find("blend,2,1,2,1"), std::string::npos) << csv;
    EXPECT_NE(csv.find("\nadam,,,,0,0,,no\n"), std::string::npos) << csv;
}

TEST_F(Gpu, limits_are_drawn_hovered_and_copied) {
    StagesPanel panel;
    const auto draw = alone(panel);
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    for (float x = 5; x < 300 && panel.view == StagesPanel::View::times; x += 9)
        ui.click({x, 16}, draw);
    ASSERT_EQ(panel.view, StagesPanel::View::limits);
    EXPECT_GT(ui.frame(draw), 500);
    std::set<Stage> seen;
    for (float y = 30; y < 690; y += 6)
        for (float x = 60; x < 490; x += 25) {
            ui.move_mouse({x, y});
            ui.frame(draw);
            if (panel.roofline.hovered()) seen.insert(*panel.roofline.hovered());
        }
    EXPECT_EQ(seen.size(), snapshot.costs->stages.size())
        << "every stage can be pointed at, in the table at least";
    EXPECT_NE(copied(draw, 16, 200).find("blend backward,1.85,1.2,"), std::string::npos);
}

TEST_F(Gpu, limits_without_costs_say_so_and_nonsense_is_drawn) {
    StagesPanel panel;
    panel.view = StagesPanel::View::limits;
    const auto draw = alone(panel);
    StageCosts nonsense = *snapshot.costs;
    nonsense.bytes_per_second = -1;
    nonsense.operations_per_second = kNaN;
    nonsense.machine = std::string(300, 'x') + "%s\xff";
    for (StageCost& cost : nonsense.stages) cost.floor.work.bytes = kInf, cost.measured_ms = 1e-300;
    StageCosts huge = *snapshot.costs;
    for (StageCost& cost : huge.stages)
        cost.floor.work.bytes = 1e300, cost.floor.work.operations = 1e-300;
    for (const auto& costs :
         {std::shared_ptr<const StageCosts>(), std::make_shared<const StageCosts>(),
          std::make_shared<const StageCosts>(nonsense), std::make_shared<const StageCosts>(huge)}) {
        snapshot.costs = costs;
        for (const ImVec2 at : {ImVec2{200, 150}, ImVec2{60, 500}}) {
            ui.move_mouse(at);
            EXPECT_GT(ui.frame(draw), 0);
        }
    }
}

TEST_F(Gpu, limits_that_are_not_known_can_be_asked_for) {
    StagesPanel panel;
    panel.view = StagesPanel::View::limits;
    snapshot.costs.reset();
    const auto draw = alone(panel);
    ui.frame(draw);
    for (float x = 190; x < 400; x += 9) ui.click({x, 16}, draw);
    const Given given = commands.take();
    ASSERT_FALSE(given.empty());
    EXPECT_EQ(given[0].first, "limits.measure");
}

TEST_F(Gpu, a_pixel_of_a_picture_on_the_device_is_what_the_app_read) {
    ViewFrame frame = *snapshot.frame;
    EXPECT_NE(pixel_text(frame, 3, 4, {3, 4, {9, 8, 7, 255}}).find("RGB"), std::string::npos);
    EXPECT_EQ(pixel_text(frame, 3, 4, {3, 4, {9, 8, 7, 255}}).find("RGB 9 8 7"), std::string::npos)
        << "a picture on the host has its own value";
    frame.rgba = {};
    EXPECT_EQ(pixel_text(frame, 3, 4).find("RGB"), std::string::npos);
    int anything = 0;  // no panel looks into a picture on the device: whatever has an address may
                       // stand for one
    frame.picture = std::shared_ptr<const DevicePicture>(
        std::make_shared<int>(0), reinterpret_cast<const DevicePicture*>(&anything));
    EXPECT_NE(pixel_text(frame, 3, 4, {3, 4, {9, 8, 7, 255}}).find("RGB 9 8 7"), std::string::npos);
    EXPECT_EQ(pixel_text(frame, 3, 5, {3, 4, {9, 8, 7, 255}}).find("RGB"), std::string::npos)
        << "another pixel";
}

TEST_F(Gpu, stages_have_a_column_for_either_side) {
    StagesPanel panel;
    const auto draw = alone(panel);
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    const std::string csv = copied(draw, 16, 200);
    EXPECT_NE(csv.find("gpu"), std::string::npos) << csv;
    for (const StagesPanel::Side side : {StagesPanel::Side::cpu, StagesPanel::Side::gpu})
        for (const StatScope scope :
             {StatScope::iteration, StatScope::view_frame, StatScope::ui_frame, StatScope::call}) {
            panel.side = side;
            panel.scope = scope;
            for (float x = 120; x < 480; x += 40)
                ui.click({x, 62}, draw);  // sorts by every column in turn
            EXPECT_GT(ui.frame(draw), 100);
        }
    // A run without a GPU has an empty column, and one that is not asked for shows nothing at all.
    TraceStore cpu_only;
    fill_store(cpu_only, 30, 5'000'000'000'000);
    snapshot.trace = &cpu_only;
    StagesPanel plain;
    const auto draw_plain = alone(plain);
    for (int i = 0; i < 3; ++i) EXPECT_GT(ui.frame(draw_plain), 100);
    plain.side = StagesPanel::Side::gpu;
    EXPECT_GT(ui.frame(draw_plain), 100);
}

TEST_F(Gpu, streams_stand_below_the_thread_that_feeds_them_and_point_back) {
    TraceView view;
    TimelinePanel timeline(view);
    const auto draw = alone(timeline);
    ui.frame(draw);
    const auto order = timeline.rows().rows();
    ASSERT_EQ(order.size(), store.tracks().size());
    const auto place = [&](const char* name) {
        return std::find_if(
                   order.begin(), order.end(),
                   [&](const TimelineRow& row) { return store.tracks()[row.index].name == name; }) -
               order.begin();
    };
    EXPECT_EQ(place("CUDA stream training"), place("engine") + 1);

    const auto& iterations = store.frames().history(StatScope::iteration);
    timeline.axis.zoom_to(iterations[20].begin_ns, iterations[21].end_ns);
    // Somewhere in the GPU's row: what is under the mouse is outlined at its launcher, and a click
    // zooms to it.
    int pointed = 0;
    for (float y = 90; y < 260; y += 4) {
        ui.move_mouse({300, y});
        ui.frame(draw);
        pointed += timeline.pointed_at() == TrackKind::gpu_stream ? 1 : 0;
    }
    EXPECT_GT(pointed, 0);
    const double before = timeline.axis.span_ns;
    for (float y = 90; y < 260 && timeline.axis.span_ns >= before; y += 4) {
        ui.move_mouse({300, y});
        ui.frame(draw);
        if (timeline.pointed_at() == TrackKind::gpu_stream)
            for (int i = 0; i < 2; ++i) ui.click({300, y}, draw);
    }
    EXPECT_LT(timeline.axis.span_ns, before);
}

TEST_F(Gpu, work_whose_launcher_is_forgotten_is_drawn_without_it) {
    const TraceStoreOptions few{.max_spans = 500};
    TraceStore small(few);
    fill_store(small, 200, 5'000'000'000'000, true);
    snapshot.trace = &small;
    TraceView view;
    TimelinePanel timeline(view);
    const auto draw = alone(timeline);
    timeline.axis.zoom_to(small.begin_ns(), small.end_ns());
    for (float x = 100; x < 500; x += 3)
        for (float y = 90; y < 200; y += 9) {
            ui.move_mouse({x, y});
            EXPECT_GT(ui.frame(draw), 0);
        }
}

TEST_F(Gpu, memory_is_told_apart_by_where_it_is) {
    MemoryPanel panel;
    const auto draw = alone(panel);
    for (int i = 0; i < 2; ++i) EXPECT_GT(ui.frame(draw), 300);
    const std::string csv = copied(draw, 16);
    EXPECT_NE(csv.find("device,arrays of a frame,611200000,488900000\n"), std::string::npos) << csv;
    EXPECT_NE(csv.find("host,photos,82300000,\n"), std::string::npos) << csv;
    snapshot.device_memory = DeviceMemory{0, std::numeric_limits<std::uint64_t>::max(), 1};
    ui.frame(draw);
    snapshot.device_memory = DeviceMemory{
        100, 40, 1'000'000};  // less than its own categories: other numbers, other times
    ui.frame(draw);
    snapshot.scene.reset();
    ui.frame(draw);
    snapshot.device_memory.reset();
    EXPECT_GT(ui.frame(draw), 50);
}

TEST_F(Gpu, the_whole_workspace_is_drawn_with_a_gpu) {
    for (const ImVec2 size : {ImVec2{1600, 1000}, ImVec2{900, 500}, ImVec2{200, 120}}) {
        ImGui::GetIO().DisplaySize = size;
        Workspace workspace;
        const auto draw = [&] { workspace.draw(snapshot, commands); };
        for (const char* path :
             {"", "interop", "upload: CUDA and OpenGL are on different devices"}) {
            snapshot.present_path = path;
            snapshot.device_memory->free_bytes = path[0] == 'u' ? 1'000 : 139'000'000'000;
            for (int i = 0; i < 3; ++i) EXPECT_GT(ui.frame(draw), 0);
        }
    }
    EXPECT_TRUE(commands.take().empty());
}

TEST_F(Gpu, a_loss_that_is_not_known_yet_is_no_zero) {
    snapshot.training.loss = snapshot.training.train_psnr = snapshot.training.test_psnr = kNaN;
    snapshot.training.step = 1;
    Workspace workspace;
    ImGui::GetIO().DisplaySize = {1600, 1000};
    for (int i = 0; i < 3; ++i) EXPECT_GT(ui.frame([&] { workspace.draw(snapshot, commands); }), 0);
    EXPECT_TRUE(std::isnan(TrainingStatus().loss) && std::isnan(TrainingStatus().test_psnr));
}

}  // namespace
}  // namespace gs::test
