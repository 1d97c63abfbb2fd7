// Drives as captures: KITTI's and nuScenes' cameras and points, what is missing or wrong in them.
#include <cmath>

#include "renderer/io/captures/capture_io.h"
#include "renderer/io/lidar/sweep_points.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

CaptureOptions small_photos() { return {.downscale = 8}; }
bool tells(const Capture& capture, const char* words) {
    for (const CaptureNote& note : capture.notes)
        if (note.text.find(words) != std::string::npos) return true;
    for (const std::string& line : capture.skipped)
        if (line.find(words) != std::string::npos) return true;
    return false;
}

/// A drive of three frames, 1 m apart, with a wall 10 m ahead that stands and a box that moves.
struct MadeDrive {
    TempFolder folder;
    MadeDrive() {
        std::string poses, times;
        for (int i = 0; i < 3; ++i) {
            const std::string name = "00000" + std::to_string(i);
            put_png(folder / ("sequences/07/image_2/" + name + ".png"),
                    constant(48, 24, {200, 40, static_cast<std::uint8_t>(10 * i)}));
            folder.write("sequences/07/velodyne/" + name + ".bin", sweep(i));
            poses += "1 0 0 0 0 1 0 0 0 0 1 " + std::to_string(i) + "\n";
            times += std::to_string(0.1 * i) + "\n";
        }
        folder.write("poses/07.txt", poses);
        folder.write("sequences/07/times.txt", times);
        folder.write("sequences/07/calib.txt",
                     "P0: 40 0 24 0 0 40 12 0 0 0 1 0\nP2: 40 0 24 2.4 0 40 12 0 0 0 1 0\n"
                     "Tr: 0 -1 0 0 0 0 -1 0 1 0 0 0\n");
    }
    /// As the lidar at (0, 0, i) sees it, x ahead: sent at once is what lies straight ahead.
    static std::string sweep(int i) {
        Packer out;
        for (float z = 1; z > -1; z -= 0.1f)
            for (float y = 0; y < 2; y += 0.1f)
                out.add(static_cast<float>(10 - i)).add(y).add(z).add(0.25f);
        return out.bytes;
    }
};

TEST(Drives, TheFourthColumnAndTheLidarsPlaceCount) {
    const MadeDrive made;
    const auto capture = required(load_capture(made.folder.path(), CaptureOptions{}));
    EXPECT_EQ(capture.format, "KITTI odometry");
    ASSERT_EQ(capture.views.size(), 3u);
    const Camera& camera = capture.views[2].camera;
    EXPECT_EQ(camera.width, 48);
    EXPECT_NEAR(camera.position().z, 2, 1e-12);
    EXPECT_NEAR(camera.position().x, -0.06, 1e-12);  // 2.4 / 40 to the left
    ASSERT_GT(capture.points.size(), 100u);
    EXPECT_FALSE(capture.points_are_random);
    for (const SparsePoint& p : capture.points) {
        EXPECT_NEAR(p.position.z, 10, 0.05);  // in every sweep: their motion is taken out
        EXPECT_EQ(p.rgb[0], 200);             // from a photo
    }
}

