// The menus: groups, what is on, what has nothing to act on; names of paths that tell them apart.
#include "panels/menus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "panels/widgets/widgets.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

TEST(Menus, APlaceIsReadFromItsText) {
    const MenuPlace deep = menu_place("View/Steer by 12");
    EXPECT_EQ(deep.menu, "View");
    EXPECT_EQ(deep.list, "Steer by");
    EXPECT_EQ(deep.group, 12);
    const MenuPlace plain = menu_place("File 3");
    EXPECT_EQ(plain.menu, "File");
    EXPECT_EQ(plain.list, "");
    EXPECT_EQ(plain.group, 3);
}

TEST(Menus, FileEndsWithQuitAndNoMenuIsLongerThanAScreen) {
    std::map<std::string, int> rows;
    std::pair<int, std::string> last;
    for (const CommandInfo& info : fake_table()) {
        if (info.menu.empty()) continue;
        const MenuPlace place = menu_place(info.menu);
        EXPECT_GT(place.group, 0) << info.name;
        ++rows[std::string(place.menu) + "/" + std::string(place.list)];
        if (place.menu == "File") last = std::max(last, std::pair(place.group, info.name));
    }
    EXPECT_EQ(last.second, "quit");
    for (const auto& [name, count] : rows) EXPECT_LE(count, 16) << name;
}

TEST(Menus, NoKeyHasTwoCommands) {
    std::map<std::string, std::string> of_key;
    for (const CommandInfo& info : fake_table()) {
        if (info.key.empty()) continue;
        const auto [at, is_new] = of_key.emplace(info.key, info.name);
        EXPECT_TRUE(is_new) << info.key << " is of " << at->second << " and " << info.name;
    }
    EXPECT_GT(of_key.size(), 50u);
}

TEST(Menus, WhatIsChosenHasACheckMark) {
    TraceStore store;
    Snapshot snapshot = fake_snapshot(store, ViewMode::depth);
    snapshot.view.frusta = false;
    std::vector<std::string> on;
    for (const CommandInfo& info : fake_table())
        if (switched_on(info.name, snapshot).value_or(false)) on.push_back(info.name);
    EXPECT_THAT(on, testing::IsSupersetOf({"view.mode.depth", "view.style.splats",
                                           "view.navigation.orbit", "view.overlays"}));
    EXPECT_THAT(on, testing::Not(testing::Contains("view.mode.color")));
    EXPECT_THAT(on, testing::Not(testing::Contains("view.frusta")));
    EXPECT_FALSE(switched_on("open", snapshot)) << "it chooses nothing";
}

TEST(Menus, WhatHasNothingToActOnIsGrey) {
    TraceStore store;
    Snapshot training = fake_snapshot(store);
    training.training.state = RunState::training;
    EXPECT_TRUE(applies("train.pause", training));
    EXPECT_FALSE(applies("train.start", training));
    EXPECT_FALSE(applies("scene.swap", training)) << "no second scene";
    const Snapshot empty;
    for (const char* name : {"close", "export", "train.start", "train.pause", "train.step",
                             "doctor.fix", "doctor.undo", "view.next", "cancel"})
        EXPECT_FALSE(applies(name, empty)) << name;
    for (const char* name : {"open", "quit", "palette", "trace.open"})
        EXPECT_TRUE(applies(name, empty)) << name;
    Snapshot splats = fake_snapshot(store);
    auto scene = *splats.scene;
    scene.train_views = 0;
    splats.scene = std::make_shared<SceneInfo>(scene);
    splats.training.state = RunState::ready;
    EXPECT_TRUE(splats.nothing_to_train());
    for (const char* name : {"train.start", "train.toggle", "train.step", "train.stop"})
        EXPECT_FALSE(applies(name, splats)) << name;
}

TEST(Menus, ClickingThroughThemGivesCommandsAndClosesWithEscape) {
    Headless ui(1200, 800);
    const auto table = fake_table();
    Commands commands(table);
    TraceStore store;
    Snapshot snapshot = fake_snapshot(store);
    snapshot.recent = {"/data/room/dense", "/data/garden/dense"};
    Palette palette;
    const PanelItem panels[] = {{"Scene", true}};
    const auto draw = [&] {
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({1200, 30});
        ImGui::Begin("bar", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_MenuBar);
        if (ImGui::BeginMenuBar()) {
            draw_menus(snapshot, commands, palette, panels);
            ImGui::EndMenuBar();
        }
        ImGui::End();
        palette.draw(commands);
    };
    std::vector<std::string> given;
    for (float y = 30; y < 500; y += 7) {
        ui.click({20, 10}, draw);
        ui.move_mouse({40, y});
        for (int i = 0; i < 30; ++i) ui.frame(draw);  // a list opens after a moment
        ui.click({40, y}, draw);
        for (int i = 0; i < 2; ++i) ui.click({1190, 790}, draw);
        for (const auto& [name, arguments] : commands.take()) given.push_back(name);
        palette.dismiss();
        ui.frame(draw);
    }
    EXPECT_THAT(given, testing::IsSupersetOf({"close", "quit", "open.sample"}));
    EXPECT_THAT(given, testing::Not(testing::Contains("scene.end-compare")));
}

TEST(ShortNames, TellPathsApart) {
    using Names = std::vector<std::string>;
    const auto names = [](const Names& paths) { return short_names(paths); };
    EXPECT_EQ(names({"/a/fox", "/a/room.ply"}), (Names{"fox", "room.ply"}));
    EXPECT_EQ(names({"/a/fox/dense", "/a/room/dense/", "/b/lamp"}),
              (Names{"fox/dense", "room/dense", "lamp"}));
    EXPECT_EQ(names({"/a/x/dense", "/b/x/dense"}), (Names{"/a/x/dense", "/b/x/dense"}));
    EXPECT_EQ(names({"/runs/fox-1/checkpoint.gsc"}), (Names{"fox-1/checkpoint.gsc"}));
    EXPECT_EQ(names({"/x/dense", "/x/dense"}), (Names{"dense", "dense"}));
    EXPECT_EQ(names({"/", "lone", "/lone"}), (Names{"/", "lone", "/lone"}));
    EXPECT_TRUE(names({}).empty());
}

}  // namespace
}  // namespace gs::test
