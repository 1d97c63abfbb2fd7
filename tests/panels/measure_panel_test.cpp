// The Measure panel: what it gives when it is clicked, with and without anything measured.
#include "panels/scene/measure_panel.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "panels/state/measure_state.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

TEST(MeasurePanelClicks, ScaleUpAndForgettingGoByTheChosenDistance) {
    TraceStore store;
    Headless ui{400, 300};
    const auto table = fake_table();
    Commands commands(table);
    Snapshot snapshot = fake_snapshot(store, ViewMode::color);
    MeasurePanel panel;
    const auto draw = [&] { draw_alone(panel, snapshot, commands); };
    const auto click_everywhere = [&] {
        Given all;
        for (float y = 5; y < 290; y += 9)
            for (float x = 5; x < 395; x += 14) {
                ui.click({x, y}, draw);
                for (auto& given : commands.take()) all.push_back(std::move(given));
            }
        return all;
    };
    const auto gave = [](const Given& all, const std::string& name,
                         const std::vector<std::string>& arguments) {
        return std::any_of(all.begin(), all.end(),
                           [&](const auto& g) { return g.first == name && g.second == arguments; });
    };
    const Given all = click_everywhere();
    EXPECT_TRUE(gave(all, "measure.remove", {"1"}));
    EXPECT_TRUE(gave(all, "measure.remove", {"2"}));
    EXPECT_TRUE(gave(all, "scene.scale", {"1", "2"}) || gave(all, "scene.scale", {"1", "1"}));
    EXPECT_TRUE(gave(all, "scene.scale", {"off"}));
    EXPECT_TRUE(gave(all, "scene.up", {"auto"}));
    EXPECT_TRUE(gave(all, "scene.up", {"distance", "2"}) ||
                gave(all, "scene.up", {"distance", "1"}));
    snapshot.measured = nullptr;
    EXPECT_TRUE(click_everywhere().empty()) << "nothing can be done yet";
    snapshot.scene = nullptr;
    EXPECT_GT(ui.frame(draw), 0);
}

}  // namespace
}  // namespace gs::test
