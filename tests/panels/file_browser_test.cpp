// The browser of files: folders and kinds, filter, order, keyboard; the dialog that asks for a
// command's path.
#include <gtest/gtest.h>
#include <imgui_internal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "panels/palette.h"
#include "panels/widgets/file_dialog.h"
#include "panels/widgets/keys.h"
#include "panels/workspace.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

namespace fs = std::filesystem;

class Browser : public testing::Test {
  protected:
    Browser()
        : root(fs::temp_directory_path() / ("gausscope_browser_" + std::to_string(::getpid()))) {
        fs::remove_all(root);
        fs::create_directories(root / "inner" / "deeper");
        fs::create_directories(root / "a_capture");
        put("b.splats", 3000);
        put("A.splats", 10);
        put("notes.txt", 200);
        put(".hidden", 1);
        put("run.gsc", 50);
        // What is what, by names that no format has: the browser must not know any itself.
        auto made = std::make_shared<FileTypes>();
        made->kind_of = [](const std::string& path) {
            if (path.ends_with(".splats")) return FileKind::splats;
            if (path.ends_with(".gsc")) return FileKind::checkpoint;
            return path.ends_with("a_capture") ? FileKind::capture : FileKind::other;
        };
        made->written = {{"Plain", ".splats"}, {"Small", ".small.splats"}, {"Other", ".o"}};
        types = made;
        snapshot.file_types = types;
        snapshot.recent = {(root / "b.splats").string()};
    }
    ~Browser() override {
        fs::current_path(root.parent_path());
        fs::remove_all(root);
    }
    void put(const std::string& name, std::size_t bytes) {
        std::ofstream(root / name) << std::string(bytes, 'x');
        fs::last_write_time(root / name,
                            fs::file_time_type::clock::now() - std::chrono::hours(bytes));
    }
    std::vector<std::string> names(const FileBrowser& browser) {
        std::vector<std::string> out;
        for (const std::size_t i : browser.shown()) out.push_back(browser.entries()[i].name);
        return out;
    }
    /// Draws until the folder is read, and then what follows from it.
    void read(const FileDialog& dialog, const std::function<void()>& draw) {
        while (dialog.busy()) ui.frame(draw);
        for (int i = 0; i < 8; ++i) ui.frame(draw);
    }
    auto window(const std::function<void()>& draw) {
        return [draw] {
            ImGui::SetNextWindowPos({0, 0});
            ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
            ImGui::SetNextWindowFocus();
            ImGui::Begin("browser", nullptr, ImGuiWindowFlags_NoDecoration);
            draw();
            ImGui::End();
        };
    }

    Headless ui{700, 500};
    fs::path root;
    std::shared_ptr<const FileTypes> types;
    Snapshot snapshot;
    Commands commands;
};

