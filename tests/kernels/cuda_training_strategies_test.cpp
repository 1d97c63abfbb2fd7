// Whole runs of every strategy on the emulated device: as the CPU's, the same bits resumed, and
// moved between backends.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/kernels/cuda_training_scene.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/small_run.h"

namespace gs {
namespace {

using test::cuda_training;
using test::small_capture;
using test::trainer_on;

struct Strategy {
    const char* name;
    StrategyKind kind;
    bool absgrad = false, long_axis = false;
};
constexpr Strategy kStrategies[]{{"mcmc", StrategyKind::mcmc},
                                 {"budget", StrategyKind::budget},
                                 {"budget_long_axis", StrategyKind::budget, false, true},
                                 {"absgrad", StrategyKind::adc, true}};

/// 30 steps with rounds at 7, 14 and 21, and a limit that they reach.
TrainingSettings settings_of(const Strategy& of) {
    TrainingSettings s = testing::in_30_steps(defaults_of(of.kind), 7);
    s.max_gaussians = 260;
    s.absgrad = of.absgrad;
    s.long_axis = of.long_axis;
    if (of.kind == StrategyKind::adc) s.densify_absgrad = 6e-3;
    if (of.kind != StrategyKind::mcmc) s.opacity_reset_every = 16;
    return s;
}

class CudaStrategy : public ::testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(Of, CudaStrategy, ::testing::ValuesIn(kStrategies),
                         [](const auto& of) { return std::string(of.param.name); });

/// Of a run: losses by step (NaN where none was reported) and counts behind each step.
struct Course {
    std::vector<double> losses;
    std::vector<std::size_t> counts;
};
Course course_of(Trainer& trainer, int steps) {
    const auto last =
        static_cast<std::size_t>(trainer.steps_done()) + static_cast<std::size_t>(steps);
    Course out{std::vector(last + 1, std::nan("")), {}};
    for (int i = 0; i < steps; ++i) {
        const StepReport report = trainer.step();
        if (report.measured_step != 0) out.losses[report.measured_step] = report.loss;
        out.counts.push_back(report.gaussians);
    }
    return out;
}
double worst_loss(const Course& a, const Course& b, std::size_t first) {
    double worst = 0;
    for (std::size_t i = first; i < a.losses.size(); ++i)
        if (!std::isnan(a.losses[i]) && !std::isnan(b.losses[i]))
            worst = std::max(worst, std::abs(a.losses[i] - b.losses[i]));
    return worst;
}

TEST_P(CudaStrategy, FollowsTheCpu) {
    const auto capture = small_capture();
    const TrainingSettings settings = settings_of(GetParam());
    const auto cpu = trainer_on(make_cpu_training(), capture, settings);
    const auto device = trainer_on(cuda_training(), capture, settings);
    const Course expected = course_of(*cpu, 24), got = course_of(*device, 24);
    // How far two runs that differ by rounding drift apart is a matter of chance.
    double drift = 0, strangers = 0;
    for (const float towards : {1e9f, -1e9f, 0.0f}) {
        const auto other =
            trainer_on(make_cpu_training(), test::nudged(*capture, towards), settings);
        drift = std::max(drift, worst_loss(expected, course_of(*other, 24), 1));
        strangers =
            std::max(strangers, test::share_without_twin(cpu->model(), other->model(), 0.02));
    }
    const double far = worst_loss(expected, got, 1),
                 alone = test::share_without_twin(cpu->model(), device->model(), 0.02);
    EXPECT_LE(far, 1e-4 + 4 * drift);
    EXPECT_LE(alone, 0.02 + 2 * strangers);
    EXPECT_EQ(got.counts, expected.counts);
    EXPECT_NE(got.counts.back(), got.counts.front()) << "no round changed anything";
    if (std::getenv("GAUSSCOPE_TEST_VERBOSE") != nullptr)
        fmt::print(
            "losses: {:.2g} from the CPU, which is {:.2g} from itself; rows without a twin: "
            "{:.3f} and {:.3f}; {} Gaussians\n",
            far, drift, alone, strangers, got.counts.back());
}

TEST_P(CudaStrategy, ResumedItHasTheSameBits) {
    const auto capture = small_capture(24, 20, 100);
    TrainingSettings settings = settings_of(GetParam());
    settings.max_gaussians = 130;
    const test::TemporaryFolder folder;
    const auto make = [](bool device) { return device ? cuda_training() : make_cpu_training(); };
    for (const bool from_device : {false, true}) {
        auto backend = make(from_device);
        TrainingBackend* kept = backend.get();
        const auto straight = trainer_on(std::move(backend), capture, settings);
        course_of(*straight, 10);
        ASSERT_TRUE(straight->save_checkpoint(folder / "run.gsc"));
        const RunArrays then = kept->arrays();
        course_of(*straight, 6);
        for (const bool to_device : {false, true}) {
            SCOPED_TRACE(fmt::format("{} to {}", from_device, to_device));
            auto second = make(to_device);
            TrainingBackend* resumed = second.get();
            const auto trainer =
                required(Trainer::resume(folder / "run.gsc", capture, std::move(second)));
            EXPECT_TRUE(test::same_arrays(then, resumed->arrays()));
            course_of(*trainer, 6);
            if (from_device == to_device)
                EXPECT_TRUE(test::same_arrays(kept->arrays(), resumed->arrays()));
            else  // noise, and draws that roundings turn, move rows of mcmc: FollowsTheCpu
                EXPECT_LT(test::share_without_twin(straight->model(), trainer->model(), 0.02),
                          GetParam().kind == StrategyKind::mcmc ? 0.3 : 0.05);
        }
    }
}

}  // namespace
}  // namespace gs
