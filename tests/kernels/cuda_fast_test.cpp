// Precision::fast on the emulated device: how far its pictures are from exact ones, when it is
// drawn at all, and what it holds.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "app/verify/precision.h"
#include "renderer/device/cuda/memory_account.h"
#include "renderer/maps/picture_error.h"
#include "renderer/math/psnr.h"
#include "renderer/raster/cuda/device_model.h"
#include "tests/kernels/cuda_forward.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

GaussianModel fast_scene(int degree, std::uint64_t seed, float sh_rest = 0.3f) {
    return random_model({.count = 500, .sh_degree = degree, .seed = seed, .sh_rest = sh_rest});
}
RenderOptions of_precision(Precision precision, bool gradients = false) {
    return {.precision = precision, .gradients = gradients};
}
RenderResult drawn(Rasterizer& rasterizer, ParameterSource& source, const RenderOptions& options) {
    const auto state = rasterizer.make_state();
    RenderResult out;
    rasterizer.forward(source, random_camera(5, 1, 90, 70), options, *state, out);
    return out;
}
bool same_bits(const RenderResult& a, const RenderResult& b) {
    return a.color.values.size() == b.color.values.size() &&
           std::memcmp(a.color.values.data(), b.color.values.data(),
                       a.color.values.size() * sizeof(float)) == 0;
}

/// Coefficients keep 11 bits, so each is off by at most 2^-11 of itself, and errors of many splats
/// even out: 75 dB, where a picture of 8 bits is 59 from its own. Geometry, and with it what is
/// listed and blended, is the same.
TEST(CudaFast, IsCloseToExact) {
    const auto cuda = emulated_cuda();
    for (const int degree : {1, 2, 3})
        for (const float sh_rest : {0.1f, 0.3f, 1.0f}) {
            SCOPED_TRACE(testing::Message() << "degree " << degree << ", rest " << sh_rest);
            const GaussianModel model =
                fast_scene(degree, 10 + static_cast<std::uint64_t>(degree), sh_rest);
            const auto source = cuda->source_of(model);
            const RenderResult exact = drawn(*cuda, *source, of_precision(Precision::exact)),
                               fast = drawn(*cuda, *source, of_precision(Precision::fast));
            const double psnr = math::psnr_of(mean_squared_error(fast, PictureReference(exact)));
            EXPECT_GT(psnr, 75);
            EXPECT_LT(psnr, 100);  // something was rounded
            EXPECT_EQ(fast.counters.visible, exact.counters.visible);
            EXPECT_EQ(fast.counters.isects, exact.counters.isects);
            EXPECT_EQ(std::memcmp(fast.alpha.values.data(), exact.alpha.values.data(),
                                  fast.alpha.values.size() * sizeof(float)),
                      0);
            RecordProperty("psnr", std::to_string(psnr));
        }
}

TEST(CudaFast, TheLossIsMeasuredByTheProgram) {
    const auto cuda = emulated_cuda(), cpu = make_cpu_rasterizer();
    const GaussianModel model = fast_scene(3, 20);
    const Camera camera = random_camera(5, 1, 90, 70);
    const auto source = cuda->source_of(model);
    const auto state = cuda->make_state();
    RenderResult result;
    const RenderOptions options = of_precision(Precision::fast);
    cuda->forward(*source, camera, options, *state, result);
    const double psnr = fast_psnr(*cuda, *source, camera, options, *state, result);
    const RenderResult exact = drawn(*cuda, *source, of_precision(Precision::exact));
    EXPECT_EQ(psnr, math::psnr_of(mean_squared_error(result, PictureReference(exact))));
    EXPECT_EQ(why_exact(true, model), "");
    EXPECT_NE(why_exact(false, model).find("CPU"), std::string::npos);
    EXPECT_NE(why_exact(true, fast_scene(0, 1)), "");
}

