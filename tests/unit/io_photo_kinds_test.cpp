// Photos as cameras, phones and programs store them: turned by EXIF, in inks, WebP, TIFF.
#include "renderer/io/captures/capture_io.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"
#include "tests/unit/io_photos_made.h"

namespace gs::test {
namespace {

TEST(PhotoKinds, ExifTurnsAPictureAsItsNumberSays) {
    const Image8 stored{3, 2, 1, {1, 2, 3, 4, 5, 6}};
    const std::pair<int, std::vector<std::uint8_t>> upright[] = {
        {1, {1, 2, 3, 4, 5, 6}}, {2, {3, 2, 1, 6, 5, 4}}, {3, {6, 5, 4, 3, 2, 1}},
        {4, {4, 5, 6, 1, 2, 3}}, {5, {1, 4, 2, 5, 3, 6}}, {6, {4, 1, 5, 2, 6, 3}},
        {7, {6, 3, 5, 2, 4, 1}}, {8, {3, 6, 2, 5, 1, 4}}};
    for (const auto& [orientation, pixels] : upright) {
        const Image8 out = turned(stored, orientation);
        EXPECT_EQ(out.bytes, pixels) << orientation;
        EXPECT_EQ(out.width, orientation >= 5 ? 2 : 3);
    }
}

TEST(PhotoKinds, OrientationIsReadFromEveryFormat) {
    const TempFolder folder;
    TiffMade tiff;
    tiff.width = 24, tiff.height = 18, tiff.orientation = 6;
    tiff.at = [](int x, int y, int s) { return (x + y + s) & 255; };
    std::string png;
    {
        put_png(folder / "p.png", pattern(24, 18, 3));
        png = *read_text_file(folder / "p.png");
        const std::string exif = exif_bytes(6);
        png.insert(33, std::string("\0\0\0", 3) + static_cast<char>(exif.size()) + "eXIf" + exif +
                           std::string(4, '\0'));  // its checksum is not looked at
    }
    TiffMade huge = tiff;
    huge.huge = true;
    TiffMade huge_big = huge;
    huge_big.big = true;
    constexpr std::size_t kLate = (16 << 20) + 1;
    for (const auto& [name, bytes] :
         {std::pair("jpeg", jpeg_bytes(pattern(24, 18, 3), 6)),
          std::pair("webp", webp_bytes(pattern(24, 18, 3), 6)),
          std::pair("late webp", webp_bytes(pattern(24, 18, 3), 6, kLate)),
          std::pair("tiff", tiff_bytes(tiff)), std::pair("BigTIFF", tiff_bytes(huge)),
          std::pair("BigTIFF, big-endian", tiff_bytes(huge_big)), std::pair("png", png)}) {
        folder.write("p", bytes);
        const auto size = probe_image(folder / "p");
        ASSERT_TRUE(size) << name << size.error().text();
        EXPECT_EQ(size->orientation, 6) << name;
        EXPECT_EQ(size->width, 24) << name;
        ImageSize read;
        ASSERT_TRUE(read_image(folder / "p", &read)) << name;
        EXPECT_EQ(read.orientation, 6) << name;
        EXPECT_EQ(read.height, 18) << name;
    }
    folder.write("p", jpeg_bytes(pattern(24, 18, 3), 9));
    EXPECT_EQ(probe_image(folder / "p")->orientation, 1);
}

/// a.jpg is stored lying down with EXIF's `orientation`; its camera is of width x height.
Capture lying_photo(const TempFolder& folder, int width, int height, int orientation) {
    ColmapFiles files{.width = static_cast<std::uint64_t>(width),
                      .height = static_cast<std::uint64_t>(height),
                      .names = {"a.jpg"}};
    files.write(folder);
    Image8 photo = constant(24, 18, {200, 40, 40});
    for (std::size_t i = 0; i < 24 * 9; ++i) photo.bytes[3 * i + 1] = 200;  // its upper half
    folder.write("images/a.jpg", jpeg_bytes(photo, orientation));
    Image8 mask = constant(24, 18, {255});
    mask.bytes[0] = 0;
    put_png(folder / "masks/a.png", mask);
    auto capture = load_capture(folder.path(), no_split());
    EXPECT_TRUE(capture) << capture.error().text();
    CaptureOptions without = no_split();
    without.photos = false;
    const auto cameras = load_capture(folder.path(), without);
    EXPECT_TRUE(cameras) << cameras.error().text();
    if (!capture || !cameras) return {};
    EXPECT_EQ(texts_of(cameras->notes), texts_of(capture->notes));
    EXPECT_EQ(cameras->views[0].camera.width, capture->views[0].camera.width);
    return std::move(*capture);
}

TEST(PhotoKinds, PhotosAreTurnedWhereOnlyThatFitsTheirCamera) {
    {
        const TempFolder folder;
        const Capture capture = lying_photo(folder, 18, 24, 6);
        const View& view = capture.views.at(0);
        EXPECT_EQ(view.photo.width, 18);
        EXPECT_EQ(view.camera.width, 18);
        EXPECT_EQ(view.camera.fx, 30);
        // A quarter turn clockwise: what was up is at the right.
        EXPECT_NEAR(view.photo.at(17, 12)[1], 200, 9);
        EXPECT_NEAR(view.photo.at(0, 12)[1], 40, 9);
        // The mask, made of the stored picture, is turned with it.
        ASSERT_FALSE(view.mask.empty());
        EXPECT_EQ(*view.mask.at(17, 0), 0);
        EXPECT_THAT(joined(texts_of(capture.notes)),
                    HasSubstr("1 photos are rotated by their EXIF orientation"));
    }
    {
        const TempFolder folder;
        const Capture capture = lying_photo(folder, 24, 18, 6);
        EXPECT_EQ(capture.views.at(0).photo.width, 24);
        EXPECT_NEAR(capture.views[0].photo.at(0, 0)[1], 200, 9);
        EXPECT_THAT(joined(texts_of(capture.notes)), HasSubstr("not rotated"));
    }
    {
        const TempFolder folder;
        EXPECT_THAT(joined(texts_of(lying_photo(folder, 24, 18, 3).notes)),
                    HasSubstr("not rotated"));
    }
    {
        const TempFolder folder;
        EXPECT_EQ(joined(texts_of(lying_photo(folder, 24, 18, 0).notes)), "1 views have a mask\n");
    }
    GS_NEED_DATA("bugs/c13_exif_turned");
    const auto real = required(load_capture(data_path("bugs/c13_exif_turned"), no_split()));
    EXPECT_EQ(real.views.size(), 8u);
    EXPECT_EQ(real.views[0].photo.width, 48);
    EXPECT_EQ(forecast_capture(find_capture(data_path("bugs/c13_exif_turned")), no_split())->photos,
              8u);
}

TEST(PhotoKinds, WebpIsReadWithAndWithoutAlpha) {
    const TempFolder folder;
    for (const int channels : {3, 4}) {
        const Image8 image = pattern(37, 21, channels);
        folder.write("p.jpg", webp_bytes(image));
        const auto size = required(probe_image(folder / "p.jpg"));
        EXPECT_EQ(size.channels, channels);
        const auto read = required(read_image(folder / "p.jpg"));
        for (std::size_t i = 0; i < image.pixels(); ++i)  // colours under no alpha do not count
            for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c)
                if (channels == 3 || image.bytes[4 * i + 3] > 0) {
                    const std::size_t at = static_cast<std::size_t>(channels) * i + c;
                    ASSERT_EQ(read.bytes[at], image.bytes[at]);
                }
    }
    const std::string whole = webp_bytes(pattern(37, 21, 3));
    for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
        folder.write("p", whole.substr(0, cut));
        EXPECT_FALSE(read_image(folder / "p")) << cut;
    }
}