TEST_F(Browser, ListsWhatCanBeOpenedFoldersFirst) {
    FileBrowser browser;
    const auto draw = window([&] { browser.draw(types, 0); });
    browser.enter(root.string(), types);
    browser.settle();
    ui.frame(draw);
    EXPECT_EQ(names(browser),
              (std::vector<std::string>{"a_capture", "inner", "A.splats", "b.splats", "run.gsc"}));
    browser.openable_only = false;
    ui.frame(draw);
    EXPECT_EQ(names(browser).size(), 6u) << "notes.txt, but nothing hidden";
    browser.filter = "SPLA";
    ui.frame(draw);
    EXPECT_EQ(names(browser), (std::vector<std::string>{"A.splats", "b.splats"}));
    const auto b = std::ranges::find(browser.entries(), "b.splats", &FileBrowser::Entry::name);
    EXPECT_EQ(b->bytes, 3000u);
    EXPECT_GT(b->modified, 1'000'000'000);
    EXPECT_NE(format_date(b->modified), "-");
}

TEST_F(Browser, IsWalkedByTheKeyboard) {
    FileBrowser browser;
    std::vector<std::string> chosen;
    const auto draw = window([&] {
        if (const auto path = browser.draw(types, 0)) chosen.push_back(*path);
    });
    browser.enter(root.string(), types);
    browser.settle();
    ui.frame(draw);
    ui.frame(draw);
    ui.press(ImGuiKey_DownArrow, draw);
    ASSERT_TRUE(browser.selected());
    EXPECT_EQ(browser.selected()->name, "inner");
    ui.press(ImGuiKey_Enter, draw);
    browser.settle();
    EXPECT_EQ(browser.folder(), (root / "inner").string());
    EXPECT_TRUE(chosen.empty());
    EXPECT_TRUE(keyboard_takes("Backspace")) << "it deletes no Gaussians";
    ui.press(ImGuiKey_Backspace, draw);
    browser.settle();
    ui.frame(draw);
    EXPECT_EQ(browser.folder(), root.string());
    EXPECT_EQ(browser.selected()->name, "inner") << "where it came from";
    ui.press(ImGuiKey_UpArrow, draw);
    ui.press(ImGuiKey_Enter, draw);
    EXPECT_EQ(chosen, std::vector<std::string>{(root / "a_capture").string()})
        << "a capture opens, it is not entered";
    for (int i = 0; i < 9; ++i) ui.press(ImGuiKey_DownArrow, draw);
    EXPECT_EQ(browser.selected()->name, "run.gsc");
}

TEST_F(Browser, EnterInThePathDoesOneThing) {
    FileBrowser browser;
    std::vector<std::string> chosen;
    const auto draw = window([&] {
        if (const auto path = browser.draw(types, 0)) chosen.push_back(*path);
    });
    const auto type = [&](const fs::path& path) {
        browser.enter(root.string(), types);
        browser.settle();
        ui.frame(draw);
        ui.click({60, 1.9F * em() + ImGui::GetFrameHeight()}, draw);
        ASSERT_TRUE(ImGui::GetIO().WantTextInput) << "the field of the path";
        ui.hold_ctrl();
        ui.press(ImGuiKey_A, draw);
        ui.hold_ctrl(false);
        for (const char c : path.string())
            ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(c));
        ui.frame(draw);
        ui.press(ImGuiKey_Enter, draw);
        browser.settle();
        ui.frame(draw);
    };
    type(root / "inner");
    EXPECT_EQ(browser.folder(), (root / "inner").string());
    EXPECT_TRUE(chosen.empty()) << "nothing in the folder is opened unasked";
    type(root / "b.splats");
    EXPECT_EQ(chosen, std::vector<std::string>{(root / "b.splats").string()});
    type(root / "a_capture");
    EXPECT_EQ(chosen.size(), 2u) << "a capture opens, it is not entered";
}

TEST_F(Browser, APathTypedIntoTheFilterIsGoneTo) {
    FileBrowser browser;
    std::vector<std::string> chosen;
    const auto draw = window([&] {
        if (const auto path = browser.draw(types, 0)) chosen.push_back(*path);
    });
    const auto type = [&](const std::string& words) {
        browser.focus_filter = true;
        for (int i = 0; i < 3; ++i) ui.frame(draw);
        ASSERT_TRUE(ImGui::GetIO().WantTextInput) << "the filter";
        ImGui::GetIO().AddInputCharactersUTF8(words.c_str());
        for (int i = 0; i < 3; ++i) ui.frame(draw);
        EXPECT_FALSE(browser.shown().empty()) << "a path filters nothing";
        ui.press(ImGuiKey_Enter, draw);
        browser.settle();
        ui.frame(draw);
    };
    browser.enter(root.string(), types);
    browser.settle();
    type("./inner");
    EXPECT_EQ(browser.folder(), (root / "inner").string());
    browser.openable_only = false;
    type("../b.splats");
    EXPECT_EQ(chosen, std::vector<std::string>{(root / "b.splats").string()});
    type(root.string());
    EXPECT_EQ(browser.folder(), root.string());
    ::setenv("HOME", (root / "inner").c_str(), 1);
    type("~");
    EXPECT_EQ(browser.folder(), (root / "inner").string());
}

TEST_F(Browser, AWrongPathIsCorrectedByTypingOn) {
    FileBrowser browser;
    const auto draw = window([&] { browser.draw(types, 0); });
    browser.enter(root.string(), types);
    browser.settle();
    browser.focus_filter = true;
    for (const char* words : {"./inn", "inner/"}) {
        for (int i = 0; i < 3; ++i) ui.frame(draw);
        ASSERT_TRUE(ImGui::GetIO().WantTextInput) << "before " << words;
        ui.hold_ctrl();
        ui.press(ImGuiKey_A, draw);
        ui.hold_ctrl(false);
        ImGui::GetIO().AddInputCharactersUTF8(words);
        for (int i = 0; i < 3; ++i) ui.frame(draw);
        ui.press(ImGuiKey_Enter, draw);
        browser.settle();
    }
    EXPECT_EQ(browser.folder(), (root / "inner").string());
}

