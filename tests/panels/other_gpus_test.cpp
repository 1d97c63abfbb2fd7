// What the Stages panel says of GPUs that are not here: asked for, chosen, otherwise; with nothing,
// and with nonsense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

#include <limits>
#include <string>

#include "panels/trace/stages_panel.h"
#include "panels/viewport/overlay_parts.h"
#include "tests/panels/fake_prediction.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

using ::testing::Contains;
using ::testing::Pair;

class OtherGpusView : public testing::Test {
  protected:
    OtherGpusView() : table(fake_table()), commands(table) {
        fill_store(store, 60, 5'000'000'000'000, true);
        snapshot = fake_snapshot(store, ViewMode::color);
        snapshot.prediction = fake_prediction(snapshot.frame->camera);
        panel.view = StagesPanel::View::other_gpus;
    }
    std::function<void()> draw = [this] { draw_alone(panel, snapshot, commands); };
    /// What clicks all over the view give, every ninth pixel.
    std::vector<std::string> given_by_clicks(float y_end) {
        std::vector<std::string> names;
        for (float y = 30; y < y_end; y += 9)
            for (float x = 8; x < 500; x += 17) {
                ui.click({x, y}, draw);
                // Lists that open are chosen from.
                if (ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup)) ui.click({x, y + 44}, draw);
                for (const auto& [name, arguments] : commands.take()) {
                    std::string line = name;
                    for (const std::string& word : arguments) line += " " + word;
                    names.push_back(line);
                }
            }
        return names;
    }

    Headless ui{520, 700};
    TraceStore store;
    std::vector<CommandInfo> table;
    Commands commands;
    Snapshot snapshot;
    StagesPanel panel;
};

TEST_F(OtherGpusView, asks_for_counts_where_there_are_none) {
    auto uncounted = std::make_shared<PredictionState>();
    for (const auto& none : {std::shared_ptr<const PredictionState>(),
                             std::shared_ptr<const PredictionState>(uncounted)}) {
        snapshot.prediction = none;
        EXPECT_THAT(given_by_clicks(70), Contains("predict.measure"));
    }
}

TEST_F(OtherGpusView, every_control_gives_its_command) {
    const std::vector<std::string> given = given_by_clicks(160);
    EXPECT_THAT(given, Contains("predict.measure"));
    EXPECT_THAT(given, Contains("predict.map on"));
    EXPECT_THAT(given, Contains("predict.gpus h200")) << "the other was taken away";
    Given dragged;
    for (float y = 30; y < 160; y += 9) {
        ui.drag({40, y}, {90, y}, draw);
        for (auto& one : commands.take()) dragged.push_back(std::move(one));
    }
    EXPECT_TRUE(std::any_of(dragged.begin(), dragged.end(), [](const auto& one) {
        return one.first == "predict.what-if" && one.second[0] == "gaussians";
    }));
    EXPECT_THAT(given, Contains(testing::StartsWith("predict.what-if size ")));
    EXPECT_THAT(given, Contains(testing::StartsWith("predict.what-if sh-degree ")));
    EXPECT_THAT(given, Contains(testing::StartsWith("predict.what-if batch ")));
    EXPECT_THAT(given, Contains("predict.of step"));
    auto changed = std::make_shared<PredictionState>(*snapshot.prediction);
    changed->change.batch = 4;
    snapshot.prediction = changed;
    EXPECT_THAT(given_by_clicks(160), Contains("predict.as-drawn"));
}

TEST_F(OtherGpusView, nonsense_is_drawn) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN(),
                     kEndless = std::numeric_limits<double>::infinity();
    auto nonsense = std::make_shared<PredictionState>(*snapshot.prediction);
    nonsense->from = std::string(300, 'x') + "%s\xff";
    nonsense->as_drawn.gaussians = kNone;
    nonsense->work.visible = -kEndless;
    nonsense->gpus[0].frame.stages[0].ms = {kNone, kEndless, -1};
    nonsense->gpus[1].step.total = {kNone, 0, kEndless};
    nonsense->otherwise[0].frame = {kNone, kNone, kNone};
    auto none = std::make_shared<PredictionState>(*snapshot.prediction);
    none->gpus.clear();
    none->tile_us.clear();
    for (const auto& state : {nonsense, none}) {
        for (const bool step : {false, true}) {
            auto asked = std::make_shared<PredictionState>(*state);
            asked->step = step;
            snapshot.prediction = asked;
            for (float y = 5; y < 690; y += 40) {
                ui.move_mouse({300, y});
                EXPECT_GT(ui.frame(draw), 0);
            }
        }
    }
}

TEST_F(OtherGpusView, tiles_are_coloured_over_the_picture_that_was_counted) {
    const auto vertices = [&] {
        return ui.frame([&] {
            draw_predicted_tiles(*ImGui::GetBackgroundDrawList(), snapshot, *snapshot.frame,
                                 {{0, 0}, {500, 400}});
        });
    };
    EXPECT_EQ(vertices(), 0) << "the map is off";
    auto on = std::make_shared<PredictionState>(*snapshot.prediction);
    on->map = true;
    snapshot.prediction = on;
    EXPECT_GE(vertices(), static_cast<int>(4 * on->tile_us.size()));
    auto elsewhere = std::make_shared<PredictionState>(*on);
    elsewhere->camera.translation.x += 1;
    snapshot.prediction = elsewhere;
    EXPECT_EQ(vertices(), 0) << "it is another view's";
}

}  // namespace
}  // namespace gs::test
