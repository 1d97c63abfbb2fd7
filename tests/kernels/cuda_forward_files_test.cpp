// The emulated CUDA backend against stored numbers, by the checks that the CPU backend passes too.
#include <gtest/gtest.h>

#include "tests/kernels/cuda_forward.h"

namespace gs::test {
namespace {

class CudaRenderFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(CudaRenderFiles, PicturesAndGradients) { check_render_file(emulated_cuda, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Cuda, CudaRenderFiles,
                         ::testing::Values("pinhole_sh3", "pinhole_antialiased", "dense_overlap",
                                           "garden_subset"),
                         [](const auto& test) { return std::string(test.param); });

class CudaBrushFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(CudaBrushFiles, PicturesAndGradients) { check_brush_file(emulated_cuda, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Cuda, CudaBrushFiles,
                         ::testing::Values("tiny_case", "basic_case", "tiny_case_with_gradients",
                                           "basic_case_with_gradients"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace gs::test
