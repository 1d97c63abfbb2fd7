// OpenSfM's reconstruction.json: its models, the real capture, what can be wrong.
#include <numbers>

#include "renderer/io/captures/capture_io.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

std::string shot(const std::string& name, const std::string& camera = "c") {
    return fmt::format(
        "\"{}\": {{\"camera\": \"{}\", \"rotation\": [0, 1.5707963267948966, 0], "
        "\"translation\": [1, 2, 3]}}",
        name, camera);
}
std::string reconstruction(const std::string& camera, const std::string& shots) {
    return "[{\"cameras\": {\"c\": {" + camera + "}}, \"shots\": {" + shots +
           "}, \"points\": {\"1\": {\"coordinates\": [1, 2, 3], \"color\": [9, 300, -4]}, "
           "\"2\": {\"coordinates\": [NaN, 0, 0], \"color\": []}}}]";
}
constexpr const char* kSize = "\"width\": 40, \"height\": 30,";

TEST(OpenSfm, NormalisedIntrinsicsPosesAndPoints) {
    const TempFolder folder;
    put_png(folder / "images/a.png", pattern(40, 30, 3));
    folder.write(
        "reconstruction.json",
        reconstruction(std::string(kSize) +
                           "\"projection_type\": \"brown\", \"focal_x\": 0.9, "
                           "\"focal_y\": 0.8, \"c_x\": 0.05, \"c_y\": -0.025, \"k1\": "
                           "0.1, \"k2\": 0.02, \"k3\": 0.003, \"p1\": 0.004, \"p2\": 0.005",
                       shot("a.png")));
    EXPECT_TRUE(find_capture(folder.path()).certain);
    EXPECT_TRUE(find_capture(folder / "reconstruction.json").certain);
    const auto capture = required(load_capture(folder.path(), no_split()));
    EXPECT_EQ(capture.format, "OpenSfM");
    const Camera& camera = capture.views.at(0).camera;
    EXPECT_EQ(camera.model, CameraModel::full_opencv);
    EXPECT_NEAR(camera.fx, 36, 1e-12);
    EXPECT_NEAR(camera.fy, 32, 1e-12);
    EXPECT_NEAR(camera.cx, 22, 1e-12);
    EXPECT_NEAR(camera.cy, 14, 1e-12);
    EXPECT_EQ(camera.distortion,
              (std::array<double, 12>{0.1, 0.02, 0.004, 0.005, 0.003, 0, 0, 0, 0, 0, 0, 0}));
    // A quarter turn about y: the camera looks along the world's -x... x_camera = z_world.
    EXPECT_NEAR(camera.rotation.m[0][2], 1, 1e-12);
    EXPECT_NEAR(camera.rotation.m[2][0], -1, 1e-12);
    EXPECT_EQ(camera.translation.y, 2);
    ASSERT_EQ(capture.points.size(), 1u);
    EXPECT_EQ(capture.points[0].rgb[1], 255);
    EXPECT_EQ(capture.points[0].rgb[2], 0);
    EXPECT_THAT(joined(texts_of(capture.notes)), HasSubstr("1 points without a finite position"));
    const auto direct = required(load_capture(folder / "reconstruction.json", no_split()));
    EXPECT_EQ(direct.views.size(), 1u);
}

TEST(OpenSfm, ItsOtherModels) {
    struct Case {
        const char* type;
        CameraModel model;
    };
    for (const auto& [type, model] :
         {Case{"perspective", CameraModel::radial}, Case{"fisheye", CameraModel::opencv_fisheye},
          Case{"spherical", CameraModel::equirectangular}}) {
        const TempFolder folder;
        put_png(folder / "images/a.png", pattern(40, 30, 3));
        folder.write("reconstruction.json",
                     reconstruction(fmt::format("{} \"projection_type\": \"{}\", \"focal\": 0.85, "
                                                "\"k1\": 0.01, \"k2\": -0.02",
                                                kSize, type),
                                    shot("a.png")));
        const auto capture = required(load_capture(folder.path(), no_split()));
        const Camera& camera = capture.views[0].camera;
        EXPECT_EQ(camera.model, model);
        EXPECT_NEAR(camera.fx, model == CameraModel::equirectangular ? 20 / std::numbers::pi : 34,
                    1e-12);
        EXPECT_EQ(camera.cx, 20);
        EXPECT_EQ(camera.distortion[1], model == CameraModel::equirectangular ? 0 : -0.02);
    }
}

