// COLMAP models of newer versions and of other programs: lenses, and text as it is written there.
#include <numbers>

#include "renderer/io/captures/capture_io.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

struct Lens {
    const char* name;
    int number;
    std::vector<double> params;
};
// Each through one photo; x.png's lens is none of ours.
const Lens kLenses[] = {
    {"SIMPLE_PINHOLE", 0, {30, 12, 9}},   {"SIMPLE_DIVISION", 12, {30, 12, 9, 0}},
    {"DIVISION", 13, {30, 31, 12, 9, 0}}, {"SIMPLE_FISHEYE", 14, {30, 12, 9}},
    {"FISHEYE", 15, {30, 31, 12, 9}},     {"EUCM", 16, {30, 31, 12, 9, 0, 1}},
    {"EQUIRECTANGULAR", 17, {24, 18}},    {"DIVISION", 13, {30, 31, 12, 9, -0.1}}};

void write_text_model(const TempFolder& folder) {
    std::string cameras, images;
    int id = 0;
    for (const Lens& lens : kLenses) {
        ++id;
        cameras += fmt::format("{} {} 24 18 {}\n", id, lens.name, fmt::join(lens.params, " "));
        images += fmt::format("{} 1 0 0 0 0 0 2 {} p{}.png\n\n", id, id, id);
        put_png(folder / fmt::format("images/p{}.png", id), pattern(24, 18, 3));
    }
    folder.write("sparse/0/cameras.txt", cameras);
    folder.write("sparse/0/images.txt", images);
    folder.write("sparse/0/points3D.txt", "1 0 0 3 9 8 7 0.5\n");
}

void write_binary_model(const TempFolder& folder, std::int32_t last_number) {
    Packer cameras, images;
    cameras.add<std::uint64_t>(std::size(kLenses));
    images.add<std::uint64_t>(std::size(kLenses));
    std::uint32_t id = 0;
    for (const Lens& lens : kLenses) {
        ++id;
        cameras.add(id)
            .add<std::int32_t>(id == std::size(kLenses) ? last_number : lens.number)
            .add<std::uint64_t>(24)
            .add<std::uint64_t>(18);
        for (const double p : lens.params) cameras.add(p);
        images.add(id).add(1.0).add(0.0).add(0.0).add(0.0).add(0.0).add(0.0).add(2.0).add(id);
        images.text(fmt::format("p{}.png", id)).add<std::uint64_t>(0);
        put_png(folder / fmt::format("images/p{}.png", id), pattern(24, 18, 3));
    }
    folder.write("sparse/0/cameras.bin", cameras.bytes);
    folder.write("sparse/0/images.bin", images.bytes);
}

void expect_lenses(const Capture& capture) {
    ASSERT_EQ(capture.views.size(), 7u) << joined(capture.skipped);
    const auto camera = [&](std::size_t i) -> const Camera& { return capture.views[i].camera; };
    for (const std::size_t i : {0u, 1u, 2u, 5u})
        EXPECT_EQ(camera(i).model, CameraModel::pinhole) << i;
    for (const std::size_t i : {3u, 4u}) {
        EXPECT_EQ(camera(i).model, CameraModel::opencv_fisheye);
        EXPECT_EQ(camera(i).fy, i == 3 ? 30 : 31);
        // 45 degrees off the axis lie at f pi / 4.
        EXPECT_NEAR(camera(i).pixel_of({1, 0, 1}).x, 12 + 30 * std::numbers::pi / 4, 1e-9);
    }
    EXPECT_EQ(camera(6).model, CameraModel::equirectangular);
    EXPECT_NEAR(camera(6).pixel_of({0, 0, 1}).x, 12, 1e-9);
    EXPECT_NEAR(camera(6).pixel_of({1, 0, 0}).x, 18, 1e-9);
    EXPECT_NEAR(camera(6).pixel_of({0, -1, 1}).y, 4.5, 1e-9);
}

TEST(Colmap, LensesOfVersion41AreUsedWhereOursHaveThem) {
    {
        const TempFolder folder;
        write_text_model(folder);
        const auto capture = required(load_capture(folder.path(), no_split()));
        expect_lenses(capture);
        EXPECT_THAT(joined(capture.skipped),
                    HasSubstr("p8.png: camera model DIVISION is not supported"));
    }
    for (const std::int32_t unknown : {13, 18, 40}) {
        const TempFolder folder;
        write_binary_model(folder, unknown);
        const auto capture = required(load_capture(folder.path(), no_split()));
        expect_lenses(capture);
        EXPECT_THAT(joined(capture.skipped),
                    HasSubstr(unknown == 13 ? "p8.png: camera model DIVISION"
                                            : "p8.png: its camera has the unknown model number"));
    }
    GS_NEED_DATA("bugs/c07_colmap41_lenses");
    const auto real = required(load_capture(data_path("bugs/c07_colmap41_lenses"), no_split()));
    EXPECT_EQ(real.views.size(), 8u) << joined(real.skipped);
}

