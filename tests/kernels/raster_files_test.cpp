// Every backend against stored numbers: gsplat's reference implementation in float64, and Brush's
// cases from gsplat's CUDA code.
#include "tests/kernels/raster_backend.h"

namespace gs::test {
namespace {

using FileParam = std::tuple<RasterBackend, const char*>;
std::string name_of_file(const ::testing::TestParamInfo<FileParam>& test) {
    return fmt::format("{}_{}", std::get<0>(test.param).name, std::get<1>(test.param));
}

class RasterRenderFiles : public ::testing::TestWithParam<FileParam> {};
TEST_P(RasterRenderFiles, PicturesAndGradients) {
    check_render_file(std::get<0>(GetParam()).make, std::get<1>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(, RasterRenderFiles,
                         ::testing::Combine(::testing::ValuesIn(kRasterBackends),
                                            ::testing::Values("pinhole_sh3", "pinhole_antialiased",
                                                              "dense_overlap", "garden_subset")),
                         name_of_file);

class RasterBrushFiles : public ::testing::TestWithParam<FileParam> {};
TEST_P(RasterBrushFiles, PicturesAndGradients) {
    check_brush_file(std::get<0>(GetParam()).make, std::get<1>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(, RasterBrushFiles,
                         ::testing::Combine(::testing::ValuesIn(kRasterBackends),
                                            ::testing::Values("tiny_case", "basic_case",
                                                              "tiny_case_with_gradients",
                                                              "basic_case_with_gradients")),
                         name_of_file);

}  // namespace
}  // namespace gs::test
