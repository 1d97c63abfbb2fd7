// Sweeps of lidars: decoded Ouster packets against stored values, damaged recordings, KITTI's and
// nuScenes' points, trajectories.
#include <cmath>
#include <cstring>
#include <numbers>

#include "renderer/io/lidar/kitti.h"
#include "renderer/io/lidar/ouster.h"
#include "tests/support/data.h"
#include "tests/support/npz.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

constexpr const char* kRecording = "lidar/ouster/os1_128_1024x10.pcap";

std::string bytes_of(const fs::path& path) { return *read_text_file(path); }
/// A recording and its metadata, spoilt or not, in a folder of their own.
Result<LidarLog> reopened(const TempFolder& folder, const std::string& pcap,
                          const std::string& metadata) {
    folder.write("r.pcap", pcap);
    folder.write("r.json", metadata);
    return open_lidar_log(folder / "r.pcap");
}
bool mentions(const std::vector<std::string>& lines, const char* words) {
    for (const std::string& line : lines)
        if (line.find(words) != std::string::npos) return true;
    return false;
}

TEST(Ouster, DecodesWhatIsStored) {
    GS_NEED_DATA(kRecording);
    const Arrays stored = load_npz(data_path("lidar/ouster/os1_128_decoded.npz"));
    const auto log = required(open_lidar_log(data_path(kRecording)));
    EXPECT_EQ(log.format, "Ouster OS-1-128");
    EXPECT_TRUE(log.posed);
    EXPECT_TRUE(log.skipped.empty());
    ASSERT_EQ(log.sweeps.size(), 3u);
    for (std::size_t k = 0; k < 3; ++k) {
        const auto sweep = log.read(k);
        ASSERT_TRUE(sweep);
        ASSERT_EQ(sweep->beams.size(), 128u * 1024u);
        const std::string f = "f" + std::to_string(k) + "_";
        const Array &range = stored[f + "range_mm"], &reflectivity = stored[f + "reflectivity"],
                    &xyz = stored[f + "xyz"], &clock = stored[f + "timestamp_ns"];
        std::size_t wrong = 0;
        double farthest_off = 0, clock_off = 0;
        for (const LidarBeam& b : sweep->beams) {
            const std::size_t at = b.row * 1024u + b.column;
            wrong += std::lround(1000.0 * static_cast<double>(b.range)) != std::lround(range[at]) ||
                     std::lround(255.0 * static_cast<double>(b.intensity)) !=
                         std::lround(reflectivity[at]);
            clock_off = std::max(clock_off, std::abs(sweep->time + static_cast<double>(b.time) -
                                                     1e-9 * clock[b.column]));
            if (!b.hit()) continue;
            const Vec3f p = b.origin + b.range * b.direction;
            for (std::size_t c = 0; c < 3; ++c)
                farthest_off = std::max(
                    farthest_off, std::abs(xyz[3 * at + c] - static_cast<double>(c == 0   ? p.x
                                                                                 : c == 1 ? p.y
                                                                                          : p.z)));
        }
        EXPECT_EQ(wrong, 0u);
        EXPECT_LT(farthest_off, 3e-5);
        EXPECT_LT(clock_off, 1e-6);
    }
}

TEST(Ouster, MetadataThatLiesIsRefused) {
    GS_NEED_DATA(kRecording);
    const std::pair<const char*, const char*> hostile[] = {
        {"all_zeros", "same altitude"},
        {"garbled", "mixes"},
        {"incomplete_data_format", "columns_per_frame"},
        {"beam_count", "pixels_per_column"}};
    for (const auto& [name, says] : hostile) {
        const auto read =
            read_ouster_metadata(data_path(std::string("lidar/ouster/hostile_") + name + ".json"));
        ASSERT_FALSE(read) << name;
        EXPECT_NE(read.error().message.find(says), std::string::npos) << read.error().text();
    }
    const TempFolder folder;
    std::string metadata = bytes_of(data_path("lidar/ouster/os1_128_1024x10.json"));
    metadata.replace(metadata.find("RNG15_RFL8_NIR8"), 15, "LEGACY_RFL8_NI8");
    folder.write("m.json", metadata);
    const auto other = read_ouster_metadata(folder / "m.json");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().kind, ErrorKind::unsupported);
}

