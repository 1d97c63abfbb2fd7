#include "trainer/lidar/beam_step.h"

#include <algorithm>

#include "base/parallel.h"

namespace gs {
namespace {

void copy_geometry(ParameterSource& source, GaussianModel& out) {
    if (out.count != source.count()) out = GaussianModel(source.count(), 0);
    parallel_for(out.blocks(), 64, [&](std::size_t block) {
        alignas(64) float scratch[kGeometryPlanes * kBlock];
        const BlockView view = source.geometry(block, scratch);
        for (int p = 0; p < kGeometryPlanes; ++p)
            std::copy_n(view.planes + static_cast<std::size_t>(p) * view.stride, kBlock,
                        out.plane(p) + block * kBlock);
    });
}

}  // namespace

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
