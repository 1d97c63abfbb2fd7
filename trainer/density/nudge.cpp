#include "trainer/density/nudge.h"

#include "trainer/adam/lazy_adam.h"
#include "trainer/density/row_identity.h"
#include "trainer/settings/settings.h"

namespace gs {
namespace {

/// A lane of a block, as nudge_row() sees it.
class LaneRow {
  public:
    LaneRow(const adam::Block& block, std::size_t lane) : block_(block), lane_(lane) {
        const std::uint32_t last = block.last_step[lane];
        for (std::size_t g = 0; g < kLearningGroups; ++g)
            pending_[g] = block.pending[g][last - block.base];
        decay2_ = block.decay2[block.steps - last];
    }
    float now(int plane) const {
        const auto [m, v] = adam::stored_moments(block_, plane, lane_);
        return math::lazy_value(value(plane), m, v, pending_[adam::group_of_plane(plane)]);
    }
    float square(int plane) const { return adam::stored_moments(block_, plane, lane_).v * decay2_; }
    void add(int plane, float by) { value(plane) += by; }

  private:
    float& value(int plane) const {
        return block_.values[static_cast<std::size_t>(plane) * block_.stride + lane_];
    }
    const adam::Block& block_;
    const std::size_t lane_;
    float pending_[kLearningGroups];
    float decay2_;
};

}  // namespace

NudgePlan nudge_plan(const TrainingSettings& s, double extent, std::uint64_t step,
                     std::size_t gaussians) {
    NudgePlan plan;
    const double n = static_cast<double>(std::max<std::size_t>(1, gaussians));
    // In scene extents, so that a scene in millimetres and in metres trains alike.
    if (s.noise > 0 && static_cast<double>(step) + 1 < s.noise_until)
        plan.noise =
            static_cast<float>(s.noise * learning_rates(s, 1.0, step)[kGroupMeans] / extent);
    plan.opacity_pull = static_cast<float>(s.opacity_reg / n);
    plan.scale_pull = static_cast<float>(s.scale_reg / (3 * n * extent));
    if (s.scale_limit > 0) plan.largest = static_cast<float>(std::log(s.scale_limit * extent));
    if (s.stretch_limit > 0)
        plan.stretch = static_cast<float>(std::log(std::max(1.0, s.stretch_limit)));
    plan.step = static_cast<std::uint32_t>(step);
    plan.seed = static_cast<std::uint64_t>(s.seed);
    return plan;
}

void nudge(GaussianModel& model, LazyAdam& adam, const RowIdentity& identity,
           const NudgePlan& plan) {
    const NudgeRates rates{adam.rates()[kGroupOpacity], adam.rates()[kGroupScales]};
    adam.add_to_values(model, [&](const adam::Block& block, std::size_t first, std::size_t lanes) {
        bool moved = false;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const std::uint32_t tag = identity.tags[first + lane];
            if (locked_tag(tag)) continue;
            LaneRow row(block, lane);
            moved |= nudge_row(row, plan, rates, id_of_tag(tag));
        }
        return moved;
    });
}

}  // namespace gs
