#include "trainer/lidar/beam_step.h"

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

/// Passes gradients on that make nothing wider which is wide.
class NarrowSink final : public GradientSink {
  public:
    NarrowSink(const GaussianModel& model, GradientSink& to) : model_(model), to_(to) {}
    void take(const BlockGradients& gradients) override {
        const auto is_wide = [&](int p, std::size_t lane) {
            return model_.plane(p)[gradients.block * kBlock + lane] > widest_;
        };
        bool any = false;  // a copy for each block would cost more than the rest
        for (int p = kLogScales; p < kQuats; ++p)
            for (std::size_t lane = 0; lane < kBlock; ++lane) any |= is_wide(p, lane);
        if (!any) return to_.take(gradients);
        BlockGradients kept = gradients;
        for (int p = kLogScales; p < kQuats; ++p)
            for (std::size_t lane = 0; lane < kBlock; ++lane)
                if (is_wide(p, lane)) kept.planes[p][lane] = std::max(kept.planes[p][lane], 0.0f);
        to_.take(kept);
    }

  private:
    const float widest_ = std::log(kWidestByBeams);
    const GaussianModel& model_;
    GradientSink& to_;
};

}  // namespace

LidarTerms BeamStep::run(ParameterSource& source, const BeamPlan& plan, std::uint32_t views,
                         Compatibility compatibility, GradientSink& sink) {
    copy_geometry(source, geometry_);
    const RasterRules rules = rules_of(compatibility);
    const RayTiles tiles(plan.rays, plan.sensor_from_world);
    const RayImage image = trace_rays(geometry_, {}, tiles, {plan.place, {}}, rules);
    RayImageGradient v;
    LidarTerms out = lidar_loss(image, plan.ranges, plan.weight * views, v);
    NarrowSink narrow(geometry_, sink);
    const RaysBackward back = trace_rays_backward(geometry_, {}, tiles, rules, image, v, narrow);
    double off = 0;
    for (const float of_ray : back.off) off += static_cast<double>(of_ray);
    if (out.beams > 0) out.range = off / static_cast<double>(out.beams);
    return out;
}

}  // namespace gs
