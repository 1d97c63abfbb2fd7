#include "renderer/maps/sweep_colors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/nth.h"

namespace gs {
namespace {

constexpr double kOutermost = 0.01;  // of the values, left out on either side

/// From where to where a channel's values reach.
void fit_to_sweep(SweepColors& colors, const LidarSweep& sweep, double left_out) {
    std::vector<double> values;
    for (const LidarBeam& beam : sweep.beams)
        if (beam.hit())
            values.push_back(channel_value(colors.channel, beam, static_cast<double>(beam.range)));
    std::erase_if(values, [](double v) { return !std::isfinite(v); });
    colors.lo = 0, colors.hi = 1;
    if (values.empty()) return;
    const auto skipped = static_cast<std::size_t>(left_out * static_cast<double>(values.size()));
    colors.lo = nth_of(values, skipped);
    colors.hi = nth_of(values, values.size() - 1 - skipped);
    if (!(colors.hi > colors.lo)) colors.hi = colors.lo + 1;  // all alike
}

}  // namespace

Rgb8 SweepColors::operator()(double value) const {
    if (std::isnan(value)) return {};
    const double t = colormap_position(value, lo, hi, logarithmic);
    return colormap_color(map, reversed ? 1 - t : t);
}

SweepColors sweep_colors(SweepChannel channel, const LidarSweep& sweep) {
    SweepColors out;
    if (channel == SweepChannel::range) return out;
    out.channel = channel;
    out.logarithmic = out.reversed = false;
    if (channel == SweepChannel::intensity) out.map = Colormap::viridis, out.unit = "";
    if (channel == SweepChannel::time) out.map = Colormap::viridis, out.unit = "s";
    fit_to_sweep(out, sweep, channel == SweepChannel::time ? 0 : kOutermost);
    return out;
}

double channel_value(SweepChannel channel, const LidarBeam& beam, double range) {
    if (!(range > 0)) return std::numeric_limits<double>::quiet_NaN();
    switch (channel) {
        case SweepChannel::intensity:
            return static_cast<double>(beam.intensity);
        case SweepChannel::height:
            return static_cast<double>(beam.origin.z) +
                   range * static_cast<double>(beam.direction.z);
        case SweepChannel::time:
            return static_cast<double>(beam.time);
        case SweepChannel::range:
            break;
    }
    return range;
}

Rgb8 sweep_error_color(double drawn, double measured) {
    if (!(measured > 0)) return {};
    if (!(drawn > 0)) return kNoValueColor;
    return colormap_color(Colormap::inferno, std::abs(drawn - measured) / kSweepErrorShown);
}

}  // namespace gs
