// COLMAP captures made for the purpose: what is read, how photos become views, how views are split.
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/captures/shrunk_capture.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

TEST(Capture, ColmapBinaryIsReadAsWritten) {
    const TempFolder folder;
    ColmapFiles files;
    files.rotation = {2, 0, 0, 2};  // a quarter turn about z, not of length 1
    files.names = {"cam1/b.png", "a.png"};
    files.write_capture(folder);
    EXPECT_TRUE(find_capture(folder.path()).certain);
    const auto capture = required(load_capture(folder.path(), no_split()));
    EXPECT_EQ(capture.format, "COLMAP binary");
    ASSERT_EQ(capture.views.size(), 2u);
    EXPECT_EQ(capture.views[0].name, "a.png");
    EXPECT_EQ(capture.views[1].name, "cam1/b.png");
    const Camera& camera = capture.views[1].camera;
    EXPECT_EQ(camera.fx, 30);
    EXPECT_EQ(camera.fy, 31);
    EXPECT_EQ(camera.cx, 11);
    EXPECT_EQ(camera.cy, 10);
    EXPECT_NEAR(camera.rotation.m[1][0], 1, 1e-12);
    EXPECT_NEAR(camera.rotation.m[0][1], -1, 1e-12);
    EXPECT_EQ(camera.translation.z, 2);
    EXPECT_EQ(capture.views[0].photo.bytes, pattern(24, 18, 3, 1).bytes);
    ASSERT_EQ(capture.points.size(), 5u);
    EXPECT_EQ(capture.points[4].position.z, 3);
    EXPECT_EQ(capture.points[4].rgb[2], 3);
    EXPECT_FALSE(capture.points_are_random);
    EXPECT_EQ(capture.reprojection_px, 0.5);
}

TEST(Capture, TheModelIsFoundInItsUsualPlaces) {
    for (const char* place : {"sparse/0", "sparse", "."}) {
        const TempFolder folder;
        ColmapFiles files;
        files.write(folder, place);
        files.write_photos(folder);
        const auto capture = load_capture(folder.path(), no_split());
        ASSERT_TRUE(capture) << place << ": " << capture.error().text();
        EXPECT_EQ(capture->views.size(), 3u);
        const auto inner = required(load_capture(folder / place, no_split()));
        EXPECT_EQ(inner.views.size(), 3u);
    }
}

TEST(Capture, TextModelWithCommentsAndBlanksInNames) {
    const TempFolder folder;
    folder.write("sparse/0/cameras.txt",
                 "# cameras\n1 SIMPLE_PINHOLE 24 18 30 11 10\n2 PINHOLE 24 18 30 31 11 10\n");
    folder.write("sparse/0/images.txt",
                 "# images\n#\n1 1 0 0 0 0 0 2 1 my photo.png\n\n2 1 0 0 0 1 0 2 2 b.png\n1.5 2.5 "
                 "-1 3 4 17");
    folder.write("sparse/0/points3D.txt", "1 0 0 3 9 8 7 0.5 1 0\r\n2 nan 0 3 9 8 7 0.5\n");
    put_png(folder / "images/my photo.png", pattern(24, 18, 3));
    put_png(folder / "images/b.png", pattern(24, 18, 3));
    const auto capture = required(load_capture(folder.path(), no_split()));
    EXPECT_EQ(capture.format, "COLMAP text");
    ASSERT_EQ(capture.views.size(), 2u);
    EXPECT_EQ(capture.views[1].name, "my photo.png");
    EXPECT_EQ(capture.views[1].camera.fy, 30);
    EXPECT_EQ(capture.points.size(), 1u);
    EXPECT_THAT(joined(texts_of(capture.notes)), HasSubstr("1 points without a finite position"));
}

TEST(Capture, PhotosWithoutAPoseAreListed) {
    const TempFolder folder;
    ColmapFiles files;
    files.write_capture(folder);
    const auto before = required(load_capture(folder.path(), no_split()));
    EXPECT_TRUE(before.unposed.empty());
    const std::string posed = fs::path(before.views[0].name).stem().string();
    const fs::path photos = folder / "images";
    put_png(photos / "lost.png", pattern(8, 8, 3));
    put_png(photos / (posed + "_depth.png"), pattern(8, 8, 3));  // belongs to a photo
    put_png(photos / (posed + "_1.png"), pattern(8, 8, 3));      // another photo
    folder.write("images/readme.txt", "not a photo");
    for (const bool decoded : {true, false}) {
        CaptureOptions options = no_split();
        options.photos = decoded;
        const auto after = required(load_capture(folder.path(), options));
        EXPECT_EQ(after.views.size(), before.views.size());
        std::vector<std::string> expected{posed + "_1.png", "lost.png"};
        std::ranges::sort(expected);
        EXPECT_EQ(after.unposed, expected);
    }
}

