
#include <bit>
#include <limits>

#include "base/rng.h"
#include "renderer/io/splats/splat_io.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

GaussianModel random_model(std::size_t count, int degree) {
    GaussianModel model(count, degree);
    for (int p = 0; p < model.planes(); ++p)
        for (std::size_t i = 0; i < count; ++i)
            model.at(p, i) = random_uniform(3, static_cast<std::uint64_t>(p), i) * 4 - 2;
    return model;
}

void expect_same_bits(const GaussianModel& a, const GaussianModel& b) {
    ASSERT_EQ(a.count, b.count);
    ASSERT_EQ(a.sh_degree, b.sh_degree);
    EXPECT_EQ(a.antialiased, b.antialiased);
    for (int p = 0; p < a.planes(); ++p)
        for (std::size_t i = 0; i < a.count; ++i)
            ASSERT_EQ(std::bit_cast<std::uint32_t>(a.at(p, i)),
                      std::bit_cast<std::uint32_t>(b.at(p, i)))
                << "plane " << p << " row " << i;
}

TEST(SplatPly, EveryDegreeComesBackBitForBit) {
    const TempFolder folder;
    for (int degree = 0; degree <= 3; ++degree) {
        GaussianModel model = random_model(40001, degree);  // more than one block of every kind
        model.antialiased = degree == 2;
        model.at(kMeans, 17) = std::nanf("");
        model.at(kLogScales, 18) = -std::numeric_limits<float>::infinity();
        model.at(kSh0, 19) = -0.0f;
        model.at(kSh0, 20) = 1e-42f;
        ASSERT_TRUE(write_splats(folder / "m.ply", model));
        EXPECT_TRUE(find_splats(folder / "m.ply")->by_content);
        const auto read = required(read_splats(folder / "m.ply"));
        expect_same_bits(model, read.model);
        EXPECT_THAT(joined(read.notes),
                    HasSubstr("2 Gaussians have values that are NaN or infinite"));
    }
}

TEST(SplatPly, WrittenInTheOriginalColumnOrder) {
    const TempFolder folder;
    GaussianModel model = random_model(2, 1);
    ASSERT_TRUE(write_splats(folder / "m.ply", model));
    const std::string text = *read_text_file(folder / "m.ply");
    std::string names;
    for (std::size_t at = text.find("property float "); at != std::string::npos;
         at = text.find("property float ", at + 1))
        names += text.substr(at + 15, text.find('\n', at) - at - 15) + " ";
    EXPECT_EQ(names,
              "x y z nx ny nz f_dc_0 f_dc_1 f_dc_2 f_rest_0 f_rest_1 f_rest_2 f_rest_3 f_rest_4 "
              "f_rest_5 f_rest_6 f_rest_7 f_rest_8 opacity scale_0 scale_1 scale_2 rot_0 rot_1 "
              "rot_2 rot_3 ");
    const std::size_t body = text.find("end_header\n") + 11;
    ASSERT_EQ(text.size(), body + 2 * 26 * 4);
    float row[26];
    std::memcpy(row, text.data() + body, sizeof row);
    EXPECT_EQ(row[0], model.at(kMeans, 0));
    EXPECT_EQ(row[3], 0);
    EXPECT_EQ(row[10], model.at(kShRest + 3, 0));  // red of the second basis: channel-major
    EXPECT_EQ(row[12], model.at(kShRest + 1, 0));  // green of the first
    EXPECT_EQ(row[18], model.at(kOpacityLogits, 0));
    EXPECT_EQ(row[22], model.at(kQuats, 0));
}

// One row with columns shuffled, of mixed types, in the three encodings.
struct Column {
    const char* name;
    const char* type;
    double value;
};
const std::vector<Column> kShuffled = {
    {"rot_3", "double", 0.5}, {"opacity", "float", -1.5}, {"scale_2", "short", -3},
    {"extra", "uchar", 9},    {"x", "int", -70000},       {"z", "double", 0.25},
    {"y", "char", -7},        {"rot_0", "uint8", 1},      {"rot_1", "float32", 0},
    {"rot_2", "float64", 0},  {"scale_0", "float", -4},   {"scale_1", "ushort", 2},
    {"f_dc_2", "float", 3},   {"f_dc_0", "uint", 5},      {"f_dc_1", "float", 4}};

