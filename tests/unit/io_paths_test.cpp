// Camera paths as files: what is written comes back, nerfstudio's are read as it draws them, and
// broken ones are refused with what is wrong.
#include <nlohmann/json.hpp>

#include "renderer/io/paths/path_io.h"
#include "tests/unit/io_files.h"
#include "tests/unit/io_mutator.h"

namespace gs::test {
namespace {

Film small_film() {
    Film film{preset_path(PathPreset::spiral, {{1, 2, 3}, {0, 0, 1}, 4, 0.3, 0.9, {}}, 3), 320, 200,
              12};
    film.path.ease = true;
    film.path.speed = PathSpeed::keys;
    film.path.closed = true;
    film.path.closing = 0.75;
    return film;
}

void expect_same(const PathPose& a, const PathPose& b, double tolerance) {
    const Vec3d way = a.position - b.position;
    EXPECT_LT(dot(way, way), tolerance * tolerance);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) EXPECT_NEAR(a.rotation.m[i][j], b.rotation.m[i][j], tolerance);
    EXPECT_NEAR(a.fov_y, b.fov_y, tolerance);
}

TEST(PathFiles, OwnComesBackWhole) {
    const TempFolder folder;
    const Film film = small_film();
    ASSERT_TRUE(write_path_file(folder / "p.json", film));
    const auto back = required(read_path_file(folder / "p.json"));
    EXPECT_EQ(back.film.width, 320);
    EXPECT_EQ(back.film.height, 200);
    EXPECT_EQ(back.film.fps, 12);
    EXPECT_TRUE(back.film.path.ease);
    EXPECT_TRUE(back.film.path.closed);
    EXPECT_EQ(back.film.path.closing, 0.75);
    EXPECT_EQ(back.film.path.speed, PathSpeed::keys);
    EXPECT_TRUE(back.frames.empty());
    ASSERT_EQ(back.film.path.keys.size(), film.path.keys.size());
    for (std::size_t i = 0; i < film.path.keys.size(); ++i) {
        EXPECT_DOUBLE_EQ(back.film.path.keys[i].time, film.path.keys[i].time);
        expect_same(back.film.path.keys[i].pose, film.path.keys[i].pose, 1e-9);
    }
}

TEST(PathFiles, NerfstudioComesBackWithEveryPicture) {
    const TempFolder folder;
    const Film film = small_film();
    ASSERT_TRUE(write_nerfstudio_path(folder / "p.json", film));
    const auto back = required(read_path_file(folder / "p.json"));
    EXPECT_EQ(back.film.width, 320);
    EXPECT_TRUE(back.film.path.closed);
    EXPECT_NEAR(back.film.path.seconds(), film.path.seconds(), 1e-9);
    ASSERT_EQ(back.film.path.keys.size(), film.path.keys.size());
    for (std::size_t i = 0; i < film.path.keys.size(); ++i)
        expect_same(back.film.path.keys[i].pose, film.path.keys[i].pose, 1e-9);
    const auto poses = poses_along(film.path, pictures_of(film.path, film.fps));
    ASSERT_EQ(back.frames.size(), poses.size());
    for (std::size_t i = 0; i < poses.size(); ++i) expect_same(back.frames[i], poses[i], 1e-9);
}

/// A camera at (1, 2, 3) that looks along the world's -z, upright with y up: OpenGL's identity.
const char* const kByRows = "[1,0,0,1, 0,1,0,2, 0,0,1,3, 0,0,0,1]";
const char* const kByColumns = "\"[1,0,0,0, 0,1,0,0, 0,0,1,0, 4,5,6,1]\"";

TEST(PathFiles, NerfstudioAxesAreOpenGls) {
    const TempFolder folder;
    folder.write("p.json",
                 fmt::format(R"({{"camera_type": "perspective", "render_height": 48,
                 "render_width": 64, "fps": 24, "seconds": 6, "smoothness_value": 0.5,
                 "is_cycle": false, "crop": {{}},
                 "keyframes": [{{"matrix": {}, "fov": 50, "aspect": 1.3}},
                               {{"matrix": {}, "fov": 75, "aspect": 1.3}}],
                 "camera_path": [{{"camera_to_world": {}, "fov": 60, "aspect": 1.3}}]}})",
                             "[1,0,0,0, 0,1,0,0, 0,0,1,0, 1,2,3,1]", kByColumns, kByRows));
    const auto read = required(read_path_file(folder / "p.json"));
    ASSERT_EQ(read.film.path.keys.size(), 2u);
    EXPECT_EQ(read.film.path.keys[1].time, 6);
    const PathPose& first = read.film.path.keys[0].pose;
    EXPECT_EQ(first.position.y, 2);
    EXPECT_EQ(first.rotation.m[2][2], -1);  // forward is -z
    EXPECT_EQ(first.rotation.m[1][1], -1);  // the picture's down is -y
    EXPECT_NEAR(first.fov_y, 50 * 3.14159265358979 / 180, 1e-9);
    EXPECT_EQ(read.film.path.keys[1].pose.position.x, 4);  // written by columns, as text
    EXPECT_EQ(read.film.path.keys[1].pose.position.z, 6);
    ASSERT_EQ(read.frames.size(), 1u);
    EXPECT_EQ(read.frames[0].position.y, 2);  // and these by rows
    ASSERT_EQ(read.notes.size(), 1u);
    EXPECT_THAT(read.notes[0], HasSubstr("crop"));
}

