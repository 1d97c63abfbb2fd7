#include "renderer/maps/colormap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/nth.h"

namespace gs {
namespace {

/// Coefficients of a polynomial in t per channel, constant first; result 0..1.
using Polynomial = std::array<std::array<double, 7>, 3>;

// Sixth-degree fits of Matplotlib's viridis and inferno (Smith and van der Walt; fits published by
// M. Zucker, CC0).
constexpr Polynomial kViridis{{
    {0.2777273272, 0.1050930431, -0.3308618287, -4.634230499, 6.228269936, 4.776384998,
     -5.435455856},
    {0.0054073445, 1.404613530, 0.2148475595, -5.799100973, 14.17993337, -13.74514538, 4.645852612},
    {0.3340998053, 1.384590163, 0.0950951630, -19.33244096, 56.69055260, -65.35303263, 26.31243525},
}};
constexpr Polynomial kInferno{{
    {0.0002189404, 0.1065134195, 11.60249308, -41.70399613, 77.16293570, -71.31942824, 25.13112623},
    {0.0016510046, 0.5639564368, -3.972853966, 17.43639888, -33.40235894, 32.62606426,
     -12.24266895},
    {-0.0194808984, 3.932712389, -15.94239411, 44.35414520, -81.80730926, 73.20951986,
     -23.07032500},
}};
// Fifth-degree fit of cividis (Nunez, Anderton, Renslow 2018; fit of d3-scale-chromatic, in 1/255).
constexpr Polynomial kCividis{{
    {-4.54 / 255, -35.34 / 255, 2381.73 / 255, -6402.7 / 255, 7024.72 / 255, -2710.57 / 255, 0},
    {32.49 / 255, 170.73 / 255, 52.82 / 255, -131.46 / 255, 176.58 / 255, -67.37 / 255, 0},
    {81.24 / 255, 442.36 / 255, -2482.43 / 255, 6167.24 / 255, -6614.94 / 255, 2475.67 / 255, 0},
}};
// Fifth-degree fit of turbo (Mikhailov 2019, Google, Apache 2.0).
constexpr Polynomial kTurbo{{
    {0.13572138, 4.61539260, -42.66032258, 132.13108234, -152.94239396, 59.28637943, 0},
    {0.09140261, 2.19418839, 4.84296658, -14.18503333, 4.27729857, 2.82956604, 0},
    {0.10667330, 12.64194608, -60.58204836, 110.36276771, -89.90310912, 27.34824973, 0},
}};

std::uint8_t byte_of(double value) {
    return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
}

Rgb8 evaluate(const Polynomial& polynomial, double t) {
    double rgb[3];
    for (std::size_t c = 0; c < 3; ++c) {
        rgb[c] = 0;
        for (std::size_t k = 7; k-- > 0;) rgb[c] = rgb[c] * t + polynomial[c][k];
    }
    return {byte_of(rgb[0]), byte_of(rgb[1]), byte_of(rgb[2])};
}

/// Oklab (Ottosson 2020) to sRGB.
Rgb8 from_oklab(double lightness, double a, double b) {
    const auto cube = [](double v) { return v * v * v; };
    const double l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b),
                 m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b),
                 s = cube(lightness - 0.0894841775 * a - 1.2914855480 * b);
    const auto encoded = [](double v) {
        return byte_of(v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055);
    };
    return {encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
            encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
            encoded(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

/// Dark in the middle, blue below and orange above: two hues that stay apart for colour-blind eyes.
/// Lightness and chroma grow evenly with the distance from the middle.
Rgb8 diverging(double t) {
    constexpr double kDark = 0.2, kBright = 0.86, kChroma = 0.13, kBlue = 4.25,
                     kOrange = 1.15;  // hues in radians
    const double way = std::abs(2 * t - 1), hue = t < 0.5 ? kBlue : kOrange;
    return from_oklab(kDark + (kBright - kDark) * way, kChroma * way * std::cos(hue),
                      kChroma * way * std::sin(hue));
}

/// Where a logarithmic scale begins.
double log_floor(double lo, double hi) { return lo > 0 ? lo : std::max(hi * 1e-6, 1e-300); }

double element(std::vector<float>& sorted_partly, double share) {
    const auto last = static_cast<double>(sorted_partly.size() - 1);
    return static_cast<double>(
        nth_of(sorted_partly, static_cast<std::size_t>(std::llround(share * last))));
}

constexpr int kSteps = 1024;

}  // namespace

Rgb8 colormap_color(Colormap map, double t) {
    if (std::isnan(t)) return kNoValueColor;
    t = std::clamp(t, 0.0, 1.0);
    switch (map) {
        case Colormap::viridis:
            return evaluate(kViridis, t);
        case Colormap::inferno:
            return evaluate(kInferno, t);
        case Colormap::cividis:
            return evaluate(kCividis, t);
        case Colormap::turbo:
            return evaluate(kTurbo, t);
        case Colormap::diverging:
            return diverging(t);
        case Colormap::gray:
            break;
    }
    const std::uint8_t level = byte_of(t);
    return {level, level, level};
}

double colormap_position(double value, double lo, double hi, bool logarithmic) {
    if (std::isnan(value)) return std::numeric_limits<double>::quiet_NaN();
    if (!(hi > lo)) return 0;
    if (!logarithmic || !(hi > 0)) return (value - lo) / (hi - lo);
    const double floor = log_floor(lo, hi);
    if (!(value > floor)) return 0;
    return std::log(value / floor) / std::log(hi / floor);
}

double colormap_value(double t, double lo, double hi, bool logarithmic) {
    if (!logarithmic || !(hi > 0)) return lo + t * (hi - lo);
    const double floor = log_floor(lo, hi);
    return floor * std::pow(hi / floor, t);
}

Rgb8 color_of_level(std::size_t level) {
    // Okabe and Ito's, their black left out for white, in an order that keeps neighbours apart.
    static constexpr std::array<Rgb8, 8> kColors{{{86, 180, 233},
                                                  {230, 159, 0},
                                                  {0, 158, 115},
                                                  {204, 121, 167},
                                                  {240, 228, 66},
                                                  {213, 94, 0},
                                                  {255, 255, 255},
                                                  {0, 114, 178}}};
    return kColors[level % kColors.size()];
}

ColormapRange colormap_range(const ImageF& map, const ViewSettings& settings) {
    std::vector<float> values;
    values.reserve(map.pixels());
    double sum = 0;
    for (std::size_t i = 0; i < map.pixels() && map.channels > 0; ++i) {
        const float value = map.values.data()[i];
        if (!std::isfinite(value)) continue;
        values.push_back(value);
        sum += static_cast<double>(value);
    }
    ColormapRange range;
    if (!values.empty()) {
        const auto [min, max] = std::minmax_element(values.begin(), values.end());
        range.min = static_cast<double>(*min);
        range.max = static_cast<double>(*max);
        range.mean = sum / static_cast<double>(values.size());
        range.p50 = element(values, 0.5);
        range.p95 = element(values, 0.95);
        range.lo = range.min;
        range.hi = range.max;
        if (settings.range == RangeMode::percentile) {
            const double upper = std::clamp(settings.percentile, 50.0, 100.0) / 100;
            range.lo = element(values, 1 - upper);
            range.hi = element(values, upper);
        }
    }
    if (settings.range == RangeMode::manual) {
        range.lo = settings.range_lo;
        range.hi = settings.range_hi;
    }
    if (!(range.hi > range.lo)) range.hi = range.lo + 1;
    return range;
}

Image8 apply_colormap(const ImageF& map, int cell, int width, int height, Colormap colormap,
                      double lo, double hi, bool logarithmic) {
    std::array<Rgb8, kSteps> table;
    for (int i = 0; i < kSteps; ++i)
        table[static_cast<std::size_t>(i)] =
            colormap_color(colormap, static_cast<double>(i) / (kSteps - 1));
    Image8 out{.width = width, .height = height, .channels = 4};
    out.bytes.resize(out.pixels() * 4);
    if (map.width <= 0 || map.height <= 0 || map.channels <= 0) return out;
    std::vector<Rgb8> row(static_cast<std::size_t>(map.width));
    std::uint8_t* pixel = out.bytes.data();
    for (int y = 0; y < height; ++y) {
        if (y % cell == 0) {
            const int map_y = std::min(y / cell, map.height - 1);
            for (int x = 0; x < map.width; ++x) {
                const double t = colormap_position(static_cast<double>(map.at(0, x, map_y)), lo, hi,
                                                   logarithmic);
                const auto index = static_cast<std::size_t>(
                    std::isnan(t) ? 0.0 : std::clamp(t, 0.0, 1.0) * (kSteps - 1) + 0.5);
                row[static_cast<std::size_t>(x)] = std::isnan(t) ? kNoValueColor : table[index];
            }
        }
        for (int x = 0; x < width; ++x, pixel += 4) {
            const Rgb8 color = row[static_cast<std::size_t>(std::min(x / cell, map.width - 1))];
            pixel[0] = color.r;
            pixel[1] = color.g;
            pixel[2] = color.b;
            pixel[3] = 255;
        }
    }
    return out;
}

}  // namespace gs
