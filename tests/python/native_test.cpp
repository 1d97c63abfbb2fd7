// The C interface with arguments that nobody should pass: it says no, or computes, and never reads
// beside an array (the arrays are as large as they say, so a sanitizer sees it).
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "python/native/gausscope_ops.h"

namespace {

/// Arrays of one scene, each allocated by itself.
class Arrays {
  public:
    gausscope_array floats(std::int64_t count, float value = 0.5f) {
        floats_.emplace_back(static_cast<std::size_t>(count), value);
        return {floats_.back().data(), count, GAUSSCOPE_FLOAT32, 0};
    }
    template <class T>
    gausscope_array whole(std::vector<T>& of) {
        return {of.data(), static_cast<std::int64_t>(of.size()),
                sizeof(T) == 4 ? GAUSSCOPE_INT32 : GAUSSCOPE_INT64, 0};
    }
    void fill_with(std::mt19937& random) {
        for (auto& array : floats_)
            for (float& value : array) value = any_float(random);
    }
    static float any_float(std::mt19937& random) {
        switch (random() % 4) {
            case 0:
                return std::bit_cast<float>(static_cast<std::uint32_t>(random()));
            case 1:
                return static_cast<float>(static_cast<int>(random() % 200)) - 100.0f;
            default:
                return static_cast<float>(random() % 1000) / 500.0f;
        }
    }

