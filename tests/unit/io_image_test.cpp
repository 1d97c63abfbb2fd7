#include <png.h>
#include <turbojpeg.h>

#include <cmath>

#include "renderer/io/images/image_io.h"
#include "tests/support/npz.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

std::string encode_jpeg(const Image8& image, int quality) {
    tjhandle encoder = tjInitCompress();
    unsigned char* out = nullptr;
    unsigned long size = 0;
    const int format = image.channels == 1 ? TJPF_GRAY : TJPF_RGB;
    const int sampling = image.channels == 1 ? TJSAMP_GRAY : TJSAMP_444;
    EXPECT_EQ(tjCompress2(encoder, image.bytes.data(), image.width, 0, image.height, format, &out,
                          &size, sampling, quality, 0),
              0);
    std::string bytes(reinterpret_cast<char*>(out), size);
    tjFree(out);
    tjDestroy(encoder);
    return bytes;
}

// Writes rows of raw samples with any of PNG's pixel formats.
void write_raw_png(const fs::path& path, int width, int height, int depth, int colour,
                   const std::vector<std::vector<png_byte>>& rows,
                   const std::vector<png_color>& palette = {},
                   const std::vector<png_byte>& transparency = {}) {
    FILE* file = std::fopen(path.c_str(), "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png_create_info_struct(png);
    png_init_io(png, file);
    png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
                 depth, colour, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (!palette.empty()) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
    if (!transparency.empty())
        png_set_tRNS(png, info, transparency.data(), static_cast<int>(transparency.size()),
                     nullptr);
    png_write_info(png, info);
    for (const auto& row : rows) png_write_row(png, row.data());
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    std::fclose(file);
}

TEST(Images, PngComesBackExactly) {
    const TempFolder folder;
    for (const int channels : {1, 3, 4}) {
        const Image8 image = pattern(37, 21, channels);
        ASSERT_TRUE(write_png(folder / "p.png", image));
        const auto size = required(probe_image(folder / "p.png"));
        EXPECT_EQ(size.width, 37);
        EXPECT_EQ(size.height, 21);
        EXPECT_EQ(size.channels, channels);
        const auto read = required(read_image(folder / "p.png"));
        EXPECT_EQ(read.channels, channels);
        EXPECT_EQ(read.bytes, image.bytes);
    }
}

TEST(Images, OtherPngKindsBecomeEightBit) {
    const TempFolder folder;
    write_raw_png(folder / "rgb16.png", 2, 1, 16, PNG_COLOR_TYPE_RGB,
                  {{0x00, 0x80, 0xFF, 0xFF, 0x12, 0x34, 0, 0, 0x80, 0x80, 0x01, 0x00}});
    const auto rgb = required(read_image(folder / "rgb16.png"));
    // 16 bits scaled by 255 / 65535 and rounded.
    EXPECT_EQ(rgb.bytes, (std::vector<std::uint8_t>{0, 255, 18, 0, 128, 1}));

    write_raw_png(folder / "palette.png", 3, 1, 8, PNG_COLOR_TYPE_PALETTE, {{2, 0, 1}},
                  {{10, 20, 30}, {40, 50, 60}, {70, 80, 90}});
    const auto palette = required(read_image(folder / "palette.png"));
    EXPECT_EQ(palette.channels, 3);
    EXPECT_EQ(palette.bytes, (std::vector<std::uint8_t>{70, 80, 90, 10, 20, 30, 40, 50, 60}));

    write_raw_png(folder / "clear.png", 2, 1, 8, PNG_COLOR_TYPE_PALETTE, {{1, 0}},
                  {{10, 20, 30}, {40, 50, 60}}, {0});
    const auto clear = required(read_image(folder / "clear.png"));
    EXPECT_EQ(clear.bytes, (std::vector<std::uint8_t>{40, 50, 60, 255, 10, 20, 30, 0}));

    write_raw_png(folder / "gray1.png", 8, 1, 1, PNG_COLOR_TYPE_GRAY, {{0b10100001}});
    const auto gray = required(read_image(folder / "gray1.png"));
    EXPECT_EQ(gray.bytes, (std::vector<std::uint8_t>{255, 0, 255, 0, 0, 0, 0, 255}));

    write_raw_png(folder / "ga.png", 1, 1, 8, PNG_COLOR_TYPE_GRAY_ALPHA, {{9, 200}});
    const auto gray_alpha = required(read_image(folder / "ga.png"));
    EXPECT_EQ(gray_alpha.bytes, (std::vector<std::uint8_t>{9, 9, 9, 200}));
}

TEST(Images, JpegIsDecodedByContentNotByName) {
    const TempFolder folder;
    const Image8 image = constant(40, 24, {200, 100, 50});
    folder.write("photo.png", encode_jpeg(image, 95));
    const auto read = required(read_image(folder / "photo.png"));
    ASSERT_EQ(read.bytes.size(), image.bytes.size());
    for (std::size_t i = 0; i < image.bytes.size(); ++i)
        ASSERT_NEAR(read.bytes[i], image.bytes[i], 3);
    folder.write("gray.jpg", encode_jpeg(pattern(16, 16, 1), 90));
    EXPECT_EQ(read_image(folder / "gray.jpg")->channels, 1);
    EXPECT_EQ(probe_image(folder / "gray.jpg")->channels, 1);
}

TEST(Images, CutAnywhereIsAnError) {
    const TempFolder folder;
    put_png(folder / "whole.png", pattern(40, 30, 3));
    const std::string jpeg = encode_jpeg(pattern(40, 30, 3), 90),
                      png = *read_text_file(folder / "whole.png");
    for (const std::string& whole : {jpeg, png})
        for (std::size_t cut = 0; cut < whole.size(); cut += 1 + whole.size() / 97) {
            folder.write("cut", whole.substr(0, cut));
            const auto read = read_image(folder / "cut");
            ASSERT_FALSE(read) << "cut at " << cut << " of " << whole.size();
            EXPECT_NE(read.error().text().find("cut"), std::string::npos);
        }
}

TEST(Images, SizesThatLieAllocateNothing) {
    const TempFolder folder;
    std::string jpeg = encode_jpeg(pattern(16, 16, 3), 90);
    const auto frame = jpeg.find("\xFF\xC0");
    ASSERT_NE(frame, std::string::npos);
    for (const std::size_t at : {5, 6, 7, 8}) jpeg[frame + at] = '\x7F';
    folder.write("lie.jpg", jpeg);
    const auto read = read_image(folder / "lie.jpg");
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("claims 32639 x 32639"), std::string::npos)
        << read.error().text();
}

