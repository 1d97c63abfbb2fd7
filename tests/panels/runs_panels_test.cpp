// The panels about what runs gave: the lab's clicks are commands, a comparison says its verdicts,
// learned exposures lead to their photos, and the table of them is a CSV.
#include <gtest/gtest.h>

#include <algorithm>

#include "panels/scene/exposure_panel.h"
#include "panels/training/lab_panel.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

struct RunsPanels : ::testing::Test {
    RunsPanels() { snapshot = fake_snapshot(store, ViewMode::color); }
    template <class Panel>
    Given click_over(Panel& panel, float y0, float y1) {
        return click_all_over(ui, panel, snapshot, commands, y0, y1, 19);
    }
    static const std::vector<std::string>* arguments_of(const Given& all, const std::string& name) {
        const auto at = std::ranges::find_if(all, [&](const auto& g) { return g.first == name; });
        return at == all.end() ? nullptr : &at->second;
    }
    Headless ui{900, 300};
    TraceStore store;
    std::vector<CommandInfo> table = fake_table();
    Commands commands{table};
    Snapshot snapshot;
};

TEST_F(RunsPanels, the_lab_runs_reads_and_opens) {
    LabPanel panel;
    panel.label = "before";
    const Given head = click_over(panel, 8, 60);
    const auto* run = arguments_of(head, "lab.run");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->back(), "before");
    const auto* open = arguments_of(head, "lab.open");
    ASSERT_TRUE(open);
    EXPECT_EQ(*open, std::vector<std::string>{"strategies.db"});
    const auto* report = arguments_of(head, "lab.report");
    ASSERT_TRUE(report);
    EXPECT_EQ(*report, std::vector<std::string>{"strategies.html"});
    panel = {};
    const Given rows = click_over(panel, 90, 280);
    ASSERT_TRUE(arguments_of(rows, "lab.show"));
    EXPECT_NE(snapshot.lab->run(std::stoll(arguments_of(rows, "lab.show")->front())), nullptr);
    EXPECT_TRUE(arguments_of(rows, "lab.photo"));
    snapshot.activities = {{"lab", "toys default cpu seed 1, main", 0.25, 12}};
    const Given running = click_over(panel, 8, 40);
    EXPECT_TRUE(arguments_of(running, "lab.stop"));
    EXPECT_FALSE(arguments_of(running, "lab.run"));
}

TEST_F(RunsPanels, the_lab_compares) {
    LabPanel panel;
    panel.comparison = true;
    const Given given = click_over(panel, 25, 280);
    const auto* compare = arguments_of(given, "lab.compare");
    ASSERT_TRUE(compare);
    EXPECT_EQ(compare->size(), 2u);
    const auto* photo = arguments_of(given, "lab.photo");
    ASSERT_TRUE(photo);
    EXPECT_EQ(photo->at(1).substr(0, 6), "frame_");
}

TEST_F(RunsPanels, nothing_is_drawn_of_nothing) {
    LabPanel lab;
    ExposurePanel exposure;
    snapshot.lab = std::make_shared<const LabState>();
    snapshot.looks = nullptr;
    EXPECT_FALSE(arguments_of(click_over(lab, 60, 120), "lab.show"));
    EXPECT_TRUE(click_over(exposure, 8, 120).empty());
    snapshot.lab = nullptr;
    EXPECT_TRUE(click_over(lab, 8, 60).empty());
}

TEST_F(RunsPanels, an_exposure_leads_to_its_photo) {
    ExposurePanel panel;
    const Given head = click_over(panel, 8, 30);
    EXPECT_TRUE(arguments_of(head, "appearance.copy"));
    const auto* look = arguments_of(head, "view.appearance");
    ASSERT_TRUE(look);
    EXPECT_EQ(*look, std::vector<std::string>{"on"});
    const Given rows = click_over(panel, 200, 290);
    EXPECT_TRUE(arguments_of(rows, "view.capture"));
}

TEST(PhotoLooks, are_a_csv) {
    PhotoLooks looks{.photos = {{0, "a, b.jpg", 1, {0.5, 0.25, 0}}}};
    EXPECT_EQ(looks_csv(looks),
              "name,camera,exposure_stops,red_stops,green_stops,blue_stops\n"
              "\"a, b.jpg\",1,0.25000,0.50000,0.25000,0.00000\n");
}

}  // namespace
}  // namespace gs::test
