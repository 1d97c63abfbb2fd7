// Backward's kernels alone, in the emulator, on frames made by hand: against the oracle, split
// tiles, determinism, rows nobody may forget, the lazy reader, overflow.
#include <gtest/gtest.h>

#include <cstring>

#include "renderer/math/adam.h"
#include "renderer/raster/cuda/blend_backward.h"
#include "renderer/raster/cuda/project_backward_unscented.cuh"
#include "tests/kernels/cuda_backward_frame.h"
#include "tests/support/compare.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"
#include "tests/support/render_case.h"
#include "trainer/cuda/adam_kernels.h"

namespace gs::test {
namespace {

using namespace gs::cuda;

void run_blend_backward(HandMadeFrame& frame, const HandMadeGradients& gradients,
                        const Stream& stream) {
    launch_blend_backward(stream, frame.limits(),
                          {frame.arrays(), frame.picture(), gradients.view()});
    stream.synchronize();
}

/// Stored planes of all Gaussians, then mean2d and radius.
std::vector<float> store(const HandMadeFrame& frame, const ModelView& model, const Stream& stream) {
    const int planes = plane_count(model.sh_degree);
    const std::size_t size = static_cast<std::size_t>(planes + StoredGradients::kExtraPlanes) *
                             std::max<std::size_t>(model.count, 1);
    DeviceBuffer<float> values("gradients of a test");
    values.resize_discard(size, stream);
    launch_store_gradients(stream, frame.limits(), frame.arrays(), model,
                           {values.data(), std::max<std::uint32_t>(model.count, 1), planes});
    std::vector<float> out(size);
    values.download(out, stream);
    stream.synchronize();
    return out;
}

ModelView view_of(const GaussianModel& model) {
    return {.values = const_cast<float*>(model.values.data()),
            .stride = model.capacity,
            .count = static_cast<std::uint32_t>(model.count),
            .sh_degree = model.sh_degree};
}

std::vector<float> backward(HandMadeFrame& frame, const GaussianModel& model,
                            const HandMadeGradients& gradients) {
    const Stream stream("test");
    run_blend_backward(frame, gradients, stream);
    return store(frame, view_of(model), stream);
}

std::vector<float> planes_of(const std::vector<float>& stored, std::size_t count, int first,
                             int last) {
    return {
        stored.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(first) * count),
        stored.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(last + 1) * count)};
}

struct Case {
    GaussianModel model;
    Camera camera;
    RenderOptions options;
    std::uint32_t item_isects = kItemIsects;
    bool all_contribute = false;
    double tolerance = 1e-4;
    bool alpha = true, depth = true;
};

/// Against the oracle.
void compare(const Case& c) {
    const reference::Parameters scene(c.model);
    const reference::Options options = reference_options(c.options);
    const reference::Picture picture = reference::render(scene, c.camera, options);
    reference::PictureGradient v =
        without_fragile(case_upstream(c.camera.width, c.camera.height), picture.fragile);
    if (!c.alpha) v.alpha.clear();
    if (!c.depth) v.depth.clear();
    const reference::SceneGradient expected =
        reference::render_backward(scene, c.camera, options, picture, v);
    std::vector<double> mean2d_x, mean2d_y;
    for (const auto& p : expected.projected) {
        mean2d_x.push_back(p.mean.x);
        mean2d_y.push_back(p.mean.y);
    }
    const int planes = c.model.planes();
    HandMadeFrame frame(c.model, c.camera, c.options, c.item_isects, c.all_contribute);
    const std::vector<float> actual = backward(frame, c.model, v);
    for (const PlaneGroup& group : plane_groups(scene))
        EXPECT_LE(relative_l2(planes_of(actual, c.model.count, group.first, group.last),
                              gs::test::planes_of(expected.parameters, group.first, group.last)),
                  c.tolerance)
            << group.name;
    EXPECT_LE(relative_l2(planes_of(actual, c.model.count, planes, planes), mean2d_x), c.tolerance);
    EXPECT_LE(relative_l2(planes_of(actual, c.model.count, planes + 1, planes + 1), mean2d_y),
              c.tolerance);
}

TEST(CudaBackwardKernels, WithAndWithoutAlphaAndDepth) {
    for (int k = 0; k < 4; ++k) {
        SCOPED_TRACE(k);
        Case c{random_model({}), random_camera(2, 0, 40, 30), {}};
        c.alpha = k % 2 != 0;
        c.depth = k / 2 != 0;
        compare(c);
    }
}

