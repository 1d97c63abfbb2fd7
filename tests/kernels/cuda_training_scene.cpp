#include "tests/kernels/cuda_training_scene.h"

#include <cmath>

#include "base/comparison.h"
#include "tests/support/emulator/emulator.h"
#include "tests/unit/small_run.h"
#include "trainer/cuda/cuda_training.h"

namespace gs::test {

std::shared_ptr<Capture> small_capture(int width, int height, std::size_t points) {
    auto capture = gs::testing::small_capture(width, height, points);
    Image8& mask = capture->views[2].mask = Image8{width, height, 1, {}};
    mask.bytes.assign(mask.pixels(), 255);
    std::fill_n(mask.bytes.begin() + width * 5, width * 3, std::uint8_t{0});
    return capture;
}

std::shared_ptr<Capture> nudged(const Capture& capture, float towards) {
    auto out = std::make_shared<Capture>(capture);
    for (SparsePoint& point : out->points)
        for (float* x : {&point.position.x, &point.position.y, &point.position.z})
            *x = std::nextafter(*x, towards);
    return out;
}

TrainingSettings busy_settings() {
    TrainingSettings s = gs::testing::in_30_steps({}, 7);
    s.densify_gradient = 2e-3;
    s.opacity_reset_every = 16;
    s.max_gaussians = 600;
    return s;
}

std::unique_ptr<TrainingBackend> cuda_training() {
    auto backend = make_cuda_training(0);
    EXPECT_TRUE(backend) << (backend ? "" : backend.error().text());
    return std::move(*backend);
}

std::unique_ptr<Trainer> trainer_on(std::unique_ptr<TrainingBackend> backend,
                                    const std::shared_ptr<Capture>& capture,
                                    const TrainingSettings& settings) {
    auto trainer = Trainer::create(capture, settings, std::move(backend));
    EXPECT_TRUE(trainer) << (trainer ? "" : trainer.error().text());
    return std::move(*trainer);
}

void schedule(std::uint64_t seed, bool deferred) {
    emulator::set_seed(seed);
    emulator::set_execution(deferred ? emulator::Execution::deferred : emulator::Execution::eager);
    emulator::set_event_lag(deferred ? 3 : 0);
}

namespace {

double row_difference(const GaussianModel& a, std::size_t row_a, const GaussianModel& b,
                      std::size_t row_b) {
    ComparisonRow out;
    for (int p = 0; p < a.planes(); ++p) {
        const double x = a.at(p, row_a), size = std::isfinite(x) ? 1 + std::abs(x) : 1;
        out.add(x / size, b.at(p, row_b) / size);
    }
    return out.worst;
}

}  // namespace

double worst_difference(const GaussianModel& a, const GaussianModel& b) {
    if (a.count != b.count || a.planes() != b.planes()) return HUGE_VAL;
    double worst = 0;
    for (std::size_t row = 0; row < a.count; ++row)
        worst = std::max(worst, row_difference(a, row, b, row));
    return worst;
}

double share_without_twin(const GaussianModel& a, const GaussianModel& b, double tolerance) {
    if (a.count != b.count || a.planes() != b.planes()) return 1;
    std::size_t alone = 0;
    for (std::size_t row = 0; row < a.count; ++row) {
        bool found = false;
        for (std::size_t other = 0; other < b.count && !found; ++other)
            found = row_difference(a, row, b, other) <= tolerance;
        alone += !found;
    }
    return static_cast<double>(alone) / static_cast<double>(std::max<std::size_t>(1, a.count));
}

}  // namespace gs::test
