// The C interface on CUDA, here an emulated device whose memory the host cannot touch, against the
// CPU: the same pictures and gradients, the same bits twice, nothing left behind.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "python/native/gausscope_ops.h"
#include "renderer/device/cuda/runtime.h"
#include "tests/support/emulator/emulator.h"

namespace gs::test {
namespace {

using Floats = std::vector<float>;
using Results = std::map<std::string, Floats>;
char text[300];

/// What the last projection or blending asked of CUDA.
emulator::Calls asked;

/// Where a call's arrays are.
class Place {
  public:
    explicit Place(bool cuda) {
        if (cuda) stream_ = std::make_unique<cuda::Stream>("test");
    }
    template <class Args>
    void begin(Args& args) const {
        args.call = {sizeof(Args),
                     stream_ ? GAUSSCOPE_CUDA : GAUSSCOPE_CPU,
                     0,
                     0,
                     stream_ ? stream_->get() : nullptr,
                     text,
                     sizeof(text)};
    }
    template <class T>
    gausscope_array in(const std::vector<T>& from) {
        const auto bytes = std::as_bytes(std::span(from));
        held_.push_back({std::vector<std::byte>(bytes.begin(), bytes.end()),
                         cuda::DeviceBuffer<std::byte>("array")});
        Held& held = held_.back();
        if (stream_) held.device.upload(held.host, *stream_);
        return {stream_ ? held.device.data() : held.host.data(),
                static_cast<std::int64_t>(from.size()),
                std::is_same_v<T, float>          ? GAUSSCOPE_FLOAT32
                : std::is_same_v<T, std::int32_t> ? GAUSSCOPE_INT32
                                                  : GAUSSCOPE_INT64,
                0};
    }
    /// Filled with what no result is.
    gausscope_array out(std::size_t count) { return in(Floats(count, -77.0f)); }
    template <class T = float>
    std::vector<T> read(const gausscope_array& array) const {
        std::vector<T> out(static_cast<std::size_t>(array.count));
        const std::size_t bytes = out.size() * sizeof(T);
        if (!stream_) std::copy_n(static_cast<const T*>(array.data), out.size(), out.begin());
        if (stream_) cuda::copy_to_host(out.data(), array.data, bytes, *stream_);
        if (stream_) stream_->synchronize();
        return out;
    }

