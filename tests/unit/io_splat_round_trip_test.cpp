// What is written comes back within what the format can hold, for random models of every degree;
// what it cannot hold is said.
#include <algorithm>

#include "base/parallel.h"
#include "renderer/io/splats/splat_io.h"
#include "tests/unit/io_files.h"
#include "tests/unit/io_splat_models.h"

namespace gs::test {
namespace {

// Half a step of each attribute, absolute.
struct Steps {
    const char* file;
    int spz_version;
    double x, yz, log_scale, rotation, alpha, sh0, sh_rest;
    bool keeps_order;
    int most_degree;
};
constexpr double kByte = 0.5 / 255 + 1e-6;

// x runs to 6, y and z over 0.6; a chunk of the compressed PLY spans what 256 rows do.
const Steps kFormats[] = {
    {"m.ply", 4, 0, 0, 0, 1e-7, 1e-7, 0, 0, true, 3},
    {"m.compressed.ply", 4, 3.0 / 1023, 0.3 / 1023 + 1e-6, 5.6 / 1023, 4e-3, kByte,
     3.5 / 2 / 255 + 1e-5, 4.0 / 256 + 1e-6, false, 3},
    {"m.spz", 4, 0.5 / 65536 + 1e-6, 0.5 / 65536 + 1e-6, 1 / 32.0 + 1e-5, 4e-3, kByte,
     0.5 / 255 / 0.15 + 1e-5, 0.5 / 128 + 1e-6, true, 3},
    {"m3.spz", 3, 0.5 / 65536 + 1e-6, 0.5 / 65536 + 1e-6, 1 / 32.0 + 1e-5, 4e-3, kByte,
     0.5 / 255 / 0.15 + 1e-5, 0.5 / 128 + 1e-6, true, 3},
    {"m.splat", 4, 0, 0, 2e-6, 0.012, kByte, 0.5 / 255 / 0.282 + 1e-5, 0, false, 0},
    // Codebooks: values are spread evenly here, so that steps are even too. Palettes have one entry
    // each below 1024.
    {"m.sog", 4, 7 * 0.5 * 1.96 / 65535 + 1e-6, 1.3 * 0.5 * 0.53 / 65535 + 1e-6, 11.0 / 256, 0.012,
     kByte, 3.4 / 256, 1.9 / 256, false, 3},
    {"sog/meta.json", 4, 7 * 0.5 * 1.96 / 65535 + 1e-6, 1.3 * 0.5 * 0.53 / 65535 + 1e-6, 11.0 / 256,
     0.012, kByte, 3.4 / 256, 1.9 / 256, false, 3},
    {"m.glb", 4, 1e-6, 1e-6, 2e-6, 1e-6, 1e-6, 1e-6, 1e-6, true, 3},
    {"m.gltf", 4, 1e-6, 1e-6, 2e-6, 1e-6, 1e-6, 1e-6, 1e-6, true, 3},
};

double alpha(float logit) { return 1 / (1 + std::exp(-static_cast<double>(logit))); }

double rotation_difference(const GaussianModel& a, std::size_t i, const GaussianModel& b,
                           std::size_t j) {
    double dot = 0, aa = 0, bb = 0;
    for (int c = 0; c < 4; ++c) {
        const double x = a.at(kQuats + c, i), y = b.at(kQuats + c, j);
        dot += x * y, aa += x * x, bb += y * y;
    }
    double worst = 0;
    for (int c = 0; c < 4; ++c)
        worst = std::max(worst, std::abs(a.at(kQuats + c, i) / std::sqrt(aa) -
                                         (dot < 0 ? -1 : 1) * b.at(kQuats + c, j) / std::sqrt(bb)));
    return worst;
}

void expect_row(const GaussianModel& model, std::size_t i, const GaussianModel& back, std::size_t j,
                const Steps& steps) {
    EXPECT_NEAR(model.at(kMeans, i), back.at(kMeans, j), steps.x);
    for (int c = 0; c < 3; ++c) {
        if (c > 0) {
            EXPECT_NEAR(model.at(kMeans + c, i), back.at(kMeans + c, j), steps.yz);
        }
        EXPECT_NEAR(model.at(kLogScales + c, i), back.at(kLogScales + c, j), steps.log_scale);
        EXPECT_NEAR(model.at(kSh0 + c, i), back.at(kSh0 + c, j), steps.sh0);
    }
    EXPECT_LE(rotation_difference(model, i, back, j), steps.rotation);
    EXPECT_NEAR(alpha(model.at(kOpacityLogits, i)), alpha(back.at(kOpacityLogits, j)), steps.alpha);
    if (std::isinf(model.at(kOpacityLogits, i))) {
        EXPECT_EQ(model.at(kOpacityLogits, i), back.at(kOpacityLogits, j));
    }
    for (int p = kShRest; p < back.planes(); ++p)
        EXPECT_NEAR(model.at(p, i), back.at(p, j), steps.sh_rest) << "plane " << p;
}

class SplatRoundTrip : public ::testing::TestWithParam<Steps> {};

TEST_P(SplatRoundTrip, WithinTheFormatsSteps) {
    const Steps& steps = GetParam();
    const TempFolder folder;
    fs::create_directories(folder / "sog");
    for (int degree = 0; degree <= 3; ++degree)
        for (const std::size_t count : {1u, 2u, 255u, 257u, 600u}) {
            SCOPED_TRACE(fmt::format("degree {}, {} Gaussians", degree, count));
            const GaussianModel model =
                numbered_splats(count, degree, 7 * count + static_cast<std::size_t>(degree));
            const auto notes = required(
                write_splats(folder / steps.file, model, {.spz_version = steps.spz_version}));
            EXPECT_TRUE(find_splats(folder / steps.file)->by_content);
            const auto read = required(read_splats(folder / steps.file));
            ASSERT_EQ(read.model.count, count);
            EXPECT_EQ(read.model.sh_degree, std::min(degree, steps.most_degree));
            EXPECT_EQ(joined(notes).find("harmonics of degree") != std::string::npos,
                      degree > steps.most_degree);
            std::vector<bool> seen(count, false);
            for (std::size_t j = 0; j < count; ++j) {
                const auto i =
                    static_cast<std::size_t>(std::lround(read.model.at(kMeans, j) * 100));
                ASSERT_LT(i, count);
                EXPECT_FALSE(seen[i]);
                seen[i] = true;
                if (steps.keeps_order) {
                    EXPECT_EQ(i, j);
                }
                expect_row(model, i, read.model, j, steps);
                if (::testing::Test::HasFailure()) return;
            }
        }
}

TEST_P(SplatRoundTrip, NothingAtAll) {
    const TempFolder folder;
    fs::create_directories(folder / "sog");
    for (const int degree : {0, 3}) {
        ASSERT_TRUE(write_splats(folder / GetParam().file, GaussianModel(0, degree),
                                 {.spz_version = GetParam().spz_version}));
        const auto read = required(read_splats(folder / GetParam().file));
        EXPECT_EQ(read.model.count, 0u);
    }
}

TEST_P(SplatRoundTrip, ExtremesStayFiniteAndAreSaid) {
    const Steps& steps = GetParam();
    const TempFolder folder;
    fs::create_directories(folder / "sog");
    const GaussianModel model = extreme_splats(700, 3, 5);
    const auto notes =
        required(write_splats(folder / steps.file, model, {.spz_version = steps.spz_version}));
    const std::string name = steps.file;
    if (name.ends_with(".spz")) {
        EXPECT_THAT(joined(notes), HasSubstr("SPZ clamps colours"));
        EXPECT_THAT(joined(notes), HasSubstr("SPZ clamps spherical harmonics"));
        EXPECT_THAT(joined(notes), HasSubstr("SPZ clamps sizes"));
    }
    if (name == "m.splat") {
        EXPECT_THAT(joined(notes), HasSubstr("are clamped to 0..1"));
    }
    if (name == "m.compressed.ply") {
        EXPECT_THAT(joined(notes), HasSubstr("sizes are clamped"));
    }
    const auto read = required(read_splats(folder / steps.file));
    ASSERT_EQ(read.model.count, model.count);
    for (int p = 0; p < read.model.planes(); ++p)
        for (std::size_t i = 0; i < model.count; ++i) {
            const bool may = p == kOpacityLogits || (p >= kLogScales && p < kQuats);
            EXPECT_FALSE(std::isnan(read.model.at(p, i))) << p;
            if (!may) {
                EXPECT_TRUE(std::isfinite(read.model.at(p, i))) << "plane " << p << " row " << i;
            }
        }
    // Each coordinate moved by no more than a step, so the sorted ones did too.
    const double range = 2000;
    const double step = name.ends_with(".spz")       ? 0.5 / 4096 + 1e-4
                        : name == "m.compressed.ply" ? range / 2 / 1023
                        : name.find("sog") != std::string::npos || name == "sog/meta.json"
                            ? 1001 * 7 / 65535.0
                            : 1e-4;
    for (int axis = 0; axis < 3; ++axis) {
        std::vector<float> before(model.plane(axis), model.plane(axis) + model.count),
            after(read.model.plane(axis), read.model.plane(axis) + model.count);
        std::ranges::sort(before);
        std::ranges::sort(after);
        for (std::size_t i = 0; i < before.size(); ++i)
            ASSERT_NEAR(before[i], after[i], step) << "axis " << axis;
    }
}

TEST_P(SplatRoundTrip, BrokenRowsAreLeftOutOrKept) {
    const TempFolder folder;
    fs::create_directories(folder / "sog");
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                    kInf = std::numeric_limits<float>::infinity();
    GaussianModel model = numbered_splats(40, 1, 9);
    model.at(kMeans + 1, 3) = kNan;
    model.at(kQuats, 5) = kInf;
    model.at(kShRest + 2, 8) = -kInf;
    model.at(kOpacityLogits, 11) = kNan;
    model.at(kLogScales + 1, 12) = kInf;
    const auto notes = required(
        write_splats(folder / GetParam().file, model, {.spz_version = GetParam().spz_version}));
    const auto read = required(read_splats(folder / GetParam().file));
    if (std::string(GetParam().file) == "m.ply") {
        EXPECT_EQ(read.model.count, 40u);
        EXPECT_THAT(joined(read.notes), HasSubstr("NaN or infinite"));
        return;
    }
    EXPECT_EQ(read.model.count, 35u);
    EXPECT_THAT(joined(notes), HasSubstr("NaN or infinite values: 5 Gaussians are left out"));
}

TEST_P(SplatRoundTrip, TheSameBytesOnAnyNumberOfThreads) {
    const TempFolder folder;
    fs::create_directories(folder / "sog");
    const GaussianModel model = numbered_splats(3000, 2, 4);
    const SplatWriteOptions options{.spz_version = GetParam().spz_version};
    std::string first;
    for (const int threads : {1, 2}) {
        set_thread_count(threads);
        ASSERT_TRUE(write_splats(folder / GetParam().file, model, options));
        const std::string bytes = *read_text_file(folder / GetParam().file);
        if (first.empty()) first = bytes;
        EXPECT_EQ(bytes, first);
    }
    set_thread_count(0);
}

TEST_P(SplatRoundTrip, CanBeCancelled) {
    const TempFolder folder;
    fs::create_directories(folder / "sog");
    const GaussianModel model = numbered_splats(3000, 2, 4);
    SplatWriteOptions options{.spz_version = GetParam().spz_version};
    ASSERT_TRUE(write_splats(folder / GetParam().file, model, options));
    SplatReadOptions reading;
    reading.progress = [](std::string_view, std::size_t, std::size_t) { return false; };
    const auto read = read_splats(folder / GetParam().file, reading);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind, ErrorKind::cancelled);
    fs::remove_all(folder / GetParam().file);
    options.progress = [](std::string_view, std::size_t, std::size_t) { return false; };
    const auto written = write_splats(folder / GetParam().file, model, options);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind, ErrorKind::cancelled);
    EXPECT_FALSE(fs::exists(folder / GetParam().file));
}

