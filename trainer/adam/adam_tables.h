// AdamTables: the clock of lazy Adam (lazy_adam.h) and the tables that sleepers catch up by,
// without the arrays they are for. Every backend keeps one on the host: LazyAdam reads it in place,
// CudaTraining sends it to the device.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "trainer/adam/adam_block.h"
#include "trainer/settings/schedule.h"

namespace gs {

/// What a checkpoint holds of it.
struct AdamClock {
    std::uint32_t steps = 0;  ///< T
    std::uint32_t base = 0;   ///< step of the last flush
    std::uint32_t batch = 1;  ///< views a step, which the moments decay by; fixed in a run
    std::uint64_t seed = 0;   ///< that codes of moments are rounded by; fixed in a run
    int planes = 0;           ///< planes that have or had gradients
    LearningRates highest{};  ///< largest rates since the last flush
    std::array<std::vector<double>, kLearningGroups> pending;  ///< by step - base
};

class AdamTables {
  public:
    // Terms of r^256 = 2e-12 and smaller no longer change a table entry in float.
    static constexpr std::size_t kLiveEntries = 256;
    // Tables stay short: everything is settled at least this often.
    static constexpr std::uint32_t kLongestSleep = 1024;

    /// True when every Gaussian must be settled before a step of these rates, because bounds rely
    /// on the highest rate or because tables get long. The caller settles, then calls restart(),
    /// then sets the highest rates.
    static bool must_settle(const AdamClock& clock, const LearningRates& rates);
    /// Opens step T + 1: `planes` as many as will have gradients, of the model's `model_planes`.
    void begin_step(AdamClock& clock, const LearningRates& rates, int planes, int model_planes);
    /// Closes it, also for all Gaussians that slept.
    void end_step(AdamClock& clock);
    /// All Gaussians are up to date: the tables start again here.
    void restart(AdamClock& clock);
    /// Follows a clock that came from elsewhere.
    void refresh(const AdamClock& clock);

    /// How far Gaussians may drift at the highest rates until they are touched again.
    static adam::Drift drift(const AdamClock& clock);
    /// beta1^age and beta2^age, of steps of `batch` views.
    static float decay1(std::size_t age, std::uint32_t batch);
    static float decay2(std::size_t age, std::uint32_t batch);

    const adam::Step& step() const { return step_; }
    const std::vector<float>& pending(std::size_t group) const { return pending_[group]; }
    const std::vector<float>& decay1() const { return decay1_; }
    const std::vector<float>& decay2() const { return decay2_; }

  private:
    adam::Step step_{};
    std::array<std::vector<float>, kLearningGroups>
        pending_;                         ///< of AdamClock::pending, for gathering
    std::vector<float> decay1_, decay2_;  ///< by age
};

}  // namespace gs
