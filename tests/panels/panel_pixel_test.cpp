// The panel "Pixel": clicks become commands, the row under the mouse is outlined; and the ellipse
// that is drawn over the picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "panels/scene/pixel_panel.h"
#include "panels/viewport/overlay_parts.h"
#include "panels/viewport/viewport.h"
#include "tests/panels/click.h"

namespace gs::test {
namespace {

class Pixels : public Click {
  protected:
    Pixels() : Click(460, 1100, 3) {}
    void mark(std::uint64_t row) {
        PixelInspection now = *snapshot.inspection;
        now.marked = row;
        snapshot.inspection = std::make_shared<const PixelInspection>(now);
    }
    Given taken() {
        Given out;
        for (auto& given : commands.take()) out.push_back(std::move(given));
        return out;
    }
    static const std::vector<std::string>* arguments(const Given& given, const std::string& name) {
        const auto found = std::find_if(given.begin(), given.end(),
                                        [&](const auto& g) { return g.first == name; });
        return found == given.end() ? nullptr : &found->second;
    }
};

TEST_F(Pixels, EverythingIsACommand) {
    PixelPanel panel;
    mark(snapshot.inspection->pixel->report.entries[2].row);
    const auto draw = alone(panel);
    Given all;
    for (float y = 6; y < 1090; y += 11)
        for (float x = 12; x < 460; x += 23) {
            ui.click({x, y}, draw);
            for (auto& given : taken()) all.push_back(std::move(given));
        }
    for (const char* name : {"inspect.pixel", "inspect.copy", "inspect.clear", "inspect.tiles",
                             "inspect.tile", "inspect.mark", "view.gaussian"})
        EXPECT_TRUE(arguments(all, name)) << name;
    for (const auto& [name, values] : all) EXPECT_TRUE(commands.find(name)) << name;
    const auto* tile = arguments(all, "inspect.tile");
    ASSERT_TRUE(tile);
    ASSERT_EQ(tile->size(), 3u);
    EXPECT_EQ(tile->back(), "listed");
}

TEST_F(Pixels, AnEditIsOfTheRowOfTheModelThatAnswered) {
    PixelPanel panel;
    const std::string row = std::to_string(snapshot.inspection->pixel->report.entries[2].row);
    mark(snapshot.inspection->pixel->report.entries[2].row);
    snapshot.training.step = snapshot.inspection->pixel->step;
    const auto draw = alone(panel);
    std::map<std::string, ImVec2> places;
    for (float y = 6; y < 700 && places.size() < 3; y += 7)
        for (float x = 24; x < 450; x += 12) {  // an even number: sections open again
            ui.click({x, y}, draw);
            const Given given = taken();
            for (const char* name : {"edit.delete", "edit.hide", "select.solo"})
                if (const auto* values = arguments(given, name)) {
                    EXPECT_EQ(*values, (std::vector{row, std::string("12400")})) << name;
                    ASSERT_TRUE(arguments(given, "inspect.mark")) << "not twice";
                    places[name] = {x, y};
                }
        }
    EXPECT_EQ(places.size(), 3u);
    snapshot.training.step += 1;
    for (const auto& [name, place] : places) {
        ui.click(place, draw);
        EXPECT_TRUE(taken().empty()) << name << " of another model";
    }
}

TEST_F(Pixels, TheRowUnderTheMouseIsPointedAtAndAClickChooses) {
    PixelPanel panel;
    const auto draw = alone(panel);
    float y = 6;
    for (; y < 700 && !panel.pointed; y += 7) {
        ui.move_mouse({40, y});
        ui.frame(draw);
        panel.pointed.reset();
        ui.frame(draw);
    }
    ASSERT_TRUE(panel.pointed);
    const std::uint64_t row = *panel.pointed;
    EXPECT_TRUE(taken().empty()) << "moving the mouse gives no command";
    ui.click({40, y - 7}, draw);
    const Given clicked = taken();
    ASSERT_TRUE(arguments(clicked, "inspect.mark"));
    EXPECT_EQ(*arguments(clicked, "inspect.mark"), std::vector{std::to_string(row)});
    mark(row);
    ui.move_mouse({455, 5});
    for (int i = 0; i < 60; ++i) ui.frame(draw);  // or it would be a double click
    ui.click({40, y - 7}, draw);
    const Given again = taken();
    ASSERT_TRUE(arguments(again, "inspect.mark"));
    EXPECT_TRUE(arguments(again, "inspect.mark")->empty()) << "chosen no more";
}

TEST_F(Pixels, SaysWhereToClickWhenNothingWasAsked) {
    PixelPanel panel;
    snapshot.inspection = nullptr;
    EXPECT_GT(ui.frame(alone(panel)), 0);
    EXPECT_TRUE(taken().empty());
}

TEST_F(Pixels, AClickOnThePictureAsksAndADragDoesNot) {
    Viewport viewport;
    const auto draw = alone(viewport);
    ui.frame(draw);
    ui.click({200, 560}, draw);
    const Given clicked = taken();
    const auto* at = arguments(clicked, "inspect.pixel");
    ASSERT_TRUE(at);
    EXPECT_LT(std::stod(at->at(0)), snapshot.frame->camera.width);
    ui.drag({150, 560}, {300, 600}, draw);
    EXPECT_FALSE(arguments(taken(), "inspect.pixel"));
}

TEST(InspectedPixel, TheEdgeIsWhereAlphaIsTheLeastThatIsDrawn) {
    PixelEntry entry{.opacity = 0.7, .mean = {100, 50}, .conic = {0.05, 0.02, 0.03}};
    const auto edge = edge_of(entry);
    ASSERT_GT(edge.size(), 8u);
    double most = 0;
    for (const Pixel& p : edge) {
        const double dx = p.x - 100, dy = p.y - 50;
        const double sigma = 0.5 * (0.05 * dx * dx + 0.03 * dy * dy) + 0.02 * dx * dy;
        EXPECT_NEAR(0.7 * std::exp(-sigma), 1.0 / 255, 1e-9);
        most = std::max(most, std::hypot(dx, dy));
    }
    EXPECT_GT(most, 10);
    entry.opacity = 0.001;
    EXPECT_TRUE(edge_of(entry).empty());
    entry.opacity = 0.7;
    entry.conic = {0.05, NAN, 0.03};
    EXPECT_TRUE(edge_of(entry).empty());
}

}  // namespace
}  // namespace gs::test
