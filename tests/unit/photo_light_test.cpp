// Exposure and white balance in closed form: what one step finds, what is left to the scene, and
// that what is applied is what was found.
#include "renderer/math/photo_light.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/rng.h"
#include "renderer/scene/capture.h"
#include "trainer/density/appearance.h"

namespace gs {
namespace {

using math::kLights;
using math::kPhotoValues;

double random_between(double size, std::uint64_t stream, std::uint64_t i) {
    return size * (2 * static_cast<double>(random_uniform(11, stream, i)) - 1);
}

TEST(PhotoLight, IsFoundBesideWhatDoesNotFit) {
    const std::array<double, 3> gain{std::exp2(0.4), std::exp2(0.1), std::exp2(-0.2)};
    double found[kLights] = {}, applied[kLights] = {};
    for (int step = 0; step < 30; ++step) {
        double sums[math::kLightSums] = {};
        const double now[3] = {applied[0] + applied[1], applied[0] - applied[1] - applied[2],
                               applied[0] + applied[2]};
        for (std::uint64_t i = 0; i < 3000; ++i) {
            double shown[3], photo[3];
            for (std::size_t c = 0; c < 3; ++c) {
                const double x = 0.05 + 0.55 * static_cast<double>(random_uniform(3, c, i));
                photo[c] = gain[c] * x;
                shown[c] = std::exp2(now[c]) * x * (1 + random_between(0.1, c, i));
                if (i % 6 == 0) photo[c] = 0.9 * static_cast<double>(random_uniform(5, c, i));
            }
            math::add_light(shown, photo, 0.3, sums);
        }
        math::find_light(sums, applied, found);
        std::copy_n(found, kLights, applied);
    }
    EXPECT_NEAR(found[0], 0.1, 0.01);
    EXPECT_NEAR(found[1], 0.3, 0.01);
    EXPECT_NEAR(found[2], -0.3, 0.01);

    // Nothing but black, masked or saturated pixels: as before.
    const double nothing[math::kLightSums] = {}, before = found[0];
    math::find_light(nothing, applied, found);
    EXPECT_EQ(found[0], before);
}

TEST(PhotoLight, IsLeftToTheSceneWhereNeighboursForetellIt) {
    const auto shared_of = [](double along, double alone) {
        double m[math::kLightMoments] = {};
        constexpr int kPhotos = 60;
        const auto light = [&](int p) {
            return along * std::sin(0.2 * p) +
                   random_between(alone, 7, static_cast<std::uint64_t>(p));
        };
        for (int p = 1; p + 1 < kPhotos; ++p)
            math::add_moments(light(p), 0.5 * (light(p - 1) + light(p + 1)), m);
        return math::shared_light(m, static_cast<double>(kPhotos - 2));
    };
    EXPECT_GT(shared_of(0.2, 0.01), 0.95);
    EXPECT_LT(shared_of(0.02, 0.5), 0.1);
    const double half = shared_of(0.3, 0.3);
    EXPECT_GT(half, 0.2);
    EXPECT_LT(half, 0.95);
    EXPECT_EQ(shared_of(0, 0), 0);
}

TEST(PhotoLight, IsThreeGainsInBothModes) {
    const double light[kLights] = {0.3, -0.2, 0.15};
    const double stops[3] = {0.1, 0.35, 0.45};
    double simple[kPhotoValues] = {}, stages[kPhotoValues] = {}, camera[math::kCameraValues] = {};
    math::set_light(light, true, simple);
    math::set_light(light, false, stages);
    math::Look<double> look{};
    math::look_of(simple, camera, true, look);
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(look.at[c], std::exp2(stops[c]), 1e-12);

    math::look_of(stages, camera, false, look);
    for (int i = 0; i < 3; ++i)  // one of raw values does not matter here: no curve
        for (int k = 0; k < 5; ++k) look.at[math::kLookCurve + 5 * i + k] = k == 3 ? 0.5 : 1;
    for (int i = 0; i < 3; ++i) look.at[math::kLookCurve + 5 * i + 4] = 0.5;
    double rgb[3] = {0.2, 0.3, 0.1};
    math::apply_look(look, false, 0.0, 0.0, rgb);
    const double red = std::log2(rgb[0] / 0.2), green = std::log2(rgb[1] / 0.3),
                 blue = std::log2(rgb[2] / 0.1);
    EXPECT_NEAR(red - green, stops[0] - stops[1], 1e-4);
    EXPECT_NEAR(blue - green, stops[2] - stops[1], 1e-4);
    for (int k = 1; k < 7; ++k) EXPECT_EQ(stages[k], 0) << k;
}

/// Photos on a ring whose drawn pictures are `truth` stops (green) too dark; what is applied once
/// every photo has been met 40 times, and what their mean is.
std::vector<double> settled_light(const std::vector<double>& truth, AppearanceMode mode) {
    Capture capture;
    for (std::size_t i = 0; i < truth.size(); ++i) {
        const double angle = 2 * 3.14159265 * static_cast<double>(i) / truth.size();
        View view;
        view.camera = look_at({4 * std::cos(angle), 0, 4 * std::sin(angle)}, {0, 0, 0}, {0, -1, 0},
                              16, 8, 0.8);
        view.photo = Image8{16, 8, 3, std::vector<std::uint8_t>(16 * 8 * 3, 90)};
        capture.views.push_back(std::move(view));
    }
    const AppearanceRows rows(capture);
    const auto neighbours = photo_neighbours(capture, rows);
    TrainingSettings settings;
    settings.appearance = mode;
    settings.appearance_from = 0;
    AppearanceState state = initial_appearance(rows, mode);
    const auto stops = [&](std::size_t p) {
        return stops_of_photo(state.values.data() + p * kPhotoValues, mode)[1];
    };
    for (std::size_t step = 0; step < 40 * truth.size(); ++step) {
        const std::size_t p = step % truth.size();
        LookSums sums{};
        for (std::size_t c = 0; c < 3; ++c) {
            sums[math::kLookParts + c] = 10 * (truth[p] - stops(p));
            sums[math::kLookParts + 3 + c] = 10;
        }
        step_appearance(state, appearance_plan(settings, rows, p, step), sums, neighbours);
        double mean = 0;
        for (std::size_t q = 0; q < truth.size(); ++q)
            mean += static_cast<double>(state.values[q * kPhotoValues]) / truth.size();
        EXPECT_NEAR(mean, 0, 1e-6);
    }
    std::vector<double> out;
    for (std::size_t p = 0; p < truth.size(); ++p) out.push_back(stops(p));
    return out;
}

TEST(PhotoLight, DriftsAreTheScenesAndJumpsThePhotos) {
    std::vector<double> drift, jumps;
    for (int i = 0; i < 40; ++i) {
        drift.push_back(0.2 * std::sin(2 * 3.14159265 * i / 40) + 0.05);
        jumps.push_back((i * 7 % 40 < 20 ? 0.3 : -0.3) + 0.01 * (i * 11 % 40 - 19.5));
    }
    for (const AppearanceMode mode : {AppearanceMode::exposure, AppearanceMode::ppisp}) {
        for (const double light : settled_light(drift, mode)) EXPECT_LT(std::abs(light), 0.02);
        const std::vector<double> found = settled_light(jumps, mode);
        for (std::size_t p = 0; p < jumps.size(); ++p) EXPECT_NEAR(found[p], jumps[p], 0.02) << p;
    }
}

TEST(PhotoLight, NeighboursAreThoseTakenNearest) {
    Capture capture;
    for (int i = 0; i < 10; ++i) {
        View view;
        view.camera = look_at({static_cast<double>(i), 0, -5}, {static_cast<double>(i), 0, 0},
                              {0, -1, 0}, 16, 8, 0.8);
        view.photo = Image8{16, 8, 3, std::vector<std::uint8_t>(16 * 8 * 3, 90)};
        view.test = i == 4;
        capture.views.push_back(std::move(view));
    }
    const AppearanceRows rows(capture);
    const auto near = photo_neighbours(capture, rows);
    ASSERT_EQ(near.size(), 9u);
    EXPECT_EQ(near[0].photo[0], 1u);
    EXPECT_EQ(near[4].photo[0], 5u);  // view 5: view 4 is held out
    for (const math::PhotoNeighbours& of : near) {
        float sum = 0;
        for (int k = 0; k < math::kNeighbours; ++k) {
            sum += of.share[k];
            EXPECT_LE(of.share[k], of.share[std::max(k - 1, 0)]);
        }
        EXPECT_NEAR(sum, 1, 1e-6);
    }
    capture.views.resize(1);
    const auto alone = photo_neighbours(capture, AppearanceRows(capture));
    for (const float share : alone[0].share) EXPECT_EQ(share, 0);
}

}  // namespace
}  // namespace gs
