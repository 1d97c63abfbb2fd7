// The CPU backend against stored numbers: gsplat's reference implementation in float64, and Brush's
// cases from gsplat's CUDA code.
#include <gtest/gtest.h>

#include "tests/support/raster_checks.h"

namespace gs::test {
namespace {

class CpuRenderFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(CpuRenderFiles, PicturesAndGradients) { check_render_file(make_cpu_rasterizer, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Cpu, CpuRenderFiles,
                         ::testing::Values("pinhole_sh3", "pinhole_antialiased", "dense_overlap",
                                           "garden_subset"),
                         [](const auto& test) { return std::string(test.param); });

class CpuBrushFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(CpuBrushFiles, PicturesAndGradients) { check_brush_file(make_cpu_rasterizer, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Cpu, CpuBrushFiles,
                         ::testing::Values("tiny_case", "basic_case", "tiny_case_with_gradients",
                                           "basic_case_with_gradients"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace gs::test
