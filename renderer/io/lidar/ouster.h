// Ouster's lidars: the metadata JSON that comes with a recording (old flat form and the newer one
// in groups), and what a packet means by it. Used by ouster_log.cpp. Source: Ouster's software user
// manual (sensor metadata, lidar packet format) and its coordinate frames.
#pragma once

#include <cstddef>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/io/lidar/lidar_log.h"

namespace gs {

/// Layout of one beam's measurement in a column. Bytes from its beginning.
struct OusterProfile {
    const char* name;
    std::size_t bytes, reflectivity;
    std::uint32_t range_mask;
    double range_unit;  ///< m
};

struct OusterSensor {
    std::string product, serial;
    std::uint32_t init_id = 0;  ///< 0: unknown
    std::uint32_t columns = 0, beams = 0, columns_per_packet = 0;
    int lidar_port = 0;                       ///< UDP; 0: any
    std::vector<double> altitudes, azimuths;  ///< radians, top beam first
    double beam_origin = 0;                   ///< m from the middle to where beams begin
    Pose sensor_from_lidar;                   ///< m
    const OusterProfile* profile = nullptr;

    std::size_t column_bytes() const { return 12 + beams * profile->bytes; }
    std::size_t packet_bytes() const { return 32 + columns_per_packet * column_bytes() + 32; }
};

/// Errors: unreadable; malformed (missing fields, counts that do not fit each other, angles of
/// nothing); unsupported, a packet profile that is not read.
Result<OusterSensor> read_ouster_metadata(const fs::path& path);
bool is_ouster_metadata(const fs::path& path);

/// A .pcap with its metadata beside it (same stem, or the only one there), or a folder with one;
/// empty if none.
fs::path find_ouster(const fs::path& path);
/// Errors: no metadata; neither file as it must be; no packet of this sensor.
Result<LidarLog> open_ouster(const fs::path& pcap);

/// A UDP datagram of a recording, put together from its IP fragments.
struct Datagram {
    double time = 0;  ///< s, the recorder's clock
    int port = 0;     ///< where it was sent
    std::vector<std::byte> bytes;
};
/// What of a recording is no datagram.
struct PcapReport {
    std::size_t packets = 0, other = 0, fragments_lost = 0;
    bool cut = false;  ///< the file ends inside a packet
};
/// All datagrams of a .pcap file, in its order. Errors: not a pcap of Ethernet frames.
Result<std::vector<Datagram>> read_pcap(const fs::path& path, PcapReport& report);

}  // namespace gs
