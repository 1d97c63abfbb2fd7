#include "renderer/scene/lidar_pattern.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gs {
namespace {

constexpr double kPi = std::numbers::pi;

bool finite(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

std::vector<std::pair<double, std::uint32_t>> ascending(const std::vector<double>& values) {
    std::vector<std::pair<double, std::uint32_t>> out;
    for (const double v : values) out.emplace_back(v, static_cast<std::uint32_t>(out.size()));
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace

double wrapped_angle(double radians) {
    const double turns = std::floor((radians + kPi) / (2 * kPi));
    return std::clamp(radians - 2 * kPi * turns, -kPi, std::nextafter(kPi, 0.0));
}

BeamAngles angles_of(Vec3d d) {
    return {std::atan2(d.y, d.x), std::atan2(d.z, std::hypot(d.x, d.y))};
}

Vec3d direction_of(BeamAngles a) {
    const double flat = std::cos(a.elevation);
    return {std::cos(a.azimuth) * flat, std::sin(a.azimuth) * flat, std::sin(a.elevation)};
}

Result<LidarPattern> LidarPattern::create(std::vector<double> row_elevations,
                                          std::vector<double> column_azimuths,
                                          std::vector<double> row_offsets) {
    const auto wrong = [](std::string what) {
        return fail(ErrorKind::malformed, "", "lidar pattern: " + std::move(what));
    };
    if (row_elevations.empty() || column_azimuths.empty()) return wrong("no rows or no columns");
    if (row_offsets.size() != row_elevations.size())
        return wrong(fmt::format("{} azimuth offsets for {} rows", row_offsets.size(),
                                 row_elevations.size()));
    if (!finite(row_elevations) || !finite(column_azimuths) || !finite(row_offsets))
        return wrong("an angle is not finite");
    for (const double elevation : row_elevations)
        if (std::abs(elevation) > kPi / 2)
            return wrong(fmt::format("an elevation of {:.4g} degrees", elevation * 180 / kPi));
    LidarPattern out;
    for (double& azimuth : column_azimuths) azimuth = wrapped_angle(azimuth);
    out.by_elevation_ = ascending(row_elevations);
    out.by_azimuth_ = ascending(column_azimuths);
    out.elevations_ = std::move(row_elevations);
    out.azimuths_ = std::move(column_azimuths);
    out.offsets_ = std::move(row_offsets);
    return out;
}

BeamAngles LidarPattern::angles(LidarElement e) const {
    return {wrapped_angle(azimuths_[e.column] + offsets_[e.row]), elevations_[e.row]};
}

double LidarPattern::time(std::uint32_t column) const {
    return columns() < 2 ? 0 : static_cast<double>(column) / static_cast<double>(columns() - 1);
}

std::optional<LidarElement> LidarPattern::nearest(BeamAngles angles) const {
    if (!std::isfinite(angles.azimuth) || !std::isfinite(angles.elevation)) return std::nullopt;
    const auto after = [](const auto& sorted, double value) {
        return std::lower_bound(sorted.begin(), sorted.end(), std::pair{value, std::uint32_t{0}});
    };
    auto row = after(by_elevation_, angles.elevation);
    if (row == by_elevation_.end() ||
        (row != by_elevation_.begin() &&
         angles.elevation - std::prev(row)->first < row->first - angles.elevation))
        --row;
    // Columns go around: before the first comes the last.
    const double azimuth = wrapped_angle(angles.azimuth - offsets_[row->second]);
    auto above = after(by_azimuth_, azimuth);
    if (above == by_azimuth_.end()) above = by_azimuth_.begin();
    const auto below =
        above == by_azimuth_.begin() ? std::prev(by_azimuth_.end()) : std::prev(above);
    const auto off = [&](const auto& column) {
        return std::abs(wrapped_angle(column->first - azimuth));
    };
    return LidarElement{row->second, off(below) < off(above) ? below->second : above->second};
}

}  // namespace gs