INSTANTIATE_TEST_SUITE_P(Formats, SplatRoundTrip, ::testing::ValuesIn(kFormats),
                         [](const auto& test) {
                             std::string name;
                             for (const char c : std::string(test.param.file))
                                 name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                             return name;
                         });

TEST(SplatCsv, HoldsEveryFloatExactly) {
    const TempFolder folder;
    const GaussianModel model = numbered_splats(3000, 2, 4);
    ASSERT_TRUE(write_splats(folder / "m.csv", model));
    const std::string text = *read_text_file(folder / "m.csv");
    EXPECT_TRUE(text.starts_with("x,y,z,scale_0,"));
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(text, '\n')), model.count + 1);
    const char* at = text.c_str() + text.find('\n') + 1;
    for (std::size_t i = 0; i < model.count; ++i) {
        char* end = nullptr;
        EXPECT_EQ(std::strtof(at, &end), model.at(kMeans, i));
        EXPECT_EQ(std::strtof(end + 1, &end), model.at(kMeans + 1, i));
        at = std::strchr(end, '\n') + 1;
    }
    EXPECT_EQ(read_splats(folder / "m.csv").error().kind, ErrorKind::unsupported);
}

// An .spz in one piece, with the streams in the order of the file.
std::string plain_spz(std::uint32_t version, std::uint32_t count, int degree,
                      const std::string& streams) {
    std::string out = "NGSP";
    out.append(reinterpret_cast<const char*>(&version), 4)
        .append(reinterpret_cast<const char*>(&count), 4);
    out += static_cast<char>(degree);
    return out + "\x0c" + std::string(2, '\0') + streams;
}

