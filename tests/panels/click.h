// Clicks on panels that are drawn without a window, and the commands that come of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "panels/widgets/keys.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {

class Click : public testing::Test {
  protected:
    /// `width`, `height`: of the display.
    explicit Click(float width = 500, float height = 700, int iterations = 30)
        : ui(width, height), table(fake_table()), commands(table) {
        fill_store(store, iterations, 5'000'000'000'000);
        snapshot = fake_snapshot(store, ViewMode::color);
        snapshot.view.frusta = false;
        snapshot.frame_texture = 1;
    }
    /// Draws one panel in a window of its own at the display's corner.
    template <class Panel>
    auto alone(Panel& panel) {
        return [this, &panel] { draw_alone(panel, snapshot, commands); };
    }
    /// Clicks everywhere on a grid of the given pixels, once each; returns what was given, checked
    /// against the list.
    /// `away`: a click there closes what popped up and ends what is typed into; {}: the last point
    /// of the grid.
    Given click_all_over(const std::function<void()>& draw, float width, float height, float step,
                         ImVec2 away = {}) {
        if (away.x == 0) away = {width - 1, height - 1};
        Given all;
        for (float y = step / 2; y < height; y += step)
            for (float x = step / 2; x < width; x += step) {
                ui.click({x, y}, draw);
                if (popup_above() || ImGui::IsAnyItemActive()) ui.click(away, draw);
                for (auto& given : commands.take()) all.push_back(std::move(given));
            }
        for (const auto& [name, arguments] : all) {
            EXPECT_TRUE(std::ranges::any_of(table, [&, &n = name](const CommandInfo& c) {
                return c.name == n;
            })) << name;
        }
        return all;
    }
    static bool has(const Given& given, const std::string& name) {
        return std::ranges::any_of(given, [&](const auto& g) { return g.first == name; });
    }

    Headless ui;
    TraceStore store;
    std::vector<CommandInfo> table;
    Commands commands;
    Snapshot snapshot;
};

}  // namespace gs::test