  private:
    std::vector<std::vector<float>> floats_;
};

char error_text[200];
template <class Args>
void begin(Args& args) {
    args.call = {sizeof(Args), GAUSSCOPE_CPU, 0, 1, nullptr, error_text, sizeof(error_text)};
}

struct Projection : Arrays {
    std::vector<std::int32_t> radii = std::vector<std::int32_t>(2 * 2 * 5 * 2, 3);
    gausscope_project_args args{};
    Projection() {
        begin(args);
        args.batches = args.cameras = 2, args.gaussians = 5;
        args.width = 30, args.height = 20;
        args.near_plane = 0.01f, args.far_plane = 1e10f, args.eps2d = 0.3f;
        args.means = floats(30, 2), args.quats = floats(40), args.scales = floats(30);
        args.opacities = floats(10), args.viewmats = floats(64), args.Ks = floats(36);
        args.radii = whole(radii);
        args.means2d = floats(40), args.depths = floats(20), args.conics = floats(60);
        args.compensated = floats(20);
        args.v_means2d = floats(40), args.v_depths = floats(20), args.v_conics = floats(60);
        args.v_compensated = floats(20), args.v_means = floats(30), args.v_quats = floats(40);
        args.v_scales = floats(30), args.v_opacities = floats(10), args.v_viewmats = floats(64);
    }
    int call() { return gausscope_project(&args) | gausscope_project_vjp(&args); }
};
struct Unscented : Projection {
    Unscented() {
        args.unscented = 1, args.shutter = GAUSSCOPE_BOTTOM_TO_TOP, args.lens = GAUSSCOPE_FTHETA;
        args.distortion = floats(48, 0.1f), args.viewmats_rs = floats(64, 0.6f);
        args.v_viewmats = {};
    }
};
struct Shading : Arrays {
    std::vector<std::int32_t> radii = std::vector<std::int32_t>(2 * 2 * 5 * 2, 3);
    gausscope_shade_args args{};
    Shading() {
        begin(args);
        args.batches = args.cameras = 2, args.gaussians = 5, args.bases = 9, args.degree = 2;
        args.means = floats(30), args.viewmats = floats(64), args.coefficients = floats(270);
        args.radii = whole(radii), args.colors = floats(60), args.v_colors = floats(60);
        args.v_means = floats(30), args.v_viewmats = floats(64), args.v_coefficients = floats(270);
    }
    int call() { return gausscope_shade(&args) | gausscope_shade_vjp(&args); }
};
struct Blending : Arrays {
    std::vector<std::int64_t> first{0, 4, 9};
    std::vector<std::int32_t> radii = std::vector<std::int32_t>(18, 3);
    gausscope_blend_args args{};
    Blending() {
        begin(args);
        args.images = 2, args.entries = 9, args.channels = 5;
        args.width = 30, args.height = 20, args.alpha_max = 0.99f, args.gradients = 1;
        args.first = whole(first), args.radii = whole(radii), args.means2d = floats(18, 9);
        args.conics = floats(27, 0.1f), args.opacities = floats(9), args.depths = floats(9);
        args.colors = floats(45), args.backgrounds = floats(10);
        args.picture = floats(6000), args.alphas = floats(1200);
        args.v_picture = floats(6000), args.v_alphas = floats(1200);
        args.v_means2d = floats(18), args.v_conics = floats(27), args.v_opacities = floats(9);
        args.v_colors = floats(45), args.absolute = floats(18);
    }
    int call() {
        const int code = gausscope_blend(&args);
        if (code != GAUSSCOPE_OK || args.lists == nullptr) return code;
        const int back = gausscope_blend_vjp(&args);
        gausscope_lists_free(args.lists);
        args.lists = nullptr;
        return back;
    }
};

struct RayBlending : Blending {
    RayBlending() {
        first = {0, 4, 8}, radii.resize(16);
        args.entries = 8, args.batches = 2, args.cameras = 1, args.gaussians = 4;
        args.along_rays = 1, args.lens = GAUSSCOPE_PINHOLE, args.shutter = GAUSSCOPE_LEFT_TO_RIGHT;
        args.first = whole(first), args.radii = whole(radii), args.means2d = floats(16, 9);
        args.opacities = floats(8), args.depths = floats(8), args.colors = floats(40);
        args.means = floats(24, 2), args.quats = floats(32), args.scales = floats(24);
        args.viewmats = floats(32), args.Ks = floats(18, 20), args.distortion = floats(24, 0.01f);
        args.viewmats_rs = floats(32, 0.6f);
        args.conics = args.v_means2d = args.v_conics = args.absolute = {};
        args.v_opacities = floats(8), args.v_colors = floats(40);
        args.v_means = floats(24), args.v_quats = floats(32), args.v_scales = floats(24);
    }
};

struct StillRays : RayBlending {
    StillRays() {
        args.shutter = GAUSSCOPE_GLOBAL, args.viewmats_rs = {}, args.v_viewmats = floats(32);
    }
};

/// A pointer is its own or none.
void restore_array(gausscope_array& now, const gausscope_array& good) {
    if (now.data != good.data)
        now.data = (reinterpret_cast<std::uintptr_t>(now.data) & 1) != 0 ? good.data : nullptr;
}
template <class Args>
void restore_arrays(Args& now, const Args& good, std::size_t from) {
    for (std::size_t at = from; at + sizeof(gausscope_array) <= sizeof(Args);
         at += sizeof(gausscope_array)) {
        gausscope_array a, b;
        std::memcpy(&a, reinterpret_cast<const char*>(&now) + at, sizeof(a));
        std::memcpy(&b, reinterpret_cast<const char*>(&good) + at, sizeof(b));
        restore_array(a, b);
        std::memcpy(reinterpret_cast<char*>(&now) + at, &a, sizeof(a));
    }
}
void restore_pointers(gausscope_project_args& now, const gausscope_project_args& good) {
    restore_arrays(now, good, offsetof(gausscope_project_args, means));
}
void restore_pointers(gausscope_shade_args& now, const gausscope_shade_args& good) {
    restore_arrays(now, good, offsetof(gausscope_shade_args, means));
}
void restore_pointers(gausscope_blend_args& now, const gausscope_blend_args& good) {
    restore_arrays(now, good, offsetof(gausscope_blend_args, first));
    now.lists = nullptr;
}

/// Other bits in one word of the struct, but not in a pointer that a caller alone can be right
/// about.
template <class Scene>
void change_a_word(Scene& scene, std::mt19937& random) {
    using Args = decltype(scene.args);
    constexpr std::size_t kWords = sizeof(Args) / 4;
    const Args good = scene.args;
    std::uint32_t words[kWords], before[kWords];
    std::memcpy(before, &good, sizeof(Args));
    std::memcpy(words, before, sizeof(Args));
    const std::size_t at = random() % kWords;
    constexpr std::uint32_t kValues[] = {0, 1, 2, 5, 7, 0x7fffffff, 0x80000000, 0xffffffff};
    words[at] = random() % 3 == 0 ? static_cast<std::uint32_t>(random()) : kValues[random() % 8];
    std::memcpy(&scene.args, words, sizeof(Args));
    scene.args.call.error = error_text;
    scene.args.call.error_size = sizeof(error_text);
    restore_pointers(scene.args, good);
}
template <class Scene>
void expect_no_harm(std::uint32_t seed) {
    std::mt19937 random(seed);
    int refused = 0;
    for (int i = 0; i < 4000; ++i) {
        Scene scene;
        if (i % 2 == 0) scene.fill_with(random);
        if (i % 4 != 0) change_a_word(scene, random);
        std::memset(error_text, 'x', sizeof(error_text));
        const int code = scene.call();
        EXPECT_NE(code, GAUSSCOPE_FAULT) << error_text;
        if (code == GAUSSCOPE_OK) continue;
        ++refused;
        const bool can_say = scene.args.call.size == sizeof(scene.args);
        EXPECT_EQ(std::memchr(error_text, 0, sizeof(error_text)) != nullptr, can_say);
    }
    EXPECT_GT(refused, 200);
}
TEST(PythonNative, ProjectionRefusesNonsense) { expect_no_harm<Projection>(1); }
TEST(PythonNative, ShadingRefusesNonsense) { expect_no_harm<Shading>(2); }
TEST(PythonNative, BlendingRefusesNonsense) { expect_no_harm<Blending>(3); }

TEST(PythonNative, UnscentedProjectionRefusesNonsense) { expect_no_harm<Unscented>(4); }
TEST(PythonNative, BlendingAlongRaysRefusesNonsense) { expect_no_harm<RayBlending>(5); }

TEST(PythonNative, GradientsOfPosesRefuseNonsense) {
    expect_no_harm<StillRays>(6);
    StillRays scene;
    scene.args.shutter = GAUSSCOPE_LEFT_TO_RIGHT;
    scene.args.viewmats_rs = scene.args.viewmats;
    EXPECT_EQ(scene.call(), GAUSSCOPE_BAD_ARGUMENT);
    EXPECT_STREQ(error_text, "v_viewmats: a rolling shutter has no gradient of its poses");
}

TEST(PythonNative, SaysWhatDoesNotGoTogether) {
    const auto says = [](auto&& change, const char* words) {
        Unscented scene;
        ASSERT_EQ(scene.call(), GAUSSCOPE_OK) << error_text;
        change(scene.args);
        EXPECT_EQ(scene.call(), GAUSSCOPE_BAD_ARGUMENT);
        EXPECT_STREQ(error_text, words);
    };
    says([](auto& a) { a.unscented = 0; }, "distortion and a rolling shutter need unscented");
    says([](auto& a) { a.distortion = {}; },
         "distortion is missing: an ftheta camera is nothing else");
    says([](auto& a) { a.lens = GAUSSCOPE_ORTHO; }, "distortion: an ortho camera has none");
    says([](auto& a) { a.viewmats_rs = {}; }, "viewmats_rs has 0 elements, not 64");
    says([](auto& a) { a.shutter = 5; }, "shutter 5 is not known");
}
TEST(PythonNative, RaysHaveAnEntryForEachGaussianOfEachView) {
    RayBlending scene;
    ASSERT_EQ(scene.call(), GAUSSCOPE_OK) << error_text;
    scene.first[1] = 3;
    EXPECT_EQ(scene.call(), GAUSSCOPE_BAD_ARGUMENT);
    EXPECT_STREQ(error_text, "first does not have every image's 4 entries");
    scene.first[1] = 4, scene.args.cameras = 2;
    EXPECT_EQ(scene.call(), GAUSSCOPE_BAD_ARGUMENT);
}

TEST(PythonNative, SaysWhatIsWrong) {
    Projection scene;
    ASSERT_EQ(scene.call(), GAUSSCOPE_OK);
    scene.args.scales.count = 29;
    EXPECT_EQ(gausscope_project(&scene.args), GAUSSCOPE_BAD_ARGUMENT);
    EXPECT_STREQ(error_text, "scales has 29 elements, not 30");
    scene.args.scales.count = 30;
    scene.args.call.device_type = GAUSSCOPE_CUDA;
    scene.args.call.device = 9999;  // whether the machine has any or not
    EXPECT_EQ(gausscope_project(&scene.args), GAUSSCOPE_UNSUPPORTED);
    EXPECT_NE(std::string(error_text).find("move them to the CPU"), std::string::npos);
    scene.args.call.error_size = 5;
    EXPECT_EQ(gausscope_project(&scene.args), GAUSSCOPE_UNSUPPORTED);
    EXPECT_STREQ(error_text, "CUDA");
    EXPECT_EQ(gausscope_project(nullptr), GAUSSCOPE_BAD_ARGUMENT);
}

TEST(PythonNative, ListsBelongToTheirCall) {
    Blending scene;
    ASSERT_EQ(gausscope_blend(&scene.args), GAUSSCOPE_OK);
    gausscope_lists* lists = scene.args.lists;
    scene.first[1] = 9;
    scene.args.height = 10;
    scene.args.picture.count = scene.args.v_picture.count = 3000;
    scene.args.alphas.count = scene.args.v_alphas.count = 600;
    EXPECT_EQ(gausscope_blend_vjp(&scene.args), GAUSSCOPE_BAD_ARGUMENT);
    EXPECT_STREQ(error_text, "the lists are of another call");
    gausscope_lists_free(lists);
    gausscope_lists_free(nullptr);
}

TEST(PythonNative, ManyThreadsCallAtOnce) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([] {
            for (int k = 0; k < 50; ++k) {
                Projection projection;
                Blending blending;
                projection.args.call.error = blending.args.call.error = nullptr;
                EXPECT_EQ(projection.call(), GAUSSCOPE_OK);
                EXPECT_EQ(blending.call(), GAUSSCOPE_OK);
            }
        });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