TEST(Capture, LensesAreResampledWhereAskedAndSaidSo) {
    const TempFolder folder;
    ColmapFiles files{.model = 4,
                      .width = 96,
                      .height = 72,
                      .params = {90, 91, 47, 37, -0.1, 0.01, 0.001, 0.002}};
    files.write_capture(folder);
    const auto capture = required(load_capture(folder.path(), pinholes()));
    EXPECT_EQ(capture.views[0].camera.model, CameraModel::pinhole);
    EXPECT_EQ(capture.views[0].camera.width, capture.views[0].photo.width);
    EXPECT_THAT(joined(texts_of(capture.notes)), HasSubstr("resampled from OPENCV to a pinhole"));
}

TEST(Capture, UnsupportedLensGivesAdvice) {
    const TempFolder folder;
    ColmapFiles files{.model = 7};
    files.params.assign(5, 0.1);
    files.write_capture(folder);
    const auto capture = load_capture(folder.path(), no_split());
    ASSERT_FALSE(capture);
    EXPECT_THAT(capture.error().text(), HasSubstr("FOV is not supported"));
    EXPECT_THAT(capture.error().text(), HasSubstr("image_undistorter"));
}

TEST(Capture, DownscaleDividesIntrinsicsExactly) {
    const TempFolder folder;
    ColmapFiles files{.width = 50, .height = 31};
    files.write_capture(folder);
    CaptureOptions options = no_split();
    options.downscale = 3;
    const auto capture = required(load_capture(folder.path(), options));
    const View& view = capture.views[0];
    EXPECT_EQ(view.camera.width, 17);
    EXPECT_EQ(view.camera.height, 10);
    EXPECT_EQ(view.camera.fx, 30.0 / 3);
    EXPECT_EQ(view.camera.cy, 10.0 / 3);
    EXPECT_EQ(view.photo.bytes, shrink(pattern(50, 31, 3, 0), 3).bytes);
    options.downscale = 1;
    options.max_side = 20;
    const auto limited = load_capture(folder.path(), options);
    ASSERT_TRUE(limited);
    EXPECT_EQ(limited->views[0].photo.width, 20);
    EXPECT_EQ(limited->views[0].camera.height, 12);
    EXPECT_NEAR(limited->views[0].camera.fx, 30.0 * 20 / 50, 1e-12);
    options.downscale = -1;
    EXPECT_EQ(load_capture(folder.path(), options).error().kind, ErrorKind::usage);
}

// As if it had been loaded in that size; what a run does not train on has no pixels.
TEST(Capture, ShrunkIsAsLoadedSmaller) {
    const TempFolder folder;
    ColmapFiles files{.width = 50, .height = 31, .names = {"a.png", "b.png", "c.png"}};
    files.write_capture(folder);
    Image8 mask = constant(50, 31, {255});
    mask.bytes[7 * 50 + 11] = 0;
    put_png(folder / "masks/b.png", mask);
    CaptureOptions options = no_split();
    const auto full = required(load_capture(folder.path(), options));
    options.downscale = 3;
    const auto loaded = required(load_capture(folder.path(), options));
    Capture split = full;
    split.views[2].test = true;
    for (const bool streamed : {false, true}) {
        Capture from = split;
        if (streamed) {
            options.downscale = 1;
            options.photo_memory = 1;
            auto stream = required(load_capture(folder.path(), options));
            ASSERT_TRUE(stream.source) << "it fits";
            from = stream;
        }
        const auto shrunk = shrunk_capture(from, 3);
        ASSERT_EQ(shrunk->views.size(), 3u);
        for (std::size_t v = 0; v < 3; ++v) {
            const View &view = shrunk->views[v], &as = loaded.views[v];
            SCOPED_TRACE(view.name);
            EXPECT_EQ(view.camera.width, as.camera.width);
            EXPECT_EQ(view.photo.width, as.photo.width);
            EXPECT_EQ(view.photo.height, as.photo.height);
            EXPECT_EQ(view.camera.fx, as.camera.fx);
            EXPECT_EQ(view.camera.cy, as.camera.cy);
            if (view.test) {
                EXPECT_TRUE(view.photo.bytes.empty());
                continue;
            }
            const LentPhoto lent = lend_photo(view);
            EXPECT_EQ(lent.photo().bytes, as.photo.bytes);
            EXPECT_EQ(lent.mask().bytes, as.mask.bytes);
            EXPECT_EQ(std::ranges::count(lent.mask().bytes, 0), v == 1 ? 1 : 0);
        }
    }
}

