// Two scenes in the viewport: where their pictures lie, what is said about them, and what can be
// clicked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "panels/files_panel.h"
#include "panels/trace/compare_panel.h"
#include "panels/viewport/compare.h"
#include "panels/viewport/viewport.h"
#include "panels/workspace.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"
#include "tests/support/temporary_folder.h"

namespace gs::test {
namespace {

class ComparePanel : public testing::Test {
  protected:
    ComparePanel() : table(fake_table()), commands(table) {
        fill_store(store, 3, 5'000'000'000'000);
        show(ViewMode::color);
    }
    void show(ViewMode mode) {
        snapshot = fake_snapshot(store, mode);
        snapshot.view.frusta = false;
        snapshot.frame_texture = 1;
        snapshot.second_texture = 2;
        put_beside(snapshot);
    }
    template <class Panel>
    auto alone(Panel& panel) {
        return [this, &panel] { draw_alone(panel, snapshot, commands); };
    }
    /// How often each texture is drawn.
    std::pair<int, int> textures() const {
        std::pair<int, int> count;
        const ImDrawData* data = ImGui::GetDrawData();
        for (int i = 0; i < data->CmdListsCount; ++i)
            for (const ImDrawCmd& command : data->CmdLists[i]->CmdBuffer) {
                if (command.TextureId == (ImTextureID)(std::uintptr_t)1) ++count.first;
                if (command.TextureId == (ImTextureID)(std::uintptr_t)2) ++count.second;
            }
        return count;
    }
    Headless ui{900, 700};
    TraceStore store;
    std::vector<CommandInfo> table;
    Commands commands;
    Snapshot snapshot;
};

TEST_F(ComparePanel, PicturesLieBesideEachOtherOrInOnePlace) {
    const PictureRect room{{10, 20}, {812, 420}};
    snapshot.view.compare = Compare::beside;
    const PicturePlaces beside = places_of(snapshot, room);
    EXPECT_LE(beside.picture.b.x + kPictureGap, beside.other.a.x + 1);
    EXPECT_EQ(beside.picture.width(), beside.other.width());
    EXPECT_EQ(beside.picture.a.y, beside.other.a.y);
    EXPECT_GE(beside.picture.a.x, room.a.x);
    EXPECT_LE(beside.other.b.x, room.b.x);
    const ImVec2 right{beside.other.a.x + 3, beside.other.a.y + 3};
    EXPECT_EQ(&beside.under(right), &beside.other);
    EXPECT_EQ(pictures_width(snapshot.view, picture_width(snapshot.view, 802)), 802);

    snapshot.view.compare = Compare::split;
    snapshot.view.split = 0.25;
    const PicturePlaces split = places_of(snapshot, room);
    EXPECT_TRUE(split.split);
    EXPECT_NEAR(split.divider, split.picture.a.x + 0.25F * split.picture.width(), 1);
    EXPECT_EQ(&shown_frame(snapshot, split), snapshot.frame.get());

    snapshot.view.compare = Compare::toggle;
    snapshot.view.show_photo = true;
    const PicturePlaces toggled = places_of(snapshot, room);
    EXPECT_EQ(&shown_frame(snapshot, toggled), snapshot.frame->other.get());
}

TEST_F(ComparePanel, DrawsTheRightPicturesInEveryWay) {
    Viewport viewport;
    const auto draw = alone(viewport);
    const auto drawn = [&](Compare compare, bool other) {
        snapshot.view.compare = compare;
        snapshot.view.show_photo = other;
        for (int i = 0; i < 2; ++i) ui.frame(draw);
        return textures();
    };
    EXPECT_EQ(drawn(Compare::off, false), (std::pair{1, 0}));
    EXPECT_EQ(drawn(Compare::beside, false), (std::pair{1, 1}));
    EXPECT_EQ(drawn(Compare::split, false), (std::pair{1, 1}));
    EXPECT_EQ(drawn(Compare::toggle, false), (std::pair{1, 0}));
    EXPECT_EQ(drawn(Compare::toggle, true), (std::pair{0, 1}));
    snapshot.view.compare = Compare::beside;
    ui.frame([&] { viewport.draw_picture(snapshot, 600, 200); });
    EXPECT_EQ(textures(), (std::pair{1, 1})) << "screenshots also show both";
}

TEST_F(ComparePanel, DrawsEveryModeInAnyRoom) {
    for (const ViewMode mode : {ViewMode::color, ViewMode::isects, ViewMode::error}) {
        show(mode);
        snapshot.view.signed_error = true;
        for (const ImVec2 size :
             {ImVec2{1, 1}, ImVec2{60, 40}, ImVec2{300, 200}, ImVec2{1600, 900}}) {
            ImGui::GetIO().DisplaySize = size;
            for (std::size_t compare = 0; compare < kCompareNames.size(); ++compare) {
                snapshot.view.compare = static_cast<Compare>(compare);
                Viewport viewport;
                const auto draw = alone(viewport);
                ui.move_mouse({size.x * 0.7F, size.y * 0.7F});
                for (int i = 0; i < 3; ++i) ui.frame(draw);
            }
        }
    }
    EXPECT_TRUE(commands.take().empty());
}

TEST_F(ComparePanel, APixelTellsOfBothScenes) {
    const std::string colors = pixel_text(*snapshot.frame, 480, 340);
    EXPECT_THAT(colors, testing::HasSubstr("A  RGB"));
    EXPECT_THAT(colors, testing::HasSubstr("B  RGB"));
    show(ViewMode::isects);
    const std::string tiles = pixel_text(*snapshot.frame, 480, 340);
    EXPECT_THAT(tiles, testing::HasSubstr("tile (30, 21)"));
    EXPECT_THAT(tiles, testing::HasSubstr("B  "));
    EXPECT_EQ(pixel_text(*fake_snapshot(store, ViewMode::color).frame, 1, 1).find("A  "),
              std::string::npos);
}

TEST_F(ComparePanel, TheDividerIsDraggedAndTheBarSwapsAndEnds) {
    Viewport viewport;
    const auto draw = alone(viewport);
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    ui.drag({450, 400}, {550, 400}, draw);
    Given given = commands.take();
    ASSERT_FALSE(given.empty());
    EXPECT_EQ(given.back().first, "view.split");
    EXPECT_GT(std::stod(given.back().second.at(0)), 0.55);

    std::set<std::string> names;
    // The list of comparison modes is opened again for each of its rows.
    for (float y = 20; y < 320; y += 8) {
        ui.click({11 * em(), 14}, draw);
        ui.click({11 * em(), y}, draw);
        ui.click({899, 699}, draw);  // closes what is still open
        for (const auto& [name, arguments] : commands.take()) names.insert(name);
    }
    EXPECT_TRUE(names.contains("scene.swap"));
    EXPECT_TRUE(names.contains("scene.end-compare"));
    for (const std::string& name : names)
        EXPECT_TRUE(std::any_of(table.begin(), table.end(), [&](const CommandInfo& c) {
            return c.name == name;
        })) << name;
}

TEST_F(ComparePanel, AFilesMenuOffersTheComparison) {
    const test::TemporaryFolder folder;
    std::ofstream(folder / "one.ply") << "ply\n";
    FilesPanel files;
    auto types = std::make_shared<FileTypes>();
    types->kind_of = [](const std::string& path) {
        return path.ends_with(".ply") ? FileKind::splats : FileKind::other;
    };
    snapshot.file_types = types;
    files.browser.enter(folder.path().string(), types);
    files.browser.settle();
    snapshot.recent.clear();
    const auto draw = alone(files);
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    std::set<std::string> names;
    for (float y = 110; y < 122; y += 4) {
        ui.click({40, y}, draw, 1);
        for (float below = 8; below < 60; below += 12) {  // the menu stands at the mouse
            ui.click({60, y + below}, draw);
            for (const auto& [name, arguments] : commands.take()) {
                names.insert(name);
                if (name == "scene.compare") {
                    EXPECT_EQ(arguments.at(0), (folder / "one.ply").string());
                }
            }
            ui.click({40, y}, draw, 1);
        }
    }
    EXPECT_TRUE(names.contains("scene.compare"));
}

}  // namespace
}  // namespace gs::test
