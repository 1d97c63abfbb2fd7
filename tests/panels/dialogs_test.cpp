// Dialogs that stay until they are answered: the question before unsaved edits are lost, the import
// of a capture.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "panels/quit_question.h"
#include "panels/widgets/keys.h"
#include "panels/workspace.h"
#include "tests/panels/click.h"

namespace gs::test {
namespace {

class TheQuitQuestion : public testing::Test {
  protected:
    TheQuitQuestion() {
        snapshot.activities.clear();  // no export is running
    }
    /// What clicks over all of it give; a dialog that is asked for is left again.
    std::set<std::string> given_by_clicks() {
        std::set<std::string> given;
        for (float y = 60; y < 260; y += 8)
            for (float x = 60; x < 540; x += 12) {
                ui.click({x, y}, draw);
                for (const auto& [name, arguments] : commands.take()) {
                    given.insert(name + " " + arguments.at(0));
                    for (int i = 0; name == "browse" && i < 150; ++i) ui.frame(draw);
                }
            }
        return given;
    }

    Headless ui{600, 300};
    TraceStore store;
    const std::vector<CommandInfo> table = fake_table();
    Commands commands{table};
    Snapshot snapshot = fake_snapshot(store);
    QuitQuestion question;
    bool dialog = false;
    const std::function<void()> draw = [this] { question.draw(snapshot, commands, dialog); };
};

TEST_F(TheQuitQuestion, IsAskedAndAnswered) {
    const auto vertices = [&] { return ui.frame(draw); };
    EXPECT_EQ(vertices(), 0);
    snapshot.asks_to_leave.emplace();
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    EXPECT_GT(vertices(), 0);
    EXPECT_EQ(given_by_clicks(), (std::set<std::string>{"browse export", "quit now", "quit stay"}));
    ui.press(ImGuiKey_Escape, draw);
    EXPECT_EQ(commands.take(), (Given{{"quit", {"stay"}}}));
    snapshot.asks_to_leave.reset();
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    EXPECT_EQ(vertices(), 0);
}

TEST_F(TheQuitQuestion, ContinuesAfterTheExport) {
    snapshot.asks_to_leave.emplace();
    const auto export_it = [&] {
        Given given;
        for (float y = 60; y < 260 && given.empty(); y += 8)
            for (float x = 60; x < 440 && given.empty(); x += 12) {
                ui.click({x, y}, draw);
                given = commands.take();
            }
        return given;
    };
    ASSERT_EQ(export_it(), (Given{{"browse", {"export"}}})) << "the first button";
    dialog = true;
    for (int i = 0; i < 30; ++i) EXPECT_EQ(ui.frame(draw), 0) << "behind the dialog";
    dialog = false;
    for (int i = 0; i < 300; ++i) ui.frame(draw);
    EXPECT_GT(ui.frame(draw), 0) << "the dialog was left: it asks again";
    ASSERT_FALSE(export_it().empty());
    SelectionState saved = *snapshot.selection;
    saved.unsaved = false;
    snapshot.selection = std::make_shared<const SelectionState>(saved);
    ui.frame(draw);
    EXPECT_EQ(commands.take(), (Given{{"quit", {"now"}}}));
}

TEST_F(TheQuitQuestion, ARunIsSavedHereOrElsewhere) {
    const auto offered = [&](LeaveQuestion::Of of) {
        snapshot.asks_to_leave = LeaveQuestion{of, {"why"}};
        return given_by_clicks();
    };
    EXPECT_EQ(offered(LeaveQuestion::Of::writing),
              (std::set<std::string>{"quit now", "quit stay"}));
    EXPECT_EQ(offered(LeaveQuestion::Of::edited_run),
              (std::set<std::string>{"quit save", "quit now", "quit stay"}));
    EXPECT_EQ(
        offered(LeaveQuestion::Of::unsaved_run),
        (std::set<std::string>{"quit save", "browse train.checkpoint", "quit now", "quit stay"}));
}

TEST_F(TheQuitQuestion, EnterGivesTheUsualAnswer) {
    const auto entered = [&](LeaveQuestion::Of of) {
        snapshot.asks_to_leave = LeaveQuestion{of, {"why"}};
        ui.hold(ImGuiKey_Enter);  // as when the command was given with it
        for (int i = 0; i < 3; ++i) ui.frame(draw);
        EXPECT_TRUE(commands.take().empty());
        ui.hold(ImGuiKey_Enter, false);
        ui.frame(draw);
        ui.press(ImGuiKey_Enter, draw);
        snapshot.asks_to_leave.reset();
        for (int i = 0; i < 3; ++i) ui.frame(draw);
        return commands.take();
    };
    EXPECT_EQ(entered(LeaveQuestion::Of::edited_run), (Given{{"quit", {"save"}}}));
    EXPECT_EQ(entered(LeaveQuestion::Of::splats), (Given{{"browse", {"export"}}}));
}

TEST_F(TheQuitQuestion, EnterPressesTheButtonWithTheFocus) {
    snapshot.asks_to_leave = LeaveQuestion{LeaveQuestion::Of::edited_run, {"why"}};
    const auto shared = [&] {
        share_arrows();
        draw();
    };
    for (int i = 0; i < 5; ++i) ui.frame(shared);
    ui.press(ImGuiKey_RightArrow, shared);
    ui.press(ImGuiKey_RightArrow, shared);
    ASSERT_TRUE(ImGui::GetIO().NavVisible);
    ui.press(ImGuiKey_Enter, shared);
    const Given given = commands.take();
    ASSERT_EQ(given.size(), 1u);
    EXPECT_EQ(given[0].first, "quit");
    EXPECT_NE(given[0].second, (std::vector<std::string>{"save"}));
}

class TheImportDialog : public Click {
  protected:
    TheImportDialog() { put_import(snapshot); }

