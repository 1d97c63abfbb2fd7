// A seeded mutator over every parser: small inputs, real and made, with bytes flipped, numbers
// replaced, pieces cut, doubled and moved. Whatever comes out, nothing crashes, hangs or allocates
// without measure; run under ASan and UBSan by ./check.
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/splats/splat_io.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"
#include "tests/unit/io_mutator.h"
#include "tests/unit/io_photos_made.h"

namespace gs::test {
namespace {

CaptureOptions small_options() { return {.threads = 1}; }

/// COLMAP's lens models that are read, with numbers of a usual lens.
std::vector<double> params_of(int lens) {
    switch (lens) {
        case 0:
            return {30, 11, 10};
        case 2:
        case 8:
            return {30, 11, 10, 0.02};
        case 3:
        case 9:
            return {30, 11, 10, 0.02, 0.01};
        case 4:
        case 5:
            return {30, 31, 11, 10, 0.02, 0.01, 0.001, 0.001};
        case 6:
            return {30, 31, 11, 10, 0.02, 0.01, 0.001, 0.001, 0.003, 0.02, 0.01, 0.002};
        case 10:
            return {30, 31, 11, 10, 0.02, 0.01, 0.001, 0.001, 0.003, 0.002, 0.001, 0.001};
        default:
            return {30, 31, 11, 10};
    }
}
constexpr int kColmapLenses[] = {0, 1, 2, 3, 4, 5, 6, 8, 9, 10};

void hammer_colmap(const char* file, const std::string& whole, std::uint64_t rounds, int lens = 1) {
    const TempFolder folder;
    ColmapFiles files{.model = lens, .params = params_of(lens)};
    files.write_capture(folder);
    hammer(whole, rounds, [&](const std::string& bytes) {
        folder.write(fs::path("sparse/0") / file, bytes);
        const auto capture = load_capture(folder.path(), small_options());
        if (!capture) {
            EXPECT_FALSE(capture.error().message.empty());
            return false;
        }
        for (const View& view : capture->views)
            EXPECT_EQ(view.photo.bytes.size(), view.photo.pixels() * 3);
        return true;
    });
}

TEST(Fuzz, ColmapCameras) { hammer_colmap("cameras.bin", ColmapFiles{}.cameras(), 1000); }
TEST(Fuzz, ColmapImages) { hammer_colmap("images.bin", ColmapFiles{}.images(), 1000); }
TEST(Fuzz, ColmapPoints) { hammer_colmap("points3D.bin", ColmapFiles{}.points3d(), 1000); }
TEST(Fuzz, ColmapLenses) {
    for (const int lens : kColmapLenses) {
        ColmapFiles files{.model = lens, .params = params_of(lens)};
        {  // it is read as it is: what is hammered is no file that is refused anyway
            const TempFolder folder;
            files.write_capture(folder);
            const auto capture = load_capture(folder.path(), small_options());
            ASSERT_TRUE(capture) << lens << ": " << capture.error().text();
            EXPECT_GT(capture->views.size(), 0u) << lens;
        }
        hammer_colmap("cameras.bin", files.cameras(), 150, lens);
    }
}

TEST(Fuzz, ColmapText) {
    const TempFolder folder;
    const std::string cameras = "# c\n1 PINHOLE 24 18 30 31 11 10\n",
                      images = "1 1 0 0 0 0 0 2 1 a.png\n1 2 -1\n",
                      points = "1 0 0 3 9 8 7 0.5 1 0\n2 1 0 3 9 8 7 0.5 1 0\n";
    ColmapFiles{}.write_photos(folder);
    const std::pair<const char*, std::string> parts[] = {
        {"cameras.txt", cameras}, {"images.txt", images}, {"points3D.txt", points}};
    for (const auto& [name, whole] : parts) {
        for (const auto& [other, content] : parts)
            folder.write(fs::path("sparse/0") / other, content);
        hammer(whole, 600, [&](const std::string& bytes) {
            folder.write(fs::path("sparse/0") / name, bytes);
            return load_capture(folder.path(), small_options()).has_value();
        });
    }
}

TEST(Fuzz, ColmapLensesOfVersion41AndOneLineAPhoto) {
    const TempFolder folder;
    ColmapFiles{}.write_photos(folder);
    const std::string cameras =
                          "1 FISHEYE 24 18 30 31 11 10\n2 EUCM 24 18 30 31 11 10 0 1\n"
                          "3 EQUIRECTANGULAR 24 18 24 18\n4 OTHER 24 18 1\n",
                      images =
                          "1 1 0 0 0 0 0 2 1 a.png\n2 1 0 0 0 0 0 2 2 b.png\n"
                          "3 1 0 0 0 0 0 2 3 77\n4 1 0 0 0 0 0 2 4 c.png\n",
                      points = "1 0 0 3 0.5 0.25 1\n2 1 0 3 0 0.5 0.1 0.5 1 0\n";
    const std::pair<const char*, std::string> parts[] = {
        {"cameras.txt", cameras}, {"images.txt", images}, {"points3D.txt", points}};
    for (const auto& [name, whole] : parts) {
        for (const auto& [other, content] : parts)
            folder.write(fs::path("sparse/0") / other, content);
        hammer(whole, 500, [&](const std::string& bytes) {
            folder.write(fs::path("sparse/0") / name, bytes);
            return load_capture(folder.path(), small_options()).has_value();
        });
    }
    for (const int lens : {14, 17, 40}) {
        ColmapFiles files{.model = lens};
        files.params.resize(lens == 17 ? 2 : 3, 20.0);
        hammer_colmap("cameras.bin", files.cameras(), 300, lens);
    }
}

TEST(Fuzz, ListsOfTestPhotos) {
    const TempFolder folder;
    const ColmapFiles files;
    files.write_capture(folder);
    const std::pair<const char*, std::string> lists[] = {
        {"sparse/0/test.txt", "# held out\r\na.png\nimages/b\nC:\\x\\c.JPG\n"},
        {"split.json",
         "{\"train\": [\"a\", {\"file_path\": \"b.png\"}], \"x\": {\"test_ids\": [\"c\"]}, "
         "\"c.png\": \"test\"}"}};
    for (const auto& [name, whole] : lists) {
        hammer(whole, 700, [&](const std::string& bytes) {
            folder.write(name, bytes);
            const auto capture = load_capture(folder.path(), small_options());
            EXPECT_TRUE(capture || capture.error().message.find("no view") != std::string::npos);
            return capture && capture->split_is_listed;
        });
        fs::remove(folder / name);
    }
}

TEST(Fuzz, NamesOfPhotos) {
    const TempFolder folder;
    ColmapFiles files;
    files.write_photos(folder);
    for (const char* whole : {"C:\\me\\images\\a.JPG", "/mnt/x/images/%61.png", "../images/./b",
                              "file:///images/c.png"})
        hammer(whole, 500, [&](const std::string& bytes) {
            files.names = {bytes.substr(0, bytes.find('\0')), "a.png"};
            files.write(folder);
            const auto capture = load_capture(folder.path(), small_options());
            return capture && capture->views.size() == 2;
        });
}

TEST(Fuzz, TransformsJson) {
    const TempFolder folder;
    put_png(folder / "a.png", pattern(12, 8, 4));
    const std::string whole =
        "{\"camera_model\": \"OPENCV\", \"fl_x\": 50, \"k1\": 0.01, \"w\": 12, \"h\": 8, "
        "\"ply_file_path\": \"p.ply\", \"frames\": [{\"file_path\": \"a.png\", "
        "\"transform_matrix\": " +
        matrix_at(1, 2) +
        "}, {\"file_path\": \"a\", \"fl_x\": NaN, \"transform_matrix\": " + matrix_at(0, 1) + "}]}";
    hammer(whole, 2000, [&](const std::string& bytes) {
        folder.write("transforms.json", bytes);
        return load_capture(folder.path(), small_options()).has_value();
    });
}

TEST(Fuzz, TransformsLensesAndShutters) {
    const TempFolder folder;
    put_png(folder / "a.png", pattern(12, 8, 3));
    const std::string whole =
        "{\"camera_model\": \"FULL_OPENCV\", \"fl_x\": 50, \"k1\": 0.01, \"k6\": -0.02, \"s4\": "
        "0.1, \"rolling_shutter\": \"TOP_TO_BOTTOM\", \"frames\": [{\"file_path\": \"a.png\", "
        "\"timestamp\": 1.5, \"viewmat_start\": " +
        matrix_at(1, 2) +
        ", \"pose_end_tq\": [1, 0, 2.5, 0.99, 0.1, 0, 0.01], \"transform_matrix\": " +
        matrix_at(1, 2) + "}]}";
    CaptureOptions options = small_options();
    hammer(whole, 1500, [&](const std::string& bytes) {
        folder.write("transforms.json", bytes);
        const auto capture = load_capture(folder.path(), options);
        for (const View& view : capture ? capture->views : std::vector<View>())
            EXPECT_TRUE(view.camera.valid());
        return capture.has_value();
    });
}

TEST(Fuzz, OpenSfm) {
    const TempFolder folder;
    put_png(folder / "images/a.png", pattern(12, 8, 3));
    const std::string whole =
        "[{\"cameras\": {\"c\": {\"projection_type\": \"fisheye\", \"width\": 12, \"height\": 8, "
        "\"focal\": 0.8, \"k1\": 0.01, \"k2\": 0}}, \"shots\": {\"a.png\": {\"camera\": \"c\", "
        "\"rotation\": [0, 1.5, 0], \"translation\": [1, 2, 3]}}, \"points\": {\"1\": "
        "{\"coordinates\": [1, 2, 3], \"color\": [9, 8, 7]}}}]";
    CaptureOptions options = small_options();
    hammer(whole, 1500, [&](const std::string& bytes) {
        folder.write("reconstruction.json", bytes);
        return load_capture(folder.path(), options).has_value();
    });
}

TEST(Fuzz, PointsPly) {
    const TempFolder folder;
    put_png(folder / "a.png", pattern(12, 8, 3));
    folder.write("transforms.json",
                 "{\"fl_x\": 50, \"frames\": [{\"file_path\": \"a.png\", \"transform_matrix\": " +
                     matrix_at(1, 2) + "}]}");
    const std::string head =
        " 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nproperty "
        "uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n";
    for (const std::string& whole :
         {"ply\nformat ascii" + head + "1 2 3 4 5 6\n7 8 9 10 11 12\n",
          "ply\nformat binary_little_endian" + head + std::string(30, '\1')})
        hammer(whole, 1000, [&](const std::string& bytes) {
            folder.write("points3d.ply", bytes);
            return load_capture(folder.path(), small_options()).has_value();
        });
}

void hammer_splats(const std::string& whole, std::uint64_t rounds) {
    const TempFolder folder;
    hammer(whole, rounds, [&](const std::string& bytes) {
        folder.write("m.ply", bytes);
        static_cast<void>(find_splats(folder / "m.ply"));
        const auto read = read_splats(folder / "m.ply");
        return read && read->model.count <= bytes.size();
    });
}

TEST(Fuzz, SplatPly) {
    const TempFolder folder;
    ASSERT_TRUE(write_splats(folder / "m.ply", GaussianModel(20, 1)));
    hammer_splats(*read_text_file(folder / "m.ply"), 3000);
}

TEST(Fuzz, SplatPlyAscii) {
    std::string whole = "ply\nformat ascii 1.0\nelement vertex 2\n";
    for (const char* name : {"x", "y", "z", "f_dc_0", "f_dc_1", "f_dc_2", "opacity", "scale_0",
                             "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"})
        whole += std::string("property float ") + name + "\n";
    whole += "end_header\n1 2 3 .1 .2 .3 -1 -4 -4 -4 1 0 0 0\n1 2 3 .1 .2 .3 -1 -4 -4 -4 1 0 0 0\n";
    hammer_splats(whole, 3000);
}

TEST(Fuzz, RealSplatPly) {
    GS_NEED_DATA("splats/playbot/playbot_l5.ply");
    // Cut to a size that allows a mutation a millisecond. The count is corrected, or it would be
    // larger than the data.
    std::string bytes = *read_text_file(data_path("splats/playbot/playbot_l5.ply"));
    const std::size_t count = bytes.find("element vertex ") + 15;
    bytes.replace(count, bytes.find('\n', count) - count, "30");
    bytes.resize(bytes.find("end_header\n") + 11 + 30 * 38 * 4);
    hammer_splats(bytes, 400);
}

void hammer_image(const std::string& whole, std::uint64_t rounds) {
    const TempFolder folder;
    hammer(whole, rounds, [&](const std::string& bytes) {
        folder.write("p", bytes);
        static_cast<void>(probe_image(folder / "p"));
        const auto image = read_image(folder / "p");
        if (image) {
            EXPECT_EQ(image->bytes.size(),
                      image->pixels() * static_cast<std::size_t>(image->channels));
        }
        return image.has_value();
    });
}

// Right checksums for whatever chunks are there now, so that mutations reach beyond the first
// check.
std::string with_png_checksums(std::string bytes) {
    const auto number = [&](std::size_t at) {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < 4; ++i)
            value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
        return value;
    };
    for (std::size_t at = 8; at + 12 <= bytes.size();) {
        const std::size_t size = number(at);
        if (size > bytes.size() - at - 12) break;
        std::uint32_t crc = ~0u;
        for (std::size_t i = at + 4; i < at + 8 + size; ++i) {
            crc ^= static_cast<std::uint8_t>(bytes[i]);
            for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0u);
        }
        for (std::size_t i = 0; i < 4; ++i)
            bytes[at + 8 + size + i] = static_cast<char>(~crc >> (24 - 8 * i));
        at += 12 + size;
    }
    return bytes;
}