struct Packet {
    std::size_t at, size;  ///< with the recorder's 16 bytes
};
std::vector<Packet> lidar_packets(const std::string& pcap) {
    std::vector<Packet> out;
    for (std::size_t at = 24; at + 16 <= pcap.size();) {
        std::uint32_t size = 0;
        std::memcpy(&size, pcap.data() + at + 8, 4);
        if (size > 8000) out.push_back({at, size + 16});
        at += 16 + size;
    }
    return out;
}

TEST(Ouster, DamagedRecordingsLoseOnlyWhatIsDamaged) {
    GS_NEED_DATA(kRecording);
    const TempFolder folder;
    const std::string pcap = bytes_of(data_path(kRecording)),
                      metadata = bytes_of(data_path("lidar/ouster/os1_128_1024x10.json"));
    const auto packets = lidar_packets(pcap);
    ASSERT_EQ(packets.size(), 192u);

    const auto cut = required(reopened(folder, pcap.substr(0, packets[100].at + 900), metadata));
    EXPECT_EQ(cut.sweeps.size(), 2u);
    EXPECT_FALSE(cut.posed);
    EXPECT_TRUE(mentions(cut.notes, "ends inside"));
    EXPECT_EQ(cut.read(1)->beams.size(), 36u * 16u * 128u);

    // Two packets of neighbouring turns change places: nothing is lost.
    std::string turned = pcap;
    turned.replace(packets[63].at, packets[63].size, pcap.substr(packets[64].at, packets[64].size));
    turned.replace(packets[64].at, packets[64].size, pcap.substr(packets[63].at, packets[63].size));
    const auto swapped = required(reopened(folder, turned, metadata));
    ASSERT_EQ(swapped.sweeps.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(swapped.read(i)->beams.size(), 128u * 1024u);

    // A clock that jumps by an hour in one column, a column beyond the turn, a foreign packet.
    std::string spoilt = pcap;
    const std::size_t packet = packets[10].at + 16 + 42, column = packet + 32;
    std::uint64_t clock = 0;
    std::memcpy(&clock, spoilt.data() + column, 8);
    clock += 3'600'000'000'000;
    std::memcpy(spoilt.data() + column, &clock, 8);
    const std::uint16_t beyond = 4000;
    std::memcpy(spoilt.data() + column + 12 + 512 + 8, &beyond, 2);
    spoilt[packets[20].at + 16 + 42 + 4] ^= 1;
    const auto kept = required(reopened(folder, spoilt, metadata));
    const auto sweep = kept.read(0);
    EXPECT_TRUE(mentions(sweep->notes, "1 columns have a clock"));
    EXPECT_TRUE(mentions(sweep->notes, "1 columns are beyond"));
    EXPECT_TRUE(mentions(kept.skipped, "1 packets come from another start"));
    EXPECT_EQ(sweep->beams.size(), (1024u - 2 - 16) * 128u);

    const auto none = reopened(folder, pcap.substr(0, 24), metadata);
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("none of its 0 packets"), std::string::npos);
    EXPECT_FALSE(reopened(folder, "not a recording at all, and that", metadata));
}

/// The datagram of one frame, cut into IP fragments that come in the order given.
std::string fragmented(const std::string& frame, std::vector<std::size_t> order) {
    constexpr std::size_t kPiece = 1480;
    const std::string udp = frame.substr(34);
    std::string out;
    for (const std::size_t k : order) {
        const std::string piece = udp.substr(k * kPiece, kPiece);
        std::string ip = frame.substr(0, 34);
        const std::size_t total = 20 + piece.size(),
                          flags = k * kPiece / 8 |
                                  ((k + 1) * kPiece < udp.size() ? std::size_t{0x2000} : 0);
        ip[16] = static_cast<char>(total >> 8), ip[17] = static_cast<char>(total);
        ip[20] = static_cast<char>(flags >> 8), ip[21] = static_cast<char>(flags);
        Packer head;
        head.add(std::uint32_t{0}).add(std::uint32_t{0});
        const auto size = static_cast<std::uint32_t>(ip.size() + piece.size());
        out += head.add(size).add(size).bytes + ip + piece;
    }
    return out;
}