std::string header(const std::string& format, std::size_t count, const std::string& before = "") {
    std::string out = "ply\nformat " + format + " 1.0\ncomment made by hand\nobj_info x\n" +
                      before + fmt::format("element vertex {}\n", count);
    for (const Column& c : kShuffled) out += fmt::format("property {} {}\n", c.type, c.name);
    return out + "end_header\n";
}
template <class T>
void put(std::string& out, double value, bool swap) {
    const T v = static_cast<T>(value);
    std::string raw(reinterpret_cast<const char*>(&v), sizeof v);
    if (swap) std::reverse(raw.begin(), raw.end());
    out += raw;
}
std::string row(bool big_endian) {
    std::string out;
    for (const Column& c : kShuffled) {
        const std::string type = c.type;
        if (type == "double" || type == "float64")
            put<double>(out, c.value, big_endian);
        else if (type == "float" || type == "float32")
            put<float>(out, c.value, big_endian);
        else if (type == "short")
            put<std::int16_t>(out, c.value, big_endian);
        else if (type == "ushort")
            put<std::uint16_t>(out, c.value, big_endian);
        else if (type == "int")
            put<std::int32_t>(out, c.value, big_endian);
        else if (type == "uint")
            put<std::uint32_t>(out, c.value, big_endian);
        else if (type == "char")
            put<std::int8_t>(out, c.value, big_endian);
        else
            put<std::uint8_t>(out, c.value, big_endian);
    }
    return out;
}

TEST(SplatPly, AnyOrderTypeAndEncoding) {
    const TempFolder folder;
    std::string ascii_row;
    for (const Column& c : kShuffled) ascii_row += fmt::format("{} ", c.value);
    const std::string face = "element other 1\nproperty float a\n";
    folder.write("ascii.ply", header("ascii", 2) + ascii_row + "\n" + ascii_row);
    folder.write("little.ply", header("binary_little_endian", 2) + row(false) + row(false));
    folder.write("big.ply", header("binary_big_endian", 2) + row(true) + row(true));
    folder.write("after.ply",
                 header("binary_little_endian", 2, face) + "1234" + row(false) + row(false));
    for (const char* name : {"ascii.ply", "little.ply", "big.ply", "after.ply"}) {
        SCOPED_TRACE(name);
        const auto read = required(read_splats(folder / name));
        ASSERT_EQ(read.model.count, 2u);
        EXPECT_EQ(read.model.sh_degree, 0);
        EXPECT_FALSE(read.model.antialiased);
        for (std::size_t i = 0; i < 2; ++i) {
            EXPECT_EQ(read.model.mean(i).x, -70000);
            EXPECT_EQ(read.model.mean(i).y, -7);
            EXPECT_EQ(read.model.at(kMeans + 2, i), 0.25f);
            EXPECT_EQ(read.model.at(kLogScales + 2, i), -3);
            EXPECT_EQ(read.model.at(kQuats + 3, i), 0.5f);
            EXPECT_EQ(read.model.at(kSh0 + 0, i), 5);
            EXPECT_EQ(read.model.at(kSh0 + 2, i), 3);
            EXPECT_EQ(read.model.at(kOpacityLogits, i), -1.5f);
        }
        EXPECT_THAT(joined(read.notes), HasSubstr("1 columns ignored: extra"));
    }
}