TEST(PhotoKinds, InksBecomeLight) {
    const TempFolder folder;
    folder.write("p.jpg", jpeg_bytes(constant(16, 16, {200, 100, 50, 255})));
    EXPECT_EQ(probe_image(folder / "p.jpg")->channels, 3);
    const auto bright = required(read_image(folder / "p.jpg"));
    ASSERT_EQ(bright.bytes.size(), 16u * 16 * 3);
    for (int c = 0; c < 3; ++c)
        EXPECT_NEAR(bright.at(5, 5)[c], c == 0 ? 200 : (c == 1 ? 100 : 50), 5);
    folder.write("p.jpg", jpeg_bytes(constant(16, 16, {200, 100, 50, 128})));
    const auto dark = read_image(folder / "p.jpg");
    for (int c = 0; c < 3; ++c)
        EXPECT_NEAR(dark->at(5, 5)[c], c == 0 ? 100 : (c == 1 ? 50 : 25), 5);
}

int grey_at(int x, int y, int) { return (x * 7 + y * 13) & 255; }
int colour_at(int x, int y, int s) { return (x * 7 + y * 13 + s * 40 + x * y) & 255; }
int deep_at(int x, int y, int s) { return (x * 1733 + y * 977 + s * 4001) & 65535; }

TEST(PhotoKinds, TiffOfEveryLayoutIsTheSamePicture) {
    const TempFolder folder;
    int kinds = 0;
    for (const bool big : {false, true})
        for (const int compression : {1, 5, 8, 32773})
            for (const int tile : {0, 16})
                for (const bool planes : {false, true})
                    for (const int bits : {8, 16})
                        for (const bool predicted : {false, true}) {
                            // Only these two predict.
                            if (predicted && compression != 5 && compression != 8) continue;
                            TiffMade made;
                            made.width = 37, made.height = 23, made.bits = bits;
                            made.big = big, made.compression = compression, made.tile = tile;
                            made.planes = planes, made.predicted = predicted;
                            made.at = bits == 8 ? colour_at : deep_at;
                            folder.write("p", tiff_bytes(made));
                            const auto read = read_image(folder / "p");
                            ASSERT_TRUE(read) << read.error().text() << " " << compression;
                            ASSERT_EQ(read->channels, 3);
                            for (int y = 0; y < 23; ++y)
                                for (int x = 0; x < 37; ++x)
                                    for (int s = 0; s < 3; ++s) {
                                        const int v = made.at(x, y, s);
                                        ASSERT_EQ(read->at(x, y)[s],
                                                  bits == 8 ? v : (v * 255 + 32767) / 65535)
                                            << compression << " " << tile << " " << bits;
                                    }
                            ++kinds;
                        }
    EXPECT_EQ(kinds, 96);
}

