// Where captures have their models, photos, masks and points: layouts of several programs, and
// names as they come from other machines and systems.
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/files/file_finder.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

using ::testing::ElementsAre;

Capture load(const fs::path& path, CaptureOptions options = no_split()) {
    auto capture = load_capture(path, options);
    EXPECT_TRUE(capture) << capture.error().text();
    return capture ? std::move(*capture) : Capture();
}
std::vector<std::string> names_of(const Capture& capture) {
    std::vector<std::string> out;
    for (const View& view : capture.views) out.push_back(view.name);
    return out;
}
std::string notes_of(const Capture& capture) { return joined(texts_of(capture.notes)); }

TEST(Places, AReplacementCharacterBeforeDigitsIsItselfInOthersNames) {
    const TempFolder folder;
    folder.write("transforms.json",
                 "{\"camera_angle_x\": 0.8, \"frames\": [{\"file_path\": \"caf\ufffde9.png\", "
                 "\"transform_matrix\": [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}]}");
    put_png(folder / "caf\xe9.png", pattern(12, 9, 3));  // as our own files name it
    EXPECT_THAT(names_of(load(folder.path())), ElementsAre("caf\xe9.png"));
    put_png(folder / "caf\ufffde9.png", pattern(12, 9, 3));
    EXPECT_THAT(names_of(load(folder.path())), ElementsAre("caf\ufffde9.png"));
}

TEST(Places, TheLargestOfSeveralModelsIsUsedOrTheNamedOne) {
    const TempFolder folder;
    ColmapFiles files;
    files.write(folder, "sparse/1");
    files.write_photos(folder);
    files.names = {"a.png"};
    files.write(folder, "sparse/0");
    files.names = {"a.png", "b.png"};
    files.write(folder, "sparse/10");
    CaptureOptions options = no_split();
    Capture capture = load(folder.path(), options);
    EXPECT_EQ(capture.views.size(), 3u);
    EXPECT_EQ(capture.model, "sparse/1");
    EXPECT_THAT(capture.models,
                ElementsAre("sparse/0 (1 photo)", "sparse/1 (3 photos)", "sparse/10 (2 photos)"));
    EXPECT_THAT(notes_of(capture), HasSubstr("it has 3 models"));
    EXPECT_THAT(notes_of(capture), HasSubstr("using sparse/1"));
    for (const char* name : {"sparse/0", "0", "./sparse/0/", "sparse\\0"}) {
        options.model = name;
        capture = load(folder.path(), options);
        EXPECT_EQ(capture.views.size(), 1u) << name;
        EXPECT_EQ(capture.model, "sparse/0");
    }
    options.model = "7";
    const auto wrong = load_capture(folder.path(), options);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().kind, ErrorKind::usage);
    EXPECT_THAT(wrong.error().text(), HasSubstr("sparse/10 (2 photos)"));
    folder.write("sparse/0/images.bin", std::string("\x08\0\0\0\0\0\0\0", 8));  // cut
    EXPECT_THAT(load(folder.path(), no_split()).models,
                ElementsAre("sparse/0 (damaged)", "sparse/1 (3 photos)", "sparse/10 (2 photos)"));
    files.names = {"a.png"};
    files.write(folder, "sparse/0");
    // The folder of the models, given itself.
    EXPECT_EQ(load(folder / "sparse").views.size(), 3u);
    EXPECT_EQ(load(folder / "sparse/0").views.size(), 1u);
}

TEST(Places, ModelsAndPhotosWhereOtherProgramsPutThem) {
    for (const auto& [model, photos] :
         {std::pair("dense/sparse", "dense/images"), std::pair("dense/0/sparse", "dense/0/images"),
          std::pair("distorted/sparse/0", "input"), std::pair("colmap/sparse/0", "images"),
          std::pair("colmap", "images"), std::pair("Sparse/0", "Images"),
          std::pair("colmap/dense/0/sparse", "colmap/dense/0/images"),
          std::pair("colmap/dense/sparse/0", "colmap/dense/images"),
          std::pair("undistorted/sparse", "undistorted/images"), std::pair("dense", "images")}) {
        const TempFolder folder;
        ColmapFiles files;
        files.write(folder, model);
        for (const std::string& name : files.names)
            put_png(folder / photos / name, pattern(24, 18, 3));
        const Capture capture = load(folder.path());
        EXPECT_EQ(capture.views.size(), 3u) << model;
        EXPECT_EQ(capture.model, model);
        EXPECT_TRUE(capture.models.empty());
    }
}

