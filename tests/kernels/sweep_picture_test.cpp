// Range images of a sweep: which beam stands where, the colours of each channel, what a model draws
// beside what was measured.
#include "renderer/rays/sweep_picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace gs::test {
namespace {

bool same_rgb(const std::uint8_t* a, Rgb8 b) { return a[0] == b.r && a[1] == b.g && a[2] == b.b; }

/// Two rows of 32 columns; one place has two returns, one has none, one has no beam.
LidarSweep small_sweep() {
    LidarSweep out{.rows = 2, .columns = 32};
    const auto add = [&](std::uint16_t row, std::uint16_t column, float range) {
        LidarBeam beam;
        beam.row = row, beam.column = column, beam.range = range;
        beam.direction = {0.8F, 0, row == 0 ? 0.6F : -0.6F};
        beam.intensity = 0.01F * static_cast<float>(column);
        beam.time = 0.001F * static_cast<float>(column);
        out.beams.push_back(beam);
    };
    for (std::uint16_t column = 0; column < 31; ++column)
        for (std::uint16_t row = 0; row < 2; ++row)
            add(row, column, column == 5 ? 0 : static_cast<float>(2 + column));
    add(0, 3, 4);  // before the 5 m that are there
    add(0, 4, 0);  // nothing, where there are 6 m
    add(7, 3, 4);  // beyond the picture
    return out;
}
RayImage drawn_of(const LidarSweep& sweep) {
    RayImage out;
    for (const LidarBeam& beam : sweep.beams) {
        const bool through = beam.column == 7;
        out.median.push_back(through ? 0 : beam.range + 0.25F);
        out.alpha.push_back(through ? 0 : 0.5F);
        out.hit.push_back(0.5F * beam.range);
    }
    return out;
}

TEST(SweepPicture, TheNearerReturnStandsInItsPlace) {
    const LidarSweep sweep = small_sweep();
    const RayImage drawn = drawn_of(sweep);
    const ImageF planes = sweep_planes(sweep, &drawn);
    EXPECT_EQ(planes.plane(kSweepMeasured)[3], 4);
    EXPECT_EQ(planes.plane(kSweepMedian)[3], 4.25f);
    EXPECT_EQ(planes.plane(kSweepMeasured)[4], 6) << "nothing does not hide something";
    EXPECT_EQ(planes.plane(kSweepMeasured)[5], 0);
    EXPECT_EQ(planes.plane(kSweepExpected)[32], 2);
    EXPECT_EQ(planes.plane(kSweepAlpha)[7], 0);
    EXPECT_EQ(planes.plane(kSweepExpected)[7], 0);
    EXPECT_EQ(sweep_planes(sweep, nullptr).plane(kSweepMedian)[3], 0);
}

TEST(SweepPicture, PartsSayWhatIsDrawnMeasuredAndDifferent) {
    const LidarSweep sweep = small_sweep();
    const RayImage drawn = drawn_of(sweep);
    const SweepColors colors = sweep_colors(SweepChannel::range, sweep);
    const Image8 picture = sweep_picture(sweep, &drawn, colors);
    const int high = 2;  // 32 / (8 * 2)
    ASSERT_EQ(picture.width, 32);
    ASSERT_EQ(picture.height, high * (3 * 2 + 2));
    const auto pixel = [&](int part, int row, int column) {
        return picture.bytes.data() + 3 * ((part * high * 3 + row * high) * 32 + column);
    };
    EXPECT_TRUE(same_rgb(pixel(0, 0, 3), colors(4.25)));
    EXPECT_TRUE(same_rgb(pixel(1, 0, 3), colors(4)));
    EXPECT_TRUE(same_rgb(pixel(2, 0, 3), sweep_error_color(4.25, 4)));
    EXPECT_TRUE(same_rgb(pixel(2, 1, 7), kNoValueColor)) << "let through";
    EXPECT_TRUE(same_rgb(pixel(0, 1, 7), {}));
    for (int part = 0; part < 3; ++part) {
        EXPECT_TRUE(same_rgb(pixel(part, 0, 31), {})) << "no beam";
        EXPECT_TRUE(same_rgb(pixel(part, 0, 5), part == 0 ? colors(0.25) : Rgb8{}));
    }
    const Image8 alone = sweep_picture(sweep, nullptr, colors);
    EXPECT_TRUE(std::equal(alone.bytes.begin() + 3 * 32 * 6, alone.bytes.begin() + 3 * 32 * 10,
                           picture.bytes.begin() + 3 * 32 * 6));
    EXPECT_TRUE(std::all_of(alone.bytes.begin() + 3 * 32 * 12, alone.bytes.end(),
                            [](std::uint8_t v) { return v == 0; }));
}

TEST(SweepPicture, EveryChannelHasItsOwnScale) {
    const LidarSweep sweep = small_sweep();
    const LidarBeam& beam = sweep.beams[0];  // 2 m, upwards
    EXPECT_DOUBLE_EQ(channel_value(SweepChannel::range, beam, 2), 2);
    EXPECT_NEAR(channel_value(SweepChannel::height, beam, 2), 1.2, 1e-6);
    EXPECT_TRUE(std::isnan(channel_value(SweepChannel::time, beam, 0)));
    const SweepColors range = sweep_colors(SweepChannel::range, sweep),
                      time = sweep_colors(SweepChannel::time, sweep),
                      height = sweep_colors(SweepChannel::height, sweep);
    EXPECT_EQ(range.lo, 1);
    EXPECT_EQ(range.hi, 80);
    EXPECT_NEAR(time.hi, 0.03, 1e-6);
    EXPECT_NEAR(height.lo, -0.6 * 32, 1e-5);
    EXPECT_NEAR(height.hi, 0.6 * 32, 1e-5);
    // Near is red, far is blue.
    EXPECT_GT(range(1.2).r, range(70).r);
    EXPECT_GT(range(50).b, range(1.2).b);
    const std::uint8_t black[3] = {0, 0, 0};
    EXPECT_TRUE(same_rgb(black, range(std::nan(""))));
    // A model knows no intensities.
    const RayImage drawn = drawn_of(sweep);
    const Image8 picture =
        sweep_picture(sweep, &drawn, sweep_colors(SweepChannel::intensity, sweep));
    EXPECT_TRUE(std::all_of(picture.bytes.begin(), picture.bytes.begin() + 3 * 32 * 4,
                            [](std::uint8_t v) { return v == 0; }));
}

TEST(SweepPicture, SweepsOfNothingAreBlack) {
    LidarSweep sweep = small_sweep();
    for (LidarBeam& beam : sweep.beams) beam.range = 0;
    for (const SweepChannel channel :
         {SweepChannel::range, SweepChannel::intensity, SweepChannel::height, SweepChannel::time}) {
        const Image8 picture = sweep_picture(sweep, nullptr, sweep_colors(channel, sweep));
        EXPECT_TRUE(std::ranges::all_of(picture.bytes, [](std::uint8_t v) { return v == 0; }));
    }
    sweep = {};
    EXPECT_EQ(sweep_planes(sweep, nullptr).pixels(), 0u);
    EXPECT_EQ(sweep_picture(sweep, nullptr, {}).width, 0);
}

}  // namespace
}  // namespace gs::test