TEST(Images, WhatIsNoPictureSaysSo) {
    const TempFolder folder;
    folder.write("text.jpg", "no picture at all");
    folder.write("empty.png", "");
    EXPECT_EQ(read_image(folder / "text.jpg").error().kind, ErrorKind::unsupported);
    EXPECT_EQ(read_image(folder / "empty.png").error().kind, ErrorKind::malformed);
    EXPECT_EQ(probe_image(folder / "empty.png").error().kind, ErrorKind::malformed);
    EXPECT_EQ(read_image(folder / "absent.png").error().kind, ErrorKind::not_found);
    EXPECT_EQ(probe_image(folder.path()).error().kind, ErrorKind::unreadable);
    EXPECT_EQ(write_png(folder / "no/such/folder.png", pattern(2, 2, 3)).error().kind,
              ErrorKind::unwritable);
}

TEST(Images, ShrinkAveragesExactBlocks) {
    const Image8 image = pattern(11, 8, 3);
    const Image8 small = shrink(image, 3);
    ASSERT_EQ(small.width, 4);   // 11 / 3 = 3.67: the last block has two columns
    ASSERT_EQ(small.height, 3);  // 8 / 3 = 2.67
    for (int y = 0; y < small.height; ++y)
        for (int x = 0; x < small.width; ++x)
            for (int c = 0; c < 3; ++c) {
                double sum = 0, n = 0;
                for (int sy = 3 * y; sy < std::min(3 * y + 3, 8); ++sy)
                    for (int sx = 3 * x; sx < std::min(3 * x + 3, 11); ++sx, ++n)
                        sum += image.at(sx, sy)[c];
                EXPECT_EQ(small.at(x, y)[c], std::lround(sum / n));
            }
    EXPECT_EQ(shrink(pattern(10, 10, 1), 3).width, 3);  // 3.33: one column is left out
    EXPECT_EQ(shrink(image, 1).bytes, image.bytes);
    EXPECT_EQ(shrink(pattern(3, 3, 1), 100).width, 1);
}

TEST(Images, ResizeAreaKeepsTheMean) {
    const Image8 flat = constant(53, 31, {17, 99, 255});
    const Image8 resized = resize_area(flat, 20, 7);
    EXPECT_EQ(resized.bytes, constant(20, 7, {17, 99, 255}).bytes);
    const Image8 image = pattern(48, 36, 1);
    EXPECT_EQ(resize_area(image, 16, 12).bytes, shrink(image, 3).bytes);
    double before = 0, after = 0;
    const Image8 odd = resize_area(image, 35, 29);
    for (const auto v : image.bytes) before += v;
    for (const auto v : odd.bytes) after += v;
    EXPECT_NEAR(before / image.bytes.size(), after / odd.bytes.size(), 0.6);
}

TEST(Images, FloatAndBack) {
    const Image8 image = pattern(64, 4, 3);
    EXPECT_EQ(to_bytes(to_float(image)).bytes, image.bytes);
    ImageF odd(4, 1, 1);
    odd.values[0] = -1;
    odd.values[1] = 7;
    odd.values[2] = std::nanf("");
    odd.values[3] = 0.5f;
    EXPECT_EQ(to_bytes(odd).bytes, (std::vector<std::uint8_t>{0, 255, 0, 128}));
}

TEST(Images, NpyIsWhatNumpyReads) {
    const TempFolder folder;
    ImageF image(3, 2, 2);
    for (std::size_t i = 0; i < image.values.size(); ++i)
        image.values[i] = 0.5f * static_cast<float>(i);
    ASSERT_TRUE(write_npy(folder / "x.npy", image));
    const Array array = load_npy(folder / "x.npy");
    EXPECT_EQ(array.shape, (std::vector<std::size_t>{2, 3, 2}));
    for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 3; ++x)
            for (int c = 0; c < 2; ++c)
                EXPECT_EQ(array[static_cast<std::size_t>((y * 3 + x) * 2 + c)], image.at(c, x, y));
    ASSERT_TRUE(write_npy(folder / "y.npy", ImageF(5, 4, 1)));
    EXPECT_EQ(load_npy(folder / "y.npy").shape, (std::vector<std::size_t>{4, 5}));
}

}  // namespace
}  // namespace gs::test
