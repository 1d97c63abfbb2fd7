// Every panel draws whatever the snapshot holds: nothing, everything, nonsense, at any size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "panels/viewport/viewport.h"
#include "panels/widgets/plot.h"
#include "panels/workspace.h"
#include "tests/panels/fake_inspection.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

/// Numbers no run should give, everywhere.
Snapshot nonsense(const TraceStore& store) {
    Snapshot s = fake_snapshot(store);
    SceneInfo scene = *s.scene;
    scene.extent = scene.radius = kNaN;
    scene.lo = {NAN, -INFINITY, 1e30F};
    scene.hi = {INFINITY, NAN, -1e30F};
    scene.gaussians = std::numeric_limits<std::uint64_t>::max();
    scene.name = std::string(500, 'x') + "\xff\xfe%s%n";
    scene.memory.push_back({"", std::numeric_limits<std::uint64_t>::max()});
    for (Histogram& h : scene.histograms) h.counts = {NAN, -1, INFINITY, 0}, h.lo = kNaN;
    scene.histograms.push_back({});
    s.scene = std::make_shared<SceneInfo>(scene);
    Curves curves;
    for (int i = 0; i < 50; ++i)
        curves.loss.push_back({static_cast<float>(i), i % 3 == 0   ? NAN
                                                      : i % 3 == 1 ? INFINITY
                                                                   : -1e38F});
    curves.gaussians = {{0, 0}, {1, 0}};
    curves.test_psnr = {{1e30F, 1e30F}};
    curves.marks = {{std::numeric_limits<std::uint64_t>::max(), std::string(300, '%')}};
    s.curves = std::make_shared<Curves>(curves);
    std::vector<CameraRow> rows = *s.cameras;
    for (CameraRow& row : rows)
        row.psnr = kInf, row.ssim = kNaN, row.loss = -kInf, row.psnr_history = {{0, NAN}, {0, 1}};
    rows[0].camera = {};
    rows[1].camera.translation = {kNaN, 0, 0};
    s.cameras = std::make_shared<std::vector<CameraRow>>(rows);
    std::vector<SettingRow> settings = *s.settings;
    settings[0].value = kNaN;
    settings[1].value = 1e300;
    settings[2].min = settings[2].max = 0;
    s.settings = std::make_shared<std::vector<SettingRow>>(settings);
    ViewFrame frame = *s.frame;
    frame.range_lo = kNaN;
    frame.map_max = kInf;
    frame.map.at(0, 0, 0) = NAN;
    frame.camera.fx = kNaN;
    s.frame = std::make_shared<ViewFrame>(std::move(frame));
    s.inspection = nonsense_inspection();
    DoctorReport report = *s.doctor;
    for (Finding& f : report.findings)
        f.what = std::string(400, 'w') + "%s", f.examples = {"#", "#x", "", "%n"};
    report.host = {1, std::numeric_limits<std::uint64_t>::max()};
    report.at_cap.isects = std::numeric_limits<std::uint64_t>::max();
    s.doctor = std::make_shared<DoctorReport>(report);
    MarkedGaussian marked{.mean = {NAN, INFINITY, 0}};
    marked.axes.fill({NAN, -INFINITY, 1e30F});
    s.marked = std::make_shared<MarkedGaussian>(marked);
    s.activities = {{"", std::string(500, 'a'), kNaN, kInf}, {"load", "%s%n", -3, -1}};
    s.notices = {{0, true, std::string(3000, 'n') + "%s", std::vector<std::string>(100, "%n")}};
    s.training.loss = s.training.eta_seconds = s.training.step_ms = kNaN;
    s.training.viewer_share = kInf;
    s.training.progress = kNaN;
    s.training.total_steps = 1;
    s.training.message = std::string(2000, 'm');
    s.view.range_lo = s.view.range_hi = kNaN;
    s.view.split = kNaN;
    s.view.capture_view = 100000;
    s.ui_fps = s.ui_ms = kInf;
    s.process_bytes = std::numeric_limits<std::uint64_t>::max();
    return s;
}

