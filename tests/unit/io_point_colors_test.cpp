// Colours of sparse points: of any type and range, and from the photos where there are none.
#include "renderer/io/captures/ply_points.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

using ::testing::ElementsAre;

struct ColorCase {
    const char* name;
    const char* format;  // of the file
    const char* type;
    std::array<double, 3> first, second;
};
std::ostream& operator<<(std::ostream& out, const ColorCase& c) { return out << c.name; }

void add_as(Packer& out, const std::string& type, double value) {
    if (type == "uchar")
        out.add(static_cast<std::uint8_t>(value));
    else if (type == "ushort")
        out.add(static_cast<std::uint16_t>(value));
    else if (type == "int")
        out.add(static_cast<std::int32_t>(value));
    else if (type == "double")
        out.add(value);
    else
        out.add(static_cast<float>(value));
}

std::string ply_of(const ColorCase& c, const char* red, const char* green, const char* blue) {
    Packer out;
    out.bytes = fmt::format(
        "ply\nformat {0} 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float "
        "z\nproperty {1} {2}\nproperty {1} {3}\nproperty {1} {4}\nend_header\n",
        c.format, c.type, red, green, blue);
    for (const auto& rgb : {c.first, c.second}) {
        if (std::string(c.format) == "ascii") {
            out.bytes += fmt::format("1 2 3 {} {} {}\n", rgb[0], rgb[1], rgb[2]);
            continue;
        }
        out.add(1.0f).add(2.0f).add(3.0f);
        for (const double value : rgb) add_as(out, c.type, value);
    }
    return out.bytes;
}

class PointColors : public ::testing::TestWithParam<ColorCase> {};

TEST_P(PointColors, AreReadByTypeAndRange) {
    const TempFolder folder;
    std::vector<std::string> notes;
    for (const auto& [red, green, blue] :
         {std::array{"red", "green", "blue"},
          std::array{"diffuse_red", "diffuse_green", "diffuse_blue"}, std::array{"r", "g", "b"}}) {
        const auto read =
            read_ply_points(folder.write("p.ply", ply_of(GetParam(), red, green, blue)), notes);
        ASSERT_TRUE(read) << read.error().text();
        EXPECT_TRUE(read->have_colors);
        EXPECT_THAT(read->points[0].rgb, ElementsAre(255, 51, 0));
        EXPECT_THAT(read->points[1].rgb, ElementsAre(0, 102, 153));
    }
}