TEST(Places, PhotosOfTheCamerasSizeAreTheModels) {
    const TempFolder folder;
    ColmapFiles files;
    files.write(folder, "sparse/0");
    for (const std::string& name : files.names) {
        put_png(folder / "images" / name, pattern(30, 30, 3));  // of another camera
        put_png(folder / "input" / name, pattern(24, 18, 3));
    }
    EXPECT_EQ(load(folder.path()).views.size(), 3u);
}

TEST(Places, PointsOfOtherFormsBesideTheCameras) {
    const std::string ply =
        "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty "
        "float z\nend_header\n1 2 3\n4 5 6\n";
    ColmapFiles files;
    {  // text beside binary points
        const TempFolder folder;
        files.write_photos(folder);
        folder.write("sparse/0/cameras.txt", "7 PINHOLE 24 18 30 31 11 10\n");
        folder.write("sparse/0/images.txt", "1 1 0 0 0 0 0 2 7 a.png\n\n");
        folder.write("sparse/0/points3D.bin", files.points3d());
        const Capture capture = load(folder.path());
        EXPECT_EQ(capture.points.size(), files.points);
        EXPECT_FALSE(capture.points_are_random);
        EXPECT_THAT(notes_of(capture), HasSubstr("points are from points3D.bin"));
    }
    for (const char* place :
         {"sparse/0/points3D.ply", "sparse/0/points.ply", "sparse/0/Points3d.PLY", "points3D.ply"})
        for (const bool empty_file : {false, true}) {
            const TempFolder folder;
            ColmapFiles none = files;
            none.points = 0;
            none.write_capture(folder);
            if (!empty_file) fs::remove(folder / "sparse/0/points3D.bin");
            folder.write(place, ply);
            const Capture capture = load(folder.path());
            EXPECT_EQ(capture.points.size(), 2u) << place;
            EXPECT_FALSE(capture.points_are_random);
            EXPECT_THAT(notes_of(capture), HasSubstr("points are from"));
        }
}

TEST(Places, NamesFromOtherMachinesAndSystems) {
    const TempFolder folder;
    for (const char* name : {"images/a b.png", "images/Cam 1/IMG_1.jpg", "images/x.png"})
        put_png(folder / name, pattern(24, 18, 3));
    using Kind = FileFinder::Kind;
    const FileFinder finder({folder.path()});
    const auto find = [&](std::string_view name) {  // files come and go below
        const auto found = FileFinder({folder.path()}).find(name, Kind::photo);
        return found.path.empty() ? found.problem : name_below(found.path, folder.path());
    };
    for (const char* name :
         {"images/a b.png", "images\\a b.png", "./images//a b.png", "Images/A B.PNG",
          "images/a b.jpg", "images/a b", "/home/me/scene/images/a b.png",
          "C:\\Users\\me\\scene\\images\\a b.png", "images/a%20b.png",
          "file:///C:/me/images/a%20b.JPG", " images/a b.png\r", "\xEF\xBB\xBFimages/a b.png",
          "\"images/a b.png\"", "images/../images/./a b.png", "old name/images/a b.png"})
        EXPECT_EQ(find(name), "images/a b.png") << name;
    EXPECT_EQ(find("D:\\data\\images\\cam 1\\img_1.JPEG"), "images/Cam 1/IMG_1.jpg");
    EXPECT_TRUE(finder.find("images/a b.png", Kind::photo).as_written);
    EXPECT_FALSE(finder.find("images/a b.jpg", Kind::photo).as_written);
    // A folder that is there and lacks the photo says that the photo is missing.
    put_png(folder / "IMG_1.jpg", pattern(24, 18, 3));
    fs::create_directories(folder / "images/Cam 2");
    put_png(folder / "images/Cam 2/other.png", pattern(24, 18, 3));
    EXPECT_EQ(find("images/Cam 2/IMG_1.jpg"), "");
    // Several files fit: none is taken.
    put_png(folder / "images/X.png", pattern(24, 18, 3));
    EXPECT_EQ(find("images/x.PNG"), "several files match this name: X.png, x.png");
    EXPECT_EQ(find("images/x.png"), "images/x.png");
    put_png(folder / "images/y.png", pattern(24, 18, 3));
    put_png(folder / "images/y.jpg", pattern(24, 18, 3));
    EXPECT_THAT(find("images/y.tif"), HasSubstr("several files match"));
    EXPECT_EQ(find("images/y"), "images/y.png");
    EXPECT_EQ(find(std::string("images/y.png\0x", 14)), "");
    // No way out where names are not trusted.
    const TempFolder inner;
    put_png(inner / "in/a.png", pattern(4, 4, 3));
    put_png(inner / "out.png", pattern(4, 4, 3));
    const FileFinder inside({inner / "in"}, FileFinder::Reach::inside);
    for (const std::string& name :
         {std::string("../out.png"), (inner / "out.png").string(), std::string("..\\out.png"),
          std::string("x/../../out.png"), std::string("%2e%2e/out.png")})
        EXPECT_TRUE(inside.find(name, Kind::photo).path.empty()) << name;
    EXPECT_FALSE(inside.find("C:\\there\\a.png", Kind::photo).path.empty());
}

