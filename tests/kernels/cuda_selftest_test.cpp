// The selftest's checks on the emulated device, small: the code that will judge a GPU has been run
// before it sees one, and a broken backend fails it.
#include <gtest/gtest.h>

#include "app/cli/cases/cases.h"
#include "app/cli/check/selftest_checks.h"
#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "trainer/cuda/cuda_training.h"

namespace gs::cli {
namespace {

Backend emulated() {
    return {"CUDA (emulated)",
            true,
            [] { return make_cuda_rasterizer(0); },
            [] { return make_cuda_training(0); },
            {},
            0};
}
constexpr SelftestEffort kSmall{.gaussians = 40, .picture = 0.35, .steps = 12, .sorted = 3000};

void expect_all(const CheckList& list) {
    for (const auto& check : list) {
        const CheckRow row = check();
        EXPECT_TRUE(row.ran) << row.name;
        EXPECT_TRUE(row.passed) << row.name << ": " << row.measured;
        EXPECT_EQ(row.backend, "CUDA") << row.name;
        EXPECT_FALSE(row.measured.empty()) << row.name;
    }
}

TEST(CudaSelftest, EveryStageAgainstTheReference) {
    const Backend backend = emulated();
    CheckList list;
    add_backend_checks(list, backend, kSmall);
    EXPECT_GE(list.size(), 11u);
    expect_all(list);
}

TEST(CudaSelftest, DeviceSortLossesDensityAndMemory) {
    const Backend backend = emulated();
    CheckList list;
    add_cuda_checks(list, backend, kSmall);
    EXPECT_GE(list.size(), 5u);
    expect_all(list);
}

/// Draws a little too bright.
class WrongRasterizer final : public Rasterizer {
  public:
    std::string name() const override { return "wrong"; }
    std::unique_ptr<ForwardState> make_state() const override { return right_->make_state(); }
    void forward(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                 ForwardState& state, RenderResult& result) override {
        right_->forward(source, camera, options, state, result);
        for (float& v : result.color.values) v += 1e-3f;
    }
    void backward(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                  ForwardState& state, const RenderResult& result, const PixelGradients& gradients,
                  GradientSink& sink) override {
        right_->backward(source, camera, options, state, result, gradients, sink);
    }

  private:
    std::unique_ptr<Rasterizer> right_ = make_cpu_rasterizer();
};

TEST(CudaSelftest, AWrongBackendFails) {
    Backend wrong = emulated();
    wrong.make_rasterizer = []() -> Result<std::unique_ptr<Rasterizer>> {
        return std::make_unique<WrongRasterizer>();
    };
    CheckList list;
    add_backend_checks(list, wrong, kSmall);
    const CheckRow row = list.front()();
    EXPECT_TRUE(row.ran);
    EXPECT_FALSE(row.passed) << row.measured;
    CaseList cases;
    add_blend_cases(cases, wrong);
    EXPECT_FALSE(cases.front().check().passed);
}

}  // namespace
}  // namespace gs::cli