class EveryPanel : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        store = new TraceStore;
        fill_store(*store, 60, 5'000'000'000'000);
        fill_store(*store, 3, 5'000'600'000'000);
    }
    static void TearDownTestSuite() {
        delete store;
        store = nullptr;
    }
    static TraceStore* store;

    /// Draws each panel alone in the centre, then everything; all views of it a few times.
    void draw_everything(const Snapshot& snapshot, float width, float height, double scale = 1) {
        Headless ui(width, height, scale);
        const auto table = fake_table();
        Commands commands(table);
        Workspace workspace;
        const auto draw = [&] { workspace.draw(snapshot, commands); };
        for (const std::string& name : workspace.panel_names()) {
            ASSERT_TRUE(workspace.move_panel(name, Region::centre));
            for (int i = 0; i < 3; ++i) EXPECT_GT(ui.frame(draw), 0) << name;
        }
        workspace.reset_layout();
        for (float x = 5; x < width; x += width / 9)
            for (float y = 5; y < height; y += height / 9) {
                ui.move_mouse({x, y});
                ImGui::GetIO().MouseWheel = static_cast<int>(x) % 2 == 0 ? 1.0F : -1.0F;
                ui.frame(draw);
            }
        EXPECT_TRUE(commands.take().empty()) << "moving the mouse gave a command";
    }
};
TraceStore* EveryPanel::store = nullptr;

TEST_F(EveryPanel, DrawsNothing) { draw_everything({}, 1280, 800); }
TEST_F(EveryPanel, DrawsARichSnapshot) { draw_everything(fake_snapshot(*store), 1600, 1000); }
TEST_F(EveryPanel, DrawsAtTwiceTheSize) { draw_everything(fake_snapshot(*store), 2560, 1600, 2); }
TEST_F(EveryPanel, DrawsNonsense) { draw_everything(nonsense(*store), 1280, 800); }
TEST_F(EveryPanel, DrawsInTinyWindows) {
    for (const ImVec2 size :
         {ImVec2{1, 1}, ImVec2{40, 30}, ImVec2{200, 120}, ImVec2{1000, 60}, ImVec2{60, 900}}) {
        draw_everything(fake_snapshot(*store), size.x, size.y);
        draw_everything({}, size.x, size.y);
    }
}
TEST_F(EveryPanel, DrawsEveryModeAndState) {
    Headless ui;
    const auto table = fake_table();
    Commands commands(table);
    Workspace workspace;
    Snapshot snapshot;
    for (const ViewMode mode : {ViewMode::color, ViewMode::isects, ViewMode::depth}) {
        snapshot = fake_snapshot(*store, mode);
        snapshot.view.tile_grid = true;
        snapshot.frame_texture = snapshot.second_texture = 1;
        for (std::size_t state = 0; state < kRunStateNames.size(); ++state)
            for (std::size_t compare = 0; compare < kCompareNames.size(); ++compare) {
                snapshot.training.state = static_cast<RunState>(state);
                snapshot.view.compare = static_cast<Compare>(compare);
                snapshot.view.range = static_cast<RangeMode>(compare % 3);
                for (int i = 0; i < 2; ++i) ui.frame([&] { workspace.draw(snapshot, commands); });
            }
    }
    snapshot.frame.reset();
    ui.frame([&] { workspace.draw(snapshot, commands); });
}
TEST_F(EveryPanel, DrawsPicturesForScreenshots) {
    Headless ui(300, 200);
    const Snapshot snapshot = fake_snapshot(*store);
    const Viewport viewport;
    EXPECT_GT(ui.frame([&] { viewport.draw_picture(snapshot, 300, 200); }), 100);
}
TEST_F(EveryPanel, NothingIsWiderThanTheWindow) {
    // Whole-window panels must not ask for scrolling at the two sizes that matter most.
    for (const ImVec2 size : {ImVec2{1280, 800}, ImVec2{1920, 1080}}) {
        Headless ui(size.x, size.y);
        const auto table = fake_table();
        Commands commands(table);
        Workspace workspace;
        const Snapshot snapshot = fake_snapshot(*store);
        for (int i = 0; i < 4; ++i) ui.frame([&] { workspace.draw(snapshot, commands); });
        EXPECT_GT(workspace.panel<Viewport>().width(), size.x * 0.45F);
        EXPECT_GT(workspace.panel<Viewport>().height(), size.y * 0.45F);
    }
}

TEST(Palette, RunsWhatIsTyped) {
    Headless ui;
    const auto table = fake_table();
    Commands commands(table);
    Palette palette;
    palette.show();
    const auto draw = [&] { palette.draw(commands); };
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    ImGui::GetIO().AddInputCharactersUTF8("frame all");
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    ui.press(ImGuiKey_Enter, draw);
    EXPECT_EQ(commands.take(), (Given{{"view.frame-all", {}}}));
    EXPECT_FALSE(palette.visible());

    palette.show("train.run-to");
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    ImGui::GetIO().AddInputCharactersUTF8("7000");
    for (int i = 0; i < 2; ++i) ui.frame(draw);
    ui.press(ImGuiKey_Enter, draw);
    EXPECT_EQ(commands.take(), (Given{{"train.run-to", {"7000"}}}));
}

