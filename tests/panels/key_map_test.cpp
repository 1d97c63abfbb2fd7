// Key maps: what they say, what is wrong with them, and how their keys are marked on a keyboard.
#include "app/studio/key_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/commands/commands.h"
#include "base/assets.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"

namespace gs::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool is_command(const std::string& name) { return name == "a" || name == "b" || name == "c"; }

KeyMap map_of(std::string_view text) {
    KeyMap map;
    map.read(text, "mine", is_command);
    return map;
}

TEST(KeyMap, ReadsKeysWithTheirCommands) {
    const KeyMap map = map_of("# mine\n  Ctrl+d  a\n\nShift+Ctrl+[\tb 3 'x y'\r\nF12 c\n");
    EXPECT_TRUE(map.problems().empty()) << map.problems().front();
    ASSERT_TRUE(map.find("Ctrl+D"));
    EXPECT_EQ(map.find("Ctrl+D")->command, "a");
    ASSERT_TRUE(map.find("Ctrl+Shift+["));
    EXPECT_THAT(map.find("Ctrl+Shift+[")->arguments, ElementsAre("3", "x y"));
    EXPECT_FALSE(map.find("D"));
    EXPECT_FALSE(map.find(""));
}

TEST(KeyMap, TellsWhatIsWrongAndLeavesItOut) {
    const KeyMap map = map_of("Ctrl+ a\nF13 a\nKeypad10 a\nHyper+A a\nD nothing\nE\nG a\nG b\n");
    ASSERT_EQ(map.problems().size(), 7U);
    EXPECT_THAT(map.problems()[4], HasSubstr("mine:5: there is no command nothing"));
    EXPECT_THAT(map.problems()[6], HasSubstr("mine:8: G is given to a and b"));
    ASSERT_EQ(map.bindings().size(), 1U);
    EXPECT_EQ(map.find("G")->command, "b");
}

TEST(KeyMap, ALaterTextGoesOverAnEarlierOne) {
    KeyMap map = map_of("D a\nE b\nF c\n");
    map.read("D b\nE none\n", "own", is_command);
    EXPECT_TRUE(map.problems().empty());
    EXPECT_EQ(map.find("D")->command, "b");
    EXPECT_FALSE(map.find("E"));
    EXPECT_EQ(map.find("F")->command, "c");
}

TEST(KeyMap, KeysAreMarkedAsTheKeyboardHasThem) {
    const KeyMap map = map_of("Ctrl+= a\nCtrl+Plus a\n[ b\nD c\nE c 1\n");
    EXPECT_THAT(map.marks_of("a", {}), ElementsAre("Ctrl+=", "Ctrl++"));
    KeyLayout german;
    german.stands_for = {{"[", "\xC3\x9C"}, {"=", "\xC2\xB4"}};
    EXPECT_THAT(map.marks_of("a", german), ElementsAre("Ctrl++", "Ctrl+\xC2\xB4"));
    EXPECT_THAT(map.marks_of("b", german), ElementsAre("\xC3\x9C"));
    EXPECT_THAT(map.marks_of("c", german), ElementsAre("D")) << "not with arguments";
}

TEST(KeyMap, ThePresetsAreRightAndTheUsersFileGoesOverThem) {
    const CommandTable table = all_commands();
    const auto known = [&](const std::string& name) { return table.find(name) != nullptr; };
    const TemporaryFolder folder;
    ASSERT_TRUE(
        write_text_file(folder.path() / "keys.txt", "Ctrl+D select.none\nCtrl+J no.such\n"));
    for (const std::string& path : assets_in("keys")) {
        SCOPED_TRACE(path);
        const auto map =
            required(load_key_map(fs::path(path).stem().string(), folder.path(), known));
        EXPECT_EQ(map.problems().size(), 1U) << "the one in keys.txt";
        EXPECT_EQ(map.find("Ctrl+D")->command, "select.none");
        EXPECT_EQ(map.find("Ctrl+Z")->command, "undo");
        for (const KeyBinding& b : map.bindings()) {
            const CommandRow* row = table.find(b.command);
            ASSERT_TRUE(row) << b.command;
            EXPECT_TRUE(b.arguments.empty() || row->takes_words(b.arguments.size())) << b.chord;
        }
    }
    EXPECT_FALSE(load_key_map("emacs", folder.path(), known));
}

TEST(KeyMap, HabitsOfOtherProgramsWork) {
    const CommandTable table = all_commands();
    const auto map = load_key_map("gausscope", "/nonexistent", [&](const std::string& name) {
        return table.find(name) != nullptr;
    });
    ASSERT_TRUE(map);
    for (const auto& [key, command] : std::initializer_list<std::pair<const char*, const char*>>{
             {"F", "view.frame"},
             {"H", "edit.hide"},
             {"Backspace", "edit.delete"},
             {"Ctrl+Y", "redo"},
             {"Ctrl+S", "save"},
             {"Ctrl+=", "interface.larger"},
             {"Ctrl+WheelDown", "interface.smaller"},
             {"[", "tool.brush-shrink"}}) {
        ASSERT_TRUE(map->find(key)) << key;
        EXPECT_EQ(map->find(key)->command, command);
    }
}

}  // namespace
}  // namespace gs::test