TEST(Capture, AutomaticDownscaleLimitsTheLongestSide) {
    const TempFolder folder;
    ColmapFiles files{.width = 4000, .height = 20, .names = {"a.png"}};
    files.write_capture(folder);
    CaptureOptions options = no_split();
    options.downscale = 0;
    const auto capture = required(load_capture(folder.path(), options));
    EXPECT_EQ(capture.views[0].camera.width, 1333);
    const auto forecast = forecast_capture(find_capture(folder.path()), options);
    ASSERT_TRUE(forecast);
    EXPECT_EQ(forecast->width, 1333);
}

TEST(Capture, PhotosOfAnotherSizeRescaleTheirCamera) {
    const TempFolder folder;
    ColmapFiles files;
    files.write(folder);
    put_png(folder / "images/a.png", pattern(48, 36, 3));
    put_png(folder / "images/b.png", pattern(24, 18, 3));
    put_png(folder / "images/c.png", pattern(30, 30, 3));
    const auto capture = required(load_capture(folder.path(), no_split()));
    ASSERT_EQ(capture.views.size(), 2u);
    EXPECT_EQ(capture.views[0].camera.fx, 60);
    EXPECT_EQ(capture.views[0].camera.cy, 20);
    EXPECT_THAT(joined(texts_of(capture.notes)), HasSubstr("intrinsics scaled"));
    ASSERT_EQ(capture.skipped.size(), 1u);
    EXPECT_THAT(capture.skipped[0], HasSubstr("c.png"));
    EXPECT_THAT(capture.skipped[0], HasSubstr("another aspect"));
}

TEST(Capture, AlphaIsCompositedOverTheBackground) {
    const TempFolder folder;
    ColmapFiles files{.names = {"a.png"}};
    files.write(folder);
    Image8 photo = constant(24, 18, {200, 100, 0, 51});  // alpha 0.2
    put_png(folder / "images/a.png", photo);
    CaptureOptions options = no_split();
    options.background = {1, 1, 1};
    const auto capture = required(load_capture(folder.path(), options));
    EXPECT_EQ(capture.views[0].photo.bytes, constant(24, 18, {244, 224, 204}).bytes);
}

TEST(Capture, MasksAreFoundByEveryUsualName) {
    for (const char* name : {"a.png", "a.png.png", "mask.png"}) {
        const TempFolder folder;
        ColmapFiles files{.names = {"a.png"}};
        files.write_capture(folder);
        Image8 mask = constant(24, 18, {1});  // anything but 0 keeps a pixel
        mask.bytes[5 * 24 + 7] = 0;
        put_png(folder / "masks" / name, mask);
        const auto capture = required(load_capture(folder.path(), no_split()));
        const Image8& loaded = capture.views[0].mask;
        ASSERT_EQ(loaded.pixels(), 24u * 18u) << name;
        EXPECT_EQ(*loaded.at(7, 5), 0);
        EXPECT_EQ(std::ranges::count(loaded.bytes, 255), 24 * 18 - 1);
        CaptureOptions options = no_split();
        options.downscale = 2;
        const auto half = load_capture(folder.path(), options);
        EXPECT_EQ(*half->views[0].mask.at(3, 2), 0);
        EXPECT_EQ(std::ranges::count(half->views[0].mask.bytes, 255), 12 * 9 - 1);
    }
}