TEST(SplatSpz, OldVersionsAndHighDegrees) {
    const TempFolder folder;
    // Version 1: positions are half floats, 1, -2 and 0.5, with y up and z back.
    const std::string halves{'\x00', '\x3C', '\x00', '\xC0', '\x00', '\x38'};
    const std::string rest = std::string("\xFF") + std::string(3, '\x80') + std::string(3, '\xA0') +
                             std::string(3, '\x7F');
    folder.write("1.spz", plain_spz(1, 1, 0, halves + rest));
    const auto one = required(read_splats(folder / "1.spz"));
    EXPECT_EQ(one.model.at(kMeans, 0), 1);
    EXPECT_EQ(one.model.at(kMeans + 1, 0), 2);
    EXPECT_EQ(one.model.at(kMeans + 2, 0), -0.5f);
    EXPECT_EQ(one.model.at(kLogScales, 0), 0);
    EXPECT_TRUE(std::isinf(one.model.at(kOpacityLogits, 0)));
    EXPECT_NEAR(one.model.at(kQuats, 0), 1, 1e-4);
    // Degree 4 has 24 coefficients a channel, of which 15 are kept.
    const std::string position(9, '\0'), rotation(4, '\0');
    folder.write(
        "4.spz",
        plain_spz(3, 1, 4, position + rest.substr(0, 7) + rotation + std::string(72, '\x81')));
    const auto four = required(read_splats(folder / "4.spz"));
    EXPECT_EQ(four.model.sh_degree, 3);
    EXPECT_THAT(joined(four.notes), HasSubstr("reduced to degree 3"));
    EXPECT_EQ(four.model.at(kShRest + 3 * 2, 0), 1 / 128.0f);
    EXPECT_EQ(four.model.at(kShRest, 0), -1 / 128.0f);
}