TEST(Colmap, LensesWhoseOtherNumbersAreZeroAreOurs) {
    const TempFolder folder;
    ColmapFiles files;
    files.model = 11;  // RAD_TAN_THIN_PRISM_FISHEYE
    files.params = {30, 31, 12, 9, 0.1, 0.01, 0.001, 0.0001, 0, 0, 0, 0, 0, 0, 0, 0};
    files.write_capture(folder);
    const auto capture = required(load_capture(folder.path(), no_split()));
    EXPECT_EQ(capture.views[0].camera.model, CameraModel::opencv_fisheye);
    EXPECT_EQ(capture.views[0].camera.distortion[3], 0.0001);
    files.params[12] = 1e-3;
    files.write(folder);
    EXPECT_THAT(load_capture(folder.path(), no_split()).error().text(),
                HasSubstr("RAD_TAN_THIN_PRISM_FISHEYE"));
}

TEST(Colmap, LensesThatOursLackAreNamed) {
    for (const Lens& lens :
         {Lens{"FOV", 7, {30, 31, 12, 9, 0.8}},
          Lens{"RAD_TAN_THIN_PRISM_FISHEYE",
               11,
               {30, 31, 12, 9, 0.1, 0, 0, 0, 0, 0.01, 0, 0, 0, 0, 0, 0}},
          Lens{"SIMPLE_DIVISION", 12, {30, 12, 9, -0.1}},
          Lens{"DIVISION", 13, {30, 31, 12, 9, 0.1}}, Lens{"EUCM", 16, {30, 31, 12, 9, 0.5, 1}}}) {
        const TempFolder folder;
        ColmapFiles files{.model = lens.number, .params = lens.params};
        files.write_capture(folder);
        EXPECT_THAT(load_capture(folder.path(), no_split()).error().text(),
                    HasSubstr(fmt::format("camera model {} is not supported", lens.name)));
    }
}

TEST(Colmap, ALensOfAnotherProgramLosesItsPhotosOnly) {
    const TempFolder folder;
    folder.write("sparse/0/cameras.txt", "1 PINHOLE 24 18 30 31 11 10\n2 MEI 24 18 1 2 3\n");
    folder.write("sparse/0/images.txt", "1 1 0 0 0 0 0 2 1 a.png\n\n2 1 0 0 0 0 0 2 2 b.png\n\n");
    for (const char* name : {"a.png", "b.png"})
        put_png(folder / "images" / name, pattern(24, 18, 3));
    const auto capture = required(load_capture(folder.path(), no_split()));
    EXPECT_EQ(capture.views.size(), 1u);
    EXPECT_THAT(joined(capture.skipped), HasSubstr("b.png: its camera has the unknown model MEI"));
}

TEST(Colmap, TextOfOtherProgramsAndHands) {
    const std::string cameras = "\xEF\xBB\xBF# cameras\r\n1 PINHOLE 24 18 30 31 11 10\r\n";
    for (const char* images :
         {// one line a photo
          "1 1 0 0 0 0 0 2 1 my photo.png\n2 1 0 0 0 1 0 2 1 b 2.png\n3 1 0 0 0 2 0 2 1 77\n",
          // the same with lines between, comments anywhere, a mark and CRLF
          "\xEF\xBB\xBF# images\r\n\r\n1 1 0 0 0 0 0 2 1 my photo.png\r\n# next\r\n\r\n"
          "2 1 0 0 0 1 0 2 1 b 2.png\r\n\r\n# last\r\n3 1 0 0 0 2 0 2 1 77",
          // COLMAP's own, one photo with key points, one with none
          "1 1 0 0 0 0 0 2 1 my photo.png\n1.5 2.5 -1 3 4 17\n2 1 0 0 0 1 0 2 1 b 2.png\n\n"
          "3 1 0 0 0 2 0 2 1 77\n1 2 3 4 5 6 7 8 9 10 11 12\n"}) {
        const TempFolder folder;
        folder.write("sparse/0/cameras.txt", cameras);
        folder.write("sparse/0/images.txt", images);
        folder.write(
            "sparse/0/points3D.txt",
            "\xEF\xBB\xBF# points\r\n1 0 0 3 9.0 8.4 254.6 0.5 1 0\r\n\r\n# more\r\n2 1 0 3 "
            "1 2 3\r\n");
        for (const char* name : {"my photo.png", "b 2.png", "77.png"})
            put_png(folder / "images" / name, pattern(24, 18, 3));
        const auto capture = load_capture(folder.path(), no_split());
        ASSERT_TRUE(capture) << capture.error().text() << "\n" << images;
        EXPECT_EQ(capture->views.size(), 3u) << images << joined(capture->skipped);
        ASSERT_EQ(capture->points.size(), 2u);
        EXPECT_EQ(capture->points[0].rgb[1], 8);
        EXPECT_EQ(capture->points[0].rgb[2], 255);
        EXPECT_EQ(capture->points[1].rgb[2], 3);
    }
}

TEST(Colmap, ColoursAsFractionsOfOne) {
    const TempFolder folder;
    folder.write("sparse/0/cameras.txt", "1 PINHOLE 24 18 30 31 11 10\n");
    folder.write("sparse/0/images.txt", "1 1 0 0 0 0 0 2 1 a.png\n");
    folder.write("sparse/0/points3D.txt", "1 0 0 3 0.5 1 0 0.5\n2 1 0 3 0.2 0 0 0.5\n");
    put_png(folder / "images/a.png", pattern(24, 18, 3));
    const auto capture = required(load_capture(folder.path(), no_split()));
    EXPECT_EQ(capture.points[0].rgb[0], 128);
    EXPECT_EQ(capture.points[0].rgb[1], 255);
    EXPECT_EQ(capture.points[1].rgb[0], 51);
}

}  // namespace
}  // namespace gs::test