TEST(Capture, AMaskOfTheWrongShapeIsNamedAndLeftOut) {
    const TempFolder folder;
    ColmapFiles files;
    files.write_capture(folder);
    put_png(folder / "m/b.png", constant(20, 20, {0}));
    CaptureOptions options = no_split();
    options.masks = (folder / "m").string();
    const auto capture = required(load_capture(folder.path(), options));
    EXPECT_EQ(capture.views.size(), 3u);
    EXPECT_TRUE(capture.views[1].mask.empty());
    EXPECT_THAT(joined(texts_of(capture.notes)), HasSubstr("mask not used"));
    options.masks = (folder / "nowhere").string();
    EXPECT_EQ(load_capture(folder.path(), options).error().kind, ErrorKind::not_found);
}

TEST(Capture, MasksThatDoNotCountAreSaid) {
    const TempFolder folder;
    ColmapFiles files;
    files.write_capture(folder);
    const auto notes = [&](CaptureOptions options) {
        std::string out;
        for (const bool photos : {true, false}) {
            options.photos = photos;
            const auto capture = load_capture(folder.path(), options);
            if (!capture) return capture.error().text();
            std::string masks;
            for (const CaptureNote& note : capture->notes)
                if (note.kind == CaptureNote::Kind::mask) masks += note.text + "\n";
            EXPECT_TRUE(photos || masks == out) << "without photos: " << masks;
            out = masks;
        }
        return out;
    };
    EXPECT_EQ(notes(no_split()), "");
    put_png(folder / "masks/nobody.png", constant(24, 18, {0}));
    EXPECT_EQ(notes(no_split()), "masks not used: " + (folder / "masks").string() +
                                     " holds none that is named after a photo\n");
    CaptureOptions options = no_split();
    options.masks = (folder / "empty").string();
    fs::create_directories(options.masks);
    EXPECT_THAT(notes(options), HasSubstr("empty holds none that is named after a photo"));
    // Another size of the same aspect is resampled, another aspect is not used; both are said.
    put_png(folder / "masks/a.png", constant(48, 36, {1}));
    EXPECT_EQ(notes(no_split()), "");
    EXPECT_THAT(joined(texts_of(load_capture(folder.path(), no_split())->notes)),
                HasSubstr("1 masks differ from their photo's size: resampled"));
    put_png(folder / "masks/b.png", constant(20, 20, {0}));
    EXPECT_THAT(notes(no_split()), HasSubstr("another aspect than the photo's 24 x 18"));
    if (::geteuid() == 0) return;  // who may read everything
    fs::permissions(folder / "masks", fs::perms::none);
    EXPECT_THAT(notes(no_split()), HasSubstr("cannot be read (Permission denied)"));
    fs::permissions(folder / "masks", fs::perms::owner_all);
}

TEST(Capture, TestViewsByNumberAndByName) {
    const TempFolder folder;
    ColmapFiles files;
    files.names.clear();
    for (int i = 0; i < 10; ++i) files.names.push_back(fmt::format("x/{:04}.png", 9 - i));
    files.write_capture(folder);
    CaptureOptions options{.test_every = 4};
    EXPECT_EQ(load_capture(folder.path(), options)->view_indices(true),
              (std::vector<std::size_t>{0, 4, 8}));
    options.test_views = {"0003", "x/0005.png", "x/0007"};
    EXPECT_EQ(load_capture(folder.path(), options)->view_indices(true),
              (std::vector<std::size_t>{3, 5, 7}));
    options.test_views = {"0033"};
    const auto wrong = load_capture(folder.path(), options);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().kind, ErrorKind::usage);
    EXPECT_THAT(wrong.error().text(), HasSubstr("x/0003.png"));
}

TEST(Capture, TheOnlyViewTrains) {
    const TempFolder folder;
    ColmapFiles files{.names = {"a.png"}, .points = 0};
    files.write_capture(folder);
    const auto capture = required(load_capture(folder.path(), {}));
    EXPECT_EQ(capture.view_indices(false).size(), 1u);
    EXPECT_TRUE(capture.points_are_random);
    EXPECT_FALSE(capture.points.empty());
    EXPECT_THAT(joined(texts_of(capture.notes)), HasSubstr("random"));
}

TEST(Capture, RandomPointsTakeThePlaceOfItsOwnWhereTheyAreAskedFor) {
    const TempFolder folder;
    ColmapFiles files;
    files.write_capture(folder);
    CaptureOptions options = no_split();
    options.random_points = 70;
    const auto capture = required(load_capture(folder.path(), options));
    EXPECT_TRUE(capture.points_are_random);
    EXPECT_EQ(capture.points.size(), 70u);
    EXPECT_THAT(joined(texts_of(capture.notes)), HasSubstr("the capture's points are ignored"));
}