TEST(CudaBackwardKernels, SplitTiles) {
    const RenderOptions options{.background = {0.5f, 0.3f, 0.1f}};
    for (const std::uint32_t item_isects : {32u, 96u, 256u}) {
        SCOPED_TRACE(item_isects);
        const Case c{random_model({.count = 700, .opacity_hi = 0.5f}), random_camera(3, 0, 37, 29),
                     options, item_isects};
        EXPECT_GT(HandMadeFrame(c.model, c.camera, options, item_isects).items(),
                  6u);  // more than tiles
        compare(c);
    }
}

TEST(CudaBackwardKernels, PixelsThatEnd) {
    for (const std::uint32_t item_isects : {64u, 1024u}) {
        Case c{random_model(
                   {.count = 900, .scale_lo = 0.1f, .opacity_lo = 0.5f, .opacity_hi = 0.9999f}),
               random_camera(4, 1, 24, 20),
               {},
               item_isects};
        compare(c);
        c.all_contribute = true;
        compare(c);
    }
}

TEST(CudaBackwardKernels, OneHugeGaussianIsSummedByAWarp) {
    GaussianModel model = random_model({.count = 40, .scale_hi = 0.05f});
    for (const std::size_t huge : {0u, 17u, 39u})
        for (int k = 0; k < 3; ++k) model.at(kLogScales + k, huge) = 1.5f;
    compare({model, random_camera(5, 0, 130, 90), {}});
}

TEST(CudaBackwardKernels, GaussiansAllOverThePictureAreSummedByTheBlock) {
    GaussianModel model = random_model({.count = 60, .sh_degree = 0, .scale_hi = 0.05f});
    for (const std::size_t huge : {3u, 4u, 40u, 59u}) {
        model.at(kOpacityLogits, huge) = -1.0f;
        for (int k = 0; k < 3; ++k) model.at(kLogScales + k, huge) = 2.0f;
    }
    const Camera camera = random_camera(5, 0, 290, 280);
    HandMadeFrame frame(model, camera, {});
    std::uint32_t longest = 0;
    for (std::uint32_t slot = 0; slot < frame.arrays().chunk_slots[0]; ++slot)
        longest = std::max(longest, frame.arrays().isects_of_slot[slot]);
    EXPECT_GT(longest, kWarpRows);
    compare({model, camera, {}});
}

/// The same bits from any order of warps, lanes and blocks.
TEST(CudaBackwardKernels, SameBitsUnderAnySchedule) {
    const GaussianModel model = random_model({.count = 800});
    const Camera camera = random_camera(10, 0, 60, 44);
    const HandMadeGradients v(case_upstream(camera.width, camera.height));
    HandMadeFrame first(model, camera, {}, 128);
    const std::vector<float> expected = backward(first, model, v);
    for (const std::uint64_t seed : {1u, 2u, 3u, 99u}) {
        emulator::set_seed(seed);
        HandMadeFrame frame(model, camera, {}, 128);
        EXPECT_EQ(backward(frame, model, v), expected) << "seed " << seed;
        EXPECT_EQ(std::memcmp(frame.isect_gradients().data(), first.isect_gradients().data(),
                              frame.isects() * sizeof(IsectGradient)),
                  0)
            << "seed " << seed;
    }
    emulator::set_seed(0);
}

std::vector<float> numbers_of(const std::vector<IsectGradient>& rows) {
    std::vector<float> out(rows.size() * 12);
    if (!rows.empty()) std::memcpy(out.data(), rows.data(), out.size() * sizeof(float));
    return out;
}

/// Which are live: those of isects with a pixel that forward blended or ended.
TEST(CudaBackwardKernels, OnlyLiveRowsAreWritten) {
    const GaussianModel model = random_model({.count = 500});
    const Camera camera = random_camera(11, 0, 50, 50);
    const HandMadeGradients v(case_upstream(camera.width, camera.height));
    HandMadeFrame frame(model, camera, {});
    const Stream stream("test");
    run_blend_backward(frame, v, stream);
    // The others are still NaN, as nobody wrote them, and what pads is zero.
    std::size_t dead = 0;
    for (std::size_t i = 0; i < frame.isects(); ++i) {
        const IsectGradient& row = frame.isect_gradients()[i];
        if (!frame.live(i)) {
            ++dead;
            for (const float x : numbers_of({row})) EXPECT_TRUE(std::isnan(x)) << "emission " << i;
            continue;
        }
        for (const float x : numbers_of({row})) EXPECT_FALSE(std::isnan(x)) << "emission " << i;
        EXPECT_EQ(row.absolute_x, 0.0f);
        EXPECT_EQ(row.absolute_y, 0.0f);
    }
    EXPECT_GT(dead, frame.isects() / 50);
    EXPECT_LT(dead, frame.isects());
}

