#include "renderer/io/lidar/sweep_points.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/parallel.h"
#include "renderer/scene/beam_angles.h"

namespace gs {
namespace {

constexpr std::size_t kMostSweeps = 100;
// Seen through: another sweep looked this much farther, past the place, with all beams near it.
constexpr double kBeyond = 0.5, kBeyondShare = 0.03;
constexpr int kSeenThrough = 2;        // sweeps that must say so
constexpr int kOthersAsked = 8;        // sweeps on either side
constexpr double kCellAngle = 0.0105;  // radians, of the views that are compared

/// Places beyond any drive, which damaged files name, share a cell.
std::uint64_t cell_of(Vec3f p, double side) {
    constexpr double kFar = 1e15;
    const auto part = [&](float v) {
        const double cell = std::floor(static_cast<double>(v) / side);
        const std::int64_t whole = std::abs(cell) < kFar ? static_cast<std::int64_t>(cell) : 0;
        return static_cast<std::uint64_t>(whole) & 0x1FFFFF;
    };
    return part(p.x) << 42 | part(p.y) << 21 | part(p.z);
}

/// The first point of each cell, in their order.
void thin(std::vector<SweepPoint>& points, double side) {
    std::unordered_set<std::uint64_t> taken;
    std::erase_if(points, [&](const SweepPoint& p) {
        return !taken.insert(cell_of(p.position, side)).second;
    });
}

/// The nearest distance that a sweep saw, by direction from where it stood in the middle of it.
class NearestSeen {
  public:
    NearestSeen(const Pose& world_from_sensor, const std::vector<Vec3f>& points)
        : from_world_(inverse_of(world_from_sensor)), seen_(kColumns * kRows, 0.0f) {
        for (const Vec3f p : points) {
            const Place at = place_of(p);
            if (!at.inside) continue;
            float& nearest = seen_[at.row * kColumns + at.column];
            if (nearest == 0 || at.range < nearest) nearest = at.range;
        }
    }
    /// Whether every beam that went near this place, and there are some, went well past it.
    bool through(Vec3f p) const {
        const Place at = place_of(p);
        if (!at.inside || at.row == 0 || at.row + 1 >= kRows) return false;
        float nearest = 0;
        int full = 0;
        for (std::size_t r = at.row - 1; r <= at.row + 1; ++r)
            for (std::size_t c = at.column + kColumns - 1; c <= at.column + kColumns + 1; ++c) {
                const float range = seen_[r * kColumns + c % kColumns];
                if (range <= 0) continue;
                ++full;
                nearest = nearest == 0 ? range : std::min(nearest, range);
            }
        return full >= 4 && static_cast<double>(nearest) >
                                static_cast<double>(at.range) * (1 + kBeyondShare) + kBeyond;
    }

  private:
    static constexpr std::size_t kColumns = 600, kRows = 60;
    struct Place {
        bool inside = false;
        std::size_t row = 0, column = 0;
        float range = 0;
    };
    Place place_of(Vec3f p) const {
        const Vec3d at = from_world_ * Vec3d{p.x, p.y, p.z};
        const BeamAngles a = angles_of(at);
        const double row = 0.5 * kRows - a.elevation / kCellAngle,
                     column = 0.5 * kColumns + a.azimuth / kCellAngle;
        Place out;
        out.range = static_cast<float>(std::sqrt(dot(at, at)));
        out.inside = row >= 0 && row < kRows && column >= 0 && column < kColumns;
        if (!out.inside) return out;
        out.row = static_cast<std::size_t>(row);
        out.column = static_cast<std::size_t>(column);
        return out;
    }
    Pose from_world_;
    std::vector<float> seen_;
};

/// Also counts them by view.
std::size_t drop_moving(const std::vector<NearestSeen>& views, std::vector<SweepPoint>& points,
                        std::vector<SweepTally>& tallies) {
    std::vector<std::uint8_t> moving(points.size());
    parallel_for(points.size(), 1024, [&](std::size_t i) {
        const auto own = static_cast<std::ptrdiff_t>(points[i].sweep);
        int through = 0;
        for (std::ptrdiff_t other = std::max<std::ptrdiff_t>(0, own - kOthersAsked);
             other <= own + kOthersAsked && other < static_cast<std::ptrdiff_t>(views.size());
             ++other)
            if (other != own && views[static_cast<std::size_t>(other)].through(points[i].position))
                ++through;
        moving[i] = through >= kSeenThrough ? 1 : 0;
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < points.size(); ++i)
        if (moving[i] == 0)
            points[kept++] = points[i];
        else
            ++tallies[points[i].sweep].moving;
    const std::size_t dropped = points.size() - kept;
    points.resize(kept);
    return dropped;
}

}  // namespace

SweepPoints points_of(const LidarLog& log, std::size_t most, double cell,
                      const Progress& progress) {
    SweepPoints out{.cell = cell};
    const std::size_t n = log.sweeps.size(), step = (n + kMostSweeps - 1) / kMostSweeps;
    std::vector<NearestSeen> views;
    std::unordered_set<std::uint64_t> taken;
    for (std::size_t i = 0; i < n; i += std::max<std::size_t>(step, 1)) {
        if (progress && !progress("reading sweeps", i, n)) break;
        const auto sweep = log.read(i);
        if (!sweep) {
            out.skipped.push_back(
                fmt::format("sweep {}: {}", log.sweeps[i].name, sweep.error().text()));
            continue;
        }
        for (const std::string& note : sweep->notes)
            out.notes.push_back(fmt::format("sweep {}: {}", sweep->name, note));
        const std::vector<CameraRay> rays = world_rays(*sweep, log.world_from_sensor);
        std::vector<Vec3f> all;
        for (std::size_t b = 0; b < rays.size(); ++b) {
            const LidarBeam& beam = sweep->beams[b];
            if (!beam.hit()) continue;
            const Vec3d p = rays[b].origin + static_cast<double>(beam.range) * rays[b].direction;
            all.push_back(
                {static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)});
            if (!held_out(beam) && taken.insert(cell_of(all.back(), cell)).second)
                out.points.push_back(
                    {all.back(), beam.intensity, static_cast<std::uint32_t>(views.size())});
        }
        out.returns += all.size();
        views.emplace_back(log.world_from_sensor.at(sweep->time), all);
        out.sweeps.push_back({i, all.size(), 0});
    }
    out.moving = drop_moving(views, out.points, out.sweeps);
    for (SweepPoint& point : out.points)
        point.sweep = static_cast<std::uint32_t>(out.sweeps[point.sweep].sweep);
    while (out.points.size() > most) thin(out.points, out.cell *= 2);
    return out;
}

}  // namespace gs
