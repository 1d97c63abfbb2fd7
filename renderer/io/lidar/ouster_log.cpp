// Ouster's packets into sweeps. The encoder's angle falls with the column: the scanner turns
// clockwise seen from above.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numbers>

#include "base/file.h"
#include "base/nth.h"
#include "base/try.h"
#include "renderer/io/lidar/ouster.h"

namespace gs {
namespace {

constexpr double kLongestSweep = 1;  // s: a column farther than this from the first has no clock

template <class T>
T value_at(const std::vector<std::byte>& bytes, std::size_t at) {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

struct OusterRecording {
    OusterSensor sensor;
    std::vector<Datagram> packets;                 ///< of this sensor
    std::vector<std::vector<std::size_t>> sweeps;  ///< indices of packets, by frame
};

/// Where a beam of a column starts and which way it goes, in sensor axes.
struct OusterRay {
    Vec3d origin, direction;
};
OusterRay ouster_ray(const OusterSensor& s, std::size_t beam, std::uint32_t column) {
    const double encoder = 2 * std::numbers::pi * (1 - static_cast<double>(column) / s.columns),
                 turn = encoder - s.azimuths[beam], flat = std::cos(s.altitudes[beam]);
    const Vec3d direction{std::cos(turn) * flat, std::sin(turn) * flat,
                          std::sin(s.altitudes[beam])};
    const Vec3d arm{s.beam_origin * std::cos(encoder), s.beam_origin * std::sin(encoder), 0};
    // Ranges count from the middle of the sensor, along the folded way.
    return {s.sensor_from_lidar * (arm - s.beam_origin * direction),
            s.sensor_from_lidar.rotation * direction};
}

struct ColumnTroubles {
    std::size_t invalid = 0, place = 0, clock = 0, twice = 0;
};

/// The newest column of each place of a sweep.
struct SweepColumns {
    std::vector<std::pair<std::size_t, std::size_t>> from;  ///< packet and byte; SIZE_MAX: none
    std::vector<std::uint64_t> clocks;
    ColumnTroubles bad;
};
SweepColumns columns_of(const OusterRecording& of, std::size_t index) {
    const OusterSensor& s = of.sensor;
    SweepColumns out{{s.columns, {SIZE_MAX, 0}}, {}, {}};
    for (const std::size_t p : of.sweeps[index])
        for (std::size_t c = 0; c < s.columns_per_packet; ++c) {
            const std::vector<std::byte>& bytes = of.packets[p].bytes;
            const std::size_t at = 32 + c * s.column_bytes();
            const auto column = value_at<std::uint16_t>(bytes, at + 8);
            if ((value_at<std::uint16_t>(bytes, at + 10) & 1) == 0) {
                ++out.bad.invalid;
            } else if (column >= s.columns) {
                ++out.bad.place;
            } else {
                out.bad.twice += out.from[column].first != SIZE_MAX ? 1 : 0;
                out.from[column] = {p, at};
                out.clocks.push_back(value_at<std::uint64_t>(bytes, at));
            }
        }
    return out;
}

Vec3f narrowed(const Vec3d& v) {
    return {static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)};
}

/// The beams of one column; `time`: seconds from the sweep's.
void add_beams(const OusterSensor& s, const std::vector<std::byte>& bytes, std::size_t at,
               std::uint32_t column, double time, std::vector<LidarBeam>& out) {
    for (std::size_t beam = 0; beam < s.beams; ++beam) {
        const std::size_t word = at + 12 + beam * s.profile->bytes;
        const OusterRay ray = ouster_ray(s, beam, column);
        out.push_back(
            {.origin = narrowed(ray.origin),
             .direction = narrowed(ray.direction),
             .range =
                 static_cast<float>(s.profile->range_unit *
                                    (value_at<std::uint32_t>(bytes, word) & s.profile->range_mask)),
             .intensity = static_cast<float>(bytes[word + s.profile->reflectivity]) / 255.0f,
             .time = static_cast<float>(time),
             .row = static_cast<std::uint16_t>(beam),
             .column = static_cast<std::uint16_t>(column)});
    }
}

Result<LidarSweep> ouster_sweep(const OusterRecording& of, std::size_t index, std::string name) {
    const OusterSensor& s = of.sensor;
    LidarSweep out{.name = std::move(name), .rows = s.beams, .columns = s.columns};
    auto [from, clocks, bad] = columns_of(of, index);
    if (clocks.empty())
        return fail(ErrorKind::malformed, out.name, "has no column that the sensor marks valid");
    const std::uint64_t middle = upper_median(clocks);
    out.time = 1e-9 * static_cast<double>(middle);
    for (std::uint32_t column = 0; column < s.columns; ++column) {
        const auto [p, at] = from[column];
        if (p == SIZE_MAX) continue;
        const std::vector<std::byte>& bytes = of.packets[p].bytes;
        // Whole nanoseconds: their difference is exact.
        const double time = 1e-9 * static_cast<double>(static_cast<std::int64_t>(
                                       value_at<std::uint64_t>(bytes, at) - middle));
        if (std::abs(time) <= kLongestSweep)
            add_beams(s, bytes, at, column, time, out.beams);
        else
            ++bad.clock;
    }
    const auto note = [&](std::size_t n, const char* what) {
        if (n > 0) out.notes.push_back(fmt::format("{} columns {}", n, what));
    };
    note(bad.invalid, "are marked invalid by the sensor");
    note(bad.place, "are beyond one revolution: skipped");
    note(bad.clock, "have a clock over 1 s away from the sweep's: skipped");
    note(bad.twice, "came twice: the later one is used");
    return out;
}

// Packets of one frame id stand near each other, in whatever order; the same id long after is that
// of another frame.
void group_packets(OusterRecording& of) {
    struct Open {
        std::size_t sweep, last;
    };
    std::map<std::uint16_t, Open> open;
    const std::size_t a_sweep = of.sensor.columns / of.sensor.columns_per_packet + 1;
    for (std::size_t i = 0; i < of.packets.size(); ++i) {
        const auto id = value_at<std::uint16_t>(of.packets[i].bytes, 2);
        const auto it = open.find(id);
        if (it == open.end() || i - it->second.last > 4 * a_sweep) {
            open[id] = {of.sweeps.size(), i};
            of.sweeps.emplace_back();
        }
        open[id].last = i;
        of.sweeps[open[id].sweep].push_back(i);
    }
}

void keep_packets(std::vector<Datagram> all, OusterRecording& of, LidarLog& log) {
    const OusterSensor& s = of.sensor;
    std::size_t length = 0, other = 0;
    for (Datagram& d : all) {
        if (s.lidar_port != 0 ? d.port != s.lidar_port : d.bytes.size() != s.packet_bytes())
            continue;
        const bool whole = d.bytes.size() == s.packet_bytes();
        if (!whole) {
            ++length;
        } else if (s.init_id != 0 &&
                   (value_at<std::uint32_t>(d.bytes, 4) & 0xFFFFFF) != s.init_id) {
            ++other;
        } else {
            of.packets.push_back(std::move(d));
        }
    }
    if (length > 0)
        log.skipped.push_back(
            fmt::format("{} lidar packets are not {} bytes long, as the metadata says", length,
                        s.packet_bytes()));
    if (other > 0)
        log.skipped.push_back(
            fmt::format("{} packets come from another start of the sensor, or another sensor, than "
                        "the metadata",
                        other));
}

fs::path ouster_metadata_of(const fs::path& pcap) {
    std::error_code ignored;
    fs::path beside = pcap;
    if (fs::is_regular_file(beside.replace_extension(".json"), ignored)) return beside;
    fs::path only;
    const fs::path folder = pcap.parent_path().empty() ? fs::path(".") : pcap.parent_path();
    for (auto it = fs::directory_iterator(folder, ignored); it != fs::end(it);
         it.increment(ignored))
        if (is_ouster_metadata(it->path())) {
            if (!only.empty()) return {};
            only = it->path();
        }
    return only;
}

// Poses in KITTI's form, one a sweep: "NAME_poses_kitti.txt" or "poses.txt".
Result<void> find_poses(const fs::path& pcap, LidarLog& log) {
    const fs::path folder = pcap.parent_path();
    for (const fs::path& path :
         {folder / (pcap.stem().string() + "_poses_kitti.txt"), folder / "poses.txt"}) {
        if (!file_exists(path)) continue;
        GS_TRY(const auto poses, read_kitti_poses(path, log.notes));
        std::vector<TimedPose> timed;
        for (std::size_t i = 0; i < std::min(poses.size(), log.sweeps.size()); ++i)
            if (poses[i]) timed.push_back({log.sweeps[i].time, *poses[i]});
        if (poses.size() != log.sweeps.size())
            log.notes.push_back(fmt::format("{}: {} poses for {} sweeps", path.filename().string(),
                                            poses.size(), log.sweeps.size()));
        log.world_from_sensor = Trajectory(timed);
        log.posed = !timed.empty();
        return {};
    }
    log.posed = false;
    return {};
}

}  // namespace

fs::path find_ouster(const fs::path& path) {
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) return path.extension() == ".pcap" ? path : fs::path();
    fs::path first;
    for (auto it = fs::directory_iterator(path, ignored); it != fs::end(it); it.increment(ignored))
        if (it->path().extension() == ".pcap" && (first.empty() || it->path() < first))
            first = it->path();
    return first;
}

