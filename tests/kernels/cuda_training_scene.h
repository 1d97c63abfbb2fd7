// A small capture and what the tests of training on the device do with it.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "tests/support/numbered_rows.h"
#include "tests/support/required.h"
#include "trainer/trainer.h"
#include "trainer/training_backend.h"

namespace gs::test {

/// A ball of `points` points seen from a ring of six cameras; photos are a smooth pattern that
/// moves with the view.
std::shared_ptr<Capture> small_capture(int width = 40, int height = 36, std::size_t points = 200);
/// The same points, each coordinate moved to the next float that way: a run that differs by
/// rounding and nothing else.
std::shared_ptr<Capture> nudged(const Capture& capture, float towards);
/// A run of 30 steps with rounds of density control and an opacity reset.
TrainingSettings busy_settings();
std::unique_ptr<TrainingBackend> cuda_training();
std::unique_ptr<Trainer> trainer_on(std::unique_ptr<TrainingBackend> backend,
                                    const std::shared_ptr<Capture>& capture,
                                    const TrainingSettings& settings);

/// Blocks run in another order; `deferred`: when somebody waits, and events lag.
void schedule(std::uint64_t seed, bool deferred);
/// Leaves the usual schedule.
struct ScheduledTest : ::testing::Test {
    void TearDown() override { schedule(0, false); }
};

/// Largest difference of two models' parameters of the same row, over 1 + |value|; infinite when
/// counts differ.
double worst_difference(const GaussianModel& a, const GaussianModel& b);
/// The share of rows of `a` with no row of `b` within `tolerance`, wherever it is.
double share_without_twin(const GaussianModel& a, const GaussianModel& b, double tolerance);

}  // namespace gs::test