TEST(Fuzz, Png) {
    const TempFolder folder;
    for (const int channels : {1, 3, 4}) {
        put_png(folder / "p.png", pattern(23, 17, channels));
        const std::string whole = *read_text_file(folder / "p.png");
        hammer(whole, 1000, [&](const std::string& bytes) {
            folder.write("p", with_png_checksums(bytes));
            static_cast<void>(probe_image(folder / "p"));
            return read_image(folder / "p").has_value();
        });
    }
}

TEST(Fuzz, WebpExifAndInks) {
    for (const std::string& whole :
         {webp_bytes(pattern(23, 17, 3)), webp_bytes(pattern(23, 17, 4), 6, 9),
          jpeg_bytes(pattern(23, 17, 3), 6), jpeg_bytes(pattern(16, 16, 4))})
        hammer_image(whole, 700);
    hammer(exif_bytes(6), 3000, [&](const std::string& bytes) {
        const std::string jpeg = jpeg_bytes(constant(8, 8, {1, 2, 3}));
        const std::string exif = std::string("Exif\0\0", 6) + bytes;
        const std::string head{'\xFF', '\xE1', '\0', static_cast<char>(exif.size() + 2)};
        const TempFolder folder;
        folder.write("p", jpeg.substr(0, 2) + head + exif + jpeg.substr(2));
        const auto size = probe_image(folder / "p");
        EXPECT_TRUE(!size || (size->orientation >= 1 && size->orientation <= 8));
        return size && size->orientation == 6;
    });
}

