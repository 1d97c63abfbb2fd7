// The mutator over every parser of lidars and drives.
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/lidar/lidar_log.h"
#include "tests/unit/io_files.h"
#include "tests/unit/io_mutator.h"

namespace gs::test {
namespace {

/// Whatever comes out can be read, and every number that is used is one.
bool readable(const fs::path& path) {
    const auto log = open_lidar_log(path);
    if (!log) {
        EXPECT_FALSE(log.error().message.empty());
        return false;
    }
    for (std::size_t i = 0; i < log->sweeps.size(); ++i) {
        const auto sweep = log->read(i);
        if (!sweep) continue;
        for (const LidarBeam& b : sweep->beams) {
            EXPECT_TRUE(b.range >= 0 && b.range < 2000) << b.range;
            EXPECT_TRUE(b.column < sweep->columns) << b.column;
        }
    }
    return true;
}

const char* const kMetadata =
    "{\"beam_altitude_angles\": [10, -10], \"beam_azimuth_angles\": [1, -1], "
    "\"lidar_origin_to_beam_origin_mm\": 15.8, \"lidar_to_sensor_transform\": "
    "[-1,0,0,0,0,-1,0,0,0,0,1,36.18,0,0,0,1], \"prod_line\": \"OS-1-2\", "
    "\"data_format\": {\"pixels_per_column\": 2, \"columns_per_frame\": 4, "
    "\"columns_per_packet\": 2, \"udp_profile_lidar\": \"RNG15_RFL8_NIR8\"}}";

std::string small_recording() {
    Packer out;
    out.add(0xA1B2C3D4u).add(0x00040002u).add(0u).add(0u).add(65535u).add(1u);
    for (std::uint16_t packet = 0; packet < 4; ++packet) {
        Packer lidar;
        lidar.add(std::uint16_t{1}).add(static_cast<std::uint16_t>(packet / 2));
        lidar.bytes.resize(32);
        for (std::uint16_t column = 0; column < 2; ++column) {
            lidar.add(std::uint64_t{1000u * (2u * packet + column)})
                .add(static_cast<std::uint16_t>(packet % 2 * 2 + column))
                .add(std::uint16_t{1});
            for (int beam = 0; beam < 2; ++beam) lidar.add(std::uint32_t{0x00400500});
        }
        lidar.bytes.resize(lidar.bytes.size() + 32);
        const auto size = static_cast<std::uint16_t>(lidar.bytes.size());
        const auto big = [](std::uint16_t v) {
            return static_cast<std::uint16_t>(v << 8 | v >> 8);
        };
        Packer frame;
        frame.bytes = std::string(12, '\2');
        frame.add(big(0x0800)).add(std::uint16_t{0x0045});
        frame.add(big(static_cast<std::uint16_t>(size + 28)))
            .add(std::uint32_t{0})
            .add(std::uint16_t{0x1140})
            .add(std::uint16_t{0})
            .add(std::uint64_t{0})
            .add(std::uint16_t{0})
            .add(big(7502))
            .add(big(static_cast<std::uint16_t>(size + 8)))
            .add(std::uint16_t{0});
        frame.bytes += lidar.bytes;
        const auto whole = static_cast<std::uint32_t>(frame.bytes.size());
        out.add(packet + 0u).add(0u).add(whole).add(whole);
        out.bytes += frame.bytes;
    }
    return out.bytes;
}

TEST(Fuzz, OusterRecording) {
    const TempFolder folder;
    folder.write("r.json", kMetadata);
    folder.write("r.pcap", small_recording());
    const auto whole = required(open_lidar_log(folder.path()));
    ASSERT_EQ(whole.sweeps.size(), 2u);
    EXPECT_EQ(whole.read(1)->beams.size(), 8u);
    hammer(small_recording(), 1500, [&](const std::string& bytes) {
        folder.write("r.pcap", bytes);
        return readable(folder.path());
    });
}

TEST(Fuzz, OusterMetadata) {
    const TempFolder folder;
    folder.write("r.pcap", small_recording());
    hammer(kMetadata, 1500, [&](const std::string& bytes) {
        folder.write("r.json", bytes);
        return readable(folder.path());
    });
}

TEST(Fuzz, KittiDrive) {
    const TempFolder folder;
    Packer points;
    for (const float x : {5.0f, 6.0f, 7.0f}) points.add(x).add(1.0f).add(0.1f).add(0.5f);
    const std::pair<const char*, std::string> parts[] = {
        {"sequences/00/velodyne/000000.bin", points.bytes},
        {"sequences/00/calib.txt",
         "P2: 40 0 24 2.4 0 40 12 0 0 0 1 0\nTr: 0 -1 0 0 0 0 -1 0 1 0 0 0\n"},
        {"sequences/00/times.txt", "0.0\n0.1\n"},
        {"poses/00.txt", "1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 1 1\n"}};
    for (const char* name : {"000000.png", "000001.png"})
        put_png(folder / (std::string("sequences/00/image_2/") + name), pattern(12, 8, 3));
    const CaptureOptions options{.threads = 1};
    for (const auto& [name, whole] : parts) {
        for (const auto& [other, content] : parts) folder.write(other, content);
        ASSERT_TRUE(readable(folder.path()));
        hammer(whole, 300, [&](const std::string& bytes) {
            folder.write(name, bytes);
            const auto capture = load_capture(folder.path(), options);
            for (const View& view : capture ? capture->views : std::vector<View>())
                EXPECT_TRUE(view.camera.valid());
            return readable(folder.path());
        });
    }
    // Places farther away than whole numbers reach.
    folder.write("poses/00.txt", "1 0 0 1e22 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 -1e22 0 0 1 1\n");
    EXPECT_TRUE(readable(folder.path()));
}

TEST(Fuzz, NuscenesSample) {
    const TempFolder folder;
    put_png(folder / "a.png", pattern(12, 8, 3));
    Packer points;
    for (const float x : {5.0f, 6.0f, 7.0f}) points.add(x).add(1.0f).add(0.1f).add(9.0f).add(3.0f);
    folder.write("l.bin", points.bytes);
    const std::string whole =
        "{\"timestamp\": 1.5, \"lidar\": {\"file\": \"l.bin\"}, \"cameras\": {\"CAM\": "
        "{\"image\": \"a.png\", \"width\": 12, \"height\": 8, \"K\": [[9,0,6],[0,9,4],[0,0,1]], "
        "\"lidar2cam\": [[0,-1,0,0],[0,0,-1,0],[1,0,0,0],[0,0,0,1]]}}}";
    folder.write("sample.json", whole);
    ASSERT_TRUE(readable(folder.path()));
    const CaptureOptions options{.threads = 1};
    const std::pair<const char*, std::string> parts[] = {{"l.bin", points.bytes},
                                                         {"sample.json", whole}};
    for (const auto& [name, content] : parts) {
        hammer(content, 1000, [&, name = name](const std::string& bytes) {
            folder.write(name, bytes);
            const auto capture = load_capture(folder.path(), options);
            return readable(folder.path()) && capture.has_value();
        });
        folder.write(name, content);
    }
}

}  // namespace
}  // namespace gs::test