TEST(Places, EveryReaderFindsPhotosMasksAndPointsSo) {
    {
        const TempFolder folder;
        ColmapFiles files{.names = {"C:\\p\\images\\a.JPG", "/mnt/p/images/b.png", "sub\\c.png"}};
        files.write(folder);
        for (const char* name : {"images/a.png", "images/b.png", "images/sub/c.png"})
            put_png(folder / name, pattern(24, 18, 3));
        Image8 mask = constant(24, 18, {255});
        mask.bytes[0] = 0;
        put_png(folder / "Masks/A.PNG", mask);
        const Capture capture = load(folder.path());
        EXPECT_THAT(names_of(capture), ElementsAre("a.png", "b.png", "sub/c.png"));
        EXPECT_FALSE(capture.views[0].mask.empty());
        EXPECT_TRUE(capture.skipped.empty()) << joined(capture.skipped);
        EXPECT_TRUE(capture.unposed.empty()) << joined(capture.unposed);
        EXPECT_THAT(notes_of(capture), HasSubstr("3 photos are not named as on this disk"));
    }
    {
        const TempFolder folder;
        put_png(folder / "images/a.png", pattern(24, 18, 3));
        put_png(folder / "masks/a.png", constant(24, 18, {0}));
        folder.write("PointCloud.ply",
                     "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float "
                     "y\nproperty float z\nend_header\n1 2 3\n");
        folder.write("transforms.json",
                     "{\"fl_x\": 30, \"ply_file_path\": \"C:\\\\me\\\\pointcloud.PLY\", "
                     "\"frames\": [{\"file_path\": \"C:\\\\me\\\\images\\\\A.jpg\", "
                     "\"mask_path\": \"/me/masks/A.png\", \"transform_matrix\": " +
                         matrix_at(0, 4) + "}]}");
        const Capture capture = load(folder.path());
        EXPECT_THAT(names_of(capture), ElementsAre("a.png"));
        EXPECT_EQ(capture.points.size(), 1u);
        EXPECT_FALSE(capture.views.front().mask.empty());
    }
    {
        const TempFolder folder;
        put_png(folder / "photos/a.png", pattern(12, 8, 3));
        folder.write("opensfm/image_list.txt", "/elsewhere/project/photos/A.png\r\n");
        folder.write("opensfm/reconstruction.json",
                     "[{\"cameras\": {\"c\": {\"projection_type\": \"perspective\", \"width\": 12, "
                     "\"height\": 8, \"focal\": 0.8}}, \"shots\": {\"A.png\": {\"camera\": \"c\", "
                     "\"rotation\": [0, 0, 0], \"translation\": [1, 2, 3]}}}]");
        EXPECT_EQ(load(folder.path()).views.size(), 1u);
    }
    {
        const TempFolder folder;
        put_png(folder / "cam/a.png", pattern(24, 18, 3));
        const auto sample = [&](const char* name) {
            folder.write("sample.json",
                         fmt::format("{{\"cameras\": {{\"front\": {{\"image\": \"{}\", \"width\": "
                                     "24, \"height\": 18, \"K\": [[30,0,12],[0,30,9],[0,0,1]], "
                                     "\"lidar2cam\": {}}}}}}}",
                                     name, matrix_at(0, 1)));
            const auto capture = load_capture(folder.path(), no_split());
            return capture ? capture->views.size() : 0;
        };
        EXPECT_EQ(sample("cam\\\\A.jpg"), 1u);
        EXPECT_EQ(sample("/nuscenes/samples/cam/a.png"), 1u);
        put_png(folder.path().parent_path() / "gs_outside_of_capture.png", pattern(24, 18, 3));
        EXPECT_EQ(sample("../gs_outside_of_capture.png"), 0u);
        fs::remove(folder.path().parent_path() / "gs_outside_of_capture.png");
    }
}