TEST(PathFiles, FramesAloneBecomeKeys) {
    const TempFolder folder;
    const std::string frame = fmt::format(R"({{"camera_to_world": {}, "fov": 60}})", kByRows);
    folder.write("p.json",
                 fmt::format(R"({{"fps": 10, "camera_path": [{}, {}, {}]}})", frame, frame, frame));
    const auto read = required(read_path_file(folder / "p.json"));
    ASSERT_EQ(read.film.path.keys.size(), 3u);
    EXPECT_NEAR(read.film.path.keys[2].time, 0.2, 1e-12);
}

TEST(PathFiles, MatricesOfAListAreReadAlike) {
    const TempFolder folder;
    // Looks along x. At the origin it may be by rows or by columns; its neighbour decides.
    const char* const turned = "[0,0,1,0, 0,1,0,0, -1,0,0,0, 0,0,0,1]";
    const auto read_with = [&](const char* neighbour) {
        folder.write("p.json", fmt::format(R"({{"keyframes": [{{"matrix": {}, "fov": 50}},
                     {{"matrix": {}, "fov": 50}}]}})",
                                           turned, neighbour));
        auto read = read_path_file(folder / "p.json");
        EXPECT_TRUE(read) << read.error().text();
        return read->film.path.keys[0].pose.rotation.m[2][0];
    };
    EXPECT_EQ(read_with(kByRows), -read_with(kByColumns));
}

TEST(PathFiles, ATransitionWithoutTimeIsTheUsualOne) {
    const TempFolder folder;
    const std::string key = fmt::format(
        R"({{"matrix": {}, "fov": 50, "override_transition_enabled": true,
             "override_transition_sec": 1e-308}})",
        kByRows);
    folder.write("p.json", fmt::format(R"({{"default_transition_sec": 3, "keyframes": [{}, {}]}})",
                                       key, key));
    const auto read = required(read_path_file(folder / "p.json"));
    EXPECT_EQ(read.film.path.keys[1].time, 3);
}

TEST(PathFiles, MorePicturesThanNerfstudiosFormatTakesAreRefused) {
    const TempFolder folder;
    Film film = small_film();
    film.fps = 100'000;
    const auto written = write_nerfstudio_path(folder / "p.json", film);
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().text(), HasSubstr("the limit is"));
    EXPECT_FALSE(fs::exists(folder / "p.json"));
}

TEST(PathFiles, SayWhatIsWrong) {
    const TempFolder folder;
    const auto refused = [&](std::string_view text, const char* says) {
        folder.write("p.json", text);
        const auto read = read_path_file(folder / "p.json");
        ASSERT_FALSE(read) << text;
        EXPECT_THAT(read.error().text(), HasSubstr(says));
        EXPECT_THAT(read.error().path, HasSubstr("p.json"));
    };
    refused("{", "not valid JSON");
    refused("[]", "not an object");
    refused("{\"a\": 1}", "not a camera path");
    refused(R"({"format": "gausscope camera path", "version": 2, "keys": []})", "another version");
    refused(R"({"format": "gausscope camera path", "version": 1, "keys": []})", "no key");
    refused(R"({"format": "gausscope camera path", "version": 1, "keys": [{"time": 0}]})", "key 0");
    refused(R"({"format": "gausscope camera path", "version": 1, "keys": [{"time": 0,
            "position": [0,0,0], "rotation": [0,0,0,0], "fov_y": 50}]})",
            "not a rotation");
    refused(R"({"format": "gausscope camera path", "version": 1, "width": 0, "keys": []})",
            "width");
    refused(R"({"camera_path": [], "camera_type": "fisheye"})", "fisheye");
    refused(R"({"camera_path": [{"camera_to_world": [1], "fov": 50}]})", "frame 0");
    refused(R"({"keyframes": [{"matrix": [2,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1], "fov": 50}]})",
            "key 0");
    refused(R"({"fps": 0, "camera_path": []})", "fps");
    const std::string key =
        R"({"time": 1, "position": [0,0,0], "rotation": [1,0,0,0], "fov_y": 50})";
    refused(
        R"({"format": "gausscope camera path", "version": 1, "keys": [)" + key + "," + key + "]}",
        "times that increase");
    const auto at = [](const char* time) {
        return fmt::format(
            R"({{"time": {}, "position": [0,0,0], "rotation": [1,0,0,0], "fov_y": 50}})", time);
    };
    refused(fmt::format(R"({{"format": "gausscope camera path", "version": 1, "speed": "keys",
            "keys": [{}, {}, {}]}})",
                        at("0"), at("1e-308"), at("1")),
            "a microsecond");
    EXPECT_EQ(read_path_file(folder / "none.json").error().kind, ErrorKind::not_found);
}

TEST(PathFiles, SurviveMutations) {
    const TempFolder folder;
    Film film = small_film();
    film.path.keys.resize(3);
    film.fps = 1;
    ASSERT_TRUE(write_path_file(folder / "own.json", film));
    ASSERT_TRUE(write_nerfstudio_path(folder / "other.json", film));
    for (const char* name : {"own.json", "other.json"})
        hammer(*read_text_file(folder / name), 1500, [&](const std::string& bytes) {
            folder.write("p.json", bytes);
            const auto read = read_path_file(folder / "p.json");
            if (!read) {
                EXPECT_FALSE(read.error().message.empty());
                return false;
            }
            EXPECT_TRUE(valid(read->film.path));
            const PathPose at = PathCurve(read->film.path).at(0.3);
            EXPECT_TRUE(camera_of(at, 32, 24).valid());
            return true;
        });
}

}  // namespace
}  // namespace gs::test
