// What a run has corrected of the poses: how far a row says it was turned and moved, the order of a
// table by it, and the arrows at the cameras.
#include "panels/viewport/pose_arrows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "panels/scene/cameras_panel.h"
#include "panels/state/photo_looks.h"
#include "panels/state/pose_change.h"
#include "tests/panels/headless.h"

namespace gs {
namespace {

/// Cameras that a run has corrected.
struct Corrected {
    std::vector<CameraRow> rows;
    std::vector<PoseChange> changes;

    /// The next was given at `eye` and has been moved by `move` and turned by `degrees` about the
    /// world's y.
    void add(Vec3d eye, Vec3d move, double degrees) {
        CameraRow& row = rows.emplace_back();
        row.view = rows.size() - 1;
        row.name = std::string(1, static_cast<char>('a' + row.view));
        row.psnr = 30;
        const Camera given = look_at(eye, {0, 0, 0}, {0, -1, 0}, 320, 240, 0.9);
        const double half = 0.5 * degrees * std::numbers::pi / 180;
        row.camera = given;
        row.camera.rotation =
            given.rotation * transpose(rotation_from_quat({std::cos(half), 0, std::sin(half), 0}));
        row.camera.translation = -(row.camera.rotation * (eye + move));
        changes.push_back(pose_change(row.view, given, row.camera));
    }
};

TEST(PoseArrows, AChangeTellsHowFarACameraWasCorrected) {
    Corrected c;
    c.add({0, 0, -4}, {0.03, 0, 0.04}, -0.25);
    EXPECT_NEAR(c.changes[0].degrees, 0.25, 1e-9);
    EXPECT_NEAR(c.changes[0].length(), 0.05, 1e-12);
    EXPECT_NEAR(c.changes[0].move.z, 0.04, 1e-12);
    EXPECT_NEAR(c.changes[0].looked.z, 1, 1e-12);
    // Also half a turn and none have an angle.
    c.add({0, 0, -4}, {}, 180);
    c.add({0, 0, -4}, {}, 0);
    EXPECT_NEAR(c.changes[1].degrees, 180, 1e-6);
    EXPECT_NEAR(c.changes[2].degrees, 0, 1e-6);
    EXPECT_EQ(change_of(c.changes, 1), &c.changes[1]);
    c.changes.erase(c.changes.begin() + 1);
    EXPECT_EQ(change_of(c.changes, 1), nullptr);
    EXPECT_EQ(change_of(c.changes, 9), nullptr);
}

/// Names of the photos as the Cameras panel lists them after a click on a heading, N em from the
/// right.
struct Listed {
    explicit Listed(const Corrected& c) {
        snapshot.cameras = std::make_shared<const std::vector<CameraRow>>(c.rows);
        PhotoLooks looks{.poses = c.changes};
        snapshot.looks = std::make_shared<const PhotoLooks>(std::move(looks));
    }
    std::string after_click(float from_right) {
        const auto draw = [&] { test::draw_alone(panel, snapshot, commands); };
        ui.frame(draw);
        const ImGuiStyle& style = ImGui::GetStyle();
        const float line = ImGui::GetTextLineHeight() + 2 * style.CellPadding.y,
                    top = style.WindowPadding.y + ImGui::GetFrameHeight() + style.ItemSpacing.y;
        ui.click({600 - style.WindowPadding.x - from_right * em(), top + 0.5F * line}, draw);
        std::string out;
        for (float row = 1.5F; row < 5; ++row) {
            ui.click({60, top + row * line}, draw);
            for (const auto& [name, arguments] : commands.take())
                out += static_cast<char>('a' + std::stoi(arguments.at(0)));
        }
        return out;
    }
    test::Headless ui{600, 300};
    CamerasPanel panel;
    Snapshot snapshot;
    std::vector<CommandInfo> table;
    Commands commands{table};
};

TEST(PoseArrows, TablesAreSortedByCorrections) {
    Corrected c;
    c.add({0, 0, -4}, {0.01, 0, 0}, 0.5);
    c.add({0, 0, -4}, {0.03, 0, 0}, 0.1);
    c.add({0, 0, -4}, {0.02, 0, 0}, 0.3);
    c.add({0, 0, -4}, {}, 0);
    c.changes.pop_back();  // held out: it comes last
    Listed list(c);
    constexpr float kMoved = 2, kTurned = 7;
    EXPECT_EQ(list.after_click(kTurned), "acbd") << "the largest first";
    EXPECT_EQ(list.after_click(kTurned), "bcad");
    EXPECT_EQ(list.after_click(kMoved), "bcad");
    EXPECT_EQ(list.after_click(kMoved), "acbd");
}

TEST(PoseArrows, ArrowsAreAsLongAsCanBeSeen) {
    const double size = 0.5;
    Corrected c;
    c.add({0, 0, -4}, {0.01, 0, 0}, 0.2);
    c.add({4, 0, 0}, {0, 0.004, 0}, 0.1);
    const PoseArrows found = pose_arrows(c.rows, c.changes, size);
    ASSERT_EQ(found.arrows.size(), 2u);
    EXPECT_NEAR(found.longest, 0.01, 1e-12);
    EXPECT_NEAR(found.widest, 0.2, 1e-9);
    EXPECT_EQ(found.times_moved, 50) << "0.75 / 0.01, a round number below";
    EXPECT_EQ(found.times_turned, 200) << "0.75 / (0.5 x 0.0035)";
    for (const PoseArrow& arrow : found.arrows) {
        const Vec3d move = arrow.move[1] - arrow.move[0], look = arrow.look[1] - arrow.look[0];
        EXPECT_NEAR(std::sqrt(dot(move, move)), arrow.row == 0 ? 0.5 : 0.2, 1e-9);
        EXPECT_GT(std::sqrt(dot(look, look)), 0.1);
        EXPECT_LT(std::sqrt(dot(look, look)), 1.5 * size + 1e-9);
    }
    EXPECT_NEAR(found.arrows[0].move[0].z, -4, 1e-9) << "from where it was given";
    const std::string words = words_of(found);
    EXPECT_NE(words.find("0.2 deg"), std::string::npos) << words;
    EXPECT_NE(words.find("50x and 200x"), std::string::npos) << words;
    // What was not corrected has none.
    Corrected still;
    still.add({0, 0, -4}, {}, 0);
    EXPECT_TRUE(words_of(pose_arrows(c.rows, {}, size)).empty());
    EXPECT_TRUE(pose_arrows(still.rows, still.changes, size).arrows.empty());
}

}  // namespace
}  // namespace gs
