#include "tests/panels/fake_drive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "renderer/rays/sweep_picture.h"

namespace gs::test {
namespace {

constexpr std::uint32_t kBeamRows = 24, kBeamColumns = 240;

/// How far a ray from 1.7 m over a street goes: ground, walls 6 m to the left and 9 m to the right,
/// one with gaps; a car ahead. 0: into the sky.
double range_of(Vec3d d) {
    double nearest = std::numeric_limits<double>::infinity();
    const auto hit = [&](double t, bool there) {
        if (t > 0.5 && there) nearest = std::min(nearest, t);
    };
    hit(-1.7 / d.z, d.z < 0);
    const double left = 6 / d.y, right = -9 / d.y;
    hit(left, d.y > 0 && d.z * left < 4);
    hit(right, d.y < 0 && d.z * right < 3 && std::fmod(d.x * right + 100, 12) < 8);
    const double car = 14 / d.x;
    hit(car, d.x > 0 && std::abs(d.y * car - 1) < 1 && d.z * car < -0.2);
    return nearest < 90 ? nearest : 0;
}

LidarSweep fake_sweep(bool returns) {
    LidarSweep out{.name = "000006", .rows = kBeamRows, .columns = kBeamColumns};
    for (std::uint16_t row = 0; row < kBeamRows; ++row)
        for (std::uint16_t column = 0; column < kBeamColumns; ++column) {
            const double elevation = 0.05 - 0.02 * row,
                         azimuth = std::numbers::pi - 2 * std::numbers::pi * column / kBeamColumns;
            const Vec3d d{std::cos(elevation) * std::cos(azimuth),
                          std::cos(elevation) * std::sin(azimuth), std::sin(elevation)};
            LidarBeam beam{
                .direction = {static_cast<float>(d.x), static_cast<float>(d.y),
                              static_cast<float>(d.z)},
                .range = returns ? static_cast<float>(range_of(d)) : 0,
                .intensity = static_cast<float>(0.3 + 0.3 * std::sin(0.2 * column) * (row > 8)),
                .time = static_cast<float>(-0.05 + 0.1 * column / kBeamColumns),
                .row = row,
                .column = column};
            out.beams.push_back(beam);
        }
    return out;
}

/// Off by centimetres, and without the car.
RayImage fake_drawing(const LidarSweep& sweep) {
    RayImage out;
    for (std::size_t i = 0; i < sweep.beams.size(); ++i) {
        const LidarBeam& beam = sweep.beams[i];
        const bool missed = beam.direction.x > 0.98F && beam.range > 13 && beam.range < 16;
        const auto off =
            static_cast<float>(0.2 * std::pow(std::sin(0.37 * static_cast<double>(i)), 3));
        out.median.push_back(missed || !beam.hit() ? 0 : beam.range + off);
        out.alpha.push_back(missed ? 0.2F : 0.9F);
        out.hit.push_back(0.9F * beam.range);
    }
    return out;
}

DriveRow fake_row(std::size_t i) {
    const double s = 0.1 * static_cast<double>(i);
    DriveRow row{fmt::format("{:06}", i), s, {4 * s * s, 0, 9 * s}, {i % 60}};
    row.returns = 98'412 - 310 * i;
    row.moving = 120 + 17 * i % 90;
    if (i % 5 == 3) return row;
    row.step = 7000;
    row.median_m = 0.041 + 0.002 * static_cast<double>(i % 7);
    row.within_10cm = 0.81 - 0.01 * static_cast<double>(i % 7);
    if (i == 11) row.problem = "000011.bin: nothing usable is in it";
    return row;
}

}  // namespace

DriveState fake_drive(SweepChannel channel, bool drawn, bool returns) {
    DriveState out{.path = "/data/drives/courtyard", .format = "KITTI odometry"};
    for (std::size_t i = 0; i < 24; ++i) out.sweeps.push_back(fake_row(i));
    for (const DriveRow& row : out.sweeps) out.way.push_back(row.place);
    out.up = {0, -1, 0};
    out.ahead = {0, 0, 1};
    out.chosen = 6;
    out.seconds = 0.62;
    out.channel = channel;
    const DriveRow& row = out.sweeps[out.chosen];
    // x ahead, y left, z up to x right, y down, z ahead.
    out.world_from_sensor = {{{{0, -1, 0}, {0, 0, -1}, {1, 0, 0}}}, row.place};
    const LidarSweep sweep = fake_sweep(returns);
    const RayImage image = fake_drawing(sweep);
    auto shown = std::make_shared<ShownSweep>();
    shown->serial = 1 + static_cast<std::uint64_t>(channel);
    shown->index = out.chosen;
    shown->drawn = drawn;
    shown->step = 7000;
    shown->colors = sweep_colors(channel, sweep);
    shown->picture = sweep_picture(sweep, drawn ? &image : nullptr, shown->colors);
    shown->planes = sweep_planes(sweep, drawn ? &image : nullptr);
    for (const LidarBeam& beam : sweep.beams) {
        if (!beam.hit()) continue;
        const Vec3d p = out.world_from_sensor.rotation *
                            Vec3d{static_cast<double>(beam.range * beam.direction.x),
                                  static_cast<double>(beam.range * beam.direction.y),
                                  static_cast<double>(beam.range * beam.direction.z)} +
                        out.world_from_sensor.translation;
        shown->dots.push_back(
            {{static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)},
             shown->colors(channel_value(channel, beam, static_cast<double>(beam.range)))});
    }
    out.sweeps[out.chosen].returns = shown->dots.size();
    out.shown = std::move(shown);
    return out;
}

}  // namespace gs::test