TEST(SplatPly, CutCountsAndWrongContentAreErrors) {
    const TempFolder folder;
    const std::string whole = header("binary_little_endian", 2) + row(false) + row(false);
    for (std::size_t cut = 0; cut < whole.size(); cut += 3) {
        folder.write("cut.ply", whole.substr(0, cut));
        const auto read = read_splats(folder / "cut.ply");
        ASSERT_FALSE(read) << cut;
        EXPECT_TRUE(read.error().line || read.error().byte) << read.error().text();
    }
    folder.write("huge.ply", header("binary_little_endian", 1ull << 60) + row(false));
    const auto huge = read_splats(folder / "huge.ply");
    ASSERT_FALSE(huge);
    EXPECT_TRUE(huge.error().byte.has_value());
    folder.write("huge.ply", header("ascii", 1ull << 60) + "1 2 3\n");
    EXPECT_FALSE(read_splats(folder / "huge.ply"));
    folder.write("word.ply", header("ascii", 1) + "1 2 x 4 5 6 7 8 9 10 11 12 13 14 15\n");
    EXPECT_THAT(read_splats(folder / "word.ply").error().text(), HasSubstr("not a number"));
    folder.write("points.ply",
                 "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float "
                 "y\nproperty float z\nend_header\n1 2 3\n");
    EXPECT_FALSE(find_splats(folder / "points.ply")->by_content);
    EXPECT_THAT(read_splats(folder / "points.ply").error().text(),
                HasSubstr("no property \"scale_0\""));
    EXPECT_EQ(read_splats(folder / "none.ply").error().kind, ErrorKind::not_found);
    EXPECT_EQ(write_splats(folder / "x.unknown", random_model(1, 0)).error().kind,
              ErrorKind::usage);
    EXPECT_EQ(write_splats(folder / "no/such/x.ply", random_model(1, 0)).error().kind,
              ErrorKind::unwritable);
}

TEST(SplatPly, TwoDimensionalGaussiansAreFlat) {
    const TempFolder folder;
    std::string text = "ply\nformat ascii 1.0\nelement vertex 1\n";
    for (const char* name : {"x", "y", "z", "f_dc_0", "f_dc_1", "f_dc_2", "opacity", "scale_0",
                             "scale_1", "rot_0", "rot_1", "rot_2", "rot_3"})
        text += std::string("property float ") + name + "\n";
    folder.write("flat.ply", text + "end_header\n1 2 3 .1 .2 .3 -1 -4 -5 1 0 0 0\n");
    const auto read = required(read_splats(folder / "flat.ply"));
    EXPECT_EQ(read.model.at(kLogScales + 1, 0), -5);
    EXPECT_LT(read.model.at(kLogScales + 2, 0), -10);
    EXPECT_EQ(read.model.at(kQuats, 0), 1);
    EXPECT_THAT(joined(read.notes), HasSubstr("flat"));
}

TEST(SplatPly, NoGaussiansIsAFileToo) {
    const TempFolder folder;
    ASSERT_TRUE(write_splats(folder / "none.ply", GaussianModel(0, 3)));
    const auto read = required(read_splats(folder / "none.ply"));
    EXPECT_EQ(read.model.count, 0u);
}

TEST(SplatPly, ReadingCanBeCancelled) {
    const TempFolder folder;
    ASSERT_TRUE(write_splats(folder / "m.ply", random_model(100, 0)));
    SplatReadOptions options;
    options.progress = [](std::string_view, std::size_t, std::size_t) { return false; };
    const auto read = read_splats(folder / "m.ply", options);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind, ErrorKind::cancelled);
}

// The number after "element vertex" and the number of f_rest columns, straight from the header's
// text.
void expect_header_counts(const fs::path& path, const GaussianModel& model) {
    const std::string text = *read_text_file(path);
    const std::string head = text.substr(0, text.find("end_header"));
    EXPECT_EQ(model.count, std::stoul(head.substr(head.find("element vertex ") + 15)));
    int rest = 0;
    for (std::size_t at = head.find(" f_rest_"); at != std::string::npos;
         at = head.find(" f_rest_", at + 1))
        ++rest;
    EXPECT_EQ(3 * (sh_bases(model.sh_degree) - 1), rest);
}

TEST(SplatPly, RealFilesSurviveARoundTrip) {
    GS_NEED_DATA("splats/fox_trained/fox_trained_3000.ply");
    const TempFolder folder;
    for (const char* name :
         {"fox_trained/fox_trained_3000.ply", "playbot/playbot_l4.ply", "playbot/playbot_l5.ply"}) {
        const fs::path path = data_path(std::string("splats/") + name);
        if (!fs::exists(path)) continue;
        const auto read = required(read_splats(path));
        EXPECT_TRUE(read.notes.empty()) << joined(read.notes);
        expect_header_counts(path, read.model);
        ASSERT_TRUE(write_splats(folder / "again.ply", read.model));
        const auto again = required(read_splats(folder / "again.ply"));
        expect_same_bits(read.model, again.model);
    }
}

}  // namespace
}  // namespace gs::test