TEST_F(Browser, TheDialogOpensATypedPathByItsButton) {
    FileDialog dialog;
    dialog.ask("open", snapshot);
    const auto draw = [&] { dialog.draw(snapshot, commands); };
    read(dialog, draw);
    ImGui::GetIO().AddInputCharactersUTF8((root / "A.splats").c_str());
    for (int i = 0; i < 5; ++i) ui.frame(draw);
    Given given;
    for (float y = 464; y > 250 && given.empty(); y -= 6) {
        ui.click({60, y}, draw);
        read(dialog, draw);  // what the path is
        given = commands.take();
    }
    EXPECT_EQ(given, (Given{{"open", {(root / "A.splats").string()}}}));
}

/// Asking what "deeper" is takes until it is let go.
struct DeadMount {
    explicit DeadMount(const FileTypes& of) : types(std::make_shared<FileTypes>(of)) {
        types->kind_of = [known = of.kind_of, hangs = hangs](const std::string& path) {
            if (!path.ends_with("deeper")) return known(path);
            while (*hangs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return FileKind::splats;
        };
    }
    ~DeadMount() { let_go(); }
    void let_go() const { *hangs = false; }

    std::shared_ptr<std::atomic<bool>> hangs = std::make_shared<std::atomic<bool>>(true);
    std::shared_ptr<FileTypes> types;
};

TEST_F(Browser, AFolderThatHangsIsLeft) {
    const DeadMount dead(*types);
    FileBrowser browser;
    browser.enter((root / "inner").string(), dead.types);
    EXPECT_TRUE(browser.busy());
    browser.enter(root.string(), dead.types);
    browser.settle();
    EXPECT_EQ(browser.folder(), root.string());
}  // nothing waits for it

TEST_F(Browser, AnUnreadableFirstFolderGivesWayToTheCurrentOne) {
    fs::current_path(root / "inner");
    FileBrowser browser;
    browser.enter((root / "gone").string(), types);
    browser.settle();
    EXPECT_EQ(browser.folder(), (root / "inner").string());
    EXPECT_EQ(names(browser), std::vector<std::string>{"deeper"});
}

TEST_F(Browser, ATypedPathThatHangsIsChosenLater) {
    const DeadMount dead(*types);
    FileBrowser browser;
    std::vector<std::string> chosen;
    const auto draw = window([&] {
        if (const auto path = browser.draw(dead.types, 0)) chosen.push_back(*path);
    });
    browser.enter(root.string(), dead.types);
    browser.settle();
    EXPECT_FALSE(browser.go_to("inner/deeper"));
    ui.frame(draw);
    EXPECT_TRUE(chosen.empty());
    dead.let_go();
    browser.settle();
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    EXPECT_EQ(chosen, std::vector<std::string>{(root / "inner/deeper").string()});
}

TEST_F(Browser, TheDialogWritesIntoAFolderThatItHasRead) {
    const DeadMount dead(*types);
    put("inner/gausscope.png", 3);
    snapshot.file_types = dead.types;
    FileDialog dialog;
    dialog.folders["pictures"] = (root / "inner").string();
    dialog.folders["traces"] = (root / "gone").string();
    const auto draw = [&] { dialog.draw(snapshot, commands); };
    dialog.ask("screenshot", snapshot);
    for (int i = 0; i < 5; ++i) ui.frame(draw);
    ui.press(ImGuiKey_Enter, draw);
    EXPECT_TRUE(dialog.busy() && commands.take().empty());
    dead.let_go();
    read(dialog, draw);
    ui.press(ImGuiKey_Enter, draw);
    EXPECT_EQ(commands.take(),
              (Given{{"screenshot", {(root / "inner/gausscope-2.png").string(), "overlays"}}}));
    fs::current_path(root / "a_capture");
    dialog.ask("trace.save", snapshot);
    read(dialog, draw);
    ui.press(ImGuiKey_Enter, draw);
    const Given given = commands.take();
    ASSERT_EQ(given.size(), 1u);
    EXPECT_EQ(fs::path(given[0].second.at(0)).parent_path(), root / "a_capture")
        << "not where the last picture was written";
}

TEST_F(Browser, ListsOfPlacesAreReadInTheBackground) {
    FileBrowser browser;
    browser.find_places({(root / "b.splats").string(), (root / "gone/e.splats").string()});
    EXPECT_TRUE(browser.waits() || !browser.places.empty()) << "they are drawn when they come";
    for (int i = 0; i < 1000 && browser.waits(); ++i) {
        browser.update();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_FALSE(browser.places.empty());
    EXPECT_EQ(browser.places[0].path, root.string());
}

TEST_F(Browser, HasPlacesToGoTo) {
    ::setenv("HOME", root.c_str(), 1);
    put("inner/c.splats", 1);
    const auto places =
        places_of({(root / "inner/c.splats").string(), (root / "inner/d.splats").string(),
                   (root / "gone/e.splats").string()});
    ASSERT_GE(places.size(), 3u);
    EXPECT_EQ(places[0].path, (root / "inner").string()) << "once, and not what is gone";
    EXPECT_EQ(places[1].name, "Home");
    FileBrowser browser;
    browser.places = places;
    browser.enter(root.string(), types);
    browser.settle();
    const auto draw = window([&] { browser.draw(types, 0); });
    ui.frame(draw);
    for (float y = 20; y < 120 && browser.folder() == root.string(); y += 6) {
        ui.click({40, y}, draw);
        browser.settle();
    }
    EXPECT_EQ(browser.folder(), (root / "inner").string());
}

TEST_F(Browser, TheDialogHasTheBoxesOfItsCommand) {
    FileDialog dialog;
    dialog.folders["bundles"] = root.string();
    dialog.ask("bundle.save", snapshot);
    const auto draw = [&] { dialog.draw(snapshot, commands); };
    read(dialog, draw);
    EXPECT_NE(ui.words(draw).find("With photos"), std::string::npos);
    Given given;
    // At the dialog's lower edge, whether its places are known by now or not.
    for (float y = 476; y > 400 && given.empty(); y -= 6) {
        ui.click({10.5F * em(), y}, draw);
        ui.click({3 * em(), y}, draw);
        given = commands.take();
    }
    EXPECT_EQ(given, (Given{{"bundle.save", {(root / "gausscope.gsb").string(), "photos"}}}));
}

TEST_F(Browser, KeepsWhatItHasWhenAFolderCannotBeRead) {
    FileBrowser browser;
    browser.enter(root.string(), types);
    browser.settle();
    browser.enter((root / "gone").string(), types);
    browser.settle();
    EXPECT_FALSE(browser.problem().empty());
    EXPECT_EQ(browser.folder(), root.string());
    EXPECT_FALSE(browser.entries().empty());
}

TEST_F(Browser, TheDialogAnswersTheCommandThatAsked) {
    FileDialog dialog;
    EXPECT_TRUE(FileDialog::serves("open") && FileDialog::serves("export") &&
                FileDialog::serves("scene.compare") && FileDialog::serves("screenshot") &&
                FileDialog::serves("trace.save") && FileDialog::serves("trace.open"));
    EXPECT_FALSE(FileDialog::serves("train.run-to"));
    dialog.ask("open", snapshot);
    const auto draw = [&] { dialog.draw(snapshot, commands); };
    read(dialog, draw);
    for (int i = 0; i < 3; ++i) ui.press(ImGuiKey_DownArrow, draw);
    ui.press(ImGuiKey_Enter, draw);
    const auto given = commands.take();
    ASSERT_EQ(given.size(), 1u);
    EXPECT_EQ(given[0].first, "open");
    EXPECT_EQ(given[0].second, std::vector<std::string>{(root / "b.splats").string()});
}

TEST_F(Browser, ExportsUnderANameWithAFormat) {
    FileDialog dialog;
    dialog.ask("export", snapshot);
    const auto draw = [&] { dialog.draw(snapshot, commands); };
    read(dialog, draw);
    // The focused field contains the name; ".ply" is none of these formats, so nothing is written.
    ui.press(ImGuiKey_Enter, draw);
    EXPECT_TRUE(commands.take().empty());
}

TEST_F(Browser, EnterInTheNameGoesIntoNoFolder) {
    FileDialog dialog;
    snapshot.recent.clear();
    fs::current_path(root);
    dialog.ask("export", snapshot);
    const auto draw = [&] { dialog.draw(snapshot, commands); };
    read(dialog, draw);
    for (const char c : std::string("m.splats"))
        ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(c));
    ui.frame(draw);
    ui.press(ImGuiKey_Enter, draw);
    const Given given = commands.take();
    ASSERT_EQ(given.size(), 1u);
    EXPECT_EQ(fs::path(given[0].second.at(0)).parent_path().filename(), root.filename());
}

TEST_F(Browser, APictureIsNamedWhereTheLastOneWasWritten) {
    fs::create_directories(root / "pictures");
    put("pictures/gausscope.png", 3);
    FileDialog dialog;
    dialog.folders["pictures"] = (root / "pictures").string();
    dialog.folders["open"] = (root / "gone").string();
    dialog.ask("screenshot", snapshot);
    const auto draw = [&] { dialog.draw(snapshot, commands); };
    read(dialog, draw);
    ui.press(ImGuiKey_Enter, draw);
    EXPECT_EQ(commands.take(),
              (Given{{"screenshot", {(root / "pictures/gausscope-2.png").string(), "overlays"}}}))
        << "under a name that nothing has yet";
    dialog.ask("trace.save", snapshot);
    read(dialog, draw);
    ImGui::GetIO().AddInputCharactersUTF8("run 7");  // its ending is added
    ui.frame(draw);
    ui.press(ImGuiKey_Enter, draw);
    const Given given = commands.take();
    ASSERT_EQ(given.size(), 1u);
    EXPECT_EQ(given[0].first, "trace.save");
    EXPECT_EQ(fs::path(given[0].second.at(0)).filename(), "run 7.pftrace");
    EXPECT_TRUE(fs::path(given[0].second.at(0)).is_absolute());
    EXPECT_EQ(dialog.folders.at("traces"), fs::path(given[0].second.at(0)).parent_path());
    dialog.ask("open", snapshot);
    read(dialog, draw);
    EXPECT_EQ(dialog.folders.at("open"), (root / "gone").string())
        << "what is gone is no place to begin, and nothing was opened elsewhere";
}

TEST_F(Browser, ATraceIsAskedForAmongTracesAlone) {
    auto made = std::make_shared<FileTypes>(*types);
    made->kind_of = [](const std::string& path) {
        if (path.ends_with(".txt")) return FileKind::trace;
        if (path.ends_with("a_capture")) return FileKind::capture;
        return path.ends_with(".splats") ? FileKind::splats : FileKind::other;
    };
    FileBrowser browser;
    browser.only = FileKind::trace;
    browser.enter(root.string(), made);
    browser.settle();
    EXPECT_EQ(names(browser), (std::vector<std::string>{"a_capture", "inner", "notes.txt"}));
}

TEST_F(Browser, EscapeInTheDialogsComboLeavesTheDialog) {
    FileDialog dialog;
    dialog.ask("export", snapshot);
    const auto draw = [&] {
        share_arrows();
        dialog.draw(snapshot, commands);
    };
    read(dialog, draw);
    const auto open_popups = [] { return ImGui::GetCurrentContext()->OpenPopupStack.Size; };
    // The formats' combo stands at the right of the name, above the buttons.
    const ImVec2 middle{ImGui::GetIO().DisplaySize.x / 2, ImGui::GetIO().DisplaySize.y / 2};
    const float right = std::min(26 * em(), middle.x - em()),
                below = std::min(17 * em(), middle.y - em());
    for (float y = below - 4; y > 0 && open_popups() < 2; y -= 5)
        ui.click({middle.x + right - 12 * em(), middle.y + y}, draw);
    ASSERT_EQ(open_popups(), 2);
    ui.press(ImGuiKey_Escape, draw);
    EXPECT_EQ(open_popups(), 1) << "the dialog stays";
    ui.press(ImGuiKey_Escape, draw);
    EXPECT_EQ(open_popups(), 0);
}

TEST_F(Browser, ThePaletteLeavesPathsToTheDialog) {
    Workspace workspace;
    workspace.reset_layout();
    workspace.palette.show("open");
    const auto draw = [&] { workspace.draw(snapshot, commands); };
    ui.frame(draw);
    ui.frame(draw);
    EXPECT_FALSE(workspace.palette.visible());
    workspace.palette.show("train.run-to");
    ui.frame(draw);
    EXPECT_TRUE(workspace.palette.visible());
}

}  // namespace
}  // namespace gs::test