  private:
    struct Held {
        std::vector<std::byte> host;
        cuda::DeviceBuffer<std::byte> device;
    };
    std::unique_ptr<cuda::Stream> stream_;
    std::vector<Held> held_;
};

struct Options {
    std::size_t batches = 1, cameras = 2, gaussians = 90;
    bool antialiased = false, covars = false, unscented = false, distorted = false, rolls = false;
    std::int32_t lens = GAUSSCOPE_PINHOLE;
    std::size_t channels = 3;
    bool packed = false, backgrounds = true, absolute = true;
    float brightest = 1.0f;
    float ahead = 4.0f;      ///< where the Gaussians are
    bool elsewhere = false;  ///< backward of blending is on the default stream
};

struct Random {
    std::mt19937 engine{5};
    Floats operator()(std::size_t count, float low, float high) {
        Floats out(count);
        for (float& value : out) value = std::uniform_real_distribution<float>(low, high)(engine);
        return out;
    }
};
constexpr std::size_t kWidth = 45, kHeight = 37;

Floats views_of(const Options& o, float off) {
    Floats out;
    for (std::size_t view = 0; view < o.batches * o.cameras; ++view) {
        const float turn = 0.1f * static_cast<float>(view) + off, s = std::sin(turn),
                    c = std::cos(turn);
        for (const float x : {c, 0.0f, s, off, 0.0f, 1.0f, 0.0f, 0.1f, -s, 0.0f, c, o.ahead, 0.0f,
                              0.0f, 0.0f, 1.0f})
            out.push_back(x);
    }
    return out;
}

/// What projection reads.
void set_scene(const Options& o, Place& place, Random& random, gausscope_project_args& a) {
    const std::size_t rows = o.batches * o.gaussians, views = o.batches * o.cameras;
    a.batches = static_cast<std::int64_t>(o.batches);
    a.cameras = static_cast<std::int64_t>(o.cameras);
    a.gaussians = static_cast<std::int64_t>(o.gaussians);
    a.width = kWidth, a.height = kHeight, a.lens = o.lens;
    a.antialiased = o.antialiased, a.unscented = o.unscented;
    a.near_plane = 0.01f, a.far_plane = 1e10f, a.eps2d = 0.3f, a.least_compensation = 0.005f;
    a.means = place.in(random(3 * rows, -1.5f, 1.5f));
    if (o.covars) {
        Floats covars;
        for (std::size_t i = 0; i < rows; ++i)
            for (const float x : {0.02f, 0.005f, -0.004f, 0.03f, 0.002f, 0.01f})
                covars.push_back(x * (1 + 0.01f * static_cast<float>(i)));
        a.covars = place.in(covars);
    } else {
        a.quats = place.in(random(4 * rows, -1, 1)),
        a.scales = place.in(random(3 * rows, 0.01f, 0.3f));
    }
    a.opacities = place.in(random(rows, 0, o.brightest));
    a.viewmats = place.in(views_of(o, 0.0f));
    const float focal = o.lens == GAUSSCOPE_ORTHO ? 14.0f : 40.0f;
    Floats Ks;
    for (std::size_t view = 0; view < views; ++view)
        for (const float x : {focal, 0.0f, 22.0f, 0.0f, focal, 19.0f, 0.0f, 0.0f, 1.0f})
            Ks.push_back(x);
    a.Ks = place.in(Ks);
    if (o.distorted) a.distortion = place.in(random(12 * views, -0.01f, 0.01f));
    if (o.rolls) a.shutter = GAUSSCOPE_TOP_TO_BOTTOM, a.viewmats_rs = place.in(views_of(o, 0.02f));
}

void keep(const Place& place, const char* name, const gausscope_array& array, Results& out) {
    if (array.data != nullptr) out[name] = place.read(array);
}

/// Shading of what was projected, and back.
void shade(const Options& o, Place& place, Random& random, const gausscope_project_args& a,
           Results& out) {
    const std::size_t rows = o.batches * o.gaussians, views = o.batches * o.cameras,
                      entries = views * o.gaussians;
    gausscope_shade_args s{};
    place.begin(s);
    s.batches = a.batches, s.cameras = a.cameras, s.gaussians = a.gaussians;
    s.bases = 17, s.degree = 3, s.by_view = o.covars;
    s.means = a.means, s.viewmats = a.viewmats, s.radii = a.radii;
    s.coefficients = place.in(random(51 * (o.covars ? entries : rows), -0.4f, 0.4f));
    s.colors = place.out(3 * entries), s.v_colors = place.in(random(3 * entries, -1, 1));
    s.v_means = place.out(3 * rows), s.v_viewmats = place.out(16 * views);
    s.v_coefficients = place.out(static_cast<std::size_t>(s.coefficients.count));
    EXPECT_EQ(gausscope_shade(&s) | gausscope_shade_vjp(&s), GAUSSCOPE_OK) << text;
    keep(place, "colors", s.colors, out), keep(place, "v_sh", s.v_coefficients, out);
    keep(place, "v_means by colour", s.v_means, out);
    keep(place, "v_viewmats by colour", s.v_viewmats, out);
}

/// Projection, shading and their backward.
Results project(const Options& o, Place place) {
    Random random;
    const std::size_t rows = o.batches * o.gaussians, views = o.batches * o.cameras,
                      entries = views * o.gaussians;
    gausscope_project_args a{};
    place.begin(a);
    set_scene(o, place, random, a);
    a.radii = place.in(std::vector<std::int32_t>(2 * entries, -7));
    a.means2d = place.out(2 * entries), a.depths = place.out(entries);
    a.conics = place.out(3 * entries), a.compensated = place.out(entries);
    const emulator::Calls before = emulator::calls();
    EXPECT_EQ(gausscope_project(&a), GAUSSCOPE_OK) << text;
    asked = emulator::difference(before, emulator::calls());
    a.v_means2d = place.in(random(2 * entries, -1, 1)),
    a.v_depths = place.in(random(entries, -1, 1));
    a.v_conics = place.in(random(3 * entries, -1, 1));
    a.v_compensated = place.in(random(entries, -1, 1));
    a.v_means = place.out(3 * rows), a.v_opacities = place.out(rows);
    if (o.covars) a.v_covars = place.out(6 * rows);
    if (!o.covars) a.v_quats = place.out(4 * rows), a.v_scales = place.out(3 * rows);
    if (!o.rolls) a.v_viewmats = place.out(16 * views);
    EXPECT_EQ(gausscope_project_vjp(&a), GAUSSCOPE_OK) << text;
    Results out;
    const auto radii = place.read<std::int32_t>(a.radii);
    out["radii"] = {radii.begin(), radii.end()};
    keep(place, "means2d", a.means2d, out), keep(place, "depths", a.depths, out);
    keep(place, "conics", a.conics, out), keep(place, "compensated", a.compensated, out);
    keep(place, "v_means", a.v_means, out), keep(place, "v_quats", a.v_quats, out);
    keep(place, "v_scales", a.v_scales, out), keep(place, "v_covars", a.v_covars, out);
    keep(place, "v_opacities", a.v_opacities, out), keep(place, "v_viewmats", a.v_viewmats, out);
    shade(o, place, random, a, out);
    return out;
}

/// Blending of what the CPU projects, and back. `code`: of the first call that fails.
Results blend(const Options& o, Place place, int* code = nullptr) {
    Random random;
    const Results from = project(o, Place(false));
    const std::size_t images = o.batches * o.cameras, pixels = images * kWidth * kHeight;
    std::vector<std::int64_t> first{0};
    std::vector<std::int32_t> radii;
    Floats means2d, conics, opacities, depths;
    for (std::size_t e = 0; e < images * o.gaussians; ++e) {
        if (e > 0 && e % o.gaussians == 0)
            first.push_back(static_cast<std::int64_t>(depths.size()));
        const float* r = &from.at("radii")[2 * e];
        if (o.packed && !(r[0] > 0 && r[1] > 0)) continue;
        for (std::size_t k = 0; k < 2; ++k) {
            radii.push_back(static_cast<std::int32_t>(r[k]));
            means2d.push_back(from.at("means2d")[2 * e + k]);
        }
        for (std::size_t k = 0; k < 3; ++k) conics.push_back(from.at("conics")[3 * e + k]);
        opacities.push_back(from.at("compensated")[e]), depths.push_back(from.at("depths")[e]);
    }
    first.resize(images, static_cast<std::int64_t>(depths.size()));
    first.push_back(static_cast<std::int64_t>(depths.size()));
    const std::size_t n = depths.size();
    gausscope_blend_args a{};
    place.begin(a);
    a.images = static_cast<std::int64_t>(images), a.entries = static_cast<std::int64_t>(n);
    a.channels = static_cast<std::int64_t>(o.channels);
    a.width = kWidth, a.height = kHeight, a.gradients = 1, a.alpha_max = 0.99f;
    a.first = {first.data(), a.images + 1, GAUSSCOPE_INT64, 0};
    if (!o.packed) a.radii = place.in(radii);
    a.means2d = place.in(means2d), a.conics = place.in(conics);
    a.opacities = place.in(opacities), a.depths = place.in(depths);
    a.colors = place.in(random(n * o.channels, -0.2f, 1));
    if (o.backgrounds) a.backgrounds = place.in(random(images * o.channels, 0, 1));
    a.picture = place.out(pixels * o.channels), a.alphas = place.out(pixels);
    a.v_picture = place.in(random(pixels * o.channels, -1, 1));
    a.v_alphas = place.in(random(pixels, -1, 1));
    a.v_means2d = place.out(2 * n), a.v_conics = place.out(3 * n), a.v_opacities = place.out(n);
    a.v_colors = place.out(n * o.channels);
    if (o.absolute) a.absolute = place.out(2 * n);
    const emulator::Calls before = emulator::calls();
    int worst = gausscope_blend(&a);
    if (o.elsewhere) (void)place.read(a.alphas), a.call.stream = nullptr;
    if (worst == GAUSSCOPE_OK) worst = gausscope_blend_vjp(&a);
    gausscope_lists_free(a.lists);
    asked = emulator::difference(before, emulator::calls());
    if (code != nullptr) *code = worst;
    EXPECT_TRUE(code != nullptr || worst == GAUSSCOPE_OK) << text;
    if (worst != GAUSSCOPE_OK) return {};
    Results out{{"picture", place.read(a.picture)},         {"alphas", place.read(a.alphas)},
                {"v_means2d", place.read(a.v_means2d)},     {"v_conics", place.read(a.v_conics)},
                {"v_opacities", place.read(a.v_opacities)}, {"v_colors", place.read(a.v_colors)}};
    if (o.absolute) out["absolute"] = place.read(a.absolute);
    return out;
}

float largest(const Floats& of) {
    float out = 0;
    for (const float x : of) out = std::max(out, std::abs(x));
    return out;
}
/// Pictures to 2e-5, gradients to 1e-4 of the largest.
void expect_near(const Results& got, const Results& want) {
    ASSERT_EQ(got.size(), want.size());
    for (const auto& [name, values] : want) {
        const Floats& others = got.at(name);
        ASSERT_EQ(others.size(), values.size()) << name;
        const bool gradient = name.starts_with("v_") || name == "absolute";
        const float limit = gradient ? 1e-4f * largest(values) : 2e-5f;
        float off = 0;
        for (std::size_t i = 0; i < values.size(); ++i)
            off = values[i] == others[i] ? off : std::max(off, std::abs(values[i] - others[i]));
        EXPECT_LE(off, limit) << name;
        EXPECT_FALSE(std::isnan(largest(others))) << name;
    }
}

class CudaTensorOps : public testing::Test {
  protected:
    CudaTensorOps() { emulator::set_separate_memory(true); }
    ~CudaTensorOps() override {
        emulator::set_separate_memory(false);
        EXPECT_EQ(emulator::live_allocations().size(), 0u);
        EXPECT_EQ(emulator::live_objects().streams, 0u);
    }
    static void expect_the_cpu(const Options& o) {
        expect_near(project(o, Place(true)), project(o, Place(false)));
        const Results drawn = blend(o, Place(true));
        expect_near(drawn, blend(o, Place(false)));
        EXPECT_EQ(drawn, blend(o, Place(true))) << "other bits";
        EXPECT_EQ(largest(drawn.at("alphas")) > 0.5f, o.gaussians > 0 && o.ahead > 0);
    }
};

TEST_F(CudaTensorOps, GiveWhatTheCpuGives) { expect_the_cpu({}); }
TEST_F(CudaTensorOps, Antialiased) { expect_the_cpu({.antialiased = true, .channels = 1}); }
TEST_F(CudaTensorOps, CovariancesOfBatches) {
    expect_the_cpu({.batches = 2, .gaussians = 50, .covars = true, .channels = 5});
}
TEST_F(CudaTensorOps, ManyChannelsPacked) {
    expect_the_cpu({.channels = 33, .packed = true, .backgrounds = false, .absolute = false});
}
TEST_F(CudaTensorOps, BrightOnes) { expect_the_cpu({.channels = 8, .brightest = 30}); }
TEST_F(CudaTensorOps, MoreThanAPart) { expect_the_cpu({.cameras = 1, .gaussians = 300}); }
TEST_F(CudaTensorOps, OtherLenses) {
    expect_the_cpu({.lens = GAUSSCOPE_ORTHO});
    expect_the_cpu({.antialiased = true, .lens = GAUSSCOPE_FISHEYE});
}
TEST_F(CudaTensorOps, Unscented) {
    expect_the_cpu({.unscented = true});
    expect_the_cpu({.unscented = true, .lens = GAUSSCOPE_FISHEYE});
    expect_the_cpu({.unscented = true, .distorted = true});
    expect_the_cpu({.antialiased = true, .unscented = true, .distorted = true, .rolls = true});
}
TEST_F(CudaTensorOps, BackwardOnAnotherStream) { expect_the_cpu({.elsewhere = true}); }
TEST_F(CudaTensorOps, NothingToSee) {
    expect_the_cpu({.ahead = -40});
    emulator::set_separate_memory(false);  // absent arrays stand for empty ones
    expect_the_cpu({.gaussians = 0});
}

TEST_F(CudaTensorOps, EveryAllocationMayFail) {
    const Options o{.gaussians = 20};
    const emulator::Calls before = emulator::calls();
    (void)blend(o, Place(true));
    const auto arrays =
                   emulator::difference(before, emulator::calls())["cudaMalloc"],  // the test's
        own = asked["cudaMallocAsync"];
    EXPECT_GT(own, 8u);
    for (std::uint64_t failing = 1; failing <= own; ++failing) {
        int code = GAUSSCOPE_OK;
        emulator::fail_device_allocation(arrays + failing);
        (void)blend(o, Place(true), &code);
        EXPECT_EQ(code, GAUSSCOPE_NO_MEMORY) << text;
        EXPECT_NE(std::string(text).find("out of device memory"), std::string::npos) << text;
    }
    (void)blend(o, Place(true));
}

TEST_F(CudaTensorOps, RefuseWithTheReason) {
    gausscope_blend_args a{};
    Place(true).begin(a);
    a.call.device = 3;
    a.width = a.height = 10, a.channels = 1, a.alpha_max = 0.9f;
    std::int64_t first = 0;
    a.first = {&first, 1, GAUSSCOPE_INT64, 0};
    a.radii.dtype = GAUSSCOPE_INT32;
    EXPECT_EQ(gausscope_blend(&a), GAUSSCOPE_UNSUPPORTED);
    EXPECT_NE(std::string(text).find("no CUDA device 3, only 1"), std::string::npos) << text;
    a.along_rays = 1;
    EXPECT_EQ(gausscope_blend(&a), GAUSSCOPE_UNSUPPORTED);
    EXPECT_NE(std::string(text).find("along rays"), std::string::npos) << text;
    a.call.device_type = 7;
    EXPECT_EQ(gausscope_blend(&a), GAUSSCOPE_UNSUPPORTED);
}

TEST_F(CudaTensorOps, WaitForTheNumberOfPairsAlone) {
    (void)project({.gaussians = 20}, Place(true));
    EXPECT_EQ(emulator::synchronizations(asked), 0u);
    (void)blend({.gaussians = 20}, Place(true));
    EXPECT_EQ(emulator::synchronizations(asked), 2u);  // the copy's and the stream's
    EXPECT_EQ(asked["implicit synchronization"], 1u);
}

}  // namespace
}  // namespace gs::test
