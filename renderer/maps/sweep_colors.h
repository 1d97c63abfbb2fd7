// What a lidar's sweep can be coloured by, and the colours: one scale for the range images of
// `render --lidar`, the Drive panel, and the points in the viewport.
#pragma once

#include <array>
#include <cstdint>

#include "renderer/maps/colormap.h"
#include "renderer/scene/lidar_sweep.h"

namespace gs {

enum class SweepChannel : std::uint8_t { range, intensity, height, time };
inline constexpr std::array<const char*, 4> kSweepChannelNames{"range", "intensity", "height",
                                                               "time"};

struct SweepColors {
    SweepChannel channel = SweepChannel::range;
    Colormap map = Colormap::turbo;
    double lo = 1, hi = 80;  ///< in `unit`
    bool logarithmic = true, reversed = true;
    const char* unit = "m";  ///< empty: none

    /// NaN is black: nothing is there.
    Rgb8 operator()(double value) const;
};
/// Ranges are always 1 to 80 m, near red, far blue; the other scales go by what the sweep holds
/// (heights and intensities without their outermost hundredths).
SweepColors sweep_colors(SweepChannel channel, const LidarSweep& sweep);
/// Of a beam that something came back of at `range`, m; heights are over the sensor, along its z.
/// NaN where there is no range.
double channel_value(SweepChannel channel, const LidarBeam& beam, double range);

/// The colour of how far a drawn range is from the measured one; bright is this and more, m.
inline constexpr double kSweepErrorShown = 0.5;
Rgb8 sweep_error_color(double drawn, double measured);

}  // namespace gs
