// Model files cut at every byte, counts that lie, numbers that are none: an error that names the
// file and the place.
#include <cmath>
#include <limits>

#include "renderer/io/captures/capture_io.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

CaptureOptions cameras_only() { return {.test_every = 0, .photos = false}; }

TEST(BadInput, ColmapBinaryCutAtEveryByte) {
    const TempFolder folder;
    const ColmapFiles files;
    files.write(folder);
    const std::pair<const char*, std::string> parts[] = {{"cameras.bin", files.cameras()},
                                                         {"images.bin", files.images()},
                                                         {"points3D.bin", files.points3d()}};
    for (const auto& [name, whole] : parts) {
        for (std::size_t cut = 0; cut < whole.size(); ++cut) {
            folder.write(fs::path("sparse/0") / name, whole.substr(0, cut));
            const auto capture = load_capture(folder.path(), cameras_only());
            ASSERT_FALSE(capture) << name << " cut at " << cut;
            EXPECT_THAT(capture.error().path, HasSubstr(name));
            EXPECT_TRUE(capture.error().byte.has_value()) << capture.error().text();
        }
        folder.write(fs::path("sparse/0") / name, whole);
    }
    EXPECT_TRUE(load_capture(folder.path(), cameras_only()));
}

TEST(BadInput, ColmapCountsThatLie) {
    const TempFolder folder;
    const ColmapFiles files;
    const std::pair<const char*, std::string> parts[] = {{"cameras.bin", files.cameras()},
                                                         {"images.bin", files.images()},
                                                         {"points3D.bin", files.points3d()}};
    for (const auto& [name, whole] : parts)
        for (const std::uint64_t count :
             {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{4}, std::uint64_t{1} << 32,
              std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
            files.write(folder);
            Packer packer;
            packer.add(count);
            folder.write(fs::path("sparse/0") / name, packer.bytes + whole.substr(8));
            const auto capture = load_capture(folder.path(), cameras_only());
            ASSERT_FALSE(capture) << name << " with count " << count;
            EXPECT_TRUE(capture.error().byte.has_value()) << capture.error().text();
        }
    // The count of key points inside an image.
    std::string images = files.images();
    for (std::size_t i = 0; i < 8; ++i) images[8 + 4 + 56 + 4 + 6 + i] = '\xFF';
    files.write(folder);
    folder.write("sparse/0/images.bin", images);
    EXPECT_FALSE(load_capture(folder.path(), cameras_only()));
}

TEST(BadInput, ColmapTextCutAndBroken) {
    const TempFolder folder;
    const std::string cameras = "1 PINHOLE 24 18 30 31 11 10\n",
                      images = "1 1 0 0 0 0 0 2 1 a.png\n1 2 -1\n";
    const auto load = [&](const std::string& c, const std::string& i, const std::string& p) {
        folder.write("sparse/0/cameras.txt", c);
        folder.write("sparse/0/images.txt", i);
        folder.write("sparse/0/points3D.txt", p);
        return load_capture(folder.path(), cameras_only());
    };
    ASSERT_TRUE(load(cameras, images, "")) << load(cameras, images, "").error().text();
    for (const char* bad : {"1 PINHOLE 24 18 30 31 11", "x PINHOLE 24 18 30 31 11 10", "1 PINHOL",
                            "1 PINHOLE 24 18 30 31 11 ten"}) {
        const auto capture = load(std::string("# note\n") + bad, images, "");
        ASSERT_FALSE(capture) << bad;
        EXPECT_EQ(capture.error().line.value_or(0), 2u);
    }
    for (const char* bad : {"1 1 0 0 0 0 0 2 1", "1 1 0 0", "1 1 0 0 0 0 0 2 1 a.png\n1 2 -1 3"})
        EXPECT_FALSE(load(cameras, bad, "")) << bad;
    for (const char* bad : {"1 0 0 3 9 8", "1 0 0 3 9 8 x 0.5", "1 0 0 z 9 8 7 0.5"})
        EXPECT_FALSE(load(cameras, images, bad)) << bad;
    // Cut anywhere: an error or what is left, never a crash.
    for (std::size_t cut = 0; cut < images.size(); ++cut)
        static_cast<void>(load(cameras, images.substr(0, cut), ""));
}

TEST(BadInput, PosesThatAreNoNumbersAreSkipped) {
    const TempFolder folder;
    ColmapFiles files{.rotation = {kNan, 0, 0, 0}};
    files.write(folder);
    const auto none = load_capture(folder.path(), cameras_only());
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().text(), HasSubstr("a.png: its rotation"));

    files.rotation = {1, 0, 0, 0};
    std::string images = files.images();
    const std::size_t second = 8 + (images.size() - 8) / 3;
    std::memcpy(images.data() + second + 4 + 32, &kNan, sizeof kNan);
    files.write(folder);
    folder.write("sparse/0/images.bin", images);
    const auto capture = required(load_capture(folder.path(), cameras_only()));
    EXPECT_EQ(capture.views.size(), 2u);
    ASSERT_EQ(capture.skipped.size(), 1u);
    EXPECT_THAT(capture.skipped[0], HasSubstr("b.png: its position"));
}

TEST(BadInput, CamerasThatCannotBe) {
    for (const auto& [width, f] : {std::pair<std::uint64_t, double>{0, 30},
                                   {1ull << 40, 30},
                                   {24, 0},
                                   {24, -3},
                                   {24, kNan},
                                   {24, INFINITY}}) {
        const TempFolder folder;
        ColmapFiles files{.width = width};
        files.params[0] = f;
        files.write(folder);
        const auto capture = load_capture(folder.path(), cameras_only());
        ASSERT_FALSE(capture) << width << " " << f;
        EXPECT_THAT(capture.error().text(), HasSubstr("no view is left"));
    }
    const TempFolder folder;
    ColmapFiles files{.model = 99};
    files.write(folder);
    EXPECT_THAT(load_capture(folder.path(), cameras_only()).error().text(),
                HasSubstr("unknown model number 99"));
}

TEST(BadInput, PointsMissingOrNoNumbers) {
    const TempFolder folder;
    const ColmapFiles files;
    files.write(folder);
    std::string points = files.points3d();
    std::memcpy(points.data() + 8 + 8, &kNan, sizeof kNan);
    folder.write("sparse/0/points3D.bin", points);
    EXPECT_EQ(load_capture(folder.path(), cameras_only())->points.size(), files.points - 1);
    fs::remove(folder / "sparse/0/points3D.bin");
    const auto capture = required(load_capture(folder.path(), cameras_only()));
    EXPECT_TRUE(capture.points_are_random);
    for (const SparsePoint& p : capture.points)
        ASSERT_TRUE(std::isfinite(p.position.x + p.position.y + p.position.z));
}

TEST(BadInput, NoCaptureThere) {
    const TempFolder folder;
    EXPECT_FALSE(find_capture(folder.path()).certain);
    EXPECT_EQ(load_capture(folder.path(), {}).error().kind, ErrorKind::not_found);
    EXPECT_EQ(load_capture(folder / "absent", {}).error().kind, ErrorKind::not_found);
    EXPECT_EQ(forecast_capture(find_capture(folder / "absent"), {}).error().kind,
              ErrorKind::not_found);
    fs::create_directories(folder / "sparse/0/cameras.bin");
    fs::create_directories(folder / "sparse/0/images.bin");
    EXPECT_EQ(load_capture(folder.path(), {}).error().kind, ErrorKind::unreadable);
}

}  // namespace
}  // namespace gs::test