TEST(PhotoKinds, LongLzwStrips) {
    const TempFolder folder;
    TiffMade made;
    made.width = 301, made.height = 200, made.rows = 200, made.compression = 5;
    for (const auto at : {colour_at, grey_at}) {
        made.at = at;
        folder.write("p", tiff_bytes(made));
        const auto read = required(read_image(folder / "p"));
        for (int y = 0; y < 200; ++y)
            for (int x = 0; x < 301; ++x) ASSERT_EQ(read.at(x, y)[2], at(x, y, 2));
    }
}

TEST(PhotoKinds, TiffOfEveryColour) {
    const TempFolder folder;
    const auto read = [&](const TiffMade& made) {
        folder.write("p", tiff_bytes(made));
        auto image = read_image(folder / "p");
        EXPECT_TRUE(image) << image.error().text();
        const auto size = probe_image(folder / "p");
        EXPECT_TRUE(size && image && size->channels == image->channels);
        return image ? std::move(*image) : Image8{1, 1, 4, {0, 0, 0, 0}};
    };
    TiffMade made;
    made.width = 5, made.height = 4, made.samples = 1, made.photometric = 1;
    made.at = grey_at;
    EXPECT_EQ(read(made).at(2, 1)[0], 27);
    made.photometric = 0;
    EXPECT_EQ(read(made).at(2, 1)[0], 228);
    made.bits = 1;
    made.at = [](int x, int y, int) { return (x + y) & 1; };
    EXPECT_EQ(read(made).at(2, 1)[0], 0);
    EXPECT_EQ(read(made).at(2, 2)[0], 255);
    made.bits = 4, made.photometric = 3;
    made.at = [](int x, int, int) { return x; };
    for (int c = 0; c < 3; ++c)
        for (int i = 0; i < 16; ++i) made.palette.push_back(257 * (i * 10 + c));
    EXPECT_EQ(read(made).at(3, 2)[1], 31);
    made.palette.clear();
    // Alpha: straight, multiplied in, and a sample that is none.
    made.bits = 8, made.samples = 4, made.photometric = 2;
    made.at = [](int, int, int s) { return s == 3 ? 128 : 30 * (s + 1); };
    made.extra = 2;
    EXPECT_EQ(read(made).channels, 4);
    EXPECT_EQ(read(made).at(1, 1)[2], 90);
    EXPECT_EQ(read(made).at(1, 1)[3], 128);
    made.extra = 1;
    EXPECT_EQ(read(made).at(1, 1)[2], 179);
    made.extra = 0;
    EXPECT_EQ(read(made).channels, 3);
    made.samples = 2, made.photometric = 1, made.extra = 2;
    EXPECT_EQ(read(made).at(1, 1)[1], 30);
    EXPECT_EQ(read(made).at(1, 1)[3], 60);
    // Inks.
    made.samples = 4, made.photometric = 5, made.extra = 0;
    made.at = [](int, int, int s) { return s == 3 ? 0 : 50 * s; };
    EXPECT_EQ(read(made).at(1, 1)[0], 255);
    EXPECT_EQ(read(made).at(1, 1)[2], 155);
}

TEST(PhotoKinds, TiffThatIsCutOrOfAnotherKindIsAnError) {
    const TempFolder folder;
    TiffMade made;
    made.width = 9, made.height = 8, made.compression = 5;
    made.at = colour_at;
    const std::string whole = tiff_bytes(made);
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
        folder.write("p", whole.substr(0, cut));
        ASSERT_FALSE(read_image(folder / "p")) << cut;
    }
    made.compression = 7;
    folder.write("p", tiff_bytes(made));
    EXPECT_THAT(read_image(folder / "p").error().text(), HasSubstr("damaged TIFF"));
    EXPECT_TRUE(probe_image(folder / "p"));
    made.compression = 1, made.bits = 4;
    folder.write("p", tiff_bytes(made));
    EXPECT_THAT(read_image(folder / "p").error().text(), HasSubstr("an unsupported kind"));
}

}  // namespace
}  // namespace gs::test
