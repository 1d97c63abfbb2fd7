// The checks of lists and sorts that judge a device, on the emulated one: right lists pass where
// blocks look back for several turns and where rows reach past their box; lists that no frame can
// hold are an error.
#include <gtest/gtest.h>

#include <random>

#include "renderer/raster/cuda/lists_check.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/random_scene.h"
#include "tests/support/required.h"

namespace gs::test {
namespace {

Camera ahead(int width, int height, double focal) {
    return {.width = width,
            .height = height,
            .fx = focal,
            .fy = focal,
            .cx = 0.5 * width,
            .cy = 0.5 * height};
}

/// Small Gaussians in a box before the camera, and a large one in 2,000.
GaussianModel box_of(std::size_t count) {
    GaussianModel model = random_model({.count = count, .sh_degree = 0});
    std::mt19937 random(3);
    const auto in = [&](float lo, float hi) {
        return std::uniform_real_distribution<float>(lo, hi)(random);
    };
    for (std::size_t i = 0; i < count; ++i) {
        const float at[] = {in(-2, 2), in(-1.2f, 1.2f), in(2.5f, 5.5f)};
        for (int axis = 0; axis < 3; ++axis) {
            model.at(kMeans + axis, i) = at[axis];
            model.at(kLogScales + axis, i) = std::log(i % 2000 == 0 ? 0.5f : in(0.004f, 0.014f));
        }
    }
    return model;
}

/// Some 90 blocks of compact and of count, up to 64 at a time. Each adds up what earlier ones know,
/// and takes a second turn of looking back from 67,584 Gaussians on.
TEST(CudaListsCheck, RightListsOfManyGaussiansPassHoweverManyBlocksRun) {
    const GaussianModel model = box_of(200'000);
    const Camera camera = ahead(1280, 720, 900);
    std::uint64_t hash = 0;
    for (const unsigned together : {1u, 64u}) {
        emulator::set_together(together);
        const auto r = check_cuda_lists(model, camera, 0);
        emulator::set_together(1);
        ASSERT_TRUE(r);
        EXPECT_GT(r->visible, 67'584u);
        EXPECT_GT(r->isects, 10 * 27'648u);
        EXPECT_EQ(r->wrong, 0u) << together << " blocks at a time";
        EXPECT_EQ(r->unsorted, 0u);
        if (together == 1) hash = r->hash;
        EXPECT_EQ(r->hash, hash) << "other lists with " << together << " blocks at a time";
    }
}

/// Needles whose right ends are within rounding of the first pixel centre of a column of tiles. The
/// box of tiles and the rows in it are computed differently, and disagree about that column.
TEST(CudaListsCheck, RowsMayReachFurtherThanTheirBox) {
    constexpr double kFocal = 900, kColumn = 512.5;
    GaussianModel model = random_model({.count = 4000, .sh_degree = 0});
    std::mt19937 random(11);
    const auto in = [&](double lo, double hi) {
        return std::uniform_real_distribution<double>(lo, hi)(random);
    };
    for (std::size_t i = 0; i < model.count; ++i) {
        const double along = in(0.008, 0.02), across = in(0.0004, 0.004), turn = in(0.1, 1.4);
        const double opacity = in(0.3, 0.95), limit = 2 * std::log(255 * opacity);
        const auto extent = [&](double c, double s) {
            const double variance =
                kFocal * kFocal * (along * along * c * c + across * across * s * s) + 0.3;
            return std::sqrt(limit * variance);
        };
        const double x = extent(std::cos(turn), std::sin(turn)),
                     y = extent(std::sin(turn), std::cos(turn));
        const double mean = kColumn - x - 0.01 - 1e-4 * (x + y) + in(-4e-4, 4e-4);
        model.at(kMeans, i) = static_cast<float>((mean - 640) / kFocal);
        model.at(kMeans + 1, i) = static_cast<float>(in(-0.3, 0.3));
        model.at(kMeans + 2, i) = static_cast<float>(in(2, 5));
        for (int axis = 0; axis < 3; ++axis)
            model.at(kLogScales + axis, i) =
                static_cast<float>(std::log(axis == 0 ? along : across));
        const double quat[] = {std::cos(turn / 2), 0, 0, std::sin(turn / 2)};
        for (int k = 0; k < 4; ++k) model.at(kQuats + k, i) = static_cast<float>(quat[k]);
        model.at(kOpacityLogits, i) = static_cast<float>(std::log(opacity / (1 - opacity)));
    }
    Camera camera = ahead(1280, 720, kFocal);
    camera.model = CameraModel::orthographic;
    const auto r = required(check_cuda_lists(model, camera, 0));
    EXPECT_EQ(r.visible, model.count);
    EXPECT_EQ(r.wrong, 0u) << "of " << r.isects;
}

TEST(CudaListsCheck, MorePairsThanAFrameHoldsAreAnError) {
    // Each of 1,100 covers a million tiles.
    GaussianModel model = box_of(1100);
    for (std::size_t i = 0; i < model.count; ++i)
        for (int axis = 0; axis < 3; ++axis) model.at(kLogScales + axis, i) = std::log(40.0f);
    try {
        const auto r = check_cuda_lists(model, ahead(16384, 16384, 9000), 0);
        FAIL() << "listed " << r->isects;
    } catch (const DeviceError& error) {
        EXPECT_NE(std::string(error.what()).find("pairs"), std::string::npos) << error.what();
    }
}

TEST(CudaListsCheck, SortsOfManyBlocksPass) {
    for (const unsigned together : {1u, 64u}) {
        emulator::set_together(together);
        const auto r = check_cuda_sorts(60'000, 5, 0);
        emulator::set_together(1);
        ASSERT_TRUE(r);
        EXPECT_GT(r->by_depth, 27'648u);
        EXPECT_EQ(r->by_tile, 60'000u);
        EXPECT_EQ(r->wrong_by_depth, 0u) << together;
        EXPECT_EQ(r->wrong_by_tile, 0u) << together;
    }
}

}  // namespace
}  // namespace gs::test
