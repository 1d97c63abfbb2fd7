#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>

#include "base/try.h"
#include "renderer/io/files/text_reader.h"
#include "renderer/io/lidar/lidar_log.h"
#include "renderer/scene/beam_angles.h"

namespace gs {
namespace {

constexpr double kNearestReturn = 0.1, kFarthestReturn = 1000;  // m
constexpr std::uint64_t kMostPointBytes = 1ull << 30;

// Scanners write ring after ring, from the top, each with the azimuth rising from the view ahead:
// where it comes back to that a ring begins.
void rows_from_order(LidarSweep& sweep) {
    std::uint32_t row = 0;
    double before = 0;
    for (LidarBeam& beam : sweep.beams) {
        const double azimuth = std::atan2(beam.direction.y, beam.direction.x);
        if (before < 0 && azimuth >= 0) ++row;
        before = azimuth;
        beam.row = static_cast<std::uint16_t>(std::min(row, 65535u));
    }
}

// Points in any other order: rows of equal steps of elevation.
void rows_from_elevations(LidarSweep& sweep) {
    double low = 10, high = -10;
    for (const LidarBeam& b : sweep.beams) {
        const double sine = std::clamp(static_cast<double>(b.direction.z), -1.0, 1.0);
        low = std::min(low, std::asin(sine));
        high = std::max(high, std::asin(sine));
    }
    const double step = std::max((high - low) / sweep.rows, 1e-9);
    for (LidarBeam& b : sweep.beams) {
        const double sine = std::clamp(static_cast<double>(b.direction.z), -1.0, 1.0);
        b.row = static_cast<std::uint16_t>(
            std::clamp((high - std::asin(sine)) / step, 0.0, sweep.rows - 1.0));
    }
}

bool add_point(const float* record, const PointFile& form, LidarSweep& sweep) {
    const Vec3d p{record[0], record[1], record[2]};
    const double range = std::sqrt(dot(p, p));
    if (!(range >= kNearestReturn && range <= kFarthestReturn)) return false;  // also NaN
    LidarBeam beam{.range = static_cast<float>(range)};
    const Vec3d d = (1 / range) * p;
    beam.direction = {static_cast<float>(d.x), static_cast<float>(d.y), static_cast<float>(d.z)};
    const float intensity = record[3] / form.full_intensity;
    beam.intensity = std::isfinite(intensity) ? std::clamp(intensity, 0.0f, 1.0f) : 0;
    const double share = -std::atan2(d.y, d.x) / (2 * std::numbers::pi);  // of a turn, clockwise
    beam.time = static_cast<float>(form.turn * share);
    beam.column = static_cast<std::uint16_t>(
        std::clamp((share + 0.5) * form.columns, 0.0, form.columns - 1.0));
    if (form.rings) {
        const double ring = std::isfinite(record[4]) ? static_cast<double>(record[4]) : 0;
        beam.row =
            static_cast<std::uint16_t>(form.rows - 1 - std::clamp(ring, 0.0, form.rows - 1.0));
    }
    sweep.beams.push_back(beam);
    return true;
}

}  // namespace

Result<LidarSweep> read_point_file(const fs::path& path, const PointFile& form) {
    GS_TRY(const auto bytes, read_file(path, kMostPointBytes));
    const std::size_t size = form.floats * sizeof(float), count = bytes.size() / size;
    if (count == 0)
        return fail_at_byte(path.string(), bytes.size(), "is not a sweep: it has no whole point",
                            "the file is cut or empty; copy it again");
    LidarSweep out{.name = path.filename().string(), .rows = form.rows, .columns = form.columns};
    out.beams.reserve(count);
    std::size_t bad = 0;
    float record[8]{};
    for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(record, bytes.data() + i * size, std::min(size, sizeof record));
        bad += add_point(record, form, out) ? 0 : 1;
    }
    if (out.beams.empty())
        return fail(ErrorKind::malformed, path.string(),
                    fmt::format("none of its {} points has a usable distance", count),
                    fmt::format("records of {} float32 are expected", form.floats));
    if (bad > 0)
        out.notes.push_back(fmt::format(
            "{} of {} points are not finite, or nearer than 0.1 m or farther than 1 km: skipped",
            bad, count));
    if (bytes.size() % size != 0)
        out.notes.push_back("the file ends inside a point: the last one is skipped");
    if (form.rings) return out;
    rows_from_order(out);
    if (const std::uint32_t rings = out.beams.back().row + 1u; rings > form.rows + form.rows / 4) {
        rows_from_elevations(out);
        out.notes.push_back("points are not stored ring by ring: rows are steps of elevation");
    } else {
        out.rows = std::max(form.rows, rings);
    }
    return out;
}

Result<std::vector<std::optional<Pose>>> read_kitti_poses(const fs::path& path,
                                                          std::vector<std::string>& notes) {
    GS_TRY(const std::string text, read_text_file(path, 1ull << 30));
    std::vector<std::optional<Pose>> out;
    LineReader lines(text);
    std::size_t bad = 0;
    std::uint64_t first_bad = 0;
    for (std::string_view line; lines.next(line);) {
        if (trimmed(line).empty()) continue;
        double m[12];
        bool good = true;
        for (double& value : m) good = good && parse_next(line, value) && std::isfinite(value);
        Pose pose{{{{m[0], m[1], m[2]}, {m[4], m[5], m[6]}, {m[8], m[9], m[10]}}},
                  {m[3], m[7], m[11]}};
        const Mat3d square = pose.rotation * transpose(pose.rotation);
        for (int i = 0; i < 3 && good; ++i)
            for (int j = 0; j < 3; ++j)
                good = good && std::abs(square.m[i][j] - (i == j ? 1 : 0)) < 1e-3;
        if (good) {
            out.push_back(pose);
        } else {
            out.push_back(std::nullopt);
            if (bad++ == 0) first_bad = lines.number();
        }
    }
    if (bad > 0)
        notes.push_back(fmt::format("{}: {} of {} lines are not poses, the first is line {}",
                                    path.filename().string(), bad, out.size(), first_bad));
    return out;
}

}  // namespace gs
