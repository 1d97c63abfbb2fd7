#include "trainer/lidar/beam_step.h"

namespace gs {
LidarTerms BeamStep::run(ParameterSource& source, const BeamPlan& plan, std::uint32_t views,
                         Compatibility compatibility, GradientSink& sink) {
    copy_geometry(source, geometry_);
    const RasterRules rules = rules_of(compatibility);
    const RayTiles tiles(plan.rays, plan.sensor_from_world);
    const RayImage image = trace_rays(geometry_, {}, tiles, {plan.place, {}}, rules);
    RayImageGradient v;
    LidarTerms out = lidar_loss(image, plan.ranges, plan.weight * views, v);
    const RaysBackward back = trace_rays_backward(geometry_, {}, tiles, rules, image, v, sink);
    double early = 0;
    for (const float light : back.early) early += static_cast<double>(light);
    if (out.beams > 0) out.early = early / static_cast<double>(out.beams);
    return out;
}

}  // namespace gs