constexpr const char* kBinary = "binary_little_endian";
INSTANTIATE_TEST_SUITE_P(
    Types, PointColors,
    ::testing::Values(
        ColorCase{"bytes", kBinary, "uchar", {255, 51, 0}, {0, 102, 153}},
        ColorCase{"words", kBinary, "ushort", {65535, 13107, 0}, {0, 26214, 39321}},
        ColorCase{"bytes_in_words", kBinary, "ushort", {255, 51, 0}, {0, 102, 153}},
        ColorCase{"bytes_in_ints", kBinary, "int", {255, 51, 0}, {0, 102, 153}},
        ColorCase{"fractions", kBinary, "float", {1, 0.2, 0}, {0, 0.4, 0.6}},
        ColorCase{"float_bytes", kBinary, "float", {255, 51, 0}, {0, 102, 153}},
        ColorCase{"double_fractions", kBinary, "double", {1, 0.2, 0}, {0, 0.4, 0.6}},
        ColorCase{"double_bytes", kBinary, "double", {255, 51, 0}, {0, 102, 153}},
        ColorCase{"text_fractions", "ascii", "float", {1, 0.2, 0}, {0, 0.4, 0.6}},
        ColorCase{"text_fractions_said_to_be_bytes", "ascii", "uchar", {1, 0.2, 0}, {0, 0.4, 0.6}},
        ColorCase{"text_bytes_with_fractions", "ascii", "uchar", {255, 51.2, 0}, {0, 101.8, 153}}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(PointColorsOfOneFile, DarkBytesAreNoFractions) {
    const TempFolder folder;
    std::vector<std::string> notes;
    const ColorCase dark{"", kBinary, "uchar", {1, 0, 0}, {0, 1, 1}};
    const auto read =
        read_ply_points(folder.write("p.ply", ply_of(dark, "red", "green", "blue")), notes);
    ASSERT_TRUE(read);
    EXPECT_THAT(read->points[0].rgb, ElementsAre(1, 0, 0));
}

// Averages and filters leave computed colours a little beyond the full one, which must not turn
// the rest black.
TEST(PointColorsOfOneFile, ComputedColorsOvershoot) {
    const TempFolder folder;
    for (const double full : {1.0, 255.0, 65535.0}) {
        SCOPED_TRACE(full);
        const double over = full * 1.01;
        std::vector<std::string> notes;
        const ColorCase bright{
            "", "ascii", "double", {over, 0.2 * full, -0.1}, {0.1, 0.4 * full, 0.6 * full}};
        const auto read =
            read_ply_points(folder.write("p.ply", ply_of(bright, "red", "green", "blue")), notes);
        ASSERT_TRUE(read);
        EXPECT_THAT(read->points[0].rgb, ElementsAre(255, 51, 0));
        EXPECT_THAT(read->points[1].rgb, ElementsAre(full > 1 ? 0 : 26, 102, 153));

        ColmapFiles files;
        files.write_capture(folder);
        fs::remove(folder / "sparse/0/points3D.bin");
        folder.write("sparse/0/points3D.txt",
                     fmt::format("1 0 0 3 {} {} {} 0.5\n2 0 0 4 {} {} {} 0.5\n", over, 0.2 * full,
                                 -0.1, 0.1, 0.4 * full, 0.6 * full));
        const auto capture = required(load_capture(folder.path(), no_split()));
        ASSERT_EQ(capture.points.size(), 2u);
        EXPECT_THAT(capture.points[0].rgb, ElementsAre(255, 51, 0));
        EXPECT_THAT(capture.points[1].rgb, ElementsAre(full > 1 ? 0 : 26, 102, 153));
    }
}

// One value in a hundred decides nothing either, of fractions and of whole numbers.
TEST(PointColorsOfOneFile, AFewValuesFarOutAreIgnored) {
    const TempFolder folder;
    std::vector<std::string> notes;
    for (const auto& [one, most] : {std::pair{"9e9 0.2 0", "1 0.2 0"}, {"700 51 0", "255 51 0"}}) {
        std::string text =
            "ply\nformat ascii 1.0\nelement vertex 100\nproperty float x\nproperty float y\n"
            "property float z\nproperty float red\nproperty float green\nproperty float blue\n"
            "end_header\n";
        for (int i = 0; i < 100; ++i) text += fmt::format("0 0 1 {}\n", i == 7 ? one : most);
        const auto read = read_ply_points(folder.write("p.ply", text), notes);
        ASSERT_TRUE(read);
        for (const std::size_t row : {3, 7})
            EXPECT_THAT(read->points[row].rgb, ElementsAre(255, 51, 0));
    }
}

// As programs write points that have no colours.
void write_black(const ColmapFiles& files, const TempFolder& folder) {
    files.write(folder);
    std::string points = files.points3d();
    constexpr std::size_t kRecord = 59, kColor = 8 + 32;
    for (std::size_t i = 0; i < files.points; ++i) points.replace(kColor + kRecord * i, 3, 3, '\0');
    folder.write("sparse/0/points3D.bin", points);
}

// Three photos, each of one colour; every point is in front of all.
TEST(PointColorsFromPhotos, WhereThereAreNone) {
    const TempFolder folder;
    ColmapFiles files{.names = {"a.png", "b.png", "c.png"}};
    write_black(files, folder);
    for (std::size_t i = 0; i < 3; ++i)
        put_png(folder / "images" / files.names[i],
                constant(24, 18, {static_cast<std::uint8_t>(60 * (i + 1)), 9, 200}));
    const auto capture = required(load_capture(folder.path(), no_split()));
    ASSERT_EQ(capture.points.size(), 5u);
    std::size_t colored = 0;
    for (const SparsePoint& p : capture.points) colored += p.rgb[1] == 9 && p.rgb[2] == 200 ? 1 : 0;
    EXPECT_EQ(colored, 5u);
    EXPECT_THAT(joined(texts_of(capture.notes)), HasSubstr("points have no colours"));

    // Cameras alone: nothing is decoded for it.
    CaptureOptions cameras = no_split();
    cameras.photos = false;
    const auto unread = load_capture(folder.path(), cameras);
    ASSERT_TRUE(unread);
    EXPECT_THAT(unread->points[0].rgb, ElementsAre(0, 0, 0));

    // A colour that is none of grey is one that somebody gave.
    files.write(folder);
    const auto own = load_capture(folder.path(), no_split());
    ASSERT_TRUE(own);
    EXPECT_THAT(own->points[0].rgb, ElementsAre(1, 2, 3));
}

TEST(PointColorsFromPhotos, NotFromTestPhotosNorMaskedPixels) {
    const TempFolder folder;
    ColmapFiles files;
    write_black(files, folder);
    for (std::size_t i = 0; i < 3; ++i)
        put_png(folder / "images" / files.names[i],
                constant(24, 18, {static_cast<std::uint8_t>(60 * (i + 1)), 9, 200}));
    put_png(folder / "masks/b.png", constant(24, 18, {0}));
    CaptureOptions options = no_split();
    options.test_views = {"a.png"};
    const auto capture = required(load_capture(folder.path(), options));
    for (const SparsePoint& p : capture.points) EXPECT_THAT(p.rgb, ElementsAre(180, 9, 200));
}

}  // namespace
}  // namespace gs::test
