#include "renderer/rays/sweep_picture.h"

#include <algorithm>
#include <array>

namespace gs {
namespace {

constexpr std::uint32_t kNoBeam = ~0u;
constexpr int kParts = 3;

/// [rows x columns] which beam stands there.
std::vector<std::uint32_t> beams_by_place(const LidarSweep& sweep) {
    std::vector<std::uint32_t> out(std::size_t{sweep.rows} * sweep.columns, kNoBeam);
    for (std::size_t i = 0; i < sweep.beams.size(); ++i) {
        const LidarBeam& beam = sweep.beams[i];
        if (beam.row >= sweep.rows || beam.column >= sweep.columns) continue;
        std::uint32_t& at = out[beam.row * std::size_t{sweep.columns} + beam.column];
        const LidarBeam* const there = at == kNoBeam ? nullptr : &sweep.beams[at];
        if (!there || (beam.hit() && (!there->hit() || beam.range < there->range)))
            at = static_cast<std::uint32_t>(i);
    }
    return out;
}

}  // namespace

ImageF sweep_planes(const LidarSweep& sweep, const RayImage* drawn) {
    ImageF out(static_cast<int>(sweep.columns), static_cast<int>(sweep.rows), kSweepPlanes);
    std::fill_n(out.values.data(), out.pixels() * kSweepPlanes, 0.0f);
    const std::vector<std::uint32_t> beams = beams_by_place(sweep);
    for (std::size_t at = 0; at < beams.size(); ++at) {
        const std::size_t i = beams[at];
        if (beams[at] == kNoBeam) continue;
        out.plane(kSweepMeasured)[at] = sweep.beams[i].range;
        if (!drawn) continue;
        out.plane(kSweepMedian)[at] = drawn->median[i];
        out.plane(kSweepExpected)[at] =
            drawn->alpha[i] > 1e-6f ? drawn->hit[i] / drawn->alpha[i] : 0;
        out.plane(kSweepAlpha)[at] = drawn->alpha[i];
    }
    return out;
}

Image8 sweep_picture(const LidarSweep& sweep, const RayImage* drawn, const SweepColors& colors) {
    const int width = static_cast<int>(sweep.columns), height = static_cast<int>(sweep.rows);
    const int high = std::max(1, width / std::max(1, 8 * height));  // rows are far apart
    Image8 out{width, kParts * high * height + 2 * high, 3, {}};
    out.bytes.assign(out.pixels() * 3, 0);
    const std::vector<std::uint32_t> beams = beams_by_place(sweep);
    const bool draws = colors.channel != SweepChannel::intensity;
    for (std::size_t at = 0; at < beams.size(); ++at) {
        if (beams[at] == kNoBeam) continue;
        const LidarBeam& beam = sweep.beams[beams[at]];
        const double measured = static_cast<double>(beam.range),
                     seen = drawn ? static_cast<double>(drawn->median[beams[at]]) : 0;
        const std::array<Rgb8, kParts> parts{
            draws ? colors(channel_value(colors.channel, beam, seen)) : Rgb8{},
            colors(channel_value(colors.channel, beam, measured)),
            drawn ? sweep_error_color(seen, measured) : Rgb8{}};
        const int x = static_cast<int>(at % sweep.columns),
                  y = static_cast<int>(at / sweep.columns);
        for (int part = 0; part < kParts; ++part)
            for (int k = 0; k < high; ++k) {
                const int row = part * high * (height + 1) + y * high + k;
                std::uint8_t* pixel = out.bytes.data() + 3 * (row * width + x);
                const Rgb8 c = parts[static_cast<std::size_t>(part)];
                pixel[0] = c.r, pixel[1] = c.g, pixel[2] = c.b;
            }
    }
    return out;
}

}  // namespace gs