    Workspace workspace;
    Given given;
    const std::function<void()> draw = [this] {
        workspace.import_dialog.draw(snapshot, commands, workspace.file_dialog);
        // As the studio does with what was given.
        for (const auto& [name, arguments] : commands.take()) {
            given.emplace_back(name, arguments);
            if (name == "import.cancel" || name == "import.accept") snapshot.import.reset();
        }
    };
};

TEST_F(TheImportDialog, AppliesNumbersWhenTheyAreEntered) {
    const auto typed = [&](const Given& from) {
        return std::ranges::count(from, Given::value_type{"import.set", {"steps", "45"}});
    };
    for (float y = 100; y < 600 && typed(given) == 0; y += 10) {
        ui.click({300, y}, draw);
        if (!ImGui::GetIO().WantTextInput) continue;
        ui.hold_ctrl();
        ui.press(ImGuiKey_A, draw);
        ui.hold_ctrl(false);
        ImGui::GetIO().AddInputCharactersUTF8("45");
        for (int i = 0; i < 3; ++i) ui.frame(draw);
        EXPECT_EQ(typed(given), 0) << "45 passes through 4";
        ui.press(ImGuiKey_Enter, draw);
    }
    EXPECT_EQ(typed(given), 1);
    EXPECT_FALSE(has(given, "import.accept")) << "Enter was the field's";
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    ui.press(ImGuiKey_Escape, draw);
    EXPECT_TRUE(has(given, "import.cancel"));
}

/// Escape in a field is the field's.
TEST_F(TheImportDialog, EscapeLeavesAFieldThenTheDialog) {
    for (float y = 100; y < 600 && !ImGui::GetIO().WantTextInput; y += 10) ui.click({300, y}, draw);
    ASSERT_TRUE(ImGui::GetIO().WantTextInput);
    ui.press(ImGuiKey_Escape, draw);
    EXPECT_FALSE(has(given, "import.cancel"));
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    ui.press(ImGuiKey_Escape, draw);
    EXPECT_TRUE(has(given, "import.cancel"));
}

TEST_F(TheImportDialog, EnterOpens) {
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    ui.press(ImGuiKey_Enter, draw);
    EXPECT_EQ(given, (Given{{"import.accept", {}}}));
}

TEST_F(TheImportDialog, GivesItsChoicesAndAnswers) {
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    ASSERT_TRUE(keyboard_takes("Escape"));
    ui.press(ImGuiKey_Escape, draw);
    EXPECT_TRUE(has(given, "import.cancel"));
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    EXPECT_FALSE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId));
    std::set<std::string> names;
    for (float y = 20; y < 700; y += 13)
        for (const float x : {40.0F, 190.0F, 290.0F, 460.0F}) {
            put_import(snapshot);
            for (int i = 0; i < 2; ++i) ui.frame(draw);
            ui.click({x, y}, draw);
        }
    for (const auto& [name, arguments] : given)
        if (name != "import.accept" || arguments.empty())
            names.insert(name);
        else
            names.insert(name + " " + arguments[0]);
    for (const char* name :
         {"import.cancel", "import.accept", "import.accept train", "import.copy", "browse"})
        EXPECT_TRUE(names.contains(name)) << name;
    // What cannot be opened is not.
    given.clear();
    put_import(snapshot);
    ImportState wrong = *snapshot.import;
    wrong.wrong = "there is a run in that folder";
    snapshot.import = std::make_shared<ImportState>(wrong);
    for (float y = 560; y < 700; y += 9)
        for (const float x : {40.0F, 160.0F}) ui.click({x, y}, draw);
    EXPECT_FALSE(has(given, "import.accept"));
}

}  // namespace
}  // namespace gs::test
