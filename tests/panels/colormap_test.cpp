// Colormaps: even lightness, published values, ranges, enlarged tile maps.
#include <gtest/gtest.h>

#include <cmath>

#include "renderer/maps/colormap.h"
#include "tests/panels/fake_snapshot.h"

namespace gs {
namespace {

using test::kNaN;

/// CIE L* of an sRGB colour.
double lightness(Rgb8 c) {
    const auto linear = [](double v) {
        return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    const double y =
        0.2126 * linear(c.r / 255.0) + 0.7152 * linear(c.g / 255.0) + 0.0722 * linear(c.b / 255.0);
    return y > 0.008856 ? 116 * std::cbrt(y) - 16 : 903.3 * y;
}

TEST(Colormap, PerceptualOnesGrowLighterEvenly) {
    for (const Colormap map :
         {Colormap::viridis, Colormap::inferno, Colormap::cividis, Colormap::gray}) {
        double last = lightness(colormap_color(map, 0));
        double least = 1e9, most = 0;
        for (int i = 1; i <= 64; ++i) {
            const double here = lightness(colormap_color(map, i / 64.0));
            // Fits of the published tables are in bytes: half a unit of lightness is their grain.
            EXPECT_GT(here, last - 0.5)
                << kColormapNames[static_cast<std::size_t>(map)] << " at " << i;
            last = here;
            if (i % 16 != 0) continue;
            const double part = here - lightness(colormap_color(map, (i - 16) / 64.0));
            least = std::min(least, part);
            most = std::max(most, part);
        }
        EXPECT_GT(last - lightness(colormap_color(map, 0)), 60);
        EXPECT_LT(most, 2.2 * least) << "uneven";
    }
}

TEST(Colormap, TheDivergingOneIsDarkInTheMiddleAndEvenOnBothSides) {
    const auto at = [](double t) { return colormap_color(Colormap::diverging, t); };
    EXPECT_LT(lightness(at(0.5)), 15);
    for (int i = 0; i < 32; ++i) {
        const double below = lightness(at(0.5 - i / 64.0)), above = lightness(at(0.5 + i / 64.0));
        EXPECT_NEAR(below, above, 3.5) << i;
        EXPECT_LT(below, lightness(at(0.5 - (i + 1) / 64.0))) << i;
        EXPECT_LT(above, lightness(at(0.5 + (i + 1) / 64.0))) << i;
    }
    EXPECT_GT(at(0).b, at(0).r + 60) << "blue below";
    EXPECT_GT(at(1).r, at(1).b + 60) << "orange above";
}

TEST(Colormap, PublishedEnds) {
    // First, middle and last entries of Matplotlib's tables; cividis as its authors published it.
    const auto expect_near = [](Rgb8 c, int r, int g, int b) {
        EXPECT_NEAR(c.r, r, 6);
        EXPECT_NEAR(c.g, g, 6);
        EXPECT_NEAR(c.b, b, 6);
    };
    expect_near(colormap_color(Colormap::viridis, 0), 68, 1, 84);
    expect_near(colormap_color(Colormap::viridis, 0.5), 33, 145, 140);
    expect_near(colormap_color(Colormap::viridis, 1), 253, 231, 37);
    expect_near(colormap_color(Colormap::inferno, 0), 0, 0, 4);
    expect_near(colormap_color(Colormap::inferno, 1), 252, 255, 164);
    expect_near(colormap_color(Colormap::cividis, 0), 0, 32, 81);
    expect_near(colormap_color(Colormap::cividis, 1), 253, 234, 69);
}

TEST(Colormap, PositionsAndValuesAreInverse) {
    for (const bool logarithmic : {false, true})
        for (const double t : {0.0, 0.25, 0.9, 1.0})
            EXPECT_NEAR(
                colormap_position(colormap_value(t, 2, 800, logarithmic), 2, 800, logarithmic), t,
                1e-9);
    EXPECT_TRUE(std::isnan(colormap_position(kNaN, 0, 1, false)));
    EXPECT_EQ(colormap_position(5, 1, 1, false), 0);
    EXPECT_EQ(colormap_position(-3, 0, 100, true), 0) << "nothing is below a logarithmic scale";
    const Rgb8 none = colormap_color(Colormap::viridis, kNaN);
    EXPECT_EQ(none.r, kNoValueColor.r);
}

TEST(Colormap, RangeLeavesOutWhatIsNotFinite) {
    ImageF map(10, 10, 1);
    for (int i = 0; i < 100; ++i) map.plane(0)[i] = static_cast<float>(i);
    map.plane(0)[50] = NAN;
    map.plane(0)[51] = INFINITY;
    ViewSettings settings;
    ColormapRange range = colormap_range(map, settings);
    EXPECT_EQ(range.lo, 0);
    EXPECT_EQ(range.hi, 99);
    settings.range = RangeMode::percentile;
    settings.percentile = 90;
    range = colormap_range(map, settings);
    EXPECT_NEAR(range.lo, 10, 2);
    EXPECT_NEAR(range.hi, 89, 2);
    settings.range = RangeMode::manual;
    settings.range_lo = settings.range_hi = 4;
    EXPECT_GT(colormap_range(map, settings).hi, 4) << "a range is never empty";
    EXPECT_GT(colormap_range(ImageF(), {}).hi, colormap_range(ImageF(), {}).lo);
}

TEST(Colormap, TileMapsAreEnlarged) {
    ImageF map(2, 1, 1);
    map.at(0, 0, 0) = 0;
    map.at(0, 1, 0) = 1;
    const Image8 picture = apply_colormap(map, 16, 30, 16, Colormap::gray, 0, 1, false);
    EXPECT_EQ(picture.at(15, 15)[0], 0);
    EXPECT_EQ(picture.at(16, 0)[0], 255);
    EXPECT_EQ(picture.at(29, 15)[3], 255);
}

}  // namespace
}  // namespace gs
