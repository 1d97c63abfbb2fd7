// The emulated CUDA backend against the oracle and the CPU backend on random scenes: sizes, options, profiles, counters.
#include <gtest/gtest.h>

#include "tests/kernels/cuda_forward.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

void compare(const GaussianModel& model, const Camera& camera, const RenderOptions& options,
             const SceneLimits& limits = {}) {
    compare_with_oracle(emulated_cuda, model, camera, options, limits);
}

TEST(CudaForwardScenes, PicturesOfEverySize) {
    const int sizes[][2] = {{1, 1}, {17, 5}, {16, 16}, {33, 47}, {1, 70}, {70, 1}};
    std::uint64_t index = 0;
    for (const auto& size : sizes) {
        SCOPED_TRACE(fmt::format("{} x {}", size[0], size[1]));
        RenderOptions options;
        options.background = {0.1f, 0.4f, 0.7f};
        compare(random_model({}), random_camera(1, index++, size[0], size[1]), options, small_picture());
    }
}

}  // namespace
}  // namespace gs::test