TEST(SplatAntialiased, IsKeptWhereTheFormatHasAPlaceForIt) {
    const TempFolder folder;
    GaussianModel model = numbered_splats(10, 0, 1);
    model.antialiased = true;
    for (const char* name : {"m.ply", "m.compressed.ply", "m.spz", "m.sog"}) {
        ASSERT_TRUE(write_splats(folder / name, model));
        EXPECT_TRUE(read_splats(folder / name)->model.antialiased) << name;
    }
    for (const char* name : {"m.splat", "m.glb", "m.csv"}) {
        const auto notes = required(write_splats(folder / name, model, SplatWriteOptions{}));
        EXPECT_THAT(joined(notes), HasSubstr("antialiased")) << name;
    }
}

TEST(SplatNames, TheLongestKnownEndDecides) {
    const TempFolder folder;
    const GaussianModel model = numbered_splats(4, 0, 1);
    ASSERT_TRUE(write_splats(folder / "A.COMPRESSED.PLY", model));
    EXPECT_THAT(read_splats(folder / "A.COMPRESSED.PLY")->format, HasSubstr("compressed"));
    // Content first: a name that says something else does no harm.
    fs::rename(folder / "A.COMPRESSED.PLY", folder / "b.spz");
    EXPECT_THAT(read_splats(folder / "b.spz")->format, HasSubstr("compressed"));
    EXPECT_EQ(write_splats(folder / "b.ksplat", model).error().kind, ErrorKind::usage);
    EXPECT_EQ(write_splats(folder / "b", model).error().kind, ErrorKind::usage);
    EXPECT_EQ(write_splats(folder / "c.spz", model, {.spz_version = 2}).error().kind,
              ErrorKind::usage);
}

}  // namespace
}  // namespace gs::test