TEST(Capture, RandomPointsDependOnTheSeedOnly) {
    const TempFolder folder;
    ColmapFiles files{.points = 0};
    files.write_capture(folder);
    CaptureOptions options;
    const auto a = load_capture(folder.path(), options), b = load_capture(folder.path(), options);
    options.seed = 1;
    options.threads = 1;
    const auto c = load_capture(folder.path(), options);
    ASSERT_TRUE(a && b && c);
    EXPECT_EQ(a->points[999].position.x, b->points[999].position.x);
    EXPECT_NE(a->points[999].position.x, c->points[999].position.x);
}

TEST(Capture, BadPhotosAreSkippedNamedAndCounted) {
    const TempFolder folder;
    ColmapFiles files{.names = {"a.png", "b.png", "c.png", "d.png"}};
    files.write_capture(folder);
    const std::string whole = *read_text_file(folder / "images/b.png");
    folder.write("images/b.png", whole.substr(0, whole.size() / 2));
    folder.write("images/c.png", "");
    fs::remove(folder / "images/d.png");
    const auto capture = required(load_capture(folder.path(), no_split()));
    EXPECT_EQ(capture.views.size(), 1u);
    ASSERT_EQ(capture.skipped.size(), 3u);
    const std::string skipped = joined(capture.skipped);
    for (const char* what : {"b.png: is a damaged PNG: the file ends too early, at byte 41 (copy",
                             "c.png: is empty", "d.png: no such photo"})
        EXPECT_THAT(skipped, HasSubstr(what));
    fs::remove_all(folder / "images");
    const auto none = load_capture(folder.path(), no_split());
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().text(), HasSubstr("no view is left"));
}

TEST(Capture, WithoutPhotosCamerasAndPointsLoad) {
    const TempFolder folder;
    ColmapFiles files;
    files.write(folder);
    CaptureOptions options = no_split();
    options.photos = false;
    const auto capture = required(load_capture(folder.path(), options));
    EXPECT_EQ(capture.views.size(), 3u);
    EXPECT_TRUE(capture.views[0].photo.empty());
    EXPECT_EQ(capture.views[0].camera.width, 24);
    // Nobody decoded a photo, but who has none is known.
    EXPECT_THAT(capture.missing,
                testing::ElementsAre("a.png: no such photo", "b.png: no such photo",
                                     "c.png: no such photo"));
    files.write_photos(folder);
    folder.write("images/b.png", "no picture");
    const auto with_photos = required(load_capture(folder.path(), options));
    EXPECT_EQ(with_photos.views.size(), 3u);
    ASSERT_EQ(with_photos.missing.size(), 1u);
    EXPECT_THAT(with_photos.missing[0], testing::StartsWith("b.png: "));
}

TEST(Capture, ProgressCountsAndCancels) {
    const TempFolder folder;
    ColmapFiles files;
    files.write_capture(folder);
    CaptureOptions options;
    std::size_t last = 0;
    std::vector<std::string> uncounted;
    options.progress = [&](std::string_view what, std::size_t done, std::size_t total) {
        if (total == 0) {
            uncounted.emplace_back(what);
            return true;
        }
        EXPECT_GE(done, last);
        EXPECT_EQ(total, 3u);
        last = done;
        return true;
    };
    ASSERT_TRUE(load_capture(folder.path(), options));
    EXPECT_EQ(last, 3u);
    EXPECT_THAT(uncounted, testing::ElementsAre("cameras and points", "colours of the points"));
    options.progress = [](std::string_view, std::size_t, std::size_t) { return false; };
    EXPECT_EQ(load_capture(folder.path(), options).error().kind, ErrorKind::cancelled);
}

TEST(Capture, ForecastMatchesWhatLoadingNeeds) {
    const TempFolder folder;
    ColmapFiles files;
    files.write_capture(folder);
    const auto forecast = required(forecast_capture(find_capture(folder.path()), no_split()));
    EXPECT_EQ(forecast.photos, 3u);
    EXPECT_EQ(forecast.photo_bytes, 3u * 24 * 18 * 3);
    EXPECT_EQ(forecast.points, 5u);
    EXPECT_GT(forecast.decode_bytes, 0u);
}

}  // namespace
}  // namespace gs::test