TEST(Fuzz, Tiff) {
    TiffMade made;
    made.width = 19, made.height = 11;
    made.at = [](int x, int y, int s) { return (x * 7 + y * 13 + s * 40) & 255; };
    for (const int compression : {1, 5, 8, 32773})
        for (const int tile : {0, 16}) {
            made.compression = compression, made.tile = tile, made.planes = tile > 0;
            made.predicted = made.big = compression == 8;
            made.huge = compression == 5;
            hammer_image(tiff_bytes(made), 500);
        }
    made.bits = 4, made.samples = 1, made.photometric = 3, made.tile = 0;
    made.compression = 1, made.predicted = made.planes = false;
    made.palette.assign(48, 1000);
    made.at = [](int x, int, int) { return x & 15; };
    hammer_image(tiff_bytes(made), 1000);
}

TEST(Fuzz, RealJpeg) {
    GS_NEED_DATA("captures/fox_distorted/images");
    std::string smallest;
    for (const auto& entry : fs::directory_iterator(data_path("captures/fox_distorted/images"))) {
        std::string bytes = *read_text_file(entry.path());
        if (smallest.empty() || bytes.size() < smallest.size()) smallest = std::move(bytes);
    }
    hammer_image(smallest, 60);
    // Mutations of the tables and headers alone.
    const std::string head = smallest.substr(0, 700), tail = smallest.substr(700);
    const TempFolder folder;
    hammer(head, 200, [&](const std::string& bytes) {
        folder.write("p", bytes + tail);
        return read_image(folder / "p").has_value();
    });
}

TEST(Fuzz, RealColmap) {
    GS_NEED_DATA("captures/brighton_aerial/sparse/0");
    const TempFolder folder;
    const fs::path model = data_path("captures/brighton_aerial/sparse/0");
    for (const char* name : {"cameras.bin", "images.bin", "points3D.bin"})
        folder.write(fs::path("sparse/0") / name, *read_text_file(model / name));
    CaptureOptions options = small_options();
    options.photos = false;
    for (const char* name : {"images.bin", "points3D.bin"}) {
        const std::string whole = *read_text_file(model / name);
        hammer(whole, 60, [&](const std::string& bytes) {
            folder.write(fs::path("sparse/0") / name, bytes);
            return load_capture(folder.path(), options).has_value();
        });
        folder.write(fs::path("sparse/0") / name, whole);
    }
}

}  // namespace
}  // namespace gs::test