TEST(OpenSfm, WhatIsWrongIsSkippedAndNamed) {
    const TempFolder folder;
    for (const char* name : {"a.png", "b.png", "c.png"})
        put_png(folder / "images" / name, pattern(40, 30, 3));
    const std::string camera =
        std::string(kSize) + "\"projection_type\": \"perspective\", \"focal\": 0.85";
    folder.write("reconstruction.json",
                 reconstruction(camera, shot("a.png") + "," + shot("b.png", "nobody's") +
                                            ", \"c.png\": {\"camera\": \"c\", \"rotation\": [0, "
                                            "NaN, 0], \"translation\": [0, 0, 0]}, \"d.png\": 7"));
    const auto capture = required(load_capture(folder.path(), no_split()));
    EXPECT_EQ(capture.views.size(), 1u);
    const std::string skipped = joined(capture.skipped);
    EXPECT_THAT(skipped, HasSubstr("b.png: its camera is not in the file"));
    EXPECT_THAT(skipped, HasSubstr("c.png: rotation or translation is not three finite numbers"));
    EXPECT_THAT(skipped, HasSubstr("d.png: its shot is not an object"));
    for (const auto& [bad, why] :
         {std::pair{"\"width\": 0, \"height\": 30, \"projection_type\": \"perspective\"",
                    "size 0 x 30"},
          {"\"width\": 40, \"height\": 30, \"projection_type\": \"brown\", \"focal_x\": NaN",
           "focal_x is not finite"},
          {"\"width\": 40, \"height\": 30, \"projection_type\": \"brown\", \"focal_x\": 1, \"k1\": "
           "null",
           "k1 is null, not a number"},
          {"\"width\": null, \"height\": 30, \"projection_type\": \"spherical\"",
           "width is null, not a number"},
          {"\"width\": 40, \"height\": 30, \"projection_type\": \"perspective\", \"focal\": "
           "\"0.9\"",
           "focal is the text \"0.9\", not a number"},
          {"\"width\": 40, \"height\": 30, \"projection_type\": \"dual\"",
           "projection_type \"dual\" is not supported"}}) {
        folder.write("reconstruction.json", reconstruction(bad, shot("a.png")));
        EXPECT_THAT(load_capture(folder.path(), no_split()).error().text(), HasSubstr(why));
    }
    folder.write("reconstruction.json", "[{\"cameras\": {}}]");
    EXPECT_THAT(load_capture(folder.path(), no_split()).error().text(),
                HasSubstr("no reconstruction with \"shots\""));
    folder.write("reconstruction.json", "");
    EXPECT_THAT(load_capture(folder.path(), no_split()).error().text(), HasSubstr("is empty"));
}

TEST(OpenSfm, Berlin) {
    GS_NEED_DATA("captures/berlin_opensfm");
    const auto capture = required(load_capture(data_path("captures/berlin_opensfm"), no_split()));
    ASSERT_EQ(capture.views.size(), 3u);
    EXPECT_EQ(capture.points.size(), 1430u);
    EXPECT_TRUE(capture.skipped.empty());
    std::size_t inside = 0;
    for (const View& view : capture.views) {
        EXPECT_EQ(view.camera.model, CameraModel::radial);
        EXPECT_EQ(view.camera.width, 816);
        EXPECT_NEAR(view.camera.fx, 0.8696658484855359 * 816, 1e-9);
        EXPECT_FALSE(view.mask.empty());
        for (const SparsePoint& point : capture.points) {
            const Vec3d p =
                view.camera.rotation * Vec3d{point.position.x, point.position.y, point.position.z} +
                view.camera.translation;
            const Vec2<double> at = view.camera.pixel_of(p);
            inside += p.z > 0 && at.x >= 0 && at.y >= 0 && at.x < 816 && at.y < 612;
        }
    }
    // Every point was seen by two photos at least.
    EXPECT_GT(inside, 2 * 1400u);
}

}  // namespace
}  // namespace gs::test
