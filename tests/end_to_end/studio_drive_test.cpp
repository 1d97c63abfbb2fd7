// A lidar's drive in the studio without a window: opened with its photos, its sweeps chosen, drawn
// from the model, coloured, played and scored; recordings beside what is open, and bad sweeps.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "panels/state/drive_state.h"
#include "panels/state/prediction_state.h"
#include "renderer/io/images/image_io.h"
#include "studio_harness.h"
#include "tests/support/data.h"

namespace gs {
namespace {

constexpr int kFrames = 4;

/// Four frames, 1 m and 0.1 s apart, that drive towards a wall. The third sweep is not there in
/// full: it ends inside its first point.
struct DrivenTo {
    TemporaryFolder folder;
    std::string path = folder.path().string();

    DrivenTo() {
        const fs::path sequence = folder.path() / "sequences" / "00";
        for (const char* part : {"image_2", "velodyne"}) fs::create_directories(sequence / part);
        fs::create_directories(folder.path() / "poses");
        std::ofstream poses(folder.path() / "poses" / "00.txt"), times(sequence / "times.txt");
        for (int i = 0; i < kFrames; ++i) {
            const std::string name = "00000" + std::to_string(i);
            Image8 photo{48, 24, 3, {}};
            photo.bytes.assign(photo.pixels() * 3, static_cast<std::uint8_t>(90 + 20 * i));
            EXPECT_TRUE(write_png(sequence / "image_2" / (name + ".png"), photo));
            put_sweep(sequence / "velodyne" / (name + ".bin"), i);
            poses << "1 0 0 0 0 1 0 0 0 0 1 " << i << "\n";
            times << 0.1 * i << "\n";
        }
        std::ofstream(sequence / "calib.txt")
            << "P2: 40 0 24 0 0 40 12 0 0 0 1 0\nTr: 0 -1 0 0 0 0 -1 0 1 0 0 0\n";
    }
    static void put_sweep(const fs::path& file, int i) {
        std::vector<float> points;
        for (int row = 10; row > -10; --row)
            for (int column = 0; column < 40; ++column)
                points.insert(points.end(), {static_cast<float>(12 - i), 0.1F * column, 0.1F * row,
                                             0.02F * column});
        std::ofstream out(file, std::ios::binary);
        out.write(reinterpret_cast<const char*>(points.data()),
                  i == 2 ? 7 : static_cast<std::streamsize>(points.size() * sizeof(float)));
    }
};

SessionOptions small_drive_run() {
    SessionOptions options;
    options.settings.steps = 100;
    options.run.evaluate_every = options.run.save_every = 0;
    return options;
}

struct DriveInStudio : ::testing::Test {
    bool command(const char* name, const Arguments& arguments = {}) {
        const auto done = all_commands().find(name)->run(h.state, arguments);
        refused = done ? "" : done.error().text();
        return done && h.until_done(h.state.last_sent);
    }
    const DriveState* drive() const { return h.state.drive.get(); }
    bool shown(std::size_t sweep) {
        return h.until([&] { return drive() && drive()->shown && drive()->shown->index == sweep; });
    }
    bool erred(const std::string& words) {
        return h.until([&] {
            return std::any_of(h.errors.begin(), h.errors.end(), [&](const EngineEvent& e) {
                return e.text.find(words) != std::string::npos;
            });
        });
    }
    SessionHarness h{small_drive_run()};
    std::string refused;
};

TEST_F(DriveInStudio, sweeps_are_chosen_drawn_and_coloured) {
    const DrivenTo made;
    ASSERT_TRUE(h.open(made.path));
    ASSERT_TRUE(shown(0)) << "the first one is, unasked";
    ASSERT_EQ(drive()->sweeps.size(), static_cast<std::size_t>(kFrames));
    EXPECT_EQ(drive()->way.size(), static_cast<std::size_t>(kFrames));
    EXPECT_EQ(drive()->sweeps[3].photos, std::vector<std::size_t>{3});
    EXPECT_NEAR(drive()->up.y, -1, 1e-9);
    EXPECT_NEAR(drive()->ahead.z, 1, 1e-9);

    ASSERT_TRUE(command("drive.sweep", {"4"})) << "which is done when it is drawn";
    ASSERT_TRUE(shown(3));
    const DriveRow& row = drive()->sweeps[3];
    EXPECT_EQ(row.returns, 800u);
    EXPECT_EQ(row.step, 0u);
    EXPECT_TRUE(std::isfinite(row.within_10cm));
    const ShownSweep& sweep = *drive()->shown;
    EXPECT_TRUE(sweep.drawn);
    ASSERT_EQ(sweep.dots.size(), 800u);
    for (const SweepDot& dot : sweep.dots) ASSERT_NEAR(dot.at.z, 12, 0.2) << "in the world";
    EXPECT_NEAR(drive()->seconds, 0.3, 1e-6);
    EXPECT_NEAR(drive()->world_from_sensor.translation.z, 3, 1e-6);

    ASSERT_TRUE(command("drive.channel", {"intensity"}));
    ASSERT_TRUE(h.until([&] { return drive()->shown->colors.channel == SweepChannel::intensity; }));
    EXPECT_TRUE(drive()->shown->drawn) << "it is not drawn again for that";
    ASSERT_TRUE(command("drive.previous"));
    EXPECT_TRUE(erred("000002.bin")) << "a cut file is reported";
    EXPECT_FALSE(drive()->sweeps[2].problem.empty());
    EXPECT_FALSE(drive()->shown);
    ASSERT_TRUE(command("drive.time", {"0.13"}));
    EXPECT_TRUE(shown(1));
    EXPECT_FALSE(command("drive.sweep", {"5"}));
    EXPECT_FALSE(command("drive.time", {"77"}));
    EXPECT_FALSE(command("drive.channel", {"colour"}));

    ASSERT_TRUE(command("view.sweep"));
    EXPECT_TRUE(drive()->in_picture);
    ASSERT_TRUE(command("drive.follow", {"on"}));
    EXPECT_EQ(photo_to_follow(*drive(), h.state.cameras.get(), 0), 1u);
    EXPECT_FALSE(photo_to_follow(*drive(), nullptr, 0));
    h.session.send(jobs::close());
    EXPECT_TRUE(h.until([&] { return !drive(); }));
    EXPECT_FALSE(command("drive.next"));
    EXPECT_NE(refused.find("drive.open"), std::string::npos) << refused;
}

TEST_F(DriveInStudio, it_plays_and_is_scored) {
    const DrivenTo made;
    ASSERT_TRUE(h.open(made.path));
    ASSERT_TRUE(command("drive.score"));
    ASSERT_TRUE(h.until([&] { return drive()->sweeps[3].moving.has_value(); }));
    for (const std::size_t i : {0u, 1u, 3u}) {
        EXPECT_EQ(drive()->sweeps[i].returns, 800u);
        EXPECT_EQ(drive()->sweeps[i].step, 0u);
    }
    EXPECT_FALSE(drive()->sweeps[2].problem.empty());
    EXPECT_FALSE(drive()->sweeps[2].step);

    ASSERT_TRUE(command("drive.play", {"on"}));
    ASSERT_TRUE(h.until([&] { return !drive()->playing; })) << "to the end, and stops there";
    EXPECT_EQ(drive()->chosen, 3u);
    EXPECT_TRUE(shown(3));
    // After training steps the shown sweep is drawn again.
    h.session.send(jobs::steps(3));
    EXPECT_TRUE(h.until([&] { return drive()->shown && drive()->shown->step == 3; }));
}

TEST_F(DriveInStudio, the_beams_of_a_step_are_predicted) {
    const DrivenTo made;
    ASSERT_TRUE(h.open(made.path));
    const auto rays = [&]() -> double {
        EXPECT_TRUE(command("predict.measure"));
        EXPECT_TRUE(h.until([&] { return h.state.prediction && h.state.prediction->counted; }));
        double ms = 0;
        for (const PredictedStage& stage : h.state.prediction->gpus.at(0).step.stages)
            if (stage.stage == Stage::rays) ms += stage.ms.p50;
        return ms;
    };
    EXPECT_EQ(rays(), 0);
    EXPECT_EQ(h.state.prediction->beams_every, 0);
    ASSERT_TRUE(command("train.set", {"lidar_weight", "0.1"}));
    EXPECT_TRUE(command("predict.measure"));
    ASSERT_TRUE(h.until([&] { return h.state.prediction->beams_every == 1; }));
    const double each = rays();
    EXPECT_GT(each, 0);
    ASSERT_TRUE(command("train.set", {"lidar_every", "4"}));
    EXPECT_TRUE(command("predict.measure"));
    ASSERT_TRUE(h.until([&] { return h.state.prediction->beams_every == 4; }));
    // Of the next step with beams, whose sweep is another one.
    EXPECT_NEAR(rays(), each / 4, 0.1 * each / 4);
}

TEST_F(DriveInStudio, recordings_are_read_beside_what_is_open) {
    ASSERT_TRUE(h.open(tiny_capture()));
    EXPECT_FALSE(drive()) << "it is no drive";
    ASSERT_TRUE(command("drive.open", {h.folder.path().string()}));
    EXPECT_TRUE(erred("has no sweep of a lidar"));
    EXPECT_FALSE(drive());
    const DrivenTo made;
    ASSERT_TRUE(command("drive.open", {made.path}));
    ASSERT_TRUE(shown(0));
    ASSERT_EQ(drive()->sweeps[0].photos.size(), 1u) << "the nearest one";
    ASSERT_TRUE(h.until([&] { return drive()->shown->drawn; }));
}

/// A real one, as somebody looks through it.
TEST_F(DriveInStudio, a_real_drive_is_looked_through) {
    GS_NEED_DATA("captures/kitti_drive");
    SessionOptions options = small_drive_run();
    options.capture.downscale = 8;
    SessionHarness real(options);
    ASSERT_TRUE(real.open(test::data_path("captures/kitti_drive").string()));
    const auto& drive = real.state.drive;
    ASSERT_TRUE(drive);
    ASSERT_EQ(drive->sweeps.size(), 32u);
    ASSERT_TRUE(all_commands().find("drive.sweep")->run(real.state, {"17"}));
    ASSERT_TRUE(real.until_done(real.state.last_sent));
    ASSERT_TRUE(real.until([&] { return drive->shown && drive->shown->index == 16; }));
    EXPECT_GT(*drive->sweeps[16].returns, 50'000u);
    EXPECT_EQ(real.state.cameras->at(drive->sweeps[16].photos.at(0)).name, "image_2/000016.jpg");
    // First Gaussians stand where sweeps saw something.
    EXPECT_LT(drive->sweeps[16].median_m, 1);
}

}  // namespace
}  // namespace gs
