// Splat files that are cut, that lie about their counts, that would unpack to more than there is
// memory for, or that lead outside their folder: a clear error each, at once.
#include <zlib.h>

#include "renderer/io/files/zip_writer.h"
#include "renderer/io/splats/level_set.h"
#include "renderer/io/splats/splat_io.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"
#include "tests/unit/io_splat_models.h"

namespace gs::test {
namespace {

std::string bytes_of(const fs::path& path) { return *read_text_file(path); }

template <class T>
std::string with_number(std::string bytes, std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
}

// The error of a file with these bytes; it must name the file.
std::string error_of(const TempFolder& folder, const fs::path& name, const std::string& bytes) {
    folder.write(name, bytes);
    const auto read = read_splats(folder / name);
    if (read) return fmt::format("was read: {} Gaussians", read->model.count);
    EXPECT_THAT(read.error().text(), HasSubstr(folder.path().string()));
    EXPECT_FALSE(read.error().message.empty());
    return read.error().text();
}

TEST(HostileSplats, CutAnywhere) {
    const TempFolder folder;
    const GaussianModel model = numbered_splats(40, 1, 3);
    for (const char* name : {"m.ply", "m.compressed.ply", "m4.spz", "m3.spz", "m.sog", "m.glb"}) {
        ASSERT_TRUE(write_splats(folder / name, model,
                                 {.spz_version = std::string(name) == "m3.spz" ? 3 : 4}));
        const std::string whole = bytes_of(folder / name);
        for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 300) {
            folder.write(name, whole.substr(0, size));
            const auto read = read_splats(folder / name);
            ASSERT_FALSE(read) << name << " cut to " << size << " of " << whole.size() << " bytes";
            EXPECT_THAT(read.error().text(), HasSubstr(name));
        }
    }
}

TEST(HostileSplats, RealFilesCutAnywhere) {
    GS_NEED_DATA("splats/minimal/minimal.ksplat");
    const TempFolder folder;
    for (const char* name :
         {"minimal/minimal-raw.spz", "minimal/minimal-v2.spz", "minimal/minimal-v4.spz",
          "minimal/minimal.ksplat", "playbot/playbot_l5.level1.ksplat",
          "minimal/sh_compressed_64.compressed.ply", "khr_gltf/khr_conformance_matrix.glb"}) {
        const std::string whole = bytes_of(data_path(std::string("splats/") + name));
        const fs::path file = fs::path(name).filename();
        for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 200) {
            folder.write(file, whole.substr(0, size));
            ASSERT_FALSE(read_splats(folder / file))
                << name << " cut to " << size << " of " << whole.size() << " bytes";
        }
    }
    // A .splat has no end: only a cut record can be seen.
    const std::string splat = bytes_of(data_path("splats/minimal/minimal.splat"));
    EXPECT_THAT(error_of(folder, "m.splat", splat.substr(0, 100)), HasSubstr("at byte 96"));
}

TEST(HostileSplats, CountsThatLie) {
    const TempFolder folder;
    const GaussianModel model = numbered_splats(40, 1, 3);
    SplatWriteOptions options;
    ASSERT_TRUE(write_splats(folder / "a.spz", model, options));
    const std::string spz4 = bytes_of(folder / "a.spz");
    for (const std::uint32_t count : {41u, 1000000u, 0x7FFFFFFFu, 0xFFFFFFFFu})
        EXPECT_THAT(error_of(folder, "b.spz", with_number(spz4, 8, count)), HasSubstr("at byte"));
    EXPECT_THAT(error_of(folder, "b.spz", with_number(spz4, 16, 0xFFFFFF00u)), HasSubstr("table"));
    EXPECT_THAT(error_of(folder, "b.spz", with_number(spz4, 32, ~0ull)), HasSubstr("stream 0"));
    EXPECT_THAT(error_of(folder, "b.spz", with_number(spz4, 4, 9u)), HasSubstr("version 9"));
    // Lies that agree with each other: the table says what the header wants.
    std::string both = with_number(spz4, 8, 0xFFFFFFF0u);
    const std::uint64_t per_stream[] = {9, 1, 3, 3, 4, 9};
    for (std::size_t s = 0; s < 6; ++s)
        both = with_number(both, 32 + 16 * s + 8, per_stream[s] * 0xFFFFFFF0ull);
    EXPECT_THAT(error_of(folder, "b.spz", both), HasSubstr("more than a file"));

    ASSERT_TRUE(write_splats(folder / "m.compressed.ply", model, options));
    std::string ply = bytes_of(folder / "m.compressed.ply");
    for (const char* element : {"element vertex 40", "element chunk 1", "element sh 40"}) {
        std::string lying = ply;
        lying.replace(lying.find(element), std::strlen(element),
                      std::string(element, std::strrchr(element, ' ')) + " 99999999999");
        EXPECT_THAT(error_of(folder, "n.compressed.ply", lying),
                    ::testing::Not(HasSubstr("was read")))
            << element;
    }
}