TEST(Ouster, DatagramsAreJoinedFromFragments) {
    GS_NEED_DATA(kRecording);
    const TempFolder folder;
    const std::string pcap = bytes_of(data_path(kRecording));
    const Packet one = lidar_packets(pcap)[5];
    const std::string frame = pcap.substr(one.at + 16, one.size - 16);
    folder.write("f.pcap", pcap.substr(0, 24) + fragmented(frame, {0, 2, 1, 5, 4, 3}) +
                               fragmented(frame, {0, 1}));
    PcapReport report;
    const auto datagrams = required(read_pcap(folder / "f.pcap", report));
    ASSERT_EQ(datagrams.size(), 1u);
    EXPECT_EQ(datagrams[0].port, 7502);
    ASSERT_EQ(datagrams[0].bytes.size(), 8448u);
    EXPECT_EQ(std::memcmp(datagrams[0].bytes.data(), frame.data() + 42, 8448), 0);
    EXPECT_EQ(report.fragments_lost, 1u);
}

TEST(PointFiles, LosesOnlyWhatIsNoPoint) {
    const TempFolder folder;
    Packer points;
    for (const float x : {5.0f, std::nanf(""), 0.0f, 1e30f, 8.0f})
        points.add(x).add(0.0f).add(0.0f).add(0.5f);
    folder.write("a.bin", points.bytes + "abc");
    const auto sweep = required(read_point_file(folder / "a.bin", {}));
    ASSERT_EQ(sweep.beams.size(), 2u);
    EXPECT_FLOAT_EQ(sweep.beams[1].range, 8);
    EXPECT_TRUE(mentions(sweep.notes, "3 of 5 points"));
    EXPECT_TRUE(mentions(sweep.notes, "ends inside a point"));
    folder.write("b.bin", "");
    EXPECT_FALSE(read_point_file(folder / "b.bin", {}));
    folder.write("c.bin", std::string(32, '\0'));
    const auto nothing = read_point_file(folder / "c.bin", {});
    ASSERT_FALSE(nothing);
    EXPECT_NE(nothing.error().message.find("none of its 2 points"), std::string::npos);
}

TEST(PointFiles, RowsAndTimesOfASpinningScanner) {
    GS_NEED_DATA("captures/kitti_drive/sequences/00/velodyne");
    const auto log = required(open_lidar_log(data_path("captures/kitti_drive")));
    ASSERT_EQ(log.sweeps.size(), 32u);
    EXPECT_NEAR(log.world_from_sensor.length(), 6.44, 0.02);
    const auto sweep = log.read(16);
    ASSERT_TRUE(sweep);
    EXPECT_EQ(sweep->rows, 64u);
    std::vector<double> elevation(64), count(64);
    for (const LidarBeam& b : sweep->beams) {
        elevation[b.row] += std::asin(static_cast<double>(b.direction.z));
        ++count[b.row];
        const double beta =
            std::atan2(static_cast<double>(b.direction.y), static_cast<double>(b.direction.x));
        EXPECT_NEAR(static_cast<double>(b.time), -beta / (2 * std::numbers::pi) * 0.1, 1e-6);
    }
    for (std::size_t row = 1; row < 64; ++row) {
        ASSERT_GT(count[row], 400);
        EXPECT_LT(elevation[row] / count[row], elevation[row - 1] / count[row - 1]) << row;
    }
}

TEST(Trajectories, GoOnAndLeaveOutClocksThatRunBack) {
    const auto at = [](double time, double x) {
        return TimedPose{time, {rotation_from_quat({1, 0, 0, 0.1 * x}), {x, 0, 0}}};
    };
    std::size_t left_out = 0;
    const Trajectory path({at(1, 0), at(2, 1), at(1.5, 9), at(3, 3), at(std::nan(""), 4)},
                          &left_out);
    EXPECT_EQ(left_out, 2u);
    EXPECT_DOUBLE_EQ(path.length(), 3);
    EXPECT_NEAR(path.at(1.25).translation.x, 0.25, 1e-12);
    EXPECT_NEAR(path.at(3.5).translation.x, 4, 1e-12);
    EXPECT_NEAR(path.at(99).translation.x, 5, 1e-12);  // no farther than a piece
    EXPECT_NEAR(path.at(0.5).translation.x, -0.5, 1e-12);
    EXPECT_EQ(Trajectory().at(7).translation.x, 0);
    const Pose pose = path.at(2.5), back = inverse_of(pose) * pose;
    EXPECT_NEAR(back.translation.x, 0, 1e-12);
    EXPECT_NEAR(back.rotation.m[0][1], 0, 1e-12);
}

}  // namespace
}  // namespace gs::test
