// Cameras written in the formats of other programs are the cameras that are read back.
#include "renderer/io/captures/camera_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "renderer/io/captures/capture_io.h"
#include "renderer/io/captures/colmap.h"
#include "renderer/scene/trajectory.h"
#include "tests/support/random_scene.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"

namespace gs::test {
namespace {

Capture four_cameras() {
    Capture out;
    out.format = "COLMAP text";
    for (std::uint64_t v = 0; v < 4; ++v) {
        View view;
        view.name = fmt::format("side/photo{}.png", v);
        view.camera = random_camera(4, v % 2, 400, 300);
        const Camera posed = random_camera(4, v, 400, 300);
        view.camera.rotation = posed.rotation;
        view.camera.translation = posed.translation;
        if (v > 1) {
            view.camera.model = CameraModel::opencv;
            view.camera.distortion = {-0.1, 0.02, 0.001, -0.002};
        }
        out.views.push_back(view);
    }
    out.points = {{{1, 2, 3}, {10, 20, 30}}, {{-0.5f, 0.25f, 8}, {255, 0, 1}}};
    return out;
}
std::vector<Camera> cameras_of(const Capture& capture) {
    std::vector<Camera> out;
    for (const View& view : capture.views) out.push_back(view.camera);
    return out;
}

class CameraExport : public ::testing::TestWithParam<CameraFormat> {};

TEST_P(CameraExport, ReadsBackAsWritten) {
    const Capture capture = four_cameras();
    const TemporaryFolder folder;
    const fs::path to = GetParam() == CameraFormat::transforms ? folder / "" : folder / "sparse/0";
    const auto notes = required(write_cameras(to, GetParam(), capture, cameras_of(capture)));
    EXPECT_TRUE(notes.empty());
    const CaptureOptions options{.undistort = false, .photos = false};
    const auto back = required(load_capture(folder / "", options));
    ASSERT_EQ(back.views.size(), 4u);
    ASSERT_EQ(back.points.size(), 2u);
    EXPECT_EQ(back.points[1].position.z, 8);
    EXPECT_EQ(back.points[1].rgb[0], 255);
    for (std::size_t v = 0; v < 4; ++v) {
        const Camera &a = capture.views[v].camera, &b = back.views[v].camera;
        EXPECT_EQ(fs::path(back.views[v].name).filename(),
                  fs::path(capture.views[v].name).filename());
        EXPECT_EQ(a.model, b.model);
        EXPECT_NEAR(a.fx, b.fx, 1e-9);
        EXPECT_NEAR(a.cy, b.cy, 1e-9);
        EXPECT_EQ(a.distortion, b.distortion);
        EXPECT_NEAR(a.position().x, b.position().x, 1e-9);
        EXPECT_NEAR(a.position().z, b.position().z, 1e-9);
        EXPECT_NEAR(dot(a.forward(), b.forward()), 1, 1e-12);
        EXPECT_NEAR(a.rotation.m[0][1], b.rotation.m[0][1], 1e-9);
    }
}
INSTANTIATE_TEST_SUITE_P(Formats, CameraExport,
                         ::testing::Values(CameraFormat::transforms, CameraFormat::colmap,
                                           CameraFormat::colmap_text));

/// Two frames of cameras 1 and 2, one of 2 and 3, of 3 alone, and a photo of another camera: a rig
/// of three and one of one. All lenses are the same.
struct Rigs : ::testing::Test {
    static constexpr std::uint32_t kCamera[] = {1, 2, 2, 3, 3, 7, 1, 2},
                                   kFrame[] = {0, 0, 5, 5, 9, 0, 4, 4};
    const Pose in_rig[3] = {{},
                            {rotation_from_quat({0.9, 0.1, -0.3, 0.2}), {0.5, 0.1, 0}},
                            {rotation_from_quat({0.7, -0.2, 0.6, 0.1}), {-0.2, 0, 0.4}}};
    Capture capture;
    Rigs() {
        for (std::size_t v = 0; v < 8; ++v) {
            View view;
            view.name = fmt::format("photo{}.png", v);
            view.camera = random_camera(4, 0, 400, 300);
            const Camera other = random_camera(5, kFrame[v], 400, 300);
            const Pose pose = in_rig[kCamera[v] == 7 ? 0 : kCamera[v] - 1] *
                              Pose{other.rotation, other.translation};
            view.camera.rotation = pose.rotation;
            view.camera.translation = pose.translation;
            view.camera_number = kCamera[v];
            if (kCamera[v] != 7) view.rig_frame = kFrame[v];
            capture.views.push_back(view);
        }
    }
    /// The notes of writing.
    std::vector<std::string> write(const fs::path& to, CameraFormat format) const {
        return required(write_cameras(to / "sparse/0", format, capture, cameras_of(capture)));
    }
    static Capture read(const fs::path& from) {
        return required(load_capture(from, {.photos = false}));
    }
};

TEST_F(Rigs, AreReadBackAsWritten) {
    for (const CameraFormat format : {CameraFormat::colmap, CameraFormat::colmap_text}) {
        const TemporaryFolder folder;
        ASSERT_TRUE(write(folder / "", format).empty());
        const Capture back = read(folder / "");
        ASSERT_EQ(back.views.size(), 8u);
        const std::string notes = joined(texts_of(back.notes));
        EXPECT_NE(notes.find("6 photos are of 3 frames of rigs"), std::string::npos) << notes;
        EXPECT_EQ(back.views[0].rig_frame, back.views[1].rig_frame);
        EXPECT_EQ(back.views[2].rig_frame, back.views[3].rig_frame);
        EXPECT_NE(back.views[0].rig_frame, back.views[2].rig_frame);
        EXPECT_FALSE(back.views[4].rig_frame || back.views[5].rig_frame) << "alone";
        EXPECT_NE(back.views[0].camera_number, back.views[1].camera_number);
    }
}

TEST_F(Rigs, HaveTheirPoses) {
    const TemporaryFolder folder;
    ASSERT_TRUE(write(folder / "", CameraFormat::colmap).empty());
    const fs::path sparse = folder / "sparse/0";
    ColmapModel model;
    ASSERT_TRUE(read_images_binary(sparse / "images.bin", model));
    ASSERT_TRUE(read_rigs(sparse / "rigs.bin", sparse / "frames.bin", model));
    ASSERT_EQ(model.rigs.size(), 2u);
    ASSERT_EQ(model.rigs[1].camera_from_rig.size(), 3u);
    for (const auto& [number, pose] : model.rigs[1].camera_from_rig)
        EXPECT_NEAR(pose.translation.x, in_rig[number - 1].translation.x, 1e-9);
    ASSERT_EQ(model.frames.size(), 5u);
    EXPECT_EQ(photos_of_rigs(model).apart, 0u);
    for (const ColmapFrame& one : model.frames) {
        const std::size_t v = one.images.front() - 1;
        if (v == 5) continue;  // the other camera
        const Camera& camera = capture.views[v].camera;
        const Pose pose =
            inverse_of(in_rig[kCamera[v] - 1]) * Pose{camera.rotation, camera.translation};
        EXPECT_NEAR(one.rig_from_world.translation.y, pose.translation.y, 1e-9);
        EXPECT_NEAR(one.rig_from_world.rotation.m[0][1], pose.rotation.m[0][1], 1e-9);
    }
}

/// By their rig such photos would be elsewhere, so each is alone in its frame. An earlier model's
/// rigs do not remain.
TEST_F(Rigs, ThatAreNotRigidAreNotWritten) {
    const TemporaryFolder folder;
    const auto expect_single = [&] {
        EXPECT_EQ(write(folder / "", CameraFormat::colmap).size(), 1u);
        const Capture back = read(folder / "");
        EXPECT_EQ(joined(texts_of(back.notes)).find("frames of rigs"), std::string::npos);
        EXPECT_NEAR(back.views[7].camera.position().x, capture.views[7].camera.position().x, 1e-9);
    };
    capture.views[7].camera.translation.x += 0.01;
    expect_single();
    capture.views[7].camera.translation.x -= 0.01;
    EXPECT_TRUE(write(folder / "", CameraFormat::colmap).empty());
    capture.views[1].camera_number = 1;
    expect_single();
}

/// As if each photo asked every camera before it, in files of any number of cameras.
TEST_F(Rigs, CamerasAreNumberedAsTheyCome) {
    capture.views.resize(400, capture.views[0]);
    std::vector<std::size_t> first;  // photo of each camera
    std::vector<std::uint32_t> expected;
    for (std::size_t v = 0; v < capture.views.size(); ++v) {
        View& view = capture.views[v];
        view.name = fmt::format("{:03}.png", v);
        view.rig_frame.reset();
        view.camera_number = static_cast<std::uint32_t>(v % 7);
        view.camera.fx = 300 + static_cast<double>(v % 3 == 0 ? v : v % 5);
        std::size_t camera = 0;
        while (camera < first.size() &&
               (capture.views[first[camera]].camera_number != view.camera_number ||
                capture.views[first[camera]].camera.fx != view.camera.fx))
            ++camera;
        if (camera == first.size()) first.push_back(v);
        expected.push_back(static_cast<std::uint32_t>(camera + 1));
    }
    ASSERT_GT(first.size(), 130u);
    ASSERT_LT(first.size(), 300u);
    const TemporaryFolder folder;
    ASSERT_TRUE(write(folder / "", CameraFormat::colmap).empty());
    ColmapModel model;
    const fs::path sparse = folder / "sparse/0";
    ASSERT_TRUE(read_images_binary(sparse / "images.bin", model));
    ASSERT_EQ(model.images.size(), capture.views.size());
    for (std::size_t v = 0; v < expected.size(); ++v)
        EXPECT_EQ(model.images[v].camera, expected[v]) << v;
}

/// Cameras that no frame shows together are of one rig where others link them.
TEST_F(Rigs, AreLinkedByWhatFramesShare) {
    constexpr std::uint32_t kLinked[] = {1, 2, 2, 3, 4, 5, 4, 6}, kIn[] = {0, 0, 5, 5, 9, 9, 4, 4};
    for (std::size_t v = 0; v < 8; ++v) {
        const Camera frame = random_camera(5, kIn[v], 400, 300);
        const Pose pose = in_rig[kLinked[v] % 3] * Pose{frame.rotation, frame.translation};
        capture.views[v].camera.rotation = pose.rotation;
        capture.views[v].camera.translation = pose.translation;
        capture.views[v].camera_number = kLinked[v];
        capture.views[v].rig_frame = kIn[v];
    }
    const TemporaryFolder folder;
    ASSERT_TRUE(write(folder / "", CameraFormat::colmap).empty());
    ColmapModel model;
    const fs::path sparse = folder / "sparse/0";
    ASSERT_TRUE(read_rigs(sparse / "rigs.bin", sparse / "frames.bin", model));
    std::vector<std::size_t> sizes;
    for (const auto& [number, rig] : model.rigs) sizes.push_back(rig.camera_from_rig.size());
    EXPECT_THAT(sizes, ::testing::ElementsAre(3, 3));
}

TEST(CameraExportLenses, WhatColmapDoesNotHaveIsSaid) {
    Capture capture = four_cameras();
    const TemporaryFolder folder;
    capture.views[3].camera.shutter = Shutter::top_to_bottom;
    capture.views[3].camera.first = capture.views[3].camera.last = {
        capture.views[3].camera.rotation, capture.views[3].camera.translation};
    const auto notes =
        required(write_cameras(folder / "a", CameraFormat::colmap, capture, cameras_of(capture)));
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_NE(notes.front().find("rolling"), std::string::npos);
    capture.views[1].camera.model = CameraModel::equirectangular;
    const auto refused =
        write_cameras(folder / "b", CameraFormat::colmap_text, capture, cameras_of(capture));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_NE(refused.error().text().find("photo1.png"), std::string::npos);
}

}  // namespace
}  // namespace gs::test