/// Frames with gradients, sources that are copied for a frame, colours without harmonics, the CPU:
/// exact to the bit, and nothing is kept for them.
TEST(CudaFast, IsExactWhereItIsNotOffered) {
    const auto cuda = emulated_cuda();
    const GaussianModel model = fast_scene(3, 30), plain = fast_scene(0, 31);
    const auto source = cuda->source_of(model), plain_source = cuda->source_of(plain);
    const std::uint64_t held = cuda::held_device_bytes();
    const RenderResult exact = drawn(*cuda, *source, of_precision(Precision::exact, true));
    EXPECT_TRUE(same_bits(drawn(*cuda, *source, of_precision(Precision::fast, true)), exact));
    ModelSource foreign(model);
    EXPECT_TRUE(same_bits(drawn(*cuda, foreign, of_precision(Precision::fast)), exact));
    EXPECT_TRUE(same_bits(drawn(*cuda, *plain_source, of_precision(Precision::fast)),
                          drawn(*cuda, *plain_source, of_precision(Precision::exact))));
    EXPECT_EQ(cuda::held_device_bytes(), held);
    const auto cpu = make_cpu_rasterizer();
    const auto cpu_source = cpu->source_of(model);
    EXPECT_TRUE(same_bits(drawn(*cpu, *cpu_source, of_precision(Precision::fast)),
                          drawn(*cpu, *cpu_source, of_precision(Precision::exact))));
}

/// Made once, 96 bytes a Gaussian of degree 3, and given back with the source.
TEST(CudaFast, HoldsHalvesAsLongAsTheSource) {
    const auto cuda = emulated_cuda();
    const GaussianModel model = fast_scene(3, 40);
    const std::uint64_t before = cuda::held_device_bytes();
    {
        const auto source = cuda->source_of(model);
        const std::uint64_t with_source = cuda::held_device_bytes();
        for (int frame = 0; frame < 2; ++frame) {
            drawn(*cuda, *source, of_precision(Precision::fast));
            EXPECT_EQ(cuda::held_device_bytes(), with_source + 96 * model.count);
        }
    }
    EXPECT_EQ(cuda::held_device_bytes(), before);
}

/// To nearest, ties to even; values beyond a half's range become infinite; each upload is rounded.
TEST(CudaFast, RoundsAsHalvesAre) {
    const std::pair<float, std::uint16_t> kRounded[] = {
        {1.0f, 0x3c00},
        {-0.0f, 0x8000},
        {2049.0f, 0x6800},
        {2051.0f, 0x6802},
        {65504.0f, 0x7bff},
        {65519.0f, 0x7bff},
        {65520.0f, 0x7c00},
        {-1e9f, 0xfc00},
        {1e-8f, 0x0000},
        {5.9604645e-8f, 0x0001},
        {std::numeric_limits<float>::quiet_NaN(), 0x7fff},
        {0.1f, 0x2e66}};
    GaussianModel model = fast_scene(1, 50);
    const cuda::Stream stream("test");
    cuda::DeviceModel device;
    const auto words = [&] {
        device.upload(model.values.span(), model.capacity, model.count, model.sh_degree, {},
                      stream);
        const cuda::HalfColors colors = device.half_colors(stream);
        EXPECT_EQ(colors.stride, model.count);
        std::vector<std::uint32_t> out(cuda::half_words(model.sh_degree, model.count));
        cuda::copy_to_host(out.data(), colors.words, out.size() * sizeof(std::uint32_t), stream);
        stream.synchronize();
        return out;
    };
    words();
    const std::size_t row = 137;
    for (int i = 0; i < 12; ++i) model.at(kSh0 + i, row) = kRounded[i].first;
    const auto out = words();
    for (std::size_t i = 0; i < 16; ++i) {
        const std::uint32_t two = out[((i / 8) * model.count + row) * 4 + i / 2 % 4];
        EXPECT_EQ(i % 2 == 0 ? two & 0xffff : two >> 16, i < 12 ? kRounded[i].second : 0)
            << i << ": " << (i < 12 ? kRounded[i].first : 0.0f);
    }
}

/// A colour beyond what halves hold draws nothing, and spoils nothing.
TEST(CudaFast, AbsurdColoursDrawNothing) {
    const auto cuda = emulated_cuda();
    GaussianModel model = fast_scene(2, 60);
    GaussianModel without = model;
    for (std::size_t row = 0; row < model.count; row += 7) {
        model.at(kSh0 + 5, row) = 1e6f;
        without.at(kOpacityLogits, row) = -30.0f;
    }
    const auto source = cuda->source_of(model), expected = cuda->source_of(without);
    EXPECT_TRUE(same_bits(drawn(*cuda, *source, of_precision(Precision::fast)),
                          drawn(*cuda, *expected, of_precision(Precision::fast))));
}

}  // namespace
}  // namespace gs::test
