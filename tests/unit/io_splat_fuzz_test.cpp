// A seeded mutator over every splat format: the small real files and files of our own with
// something in every part. Whatever comes out, nothing crashes, hangs or takes memory without
// measure; run under ASan and UBSan by ./check.
#include "renderer/io/splats/splat_io.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"
#include "tests/unit/io_mutator.h"
#include "tests/unit/io_splat_models.h"

namespace gs::test {
namespace {

// Mutations of `whole`, read under the name `file`.
void hammer_splats(const TempFolder& folder, const fs::path& file, const std::string& whole,
                   std::uint64_t rounds) {
    hammer(whole, rounds, [&](const std::string& bytes) {
        folder.write(file, bytes);
        static_cast<void>(find_splats(folder / file));
        const auto read = read_splats(folder / file);
        if (!read) {
            EXPECT_FALSE(read.error().message.empty());
            return false;
        }
        EXPECT_LE(read->model.count, (1u << 20) + 64 * bytes.size());
        return true;
    });
    folder.write(file, whole);
}

// A file of ours, with 20 Gaussians of degree 1.
void hammer_own(const char* name, std::uint64_t rounds, int spz_version = 4) {
    const TempFolder folder;
    ASSERT_TRUE(
        write_splats(folder / name, numbered_splats(20, 1, 1), {.spz_version = spz_version}));
    hammer_splats(folder, name, *read_text_file(folder / name), rounds);
}

void hammer_real(const char* name, std::uint64_t rounds) {
    GS_NEED_DATA(std::string("splats/") + name);
    const TempFolder folder;
    hammer_splats(folder, fs::path(name).filename(),
                  *read_text_file(data_path(std::string("splats/") + name)), rounds);
}

TEST(FuzzSplats, CompressedPly) { hammer_own("m.compressed.ply", 1000); }
TEST(FuzzSplats, DotSplat) { hammer_own("m.splat", 500); }
TEST(FuzzSplats, Spz3) { hammer_own("m.spz", 1000, 3); }
TEST(FuzzSplats, Spz4) { hammer_own("m.spz", 1500, 4); }
TEST(FuzzSplats, SogBundle) { hammer_own("m.sog", 1000); }
TEST(FuzzSplats, Glb) { hammer_own("m.glb", 1500); }

TEST(FuzzSplats, SogFolder) {
    const TempFolder folder;
    fs::create_directories(folder / "sog");
    ASSERT_TRUE(write_splats(folder / "sog/meta.json", numbered_splats(20, 1, 1)));
    hammer_splats(folder, "sog/meta.json", *read_text_file(folder / "sog/meta.json"), 800);
    const std::string meta = *read_text_file(folder / "sog/meta.json");
    for (const char* image :
         {"means_l.webp", "quats.webp", "sh0.webp", "shN_centroids.webp", "shN_labels.webp"}) {
        const std::string whole = *read_text_file(folder / "sog" / image);
        hammer(whole, 200, [&](const std::string& bytes) {
            folder.write(fs::path("sog") / image, bytes);
            return read_splats(folder / "sog").has_value();
        });
        folder.write(fs::path("sog") / image, whole);
    }
}

TEST(FuzzSplats, SogVersion1) {
    const TempFolder folder;
    fs::create_directories(folder / "sog");
    ASSERT_TRUE(write_splats(folder / "sog/meta.json", numbered_splats(20, 1, 1)));
    // The images of version 2 under the description of version 1.
    const std::string meta =
        R"({"means":{"shape":[20,3],"mins":[-1,-1,-1],"maxs":[1,1,1],"files":["means_l.webp","means_u.webp"]},)"
        R"("scales":{"mins":[-9,-9,-9],"maxs":[0,0,0],"files":["scales.webp"]},"quats":{"files":["quats.webp"]},)"
        R"("sh0":{"mins":[-1,-1,-1,-5],"maxs":[1,1,1,5],"files":["sh0.webp"]},)"
        R"("shN":{"mins":-1,"maxs":1,"files":["shN_centroids.webp","shN_labels.webp"]}})";
    folder.write("sog/meta.json", meta);
    const auto read = required(read_splats(folder / "sog"));
    EXPECT_EQ(read.format, "SOG 1 (folder)");
    EXPECT_EQ(read.model.count, 20u);
    EXPECT_EQ(read.model.sh_degree, 1);
    hammer_splats(folder, "sog/meta.json", meta, 800);
}

TEST(FuzzSplats, SetOfLevels) {
    const TempFolder folder;
    for (const char* part : {"0_0", "1_0"}) {
        fs::create_directories(folder / part);
        ASSERT_TRUE(write_splats(folder / part / "meta.json", numbered_splats(20, 1, 1)));
    }
    const std::string meta =
        R"({"version":1,"lodLevels":2,"filenames":["0_0/meta.json","1_0/meta.json"],"tree":{"children":[)"
        R"({"lods":{"0":{"file":0,"offset":0,"count":12},"1":{"file":1,"offset":0,"count":4}}},)"
        R"({"lods":{"0":{"file":0,"offset":12,"count":8},"1":{"file":1,"offset":4,"count":16}}}]}})";
    hammer_splats(folder, "lod-meta.json", meta, 1000);
}

TEST(FuzzSplats, SetOfBundles) {
    const TempFolder folder;
    ASSERT_TRUE(write_splats(folder / "a.sog", numbered_splats(20, 1, 1)));
    const std::string meta = R"({"lodLevels":1,"filenames":["a.sog"],"tree":{"lods":{"0":)"
                             R"({"file":0,"offset":0,"count":20}}}})";
    hammer_splats(folder, "lod-meta.json", meta, 300);
    hammer(*read_text_file(folder / "a.sog"), 300, [&](const std::string& bytes) {
        folder.write("a.sog", bytes);
        return read_splats(folder / "lod-meta.json").has_value();
    });
}

TEST(FuzzSplats, FarFromZero) {
    for (const char* name : {"m.ply", "m.compressed.ply", "m.gltf"}) {
        const TempFolder folder;
        GaussianModel model = numbered_splats(20, 1, 1);
        model.origin = {500123.5, 4500678.25, 321.125};
        ASSERT_TRUE(write_splats(folder / name, model));
        hammer_splats(folder, name, *read_text_file(folder / name), 500);
    }
}

TEST(FuzzSplats, ListsBeforeVertices) {
    const TempFolder folder;
    ASSERT_TRUE(write_splats(folder / "m.ply", numbered_splats(5, 0, 1)));
    const std::string plain = *read_text_file(folder / "m.ply");
    const auto body = plain.find("end_header\n") + 11, vertex = plain.find("element vertex");
    Packer faces;
    for (std::uint8_t n = 1; n < 4; ++n) {
        faces.add(n);
        for (std::int32_t i = 0; i < n; ++i) faces.add(i);
    }
    hammer_splats(folder, "m.ply",
                  plain.substr(0, vertex) +
                      "element face 3\nproperty list uchar int vertex_indices\n" +
                      plain.substr(vertex, body - vertex) + faces.bytes + plain.substr(body),
                  1000);
}

TEST(FuzzSplats, SpzExtensions) {
    const TempFolder folder;
    for (const std::uint32_t axes : {7u, 14u})
        hammer_splats(folder, "m.spz", spz_with_axes(axes), 700);
}

TEST(FuzzSplats, SpzInGltf) {
    const TempFolder folder;
    const std::string spz = spz_with_axes(0);
    folder.write("a.spz", spz);
    const std::string gltf = gltf_of_spz(
        R"("KHR_gaussian_splatting":{"extensions":{"KHR_gaussian_splatting_compression_spz_2":{"bufferView":0}}})",
        spz.size());
    hammer_splats(folder, "m.gltf", gltf, 700);
    hammer(spz, 700, [&](const std::string& bytes) {
        folder.write("a.spz", bytes);
        return read_splats(folder / "m.gltf").has_value();
    });
}

TEST(FuzzSplats, RealSpzPlain) { hammer_real("minimal/minimal-raw.spz", 1500); }
TEST(FuzzSplats, RealSpz4) { hammer_real("minimal/minimal-v4.spz", 1500); }
TEST(FuzzSplats, RealKsplat) { hammer_real("minimal/minimal.ksplat", 800); }
TEST(FuzzSplats, RealCompressedPly) { hammer_real("minimal/sh_compressed_64.compressed.ply", 800); }
TEST(FuzzSplats, RealGltf) { hammer_real("khr_gltf/khr_conformance_matrix.gltf", 500); }
TEST(FuzzSplats, RealGltfFallback) { hammer_real("khr_gltf/khr_extensible_fallback.gltf", 1000); }

TEST(FuzzSplats, KsplatBucketsAreNoSmallerThanACenter) {
    std::string bytes(4096 + 1024 + 8, '\0');
    bytes[1] = 1;          // version 0.1
    bytes[4] = 1;          // section
    bytes[20] = 1;         // compression level
    bytes[4096 + 12] = 2;  // buckets
    bytes[4096 + 20] = 4;  // bytes each: a center is 12
    const TempFolder folder;
    folder.write("m.ksplat", bytes);
    const auto read = read_splats(folder / "m.ksplat");
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("buckets"), std::string::npos) << read.error().text();
}

TEST(FuzzSplats, RealKsplatHeaders) {
    GS_NEED_DATA("splats/playbot/playbot_l5.level1.ksplat");
    // Mutations of what is not zero in the headers and tables alone.
    const std::string whole = *read_text_file(data_path("splats/playbot/playbot_l5.level1.ksplat"));
    const TempFolder folder;
    hammer(whole.substr(0, 48) + whole.substr(4096, 48) + whole.substr(5120, 64), 600,
           [&](std::string bytes) {
               bytes.resize(160, '\0');
               folder.write("m.ksplat", bytes.substr(0, 48) + whole.substr(48, 4096 - 48) +
                                            bytes.substr(48, 48) + whole.substr(4144, 5120 - 4144) +
                                            bytes.substr(96, 64) + whole.substr(5184));
               return read_splats(folder / "m.ksplat").has_value();
           });
}

}  // namespace
}  // namespace gs::test
