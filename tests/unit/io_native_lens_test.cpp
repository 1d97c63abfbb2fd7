// Captures whose views keep their lens and their shutter, and cameras as JSON.
#include <cmath>
#include <numbers>

#include "renderer/io/captures/capture_io.h"
#include "renderer/io/paths/camera_json.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

// One photo of 40 x 30 and a transforms.json that says this of the file and of the frame.
Result<Capture> load_one(const std::string& file, const std::string& frame,
                         CaptureOptions options = no_split(), int width = 40, int height = 30) {
    const TempFolder folder;
    put_png(folder / "a.png", pattern(width, height, 3));
    folder.write("transforms.json",
                 fmt::format("{{{} \"w\": {}, \"h\": {}, \"frames\": [{{\"file_path\": \"a.png\", "
                             "{} \"transform_matrix\": {}}}]}}",
                             file, width, height, frame, matrix_at(1, 4)));
    return load_capture(folder.path(), options);
}

const std::string kFocal = "\"fl_x\": 50, \"fl_y\": 51, \"cx\": 19, \"cy\": 16,";

TEST(NativeLens, KeepsModelNumbersAndPhoto) {
    const std::string file =
        "\"camera_model\": \"OPENCV\", \"k1\": -0.1, \"k2\": 0.01, \"p1\": 0.002, \"p2\": -0.001," +
        kFocal;
    const auto capture = required(load_one(file, ""));
    const View& view = capture.views[0];
    EXPECT_EQ(view.camera.model, CameraModel::opencv);
    EXPECT_EQ(view.camera.distortion,
              (std::array<double, 12>{-0.1, 0.01, 0.002, -0.001, 0, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(view.camera.width, 40);
    EXPECT_EQ(view.photo.bytes, pattern(40, 30, 3).bytes);
    EXPECT_TRUE(view.mask.empty());
    EXPECT_THAT(joined(texts_of(capture.notes)),
                HasSubstr("1 photos are seen through their own lens, OPENCV"));
    CaptureOptions half = no_split();
    half.downscale = 2;
    const auto smaller = required(load_one(file, "", half));
    EXPECT_EQ(smaller.views[0].camera.fx, 25);
    EXPECT_EQ(smaller.views[0].camera.cy, 8);
    EXPECT_EQ(smaller.views[0].camera.distortion, view.camera.distortion);
    // Coefficients that are all zero make a pinhole.
    const auto straight = required(load_one("\"camera_model\": \"OPENCV\"," + kFocal, ""));
    EXPECT_EQ(straight.views[0].camera.model, CameraModel::pinhole);
}

TEST(NativeLens, LargerModelsOfColmapAndTransforms) {
    const TempFolder folder;
    ColmapFiles files{.params = {30, 31, 11, 10, 0.1, 0.02, 0.003, 0.004, 0.05, 0.06, 0.007, 0.008},
                      .names = {"a.png"}};
    for (const auto& [number, model] :
         {std::pair{6, CameraModel::full_opencv}, std::pair{10, CameraModel::thin_prism_fisheye}}) {
        files.model = number;
        files.write_capture(folder);
        const auto capture = required(load_capture(folder.path(), no_split()));
        const Camera& camera = capture.views[0].camera;
        EXPECT_EQ(camera.model, model);
        for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(camera.distortion[i], files.params[4 + i]);
    }
    const auto full = required(
        load_one("\"camera_model\": \"FULL_OPENCV\", \"k4\": 0.01, \"s1\": 0.001," + kFocal,
                 "\"k1\": 0.2,"));
    EXPECT_EQ(full.views[0].camera.distortion,
              (std::array<double, 12>{0.2, 0, 0, 0, 0, 0.01, 0, 0, 0.001, 0, 0, 0}));
    // k3 is the same in OpenCV and nerfstudio, k4 is not.
    const auto cubic =
        required(load_one("\"camera_model\": \"OPENCV\", \"k3\": 0.01," + kFocal, ""));
    EXPECT_EQ(cubic.views[0].camera.model, CameraModel::full_opencv);
    EXPECT_EQ(cubic.views[0].camera.distortion[4], 0.01);
    const auto unclear = load_one("\"camera_model\": \"OPENCV\", \"k4\": 0.01," + kFocal, "");
    ASSERT_FALSE(unclear);
    EXPECT_THAT(unclear.error().text(), HasSubstr("means two things"));
}

TEST(NativeLens, AllDirections) {
    const std::string file = "\"camera_model\": \"EQUIRECTANGULAR\", \"fl_x\": 7,";
    CaptureOptions options = no_split();
    options.downscale = 3;
    const auto capture = required(load_one(file, "", options, 64, 32));
    const Camera& camera = capture.views[0].camera;
    EXPECT_EQ(camera.model, CameraModel::equirectangular);
    EXPECT_NEAR(camera.fx * 2 * std::numbers::pi, camera.width, 1e-9);
    EXPECT_NEAR(camera.fy * std::numbers::pi, camera.height, 1e-9);
    EXPECT_TRUE(capture.views[0].mask.empty());
    options.undistort = true;
    const auto straight = load_one(file, "", options, 64, 32);
    ASSERT_FALSE(straight);
    EXPECT_THAT(straight.error().text(), HasSubstr("cannot be resampled to a pinhole"));
}

TEST(NativeLens, WhatNoRayFallsOnIsMasked) {
    // A fisheye whose picture folds back 30 px from the axis: d'(theta) = 0 at theta = 0.82.
    const auto capture = required(load_one(
        "\"camera_model\": \"OPENCV_FISHEYE\", \"fl_x\": 55, \"k1\": -0.5, \"cx\": 40, \"cy\": 40,",
        "", no_split(), 80, 80));
    const View& view = capture.views[0];
    ASSERT_EQ(view.mask.bytes.size(), 80u * 80u);
    for (int y = 0; y < 80; ++y)
        for (int x = 0; x < 80; ++x) {
            const double r = std::hypot(x + 0.5 - 40, y + 0.5 - 40);
            const int keep = *view.mask.at(x, y);
            ASSERT_TRUE(r < 29.5 ? keep == 255 : r < 30.5 || keep == 0) << x << " " << y;
        }
    // The same beside a mask of the capture's own: a pixel that either leaves out is out.
    const auto folded = load_one(
        "\"camera_model\": \"OPENCV_FISHEYE\", \"fl_x\": 55, \"k1\": -1e9, \"cx\": 40, \"cy\": 40,",
        "", no_split(), 80, 80);
    ASSERT_FALSE(folded);
    EXPECT_THAT(folded.error().text(), HasSubstr("folds back near the axis"));
}

const std::string kStart = "\"viewmat_start\": [[1,0,0,0],[0,1,0,0],[0,0,1,2],[0,0,0,1]],",
                  kEnd =
                      "\"pose_end_tq\": [0.5, 0, 2, 0.9238795325112867, 0, 0.3826834323650898, "
                      "0],";  // 45 degrees about y

TEST(RollingShutter, PosesOfFirstAndLastRow) {
    const std::string file = "\"rolling_shutter\": \"BOTTOM_TO_TOP\"," + kFocal;
    const auto capture = required(load_one(file, kStart + kEnd));
    const Camera& camera = capture.views[0].camera;
    EXPECT_EQ(camera.shutter, Shutter::bottom_to_top);
    EXPECT_EQ(camera.model, CameraModel::pinhole);
    EXPECT_NEAR(camera.first.translation.z, 2, 1e-12);
    EXPECT_NEAR(camera.last.rotation.m[0][0], std::sqrt(0.5), 1e-9);
    EXPECT_NEAR(camera.translation.x, 0.25, 1e-12);
    EXPECT_NEAR(camera.rotation.m[0][0], std::cos(std::numbers::pi / 8), 1e-9);
    EXPECT_THAT(joined(texts_of(capture.notes)),
                HasSubstr("1 photos have a rolling shutter, bottom-to-top"));
    CaptureOptions options = no_split();
    options.undistort = true;
    const auto still = required(load_one(file, kStart + kEnd, options));
    EXPECT_FALSE(still.views[0].camera.rolling());
    EXPECT_THAT(joined(texts_of(still.notes)), HasSubstr("which is ignored: one pose each"));
}

TEST(RollingShutter, WhatIsMissingOrWrongIsSaid) {
    const auto why = [](const std::string& file, const std::string& frame) {
        const auto capture = load_one(file + kFocal, frame);
        return capture ? joined(texts_of(capture->notes)) : capture.error().text();
    };
    const std::string rolling = "\"rolling_shutter\": \"TOP_TO_BOTTOM\",";
    EXPECT_THAT(why(rolling, ""), HasSubstr("without poses of their first and last row"));
    EXPECT_THAT(why(rolling, kStart), HasSubstr("viewmat_end is missing"));
    EXPECT_THAT(why(rolling, kStart + "\"pose_end_tq\": [0,0,0,0,0,0,0],"),
                HasSubstr("pose_end_tq is not a rotation"));
    EXPECT_THAT(why(rolling, kStart + "\"pose_end_tq\": [0,0,NaN,1,0,0,0],"),
                HasSubstr("pose_end_tq holds something that is not a finite number"));
    EXPECT_THAT(why(rolling, kStart + "\"pose_end_tq\": [0,0,0,0,1,0,0],"),
                HasSubstr("differ by more than 90 degrees"));
    EXPECT_THAT(why("\"rolling_shutter\": \"SIDEWAYS\",", kStart + kEnd),
                HasSubstr("\"SIDEWAYS\" is not a direction"));
}

TEST(RollingShutter, TimesThatRunBackAreSaid) {
    const TempFolder folder;
    std::string frames;
    for (const auto& [name, time] : {std::pair{"a", "1.5"}, {"b", "1.25"}, {"c", "NaN"}}) {
        put_png(folder / (std::string(name) + ".png"), pattern(8, 8, 3));
        frames += fmt::format(
            "{}{{\"file_path\": \"{}.png\", \"timestamp\": {}, \"transform_matrix\": {}}}",
            frames.empty() ? "" : ",", name, time, matrix_at(1, 4));
    }
    folder.write("transforms.json", "{\"fl_x\": 9, \"frames\": [" + frames + "]}");
    const auto capture = required(load_capture(folder.path(), no_split()));
    EXPECT_EQ(capture.views.size(), 3u);
    EXPECT_THAT(joined(texts_of(capture.notes)), HasSubstr("2 timestamps are earlier"));
    folder.write("transforms.json", "");
    EXPECT_THAT(load_capture(folder.path(), no_split()).error().text(), HasSubstr("is empty"));
}

TEST(RollingShutter, ShutterBox) {
    GS_NEED_DATA("captures/shutter_box");
    CaptureOptions options = no_split();
    options.photos = false;
    const auto capture = required(load_capture(data_path("captures/shutter_box"), options));
    options.undistort = true;
    const auto still = required(load_capture(data_path("captures/shutter_box"), options));
    ASSERT_EQ(capture.views.size(), 24u);
    for (std::size_t i = 0; i < 24; ++i) {
        const Camera &camera = capture.views[i].camera, &usual = still.views[i].camera;
        EXPECT_EQ(camera.shutter, Shutter::top_to_bottom);
        // transform_matrix is the pose at half the read-out: what we make of the two ends.
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c)
                EXPECT_NEAR(camera.rotation.m[r][c], usual.rotation.m[r][c], 1e-6);
        EXPECT_NEAR(camera.translation.x, usual.translation.x, 1e-6);
        EXPECT_NEAR(camera.translation.z, usual.translation.z, 1e-6);
        EXPECT_GT(std::abs(camera.first.translation.x - camera.last.translation.x) +
                      std::abs(camera.first.translation.z - camera.last.translation.z),
                  0.01);
    }
}

TEST(CameraJson, EveryLensAndShutterComesBack) {
    const Camera looking = look_at({1, 2, 3}, {0, 0, 0}, {0, -1, 0}, 40, 30, 0.9);
    for (const CameraModel model :
         {CameraModel::pinhole, CameraModel::orthographic, CameraModel::opencv,
          CameraModel::full_opencv, CameraModel::ftheta, CameraModel::equirectangular})
        for (const Shutter shutter : {Shutter::global, Shutter::right_to_left}) {
            Camera camera = looking;
            camera.model = model;
            for (std::size_t i = 0; i < 12; ++i)
                camera.distortion[i] = model == CameraModel::pinhole ? 0 : 0.1 + 0.01 * i;
            camera.shutter = shutter;
            if (camera.rolling()) {
                camera.first = {looking.rotation, {1, 2, 3}};
                camera.last = {transpose(looking.rotation), {0.1, 0.2, 1.0 / 3}};
            }
            const auto text = camera_json(camera).dump();
            const auto back = camera_from_json(nlohmann::json::parse(text));
            ASSERT_TRUE(back) << text;
            EXPECT_EQ(camera_json(*back).dump(), text);
            EXPECT_EQ(back->model, model);
            EXPECT_EQ(back->distortion, camera.distortion);
            EXPECT_EQ(back->last.translation.z, camera.last.translation.z);
        }
    auto json = nlohmann::json::parse(camera_json(looking).dump());
    json.erase("model");  // as older files are
    EXPECT_TRUE(camera_from_json(json));
    json["model"] = "periscope";
    EXPECT_FALSE(camera_from_json(json));
    json["model"] = "fisheye";
    json["distortion"] = nlohmann::json::array({0.1, "x"});
    EXPECT_FALSE(camera_from_json(json));
    json["distortion"] = nlohmann::json::array({0.1});
    json["shutter"] = "top-to-bottom";
    EXPECT_FALSE(camera_from_json(json));  // without its poses
}

}  // namespace
}  // namespace gs::test