TEST(HostileSplats, CountsOfRealFilesThatLie) {
    GS_NEED_DATA("splats/playbot/playbot_l5.level1.ksplat");
    const TempFolder folder;
    const std::string ksplat = bytes_of(data_path("splats/playbot/playbot_l5.level1.ksplat"));
    for (const std::size_t at : {4u, 16u, 4096u, 4096u + 4, 4096u + 12, 4096u + 36})
        for (const std::uint32_t value : {0u, 2999u, 70000u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
            const std::string text = error_of(folder, "m.ksplat", with_number(ksplat, at, value));
            // In the last section, a capacity beyond the number of Gaussians does no harm, nor do
            // empty buckets.
            if (at != 4096 + 4 && at != 4096 + 36 && at != 4) {
                EXPECT_THAT(text, ::testing::Not(HasSubstr("was read"))) << at << " " << value;
            }
        }
    const std::string raw = bytes_of(data_path("splats/minimal/minimal-raw.spz"));
    EXPECT_THAT(error_of(folder, "m.spz", with_number(raw, 8, 0xFFFFFFFFu)),
                HasSubstr("ends too early"));
    EXPECT_THAT(error_of(folder, "m.spz", with_number(raw, 8, 5u)), HasSubstr("ends too early"));
}

// 256 MiB of zeros in a quarter of a megabyte.
TEST(HostileSplats, GzipBombs) {
    const TempFolder folder;
    std::string packed(1 << 20, '\0');
    z_stream stream{};
    ASSERT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    std::string head = with_number(with_number(std::string(16, '\0'), 0, 0x5053474Eu), 4, 3u);
    head = with_number(head, 8, 0xF0000000u);
    const std::string zeros(1 << 20, '\0');
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    for (int i = 0; i <= 256; ++i) {
        const std::string& piece = i == 0 ? head : zeros;
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
        stream.avail_in = static_cast<uInt>(piece.size());
        ASSERT_EQ(::deflate(&stream, i == 256 ? Z_FINISH : Z_NO_FLUSH),
                  i == 256 ? Z_STREAM_END : Z_OK);
    }
    packed.resize(stream.total_out);
    ::deflateEnd(&stream);
    EXPECT_THAT(error_of(folder, "bomb.spz", packed), HasSubstr("more than a file"));
    // A file that declares four Gaussians and then never ends.
    EXPECT_THAT(error_of(folder, "bomb.ply", packed), ::testing::Not(HasSubstr("was read")));
}

class SogFolder {
  public:
    SogFolder() {
        fs::create_directories(folder_ / "sog");
        const auto written = write_splats(folder_ / "sog/meta.json", numbered_splats(40, 1, 3));
        EXPECT_TRUE(written);
        meta_ = bytes_of(folder_ / "sog/meta.json");
    }
    std::string error_with(const std::string& from, const std::string& to) const {
        std::string text = meta_;
        EXPECT_NE(text.find(from), std::string::npos) << from;
        text.replace(text.find(from), from.size(), to);
        return error_of(folder_, "sog/meta.json", text);
    }
    std::string error_with_image(const char* name, const std::string& bytes) const {
        const std::string whole = bytes_of(folder_ / "sog" / name);
        const std::string error = (folder_.write(fs::path("sog") / name, bytes),
                                   error_of(folder_, "sog/meta.json", meta_));
        folder_.write(fs::path("sog") / name, whole);
        return error;
    }
    const TempFolder& folder() const { return folder_; }
    const std::string& meta() const { return meta_; }

  private:
    TempFolder folder_;
    std::string meta_;
};

TEST(HostileSplats, SogThatLiesOrLeadsOutside) {
    const SogFolder sog;
    EXPECT_THAT(sog.error_with("\"count\":40", "\"count\":4000000000"),
                HasSubstr("more than a file"));
    EXPECT_THAT(sog.error_with("\"count\":40", "\"count\":1000000"), HasSubstr("pixels"));
    EXPECT_THAT(sog.error_with("\"count\":40", "\"count\":-1"),
                HasSubstr("count is not a whole number"));
    EXPECT_THAT(sog.error_with("\"count\":40", "\"count\":1e300"),
                HasSubstr("count is not a whole number"));
    EXPECT_THAT(sog.error_with("\"version\":2", "\"version\":3"), HasSubstr("version 3"));
    EXPECT_THAT(sog.error_with("\"bands\":1", "\"bands\":3"), HasSubstr("degree 3"));
    for (const char* name :
         {"../quats.webp", "/etc/passwd", "a/../../quats.webp", "..", "C:\\\\quats.webp"})
        EXPECT_THAT(sog.error_with("quats.webp", name), HasSubstr("names a file")) << name;
    EXPECT_THAT(sog.error_with("quats.webp", "gone.webp"), HasSubstr("gone.webp"));
    EXPECT_THAT(sog.error_with("\"codebook\":[", "\"codebook\":[\"x\","), HasSubstr("codebook"));
    std::string deep =
        "{\"means\":{\"files\":" + std::string(100000, '[') + std::string(100000, ']') + "}}";
    EXPECT_THAT(error_of(sog.folder(), "sog/meta.json", deep),
                ::testing::Not(HasSubstr("was read")));
}

TEST(HostileSplats, ImagesThatWouldFillTheMemory) {
    const SogFolder sog;
    // A lossless WebP that says it is 16383 x 16383, of 40 bytes.
    std::string bomb = "RIFF";
    const std::uint32_t size = 4 + 8 + 20, chunk = 20, sides = 16382u | 16382u << 14;
    bomb += with_number(std::string(4, '\0'), 0, size) + "WEBPVP8L" +
            with_number(std::string(4, '\0'), 0, chunk) + '\x2F';
    bomb += with_number(std::string(4, '\0'), 0, sides) + std::string(15, '\0');
    for (const char* image :
         {"means_l.webp", "quats.webp", "shN_labels.webp", "shN_centroids.webp"})
        EXPECT_THAT(sog.error_with_image(image, bomb), HasSubstr("16383 x 16383")) << image;
    // No image of 40 pixels has 10 MiB: it is refused before any memory is allocated.
    for (const char* image : {"means_l.webp", "shN_centroids.webp"})
        EXPECT_THAT(sog.error_with_image(image, std::string(10 << 20, '\0')), HasSubstr("accepted"))
            << image;
    EXPECT_THAT(sog.error_with_image("sh0.webp", ""), HasSubstr("WebP"));
    EXPECT_THAT(sog.error_with_image("sh0.webp", std::string(100, 'x')), HasSubstr("WebP"));
}

TEST(HostileSplats, ArchivesThatLie) {
    const TempFolder folder;
    ASSERT_TRUE(write_splats(folder / "m.sog", numbered_splats(40, 0, 3)));
    const std::string whole = bytes_of(folder / "m.sog");
    const std::size_t central = whole.find(std::string("PK\x01\x02", 4));
    ASSERT_NE(central, std::string::npos);
    EXPECT_THAT(error_of(folder, "m.sog", with_number(whole, central + 24, 0xFFFFFFF0u)),
                HasSubstr("accepted"));
    const std::string deflated = with_number<std::uint16_t>(whole, central + 10, 8);
    EXPECT_THAT(error_of(folder, "m.sog", deflated), HasSubstr("damaged"));
    EXPECT_THAT(error_of(folder, "m.sog", with_number(deflated, central + 24, 15u << 20)),
                HasSubstr("is too long"));
    EXPECT_THAT(error_of(folder, "m.sog", with_number<std::uint16_t>(whole, central + 8, 1)),
                HasSubstr("encrypted"));
    EXPECT_THAT(error_of(folder, "m.sog", with_number(whole, central + 42, 0xFFFFFF00u)),
                HasSubstr("after the end"));
    EXPECT_THAT(error_of(folder, "m.sog", with_number(whole, central + 16, 0u)),
                HasSubstr("checksum"));
    EXPECT_THAT(error_of(folder, "m.sog", with_number(whole, whole.size() - 10, 0xFFFFFF00u)),
                HasSubstr("directory"));
    EXPECT_THAT(
        error_of(folder, "m.sog", with_number<std::uint16_t>(whole, whole.size() - 12, 60000)),
        HasSubstr("directory"));
}

TEST(HostileSplats, DeflatedBundlesAreReadToo) {
    const TempFolder folder;
    ASSERT_TRUE(write_splats(folder / "m.sog", numbered_splats(40, 0, 3)));
    std::string whole = bytes_of(folder / "m.sog");
    // meta.json, the first entry, deflated by hand; the others move.
    const std::size_t data = 30 + 9;
    const std::uint32_t size = [&] {
        std::uint32_t n;
        std::memcpy(&n, whole.data() + 18, 4);
        return n;
    }();
    std::string packed(2 * size, '\0');
    z_stream stream{};
    ASSERT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(whole.data() + data);
    stream.avail_in = size;
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    ASSERT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
    packed.resize(stream.total_out);
    ::deflateEnd(&stream);
    packed.resize(size, '\0');  // padded, so that nothing moves
    whole.replace(data, size, packed);
    const std::size_t central = whole.find(std::string("PK\x01\x02", 4));
    whole = with_number<std::uint16_t>(whole, central + 10, 8);
    folder.write("d.sog", whole);
    const auto read = required(read_splats(folder / "d.sog"));
    EXPECT_EQ(read.model.count, 40u);
}

TEST(HostileSplats, AZippedFolderIsABundleToo) {
    const SogFolder sog;
    const fs::path bundle = sog.folder() / "d.sog";
    auto file = AtomicFile::create(bundle);
    ASSERT_TRUE(file);
    ZipWriter zip(*file);
    for (const auto& entry : fs::directory_iterator(sog.folder() / "sog")) {
        const auto bytes = read_file(entry.path());
        ASSERT_TRUE(zip.add("scene/" + entry.path().filename().string(), *bytes));
    }
    ASSERT_TRUE(zip.finish());
    ASSERT_TRUE(file->commit());
    EXPECT_TRUE(find_splats(bundle)->by_content);
    const auto read = required(read_splats(bundle));
    EXPECT_EQ(read.model.count, 40u);
}

TEST(HostileSplats, SetsOfLevelsThatLieOrLeadOutside) {
    const TempFolder folder;
    fs::create_directories(folder / "set/0_0");
    ASSERT_TRUE(write_splats(folder / "set/0_0/meta.json", numbered_splats(40, 1, 3)));
    const auto set = [&](const std::string& files, const std::string& leaf) {
        return "{\"lodLevels\":1,\"filenames\":[" + files + "],\"tree\":{\"lods\":{\"0\":" + leaf +
               "}}}";
    };
    const std::string good = "{\"file\":0,\"offset\":10,\"count\":30}";
    folder.write("set/lod-meta.json", set("\"0_0/meta.json\"", good));
    const auto read = required(read_splats(folder / "set"));
    EXPECT_EQ(read.model.count, 30u);
    for (const char* name : {"\"../set/0_0/meta.json\"", "\"/etc/passwd\"", "7",
                             "\"0_0/meta.json\",\"0_0/meta.json\""})
        EXPECT_THAT(error_of(folder, "set/lod-meta.json", set(name, good)),
                    ::testing::Not(HasSubstr("was read")))
            << name;
    for (const char* leaf :
         {"{\"file\":1,\"offset\":0,\"count\":1}", "{\"file\":0,\"offset\":39,\"count\":2}",
          "{\"file\":0,\"offset\":4000000000,\"count\":4000000000}",
          "{\"file\":0,\"offset\":-1,\"count\":1}", "{\"file\":0,\"offset\":0,\"count\":1e18}"})
        EXPECT_THAT(error_of(folder, "set/lod-meta.json", set("\"0_0/meta.json\"", leaf)),
                    ::testing::Not(HasSubstr("was read")))
            << leaf;
}

TEST(HostileSplats, ErrorsOfLevelsThatAreNone) {
    const TempFolder folder;
    fs::create_directories(folder / "0_0");
    ASSERT_TRUE(write_splats(folder / "0_0/meta.json", numbered_splats(40, 1, 3)));
    const auto set = [&](const std::string& header, const std::string& errors) {
        return "{\"lodLevels\":2," + header +
               "\"filenames\":[\"0_0/meta.json\"],\"tree\":{\"lods\":{"
               "\"0\":{\"file\":0,\"offset\":0,\"count\":30},"
               "\"1\":{\"file\":0,\"offset\":30,\"count\":10}}" +
               errors + "}}";
    };
    const std::string yes = "\"lodErrors\":true,", good = ",\"errors\":[0,0.25]";
    for (const auto& [header, errors] :
         {std::pair{yes, good}, {yes, std::string()}, {std::string(), good}}) {
        folder.write("lod-meta.json", set(header, errors));
        const auto read = read_level_set(folder / "lod-meta.json");
        EXPECT_TRUE(read) << header << errors;
    }
    for (const char* errors : {"[0]", "[0,0.25,1]", "[0,-0.25]", "[0,\"0.25\"]", "[0,null]",
                               "[0,[1]]", "0.25", "\"0,1\"", "{}", "true", "[]"})
        EXPECT_THAT(
            error_of(folder, "lod-meta.json", set(yes, std::string(",\"errors\":") + errors)),
            HasSubstr("\"errors\" of a leaf are not 2 numbers of at least 0"))
            << errors;
    for (const char* errors : {"[0,NaN]", "[0,1e999]", "[0,Infinity]"})
        EXPECT_THAT(
            error_of(folder, "lod-meta.json", set(yes, std::string(",\"errors\":") + errors)),
            ::testing::Not(HasSubstr("was read")))
            << errors;
    for (const char* header : {"\"yes\"", "1", "[true]"})
        EXPECT_THAT(error_of(folder, "lod-meta.json",
                             set("\"lodErrors\":" + std::string(header) + ",", good)),
                    HasSubstr("\"lodErrors\" is not true or false"))
            << header;
}

TEST(HostileSplats, GltfThatLies) {
    const TempFolder folder;
    ASSERT_TRUE(write_splats(folder / "m.gltf", numbered_splats(40, 0, 3)));
    const std::string whole = bytes_of(folder / "m.gltf");
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = whole;
        EXPECT_NE(text.find(from), std::string::npos) << from;
        text.replace(text.find(from), from.size(), to);
        return error_of(folder, "m.gltf", text);
    };
    EXPECT_THAT(with("\"count\":40", "\"count\":4000000000"), HasSubstr("accessor"));
    EXPECT_THAT(with("\"count\":40", "\"count\":41"), HasSubstr("accessor"));
    EXPECT_THAT(with("\"byteLength\":480", "\"byteLength\":18446744073709551615"),
                HasSubstr("accessor"));
    EXPECT_THAT(with("\"byteOffset\":0", "\"byteOffset\":281474976710656"), HasSubstr("accessor"));
    EXPECT_THAT(with("\"componentType\":5126", "\"componentType\":5124"), HasSubstr("accessor"));
    EXPECT_THAT(with("\"bufferView\":0", "\"bufferView\":99"), HasSubstr("accessor"));
    EXPECT_THAT(with("\"KHR_gaussian_splatting:SCALE\":3", "\"KHR_gaussian_splatting:SCALE\":4"),
                HasSubstr("SCALE"));
    EXPECT_THAT(with("m.bin", "gone.bin"), HasSubstr("gone.bin"));
    EXPECT_THAT(with("\"mesh\":0", "\"mesh\":7"), HasSubstr("no Gaussian splats"));
}

}  // namespace
}  // namespace gs::test
