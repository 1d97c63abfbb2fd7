
#include <cmath>
#include <cstring>

#include "renderer/io/captures/capture_io.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

std::string frame(const std::string& file, const std::string& more = "", double x = 1,
                  double z = 4) {
    return fmt::format("{{\"file_path\": \"{}\", {} \"transform_matrix\": {}}}", file, more,
                       matrix_at(x, z));
}

TEST(Transforms, InstantNgpAxesAndIntrinsics) {
    const TempFolder folder;
    put_png(folder / "images/1.png", pattern(40, 30, 3));
    folder.write(
        "transforms.json",
        "{\"fl_x\": 50, \"fl_y\": 51, \"cx\": 19, \"cy\": 16, \"w\": 40, \"h\": 30, \"frames\": [" +
            frame("images/1.png") + "]}");
    const auto capture = required(load_capture(folder.path(), no_split()));
    ASSERT_EQ(capture.views.size(), 1u);
    const View& view = capture.views[0];
    EXPECT_EQ(view.name, "1.png");
    EXPECT_EQ(view.camera.fx, 50);
    EXPECT_EQ(view.camera.cy, 16);
    // Looks along -z with y up: the world's origin is 4 in front, the world's y is the picture's
    // -y.
    EXPECT_NEAR(view.camera.forward().z, -1, 1e-12);
    EXPECT_NEAR(view.camera.position().x, 1, 1e-12);
    EXPECT_NEAR(view.camera.position().z, 4, 1e-12);
    const Vec3d p = view.camera.rotation * Vec3d{1, 2, 0} + view.camera.translation;
    EXPECT_NEAR(p.x, 0, 1e-12);
    EXPECT_NEAR(p.y, -2, 1e-12);
    EXPECT_NEAR(p.z, 4, 1e-12);
    EXPECT_TRUE(capture.points_are_random);
    const auto direct = required(load_capture(folder / "transforms.json", no_split()));
    EXPECT_EQ(direct.views.size(), 1u);
}

TEST(Transforms, NerfstudioIntrinsicsOfEveryFrame) {
    const TempFolder folder;
    put_png(folder / "images/a.png", pattern(40, 30, 3));
    put_png(folder / "images/b.png", pattern(60, 60, 3));
    put_png(folder / "m/b.png", constant(60, 60, {0}));
    folder.write("pc.ply",
                 "ply\nformat ascii 1.0\nelement vertex 2\nproperty double x\nproperty double "
                 "y\nproperty double z\nproperty uint8 red\nproperty uint8 green\n"
                 "property uint8 blue\nend_header\n1 2 3 4 5 6\nnan 0 0 0 0 0\n");
    folder.write(
        "transforms.json",
        "{\"camera_model\": \"OPENCV\", \"applied_transform\": [[1,0,0,0],[0,0,1,0],[0,-1,0,0]], "
        "\"ply_file_path\": \"pc.ply\", \"frames\": [" +
            frame("images/a.png",
                  "\"fl_x\": 50, \"fl_y\": 50, \"cx\": 20, \"cy\": 15, \"w\": 40, \"h\": 30,") +
            "," +
            frame("images/b.png",
                  "\"fl_x\": 70, \"cx\": 30, \"cy\": 31, \"w\": 60, \"h\": 60, \"mask_path\": "
                  "\"m/b.png\",") +
            "]}");
    const auto capture = required(load_capture(folder.path(), no_split()));
    ASSERT_EQ(capture.views.size(), 2u);
    EXPECT_EQ(capture.views[0].camera.fx, 50);
    EXPECT_EQ(capture.views[1].camera.fx, 70);
    EXPECT_EQ(capture.views[1].camera.fy, 70);
    EXPECT_EQ(capture.views[1].camera.width, 60);
    EXPECT_TRUE(capture.views[0].mask.empty());
    EXPECT_EQ(*capture.views[1].mask.at(3, 3), 0);
    CaptureOptions unmasked = no_split();
    unmasked.masks = kNoMasks;
    EXPECT_TRUE(load_capture(folder.path(), unmasked)->views[1].mask.empty());
    fs::remove(folder / "m/b.png");
    for (const bool photos : {true, false}) {
        CaptureOptions options = no_split();
        options.photos = photos;
        const auto without = required(load_capture(folder.path(), options));
        EXPECT_TRUE(std::ranges::any_of(without.notes, [](const CaptureNote& note) {
            return note.kind == CaptureNote::Kind::mask &&
                   note.text.find("names a missing one") != std::string::npos;
        })) << "a mask that is named and not there";
    }
    ASSERT_EQ(capture.points.size(), 1u);
    EXPECT_EQ(capture.points[0].position.y, 2);
    EXPECT_EQ(capture.points[0].rgb[0], 4);
    const std::string notes = joined(texts_of(capture.notes));
    EXPECT_THAT(notes, HasSubstr("applied_transform"));
    EXPECT_THAT(notes, HasSubstr("1 points without a finite position"));
}