/// Bits of isects that drew nothing cost time and change nothing.
TEST(CudaBackwardKernels, ASupersetOfTheMaskGivesTheSameBits) {
    const GaussianModel model = random_model({.count = 400, .opacity_hi = 0.99f});
    const Camera camera = random_camera(12, 0, 40, 40);
    const HandMadeGradients v(case_upstream(camera.width, camera.height));
    HandMadeFrame exact(model, camera, {}), all(model, camera, {}, kItemIsects, true);
    EXPECT_EQ(backward(all, model, v), backward(exact, model, v));
}

/// Emissions without a tile, which emit pads with should it ever find fewer than projection
/// counted, have rows that nobody writes.
TEST(CudaBackwardKernels, RowsWithoutATileAreNotAdded) {
    const GaussianModel model = random_model({});
    const Camera camera = random_camera(16, 0, 40, 30);
    const HandMadeGradients v(case_upstream(camera.width, camera.height));
    HandMadeFrame right(model, camera, {});
    const std::vector<float> expected = backward(right, model, v);
    for (const std::uint32_t rows : {1u, 20u, 90u}) {
        HandMadeFrame padded(model, camera, {});
        padded.count_too_many(rows);
        const std::vector<float> stored = backward(padded, model, v);
        EXPECT_LE(relative_l2(stored, expected), 1e-6) << rows;  // a long run is a warp's
    }
}

TEST(CudaBackwardKernels, AFrameThatOverflowedIsLeftAlone) {
    const GaussianModel model = random_model({});
    const Camera camera = random_camera(13, 0, 30, 30);
    const HandMadeGradients v(case_upstream(camera.width, camera.height));
    HandMadeFrame frame(model, camera, {});
    frame.overflow();
    const std::vector<float> stored = backward(frame, model, v);
    for (const IsectGradient& row : frame.isect_gradients()) EXPECT_TRUE(std::isnan(row.s));
    EXPECT_TRUE(std::all_of(stored.begin(), stored.end(), [](float x) { return x == 0.0f; }));
}

/// What a sink is promised: each visible Gaussian once, all of the record filled.
struct PromiseSink {
    using Motion = std::true_type;
    std::uint32_t* taken;
    GaussianGradient* gradients;
    GS_DEVICE void take(const ModelView& model, std::uint32_t gaussian,
                        const GaussianGradient& gradient) const {
        if (gaussian < model.count) atomicAdd(&taken[gaussian], 1u);
        gradients[gaussian] = gradient;
    }
};

/// The gradients of all Gaussians; all 0 where a Gaussian is not visible.
template <bool kLazy>
std::vector<float> gradients_taken(const HandMadeFrame& frame, const ModelView& model,
                                   const Stream& stream) {
    std::vector<std::uint32_t> taken(model.count, 0);
    std::vector<GaussianGradient> gradients(model.count);
    launch_project_backward<PromiseSink, kLazy>(
        stream, "promise", frame.limits(),
        {frame.arrays(), model, {taken.data(), gradients.data()}});
    stream.synchronize();
    const auto* first = reinterpret_cast<const float*>(gradients.data());
    return {first, first + gradients.size() * sizeof(GaussianGradient) / sizeof(float)};
}