TEST(Places, TwoNamesThatMayMeanOnePhotoAreNotGuessed) {
    const TempFolder folder;
    ColmapFiles files{.names = {"cam1/a.png", "cam2/a.png", "b.png"}};
    files.write(folder);
    put_png(folder / "images/a.png", pattern(24, 18, 3));
    put_png(folder / "images/b.png", pattern(24, 18, 3));
    const Capture capture = load(folder.path());
    EXPECT_THAT(names_of(capture), ElementsAre("b.png"));
    EXPECT_THAT(joined(capture.skipped), HasSubstr("several names match the photo a.png"));
}

TEST(Places, OnlyShrunkPhotosAreUsedWithTheirIntrinsics) {
    {
        const TempFolder folder;
        ColmapFiles files;
        files.write(folder);
        for (const std::string& name : files.names) {
            put_png(folder / "images_4" / name, pattern(6, 5, 3));
            put_png(folder / "images_2" / name, pattern(12, 9, 3));
        }
        for (const bool empty : {false, true}) {
            if (empty) fs::create_directories(folder / "images");
            const Capture capture = load(folder.path());
            ASSERT_EQ(capture.views.size(), 3u);
            EXPECT_EQ(capture.views[0].camera.width, 12);
            EXPECT_EQ(capture.views[0].camera.fx, 15);
            EXPECT_THAT(notes_of(capture), HasSubstr("images_2"));
        }
    }
    const TempFolder folder;
    put_png(folder / "images_8/a.png", pattern(24, 18, 3));
    const auto with = [&](const char* size) {
        folder.write(
            "transforms.json",
            fmt::format("{{\"fl_x\": 240, \"cx\": 90, \"cy\": 72, {}\"frames\": "
                        "[{{\"file_path\": \"images/a.png\", \"transform_matrix\": {}}}]}}",
                        size, matrix_at(0, 4)));
        return load(folder.path());
    };
    for (const char* size : {"", "\"w\": 192, \"h\": 144, "}) {
        const Capture capture = with(size);
        ASSERT_EQ(capture.views.size(), 1u);
        EXPECT_EQ(capture.views[0].camera.fx, 30) << size;
        EXPECT_EQ(capture.views[0].camera.cx, 11.25);
        EXPECT_THAT(notes_of(capture), HasSubstr("those of images_8 are used"));
    }
}

TEST(Places, PartsOfAReconstructionAreModels) {
    const TempFolder folder;
    for (const char* name : {"a.png", "b.png", "c.png"})
        put_png(folder / "images" / name, pattern(12, 8, 3));
    const auto part = [](std::initializer_list<const char*> names) {
        std::string shots;
        for (const char* name : names)
            shots += fmt::format(
                "{}\"{}\": {{\"camera\": \"c\", \"rotation\": [0, 0, 0], "
                "\"translation\": [0, 0, 1]}}",
                shots.empty() ? "" : ", ", name);
        return "{\"cameras\": {\"c\": {\"projection_type\": \"perspective\", \"width\": 12, "
               "\"height\": 8, \"focal\": 0.8}}, \"shots\": {" +
               shots + "}}";
    };
    folder.write("reconstruction.json",
                 "[" + part({"a.png"}) + ", " + part({"b.png", "c.png"}) + "]");
    CaptureOptions options = no_split();
    EXPECT_THAT(names_of(load(folder.path(), options)), ElementsAre("b.png", "c.png"));
    options.model = "0";
    const Capture first = load(folder.path(), options);
    EXPECT_THAT(names_of(first), ElementsAre("a.png"));
    EXPECT_THAT(first.models, ElementsAre("0 (1 photo)", "1 (2 photos)"));
    options.model = "2";
    EXPECT_EQ(load_capture(folder.path(), options).error().kind, ErrorKind::usage);
    const TempFolder other;
    put_png(other / "a.png", pattern(12, 8, 3));
    other.write("transforms.json",
                "{\"fl_x\": 30, \"frames\": [{\"file_path\": \"a.png\", \"transform_matrix\": " +
                    matrix_at(0, 4) + "}]}");
    EXPECT_THAT(load_capture(other.path(), options).error().text(),
                HasSubstr("has no models to choose from"));
}

}  // namespace
}  // namespace gs::test