TEST(Transforms, BlenderTrainAndTestFiles) {
    const TempFolder folder;
    for (const char* name : {"train/r_0.png", "train/r_1.png", "test/r_0.png"})
        put_png(folder / name, constant(20, 10, {0, 0, 0, 0}));
    const double angle = 0.8;
    folder.write("transforms_train.json",
                 fmt::format("{{\"camera_angle_x\": {}, \"frames\": [{}, {}]}}", angle,
                             frame("./train/r_0"), frame("./train/r_1")));
    folder.write("transforms_test.json", fmt::format("{{\"camera_angle_x\": {}, \"frames\": [{}]}}",
                                                     angle, frame("./test/r_0")));
    const auto capture = required(load_capture(folder.path(), {.background = {1, 0.5f, 0}}));
    ASSERT_EQ(capture.views.size(), 3u);
    EXPECT_EQ(capture.views[0].name, "test/r_0.png");
    EXPECT_EQ(capture.view_indices(true), (std::vector<std::size_t>{0}));
    EXPECT_NEAR(capture.views[0].camera.fx, 10 / std::tan(0.4), 1e-9);
    EXPECT_EQ(capture.views[0].camera.fy, capture.views[0].camera.fx);
    EXPECT_EQ(capture.views[0].camera.cx, 10);
    EXPECT_EQ(capture.views[0].camera.cy, 5);
    EXPECT_EQ(capture.views[0].photo.bytes, constant(20, 10, {255, 128, 0}).bytes);
    EXPECT_TRUE(capture.points_are_random);
    for (const SparsePoint& p : capture.points) {
        ASSERT_LE(std::abs(p.position.x), 1.3f);
        ASSERT_LE(std::abs(p.position.y), 1.3f);
        ASSERT_LE(std::abs(p.position.z), 1.3f);
    }
}

TEST(Transforms, BadFramesAreSkippedAndNamed) {
    const TempFolder folder;
    put_png(folder / "a.png", pattern(40, 30, 3));
    const std::string bad_pose =
        "{\"file_path\": \"a2.png\", \"transform_matrix\": "
        "[[NaN,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}";
    const std::string scaled =
        "{\"file_path\": \"a3.png\", \"transform_matrix\": "
        "[[1,0,0,0],[0,5,0,0],[0,0,1,0],[0,0,0,1]]}";
    const std::string mirrored =
        "{\"file_path\": \"a4.png\", \"transform_matrix\": "
        "[[-1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}";
    folder.write("transforms.json",
                 "{\"fl_x\": 50, \"frames\": [" + frame("a.png") + "," + frame("missing.png") +
                     "," + bad_pose + "," + scaled + "," + mirrored + ", 7, {}, " +
                     frame("eq.png", "\"camera_model\": \"PUSHBROOM\",") + "," +
                     frame("w.png", "\"w\": 1e300,") + "," +
                     frame("f.png", "\"fl_x\": -Infinity,") + "," + frame("a.png") + "]}");
    const auto capture = required(load_capture(folder.path(), no_split()));
    EXPECT_EQ(capture.views.size(), 1u);
    const std::string skipped = joined(capture.skipped);
    for (const char* what :
         {"missing.png: no such photo", "a2.png: transform_matrix holds something",
          "a3.png: transform_matrix is not a rotation",
          "a4.png: transform_matrix is not a rotation", "frame 5", "frame 6",
          "PUSHBROOM is not supported", "w.png: ", "f.png: ", "a.png: it is listed twice"})
        EXPECT_THAT(skipped, HasSubstr(what));
}

TEST(Transforms, WhatIsNoNumberIsNamed) {
    const TempFolder folder;
    put_png(folder / "a.png", pattern(40, 30, 3));
    const std::pair<const char*, const char*> kBad[] = {
        {"\"k1\": null", "k1 is null, not a number"},
        {"\"k1\": \"0.1\"", "k1 is the text \"0.1\", not a number"},
        {"\"fl_y\": null", "fl_y is null, not a number"},
        {"\"fl_x\": NaN", "fl_x is not finite"},
        {"\"cx\": true", "cx is boolean, not a number"},
        {"\"w\": null", "w is null, not a number"},
        {"\"h\": [30]", "h is array, not a number"},
        {"\"camera_angle_x\": null, \"fl_x\": null", "fl_x is null, not a number"},
        {"\"p2\": {}, \"camera_model\": \"OPENCV\"", "p2 is object, not a number"}};
    for (const auto& [bad, why] : kBad)
        for (const bool in_frame : {true, false}) {
            const std::string whole =
                in_frame
                    ? "\"k2\": 0.01, \"fl_x\": 50, \"w\": 40, \"h\": 30"
                    : std::string(std::strstr(bad, "fl_x") != nullptr ? "" : "\"fl_x\": 50, ") +
                          bad;
            folder.write("transforms.json",
                         "{" + whole + ", \"frames\": [" +
                             frame("a.png", in_frame ? std::string(bad) + "," : "") + "]}");
            const auto capture = load_capture(folder.path(), no_split());
            ASSERT_FALSE(capture) << bad;
            EXPECT_THAT(capture.error().text(), HasSubstr(why)) << bad;
        }
}

TEST(Transforms, BrokenJsonNamesTheByte) {
    const TempFolder folder;
    folder.write("transforms.json", "{\"frames\": [ {\"a\": ] }");
    const auto broken = load_capture(folder.path(), {});
    ASSERT_FALSE(broken);
    EXPECT_TRUE(broken.error().byte.has_value());
    folder.write("transforms.json", "{\"frames\": 3}");
    EXPECT_THAT(load_capture(folder.path(), {}).error().text(), HasSubstr("no list \"frames\""));
    folder.write("transforms.json", "[]");
    EXPECT_FALSE(load_capture(folder.path(), {}));
    folder.write("transforms.json", std::string(100000, '['));
    EXPECT_FALSE(load_capture(folder.path(), {}));
    folder.write("other.json", "{\"name\": 1}");
    EXPECT_FALSE(find_capture(folder / "other.json").certain);
    folder.write("transforms.json", "{\"frames\": []}");
    EXPECT_TRUE(find_capture(folder / "transforms.json").certain);
    EXPECT_THAT(load_capture(folder.path(), {}).error().text(), HasSubstr("no view is left"));
}

}  // namespace
}  // namespace gs::test