/// A sleeping Gaussian's gradient is that of the Gaussian it would be awake.
TEST(CudaBackwardKernels, ReadsThroughTheOptimizer) {
    const GaussianModel sleeping = random_model({});
    const Camera camera = random_camera(14, 0, 40, 30);
    const HandMadeGradients v(case_upstream(camera.width, camera.height));
    const int planes = sleeping.planes(), moving = plane_count(2);
    std::vector<float> moments(sleeping.capacity * static_cast<std::size_t>(planes) * 2),
        pending(4 * 8);
    std::vector<std::uint32_t> last_step(sleeping.capacity);
    for (std::size_t i = 0; i < moments.size(); ++i) {
        if (i / (2 * kBlock) % static_cast<std::size_t>(planes) >= static_cast<std::size_t>(moving))
            continue;  // never moved: 0
        moments[i] = static_cast<float>(i / kBlock % 2 == 0 ? random_in(1, 1, i, -1, 1)
                                                            : random_in(1, 2, i, 0.1, 1));
    }
    for (std::size_t i = 0; i < pending.size(); ++i)
        pending[i] = static_cast<float>(random_in(1, 3, i, 0, 0.02));
    for (std::size_t i = 0; i < last_step.size(); ++i)
        last_step[i] = 7 + static_cast<std::uint32_t>(i * 7 % 4);
    const LazyClock clock{7, 10, moving, 0};
    GaussianModel awake = sleeping;
    for (int p = 0; p < moving; ++p)
        for (std::size_t i = 0; i < awake.count; ++i) {
            const int group = p < kLogScales       ? 0
                              : p < kQuats         ? 1
                              : p < kOpacityLogits ? 2
                              : p < kSh0           ? 3
                              : p < kShRest        ? 4
                                                   : 5;
            const std::size_t at =
                (i / kBlock * static_cast<std::size_t>(planes) + static_cast<std::size_t>(p)) * 2 *
                    kBlock +
                i % kBlock;
            awake.at(p, i) = math::lazy_value(
                awake.at(p, i), moments[at], moments[at + kBlock],
                pending[(last_step[i] - clock.base) * 8 + static_cast<std::size_t>(group)]);
        }
    const Stream stream("test");
    HandMadeFrame frame(awake, camera, {});
    run_blend_backward(frame, v, stream);
    ModelView lazy = view_of(sleeping);
    lazy.lazy = {moments.data(), last_step.data(), pending.data(), nullptr, &clock, planes};
    const auto through_it = gradients_taken<true>(frame, lazy, stream);
    EXPECT_EQ(through_it, gradients_taken<false>(frame, view_of(awake), stream));
    EXPECT_NE(through_it, gradients_taken<false>(frame, view_of(sleeping), stream));
}

// More rows than threads, so each adds several; fewer than blocks, so most add none.
TEST(CudaBackwardKernels, MotionIsAddedUpOverAllRows) {
    const Stream stream("test");
    for (const std::uint32_t rows : {0u, 1u, 300u, 2 * kMotionBlocks * 256 + 77}) {
        ModelView model{.stride = (rows + 255) / 256 * 256, .count = rows};
        std::vector<float> motion(motion_floats(model.stride), 1e9f);  // behind the rows: anything
        double sums[kMotionParts] = {};
        for (std::uint32_t part = 0; part < kMotionParts; ++part)
            for (std::uint32_t row = 0; row < rows; ++row) {
                const float number = std::sin(0.1f * static_cast<float>(row * (part + 1)));
                motion[part * model.stride + row] = number;
                sums[part] += static_cast<double>(number);
            }
        StepResult result{};
        launch_sum_motion(stream, model, motion.data(), &result);
        stream.synchronize();
        for (std::uint32_t part = 0; part < kMotionParts; ++part)
            EXPECT_NEAR(result.motion[part], sums[part], 1e-10) << rows << " " << part;
    }
}

TEST(CudaBackwardKernels, ASinkTakesEachVisibleGaussianOnce) {
    const GaussianModel model = random_model({.count = 700, .extent = 5});
    const Camera camera = random_camera(15, 0, 50, 40);
    const RenderOptions options{.sh_degree = 1};
    const HandMadeGradients v(case_upstream(camera.width, camera.height));
    const Stream stream("test");
    HandMadeFrame frame(model, camera, options);
    run_blend_backward(frame, v, stream);
    std::vector<std::uint32_t> taken(model.count, 0);
    std::vector<GaussianGradient> gradients(model.count);
    launch_project_backward<PromiseSink, false>(
        stream, "promise", frame.limits(),
        {frame.arrays(), view_of(model), {taken.data(), gradients.data()}});
    stream.synchronize();
    const std::vector<float> stored = store(frame, view_of(model), stream);
    std::size_t visible = 0;
    for (std::size_t i = 0; i < model.count; ++i) {
        const auto at = [&](int plane) {
            return stored[static_cast<std::size_t>(plane) * model.count + i];
        };
        EXPECT_EQ(taken[i], at(model.planes() + 2) > 0.0f ? 1u : 0u) << i;
        visible += taken[i];
        if (taken[i] == 0) continue;
        const GaussianGradient& g = gradients[i];
        for (int p = 0; p < kGeometryPlanes; ++p) EXPECT_EQ(g.geometry[p], at(p));
        for (int k = 0; k < 16; ++k) {
            EXPECT_EQ(g.basis[k] == 0.0f, k >= 4) << k;
            for (int c = 0; c < 3; ++c) EXPECT_EQ(g.basis[k] * g.color[c], at(kSh0 + 3 * k + c));
        }
        EXPECT_EQ(g.mean2d[0], at(model.planes()));
        EXPECT_EQ(g.radius_px, at(model.planes() + 2));
    }
    EXPECT_EQ(visible, frame.visible());
    EXPECT_LT(visible, model.count);
}

}  // namespace
}  // namespace gs::test
