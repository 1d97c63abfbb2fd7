// The Problems panel: its clicks are commands, errors over time are where they were measured, and
// what is not there is not drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "panels/scene/contact_sheet_panel.h"
#include "panels/scene/problems_panel.h"
#include "tests/panels/fake_pictures.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

TEST(HeatStrip, holds_the_last_value_until_the_next) {
    const std::vector<CurvePoint> points{{100, 20}, {200, NAN}, {300, 25}, {1000, 30}};
    const auto values = values_over_time(points, 0, 1000, 10);
    ASSERT_EQ(values.size(), 10u);
    EXPECT_EQ(values[0], 20) << "the span ends at step 100";
    EXPECT_EQ(values[1], 20) << "what is no number changes nothing";
    EXPECT_EQ(values[2], 25);
    EXPECT_EQ(values[8], 25);
    EXPECT_EQ(values[9], 30);
    EXPECT_TRUE(std::isnan(values_over_time(points, 0, 90, 3)[2])) << "not measured yet";
    EXPECT_TRUE(values_over_time(points, 0, 1000, -1).empty());
}

struct ProblemClicks : ::testing::Test {
    ProblemClicks() {
        snapshot = fake_snapshot(store, ViewMode::color);
        snapshot.pictures = &pictures;
    }
    Given click_over(ProblemsShow shows, float y0, float y1) {
        snapshot.problems_settings.shows = shows;
        return click_all_over(ui, panel, snapshot, commands, y0, y1, 29);
    }
    static bool gave(const Given& all, const std::string& name,
                     const std::vector<std::string>& arguments) {
        return std::any_of(all.begin(), all.end(),
                           [&](const auto& g) { return g.first == name && g.second == arguments; });
    }
    Headless ui{900, 300};
    TraceStore store;
    std::vector<CommandInfo> table = fake_table();
    Commands commands{table};
    Snapshot snapshot;
    FakePictures pictures;
    ProblemsPanel panel;
};

TEST_F(ProblemClicks, choose_what_is_shown_and_go_there) {
    const Given head = click_over(ProblemsShow::regions, 5, 60);
    EXPECT_TRUE(gave(head, "problems.find", {}));
    for (const char* name : kProblemsShowNames)
        EXPECT_TRUE(gave(head, "problems.show", {name})) << name;
    EXPECT_TRUE(gave(click_over(ProblemsShow::regions, 70, 250), "problems.go", {"1", "region"}));
    EXPECT_TRUE(gave(click_over(ProblemsShow::holes, 70, 250), "problems.go", {"2", "hole"}));
    EXPECT_TRUE(gave(click_over(ProblemsShow::place, 90, 250), "problems.go", {"1", "seen"}));
    const Given rows = click_over(ProblemsShow::gaussians, 80, 200);
    EXPECT_TRUE(gave(rows, "problems.go", {"1", "gaussian"}));
    EXPECT_TRUE(gave(rows, "view.capture", {"1"})) << "the photo where it is worst";
    EXPECT_TRUE(gave(click_over(ProblemsShow::floaters, 80, 250), "problems.go", {"1", "floater"}));
    const Given strips = click_over(ProblemsShow::time, 86, 280);
    EXPECT_TRUE(gave(strips, "view.capture", {"21"})) << "the worst photo comes first";
}

TEST_F(ProblemClicks, photos_that_could_not_be_read_are_said) {
    PhotoProblems problems = *snapshot.problems;
    FoundProblems found = *problems.found;
    found.unread.add("photo IMG_7.png cannot be read any more: no such file");
    found.unread.add("photo IMG_9.png cannot be read any more: no such file");
    PointInPhotos point = *problems.point;
    point.unread = found.unread;
    problems.found = std::make_shared<const FoundProblems>(found);
    problems.point = std::make_shared<const PointInPhotos>(point);
    const auto words = [&] {
        return ui.words([&] {
            ImGui::SetNextWindowPos({0, 0});
            ImGui::SetNextWindowSize({900, 300});
            ImGui::Begin("problems");
            panel.draw(snapshot, commands);
            ImGui::End();
        });
    };
    snapshot.problems_settings.shows = ProblemsShow::place;
    EXPECT_EQ(words().find("not read"), std::string::npos);
    snapshot.problems = std::make_shared<const PhotoProblems>(problems);
    EXPECT_NE(words().find("2 photos not read"), std::string::npos) << words();
    EXPECT_NE(words().find("2 photos were left out; photo IMG_7.png"), std::string::npos);
}

TEST_F(ProblemClicks, a_thumbnail_whose_photo_could_not_be_read_is_marked_and_says_why) {
    ContactSheetPanel sheet;
    const auto draw = [&] {
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({900, 300});
        ImGui::Begin("sheet");
        sheet.draw(snapshot, commands);
        ImGui::End();
    };
    snapshot.sheet_settings.key = PhotoKey::name;
    snapshot.sheet_settings.descending = false;
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    const int before = ui.frame(draw);
    auto sheets = *snapshot.sheet;
    for (auto& sheet_of : sheets) {
        if (!sheet_of) continue;
        auto unread = *sheet_of;
        unread.problem = "photo IMG_7.png cannot be read any more: no such file";
        sheet_of = std::make_shared<const SheetPicture>(std::move(unread));
    }
    snapshot.sheet = std::make_shared<const decltype(sheets)>(std::move(sheets));
    EXPECT_GT(ui.frame(draw), before);
    snapshot.sheet_settings.shows = SheetShows::render;
    ui.frame(draw);
    const int render = ui.frame(draw);
    snapshot.sheet_settings.shows = SheetShows::photo;
    ui.frame(draw);
    EXPECT_GT(ui.frame(draw), render) << "there is a render of it";
}

TEST_F(ProblemClicks, while_it_looks_it_can_be_cancelled) {
    snapshot.activities = {{"problems", "examining photo 3 of 48", 0.05, 2}};
    const Given head = click_over(ProblemsShow::regions, 5, 30);
    EXPECT_TRUE(gave(head, "problems.cancel", {}));
    EXPECT_FALSE(gave(head, "problems.find", {}));
}

TEST_F(ProblemClicks, draw_without_anything) {
    for (std::size_t i = 0; i < kProblemsShowNames.size(); ++i) {
        const auto shows = static_cast<ProblemsShow>(i);
        snapshot.problems = std::make_shared<const PhotoProblems>();
        EXPECT_FALSE(gave(click_over(shows, 70, 250), "problems.go", {"1", "region"}));
        snapshot.problems = nullptr;
        EXPECT_FALSE(gave(click_over(shows, 70, 250), "problems.go", {"1", "region"}));
    }
    snapshot.cameras = nullptr;
    EXPECT_TRUE(click_over(ProblemsShow::time, 0, 300).empty());
}

}  // namespace
}  // namespace gs::test
