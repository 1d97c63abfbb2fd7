// The panels Costs and Values: what clicks and drags in them ask for.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "panels/scene/values_panel.h"
#include "panels/trace/costs_panel.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

struct CostPanels : testing::Test {
    CostPanels() : table(fake_table()), commands(table) {
        fill_store(store, 5, 5'000'000'000'000);
        snapshot = fake_snapshot(store, ViewMode::color);
    }
    template <class Panel>
    auto alone(Panel& panel) {
        return [this, &panel] { draw_alone(panel, snapshot, commands); };
    }
    Headless ui{340, 700};
    TraceStore store;
    std::vector<CommandInfo> table;
    Commands commands;
    Snapshot snapshot;
};

TEST_F(CostPanels, ADragOverTheHistogramChoosesARange) {
    ValuesPanel panel;
    const auto draw = alone(panel);
    ui.frame(draw);
    Given given;
    for (float y = 60; y < 200 && given.empty(); y += 10) {
        ui.drag({100, y}, {200, y}, draw);
        for (auto& one : commands.take())
            if (one.first == "color.range") given.push_back(std::move(one));
    }
    ASSERT_FALSE(given.empty());
    ASSERT_EQ(given.back().second.size(), 2u);
    const double lo = std::stod(given.back().second[0]), hi = std::stod(given.back().second[1]);
    const Histogram& data = snapshot.values->histogram;
    EXPECT_LT(data.lo, lo);
    EXPECT_LT(lo, hi);
    EXPECT_LT(hi, data.hi);
}

TEST_F(CostPanels, ADragToTheEdgesReachesTheOutermostValues) {
    ValuesPanel panel;
    auto values = *snapshot.values;
    values.least = 1;
    values.most = 123456.79;
    snapshot.values = std::make_shared<GaussianValues>(values);
    const auto draw = alone(panel);
    ui.frame(draw);
    Given given;
    for (float y = 60; y < 200 && given.empty(); y += 10)
        for (const float to : {-50.0F, 800.0F}) {
            ui.drag({170, y}, {to, y}, draw);
            for (auto& one : commands.take())
                if (one.first == "color.range") given.push_back(std::move(one));
        }
    ASSERT_FALSE(given.empty());
    EXPECT_EQ(given.back().second.at(1), "123456.79");
    EXPECT_TRUE(
        std::ranges::any_of(given, [](const auto& one) { return one.second.at(0) == "1"; }));
}

TEST_F(CostPanels, ValuesSayWhyThereAreNone) {
    ValuesPanel panel;
    auto none = *snapshot.values;
    none.problem = "this scene has one level";
    snapshot.values = std::make_shared<GaussianValues>(none);
    EXPECT_GT(ui.frame(alone(panel)), 0);
    ui.drag({100, 120}, {200, 120}, alone(panel));
    for (const auto& [name, arguments] : commands.take()) EXPECT_NE(name, "color.range");
    snapshot.values = nullptr;
    EXPECT_GT(ui.frame(alone(panel)), 0);
    snapshot.scene = nullptr;
    EXPECT_GT(ui.frame(alone(panel)), 0);
}

TEST_F(CostPanels, ARowLooksAtItsGaussian) {
    CostsPanel panel;
    snapshot.training.step = snapshot.cost_report->step;
    const auto draw = alone(panel);
    ui.frame(draw);
    Given given;
    for (float y = 5; y < 700; y += 9)
        for (const float x : {90.0F, 140.0F}) {  // twice: what a click closes, the next opens
            ui.click({x, y}, draw);
            for (auto& one : commands.take()) given.push_back(std::move(one));
        }
    const auto has = [&](const std::string& name) {
        return std::ranges::any_of(given, [&](const auto& g) { return g.first == name; });
    };
    EXPECT_TRUE(has("cost.measure"));
    EXPECT_TRUE(has("cost.clear"));
    const std::string row = std::to_string(snapshot.cost_report->top[0].row);
    const auto selected =
        std::ranges::find_if(given, [](const auto& g) { return g.first == "select.row"; });
    ASSERT_NE(selected, given.end());
    EXPECT_TRUE(selected->second.at(0).starts_with(row + ",")) << selected->second.at(0);
    EXPECT_EQ(std::ranges::count(selected->second[0], ','), 19);
    EXPECT_TRUE(std::ranges::any_of(given, [&](const auto& g) {
        return g.first == "view.gaussian" && g.second == std::vector<std::string>{row};
    }));
}

}  // namespace
}  // namespace gs::test
