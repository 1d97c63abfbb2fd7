// Splats as other programs write them: far from zero, in other axes, inside other files, with
// colours of other types, behind lists.
#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/origin.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"
#include "tests/unit/io_splat_models.h"

namespace gs::test {
namespace {

constexpr Vec3d kUtm{500123.5, 4500678.25, 321.125};
constexpr std::size_t kRows = 60;

Vec3d world_of(const GaussianModel& model, std::size_t i) {
    return world_position(model.mean(i), model.origin);
}
double apart(Vec3d a, Vec3d b) { return std::hypot(a.x - b.x, a.y - b.y, a.z - b.z); }

// Rows found again by their place, as some formats sort.
double worst_distance(const GaussianModel& a, const GaussianModel& b) {
    double worst = 0;
    for (std::size_t i = 0; i < a.count; ++i) {
        double nearest = 1e300;
        for (std::size_t k = 0; k < b.count; ++k)
            nearest = std::min(nearest, apart(world_of(a, i), world_of(b, k)));
        worst = std::max(worst, nearest);
    }
    return worst;
}

GaussianModel far_splats() {
    GaussianModel model = numbered_splats(kRows, 1, 5);
    for (std::size_t i = 0; i < kRows; ++i) model.at(kOpacityLogits, i) = 1;
    model.origin = kUtm;
    return model;
}

struct FarFormat {
    const char* file;
    double worst;
};
TEST(FarSplats, ComeBackWhereTheyWere) {
    const GaussianModel model = far_splats();
    for (const FarFormat& format :
         {FarFormat{"m.ply", 1e-7}, FarFormat{"m.compressed.ply", 1e-3}, FarFormat{"m.sog", 1e-3},
          FarFormat{"m.glb", 1e-7}, FarFormat{"m.gltf", 1e-7}}) {
        SCOPED_TRACE(format.file);
        const TempFolder folder;
        const auto lost = required(write_splats(folder / format.file, model, SplatWriteOptions{}));
        EXPECT_EQ(joined(lost).find("origin"), std::string::npos);
        const auto read = required(read_splats(folder / format.file));
        ASSERT_EQ(read.model.count, kRows);
        EXPECT_FALSE(is_zero(read.model.origin));
        EXPECT_LT(worst_distance(model, read.model), format.worst);
    }
}

TEST(FarSplats, FormatsWithoutAPlaceSaySo) {
    const GaussianModel model = far_splats();
    for (const char* file : {"m.spz", "m.splat"}) {
        SCOPED_TRACE(file);
        const TempFolder folder;
        const auto lost = required(write_splats(folder / file, model, SplatWriteOptions{}));
        EXPECT_THAT(joined(lost), HasSubstr("cannot store the origin (500123.5, 4500678.25"));
        const auto read = required(read_splats(folder / file));
        EXPECT_TRUE(is_zero(read.model.origin));
    }
}

TEST(FarSplats, TextHasAllDigits) {
    const TempFolder folder;
    const GaussianModel model = far_splats();
    ASSERT_TRUE(write_splats(folder / "m.csv", model));
    const std::string text = *read_text_file(folder / "m.csv");
    const std::string row = text.substr(text.find('\n') + 1);
    EXPECT_NEAR(std::strtod(row.c_str(), nullptr), world_of(model, 0).x, 1e-8);
}

TEST(FarSplats, PlyOfDoublesIsReadExactly) {
    GS_NEED_DATA("bugs/s14_utm_doubles");
    const auto read = required(read_splats(data_path("bugs/s14_utm_doubles/a.ply")));
    ASSERT_EQ(read.model.count, 40u);
    // truth.npz, its first two rows.
    EXPECT_LT(apart(world_of(read.model, 0), {5.00124611e+05, 4.50067720e+06, 3.21915116e+02}),
              5e-3);
    EXPECT_GT(std::abs(read.model.origin.y), 4e6);
    const TempFolder folder;
    ASSERT_TRUE(write_splats(folder / "again.ply", read.model));
    const auto again = required(read_splats(folder / "again.ply"));
    EXPECT_TRUE(same_place(again.model.origin, read.model.origin));
    for (std::size_t i = 0; i < 40; ++i)
        EXPECT_LT(apart(world_of(again.model, i), world_of(read.model, i)), 1e-9);
}

std::string splat_ply(const char* position_type, Vec3d by, std::size_t rows) {
    Packer out;
    out.bytes = fmt::format(
        "ply\nformat binary_little_endian 1.0\nelement vertex {1}\nproperty {0} x\nproperty {0} "
        "y\nproperty {0} z\n",
        position_type, rows);
    for (const char* name : {"f_dc_0", "f_dc_1", "f_dc_2", "opacity", "scale_0", "scale_1",
                             "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"})
        out.bytes += fmt::format("property float {}\n", name);
    out.bytes += "end_header\n";
    for (std::size_t i = 0; i < rows; ++i) {
        const double t = static_cast<double>(i);
        for (const double x : {by.x + std::sin(t), by.y + std::cos(t), by.z + 0.01 * t})
            if (std::string_view(position_type) == "double")
                out.add(x);
            else
                out.add(static_cast<float>(x));
        for (int p = 0; p < 11; ++p) out.add(p == 7 ? 1.0f : -1.0f);
    }
    return out.bytes;
}

TEST(FarSplats, AnOriginIsChosenOnlyWhereItMatters) {
    const TempFolder folder;
    for (const char* type : {"float", "double"})
        for (const double far : {0.0, 10.0, 1000.0, 1e5, 1e6, 1e7}) {
            SCOPED_TRACE(fmt::format("{} {}", type, far));
            const auto read =
                read_splats(folder.write("m.ply", splat_ply(type, {far, 0, -far}, 50)));
            ASSERT_TRUE(read) << read.error().text();
            EXPECT_EQ(is_zero(read->model.origin), far <= 1000);
            if (std::string_view(type) == "double") {
                EXPECT_LT(apart(world_of(read->model, 7),
                                {far + std::sin(7.0), std::cos(7.0), -far + 0.07}),
                          far > 1000 ? 1e-6 : 1e-4);
            }
        }
    const auto rounded = read_splats(folder.write("m.ply", splat_ply("float", {1e7, 0, 0}, 50)));
    EXPECT_THAT(joined(rounded->notes), HasSubstr("rounded them to steps of 1"));
}

TEST(FarSplats, NodesOfGltfPlaceThemInDouble) {
    const TempFolder folder;
    GaussianModel model = far_splats();
    model.origin = {};
    ASSERT_TRUE(write_splats(folder / "m.gltf", model));
    std::string json = *read_text_file(folder / "m.gltf");
    const auto at = json.find("\"mesh\":0");
    ASSERT_NE(at, std::string::npos);
    json.insert(at, "\"translation\":[-500123.0625,-4500678.125,321.5],");
    folder.write("m.gltf", json);
    const auto read = required(read_splats(folder / "m.gltf"));
    for (std::size_t i = 0; i < kRows; ++i)
        EXPECT_LT(apart(world_of(read.model, i),
                        world_position(model.mean(i), {500123.0625, 4500678.125, 321.5})),
                  1e-6);
}

Vec3d direction_of(char letter) {
    switch (letter) {
        case 'R':
            return {1, 0, 0};
        case 'L':
            return {-1, 0, 0};
        case 'D':
            return {0, 1, 0};
        case 'U':
            return {0, -1, 0};
        case 'F':
            return {0, 0, 1};
        default:
            return {0, 0, -1};
    }
}

TEST(SpzAxes, EveryDeclaredSystemIsTurnedToOurs) {
    const TempFolder folder;
    const char* names[16] = {"LDB", "RDB", "LUB", "RUB", "LDF", "RDF", "LUF", "RUF",
                             "LFD", "RFD", "LFU", "RFU", "LBD", "RBD", "LBU", "RBU"};
    for (std::uint32_t axes = 1; axes <= 16; ++axes) {
        const std::string name = names[axes - 1];
        SCOPED_TRACE(name);
        auto read = read_splats(folder.write("m.spz", spz_with_axes(axes)));
        ASSERT_TRUE(read) << read.error().text();
        EXPECT_TRUE(read->notes.empty()) << joined(read->notes);
        const Vec3d x = direction_of(name[0]), y = direction_of(name[1]), z = direction_of(name[2]);
        EXPECT_LT(apart(world_of(read->model, 0), x + 2.0 * y + 3.0 * z), 1e-6);
        // The longest axis is the file's third, whichever it is now.
        const Quatd q{read->model.at(kQuats, 0), read->model.at(kQuats + 1, 0),
                      read->model.at(kQuats + 2, 0), read->model.at(kQuats + 3, 0)};
        const Mat3d turn = rotation_from_quat(q);
        const float* const sizes[3] = {&read->model.at(kLogScales, 0),
                                       &read->model.at(kLogScales + 1, 0),
                                       &read->model.at(kLogScales + 2, 0)};
        const auto axis = std::max_element(std::begin(sizes), std::end(sizes),
                                           [](auto a, auto b) { return *a < *b; }) -
                          std::begin(sizes);
        EXPECT_NEAR(*sizes[axis], -2, 1e-4);
        const Vec3d longest{turn.m[0][axis], turn.m[1][axis], turn.m[2][axis]};
        EXPECT_NEAR(std::abs(dot(longest, z)), 1, 0.02);
        // Harmonics of degree 1 are y, z, x: red grows along -y of the file, and so on.
        const auto slope = [&](int channel) {
            return Vec3d{-static_cast<double>(read->model.at(kShRest + 6 + channel, 0)),
                         -static_cast<double>(read->model.at(kShRest + channel, 0)),
                         static_cast<double>(read->model.at(kShRest + 3 + channel, 0))};
        };
        EXPECT_LT(apart(slope(0), -0.5 * y), 0.01);
        EXPECT_LT(apart(slope(1), 0.5 * z), 0.01);
        EXPECT_LT(apart(slope(2), -0.5 * x), 0.01);
    }
    const auto unknown = read_splats(folder.write("m.spz", spz_with_axes(17)));
    ASSERT_TRUE(unknown);
    EXPECT_THAT(joined(unknown->notes), HasSubstr("unknown axes, 17"));
    const auto usual = read_splats(folder.write("m.spz", spz_with_axes(0)));
    EXPECT_LT(apart(world_of(usual->model, 0), {1, -2, -3}), 1e-6);
}

TEST(SpzAxes, AreFoundBehindALongExtension) {
    const TempFolder folder;
    std::string file = spz_with_axes(10);
    Packer other;
    other.add<std::uint32_t>(0x12340001).add<std::uint32_t>(200000).bytes +=
        std::string(200000, 'x');
    file.insert(file.size() - 12, other.bytes);
    const auto read = read_splats(folder.write("m.spz", file));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_LT(apart(world_of(read->model, 0), {1, 3, 2}), 1e-6);  // right, forward, down
}

TEST(SpzInGltf, IsReadByEveryNameOfTheExtension) {
    for (
        const char* name :
        {R"("KHR_gaussian_splatting":{"extensions":{"KHR_gaussian_splatting_compression_spz_2":{"bufferView":0}}})",
         R"("KHR_gaussian_splatting":{"extensions":{"KHR_gaussian_splatting_compression_spz":{"bufferView":0}}})",
         R"("KHR_spz_gaussian_splats_compression":{"bufferView":0})"}) {
        SCOPED_TRACE(name);
        const TempFolder folder;
        const std::string spz = spz_with_axes(0);
        folder.write("a.spz", spz);
        folder.write("m.gltf", gltf_of_spz(name, spz.size()));
        const auto read = required(read_splats(folder / "m.gltf"));
        ASSERT_EQ(read.model.count, 2u);
        EXPECT_THAT(read.format, HasSubstr("SPZ"));
        EXPECT_LT(apart(world_of(read.model, 0), {-1, -2, 3}), 1e-6);
        EXPECT_LT(apart(world_of(read.model, 1), {-11, -2, 3}), 1e-6);
        EXPECT_NEAR(read.model.at(kLogScales, 0), -4, 1e-5);
        // A view that the buffer does not hold.
        folder.write("a.spz", spz.substr(0, 20));
        EXPECT_FALSE(read_splats(folder / "m.gltf"));
    }
}

TEST(SogBundles, AreReadInsideAStreamedSet) {
    const TempFolder folder;
    const GaussianModel model = numbered_splats(200, 0, 9);
    ASSERT_TRUE(write_splats(folder / "0_0.sog", model));
    folder.write("lod-meta.json",
                 R"({"version":1,"lodLevels":1,"filenames":["0_0.sog"],"tree":{"lods":{"0":)"
                 R"({"file":0,"offset":0,"count":200}}}})");
    const auto read = required(read_splats(folder / "lod-meta.json"));
    EXPECT_EQ(read.model.count, 200u);
}

TEST(SplatColors, GoByTypeAndRange) {
    struct Case {
        const char* type;
        double full;
    };
    const TempFolder folder;
    for (const auto& [type, full] : {Case{"uchar", 255}, Case{"ushort", 65535}, Case{"float", 1},
                                     Case{"float", 255}, Case{"double", 1}, Case{"double", 255}}) {
        SCOPED_TRACE(fmt::format("{} {}", type, full));
        Packer out;
        out.bytes =
            "ply\nformat binary_little_endian 1.0\nelement vertex 2\nproperty float x\nproperty "
            "float y\nproperty float z\n";
        for (const char* name :
             {"opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"})
            out.bytes += fmt::format("property float {}\n", name);
        for (const char* name : {"red", "green", "blue"})
            out.bytes += fmt::format("property {} {}\n", type, name);
        out.bytes += "end_header\n";
        for (int row = 0; row < 2; ++row) {
            for (int p = 0; p < 11; ++p) out.add(1.0f);
            for (const double share : {1.0, 0.2, 0.0}) {
                const double value = share * full;
                const std::string_view name = type;
                if (name == "uchar")
                    out.add(static_cast<std::uint8_t>(value));
                else if (name == "ushort")
                    out.add(static_cast<std::uint16_t>(value));
                else if (name == "double")
                    out.add(value);
                else
                    out.add(static_cast<float>(value));
            }
        }
        const auto read = read_splats(folder.write("m.ply", out.bytes));
        ASSERT_TRUE(read) << read.error().text();
        const auto color = [&](int c) {
            return 0.5 + 0.28209479177387814 * static_cast<double>(read->model.at(kSh0 + c, 0));
        };
        EXPECT_NEAR(color(0), 1, 1e-5);
        EXPECT_NEAR(color(1), 0.2, 1e-5);
        EXPECT_NEAR(color(2), 0, 1e-5);
    }
}

TEST(SplatPlyOrder, FacesMayComeFirst) {
    const TempFolder folder;
    const std::string plain = splat_ply("float", {}, 3);
    const auto body = plain.find("end_header\n") + 11, vertex = plain.find("element vertex");
    for (const bool cut : {false, true}) {
        Packer faces;
        for (std::uint8_t n = 0; n < 5; ++n) {
            faces.add<float>(1.5f).add(n);
            for (std::int32_t i = 0; i < n; ++i) faces.add(i);
        }
        std::string file = plain.substr(0, vertex) +
                           "element face 5\nproperty float quality\nproperty list uchar int "
                           "vertex_indices\n" +
                           plain.substr(vertex, body - vertex) + faces.bytes + plain.substr(body);
        if (cut) file.resize(file.size() - plain.size() + body - 6);
        const auto read = read_splats(folder.write("m.ply", file));
        EXPECT_EQ(read.has_value(), !cut);
        if (cut) continue;
        ASSERT_TRUE(read) << read.error().text();
        ASSERT_EQ(read->model.count, 3u);
        EXPECT_NEAR(read->model.at(kMeans, 2), std::sin(2.0), 1e-6);
        EXPECT_EQ(read->model.at(kQuats, 1), 1);
    }
    // Lists that say they have more than the file, or less than nothing.
    for (const std::int32_t n : {-1, 0x7FFFFFFF}) {
        Packer faces;
        faces.add(n).add(n);
        const std::string file =
            plain.substr(0, vertex) + "element face 2\nproperty list int int vertex_indices\n" +
            plain.substr(vertex, body - vertex) + faces.bytes + plain.substr(body);
        EXPECT_FALSE(read_splats(folder.write("m.ply", file)));
    }
}

}  // namespace
}  // namespace gs::test