Result<LidarLog> open_ouster(const fs::path& pcap) {
    const fs::path metadata = ouster_metadata_of(pcap);
    if (metadata.empty())
        return fail(ErrorKind::not_found, pcap.string(),
                    "has no metadata beside it: neither a .json of its name nor any single .json",
                    "an Ouster recording is a .pcap and the sensor's metadata");
    auto recording = std::make_shared<OusterRecording>();
    GS_TRY(recording->sensor, read_ouster_metadata(metadata));
    PcapReport report;
    GS_TRY(auto all, read_pcap(pcap, report));
    LidarLog log{.format = "Ouster " + recording->sensor.product, .path = pcap};
    keep_packets(std::move(all), *recording, log);
    if (recording->packets.empty())
        return fail(ErrorKind::malformed, pcap.string(),
                    fmt::format("none of its {} packets is from this sensor", report.packets),
                    fmt::format("UDP port {}, {} bytes each, by {}", recording->sensor.lidar_port,
                                recording->sensor.packet_bytes(), metadata.filename().string()));
    if (report.cut) log.notes.push_back("the recording ends inside a packet");
    if (report.fragments_lost > 0)
        log.notes.push_back(
            fmt::format("fragments of {} datagrams are missing: skipped", report.fragments_lost));
    group_packets(*recording);
    std::vector<std::vector<std::size_t>> kept;
    double latest = -1;
    for (std::size_t i = 0; i < recording->sweeps.size(); ++i) {
        const auto id =
            value_at<std::uint16_t>(recording->packets[recording->sweeps[i].front()].bytes, 2);
        const std::string name = fmt::format("frame {}", id);
        const auto sweep = ouster_sweep(*recording, i, name);
        if (!sweep || !(sweep->time > latest)) {
            log.skipped.push_back(
                name + (sweep ? ": the clock runs backwards" : ": " + sweep.error().message));
            continue;
        }
        latest = sweep->time;
        log.sweeps.push_back({name, latest});
        kept.push_back(recording->sweeps[i]);
    }
    if (kept.empty())
        return fail(ErrorKind::malformed, pcap.string(), "has no usable revolution of the sensor",
                    log.skipped.empty() ? "" : log.skipped.front());
    recording->sweeps = std::move(kept);
    GS_TRY_VOID(find_poses(pcap, log));
    log.read = [recording, names = log.sweeps](std::size_t i) {
        return ouster_sweep(*recording, i, names[i].name);
    };
    return log;
}

}  // namespace gs