TEST(Drives, WhatIsMissingIsSaid) {
    const MadeDrive made;
    made.folder.write("poses/07.txt",
                      "1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 nan 0 0 0 1 1\n"
                      "1 0 0 0 0 1 0 0 0 0 1 2\n");
    auto capture = load_capture(made.folder.path(), CaptureOptions{});
    ASSERT_TRUE(capture);
    EXPECT_EQ(capture->views.size(), 2u);
    EXPECT_TRUE(tells(*capture, "1 of 3 lines are not poses, the first is line 2"));
    EXPECT_TRUE(tells(*capture, "000001: the file of poses has none for it"));

    made.folder.write("poses/07.txt",
                      "1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 1 1\n"
                      "1 0 0 0 0 1 0 0 0 0 1 2\n");
    made.folder.write("sequences/07/times.txt", "5\n4\n6\n");
    made.folder.write("sequences/07/velodyne/000002.bin", "cut");
    capture = load_capture(made.folder.path(), CaptureOptions{});
    ASSERT_TRUE(capture);
    EXPECT_EQ(capture->views.size(), 3u);
    EXPECT_TRUE(tells(*capture, "the clock jumps: the times of 1 frames"));
    EXPECT_TRUE(tells(*capture, "sweep 000002"));

    made.folder.write("sequences/07/calib.txt", "P2: 40 0 24 2.4 0 40 12 0 0 0 1\n");
    const auto wrong = load_capture(made.folder.path(), CaptureOptions{});
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().message.find("P2"), std::string::npos);
    fs::remove(made.folder / "poses/07.txt");
    made.folder.write("sequences/07/calib.txt",
                      "P2: 40 0 24 0 0 40 12 0 0 0 1 0\n"
                      "Tr: 0 -1 0 0 0 0 -1 0 1 0 0 0\n");
    const auto unposed = load_capture(made.folder.path(), CaptureOptions{});
    ASSERT_FALSE(unposed);
    EXPECT_NE(unposed.error().message.find("without poses"), std::string::npos);
}

TEST(Drives, WhatMovesIsLeftOut) {
    // A wall at 20 m in every sweep; a plate before it that is 2 m farther to the left each time.
    LidarLog log;
    std::vector<TimedPose> poses;
    for (int i = 0; i < 6; ++i) {
        log.sweeps.push_back({std::to_string(i), 0.1 * i});
        poses.push_back({0.1 * i, {}});
    }
    log.world_from_sensor = Trajectory(poses);
    log.read = [](std::size_t i) -> Result<LidarSweep> {
        LidarSweep sweep{.time = 0.1 * static_cast<double>(i)};
        for (double azimuth = -0.6; azimuth < 0.6; azimuth += 0.004)
            for (double elevation = -0.1; elevation < 0.1; elevation += 0.008) {
                LidarBeam b{
                    .direction = {static_cast<float>(std::cos(azimuth) * std::cos(elevation)),
                                  static_cast<float>(std::sin(azimuth) * std::cos(elevation)),
                                  static_cast<float>(std::sin(elevation))}};
                const double plate = -0.4 + 0.16 * static_cast<double>(i);
                b.range = std::abs(azimuth - plate) < 0.05 ? 10 : 20;
                sweep.beams.push_back(b);
            }
        return sweep;
    };
    const SweepPoints points = points_of(log, 1'000'000, 0.05);
    EXPECT_GT(points.moving, 500u);
    std::size_t near = 0, far = 0;
    for (const SweepPoint& p : points.points) ++(dot(p.position, p.position) < 225 ? near : far);
    EXPECT_GT(far, 5000u);
    EXPECT_LT(near, points.moving / 20);
}

TEST(Drives, RealOnes) {
    GS_NEED_DATA("captures/kitti_drive");
    const auto drive = required(load_capture(data_path("captures/kitti_drive"), small_photos()));
    EXPECT_EQ(drive.views.size(), 32u);
    EXPECT_TRUE(drive.skipped.empty());
    EXPECT_GT(drive.points.size(), 50'000u);
    EXPECT_LE(drive.points.size(), 200'000u);
    EXPECT_NEAR(drive.views[9].camera.position().x, -0.06, 0.03);

    GS_NEED_DATA("captures/nuscenes_sample");
    const auto sample =
        required(load_capture(data_path("captures/nuscenes_sample"), small_photos()));
    EXPECT_EQ(sample.views.size(), 6u);
    EXPECT_GT(sample.points.size(), 10'000u);

    GS_NEED_DATA("captures/kitti_frame");
    const auto frame = required(load_capture(data_path("captures/kitti_frame"), small_photos()));
    EXPECT_EQ(frame.views.size(), 1u);
    EXPECT_GT(frame.points.size(), 10'000u);
}

}  // namespace
}  // namespace gs::test