TEST(Plot, AnAxisHasTwoStepsAtLeast) {
    EXPECT_EQ(plot_ticks(1, 419, 2, false), (std::vector<double>{200, 400})) << "not 500 alone";
}

TEST(Palette, FindsWordsInAnyOrder) {
    Headless ui(500, 400);
    const std::vector<CommandInfo> table{{"open", "Open…", "", "", "", ""},
                                         {"trace.save", "Save the timeline…", "", "", "", ""}};
    Commands commands(table);
    Palette palette;
    palette.show();
    const auto draw = [&] { palette.draw(commands); };
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    ImGui::GetIO().AddInputCharactersUTF8("save trace");
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    ui.press(ImGuiKey_Enter, draw);
    EXPECT_EQ(commands.take(), (Given{{"trace.save", {}}}));
}

TEST(Palette, RunsANameWithItsArguments) {
    Headless ui;
    const auto table = fake_table();
    Commands commands(table);
    Palette palette;
    const auto draw = [&] { palette.draw(commands); };
    const auto given = [&](const char* line) {
        palette.show();
        for (int i = 0; i < 3; ++i) ui.frame(draw);
        ImGui::GetIO().AddInputCharactersUTF8(line);
        for (int i = 0; i < 2; ++i) ui.frame(draw);
        ui.press(ImGuiKey_Enter, draw);
        return commands.take();
    };
    EXPECT_EQ(given("view.save door"), (Given{{"view.save", {"door"}}}));
    EXPECT_FALSE(palette.visible());
    EXPECT_EQ(given("view.save \"front door\""), (Given{{"view.save", {"front door"}}}));
    EXPECT_EQ(given("edit.recolor set 1 0 0.5"),
              (Given{{"edit.recolor", {"set", "1", "0", "0.5"}}}));
    EXPECT_EQ(given("view.log "), (Given{{"view.log", {}}})) << "a switch toggles";
    EXPECT_EQ(given("film.size 320 240"), (Given{{"film.size", {"320", "240"}}}));
    EXPECT_EQ(given("panel Timeline"), (Given{{"panel", {"Timeline"}}})) << "names without a dot";
    EXPECT_EQ(given("quit stay"), (Given{{"quit", {"stay"}}})) << "its help has these words";
    EXPECT_EQ(given("cancel doctor"), (Given{{"cancel", {"doctor"}}}));
    EXPECT_EQ(given("view.log"), (Given{{"view.log", {}}})) << "no second Enter";
    EXPECT_EQ(given("view.level"), (Given{{"view.level", {}}})) << "not view.level-colors";
    EXPECT_EQ(given("view.frame-s"), (Given{{"view.frame-selection", {}}})) << "names first";
    EXPECT_EQ(given("view.save "), Given{}) << "a name is missing";
    EXPECT_TRUE(palette.visible());
}

TEST(Palette, OffersTheChoicesOfAnArgument) {
    Headless ui;
    const auto table = fake_table();
    Commands commands(table);
    Palette palette;
    const auto draw = [&] { palette.draw(commands); };
    Given given;
    palette.show("predict.map");
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    for (float y = 60; y < 400 && given.empty(); y += 6) {
        ui.click({700, y}, draw);
        given = commands.take();
        if (!palette.visible() && given.empty()) palette.show("predict.map"), ui.frame(draw);
    }
    EXPECT_EQ(given, (Given{{"predict.map", {"on"}}}));
}

TEST(Palette, OffersWhatAnArgumentMayBe) {
    Headless ui;
    const auto table = fake_table();
    Commands commands(table);
    Palette palette;
    int asked = 0;
    palette.suggest = [&](const std::string& command) {
        ++asked;
        return command == "trace.attach"
                   ? std::vector<Suggestion>{{"812", "python train.py"}, {"933", "trainer"}}
                   : std::vector<Suggestion>{};
    };
    const auto draw = [&] { palette.draw(commands); };
    palette.show("trace.attach");
    for (int i = 0; i < 3; ++i) ui.frame(draw);
    EXPECT_EQ(asked, 1) << "once a second is enough";
    Given given;
    for (float y = 60; y < 400 && given.empty(); y += 6) {
        ui.click({700, y}, draw);
        given = commands.take();
        if (!palette.visible() && given.empty()) palette.show("trace.attach"), ui.frame(draw);
    }
    EXPECT_EQ(given, (Given{{"trace.attach", {"812"}}}));
    EXPECT_FALSE(palette.visible());
}

}  // namespace
}  // namespace gs::test
