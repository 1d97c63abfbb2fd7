// Texts of files on the screen: a word of any length is drawn, shortened, and ends nothing.
#include <gtest/gtest.h>

#include "panels/notices.h"
#include "panels/widgets/widgets.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

TEST(LongWords, AreDrawnShortened) {
    Headless ui;
    const std::string word(70'000, 'Q');
    // ImGui's lists have 16-bit indices: 16,384 characters in one text are more than they hold.
    EXPECT_LT(ui.frame([&] {
        ImGui::Begin("words");
        ImGui::PushTextWrapPos(300);
        text(word);
        dim_text(word);
        colored_text(theme().error, word);
        if (ImGui::BeginTable("facts", 2)) {
            fact(word, word);
            ImGui::EndTable();
        }
        empty_note(word);
        ImGui::PopTextWrapPos();
        ImGui::End();
    }),
              4 * 65536);
    ui.frame([&] {
        EXPECT_LT(fitted(word, 200).size(), 100u);
        EXPECT_LT(fitted_path("/" + word + "/" + word, 200).size(), 100u);
    });
}

TEST(LongWords, NoticesAndActivities) {
    Headless ui;
    TraceStore store;
    Snapshot snapshot = fake_snapshot(store, ViewMode::color);
    const std::string word(70'000, 'Q');
    snapshot.notices = {{1, true, word, {word, word}, false}, {2, false, word, {}, true}};
    snapshot.activities = {{"load", word, 0.5, 9}, {"export", word, 0.5, 9}};
    Commands commands;
    for (int i = 0; i < 3; ++i) ui.frame([&] { draw_notices(snapshot, commands, 0, 1000, 900); });
}

TEST(LongWords, OfNoticesStayInTheWindowAndEndWithTheReason) {
    Headless ui{800, 600};
    Snapshot snapshot;
    std::string path;
    for (int i = 0; i < 90; ++i) path += "/a_folder_of_photos_" + std::to_string(i);
    const std::string why = "photo a.png cannot be read any more: " + path + ": no such file";
    snapshot.notices = {{1, true, why, {why}, false}, {2, false, why, {}, true}};
    Commands commands;
    const auto draw = [&] { draw_notices(snapshot, commands, 200, 400, 360); };
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    ui.frame([&] {
        draw();
        ImGui::Begin("##notices");
        EXPECT_GE(ImGui::GetWindowPos().y, 0);
        EXPECT_LE(ImGui::GetWindowPos().x + ImGui::GetWindowWidth(), 560);
        EXPECT_LE(ImGui::GetWindowHeight(), 400);
        ImGui::End();
        const std::string shown = fitted_lines(why, 300, 6);
        EXPECT_LT(shown.size(), why.size() / 2);
        EXPECT_TRUE(shown.ends_with("no such file")) << shown;
    });
    ui.move_mouse({240, 330});
    (void)tooltip_changed();
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    EXPECT_TRUE(tooltip_changed()) << "the whole text";
}

}  // namespace
}  // namespace gs::test
